"""The integrity monitor: silent where people are honest, loud where something was planted."""

from __future__ import annotations

import numpy as np
import pytest
from server_parts import survey

from deniable import Schema, Survey
from deniable.collector.builder import TallyBuilder
from deniable.collector.odds import FALSE_ALARM
from deniable.questions.entropy import Key
from deniable.server.integrity import inspect
from deniable.server.slots import Assignment

MECHANISMS = ["InpHT", "MargHT", "MargPS", "InpPS", "MargRR", "InpEM", "Subspace"]
PEOPLE = 20_000


def people(chosen, count=PEOPLE, seed=1):
    """Records in which everybody is alike: the shares that lie at the edge of what is allowed."""
    rng = np.random.default_rng(seed)
    return rng.random((count, len(chosen.schema))) < (0.0 if seed % 2 else 1.0)


def honest(chosen, seed=1, count=PEOPLE):
    import pandas as pd

    frame = pd.DataFrame(people(chosen, count, seed), columns=list(chosen.schema.names))
    return chosen.randomize(frame, seed=f"honest {seed}")


def tallied(chosen, slots, values):
    builder = TallyBuilder(chosen)
    builder.add(slots, values)
    return builder.tally()


def alarms(counts):
    return inspect(counts).summary["alarms"]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_honest_people_raise_no_alarm(mechanism):
    chosen = survey(mechanism, 5)
    for seed in range(10):
        batch = honest(chosen, seed)
        seen = inspect(tallied(chosen, batch.slots, batch.values))
        assert not seen.alarm, seen
        assert [check.name for check in seen.checks] == ["slots", "answers", "coefficients"]


def test_the_false_alarm_rate_is_what_is_stated():
    """p-values of honest people: as small as they say, at most; in the tail, where alarms are."""
    chosen = survey("InpHT", 4)
    runs, worst = 800, {"slots": [], "answers": []}
    rng = np.random.default_rng(7)
    chances = np.full(chosen.slots, 1 / chosen.slots)
    own = float(chosen.templates[0].answer.inclusion.own)
    for _ in range(runs):
        used = rng.multinomial(400, chances)
        ones = rng.binomial(used, own)  # everybody's truth is 1: the edge
        slot = np.repeat(np.arange(chosen.slots), 2)
        value = np.tile([0, 1], chosen.slots)
        count = np.column_stack((used - ones, ones)).ravel()
        kept = count > 0
        builder = TallyBuilder(chosen)
        builder.add(slot[kept], value[kept], count[kept])
        for check in inspect(builder.tally()).checks[:2]:
            worst[check.name].append(check.p_value)
    for found in worst.values():
        for level in (0.1, 0.01):
            share = np.mean(np.array(found) < level)
            # Five standard errors above what is stated: one such test in three million fails by chance.
            assert share <= level + 5 * np.sqrt(level / runs), (level, share)
    assert FALSE_ALARM == 1e-5


def test_even_slots_are_no_alarm_and_uneven_ones_are():
    chosen = survey("InpHT", 5)
    even = np.arange(15_000) % chosen.slots
    values = np.random.default_rng(1).integers(2, size=len(even))
    seen = inspect(tallied(chosen, even, values))
    assert not seen.alarm
    assert seen.checks[0].p_value > 0.999  # more even than chance, on purpose
    aimed = even.copy()
    aimed[:600] = 3  # four per cent choose their own question
    assert alarms(tallied(chosen, aimed, values)) == ["slots"]


def test_uneven_slots_are_seen_where_slots_are_very_many():
    chosen = Survey(Schema.binary(*(f"a{i}" for i in range(60))), 4, 1.1, "InpHT")
    assert chosen.slots > 500_000
    rng = np.random.default_rng(1)
    slots = rng.integers(chosen.slots, size=PEOPLE)
    values = rng.integers(2, size=PEOPLE)
    tally = tallied(chosen, slots, values)
    assert not inspect(tally, plausible=True).alarm
    slots[: PEOPLE // 20] = rng.integers(1000, size=PEOPLE // 20)
    assert inspect(tallied(chosen, slots, values), plausible=True).summary["alarms"] == ["slots"]


def test_uneven_weights_are_expected_where_the_survey_has_them():
    chosen = Survey(Schema.of(a=[1, 2, 3], b=[1, 2, 3, 4], c=[True, False]), 2, 1.1)
    slots = chosen.index.draw_many(Key.seeded("x").stream("s"), PEOPLE)
    uniform = np.random.default_rng(1).integers(chosen.slots, size=PEOPLE)
    values = np.zeros(PEOPLE, np.int64)
    assert not inspect(tallied(chosen, slots, values), plausible=True).checks[0].alarm
    assert inspect(tallied(chosen, uniform, values), plausible=True).checks[0].alarm


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_answers_that_no_records_explain_are_seen(mechanism):
    chosen = survey(mechanism, 5)
    batch = honest(chosen, 3)
    values = batch.values.copy()
    answer = chosen.families[0].answer
    top = answer.outcomes - 1
    values[batch.slots < chosen.families[0].stop] = top  # everybody says the same
    found = alarms(tallied(chosen, batch.slots, values))
    assert "answers" in found


def test_some_liars_are_seen_at_the_edge():
    """Everybody's truth is 0, and one in five never flips the answer."""
    chosen = survey("InpHT", 4)
    batch = honest(chosen, 1, 60_000)
    values = batch.values.copy()
    values[:12_000] = 0
    assert "answers" not in alarms(tallied(chosen, batch.slots, batch.values))
    assert "answers" in alarms(tallied(chosen, batch.slots, values))


def test_coefficients_beyond_noise_are_seen():
    chosen = survey("InpHT", 4)
    slots = np.arange(4_000) % chosen.slots
    assert "coefficients" in alarms(tallied(chosen, slots, np.zeros(4_000, np.int64)))


def test_assigned_slots_are_used_as_designed():
    assignment = Assignment(bytes(32))
    for chosen in (survey("InpHT", 5), Survey(Schema.of(a=[1, 2, 3], b=[1, 2], c=[1, 2]), 2, 1.1)):
        slots = np.array([assignment.slot(chosen, s) for s in range(8192)])
        seen = inspect(tallied(chosen, slots, np.zeros(8192, np.int64)), plausible=True)
        assert seen.checks[0].p_value > 0.999  # more even than chance


def test_nothing_is_said_of_nothing():
    chosen = survey()
    empty = tallied(chosen, np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert inspect(empty).checks == ()
    one = tallied(chosen, np.zeros(1, np.int64), np.zeros(1, np.int64))
    assert not inspect(one).alarm
