"""What a terminal shows: tables, bars, numbers with errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

__all__ = ["bar", "number", "percent", "table"]

_EIGHTHS = " ▏▎▍▌▋▊▉█"


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    title: str = "",
    best: int | None = None,
) -> RichTable:
    """Return a table: texts to the left, numbers to the right, the row ``best`` highlighted."""
    body = [["–" if cell is None else cell for cell in row] for row in rows]
    made = RichTable(title=title or None, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for index, name in enumerate(columns):
        texts = all(isinstance(row[index], str | Text) and not _numeric(row[index]) for row in body)
        made.add_column(
            name, justify="left" if texts else "right", header_style="dim", no_wrap=True
        )
    for index, row in enumerate(body):
        made.add_row(
            *(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row),
            style="bold green" if index == best else None,
        )
    return made


def _numeric(cell: object) -> bool:
    return isinstance(cell, str) and (cell == "–" or cell[:1].isdigit() or cell[:1] in "-−<.×")


def bar(share: float, width: int = 20) -> str:
    """Return a bar that fills ``share`` of ``width`` characters."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip().ljust(width)


def number(value: float | None, digits: int = 4) -> str:
    """Return an error or distance, with a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def percent(value: float) -> str:
    """Return a share as a percentage with one digit."""
    return f"{100 * value:.1f}%"


def stdout() -> Console:
    """Return the console for results; wide when piped, so that no cell is cut."""
    console = Console(highlight=False, emoji=False)
    return console if console.is_terminal else Console(highlight=False, emoji=False, width=120)
