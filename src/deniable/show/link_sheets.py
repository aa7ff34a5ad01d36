"""Sheets of personal links to cut up: cards with a QR code, twelve on a page, as one PDF."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deniable.errors import ChartError
from deniable.formats.extras import lacking

ACROSS, DOWN = 3, 4
"""Cards on a page."""

_WIDTH, _HEIGHT = 595.28, 841.89  # A4, in points
_MARGIN = 28.0
_CODE = 118.0
_QUIET = 4
"""Modules of white around a code, which readers need."""

_LETTERS = 34


def write_link_sheets(links: Sequence[str], path: Path) -> None:
    """Write a PDF with a card for each link: its code, and the link to type where nobody can scan it."""
    try:
        from pypdf import PdfWriter
        from pypdf.generic import DictionaryObject, NameObject, StreamObject
    except ImportError:
        raise ChartError(f"{lacking('Sheets of QR codes need', 'forms')}.") from None
    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Courier"),
        }
    )
    resources = DictionaryObject(
        {NameObject("/Font"): DictionaryObject({NameObject("/F"): writer._add_object(font)})}
    )
    cards = ACROSS * DOWN
    for start in range(0, len(links), cards):
        page: Any = writer.add_blank_page(_WIDTH, _HEIGHT)
        content = StreamObject()
        content.set_data("\n".join(_page(links[start : start + cards])).encode("ascii"))
        page[NameObject("/Contents")] = writer._add_object(content.flate_encode())
        page[NameObject("/Resources")] = resources
    writer.write(path)


def _page(links: Sequence[str]) -> list[str]:
    """Return the drawing of a page: cards from the upper left, with lines to cut along."""
    wide, high = (_WIDTH - 2 * _MARGIN) / ACROSS, (_HEIGHT - 2 * _MARGIN) / DOWN
    drawing = ["0.7 G 0.3 w [2 3] 0 d"]
    for index, link in enumerate(links):
        x = _MARGIN + index % ACROSS * wide
        y = _HEIGHT - _MARGIN - (index // ACROSS + 1) * high
        drawing += [f"{x:.2f} {y:.2f} {wide:.2f} {high:.2f} re S", "0 g"]
        drawing += _code(link, x + (wide - _CODE) / 2, y + high - _CODE - 6)
        drawing += _text(link, x + 10, y + high - _CODE - 14)
    return drawing


def _code(link: str, x: float, y: float) -> list[str]:
    """Return the rectangles of a QR code, a run of dark modules each."""
    import segno

    rows = [bytes(row) for row in segno.make(link, error="m", micro=False).matrix]
    size = _CODE / (len(rows) + 2 * _QUIET)
    drawing = []
    for number, row in enumerate(rows):
        column = 0
        while column < len(row):
            end = column
            while end < len(row) and row[end]:
                end += 1
            if end > column:
                begin, top = x + (column + _QUIET) * size, y + _CODE - (number + _QUIET + 1) * size
                drawing.append(f"{begin:.3f} {top:.3f} {(end - column) * size:.3f} {size:.3f} re")
            column = max(end, column + 1)
    return [*drawing, "f"]


def _text(link: str, x: float, y: float) -> list[str]:
    """Return the lines of a link, which holds no letter that a PDF text would have to escape."""
    lines = [link[start : start + _LETTERS] for start in range(0, len(link), _LETTERS)]
    words = [line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)") for line in lines]
    drawing = [f"BT /F 7 Tf 8.5 TL {x:.2f} {y:.2f} Td"]
    return [*drawing, *(f"({line}) Tj T*" for line in words), "ET"]
