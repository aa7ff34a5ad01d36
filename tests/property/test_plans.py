"""Shuffling never hurts, and predicted errors fall with ε and with people."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from deniable import Schema, plan
from deniable.planning.curves import LOWER_BOUND
from deniable.planning.error import predicted_tv
from deniable.planning.fitting import surveys_that_fit
from deniable.planning.shuffle import shuffled_epsilon

epsilons = st.floats(1e-6, 20)
crowds = st.integers(1, 1 << 52)
deltas = st.floats(1e-300, 0.999)


@given(epsilons, crowds, deltas)
def test_a_shuffled_epsilon_is_positive_and_never_above_the_local_one(epsilon, crowd, delta):
    shuffled = shuffled_epsilon(epsilon, crowd, delta)
    assert shuffled is None or 0 < shuffled <= epsilon


@given(epsilons, crowds, st.integers(1, 1 << 30), deltas)
def test_more_people_hide_better(epsilon, crowd, more, delta):
    few, many = (shuffled_epsilon(epsilon, n, delta) for n in (crowd, crowd + more))
    assert few is None or many <= few


@given(epsilons, crowds, deltas, st.floats(1, 100))
def test_a_smaller_delta_costs_epsilon(epsilon, crowd, delta, factor):
    strict = shuffled_epsilon(epsilon, crowd, delta / factor)
    assert strict is None or shuffled_epsilon(epsilon, crowd, delta) <= strict


plans = st.tuples(
    st.integers(1, 9), st.integers(1, 3), st.floats(0.05, 19), st.integers(1, 10**9)
).filter(lambda made: made[1] <= made[0])


@settings(max_examples=25)
@given(plans)
def test_curves_fall_and_stay_above_the_bound(made):
    attributes, order, epsilon, people = made
    schema = Schema.binary(*(f"a{i}" for i in range(attributes)))
    frame = plan(schema, order=order, epsilon=epsilon, people=people).curves()
    for along in ("epsilon", "people"):
        part = frame[frame["along"] == along]
        table = part.pivot(index=along, columns="mechanism", values="predicted_tv")
        assert (table.diff().dropna() <= 0).all(axis=None)
        assert (table.min(axis=1) >= table[LOWER_BOUND] * (1 - 1e-9)).all()


@given(plans)
def test_mechanisms_come_best_first(made):
    attributes, order, epsilon, people = made
    schema = Schema.binary(*(f"a{i}" for i in range(attributes)))
    errors = [predicted_tv(one, people) for one in surveys_that_fit(schema, order, epsilon)[0]]
    known = [error for error in errors if error is not None]
    assert errors[: len(known)] == known, "those without a formula come last"
    assert all(a <= b * (1 + 1e-8) for a, b in pairwise(known))
