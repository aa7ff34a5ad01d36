"""What `plan` prints."""

from __future__ import annotations

from decimal import Decimal
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from deniable.cli.output import NOISE, attributes_of, is_noise
from deniable.planning.shuffle import SLOTS
from deniable.show.terminal import number, stdout, table, up

if TYPE_CHECKING:
    from deniable.planning.plan import Plan
    from deniable.planning.shuffle import Shuffling
    from deniable.planning.targets import Target

_MOST_PAIRS = 10


def show_plan(forecast: Plan, chart: Path | None) -> None:
    """Print a plan: the ranked mechanisms, what bounds them, what else is to be known."""
    console = stdout()
    console.print(
        f"{attributes_of(forecast.schema)}, tables of {forecast.order}, "
        f"epsilon {forecast.epsilon:g}, {forecast.people:,} people{_enough(forecast)}. "
        "Errors are total variation distances of a table.\n"
    )
    is_sure = any(row.guaranteed_tv is not None for row in forecast.rows)
    console.print(_plan_table(forecast, is_sure))
    console.print(
        f"\nThe expected error is {'of unbiased tables, ' if forecast.aims else ''}a mean over "
        f"{forecast.scope}{'; what is sure holds for every one' if is_sure else ''}. "
        f"{_limit(forecast)} Bits, reads, draws: what a device sends, the most attributes it reads, the "
        "random 64-bit words it draws."
    )
    if forecast.targets:
        _show_targets(forecast)
    if forecast.numbers:
        _show_numbers(forecast)
    if forecast.aims:
        console.print(f"\nWhat {forecast.aims[0].mechanism} would do with each aim:\n")
        console.print(_aims_table(forecast), "")
    if forecast.aim.squares:
        shares = ", ".join(f"{square:.2f}" for square in forecast.aim.squares)
        console.print(
            f"Errors are for people like the pilot's, whose coefficients have mean squares {shares} "
            "by level."
        )
    if forecast.shuffled is not None:
        console.print(escape(_shuffling_sentence(forecast, forecast.shuffled)))
    if is_noise((row.read_tv if forecast.aims else row.predicted_tv) for row in forecast.rows):
        console.print(NOISE)
    for note in forecast.notes:
        console.print(escape(note))
    for reason in dict.fromkeys(forecast.skipped.values()):
        console.print(f"[dim]{escape(reason)}[/dim]")
    if chart is not None:
        console.print(f"The curves are in {escape(chart.name)}.")


def _aims_table(forecast: Plan) -> Table:
    """Return what surveys that are designed for each aim would do."""
    heads = ["aim", "error as read", "unbiased error", "Cramér's V found 4 times in 5"]
    body = [
        [row.aim, number(row.read_tv), number(row.predicted_tv), number(row.detectable_v, 3)]
        for row in forecast.aims
    ]
    own = [row.aim for row in forecast.aims].index(forecast.aim.goal)
    return table(heads, body, best=own)


def _plan_table(forecast: Plan, is_sure: bool) -> Table:
    target = forecast.target_error
    heads = ["mechanism", *(["as read"] if forecast.aims else []), "expected error"]
    heads += [f"{100 * forecast.probability:g}% sure below"] if is_sure else []
    heads += ["÷ bound", "bits", "reads", "draws"] + (["people for target"] if target else [])
    body = [
        [row.mechanism]
        + ([number(row.read_tv)] if forecast.aims else [])
        + [number(row.predicted_tv)]
        + ([number(row.guaranteed_tv, 3)] if is_sure else [])
        + [
            number(row.variance_over_bound, 2),
            f"{row.bits_per_report:,}",
            row.attributes_read,
            f"{row.random_words:,}",
        ]
        + ([_count(row.people_needed)] if target else [])
        for row in forecast.rows
    ]
    return table(heads, body, best=0)


def _count(people: int | None) -> str:
    return "–" if people is None else f"{people:,}" if people < 10**9 else f"{Decimal(people):.1e}"


def _shuffling_sentence(forecast: Plan, shuffling: Shuffling) -> str:
    """Return what shuffling adds, in one sentence that claims no more than is known."""
    name, crowd = shuffling.shuffler, f"{shuffling.crowd:,}"
    if shuffling.slots == SLOTS[0]:
        crowd_clause = (
            f"and every device draws its own slot, a report hides among all {crowd} people"
        )
    else:
        crowd_clause = (
            f"but slots are assigned, a report hides only among the people with the same slot, "
            f"{crowd} of {forecast.people:,} with {forecast.recommended} if slots are handed out evenly"
        )
    if shuffling.epsilon >= forecast.epsilon:
        gain = (
            f"which is too few to promise more than the epsilon {forecast.epsilon:g} of one report"
        )
    else:
        gain = (
            f"and the mixed reports have epsilon {up(shuffling.epsilon)} with delta "
            f"{shuffling.delta:g}; {name} itself still sees reports of epsilon {forecast.epsilon:g}"
        )
    return f"If {name}, independent of the collector, mixes the reports {crowd_clause}, {gain}."


