"""new, explain and randomize with labels and periods."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from deniable.api.survey import Survey

Run = Callable[..., Any]
LABELS = ("--label", "region=north,south", "--label", "version=1,2")
PERIODS = ("--period", "2026-11-01", "--period", "2026-12-01", "--period", "2027-01-01")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    random = np.random.default_rng(1)
    frame = pd.DataFrame(random.random((400, 3)) < 0.4, columns=list("abc"))
    frame["region"] = np.where(random.random(400) < 0.3, "north", "south")
    frame["version"] = random.integers(1, 3, 400)
    path = tmp_path / "labelled.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def survey(run: Run, people: Path, tmp_path: Path) -> Path:
    made = run("new", people, "-o", "s.json", *LABELS, *PERIODS, "--mechanism", "InpHT")
    assert made.err == ""
    assert "People are told: Sent beside your answer as it is, and not protected by chance" in (
        " ".join(made.out.split())
    )
    return tmp_path / "s.json"


def test_new_declares_labels_which_are_no_attributes(survey: Path) -> None:
    made = Survey.load(survey)
    assert made.schema.names == ("a", "b", "c")
    assert made.labels.values == {
        "region": ("north", "south"),
        "version": ("1", "2"),
        "period": ("2026-11-01", "2026-12-01"),
    }
    form = json.loads(survey.read_text())
    assert form["periods"] == ["2026-11-01", "2026-12-01", "2027-01-01"]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--label", "region"), "--label needs a name and what follows it, such as region=north"),
        (("--columns", "a,b", "--label", "a=x"), "'a' is an attribute and a label"),
        (("--label", "region=north,"), "The label's values[1] must be a text of 1 to 100 letters"),
        (("--label", "region=x", "--label", "region=y"), "--label gives 'region' twice."),
        (("--period", "2026-11-01"), "Periods must be two days or more"),
        (("--period", "soon", "--period", "later"), "A period begins on a day such as"),
    ],
)
def test_bad_labels_are_one_sentence(
    run: Run, data: Path, more: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    ended = run("new", data, "-o", "s.json", *more)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"deniable: {sentence}")
    assert len(ended.err.splitlines()) == 1
    assert not (tmp_path / "s.json").exists()


def test_explain_says_what_is_public(run: Run, survey: Path, data: Path) -> None:
    english = Survey.load(survey).labels.english()
    out = " ".join(run("explain", survey).out.split())
    assert out.index("What leaves the device") < out.index(english)
    document = run("explain", survey, "--json").document
    assert document["public"] == english
    assert document["labels"]["period"] == ["2026-11-01", "2026-12-01"]
    run("new", data, "-o", "plain.json", "--mechanism", "InpHT")
    assert "not protected" not in run("explain", "plain.json").out
    assert "labels" not in run("explain", "plain.json", "--json").document


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather"])
@pytest.mark.parametrize("dated", [False, True])
def test_randomize_takes_labels_from_columns(
    run: Run, survey: Path, people: Path, kind: str, dated: bool, tmp_path: Path
) -> None:
    frame = pd.read_csv(people).assign(**({"period": "2026-12-01"} if dated else {}))
    path = tmp_path / f"held.{kind}"
    write = {
        "csv": lambda: frame.to_csv(path, index=False),
        "parquet": lambda: frame.to_parquet(path, index=False),
        "feather": lambda: feather.write_feather(frame, path),
    }
    write[kind]()
    ended = run("randomize", path, "--survey", survey, "-o", "reports.parquet")
    assert (ended.code, ended.err) == (0, "")
    reports = pq.read_table(tmp_path / "reports.parquet")
    assert reports.column_names == ["slot", "value", "region", "version", "period"]
    assert reports["region"].to_pylist() == frame["region"].tolist()
    assert reports["version"].to_pylist() == frame["version"].astype(str).tolist()
    drawn = set(reports["period"].to_pylist())
    assert drawn == ({"2026-12-01"} if dated else {"2026-11-01", "2026-12-01"})


def test_randomize_says_which_column_is_wrong_and_never_what_it_holds(
    run: Run, survey: Path, people: Path, tmp_path: Path
) -> None:
    text = people.read_text()
    people.write_text(text.replace("north", "Rumpel", 1))
    ended = run("randomize", people, "--survey", survey, "-o", "reports.parquet")
    assert ended.code == 2
    assert ended.err.startswith("deniable: Column 'region' has labels that are missing or not")
    assert "Rumpel" not in ended.err
    assert not (tmp_path / "reports.parquet").exists()
    people.write_text(text.replace("north", "", 1))
    ended = run("randomize", people, "--survey", survey, "-o", "r.parquet", "--drop-missing")
    assert (ended.code, ended.err) == (0, "")
    assert pq.read_metadata(tmp_path / "r.parquet").num_rows == 399


@pytest.mark.parametrize("values", [("1", "01"), ("NA", "EU"), ("1.0", "1.10"), ("true", "01234")])
def test_labels_of_a_csv_file_are_texts_as_they_stand(
    run: Run, values: tuple[str, str], tmp_path: Path
) -> None:
    labels = [*values] * 50
    rows = [f"{'NA' if i == 7 else 'true'},{label},2026-11-01" for i, label in enumerate(labels)]
    (tmp_path / "held.csv").write_text("\n".join(["a,group,period", *rows, "true,,2026-11-01"]))
    declared = ("--label", f"group={','.join(values)}", *PERIODS)
    made = run("new", "held.csv", "-o", "s.json", "--order", 1, *declared)
    assert (made.code, made.err) == (0, "")
    ended = run("randomize", "held.csv", "--survey", "s.json", "-o", "r.parquet", "--drop-missing")
    assert (ended.code, ended.err) == (0, "")
    # NA is still no answer to a question, and an empty field no label.
    reports = pq.read_table(tmp_path / "r.parquet")
    assert reports["group"].to_pylist() == [*labels[:7], *labels[8:]]
    assert set(reports["period"].to_pylist()) == {"2026-11-01"}


def test_new_says_which_columns_it_asks_nothing_about(run: Run, people: Path) -> None:
    frame = pd.read_csv(people).assign(period="late")
    frame.loc[:, "region"] = None  # rows without a label are no rows without answers
    frame.to_csv(people, index=False)
    made = run("new", people, "-o", "s.json", *LABELS, *PERIODS)
    assert "Labels, and so not asked about: region, version, period." in (
        " ".join(made.out.split())
    )
    made = run("new", people, "-o", "t.json", *LABELS, *PERIODS, "--json")
    assert made.document["not_asked"] == ["region", "version", "period"]
    made = run("new", people, "-o", "u.json", *LABELS, *PERIODS, "--columns", "a,b")
    assert "not asked" not in made.out
