"""Workbooks and statistics files as an enemy writes them, or somebody in a hurry."""

from __future__ import annotations

import time
import zipfile
from collections.abc import Callable
from datetime import date, datetime
from datetime import time as day_time
from pathlib import Path
from secrets import token_hex

import pandas as pd
import pyreadstat
import pytest
from openpyxl import load_workbook
from xlsform_parts import write_book

from deniable.errors import DataError, QuestionnaireError
from deniable.formats.workbooks import sheet_names, sheet_rows
from deniable.lab.datasets import load
from deniable.questionnaire.xlsform import read_xlsform

MB = 1 << 20


def book(path: Path) -> Path:
    return write_book(path, survey=[["type", "name"], ["text", "a"]])


def changed(path: Path, change: Callable[[str, bytes], bytes], **more: bytes) -> Path:
    """Write a workbook again with other parts."""
    whole = path.with_name("changed.xlsx")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.infolist():
            new.writestr(part.filename, change(part.filename, old.read(part)))
        for name, content in more.items():
            new.writestr(name, content)
    return whole


def refused(path: Path) -> str:
    begin = time.process_time()
    with pytest.raises(ValueError, match=r"^(it|sheet) ") as error:
        list(sheet_rows(path, "survey", 8 * MB, 1000, 100))
    assert time.process_time() - begin < 3
    return str(error.value)


ENTITIES = (
    b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]>'
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    def with_entities(name: str, content: bytes) -> bytes:
        if not name.endswith("sheet1.xml"):
            return content
        text = (
            content.decode().partition("?>")[2] if content.startswith(b"<?") else content.decode()
        )
        head = f'<?xml version="1.0" encoding="{encoding}"?>' + ENTITIES.decode()
        return (head + text).encode(encoding)

    assert "document type" in refused(changed(book(tmp_path / "a.xlsx"), with_entities))


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = changed(book(tmp_path / "a.xlsx"), lambda _, content: content, zeros=bytes(60 * MB))
    assert path.stat().st_size < MB
    assert refused(path) == "it unpacks to more than 8 MB"
    many = {f"part{i}": b"" for i in range(5000)}
    path = changed(book(tmp_path / "a.xlsx"), lambda _, content: content, **many)
    assert refused(path) == "it has more than 4,096 parts"


@pytest.mark.parametrize(
    ("formats", "message"),
    [
        (200_000, "unpacks to far more than spreadsheets do"),
        (0, "more than 8 MB beside its sheets"),
    ],
)
def test_what_a_parser_takes_whole_stays_small(tmp_path: Path, formats: int, message: str) -> None:
    one = b'<numFmt numFmtId="200" formatCode="0"/>'
    other = b"".join(b'<numFmt formatCode="%s"/>' % token_hex(8).encode() for _ in range(240_000))

    def with_formats(name: str, content: bytes) -> bytes:
        if name != "xl/styles.xml":
            return content
        return content.replace(
            b"<fonts", b"<numFmts>%s</numFmts><fonts" % (one * formats or other), 1
        )

    path = changed(book(tmp_path / "a.xlsx"), with_formats)
    begin = time.process_time()
    with pytest.raises(ValueError, match=message):
        sheet_names(path, 512 * MB)
    with pytest.raises(QuestionnaireError, match=message):
        read_xlsform(path)
    assert time.process_time() - begin < 3


def test_what_is_no_workbook_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    for content in (b"", b"PK\x03\x04", b"type,name\n", bytes(100)):
        path.write_bytes(content)
        assert refused(path) == "it is damaged, or no workbook"
    path.write_bytes(b"\xd0\xcf\x11\xe0" + bytes(600))
    assert "save it as .xlsx" in refused(path)
    whole = book(path).read_bytes()
    for cut in range(200, len(whole), 997):
        path.write_bytes(whole[:cut] + bytes(40) + whole[cut + 40 :])
        try:
            list(sheet_rows(path, "survey", 8 * MB, 1000, 100))
        except ValueError:
            continue
    assert "folder" in refused(tmp_path)
    assert sheet_names(book(path), MB) == ["survey"]


