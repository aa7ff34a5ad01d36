"""Tallies that people who follow the protocol could not have sent are said to be so, and no others."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log

import numpy as np
import pandas as pd
import pytest

from deniable import Schema, Survey
from deniable.collector import odds
from deniable.collector.builder import TallyBuilder
from deniable.collector.tally import TallyCounts
from deniable.errors import TallyError
from deniable.release.release import ReleasedTables

PAIRS = Schema.binary("a", "b", "c")
MIXED = Schema.of(a=["x", "y", "z"], b=[False, True], n=(0, 20))
SURVEYS = [
    *((PAIRS, name) for name in ("Subspace", "InpHT", "MargPS", "MargRR", "InpEM", "InpPS")),
    (MIXED, "Subspace"),
    (MIXED, "InpHT"),
]


def counted(survey: Survey, slots: np.ndarray, values: np.ndarray) -> TallyCounts:
    builder = TallyBuilder(survey)
    builder.add(slots, values)
    return builder.tally()


def constant(survey: Survey, people: int) -> TallyCounts:
    """Return the tally of devices that always send 0."""
    slots = np.arange(people) % survey.slots
    return counted(survey, slots, np.zeros(people, np.int64))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0, 6.0])
def test_constant_answers_are_implausible(epsilon: float) -> None:
    survey = Survey(PAIRS, 2, epsilon, "InpHT")
    assert not ReleasedTables(constant(survey, 10_000)).plausible


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_few_constant_answers_are_seen_as_soon_as_chance_allows(epsilon: float) -> None:
    """So many alike are rarer than a false alarm, whoever answered, and fewer are not."""
    survey = Survey(PAIRS, 2, epsilon, "InpHT")
    tests = 4 * (survey.slots + 1)
    needed = log(tests / odds.FALSE_ALARM) / -log(exp(epsilon) / (exp(epsilon) + 1))
    assert odds.answers_p_value(constant(survey, int(1.02 * needed) + 1)) < odds.FALSE_ALARM
    assert odds.answers_p_value(constant(survey, int(0.7 * needed))) > odds.FALSE_ALARM


def honest(survey: Survey, people: int, seed: int) -> TallyCounts:
    """People who are all alike: their answers lie at the edge of what is possible."""
    alike = {each.name: [each.value_of(0)] * people for each in survey.schema.attributes}
    batch = survey.randomize(pd.DataFrame(alike), seed=str(seed))
    return survey.tally(batch, simulation=True)


@pytest.mark.parametrize(("schema", "mechanism"), SURVEYS)
def test_honest_people_are_plausible(schema: Schema, mechanism: str) -> None:
    """One false alarm in 50,000 tallies, at most; here there are 12 of each survey."""
    for epsilon in (0.5, 2.0, 6.0):
        survey = Survey(schema, 2, epsilon, mechanism)
        for people in (1, 40, 2_000, 20_000):
            assert ReleasedTables(honest(survey, people, people)).plausible


def test_multiplied_counts_are_implausible_or_refused() -> None:
    """Slots are as uneven as chance makes them; those of counts times ten are ten times more so."""
    survey = Survey(Schema.binary(*"abcdef"), 2, 1.0)
    tally = honest(survey, 5_000, 1)
    assert ReleasedTables(tally).plausible
    for factor in (10, 10**6, 10**12):
        assert not ReleasedTables(replace(tally, count=tally.count * factor)).plausible
    for factor in (10**13, 10**15):
        with pytest.raises(TallyError, match="more reports than there can be"):
            ReleasedTables(replace(tally, count=tally.count * factor))
    with pytest.raises(TallyError, match="less than once"):
        ReleasedTables(replace(tally, count=tally.count - tally.count.max()))


def test_a_check_that_looks_at_single_slots_alone_would_be_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Six slots of 60 reports each tell little, and 360 alike are far too many at an epsilon of 3."""
    survey = Survey(PAIRS, 2, 3.0, "InpHT")
    tally = constant(survey, 360)
    assert odds.answers_p_value(tally) < odds.FALSE_ALARM
    whole = odds._claims
    monkeypatch.setattr(
        odds, "_claims", lambda tally: (each for each in whole(tally) if each.reports.ndim == 2)
    )
    assert odds.answers_p_value(tally) > odds.FALSE_ALARM
