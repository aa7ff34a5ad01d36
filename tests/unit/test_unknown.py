"""Why a table is not known: no survey asks what it needs, or too few people were asked so far."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from deniable import Release, Schema, Survey
from deniable.release.unknown import BY_DESIGN, SO_FAR
from deniable.server.precision import half_width

NAMED = [("a", "b"), ("c", "d"), ("e", "f")]


def release(people: int, named=NAMED, epsilon: float = 1.1) -> Release:
    schema = Schema.binary(*"abcdef")
    survey = Survey(schema, 2, epsilon, "Subspace", workload=named)
    random = np.random.default_rng(1)
    frame = pd.DataFrame({name: random.random(people) < 0.4 for name in schema.names})
    return survey.tally(survey.randomize(frame, seed="u"), simulation=True).release()


def test_pairs_that_are_not_asked_stay_unknown_however_many_people_come(tmp_path):
    """Twelve of fifteen pairs were not named: nothing says that more people help."""
    many = release(20_000)
    assert many.marginal("a", "c").unknown == BY_DESIGN
    assert many.marginal("a", "b").unknown == ""
    sentence = f"12 tables are not known: {BY_DESIGN}."
    many.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text("utf-8")
    for text in (many.methods(), page):
        assert sentence in text
        assert "more people help" not in text.lower()
        assert "too few" not in text.lower()
    assert f"This table is not known: {BY_DESIGN}." in page, "where the table is chosen"
    assert BY_DESIGN in many.marginal("a", "c")._repr_html_()
    assert half_width(many) is not None, "the dashboard does not wait for what never comes"


def test_what_was_not_asked_yet_needs_more_people():
    survey = Survey(Schema.binary(*"abc"), 2, 1.1, "MargPS")
    one = pd.DataFrame({"a": [True], "b": [False], "c": [True]})
    few = survey.tally(survey.randomize(one, seed="u"), simulation=True).release()
    tables = [few.marginal(*pair) for pair in (("a", "b"), ("a", "c"), ("b", "c"))]
    assert sorted(table.unknown for table in tables) == sorted(["", SO_FAR, SO_FAR])
    assert f"not known: {SO_FAR}." in few.methods()
    assert half_width(few) is None


@pytest.mark.parametrize("mechanism", ["InpHT", "MargPS", "MargRR", "InpES", "InpPS", "InpRR"])
def test_surveys_of_all_pairs_ask_about_all(mechanism):
    survey = Survey(Schema.binary(*"abc"), 2, 1.1, mechanism)
    one = pd.DataFrame({name: [True] for name in "abc"})
    few = survey.tally(survey.randomize(one, seed="u"), simulation=True).release()
    assert few.asks(np.array([[0, 1], [0, 2], [1, 2]])).all()


def test_a_pooled_table_is_asked_about_if_one_survey_does():
    other = release(500, [("a", "c")], 1.3)
    pooled = Release.pool([release(500), other], overlap=False)
    assert pooled.asks(np.array([[0, 1], [0, 2], [0, 3]])).tolist() == [True, True, False]


def test_an_adjusted_table_says_that_weights_need_more():
    adjusted = release(20_000).poststratify({"a": {False: 0.5, True: 0.5}}, "linear")
    told = adjusted.marginal("a", "b")
    assert told.known
    assert adjusted.why_unknown(np.array([2, 3])).startswith("weights for the known population")
    assert adjusted.why_unknown(np.array([0, 2])) == BY_DESIGN
