"""Subspace surveys: frozen designs, weighted slots, foreign files, thin and strange tallies."""

from __future__ import annotations

import json
from math import inf, log

import numpy as np
import pandas as pd
import pytest

from deniable import Client, Ledger, Schema, Survey, Tally, simulate
from deniable.decoding.decoder import decoder_of, is_symmetric
from deniable.errors import RefusedError, SurveyError
from deniable.lab.audit import audit
from deniable.mechanisms import subspace
from deniable.mechanisms.subspace import Subspace
from deniable.planning.error import guaranteed_tv, predicted_tv
from deniable.questions.answers import Subset
from deniable.questions.entropy import Key
from deniable.questions.question import Parities
from deniable.survey.digests import canonical
from deniable.survey.symbols import MOST_LISTED
from deniable.survey.template import ALL_WEIGHT


def schema(attributes: int) -> Schema:
    return Schema.binary(*(f"a{i}" for i in range(attributes)))


def people(count: int, attributes: int) -> pd.DataFrame:
    held = np.random.default_rng(3).random((count, attributes)) < np.linspace(0.2, 0.7, attributes)
    return pd.DataFrame({f"a{i}": held[:, i] for i in range(attributes)})


def test_reading_a_survey_never_optimises(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Survey(schema(6), 3, 1.1, "Subspace")
    tailored = Survey(schema(6), 2, 1.1, "Subspace", workload=[("a0", "a1"), ("a2", "a5")])

    def refuse(*_: object) -> None:
        raise AssertionError("optimised again")

    monkeypatch.setattr(subspace, "symmetric_design", refuse)
    monkeypatch.setattr(subspace, "tailored_design", refuse)
    for survey in (made, tailored):
        again = Survey.from_json(survey.to_json())
        assert again.id == survey.id
        assert [again.question(s) for s in (0, survey.slots - 1)] == [
            survey.question(s) for s in (0, survey.slots - 1)
        ]
    with pytest.raises(AssertionError, match="optimised again"):
        Survey(schema(6), 3, 1.1, "Subspace")


def test_a_survey_holds_its_design_as_integers() -> None:
    form = json.loads(Survey(schema(8), 3, log(3), "Subspace").to_json())
    assert sum(each["weight"] for each in form["templates"]) == ALL_WEIGHT
    parities = [each["parities"] for each in form["templates"] if "parities" in each]
    assert all(isinstance(place, int) for bits in parities for bit in bits for place in bit)


def broken(change: object) -> str:
    form = json.loads(Survey(schema(4), 2, 1.1, "Subspace").to_json())
    change(form)  # type: ignore[operator]
    return json.dumps(form)


def listed(form: dict, sets: object, weights: object) -> None:
    first = form["templates"][0]
    del first["weight"]
    form.pop("touches")
    form["templates"] = [first | {"sets": sets, "weights": weights}]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f["templates"][0].update(weight=5), "add up to 2\\^32"),
        (lambda f: f["templates"][0].update(weight=0), "whole number from 1"),
        (lambda f: f["templates"][0].update(weight=True), "whole number from 1"),
        (lambda f: f["templates"][0].update(weight=1.5), "whole number from 1"),
        (lambda f: f["templates"][0].update(weight=-3), "whole number from 1"),
        (lambda f: f["templates"][0].update(weight=1 << 33), "whole number from 1"),
        (lambda f: f["templates"][0].update(weight="5"), "whole number from 1"),
        (lambda f: f["templates"][0].pop("weight"), "add up to 2\\^32"),
        (lambda f: listed(f, [[0, 1], [0, 1]], [5, ALL_WEIGHT - 5]), "must differ"),
        (lambda f: listed(f, [[0, 1], [0, 2]], [ALL_WEIGHT]), "one weight each"),
        (lambda f: listed(f, [[0, 1], [0, 9]], [5, ALL_WEIGHT - 5]), "schema does not have"),
        (lambda f: listed(f, [[1, 0]], [ALL_WEIGHT]), "ascending"),
        (lambda f: listed(f, [[0, 1, 2]], [ALL_WEIGHT]), "must list the attributes"),
        (lambda f: listed(f, [], []), "must be a list of 1"),
        (lambda f: listed(f, [[0, 1]], [ALL_WEIGHT - 1]), "add up to 2\\^32"),
        (lambda f: f["templates"][0].update(sets=[[0, 1]]), "both weight and sets"),
    ],
)
def test_a_survey_whose_weights_are_wrong_is_refused(change: object, message: str) -> None:
    with pytest.raises(SurveyError, match=message):
        Survey.from_json(broken(change))


