"""Writing small forms for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from openpyxl import Workbook

from deniable.questionnaire.xlsform import Row, read_xlsform

CHOICES = [
    ["list_name", "name", "label"],
    ["yes_no", "yes", "Yes"],
    ["yes_no", "no", "No"],
    ["pets", "cat", "A cat"],
    ["pets", "dog", "A dog"],
    ["grade", "1", "Low"],
    ["grade", "2", "High"],
]


def write_book(path: Path, **sheets: list[list[Any]]) -> Path:
    """Write a workbook of these sheets."""
    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def write_form(path: Path, *rows: list[Any], header: str, **sheets: list[list[Any]]) -> Path:
    """Write a form whose rows have the columns of a header: ``type name label``."""
    survey = [header.split("|"), *rows]
    return write_book(path, **({"survey": survey, "choices": CHOICES} | sheets))


def read(path: Path, *rows: list[Any], header: str, **sheets: Any) -> tuple[Any, list[Row]]:
    """Write a form and read it."""
    return read_xlsform(write_form(path / "form.xlsx", *rows, header=header, **sheets))
