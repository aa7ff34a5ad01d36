"""What `deniable simulate` does with several orders, ε or numbers of people: options, tables, files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from deniable.cli.output import with_error
from deniable.errors import SurveyError
from deniable.show.terminal import number, stdout, table

if TYPE_CHECKING:
    from deniable.lab.simulate import Trial

_MOST_NUMBERS = 100


def parse_numbers(name: str, text: str, *, whole: bool = False) -> list[Any]:
    """Return the different numbers of an option, in order: '.5,1,2', or '1e4,1e5' where whole."""
    numbers = set()
    for part in text.split(","):
        try:
            value = float(part)
        except ValueError:
            value = float("nan")
        if not isfinite(value) or (whole and not value.is_integer()):
            kind = "whole numbers" if whole else "numbers"
            raise SurveyError(f"--{name} takes {kind} separated by commas, got {text!r}.")
        numbers.add(int(value) if whole else value)
    if len(numbers) > _MOST_NUMBERS:
        raise SurveyError(f"--{name} takes {_MOST_NUMBERS} numbers at most, got {len(numbers)}.")
    return sorted(numbers)


def join_numbers(numbers: Iterable[float]) -> str:
    """Return the different numbers of some in words, in order."""
    texts = [f"{n:,}" if isinstance(n, int) else f"{n:g}" for n in sorted(set(numbers))]
    *others, last = texts
    return f"{', '.join(others)} and {last}" if others else last


def check_files(chart: Path | None, output: Path | None) -> None:
    """Refuse files that nothing can be written to, before a long run."""
    if chart is not None:
        from deniable.show.charts import check_chart

        check_chart(chart)
    if output is not None:
        from deniable.show.sweeps import check_table

        check_table(output)


def save_sweep(rows: Sequence[Trial], chart: Path | None, output: Path | None) -> None:
    """Write the chart and the table that were asked for."""
    if chart is None and output is None:
        return
    from deniable.lab.sweep import sweep_frame
    from deniable.show.charts import save_chart
    from deniable.show.sweeps import save_table, sweep_chart

    frame = sweep_frame(rows)
    if chart is not None:
        save_chart(sweep_chart(frame), chart)
    if output is not None:
        save_table(frame, output)


def show_files(chart: Path | None, output: Path | None) -> None:
    """Say where the chart and the table are."""
    names = [path.name for path in (chart, output) if path is not None]
    if names:
        stdout().print(f"\nWritten to {escape(' and '.join(names))}.")


def sweep_table(points: Sequence[Sequence[Trial]]) -> Table:
    """Return trials point by point, each with how much it is behind the best of its point."""
    from deniable.lab.sweep import compare

    rows = [
        [
            row.order,
            f"{row.epsilon:g}",
            f"{row.people:,}",
            row.mechanism,
            with_error(row),
            number(row.predicted_tv),
            "best" if row is point[0] else str(compare(point[0], row)),
        ]
        for point in points
        for row in point
    ]
    heads = ["order", "epsilon", "people", "mechanism", "mean error", "predicted", "behind"]
    return table(heads, rows)


def show_comparisons(points: Sequence[Sequence[Trial]]) -> None:
    """Say by how much the best is better than the next, where there is one point; what ± means."""
    from deniable.lab.sweep import comparison_sentence

    first = points[0]
    has_errors = any(row.standard_error is not None for point in points for row in point)
    sentences = [comparison_sentence(first)] if len(points) == 1 and has_errors else []
    if has_errors:
        sentences.append(
            "± is one standard error, over repeats in which all asked the same people."
        )
    if any(sentences):
        stdout().print(f"\n{' '.join(filter(None, sentences))}")
