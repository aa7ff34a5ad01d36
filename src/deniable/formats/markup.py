"""HTML of small tables, as notebooks show what a line ends with; everything in it is text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from math import inf, isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 30
"""Rows beyond are counted, not shown."""

NO_NUMBER = "–"
"""What stands where a number would, and nothing is known."""

_LEFT = ' style="text-align: left"'


def table_markup(
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    caption: str = "",
    notes: Iterable[str] = (),
) -> str:
    """Return a table with a caption above and sentences below; texts stand to the left."""
    every = [list(row) for row in rows]
    head = "".join(f"<th{_LEFT}>{escape(each)}</th>" for each in heads)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in every[:MOST_ROWS])
    rest = len(every) - MOST_ROWS
    sentences = [*([f"and {rest:,} more"] if rest > 0 else []), *notes]
    return (
        "<table>"
        + (f"<caption{_LEFT}>{escape(caption)}</caption>" if caption else "")
        + (f"<thead><tr>{head}</tr></thead>" if heads else "")
        + f"<tbody>{body}</tbody></table>"
        + "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences if sentence)
    )


def _cell(value: object) -> str:
    is_text = isinstance(value, str)
    return f"<td{_LEFT if is_text else ''}>{escape(str(value))}</td>"


def number_text(number: float, form: str) -> str:
    """Return a number in a format, ∞ or −∞, or a dash where there is none.

    >>> number_text(2.5, ".2g"), number_text(float("-inf"), ".2g"), number_text(float("nan"), ".2g")
    ('2.5', '−∞', '–')
    """
    if isfinite(number):
        return format(number, form)
    return {inf: "∞", -inf: "−∞"}.get(number, NO_NUMBER)


def frame_text(frame: pd.DataFrame) -> str:
    """Return a frame as text, without its index: as pandas prints it, but for what is no number."""
    texts = frame.copy()
    for name, column in frame.select_dtypes("float").items():
        if all(map(isfinite, column)):
            continue
        lines = column.to_string(index=False, header=False, na_rep=NO_NUMBER).split("\n")
        texts[name] = [line.strip().replace("-inf", "−∞").replace("inf", "∞") for line in lines]
    return texts.to_string(index=False)
