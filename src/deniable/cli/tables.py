"""Tables that commands print."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from deniable.show.terminal import bar, number, stdout, table, up

if TYPE_CHECKING:
    from deniable.lab.audit import Audit
    from deniable.lab.simulate import Trial
    from deniable.planning.plan import Plan
    from deniable.planning.shuffle import Shuffled

__all__ = ["NOISE", "attributes_of", "is_noise", "show_audit", "show_plan", "trials_table"]

NOISE = (
    "An error is the share of people that a table puts into the wrong cell, so above 0.5 tables are "
    "mostly noise, and above 1 nothing else: it takes more people, a larger epsilon or coarser values."
)


def is_noise(errors: Iterable[float | None]) -> bool:
    """Tell whether even the best error is so large that tables say little."""
    return min((error for error in errors if error is not None), default=0.0) > 0.5


def trials_table(rows: Sequence[Trial]) -> Table:
    """Return simulated errors beside predicted ones."""
    worst = max(row.mean_tv for row in rows) or 1.0
    best = min(range(len(rows)), key=lambda index: rows[index].mean_tv)
    return table(
        ["mechanism", "mean error", "predicted", "", "reports/s"],
        [
            [
                row.mechanism,
                number(row.mean_tv),
                number(row.predicted_tv),
                bar(row.mean_tv / worst),
                f"{row.reports_per_second:,.0f}",
            ]
            for row in rows
        ],
        best=best if len(rows) > 1 else None,
    )


def show_audit(rows: Sequence[Audit]) -> None:
    """Print audits, one by one if they are few, else by mechanism."""
    console = stdout()
    if len(rows) <= 12:
        body = [
            [r.mechanism, r.attributes, r.order, f"{r.stated_epsilon!r}", f"{r.realised_epsilon!r}",
             "yes" if r.exact else "NO", "yes" if r.unbiased else "NO"]
            for r in rows
        ]  # fmt: skip
        heads = [
            "mechanism",
            "attributes",
            "order",
            "stated epsilon",
            "realised",
            "exact",
            "unbiased",
        ]
        console.print(table(heads, body))
        return
    body = []
    for name in dict.fromkeys(row.mechanism for row in rows):
        mine = [row for row in rows if row.mechanism == name]
        gap = max(row.stated_epsilon - row.realised_epsilon for row in mine)
        exceeded = any(row.realised_epsilon > row.stated_epsilon for row in mine)
        body.append(
            [name, len(mine), f"{gap:.1e}", "YES" if exceeded else "never",
             "yes" if all(r.exact for r in mine) else "NO",
             "yes" if all(r.unbiased for r in mine) else "NO"]
        )  # fmt: skip
    heads = ["mechanism", "surveys", "largest gap", "epsilon exceeded", "exact", "unbiased"]
    console.print(table(heads, body))
    console.print(
        "\nEvery law was computed in integers: enumerated, or factor by factor where there are too "
        "many values. --json lists every survey."
    )


def _limit(made: Plan) -> str:
    known = "Where nothing is known of people, no" if made.aim.squares else "No"
    return f"{known} unbiased protocol can expect less than {number(made.unbiased_bound_tv)}"


def attributes_of(sizes: Sequence[int]) -> str:
    """Return how many attributes there are, and how many values they have if not all have two."""
    counted = f"{len(sizes)} attribute{'' if len(sizes) == 1 else 's'}"
    least, most = min(sizes), max(sizes)
    if most == 2:
        return counted
    return f"{counted} of {most if least == most else f'{least} to {most:,}'} values"


def show_plan(made: Plan) -> None:
    """Print a plan: the ranked mechanisms, what bounds them, what else is to be known."""
    console = stdout()
    target = made.target_error
    enough = target is not None and made.people == made.rows[0].people_needed
    console.print(
        f"{attributes_of(made.schema.sizes)}, tables of {made.order}, epsilon {made.epsilon:g}, "
        f"{made.people:,} people"
        f"{f', as {made.recommended} needs for an error of {target:g}' if enough else ''}. "
        "Errors are total variation distances of a table.\n"
    )
    is_sure = any(row.guaranteed_tv is not None for row in made.rows)
    heads = ["mechanism", "expected error"]
    heads += [f"{100 * made.probability:g}% sure below"] if is_sure else []
    heads += ["÷ bound", "bits", "reads", "draws"] + (["people for target"] if target else [])
    body = [
        [row.mechanism, number(row.predicted_tv)]
        + ([number(row.guaranteed_tv, 3)] if is_sure else [])
        + [
            number(row.variance_over_bound, 2),
            f"{row.bits_per_report:,}",
            row.attributes_read,
            f"{row.random_words:,}",
        ]
        + ([_count(row.people_needed)] if target else [])
        for row in made.rows
    ]
    console.print(table(heads, body, best=0))
    console.print(
        f"\nThe expected error is a mean over {made.scope}"
        f"{'; what is sure holds for every one' if is_sure else ''}. "
        f"{_limit(made)} (÷ bound: variance over that limit). Bits, reads, draws: what a device sends, "
        "the most attributes it reads, the random 64-bit words it draws."
    )
    if made.aim.squares:
        shares = ", ".join(f"{square:.2f}" for square in made.aim.squares)
        console.print(
            f"Errors are for people like the pilot's, whose coefficients have mean squares {shares} "
            "by level."
        )
    if made.shuffled is not None:
        console.print(escape(_shuffled(made, made.shuffled)))
    if is_noise(row.predicted_tv for row in made.rows):
        console.print(NOISE)
    for note in made.notes:
        console.print(escape(note))
    for reason in made.skipped.values():
        console.print(f"[dim]{escape(reason)}[/dim]")


def _count(people: int | None) -> str:
    return "–" if people is None else f"{people:,}" if people < 10**9 else f"{Decimal(people):.1e}"


def _shuffled(made: Plan, shuffled: Shuffled) -> str:
    """Return what shuffling adds, in one sentence that claims no more than is known."""
    name, crowd = shuffled.shuffler, f"{shuffled.crowd:,}"
    if shuffled.slots == "drawn":
        hidden = f"and every device draws its own slot, a report hides among all {crowd} people"
    else:
        hidden = (
            f"but slots are assigned, a report hides only among the people with the same slot, "
            f"{crowd} of {made.people:,} with {made.recommended} if slots are handed out evenly"
        )
    if shuffled.epsilon is None:
        gain = f"which is too few to promise more than the epsilon {made.epsilon:g} of one report"
    else:
        gain = (
            f"and the mixed reports have epsilon {up(shuffled.epsilon)} with delta "
            f"{shuffled.delta:g}; {name} itself still sees reports of epsilon {made.epsilon:g}"
        )
    return f"If {name}, independent of the collector, mixes the reports {hidden}, {gain}."
