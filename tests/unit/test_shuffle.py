"""What shuffling adds: the theory's numbers, never too little, and the crowd of assigned slots."""

from __future__ import annotations

import decimal
from math import exp, log, sqrt

import numpy as np
import pytest

from deniable import Schema, Survey, plan
from deniable.planning.shuffle import crowd, shuffled_epsilon

PEOPLE, DELTA = 1 << 18, 1e-9


def asking(name: str, attributes: int, order: int = 2) -> Survey:
    return Survey(Schema.binary(*(f"a{i}" for i in range(attributes))), order, log(3), name)


def test_the_numbers_are_those_of_the_theory() -> None:
    assert shuffled_epsilon(log(3), PEOPLE, DELTA) == pytest.approx(0.062, abs=0.0005)
    for attributes, epsilon in ((8, 0.32), (16, 0.56)):
        shared = crowd(asking("InpHT", attributes), PEOPLE, "assigned")
        assert shuffled_epsilon(log(3), shared, DELTA) == pytest.approx(epsilon, abs=0.005)


@pytest.mark.parametrize("epsilon", [0.1, 1.1, 4.0])
@pytest.mark.parametrize("people", [100_000, 10**9])
def test_the_formula_is_evaluated_and_rounded_up(epsilon: float, people: int) -> None:
    odds, failures = exp(epsilon), log(4 / DELTA)
    spread = 8 * sqrt(odds * failures / people) + 8 * odds / people
    expected = log(1 + (odds - 1) / (odds + 1) * spread)
    assert shuffled_epsilon(epsilon, people, DELTA) == pytest.approx(expected, rel=1e-12)


def test_a_crowd_that_is_too_small_promises_nothing() -> None:
    least = 16 * exp(1.1) * log(4 / DELTA)
    assert shuffled_epsilon(1.1, int(least), DELTA) is None
    assert shuffled_epsilon(1.1, int(least) + 1, DELTA) is not None
    assert shuffled_epsilon(1.1, 0, DELTA) is None


def test_the_crowd_is_everybody_or_those_with_the_rarest_slot() -> None:
    made = asking("InpHT", 8)
    assert made.slots == 36
    assert crowd(made, 1000, "drawn") == 1000
    assert crowd(made, 1000, "assigned") == 27
    assert [crowd(made, n, "assigned") for n in (35, 36, 36 * 7, 36 * 10**9)] == [0, 1, 7, 10**9]
    assert crowd(asking("InpPS", 8), 1000, "assigned") == 1000


def test_templates_with_weights_of_their_own_count_each_with_its_slots() -> None:
    made = asking("Subspace", 8, 3)
    assert len(made.templates) > 1
    counts = [slots.count for slots in made.index.templates]
    per_slot = [made.index.chance(i) / count for i, count in enumerate(counts)]
    assert min(per_slot) < max(per_slot) / 1.5, "some slots are rarer than others"
    assert crowd(made, 10**6, "assigned") == int(10**6 * min(per_slot))


def test_tables_with_weights_of_their_own_count_each() -> None:
    schema = Schema.binary(*"abcd")
    survey = Survey(schema, 2, 1.1, "Subspace", workload={("a", "b"): 9, ("c", "d"): 1})
    chances = np.concatenate([survey.index.chances(i) for i in range(len(survey.templates))])
    assert chances.sum() == pytest.approx(1)
    assert crowd(survey, 10**6, "assigned") == int(10**6 * chances.min()) < 10**6 / 3


def test_a_plan_tells_of_shuffling_only_if_somebody_shuffles() -> None:
    schema = Schema.binary(*"abcdef")
    assert plan(schema, people=PEOPLE).to_json()["shuffled"] is None
    drawn = plan(schema, people=PEOPLE, shuffler=" Acme ", delta=1e-6).to_json()["shuffled"]
    assert drawn == {
        "shuffler": "Acme",
        "delta": 1e-6,
        "slots": "drawn",
        "crowd": PEOPLE,
        "epsilon": shuffled_epsilon(1.1, PEOPLE, 1e-6),
    }
    assigned = plan(schema, people=PEOPLE, shuffler="Acme", slots="assigned")
    best = Survey(schema, 2, 1.1)
    assert assigned.recommended == best.mechanism
    assert assigned.shuffled.crowd == crowd(best, PEOPLE, "assigned") < PEOPLE
    assert drawn["epsilon"] < assigned.shuffled.epsilon < 1.1


def test_a_shuffled_epsilon_does_not_depend_on_the_callers_arithmetic() -> None:
    expected = shuffled_epsilon(log(3), PEOPLE, DELTA)
    with decimal.localcontext(prec=3):
        assert shuffled_epsilon(log(3), PEOPLE, DELTA) == expected
