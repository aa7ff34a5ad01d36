"""`deniable release --regress`."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from cli_parts import Run

from deniable import Schema, Survey, Tally

PEOPLE = 20_000


@pytest.fixture
def tally(tmp_path) -> Tally:
    random = np.random.default_rng(1)
    sex = random.choice(["f", "m"], PEOPLE)
    ill = random.random(PEOPLE) < np.where(sex == "f", 0.3, 0.5)
    frame = pd.DataFrame({"sex": sex, "ill": ill, "age": random.integers(20, 80, PEOPLE)})
    survey = Survey(Schema.of(sex=["f", "m"], ill=[False, True], age=(20, 80)), 2, 3.0)
    tally = survey.tally(survey.randomize(frame, seed="regress"), simulation=True)
    tally.save(tmp_path / "d.tally")
    return tally


def test_regressions_are_shown_and_written(run: Run, tally, tmp_path):
    ended = run("release", "d.tally", "--regress", "ill ~ sex", "--regress", "age ~ ill")
    assert ended.code == 0
    assert "ill ~ sex (logistic)" in ended.out
    assert "odds ratio" in ended.out
    assert "age ~ ill (linear)" in ended.out
    assert "R²" in ended.out
    ended = run("release", "d.tally", "--regress", "ill ~ sex", "--least-squares", "--json")
    (fit,) = json.loads(ended.out)["regressions"]
    own = tally.release().regress("ill ~ sex", "linear")
    assert fit["kind"] == "linear"
    assert [row["estimate"] for row in fit["coefficients"]] == pytest.approx(own.values)
    assert np.array(fit["covariance"]) == pytest.approx(own.covariance)
    assert run("release", "d.tally", "--regress", "ill ~ sex", "-o", "r.json").code == 0
    document = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert document["regressions"][0]["kind"] == "logistic"
    assert document["regressions"][0]["coefficients"][0]["standardised"] is None
    assert run("release", "d.tally", "--regress", "ill ~ sex", "-o", "r.html").code == 0
    assert "ill ~ sex" in (tmp_path / "r.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--regress", "ill ~ height"), "names 'height'"),
        (("--regress", "ill"), "needs ~ behind its outcome"),
        (("--least-squares",), "give --regress, too"),
    ],
)
def test_a_mistake_is_one_sentence(run: Run, tally, options, sentence):
    ended = run("release", "d.tally", *options)
    assert ended.code == 2
    assert sentence in ended.err
    assert ended.err.count("\n") == 1
