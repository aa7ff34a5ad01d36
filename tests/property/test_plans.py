"""Shuffling never hurts, and predicted errors fall with ε and with people."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from deniable import Schema, plan
from deniable.planning.accountant import Tokens, hidden
from deniable.planning.curves import LOWER_BOUND
from deniable.planning.error import predicted_tv
from deniable.planning.fitting import surveys_that_fit

epsilons = st.floats(1e-6, 20)
crowds = st.integers(1, 1 << 18)
deltas = st.floats(1e-300, 0.999)
answers = st.sampled_from((None, Tokens.of_any, lambda epsilon: Tokens.of_symbol(epsilon, 4)))

SLACK = 1.02
"""A crowd's bound may grow by this where more of the others' truths are bounded together."""


def shuffled_epsilon(epsilon, crowd, delta, tokens):
    return hidden(epsilon, crowd, delta, tokens and tokens(epsilon))


@settings(max_examples=40)
@given(epsilons, crowds, deltas, answers)
def test_a_shuffled_epsilon_is_positive_and_never_above_the_local_one(
    epsilon, crowd, delta, tokens
):
    assert 0 < shuffled_epsilon(epsilon, crowd, delta, tokens) <= epsilon


@settings(max_examples=40)
@given(epsilons, crowds, st.integers(1, 1 << 18), deltas, answers)
def test_more_people_hide_better(epsilon, crowd, more, delta, tokens):
    few, many = (shuffled_epsilon(epsilon, n, delta, tokens) for n in (crowd, crowd + more))
    assert many <= few * SLACK


@settings(max_examples=40)
@given(epsilons, crowds, deltas, st.floats(1, 100), answers)
def test_a_smaller_delta_costs_epsilon(epsilon, crowd, delta, factor, tokens):
    strict = shuffled_epsilon(epsilon, crowd, delta / factor, tokens)
    assert shuffled_epsilon(epsilon, crowd, delta, tokens) <= strict * SLACK


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
