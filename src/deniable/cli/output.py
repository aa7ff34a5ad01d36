"""What commands print: JSON documents, progress, and the tables and sentences that several share."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from deniable.decoding.evidence import MOSTLY_NOISE
from deniable.errors import DeniableWarning
from deniable.formats.writing import finite
from deniable.schema.labels import FEWEST
from deniable.show.terminal import bar, number, stdout, table

if TYPE_CHECKING:
    from deniable.lab.simulate import Trial
    from deniable.schema.schema import Schema


def print_json(document: Any) -> None:
    """Print one JSON document, with null for numbers that JSON does not have."""
    print(json.dumps(finite(document), indent=1, allow_nan=False))  # noqa: T201


def conclude(as_json: bool, document: Any, sentence: str) -> None:
    """Print what a command did: the document, or a sentence with markup."""
    if as_json:
        print_json(document)
    else:
        stdout().print(sentence)


@contextmanager
def warnings_said() -> Iterator[None]:
    """Say the library's own warnings on stderr, each sentence once; others are shown as ever."""
    sentences: set[str] = set()
    with warnings.catch_warnings():
        show = warnings.showwarning

        def say_once(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if not issubclass(category, DeniableWarning):
                show(message, category, filename, lineno, file, line)
            elif str(message) not in sentences:
                sentences.add(str(message))
                say(f"deniable: {message}")

        warnings.showwarning = say_once
        warnings.simplefilter("always", DeniableWarning)
        yield


def say(sentence: str) -> None:
    """Print a sentence on stderr, at once."""
    print(sentence, file=sys.stderr, flush=True)  # noqa: T201


@contextmanager
def progress(total: int | None, label: str) -> Iterator[Any]:
    """Show a progress bar on a terminal's stderr; yield a function that advances it.

    The total may be unknown, or become known later.
    """
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bars:
        task = bars.add_task(label, total=total)

        def advance(
            description: str | None = None, steps: int = 1, total: int | None = None
        ) -> None:
            bars.update(task, advance=steps, description=description, total=total)

        yield advance


SIMULATED = " [bold]SIMULATED[/bold]: they protect nobody."

NOISE = (
    "An error is the share of people that a table puts into the wrong cell, so above 0.5 tables are "
    "mostly noise, and above 1 nothing else: it takes more people, a larger epsilon or coarser values."
)


def is_noise(errors: Iterable[float | None]) -> bool:
    """Tell whether even the best error is so large that tables say little."""
    return min((error for error in errors if error is not None), default=0.0) > MOSTLY_NOISE


def trials_table(rows: Sequence[Trial]) -> Table:
    """Return simulated errors beside predicted ones, the best first."""
    worst = max(row.mean_tv for row in rows) or 1.0
    return table(
        ["mechanism", "mean error", "predicted", "", "reports/s"],
        [
            [
                row.mechanism,
                with_error(row),
                number(row.predicted_tv),
                bar(row.mean_tv / worst),
                f"{row.reports_per_second:,.0f}",
            ]
            for row in sorted(rows, key=lambda row: row.mean_tv)
        ],
        best=0 if len(rows) > 1 else None,
    )


def with_error(row: Trial) -> str:
    """Return a trial's mean error, with its standard error where there are repeats."""
    if row.standard_error is None:
        return number(row.mean_tv)
    return f"{number(row.mean_tv)} ± {number(row.standard_error)}"


def attributes_of(schema: Schema) -> str:
    """Return how many attributes there are, of how many values, and how many of them are in order."""
    sizes = [each.size for each in schema.attributes if not each.is_ordered]
    numbers = len(schema) - len(sizes)
    count = f"{len(schema)} attribute{'' if len(schema) == 1 else 's'}"
    least, most = min(sizes, default=2), max(sizes, default=2)
    if most > 2:
        some = "" if not numbers else f", {len(sizes)} of them"
        count += f"{some} of {most if least == most else f'{least} to {most:,}'} values"
    if not numbers:
        return count
    return f"{count}{' and' if most > 2 else ','} {numbers} in order"


def show_left_out(reasons: Iterable[str]) -> None:
    """Print why mechanisms are left out."""
    for index, reason in enumerate(reasons):
        start = "" if index else "\n"
        stdout().print(f"{start}[dim]{escape(reason)}[/dim]")


def show_small(groups: Iterable[str]) -> None:
    """Print which groups are too small to be displayed, if any are."""
    names = escape("; ".join(groups))
    if names:
        stdout().print(f"Under {FEWEST} reports, and so not displayed: {names}.")
