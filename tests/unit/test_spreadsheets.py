"""No text is a formula in a spreadsheet, whichever sign it takes for the end of a cell."""

from __future__ import annotations

import csv
import random
import re
from io import StringIO
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from deniable import Schema, Survey, simulate
from deniable.formats.spreadsheets import cell, csv_text, frame_text

SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b"
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
DELIMITERS = (",", ";", "\t", "|")
HARM = (
    *(f"{sign}cmd|' /C calc'!A0" for sign in SIGNS),
    *(f"x{mark}{sign}1+1" for mark in ";\t\r\n|" for sign in SIGNS),
    *("\t=1", "\r=1", "\n=1", " =1", "\u200b=1", "\ufeff=1", '"=1', 'x;"=1', "x; =1"),
    *('x\n" =1"', "-1;=2", "-1|=2", "x;;=1", "=1;=2", "\u00a0=1"),
    *("x,=1", 'a"b;=1', "--1", "-1+1", "+1e", "@SUM(A1)", "=", "-"),
)
SOUND = (
    "-0.5",
    "+3",
    "1e-5",
    "north",
    "a-b",
    "a=b",
    "x, y",
    "it's",
    "-12",
    "18\u201325",
    "50 %",
    "#",
    "",
)


def cells(text: str) -> list[str]:
    """Return the cells that spreadsheets of any country make of a file, with and without its quotes."""
    every = []
    for delimiter in DELIMITERS:
        for row in csv.reader(StringIO(text, newline=""), delimiter=delimiter):
            every += row
    for delimiter in ";\t|":
        every += [part for line in re.split(r"[\r\n]", text) for part in line.split(delimiter)]
    return every


def runs(text: str) -> bool:
    """Tell whether a spreadsheet may run a cell; one that trims it, and drops a quote, included."""
    bare = text.lstrip(' \t\r\n\u00a0\u200b\ufeff"')
    # A row that begins with a number and a comma is one cell to who cuts elsewhere, and no formula.
    return bare.startswith(tuple(SIGNS)) and not NUMBER.fullmatch(text.partition(",")[0])


@pytest.mark.parametrize("harm", HARM)
def test_no_text_is_a_formula_wherever_it_is_cut(harm: str) -> None:
    for row in (
        [harm],
        ["x", harm],
        [harm, "x"],
        [harm, harm],
        [1, -0.5, harm, "-0.5"],
        ["-0.5", harm],
    ):
        text = csv_text([row])
        bad = [each for each in cells(text) if runs(each) and not each.startswith("-0.5")]
        assert not bad, (row, text)
        (again,) = csv.reader(StringIO(text, newline=""))
        assert [each.replace("'", "") for each in again] == [
            str(each).replace("'", "") for each in row
        ]


@pytest.mark.parametrize("text", SOUND)
def test_what_is_no_formula_stays_as_it_is(text: str) -> None:
    assert cell(text) == text


def test_numbers_stay_numbers() -> None:
    assert [cell(value) for value in (-0.5, 3, None, True)] == [-0.5, 3, None, True]
    frame = pd.DataFrame({"=a": ["=1", "x"], "b": [-0.5, 2.0], "c": [-1, 2]})
    assert frame_text(frame).splitlines() == ["'=a,b,c", "'=1,-0.5,-1", "x,2.0,2"]


@pytest.mark.slow
def test_random_texts_are_no_formulas() -> None:
    own = random.Random(7)
    letters = [*SIGNS, *";,|\t\r\n\" '", "x", "1", "\u00a0", "\u200b"]
    for _ in range(20_000):
        row = ["".join(own.choices(letters, k=own.randrange(6))) for _ in range(own.randint(1, 3))]
        text = csv_text([row])
        assert not [each for each in cells(text) if runs(each)], (row, text)


@pytest.fixture(scope="module")
def release() -> object:
    """A release whose names and values are written to harm."""
    values = ["x;=1+1", "y\t@SUM(1)", "\uff1dcmd", "-2"]
    frame = pd.DataFrame({"a;=2": [True, False] * 100, "b": values * 50})
    schema = Schema.from_frame(frame, values={"b": values})
    return simulate(Survey(schema, 2, 3.0, "MargPS"), frame, "x")


def test_an_export_has_no_formula_wherever_it_is_cut(release: object, tmp_path: Path) -> None:
    release.export(tmp_path / "all.csv")  # type: ignore[attr-defined]
    text = (tmp_path / "all.csv").read_text("utf-8")
    assert not [each for each in cells(text) if runs(each) and not re.match(r"-[\d.]", each)]
    rows = list(csv.DictReader(StringIO(text, newline="")))
    assert {row["value_1"] for row in rows} >= {"x;'=1+1", "y\t'@SUM(1)", "'\uff1dcmd", "-2"}
    assert all(float(row["estimate"]) == float(row["estimate"]) for row in rows)


def test_a_sheet_holds_texts_only(release: object, tmp_path: Path) -> None:
    release.export(tmp_path / "all.xlsx")  # type: ignore[attr-defined]
    book = openpyxl.load_workbook(tmp_path / "all.xlsx")
    every = [one for sheet in book for row in sheet.iter_rows() for one in row]
    assert not [one for one in every if one.data_type in ("f", "e")]
    marked = {one.value for one in every if one.quotePrefix}
    assert {"\uff1dcmd", "a;=2", "x;=1+1"} <= marked
