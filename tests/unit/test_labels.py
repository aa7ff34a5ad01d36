"""Labels and periods: what a survey may declare, and what it refuses."""

import json
from collections import Counter
from datetime import date

import pytest
from scipy.stats import chisquare

from deniable import Schema, Survey
from deniable.client.client import draw_period
from deniable.errors import RecordError, SurveyError
from deniable.questions.entropy import SystemSource
from deniable.schema.labels import Labels

REGIONS = {"region": ["north", "south", "west"], "version": ["1", "2"]}
MONTHS = ["2026-11-01", "2026-12-01", "2027-01-01"]


def survey(**declared):
    return Survey(Schema.binary("a", "b"), 2, 1.0, "InpHT", **declared)


def test_a_survey_declares_labels_and_periods_in_its_id():
    plain, labelled = survey(), survey(labels=REGIONS, periods=MONTHS)
    assert plain.id != labelled.id
    assert "labels" not in json.loads(plain.to_json())
    again = Survey.from_json(labelled.to_json())
    assert again == labelled
    assert again.labels == labelled.labels == Labels.of(REGIONS, MONTHS)
    assert again.labels.names == ("region", "version", "period")
    assert again.labels.values["period"] == ("2026-11-01", "2026-12-01")
    assert again.question(0).survey == labelled.id


def test_groups_are_numbered_and_found_again():
    labels = Labels.of(REGIONS, MONTHS)
    groups = [labels.group(number) for number in range(labels.groups)]
    assert labels.groups == 12 == len({tuple(group.items()) for group in groups})
    assert [labels.number(group) for group in groups] == list(range(12))
    assert groups[1] == {"region": "north", "version": "1", "period": "2026-12-01"}
    assert Labels().groups == 1
    assert Labels().group(0) == {}


def test_periods_are_drawn_alike_and_have_bounds(monkeypatch):
    labels = Labels.of(periods=["2026-11-01", "2026-11-08", "2026-11-15", "2026-11-22"])

    def fairness():
        drawn = Counter(draw_period(labels, SystemSource()) for _ in range(3_000))
        assert set(drawn) == set(labels.values["period"])
        return chisquare(list(drawn.values())).pvalue

    assert fairness() > 1e-9
    assert labels.bounds("2026-11-08") == (date(2026, 11, 8), date(2026, 11, 15))
    # Planted: a remainder instead of a rejection.
    monkeypatch.setattr("deniable.client.client.below", lambda s, most: s.word() % 4 % most)
    assert fairness() < 1e-9


@pytest.mark.parametrize(
    ("declared", "why"),
    [
        ({"labels": {"a": ["x"]}}, "attribute and a label"),
        ({"labels": {"A": ["x"]}}, "attribute and a label"),
        ({"labels": {"Slot": ["x"]}}, "cannot be called"),
        ({"labels": {"a.b": ["x"]}}, "only letters, digits"),
        ({"labels": {"Region": ["x"], "region": ["y"]}}, "two labels called 'Region'"),
        ({"labels": {"period": ["x"]}}, "cannot be called"),
        ({"labels": {"slot": ["x"]}}, "cannot be called"),
        ({"labels": {"region": []}}, "must be a list of 1 to"),
        ({"labels": {"region": ["x", "x"]}}, "has a value twice"),
        ({"labels": {"region": "north"}}, "list of values"),
        ({"labels": {"region": [1]}}, "must be a text"),
        ({"labels": {"region": ["a\n"]}}, "can all be seen"),
        ({"labels": {"": ["x"]}}, "must be a text"),
        ({"labels": ["region"]}, "mapping"),
        ({"labels": {f"l{i}": map(str, range(9)) for i in range(5)}}, "59,049 combinations"),
        ({"periods": ["2026-11-01"]}, "two days or more"),
        ({"periods": ["2026-12-01", "2026-11-01"]}, "one after the other"),
        ({"periods": ["20261101", "2026-12-01"]}, "a day such as"),
        ({"periods": ["soon", "2026-12-01"]}, "a day such as"),
    ],
)
def test_what_no_survey_may_declare_is_refused(declared, why):
    with pytest.raises(SurveyError, match=why):
        survey(**declared)


@pytest.mark.parametrize(
    "fields",
    [
        {"labels": {}},
        {"labels": [{"name": "region"}]},
        {"labels": [{"name": "r", "values": ["x"]}, {"name": "r", "values": ["y"]}]},
        {"labels": []},
        {"periods": []},
        {"periods": "2026"},
        {"colour": []},
    ],
)
def test_a_survey_with_broken_labels_is_not_read(fields):
    form = json.loads(survey().to_json()) | fields
    with pytest.raises(SurveyError):
        Survey.from_json(json.dumps(form))


def test_a_person_gives_every_label_and_no_other():
    labels = Labels.of(REGIONS, MONTHS)
    assert labels.given({"version": "2", "region": "west"}) == {"region": "west", "version": "2"}
    assert Labels().given(None) == {}
    for given, why in (
        ({"region": "west"}, "'version' is missing"),
        ({"region": "east", "version": "1"}, "must be north, south or west"),
        ({"region": "west", "version": "1", "period": "2026-11-01"}, "drawn by the device"),
        ({"region": "west", "version": "1", "town": "x"}, "no label 'town'"),
        ({"region": ["west"], "version": "1"}, "must be north, south or west"),
        ("west", "must be a mapping"),
    ):
        with pytest.raises(RecordError, match=why):
            labels.given(given)


def test_people_are_told_what_is_not_protected():
    assert Labels().english() == ""
    said = Labels.of(REGIONS, MONTHS).english()
    assert "your region (north, south or west)" in said
    assert "not protected" in said
    assert "by lot" in said
