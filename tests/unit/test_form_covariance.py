"""Covariances across tables, of every mechanism, against how much estimates vary; seeds are fixed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from deniable import Release, Schema, Survey
from deniable.decoding import cell_forms, reports
from deniable.release.numbers.forms import Forms
from deniable.release.numbers.statistics import _form

PEOPLE, SURVEYS = 1_500, 60
YES = Schema.binary("a", "b", "c")
WORDS = Schema.of(a=[*"xyz"], b=[False, True], c=[*"uvw"])
ITEMS = {
    YES: [{"a": True}, {"a": True, "b": True}, {"b": True, "c": True}, [(1.0, "a"), (-2.0, "c")]],
    WORDS: [{"a": "x"}, {"a": "y", "b": True}, {"b": True, "c": "u"}, {"a": "x", "c": "v"}],
}


def people(schema: Schema) -> pd.DataFrame:
    random = np.random.default_rng(5)
    a = random.choice(3, PEOPLE, p=[0.5, 0.3, 0.2])
    b = random.random(PEOPLE) < 0.1 + 0.3 * a
    c = np.where(b, 0, random.integers(0, 3, PEOPLE))
    if schema is YES:
        return pd.DataFrame({"a": a > 0, "b": b, "c": c > 0})
    return pd.DataFrame({"a": np.array([*"xyz"])[a], "b": b, "c": np.array([*"uvw"])[c]})


def scaled_difference(mechanism: str, schema: Schema) -> np.ndarray:
    """Return by how much the covariance of estimates is off, in their standard errors."""
    frame, survey = people(schema), Survey(schema, 2, 1.5, mechanism)
    values, covariances = [], []
    for turn in range(SURVEYS):
        some = frame.sample(PEOPLE, replace=True, random_state=turn)
        tally = survey.tally(survey.randomize(some, seed=f"{turn}"), simulation=True)
        forms = Forms(tally.release())
        own = [_form(forms, item) for item in ITEMS[schema]]
        values.append(forms.values(own))
        covariances.append(forms.covariance(own))
    claim = np.mean(covariances, axis=0)
    error = np.sqrt(np.diag(claim))
    truth = [_share(frame, item) for item in ITEMS[schema]]
    assert (np.abs(np.mean(values, axis=0) - truth) < 5 * error / np.sqrt(SURVEYS)).all()
    difference: np.ndarray = (np.cov(np.array(values).T) - claim) / np.outer(error, error)
    return difference


def _share(frame: pd.DataFrame, item: object) -> float:
    if isinstance(item, dict):
        return float(np.logical_and.reduce([frame[n] == v for n, v in item.items()]).mean())
    return float(sum(weight * frame[name].mean() for weight, name in item))


def noise_of_covariances() -> float:
    """Five standard errors of a covariance that is estimated so often: FALSE_ALARM below 10⁻⁴."""
    return 5 * np.sqrt(2 / SURVEYS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "schema"),
    [("InpRR", YES), ("MargRR", YES), ("InpEM", YES), ("InpRR", WORDS), ("MargPS", WORDS)],
    ids=lambda part: part if isinstance(part, str) else ("words" if part is WORDS else "yes"),
)
def test_estimates_vary_as_their_covariance_says(mechanism, schema):
    assert np.abs(scaled_difference(mechanism, schema)).max() < noise_of_covariances()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("room", "schema"), [(reports, YES), (cell_forms, WORDS)], ids=["yes", "words"]
)
def test_a_bug_in_the_law_would_be_seen(room, schema, monkeypatch):
    counted = reports.counted
    monkeypatch.setattr(room, "counted", lambda *parts: 0.5 * counted(*parts))
    assert np.abs(scaled_difference("InpRR", schema)).max() > noise_of_covariances()


@pytest.mark.parametrize("schema", [YES, WORDS], ids=["yes", "words"])
@pytest.mark.parametrize("mechanism", ["InpRR", "InpPS", "MargRR", "MargPS", "InpEM"])
def test_within_a_table_it_is_nearly_the_covariance_of_cells(mechanism, schema):
    frame, survey = people(schema), Survey(schema, 2, 3.0, mechanism)
    frame = pd.concat([frame] * 20)
    tally = survey.tally(survey.randomize(frame, seed="cells"), simulation=True)
    release: Release = tally.release(estimator=survey_estimator(mechanism))
    forms = Forms(release)
    own = forms.cells({a: np.eye(schema.sizes[a]) for a in (0, 1)})
    table = release.evidence.tables(np.array([[0, 1]]))
    assert forms.values(own) == pytest.approx(table.values[0])
    exact = release.evidence.cell_covariances(np.array([[0, 1]]))[0]
    error = np.sqrt(np.diag(exact))
    scaled = forms.covariance(own) / np.outer(error, error)
    assert scaled == pytest.approx(exact / np.outer(error, error), abs=0.06)


def survey_estimator(mechanism: str) -> str | None:
    return "inverse" if mechanism == "InpEM" else None
