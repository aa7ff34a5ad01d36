"""Pooled surveys: alike attributes, exact covariances, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deniable import Attribute, Release, Schema, Survey, Tally
from deniable.collector.tally import TallyCounts
from deniable.errors import DeniableError, SurveyError, TableError
from deniable.questions.question import Cell
from deniable.questions.terms import Term
from deniable.survey.digests import LanguageDigests, TextDigests
from deniable.survey.pooled import PooledSurvey, check_alike

PEOPLE = 6000


@cache
def people() -> pd.DataFrame:
    random = np.random.default_rng(5)
    a = random.random(PEOPLE) < 0.4
    b = random.random(PEOPLE) < np.where(a, 0.7, 0.3)
    return pd.DataFrame(
        {
            "a": a,
            "b": b,
            "mood": random.choice(["low", "mid", "high"], PEOPLE),
            "age": (40 + 20 * a + random.integers(-20, 21, PEOPLE)),
            "old": random.random(PEOPLE) < 0.5,
            "new": random.random(PEOPLE) < np.where(b, 0.8, 0.2),
        }
    )


VALUES: dict[str, Any] = {"mood": ["low", "mid", "high"], "age": (18, 82)}


def survey(*names: str, epsilon: float = 2.0, mechanism: str = "auto", **how: Any) -> Survey:
    schema = Schema.of(**{name: VALUES.get(name, [False, True]) for name in names})
    return Survey(schema, how.pop("order", 2), epsilon, mechanism, **how)


def release(own: Survey, first: int, last: int) -> Release:
    batch = own.randomize(people().iloc[first:last], f"{first}")
    return own.tally(batch, simulation=True).release()


def pair(*surveys: Survey) -> list[Release]:
    return [release(surveys[0], 0, 2000), release(surveys[1], 2000, PEOPLE)]


@cache
def both() -> tuple[Release, ...]:
    first = survey("a", "b", "mood", "age", "old", epsilon=1.1)
    return tuple(pair(first, survey("a", "b", "new", "mood", "age", follows=first.id)))


@cache
def pooled() -> Release:
    return Release.pool(both())


def test_pooled_tables_are_weighted_by_precision() -> None:
    for names in [("a",), ("b", "a"), ("mood", "b")]:
        table, parts = pooled().marginal(*names), [each.marginal(*names) for each in both()]
        weights = [1 / part.standard_error**2 for part in parts]
        mean = sum(w * part.values for w, part in zip(weights, parts, strict=True)) / sum(weights)
        assert table.standard_error**2 == pytest.approx(1 / sum(weights), rel=0.03)
        assert np.abs(table.values - mean).max() < 0.2 * table.standard_error.min()
        assert (table.people, table.simulated, table.kind) == (PEOPLE, True, "unbiased")


def test_a_mean_by_people_would_be_noticed() -> None:
    """The planted bug: 2,000 people at ε = 1.1 do not count for half of 4,000 at ε = 2."""
    parts = [each.marginal("a") for each in both()]
    by_people = [(each.people / PEOPLE) ** 2 * each.standard_error**2 for each in parts]
    assert pooled().marginal("a").standard_error ** 2 != pytest.approx(sum(by_people), rel=0.1)


def test_two_tallies_of_one_survey_pool_to_their_sum() -> None:
    own = survey("a", "b", "mood")
    one, other = pair(own, own)
    total = (one.tallies[0] + other.tallies[0]).release()  # type: ignore[attr-defined]
    own_pool = Release.pool([one, other])
    assert not own_pool.pooling.overlap
    for names in [("a",), ("a", "mood")]:
        assert own_pool.marginal(*names).values == pytest.approx(total.marginal(*names).values)
        assert own_pool.marginal(*names).covariance == pytest.approx(
            total.marginal(*names).covariance
        )


def test_covariance_across_tables_is_that_of_the_tables() -> None:
    table = pooled().marginal("a", "b")
    cells = [{"a": x, "b": y} for x in (False, True) for y in (False, True)]
    own = pooled().covariance([*cells, {"a": True}])
    # By what reports vary by, which scatters by itself, and by the law of answers.
    assert np.diag(own)[:4] == pytest.approx(np.diag(table.covariance), rel=0.15)
    assert own[4, 4] == pytest.approx(own[2:4, 2:4].sum(), rel=1e-3)


CELLS = (("a",), ("a", "b"), ("b", "new"))


def exact_covariance(
    surveys: list[Survey], people_of: list[int], change: int = 4
) -> tuple[Any, Any]:
    """The covariance of pooled cells by enumeration, and what the release states at these shares.

    Given who got which slot, cells are linear in how many gave each answer, and these are multinomial.
    """
    names = sorted(set().union(*(own.schema.names for own in surveys)))
    records = [dict(zip(names, each, strict=True)) for each in product((False, True), repeat=3)]
    shares = np.array([5, 1, 2, 7, 3, 4, 1, 1]) / 24

    def counts(own: Survey, in_slot: int) -> Any:
        laws = []
        for slot in range(own.slots):
            question = own.question(slot)
            of_record = [question.answer.law(question.asks.symbol(each)) for each in records]
            laws.append(shares @ np.array(of_record, float) / question.answer.law_total)
        return np.array(laws), np.round(np.array(laws) * in_slot).astype(np.int64)

    def cells(every: list[Any]) -> Any:
        parts = []
        for own, each in zip(surveys, every, strict=True):
            slot, value = (where.ravel() for where in np.indices(each.shape))
            parts.append(Tally.of(TallyCounts(own, slot, value, each.ravel())).release())
        pool = Release.pool(parts, overlap=False)
        return pool, np.concatenate([pool.marginal(*each).values.ravel() for each in CELLS])

    laws, every = zip(*map(counts, surveys, people_of), strict=True)
    pool, mean = cells(list(every))
    covariance = np.zeros((len(mean), len(mean)))
    for number, (law, each) in enumerate(zip(laws, every, strict=True)):
        for slot in range(len(each)):
            jacobian = np.zeros((len(mean), law.shape[1]))
            for value in range(1, law.shape[1]):
                moved = each.copy()
                moved[slot, [0, value]] += [-change, change]
                other = [*every[:number], moved, *every[number + 1 :]]
                jacobian[:, value] = (cells(other)[1] - mean) / change
            spread = np.diag(law[slot]) - np.outer(law[slot], law[slot])
            covariance += each[slot].sum() * jacobian @ spread @ jacobian.T
    stated, start = [], 0
    for each in CELLS:
        table = np.array([[names.index(name) for name in each]])
        cell_of = [tuple(record[name] for name in each) for record in records]
        truth = [
            shares[[at == own for at in cell_of]].sum() for own in product((0, 1), repeat=len(each))
        ]
        block = slice(start, start := start + len(truth))
        own = pool.evidence.cell_covariances(table, np.array([truth]))[0]
        stated.append((own, covariance[block, block]))
    return stated, pool


@pytest.mark.parametrize("mechanisms", [("InpHT", "InpHT"), ("InpHT", "MargPS")])
def test_covariance_is_that_of_enumeration(mechanisms: tuple[str, str]) -> None:
    first = survey("a", "b", epsilon=1.1, mechanism=mechanisms[0])
    second = survey("a", "b", "new", mechanism=mechanisms[1], follows=first.id)
    for own, exact in exact_covariance([first, second], [300, 90])[0]:
        assert own == pytest.approx(
            exact, abs=1e-9 * np.abs(exact).max() + 1e-3 * np.diag(exact).min()
        )


def test_a_covariance_of_other_people_would_be_noticed() -> None:
    """The planted bug: a tenth fewer people of one survey than are counted."""
    surveys = [survey(*"ab", mechanism="InpHT"), survey("a", "b", "new", mechanism="InpHT")]
    stated = exact_covariance(surveys, [270, 90])[0]
    for (own, _), (_, exact) in zip(stated, exact_covariance(surveys, [300, 90])[0], strict=True):
        assert np.diag(own) != pytest.approx(np.diag(exact), rel=5e-3)


def test_a_pooled_release_does_what_a_release_does(tmp_path: Path) -> None:
    own = pooled()
    assert own.mean("age").to_frame()["standard_error"][0] < 1.2
    assert len(own.mean("age", by="a").to_frame()) == 2
    assert own.regress("age ~ a + b").to_frame()["estimate"].notna().all()
    pairs = own.associations()
    p_values = {frozenset(row[:2]): row[2] for row in pairs[["a", "b", "p_value"]].to_numpy()}
    assert p_values[frozenset("ab")] < 1e-4
    assert np.isnan(p_values[frozenset(("old", "new"))])
    assert own.quantile("age", 0.5).to_frame()["estimate"].between(40, 60).all()
    assert own.poststratify({"a": {False: 0.5, True: 0.5}}).pooling is own.pooling
    assert [each.known for each in own.marginals(2)].count(False) == 1
    for consistency in ("joint", "model", "auto"):
        other = own.with_consistency(consistency)
        if consistency == "auto":
            assert other.applied == "model"
        assert [each.known for each in other.marginals(2)].count(False) == 1
    own.report(tmp_path / "out.html")
    text = (tmp_path / "out.html").read_text("utf-8")
    assert "pooled from" in text
    assert own.surveys in text
    own.export(tmp_path / "out.json")
    form = json.loads((tmp_path / "out.json").read_text("utf-8"))
    assert form["pooled"]["errors"] == "exact"
    assert [each["people"] for each in form["pooled"]["surveys"]] == [2000, 4000]
    assert "pooled" in repr(own)
    for each in both():  # the id of all together is that of no document
        assert each.survey.id[:16] in own.cite().text
        assert each.survey.id in own.cite().bibtex
    assert own.survey.id[:16] not in own.cite().text
    assert "ε = 2 and 1.1 per report" in own.cite().text
    assert "ε = 2 or 1.1: whoever sees it" in own.methods()
    assert "its own record of up to 6 attributes" in own.methods()
    assert "Pooled by precision" in own._repr_html_()


def test_a_table_across_surveys_is_refused_with_the_reason() -> None:
    first, second = (each.survey.id[:8] for each in both())
    with pytest.raises(TableError, match=f"'old' is in {first}.*'new' is in {second}"):
        pooled().marginal("old", "new")
    with pytest.raises(TableError, match="No survey asked for 'new' × 'old' together"):
        pooled().regress("old ~ new")
    assert pooled().marginal("old", "a").known
    assert pooled().marginal("new", "a").known


def test_orders_may_differ() -> None:
    one, other = pair(survey("a", "b", "old", order=3), survey("a", "b", "new"))
    own = Release.pool([one, other], overlap=False)
    assert own.marginal("a", "b", "old").known
    with pytest.raises(TableError, match=r"\(order 2\)"):
        own.marginal("a", "b", "new")


@pytest.mark.parametrize("mechanism", ["InpHT", "MargPS", "MargRR", "MargHT", "InpRR", "InpPS"])
def test_any_way_of_answering_is_pooled(mechanism: str) -> None:
    one, other = pair(
        survey("a", "b", "old", mechanism=mechanism), survey("a", "b", mechanism="Subspace")
    )
    own = Release.pool([one, other])
    parts = [1 / each.marginal("a", "b").standard_error ** 2 for each in (one, other)]
    assert own.marginal("a", "b").standard_error ** 2 == pytest.approx(1 / sum(parts), rel=0.06)
    assert own.survey.mechanism == f"{mechanism} + Subspace"


def test_cells_of_many_values_are_pooled() -> None:
    one, other = pair(
        survey("a", "mood", "old", mechanism="MargPS"),
        survey("a", "new", "mood", mechanism="InpPS"),
    )
    own = Release.pool([one, other])
    parts = [1 / each.marginal("a", "mood").standard_error ** 2 for each in (one, other)]
    assert own.marginal("a", "mood").standard_error ** 2 == pytest.approx(1 / sum(parts), rel=0.15)


# What is refused


def declared(**fields: Any) -> Survey:
    attribute = Attribute("mood", **fields)
    return Survey(Schema((attribute, Attribute("a"))), 1, 1.0, "InpHT")


LOW = {"values": ("low", "mid", "high")}
YEARS = {"low": 18, "high": 98, "step": 1}
DIFFERENT = {
    "order of values": (LOW, {"values": ("high", "mid", "low")}, "values are ordered"),
    "values": (LOW, {"values": ("low", "high")}, "values are"),
    "kind of values": ({"values": (1, 2)}, {"values": ("1", "2")}, "values are"),
    "an order": (LOW, LOW | {"ordered": True}, "in order in one of them only"),
    "missing": (LOW | {"missing": "?"}, LOW | {"missing": "none"}, "stand for what is missing"),
    "other": (LOW | {"other": "low"}, LOW | {"other": "mid"}, "stand for what is missing"),
    "edges": ({"edges": (10, 20)}, {"edges": (10, 25)}, r"edges are \(10, 20\) or \(10, 25\)"),
    "grid": (YEARS, YEARS | {"high": 99}, "points of its grid differ"),
    "bins": (YEARS | {"edges": (30,)}, YEARS | {"edges": (40,)}, "edges are"),
    "unit": (YEARS | {"unit": "years"}, YEARS | {"unit": "months"}, "unit is years or months"),
    "number": (LOW, YEARS, "a number in one of them only"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_attributes_that_are_declared_differently_are_refused(name: str) -> None:
    one, other, reason = DIFFERENT[name]
    for left, right in [(one, other), (other, one)]:
        with pytest.raises(SurveyError, match="'mood' is not the same") as caught:
            check_alike(declared(**left), declared(**right))
    with pytest.raises(SurveyError, match=reason):
        check_alike(declared(**one), declared(**other))
    assert str(caught.value).count(". ") == 0
    check_alike(declared(**one), declared(**one))
    check_alike(declared(**one), declared(**other), ["mood"])


def worded(own: Survey, **languages: str) -> Any:
    digests = {
        name: LanguageDigests("0" * 64, (letter * 64, "0" * 64))
        for name, letter in languages.items()
    }
    return own.worded(TextDigests(next(iter(languages)), "0" * 64, digests))


def test_other_words_in_a_language_that_both_have_are_refused() -> None:
    own = declared(**LOW)
    check_alike(worded(own, en="a", de="b"), worded(own, en="a", fr="c"))
    check_alike(worded(own, de="b"), worded(own, fr="c"))
    check_alike(own, worded(own, en="a"))
    with pytest.raises(SurveyError, match=r"'mood'.*its wording differs \(de\)"):
        check_alike(worded(own, en="a", de="b"), worded(own, en="a", de="c"))


def test_attributes_can_be_kept_apart() -> None:
    other_mood = Survey(Schema.of(a=[False, True], mood=["high", "mid", "low"]), 2, 2.0, "Subspace")
    one, other = pair(survey("a", "mood", mechanism="Subspace"), other_mood)
    with pytest.raises(SurveyError, match=r"'mood'.*apart=\['mood'\], --apart"):
        Release.pool([one, other])
    own = Release.pool([one, other], apart=["mood"])
    first, second = (f"mood ({each.survey.id[:8]})" for each in (one, other))
    assert own.survey.schema.names == ("a", first, second)
    assert own.marginal("a", first).values == pytest.approx(
        one.marginal("a", "mood").values, abs=0.1
    )
    with pytest.raises(SurveyError, match="No survey has an attribute 'moon'"):
        Release.pool([one, other], apart=["moon"])


REFUSED = {
    "a word for attributes": (lambda: Release.pool(both(), apart="mood"), "a list of attributes"),
    "a word for a choice": (lambda: Release.pool(both(), overlap="no"), "True, False or None"),
    "one": (lambda: [both()[0]], "at least two"),
    "tallies": (lambda: [each.tallies[0] for each in both()], "Only releases are pooled"),
    "the same people": (lambda: [*both(), both()[0]], "would count twice"),
    "the same people, pooled": (lambda: [pooled(), both()[0]], "would count twice"),
    "adjusted": (
        lambda: [both()[0].poststratify({"a": {False: 0.5, True: 0.5}}), both()[1]],
        "pool releases of tallies",
    ),
    "bits": (lambda: pair(survey("a", "b", mechanism="InpEM"), survey("a", "b")), "bit by bit"),
    "other questions": (
        lambda: pair(
            survey("a", "mood", mechanism="InpES"), survey("a", "mood", mechanism="Subspace")
        ),
        "by other yes/no questions",
    ),
    "cells and questions": (
        lambda: pair(
            survey("a", "mood", mechanism="MargPS"), survey("a", "mood", mechanism="Subspace")
        ),
        "cells of many values",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_pooled_is_refused_in_a_sentence(name: str) -> None:
    releases, reason = REFUSED[name]
    with pytest.raises(DeniableError, match=reason):
        Release.pool(releases())


# Who may be in several


def test_people_of_surveys_that_do_not_follow_each_other_may_be_the_same() -> None:
    first = survey("a", "b")
    one, other = pair(first, survey("a", "b", epsilon=1.0))
    own = Release.pool([one, other])
    assert own.pooling.overlap
    assert 0 < own.pooling.shortfall < 0.1
    assert "errors are not exact" in own.pooling.sentence
    assert "ERRORS NOT EXACT" in repr(own)
    apart = Release.pool([one, other], overlap=False)
    assert (apart.pooling.overlap, apart.pooling.shortfall) == (False, 0.0)
    assert "so errors are exact" in apart.pooling.sentence
    assert not pooled().pooling.overlap
    assert Release.pool(both(), overlap=True).pooling.overlap


def test_a_pooled_release_is_pooled_with_another() -> None:
    last = survey("a", "b", follows=both()[1].survey.id)
    batch = last.randomize(people(), "last")
    third = last.tally(batch, simulation=True).release()
    own = Release.pool([pooled(), third])
    assert own.people == 2 * PEOPLE
    assert [each.id for each in own.pooling.surveys] == [
        *(each.survey.id for each in both()),
        last.id,
    ]
    assert own.pooling.overlap  # the last one's people may be the first one's


# The survey that stands for all


def test_slots_ask_the_same_as_before_as_often_as_before() -> None:
    surveys = [each.survey for each in both()]
    own = PooledSurvey(surveys, [2000, 4000])
    assert sum(sum(each.weights) for each in own.templates) == 1 << 32
    for survey_of, begin, people_of in zip(surveys, own.begins, [2000, 4000], strict=True):
        for slot in range(0, survey_of.slots, max(1, survey_of.slots // 50)):
            assert own.question(begin + slot).english() == survey_of.question(slot).english()
        for number in range(len(survey_of.templates)):
            at = own.index.template_of(begin + survey_of.index.starts[number])
            assert own.index.chance(at) == pytest.approx(
                survey_of.index.chance(number) * people_of / PEOPLE, abs=1e-6
            )


def test_attributes_stand_in_an_order_that_is_that_of_each_survey() -> None:
    surveys = [survey("a", "b", "old"), survey("a", "new", "b"), survey("mood", "old")]
    own = PooledSurvey(surveys, [1, 1, 1])
    assert own.schema.names == ("a", "new", "b", "mood", "old")
    two_orders = [survey("a", "b"), survey("b", "old", "a")]
    assert PooledSurvey(two_orders, [1, 1]).schema.names == ("a", "b", "old")


def asked(own: Any, slot: int) -> Any:
    """What a question asks, however its attributes are ordered."""
    asks = own.question(slot).asks
    if isinstance(asks, Cell):
        bits = [(Term(term.attribute, term.values[1:]),) for term in asks.terms]
    else:
        bits = asks.bits
    return [frozenset(map(repr, bit)) for bit in bits], own.question(slot).answer


@pytest.mark.parametrize("mechanism", ["Subspace", "InpHT", "MargHT"])
def test_surveys_that_list_attributes_in_opposite_orders_are_pooled(mechanism: str) -> None:
    names = ("mood", "b", "a", "age") if mechanism != "MargHT" else ("mood", "b", "a", "new")
    forward = survey(*names, order=3 if mechanism == "Subspace" else 2, mechanism=mechanism)
    back = survey(*names[::-1], order=2, mechanism=mechanism)
    own = PooledSurvey([forward, back], [1, 1])
    moved = own.moved(1, np.arange(back.slots))
    assert sorted(moved.tolist()) == list(range(forward.slots, own.slots))
    for slot in range(0, back.slots, max(1, back.slots // 200)):
        assert asked(own, int(moved[slot])) == asked(back, slot)
    one, other = pair(forward, back)
    pool = Release.pool([one, other])
    for table in [("a",), ("mood", "b"), ("b", "a")]:
        parts = [each.marginal(*table) for each in (one, other)]
        weights = [1 / part.standard_error**2 for part in parts]
        mean = sum(w * part.values for w, part in zip(weights, parts, strict=True)) / sum(weights)
        error = pool.marginal(*table).standard_error
        # Weighted coefficient by coefficient, which is better than cell by cell.
        assert (error**2 * sum(weights) < 1.05).all()
        assert (error**2 * sum(weights) > 0.75).all()
        assert np.abs(pool.marginal(*table).values - mean).max() < 0.8 * error.min()


def test_cells_in_opposite_orders_are_not_pooled() -> None:
    surveys = [survey("a", "mood", mechanism="MargPS"), survey("mood", "a", mechanism="MargPS")]
    with pytest.raises(SurveyError, match="different orders, and one of them asks for cells"):
        PooledSurvey(surveys, [1, 1])


def test_a_copy_of_a_tally_is_the_same_people_and_a_small_one_like_it_is_not() -> None:
    """Where chance makes two tallies equal less than once in a million times, they are one."""
    one = both()[0]
    again = Tally.of(replace(one.tallies[0], count=one.tallies[0].count.copy())).release()
    assert Release.pool([again, both()[1]]).people == PEOPLE
    with pytest.raises(TableError, match="would count twice"):
        Release.pool([again, one])
    own = survey("a", "b", mechanism="InpHT")
    few = own.tally(own.randomize(people()[:6], "few"), simulation=True)
    same = Tally.of(replace(few, count=few.count.copy())).release()
    assert Release.pool([few.release(), same]).people == 12
