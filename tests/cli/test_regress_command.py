"""The command that explains private answers by open columns."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cli_parts import Run

from deniable import OneQuestion, Survey, regress


@pytest.fixture
def reports(survey: Path, data: Path, run: Run, tmp_path: Path) -> Path:
    """Return reports about the people of ``data``, and write open columns beside them."""
    path = tmp_path / "reports.parquet"
    made = run("randomize", data, "--survey", survey, "-o", path, "--seed", "regress")
    assert made.code == 0
    random = np.random.default_rng(4)
    people = len(pd.read_csv(data))
    open_rows = {"age": random.integers(20, 60, people), "sex": random.choice(["f", "m"], people)}
    pd.DataFrame(open_rows).to_csv(tmp_path / "open.csv", index=False)
    pd.DataFrame({"age": [30, 50], "sex": ["f", "m"]}).to_csv(tmp_path / "who.csv", index=False)
    return path


def call(run: Run, reports: Path, survey: Path, *more: object) -> Any:
    options = ("--survey", survey, "--open", "open.csv", "--simulation")
    return run("regress", reports, "b ~ age/10 + sex", *options, *more)


def test_reports_are_explained(run: Run, reports: Path, survey: Path, tmp_path: Path) -> None:
    ended = call(run, reports, survey, "--json", "--predict", "who.csv")
    assert (ended.code, ended.err) == (0, "")
    form = ended.document
    open_rows = pd.read_csv(tmp_path / "open.csv")
    fit = regress(
        reports, "b ~ age/10 + sex", open_rows, survey=Survey.load(survey), simulation=True
    )
    assert [row["term"] for row in form["rows"]] == ["(intercept)", "age/10", "sex[m]"]
    assert [row["estimate"] for row in form["rows"]] == pytest.approx(fit.values.tolist())
    assert form["people"] == 800
    assert form["answers"] == fit.answers < 800
    assert form["simulated"]
    assert form["log_likelihood"] == pytest.approx(fit.log_likelihood)
    assert form["mean"]["estimate"] == pytest.approx(fit.prevalence.estimate)
    assert len(form["predicted"]) == 2
    text = call(run, reports, survey, "--predict", "who.csv")
    assert text.code == 0
    for words in ("SIMULATED", "sex[m]", "odds ratio", "sandwich", "share of yes", "predicted"):
        assert words in text.out


def test_scores_and_lines_are_fitted(run: Run, reports: Path, survey: Path) -> None:
    by_scores = call(run, reports, survey, "--method", "scores", "--json")
    assert by_scores.document["log_likelihood"] is None
    linear = call(run, reports, survey, "--kind", "linear")
    assert linear.code == 0
    assert "odds" not in linear.out


def test_a_classical_design_is_fitted(run: Run, tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    age = random.integers(20, 80, 3000)
    truth = random.random(3000) < 0.2 + 0.005 * age
    says = np.where(random.random(3000) < 2 / 3, truth, random.random(3000) < 0.5)
    frame = pd.DataFrame({"said": np.where(says, "yes", "no"), "age": age})
    frame.loc[3, "said"] = None
    frame.to_csv(tmp_path / "dice.csv", index=False)
    for design, own in (
        ("forced-response:1/6,1/6", OneQuestion.forced_response(yes="1/6", no="1/6")),
        ("warner:5/6", OneQuestion.warner("5/6")),
        ("crosswise:5/6", OneQuestion.crosswise("5/6")),
        ("unrelated:2/3, 1/2", OneQuestion.unrelated("2/3", "1/2")),
        ("yes:5/6,1/6", OneQuestion("5/6", "1/6")),
    ):
        ended = run("regress", "dice.csv", "said ~ age/10", "--design", design, "--json")
        form = ended.document
        fit = regress(frame, "said ~ age/10", design=own)
        assert form["rows"][1]["estimate"] == pytest.approx(fit.values[1])
        assert form["left_out"] == 1
        assert form["epsilon"] == pytest.approx(np.log(5))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("b ~ age",), "Give --survey"),
        (("b ~ age", "--survey", "survey.json", "--design", "warner:.7"), "Give --survey"),
        (("b ~ 1", "--survey", "survey.json"), r"\(--simulation\)"),
        (("b ~ age", "--survey", "survey.json", "--simulation"), "no open column 'age'"),
        (("b ~ a", "--survey", "survey.json", "--simulation"), "asked in private"),
        (("b age", "--survey", "survey.json", "--simulation"), "needs ~"),
        (("b ~ age", "--survey", "survey.json", "--kind", "probit"), "--kind must be 'linear' or"),
        (("b ~ age", "--survey", "survey.json", "--method", "x"), "method must be"),
        (
            ("b ~ age", "--survey", "survey.json", "--simulation", "--open", "who.csv"),
            "got 2 rows for 800 reports",
        ),
        (
            ("b ~ age", "--survey", "survey.json", "--simulation", "--open", "people.csv"),
            "'a' is an attribute of the survey",
        ),
        (("b ~ age", "--design", "dice"), "--design needs warner"),
        (("b ~ age", "--design", "dice:1"), "--design needs warner"),
        (("b ~ age", "--design", "warner:1,2"), "takes 1 probability, got 2"),
        (("b ~ age", "--design", "warner:x"), "a number from 0 to 1, got 'x'"),
        (("b ~ age", "--design", "warner:1/2"), "tell nothing"),
    ],
)
def test_a_mistake_ends_with_code_2_and_one_sentence(
    run: Run, reports: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    file = "open.csv" if "--design" in arguments and "--survey" not in arguments else reports
    ended = run("regress", file, *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("\n") == 1
    assert re.search(sentence, ended.err)
    assert "Error" not in ended.err
