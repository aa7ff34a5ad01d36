"""Exports for spreadsheets and statistics programs, and labels in all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow.parquet as pq
import pyreadstat
import pytest
from test_exports import NUMBERS, READ
from worded_parts import LENGTHY, SCRIPT, release, texts

from deniable import Schema, Survey, simulate
from deniable.errors import ChartError
from deniable.show import export, sheets
from deniable.show.export import check_ending, count_cells, each_table


@pytest.fixture(scope="module")
def worded() -> Any:
    return release("auto").worded(texts())


def sheet(path: Path, name: str) -> list[tuple[Any, ...]]:
    book = openpyxl.load_workbook(path)
    return list(book[name].iter_rows(values_only=True))


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".xlsx"])
def test_rows_have_labels_and_wordings(worded: Any, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"all{ending}"
    worded.export(path)
    if ending == ".csv":
        frame = pd.read_csv(path)
    elif ending == ".parquet":
        frame = pd.read_parquet(path)
    else:
        head, *rows = sheet(path, "tables")
        frame = pd.DataFrame(rows, columns=list(head))
    assert frame.columns.tolist()[-4:] == ["label_1", "label_2", "wording_1", "wording_2"]
    cells = frame[(frame["attribute_1"] == "theft") & (frame["attribute_2"] == "ward")]
    mark = "'" if ending == ".csv" else ""
    assert cells["label_1"].tolist() == ["Ja"] * 3 + ["Nein"] * 3
    icu, general, other = cells["label_2"].tolist()[:3]
    assert (icu, general) == (f"{mark}=Intensiv {SCRIPT}", LENGTHY.strip())
    assert pd.isna(other), "what nobody worded has no label"
    assert set(cells["wording_2"]) == {"Auf welcher Station?"}
    table = worded.marginal("theft", "ward")
    np.testing.assert_allclose(cells["read"].to_numpy(float), table.values.ravel())


def test_documents_have_words(worded: Any, tmp_path: Path) -> None:
    for name in ("all.json", "all.parquet"):
        worded.export(tmp_path / name)
    told = json.loads((tmp_path / "all.json").read_text("utf-8"))
    meta = json.loads(pq.read_schema(tmp_path / "all.parquet").metadata[b"deniable.release"])
    for form in (told, meta):
        assert form["language"] == "de"
        assert form["title"].startswith("Arbeit")
        theft, _, hours = form["attributes"]
        assert theft["labels"] == ["Ja", "Nein"]
        assert theft["wording"].startswith("Etwas mitgenommen?")
        assert (hours["unit"], hours["labels"][-1]) == ("Stunden", "keine Angabe")
    release("auto").export(tmp_path / "plain.json")
    assert "labels" not in (tmp_path / "plain.json").read_text("utf-8")


def test_a_sheet_says_what_it_is_and_has_no_formula(worded: Any, tmp_path: Path) -> None:
    path = tmp_path / "all.xlsx"
    worded.export(path)
    labels = sheet(path, "labels")
    assert labels[0] == ("attribute", "wording", "help", "unit", "value", "label")
    assert ("hours", "Wie viele Stunden?", None, "Stunden", "no answer", "keine Angabe") in labels
    about = dict(sheet(path, "about"))
    assert about["survey"] == worded.survey.id
    assert about["citation"] == worded.cite().text
    assert "SIMULATED" in about
    book = openpyxl.load_workbook(path)
    kinds = {cell.data_type for each in book for row in each.iter_rows() for cell in row}
    assert kinds <= {"s", "n", "b"}
    planted = [c for row in book["labels"].iter_rows() for c in row if str(c.value)[:1] == "="]
    assert planted
    assert all(cell.quotePrefix for cell in planted)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "#N/A"])
def test_sheets_hold_texts_only(tmp_path: Path, start: str) -> None:
    name = f"{start}cmd|'x'!A0\x07"
    schema = Schema.of(**{name: [f"{start}1+1", "-5"], "b": ["x", "y"]})
    frame = pd.DataFrame({name: ["-5"] * 100, "b": ["x", "y"] * 50})
    simulate(Survey(schema, 2, 3.0, "MargPS"), frame, "x").export(tmp_path / "all.xlsx")
    book = openpyxl.load_workbook(tmp_path / "all.xlsx")
    cells = [c for row in book["tables"].iter_rows(min_row=2) for c in row]
    assert {c.data_type for c in cells} <= {"s", "n", "b"}
    values = {c.value for c in cells if isinstance(c.value, str)}
    assert name.replace("\x07", "\N{REPLACEMENT CHARACTER}") in values


def test_variables_have_labels(worded: Any, tmp_path: Path) -> None:
    path = tmp_path / "all.sav"
    worded.export(path)
    frame, meta = pyreadstat.read_sav(path)
    assert frame.columns.tolist() == [
        *("table", "attributes", "theft", "ward", "hours", *NUMBERS, *READ, "known", "simulated")
    ]
    assert meta.column_names_to_labels["ward"] == "Auf welcher Station?"
    labels = meta.variable_value_labels
    assert labels["theft"] == {1.0: "Ja", 0.0: "Nein"}
    assert labels["ward"][2.0] == LENGTHY.strip()[:120]
    assert len(frame) == count_cells(worded) == sum(t.values.size for t in each_table(worded))
    rows = frame[frame["theft"].notna() & frame["ward"].notna()]
    assert rows["hours"].isna().all()
    own, plain = (each.marginal("theft", "ward") for each in (worded, worded.unprocessed))
    np.testing.assert_allclose(rows["read"], own.values.ravel())
    np.testing.assert_allclose(rows["estimate"], plain.values.ravel())
    assert rows["theft"].tolist() == [1, 1, 1, 0, 0, 0]
    assert rows["ward"].tolist() == [1, 2, 3] * 2


def test_variables_of_a_survey_without_words_have_names_as_labels(tmp_path: Path) -> None:
    names = {"Was it you?": ["a\nb", "c"], "by": [1, 2], "BY": [1, 2], "estimate": [0, 1]}
    frame = pd.DataFrame({name: values * 100 for name, values in names.items()})
    survey = Survey(Schema.of(**names), 2, 3.0, "MargPS")
    simulate(survey, frame, "x").export(tmp_path / "all.sav")
    stored, meta = pyreadstat.read_sav(tmp_path / "all.sav")
    assert meta.column_names[2:6] == ["Was_it_you_", "by_", "BY__2", "estimate"]
    assert "estimate_2" in stored
    assert meta.column_names_to_labels["Was_it_you_"] == "Was it you?"
    assert meta.variable_value_labels["Was_it_you_"] == {1.0: "a b", 2.0: "c"}


def test_what_does_not_fit_is_refused(
    worded: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sheets, "MOST_ROWS", 10)
    monkeypatch.setattr(sheets, "MOST_NUMBERS", 10)
    with pytest.raises(ChartError, match=r"at most 10 rows, and these tables have \d+ cells"):
        worded.export(tmp_path / "all.xlsx")
    with pytest.raises(ChartError, match=r"take \.parquet"):
        worded.export(tmp_path / "all.sav")
    assert not list(tmp_path.iterdir())


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "find_spec", lambda name: None)
    for name in ("a.xlsx", "a.sav"):
        with pytest.raises(
            ChartError,
            match=r"need the extra 'forms': in a clone of deniable, pip install '.\[forms",
        ):
            check_ending(name)
    assert check_ending("a.csv") == ".csv"
