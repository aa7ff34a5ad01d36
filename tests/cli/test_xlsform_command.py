"""`deniable new form.xlsx`: the table of rows, the editable file, the frozen survey."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from cli_parts import Run
from openpyxl import Workbook

from deniable import Survey
from deniable.questionnaire import Texts

SURVEY = [
    ["type", "name", "label::English (en)", "label::German (de)", "constraint"],
    ["select_one yn", "job", "Do you have a job?", "Haben Sie Arbeit?", None],
    ["text", "story", "Tell us.", "Erzählen Sie.", None],
    ["integer", "age", "How old are you?", "Wie alt?", ". >= 18 and . <= 99"],
]
CHOICES = [
    ["list_name", "name", "label::English (en)", "label::German (de)"],
    ["yn", "yes", "Yes", "Ja"],
    ["yn", "no", "No", "Nein"],
]


def write(name: str, **sheets: list[list[Any]]) -> None:
    book = Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(name)


def test_a_refused_row_stops_unless_it_may_be_left_out(run: Run, tmp_path: Path) -> None:
    write("form.xlsx", survey=SURVEY, choices=CHOICES)
    stopped = run("new", "form.xlsx", "-o", "s.json")
    assert stopped.code == 2
    assert "Row 3 (story), column type: free text cannot be asked" in stopped.err
    assert "refused rows: 1 of 3, and --skip-refused goes on without them." in stopped.err
    assert "Rows: 2 imported, 0 left out, 1 refused." in stopped.out
    assert not Path("s.json").exists()
    rows = run("new", "form.xlsx", "-o", "s.json", "--json").document["rows"]
    assert [row["outcome"] for row in rows] == ["imported", "refused", "imported"]
    assert rows[1]["column"] == "type"
    ended = run("new", "form.xlsx", "-o", "s.json", "--skip-refused", "--json")
    assert (ended.code, ended.document["rows"]) == (0, rows)
    survey = Survey.load("s.json")
    assert survey.schema.names == ("job", "age")
    Texts.read("s.texts.json").check(survey)


def test_no_letter_of_a_workbook_moves_a_terminal(run: Run, tmp_path: Path) -> None:
    evil = "age\u009b31m"
    write("form.xlsx", survey=[SURVEY[0], ["select_one yn", evil, "A?", "A?"]], choices=CHOICES)
    stopped = run("new", "form.xlsx", "-o", "s.json")
    assert "Row 2 (age\\u{9b}31m), column name: it must be a name of 1 to 100" in stopped.err
    assert '"age\\u{9b}31m"' in stopped.out
    assert "\u009b" not in stopped.out + stopped.err


def test_the_editable_file_gives_the_same_survey(run: Run, tmp_path: Path) -> None:
    write("form.xlsx", survey=[*SURVEY[:2], SURVEY[3]], choices=CHOICES)
    ended = run("new", "form.xlsx", "--questionnaire", "q.yaml", "-o", "s.json")
    assert (ended.code, ended.err) == (0, ""), ended.err
    assert "Questionnaire of 2 attributes, written to q.yaml." in ended.out
    assert run("new", "q.yaml", "-o", "t.json", "--json").document["id"] == Survey.load("s.json").id
    again = run("new", "form.xlsx", "--questionnaire", "q.yaml")
    assert again.code == 2
    assert "'q.yaml' exists already" in again.err
    assert run("new", "form.xlsx").code == 2


def test_a_workbook_is_a_form_or_data_by_its_sheets(run: Run, tmp_path: Path) -> None:
    data = [["ill", "tired"], *([ill, not ill] for ill in (True, False) * 4)]
    write("data.xlsx", people=data)
    ended = run("new", "data.xlsx", "-o", "s.json")
    assert ended.code == 0
    assert (
        "'data.xlsx' has no sheet 'survey' with a column 'type', so it is read as data."
        in ended.err
    )
    assert Survey.load("s.json").schema.names == ("ill", "tired")
    assert "is for questionnaires" in run("new", "data.xlsx", "--questionnaire", "q.yaml").err
    write("form.xlsx", survey=SURVEY, people=data)
    refused = run("simulate", "form.xlsx", "--order", 2, "--epsilon", 1)
    assert refused.code == 2
    assert "is a form, because it has a sheet 'survey'" in refused.err
    assert run("new", "form.xlsx#people", "-o", "t.json").code == 0
    Path("old.xls").write_bytes(b"\xd0\xcf\x11\xe0" + bytes(600))
    assert "save it as .xlsx" in run("new", "old.xls", "-o", "u.json").err


def test_answers_to_a_form_mean_the_same_in_every_file(run: Run) -> None:
    """Codes 1, 0 and 99, yes or no, numbers and days: with no answer in some cells, in any format."""
    choices = [["list_name", "name", "label"], ["kids", "1", "One"], ["kids", "0", "None"]]
    choices += [["kids", "99", "Not said"], ["pets", "cat", "A cat"], ["pets", "dog", "A dog"]]
    rows = [
        ["select_one kids", "kids", "Children?", ""],
        ["select_multiple pets", "pet", "Pets?", ""],
        ["integer", "age", "Age?", ". >= 18 and . <= 100"],
        ["date", "moved", "Moved?", ". >= date('2026-01-01') and . <= date('2026-12-31')"],
    ]
    write("form.xlsx", survey=[["type", "name", "label", "constraint"], *rows], choices=choices)
    assert run("new", "form.xlsx", "-o", "s.json", "--epsilon", 3).code == 0
    days = [date(2026, 1, 5), date(2026, 12, 31), None]
    answers: dict[str, list[Any]] = {
        "kids": [1, 0, None, 99], "pet_cat": [True, False, False], "pet_dog": [1, 0, 1],
        "age": [41, None], "moved": days,
    }  # fmt: skip
    cells = {name: [some[row % len(some)] for row in range(60)] for name, some in answers.items()}
    frame = pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in cells.items()})
    frame.to_csv("d.csv", index=False)
    pq.write_table(pa.table(cells), "d.parquet")
    write("d.xlsx", data=[list(cells), *map(list, zip(*cells.values(), strict=True))])
    tallies = []
    for name in ("d.csv", "d.parquet", "d.xlsx"):
        ended = run("randomize", name, "--survey", "s.json", "--seed", "x", "-o", "r.parquet")
        assert (ended.code, ended.err) == (0, ""), ended.err
        tallies.append(Survey.load("s.json").tally("r.parquet", simulation=True))
    assert tallies[0].people == 60
    assert tallies[0] == tallies[1] == tallies[2]
