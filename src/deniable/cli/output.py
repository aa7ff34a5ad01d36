"""What every command needs to print a document and to show how far it is."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite
from typing import Any

from rich.console import Console


def print_json(document: Any) -> None:
    """Print one JSON document, with null for numbers that JSON does not have."""
    print(json.dumps(_finite(document), indent=1, allow_nan=False))  # noqa: T201


def say(sentence: str) -> None:
    """Print a sentence on stderr, at once."""
    print(sentence, file=sys.stderr, flush=True)  # noqa: T201


def _finite(document: Any) -> Any:
    if isinstance(document, dict):
        return {name: _finite(part) for name, part in document.items()}
    if isinstance(document, list):
        return [_finite(part) for part in document]
    return None if isinstance(document, float) and not isfinite(document) else document


@contextmanager
def progress(total: int | None, label: str) -> Iterator[Any]:
    """Show a progress bar on a terminal's stderr; yield a function that advances it.

    The total may be unknown, or become known later.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
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
