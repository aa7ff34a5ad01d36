"""What a terminal shows: tables, bars, numbers with errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, Decimal
from math import ceil, isfinite
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

_EIGHTHS = " ▏▎▍▌▋▊▉█"


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    best: int | None = None,
) -> RichTable:
    """Return a table: texts to the left, numbers to the right, the row ``best`` highlighted."""
    body = [["–" if cell is None else cell for cell in row] for row in rows]
    table = RichTable(box=None, padding=(0, 2, 0, 0))
    for index, name in enumerate(columns):
        texts = all(isinstance(row[index], str | Text) and not _numeric(row[index]) for row in body)
        table.add_column(
            name, justify="left" if texts else "right", header_style="dim", overflow="fold"
        )
    for index, row in enumerate(body):
        table.add_row(
            *(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row),
            style="bold green" if index == best else None,
        )
    return table


def _numeric(cell: object) -> bool:
    return isinstance(cell, str) and (cell == "–" or cell[:1].isdigit() or cell[:1] in "-−<.×")


def bar(share: float, width: int = 20) -> str:
    """Return a bar that fills ``share`` of ``width`` characters."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip().ljust(width)


def number(value: float | None, digits: int = 4) -> str:
    """Return an error or distance, with a dash where there is none, and fewer digits if large."""
    if value is None:
        return "–"
    decimals = digits if value < 10 else min(digits, 2) if value < 100 else 0
    return f"{value:,.{decimals}f}" if value < 10_000 else f"{value:.1e}"


def percent(value: float) -> str:
    """Return a share as a percentage with one digit."""
    return f"{100 * value:.1f}%" if isfinite(value) else "unknown"


def at_most(value: float) -> str:
    """Return a bound on a share as a percentage, rounded up."""
    return f"{ceil(1000 * value) / 10:.1f}%"


def up(value: float) -> str:
    """Return a positive bound with two significant digits, rounded up."""
    exact = Decimal(value)
    return f"{exact.quantize(Decimal(1).scaleb(exact.adjusted() - 1), ROUND_CEILING):f}"


def stdout() -> Console:
    """Return the console for results; wide when piped, so that no cell is cut."""
    console = Console(highlight=False, emoji=False)
    return console if console.is_terminal else Console(highlight=False, emoji=False, width=120)
