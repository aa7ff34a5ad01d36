"""What nobody can do with numbers is said in one sentence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from deniable import Attribute, Schema, Survey, simulate
from deniable.errors import DeniableError, SchemaError, TableError


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"low": "9999-12-01", "high": "9999-12-31", "step": 7}, "9999-12-31 at the latest"),
        ({"low": "0001-01-01", "high": "9999-12-31"}, "9999-12-31 at the latest"),
        ({"low": 0, "high": 5, "unit": ""}, "letters that can all be seen"),
        ({"low": 0, "high": 5, "unit": "\n"}, "letters that can all be seen"),
        ({"points": (1, 2, 3), "low": 0}, "begin and end elsewhere"),
        ({"points": (1,)}, "2 to 4,096 points, got 1.$"),
        ({"low": "2020-01-01", "high": "2099-01-01", "step": 1}, "take a larger step.$"),
        ({"low": 0, "high": 5, "missing": 3}, "could be one of its numbers"),
    ],
)
def test_an_unsound_scale_is_refused(fields, words) -> None:
    with pytest.raises(SchemaError, match=words):
        Attribute("x", **fields)


@pytest.fixture(scope="module")
def release():
    random = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"age": random.integers(18, 101, 3000), "two": random.integers(0, 2, 3000)}
        | {"sex": random.choice(["f", "m"], 3000)}
    )
    return simulate(
        Survey(Schema.of(age=(18, 100), two=(0, 1), sex=["f", "m"]), 2, 2.0), frame, "x"
    )


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (lambda r: r.mean("age", by=3), "by the name of an attribute"),
        (lambda r: r.mean("age", by="age"), "other attributes"),
        (lambda r: r.mean("sex"), "no order"),
        (lambda r: r.quantile("age", None), "takes a probability"),
        (lambda r: r.quantile("age", [0.5, 1.0]), "between 0 and 1"),
        (lambda r: r.quantile("age", []), "at least one"),
        (lambda r: r.covariance([[("x", "age")]]), "A form is a cell"),
        (lambda r: r.correlation("age", "age"), "two different numbers"),
        (lambda r: r.marginal("age", bins={"age": [20.5]}), "points of its grid"),
        (lambda r: r.marginal("age", bins={"sex": ["f"]}), "not in the table"),
        (lambda r: r.marginal("sex", bins={"sex": ["f"]}), "is no number"),
        (lambda r: r.marginal("age", bins=[30]), "map numbers to lists"),
    ],
)
def test_what_cannot_be_told_is_refused(job, words, release) -> None:
    with pytest.raises(DeniableError, match=words):
        job(release)


def test_a_mean_of_days_that_nobody_told_is_no_number_of_days() -> None:
    survey = Survey(Schema.of(day=("2026-01-01", "2026-01-31"), yes=[False, True]), 2, 1.0)
    frame = pd.DataFrame({"day": ["2026-01-09"] * 3, "yes": [True] * 3})
    text = repr(simulate(survey, frame, "x").mean("day"))
    assert text == "<mean of day: not known (2026-01-01 to 2026-01-31), 3 people>"


def test_a_variance_is_no_larger_than_may_be(release) -> None:
    """A number that is at both ends alike has the largest variance there is, and noise beyond it."""
    variance = release.variance("two")
    assert variance.high <= 0.25
    assert variance.low <= 0.25
    assert variance.standard_error > 0


def test_bins_from_joint_tables_are_refused(release) -> None:
    with pytest.raises(TableError, match="from a model or from estimates as they are"):
        release.with_consistency("joint").marginal("age", bins={"age": [50]})