def test_a_survey_that_lists_one_set_is_read() -> None:
    survey = Survey.from_json(broken(lambda f: listed(f, [[1, 3]], [ALL_WEIGHT])))
    assert survey.slots == 1
    assert survey.question(0).attributes == ("a1", "a3")


def test_a_design_without_weights_asks_every_question_alike() -> None:
    made = Survey(schema(4), 2, 1.1, "Subspace")
    assert len(made.templates) > 1
    alike = Survey.from_json(broken(lambda f: [s.pop("weight") for s in f["templates"]]))
    assert alike.slots == made.slots
    assert [alike.index.chances(i).tolist() for i in range(len(alike.templates))] == [
        [1 / made.slots]
    ] * len(made.templates)
    assert audit(alike).passed
    assert predicted_tv(alike, 1) > predicted_tv(made, 1)


def test_the_name_of_a_design_is_for_people() -> None:
    made = Survey(schema(4), 2, 1.1, "Subspace")
    renamed = Survey.from_json(broken(lambda f: f.update(mechanism="InpHT")))
    assert renamed.mechanism == "InpHT"
    assert renamed.id != made.id
    assert renamed.templates == made.templates
    assert predicted_tv(renamed, 1) == predicted_tv(made, 1)


def test_a_client_answers_a_triangle_and_knows_how_much_it_touches(tmp_path) -> None:
    survey = Survey(schema(5), 2, log(3), "Subspace")
    assert survey.touches == 3
    triangle = survey.question(survey.slots - 1)
    assert isinstance(triangle.asks, Parities)
    assert len(triangle.attributes) == 3
    record = {f"a{i}": bool(i % 2) for i in range(5)}
    client = Client(survey, ledger=Ledger(tmp_path / "me.json"))
    report = client.report(record, triangle)
    assert report.slot == triangle.slot
    assert 0 <= report.value < 4
    narrow = Survey(schema(5), 2, log(3), "MargPS")
    with pytest.raises(RefusedError, match="another survey"):
        Client(narrow, ledger=Ledger.in_memory()).report(record, triangle)


def test_a_client_draws_slots_of_the_survey() -> None:
    survey = Survey(schema(7), 3, 0.5, "Subspace")
    stream = Key.seeded("draw").stream()
    drawn = {survey.draw_slot(stream) for _ in range(3000)}
    assert min(drawn) >= 0
    assert max(drawn) < survey.slots
    assert len(drawn) > 0.9 * survey.slots


def test_slots_beyond_any_table_are_asked_answered_and_decoded() -> None:
    frame = people(20_000, 100)
    survey = Survey(Schema.from_frame(frame), 3, log(3))
    assert survey.mechanism == "Subspace"
    assert survey.slots > MOST_LISTED
    question = survey.question(survey.slots - 1)
    assert Survey.from_json(survey.to_json()).question(survey.slots - 1) == question
    release = simulate(survey, frame, seed="many")
    for names in (("a0",), ("a0", "a99"), ("a3", "a50", "a97")):
        table = release.marginal(*names)
        assert np.isfinite(table.values).all()
        assert table.values.sum() == pytest.approx(1)
    assert release.marginal("a7").values[1] == pytest.approx(frame["a7"].mean(), abs=0.5)