def _enough(forecast: Plan) -> str:
    """Return what the people of a plan are enough for, if they were found by what they are to be."""
    target = forecast.target_error
    if target is not None and forecast.people == forecast.rows[0].people_needed:
        return f", as {forecast.recommended} needs for an error of {target:g}"
    for each in forecast.targets:
        if each.people == forecast.people:
            return f", as {forecast.recommended} needs for {each.english}"
    return ""


def _limit(forecast: Plan) -> str:
    if isnan(forecast.unbiased_bound_tv):
        return "Of a number, it is what a slope and a bend tell, and no lower limit is known."
    start = "Where nothing is known of people, no" if forecast.aim.squares else "No"
    limit = number(forecast.unbiased_bound_tv)
    return f"{start} unbiased protocol can expect less than {limit} (÷ bound: variance over that limit)."


def _show_targets(forecast: Plan) -> None:
    """Print what comes of what was asked for, and what would help."""
    console = stdout()
    console.print(f"\nWhat {forecast.recommended} would show:\n")
    is_corrected = any(each.people_corrected is not None for each in forecast.targets)
    heads = ["asked for", f"{forecast.people:,} people", "people for it"]
    heads += ["among all", "people among all"] if is_corrected else []
    body = []
    for each in forecast.targets:
        line = [each.english, _reach(each), _count(each.people)]
        if is_corrected:
            power = "–" if each.people_corrected is None else f"found {each.power_corrected:.0%}"
            line += [power, _count(each.people_corrected)]
        body.append(line)
    console.print(table(heads, body))
    shares = (
        "are those of the data" if forecast.aim.population is not None else "are taken to be equal"
    )
    among = (
        " Among all: each test at the 5 % level over the number of tests." if is_corrected else ""
    )
    console.print(
        f"\nFound: in so many of all surveys, by a test at the 5 % level; ±: half of a 95 % interval. "
        f"Means over the attributes, or pairs, that matter; the shares of their values {shares}.{among}"
    )
    for each in forecast.targets:
        if each.advice is not None:
            console.print(f"[yellow]{escape(each.advice)}[/yellow]")


def _reach(target: Target) -> str:
    """Return how often tests find what was asked for, or how sure it is."""
    if target.power is not None:
        return f"found {target.power:.0%}"
    return "–" if target.half_width is None else f"± {number(target.half_width, 3)}"


def _show_numbers(forecast: Plan) -> None:
    """Print the errors to expect of means, medians and correlations."""
    from deniable.planning.numbers import NORMAL

    console = stdout()
    has_sample = forecast.aim.expected is not None and not forecast.aim.squares
    people = (
        "of people like those in the data"
        if has_sample
        else "if each point is as common as any other and numbers do not depend on each other"
    )
    console.print(f"\nWhat {forecast.recommended} would tell of numbers, {people}:\n")
    heads = ["number", "mean, standard error", "mean, 95 % within", "median, standard error"]
    body = []
    for row in forecast.numbers:
        unit = "" if row.unit is None else f" {row.unit}"
        wide = None if row.mean_error is None else NORMAL * row.mean_error
        figures = figure(row.mean_error, unit), figure(wide, unit, "± ")
        body.append([row.attribute, *figures, figure(row.median_error, unit)])
    console.print(table(heads, body))
    pairs = [row for row in forecast.correlations if row.correlation_error is not None]
    if pairs:
        some = ", ".join(
            f"{number(row.correlation_error, 3)} ({row.first} and {row.second})"
            for row in pairs[:_MOST_PAIRS]
        )
        more = (
            f", and {len(pairs) - _MOST_PAIRS} more in --json" if len(pairs) > _MOST_PAIRS else ""
        )
        console.print(f"\nStandard errors of correlations: {escape(some)}{more}.")


def figure(error: float | None, unit: str, sign: str = "") -> str:
    """Return an error in a number's own unit, with three digits."""
    if error is None:
        return "–"
    digits = max(0, 2 - int(f"{error:e}".partition("e")[2]))
    return f"{sign}{error:,.{min(digits, 12)}f}{unit}"
