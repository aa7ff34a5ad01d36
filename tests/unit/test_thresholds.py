"""Threshold lists: everything about them by brute force over small grids."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from deniable import Survey
from deniable.decoding.decoder import decoder_of
from deniable.decoding.thresholds import SIGNS, cut_moments, cut_sums
from deniable.mechanisms.subspace import Subspace
from deniable.questions.answers import Subset
from deniable.questions.thresholds import Thresholds
from deniable.schema.attribute import Attribute
from deniable.schema.schema import Schema

LISTS = [
    Thresholds(levels, missing, cuts)
    for levels in (2, 3, 4, 5, 6, 7, 10)
    for missing in (False, True)
    for cuts in ((), (1,), tuple(range(2, levels, 3)))
    if levels > 2 or not cuts
]


def past(own: Thresholds, code: int, cut: int, entry: int) -> bool:
    """Tell whether a code is past a cut, missing by the half that the entry is in."""
    return entry >= own.steps if code == own.levels else code >= cut


@pytest.mark.parametrize("own", LISTS, ids=lambda own: str(own.identity[1:]))
def test_cuts_ask_and_tell_what_they_say(own: Thresholds) -> None:
    assert own.entries == own.count == own.steps * (1 + own.missing)
    assert own.depth == (2 if own.steps >= 3 else 1)
    answers = own.answers(np.arange(own.functions + 1))
    assert not answers[0].any()
    entries = np.arange(own.entries)
    for e in entries.tolist():
        cut = e % own.steps + 1
        assert own.coefficients(np.array([e]), 1, 1).tolist() == [e + 1]
        single = [past(own, code, cut, e) for code in range(own.codes)]
        assert answers[e + 1].tolist() == single
        above, to, stands = own.span(e + 1)
        assert (above, to, stands) == (cut, None, e >= own.steps)
    times = np.bincount(
        (own.triples(entries) + own.steps * own.passes(entries)[:, None]).ravel(),
        minlength=own.count + 1,
    )
    if own.depth == 2:
        assert set(times[1:].tolist()) == {3}, "three cuts at once come up equally often"


@pytest.mark.parametrize(
    "own", [own for own in LISTS if own.depth == 2], ids=lambda own: str(own.identity[1:])
)
def test_two_questions_tell_four_intervals(own: Thresholds) -> None:
    for e in range(own.entries):
        thirds = [1 + (e % own.steps + j * own.steps // 3) % own.steps for j in range(3)]
        c1, c2, c3 = sorted(thirds)
        assert own.triples(np.array([e]))[0].tolist() == [c1, c2, c3]
        parts = [int(own.coefficients(np.array([e]), 2, part)[0]) for part in range(4)]
        assert parts[0] == 0
        assert parts[1] == c2 + own.steps * (e >= own.steps)
        assert parts[2:] == [own.count + e + 1, 2 * own.count + e + 1]
        yes = own.answers(np.array(parts))
        for code in range(own.codes):
            passed = [past(own, code, cut, e) for cut in (c1, c2, c3)]
            assert yes[1, code] == passed[1]
            assert yes[2, code] == (passed[0] and not passed[2])
            assert yes[3, code] == sum(passed) % 2 == yes[1, code] ^ yes[2, code]
            symbol = yes[1, code] + 2 * yes[2, code]
            assert SIGNS[:, symbol].tolist() == [-1 if each else 1 for each in passed]
        assert own.span(parts[2]) == (c1, c3, False)


@pytest.mark.parametrize("own", LISTS, ids=lambda own: str(own.identity[1:]))
def test_cuts_make_up_every_table_and_every_mean(own: Thresholds) -> None:
    random = np.random.default_rng(own.levels)
    shares = random.dirichlet(np.ones(own.codes))
    signs = 1.0 - 2.0 * own.answers(np.arange(own.count + 1))
    theta = signs @ shares
    functions = random.normal(size=(5, own.codes))
    assert own.expectation(functions) @ theta == pytest.approx(functions @ shares)
    assert own.synthesis @ own.analysis == pytest.approx(np.eye(own.size))
    assert own.synthesis @ theta == pytest.approx(np.bincount(own.bins, shares))
    # A mean costs no more than a yes/no question: all cuts have one weight.
    numbers = np.append(np.arange(own.levels), [0.0] * own.missing)
    if not own.missing:
        assert own.expectation(numbers[None])[0, 1:] == pytest.approx(-0.5)


@pytest.mark.parametrize("chosen", [1, 2, 3])
def test_the_scores_of_three_cuts_are_unbiased_with_their_moments(chosen: int) -> None:
    answer = Subset.within(1.3, 4, chosen)
    law = answer.inclusion
    supports = np.zeros((answer.outcomes, 4))
    for value in range(answer.outcomes):
        supports[value, list(answer.support(value))] = 1
    scores = cut_sums(supports, np.ones(len(supports)), law)
    squares = np.zeros(3)
    for symbol in range(4):
        chances = np.array([float(Fraction(p, answer.law_total)) for p in answer.law(symbol)])
        assert chances @ scores == pytest.approx(SIGNS[:, symbol])
        squares += chances @ scores**2 / 4
    assert cut_moments(law) == pytest.approx(squares)
    assert cut_moments(law)[1] != pytest.approx(cut_moments(law)[0]) or chosen == 2


@pytest.mark.parametrize("missing", [None, "none"])
@pytest.mark.parametrize("levels", [3, 4, 6])
def test_estimates_are_unbiased_by_enumerating_all_reports(
    levels: int, missing: str | None
) -> None:
    """Where single cuts are hardly asked, too: no role among three cuts counts more than another."""
    number = Attribute("n", low=0, high=levels - 1, missing=missing)
    survey = Subspace.survey(Schema((number, Attribute("b"))), 1, 1.5)
    decoder, own = decoder_of(survey), survey.lists[0]
    signs = 1.0 - 2.0 * own.answers(np.arange(1, own.count + 1))
    numbers = decoder.numbering().of_tables(np.array([[0]]))[0]
    for index, template in enumerate(survey.templates):
        start, stop = survey.index.starts[index : index + 2]
        sets, _ = survey.index.locate(np.arange(start, stop))
        slots = start + np.flatnonzero(sets[:, 0] == 0)
        if not len(slots):
            continue
        answer, mean = template.answer, np.zeros(signs.shape)
        for slot in slots.tolist():
            asks = survey.question(slot).asks
            told = [
                decoder.decode(*(np.array([each]) for each in (slot, value, 1))).overview.theta
                for value in range(answer.outcomes)
            ]
            for code in range(own.codes):
                record = survey.schema.decode([code, 0])
                law = np.array(answer.law(asks.symbol(record)), float) / float(answer.law_total)
                mean[:, code] += law @ np.array(told)[:, numbers] / len(slots)
        assert mean == pytest.approx(signs)


def test_two_words_in_order_are_told_as_two_words_are() -> None:
    """One cut between two values asks what one question about them asks, and errs as much."""
    random = np.random.default_rng(6)
    frame = pd.DataFrame({"a": random.random(800) < 0.3, "b": random.choice(["no", "yes"], 800)})
    releases = []
    for is_ordered in (False, True):
        answer = Attribute("b", ("no", "yes"), ordered=is_ordered, complete=True)
        own = Survey(Schema((Attribute("a"), answer)), 2, 1.1, "InpHT")
        assert {each.is_order for each in own.lists} == {False, is_ordered}
        releases.append(own.tally(own.randomize(frame, "two"), simulation=True).release())
    for names in (("b",), ("a", "b")):
        one, other = (release.marginal(*names) for release in releases)
        assert other.standard_error == pytest.approx(one.standard_error, rel=0.1)
        assert np.abs(other.values - one.values).max() < 5 * one.standard_error.max()
        assert other.covariance.sum(axis=0) == pytest.approx(0, abs=1e-12)
