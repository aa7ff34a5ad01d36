"""What `plan` says of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape

from deniable.planning.numbers import NORMAL
from deniable.show.terminal import number, stdout, table

if TYPE_CHECKING:
    from deniable.planning.plan import Plan

_MOST_PAIRS = 10


def show_planned_numbers(forecast: Plan) -> None:
    """Print the errors to expect of means, medians and correlations."""
    console = stdout()
    has_sample = forecast.aim.expected is not None and not forecast.aim.squares
    people = (
        "of people like those in the data"
        if has_sample
        else "if each point is as common as any other and numbers do not depend on each other"
    )
    console.print(f"\nWhat {forecast.recommended} would tell of numbers, {people}:\n")
    has_target = any(row.target is not None for row in forecast.numbers)
    heads = ["number", "mean, standard error", "mean, 95 % within", "median, standard error"]
    heads += ["asked for", "people for it"] if has_target else []
    body = []
    for row in forecast.numbers:
        unit = "" if row.unit is None else f" {row.unit}"
        wide = None if row.mean_error is None else NORMAL * row.mean_error
        figures = [
            figure(row.mean_error, unit),
            figure(wide, unit, "± "),
            figure(row.median_error, unit),
        ]
        if has_target:
            figures += [
                figure(row.target, unit, "± "),
                "–" if row.people_needed is None else f"{row.people_needed:,}",
            ]
        body.append([row.attribute, *figures])
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