def test_far_cells_are_refused_in_bounded_time(tmp_path: Path) -> None:
    def far(reference: str, times: int = 1) -> Path:
        row = f'<row><c r="{reference}"><v>1</v></c></row>' * times

        def with_row(name: str, content: bytes) -> bytes:
            return content.replace(b"</sheetData>", row.encode() + b"</sheetData>")

        return changed(write_book(tmp_path / "a.xlsx", survey=[["a"]]), with_row)

    assert refused(far("XFD2")) == "sheet 'survey' has more than 100 columns"
    assert "more than 100 columns" in refused(far("XFD2", 80_000))
    tall = write_book(tmp_path / "b.xlsx", survey=[["a"]] * 1002)
    assert refused(tall) == "sheet 'survey' has more than 1,000 rows"


def test_formulas_are_not_calculated(tmp_path: Path) -> None:
    path = write_book(tmp_path / "a.xlsx", survey=[["a", "b"], ["=1+1", "x"]])
    assert list(sheet_rows(path, None, MB, 10, 10)) == [["a", "b"], [None, "x"]]
    assert load_workbook(path)["survey"]["A2"].value == "=1+1"


def test_data_in_a_workbook(tmp_path: Path) -> None:
    path = write_book(
        tmp_path / "d.xlsx",
        first=[
            ["works", "age", "place", "day"],
            [True, 30, "north", datetime(2026, 1, 2)],
            [False, None, "south", datetime(2026, 1, 3)],
            [None, None, None, None],
        ],
        second=[["a", "b"], [1, "x"], ["Rumpelstiltskin", 2]],
    )
    frame = load(str(path))
    assert frame["works"].tolist() == [True, False]
    assert frame["day"].tolist() == [date(2026, 1, 2), date(2026, 1, 3)]
    assert load(str(path), ["age"])["age"].isna().tolist() == [False, True]
    assert load(f"{path}#second")["a"].tolist() == ["1", "Rumpelstiltskin"]
    write_book(tmp_path / "t.xlsx", first=[["a"], [day_time(7)], ["Rumpelstiltskin"]])
    with pytest.raises(DataError, match=r"Column 'a' of .* holds what no type does") as error:
        load(str(tmp_path / "t.xlsx"))
    assert "Rumpel" not in str(error.value)
    with pytest.raises(DataError, match="no sheet 'third'; its sheets are first, second"):
        load(f"{path}#third")
    for name, rows in {
        "the first row must name": [["a", None, "c"], [1, 2, 3]],
        "two columns of the same name": [["a", "a"], [1, 2]],
        "in a column without a name": [["a"], [1, 2]],
    }.items():
        other = write_book(tmp_path / "o.xlsx", s=rows)
        with pytest.raises(DataError, match=name):
            load(str(other))


@pytest.mark.parametrize("kind", [".sav", ".dta"])
def test_statistics_files_give_the_labels_of_their_values(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"d{kind}"
    frame = pd.DataFrame(
        {"sex": [1.0, 2.0, 2.0], "age": [30.0, 40.0, 99.0], "town": ["a", "b", "c"]}
    )
    labels = {"sex": {1: "woman", 2: "man", 3: "other"}, "age": {99: "not said"}}
    write = pyreadstat.write_sav if kind == ".sav" else pyreadstat.write_dta
    more = {"missing_ranges": {"age": [99]}} if kind == ".sav" else {}
    write(frame, str(path), variable_value_labels=labels, **more)
    got = load(str(path))
    assert got["sex"].tolist() == ["woman", "man", "man"]
    assert list(got["sex"].cat.categories) == ["woman", "man", "other"]
    assert got["age"].isna().tolist() == [False, False, kind == ".sav"]
    assert load(str(path), ["town"]).columns.tolist() == ["town"]
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DataError, match=r"cannot be read as .*: it is damaged"):
        load(str(path))