def test_large_designs_answer_as_small_ones_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The path for slots that are too many to be listed gives the same reports."""
    survey = Survey(schema(9), 3, 2.0, "Subspace")
    frame = people(5000, 9)
    listed_batch = survey.randomize(frame, seed="same")
    monkeypatch.setattr("deniable.survey.symbols.MOST_LISTED", 0)
    again = survey.randomize(frame, seed="same")
    assert np.array_equal(listed_batch.slots, again.slots)
    assert np.array_equal(listed_batch.values, again.values)


def test_one_report_gives_finite_flagged_tables() -> None:
    survey = Survey(schema(6), 2, 1.1, "Subspace")
    tally = Tally(survey, np.array([0]), np.array([3]), np.array([1]), True)
    release = tally.release()
    for table in release.marginals():
        assert np.isfinite(table.values).all()
        assert table.known == (set(table.names) == set(survey.question(0).attributes))
        assert table.known or np.isinf(table.standard_error).all()


def test_reports_that_all_say_the_same_give_finite_tables() -> None:
    survey = Survey(schema(6), 2, 1.1, "Subspace")
    slots = np.arange(survey.slots)
    same = np.full(len(slots), 50)
    release = Tally(survey, slots, np.zeros_like(slots), same, True).release()
    for table in release.marginals():
        assert table.known
        assert np.isfinite(table.values).all()
        assert np.isfinite(table.standard_error).all()


def test_tables_outside_a_workload_are_unknown() -> None:
    frame = people(4000, 6)
    survey = Survey(Schema.from_frame(frame), 2, 1.1, "Subspace", workload=[("a0", "a1"), ("a4",)])
    release = simulate(survey, frame, seed="workload")
    assert release.marginal("a1", "a0").known
    assert release.marginal("a4").known
    outside = release.marginal("a2", "a4")
    assert not outside.known
    assert np.isfinite(outside.values).all()
    truth = pd.crosstab(frame["a0"], frame["a1"], normalize=True).to_numpy()
    low, high = release.marginal("a0", "a1").interval(0.9999)
    assert ((low < truth) & (truth < high)).all()


@pytest.mark.parametrize("consistency", ["joint", "model"])
def test_a_workload_s_tables_can_be_made_consistent(consistency: str) -> None:
    frame = people(4000, 6)
    survey = Survey(Schema.from_frame(frame), 2, 1.1, workload=[("a0", "a1"), ("a1", "a4")])
    tally = survey.tally(survey.randomize(frame, seed="some"), simulation=True)
    release = tally.release(consistency)
    for table in release.marginals():
        assert table.known == (set(table.names) in ({"a0", "a1"}, {"a1", "a4"}))
        assert table.values.min() >= 0
        assert table.values.sum() == pytest.approx(1)
    truth = pd.crosstab(frame["a0"], frame["a1"], normalize=True).to_numpy()
    assert release.marginal("a0", "a1").values == pytest.approx(truth, abs=0.15)


def survey_of(attributes: int, order: int, *asked: tuple[int, list[list[int]], int]) -> str:
    form = json.loads(Survey(schema(attributes), order, 1.1, "Subspace").to_json())
    form["templates"] = [
        {
            "attributes": touched,
            "answer": Subset.within(1.1, 1 << len(parities)).to_json(),
            "parities": parities,
            "weight": weight,
        }
        for touched, parities, weight in asked
    ]
    form.pop("touches", None)
    touches = max(touched for touched, _, _ in asked)
    form |= {"touches": touches} if touches > order else {}
    return canonical(form)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("order", "asked"),
    [
        (1, [(2, [[0, 1]], ALL_WEIGHT)]),
        (2, [(1, [[0]], ALL_WEIGHT)]),
        (2, [(1, [[0]], ALL_WEIGHT - 1), (3, [[0, 1, 2]], 1)]),
    ],
)
def test_what_is_never_asked_is_unknown(order: int, asked: list) -> None:
    survey = Survey.from_json(survey_of(4, order, *asked))
    assert audit(survey).passed
    release = simulate(survey, people(300, 4), seed="1")
    assert not any(table.known for table in release.marginals())
    assert predicted_tv(survey, 100) == inf
    assert guaranteed_tv(survey, 100) in (None, inf)
    decoder_of(survey).expected(100.0).covariance(np.array([list(range(order))]))


def test_a_type_asked_in_one_orientation_only_is_not_predicted_as_if_in_all() -> None:
    """{a, bc} without {b, ac} and {c, ab}: the pair of the first two is never asked for."""
    survey = Survey.from_json(survey_of(4, 2, (3, [[0], [1, 2]], ALL_WEIGHT)))
    assert not is_symmetric(survey)
    release = simulate(survey, people(10_000, 4), seed="1")
    assert not release.marginal("a0", "a1").known
    assert predicted_tv(survey, 100) == inf
    assert guaranteed_tv(survey, 100) in (None, inf)


def test_no_question_touches_more_than_nine_attributes_or_the_order() -> None:
    """As docs/subspace.md says."""
    for attributes, order, epsilon in ((12, 2, 12.0), (12, 3, 12.0), (9, 8, 12.0), (10, 10, 12.0)):
        assert Subspace.survey(schema(attributes), order, epsilon).touches <= max(9, order)
