"""What shuffling adds: the exact values, brute force over small crowds, and the crowd that counts."""

from __future__ import annotations

import html
from collections import Counter
from dataclasses import replace
from itertools import combinations_with_replacement, permutations, product
from math import exp, log
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from deniable import Release, Schema, Survey, Tally, plan
from deniable.errors import SurveyError
from deniable.planning.accountant import MOST_PEOPLE, Tokens, hidden
from deniable.planning.shuffle import SLOTS, UNMIXED, _rounded_up, shuffle, shuffled_tally

PEOPLE, DELTA = 1 << 18, 1e-9

EXACT = ((log(3), 1_927), (log(3), 7_281), (log(3), 262_144), (2.0, 1_927))
"""Crowds of randomized response, and what hides them at δ = 10⁻⁹: .140, .0685, .0104, .310."""


def asking(name: str, attributes: int, order: int = 2, epsilon: float = log(3)) -> Survey:
    return Survey(Schema.binary(*(f"a{i}" for i in range(attributes))), order, epsilon, name)


def told_if_all_say_yes(epsilon: float, crowd: int, smaller: float) -> float:
    """What the number of yeses tells if all others' truth is yes, by scipy's binomial law."""
    flip = 1 / (exp(epsilon) + 1)
    yes = np.arange(-1, crowd)
    others = stats.binom(crowd - 1, 1 - flip)
    gain = (1 - flip - exp(smaller) * flip) * others.pmf(yes)
    return float((gain - (exp(smaller) - 1) * others.sf(yes)).max())


@pytest.mark.parametrize(("epsilon", "crowd"), EXACT)
def test_randomized_response_is_within_a_twentieth_of_exact_and_never_below(
    epsilon: float, crowd: int
) -> None:
    own = hidden(epsilon, crowd, DELTA, None)
    assert told_if_all_say_yes(epsilon, crowd, own) <= DELTA
    assert told_if_all_say_yes(epsilon, crowd, own / 1.05) > DELTA


def test_the_exact_values_are_those_of_the_theory() -> None:
    known = [0.140, 0.0685, 0.0104, 0.310]
    for (epsilon, crowd), value in zip(EXACT, known, strict=True):
        assert value * 0.995 <= hidden(epsilon, crowd, DELTA, None) <= 1.05 * value


def test_a_bound_that_forgets_a_person_is_noticed() -> None:
    """The planted bug: a crowd of one in ten more hides more than it may."""
    epsilon, crowd = EXACT[0]
    assert (
        told_if_all_say_yes(epsilon, crowd, hidden(epsilon, crowd * 11 // 10, DELTA, None)) > DELTA
    )


def told_by_brute_force(laws: list[list[float]], crowd: int, smaller: float) -> float:
    """The most that shuffled reports tell of one of two records, whatever the others are."""
    outcomes = range(len(laws[0]))

    def mixed(people: tuple[int, ...]) -> Counter[tuple[int, ...]]:
        chances: Counter[tuple[int, ...]] = Counter()
        for values in product(outcomes, repeat=len(people)):
            chance = np.prod([laws[who][value] for who, value in zip(people, values, strict=True)])
            chances[tuple(sorted(values))] += float(chance)
        return chances

    most = 0.0
    for others in combinations_with_replacement(range(len(laws)), crowd - 1):
        with_each = [mixed((who, *others)) for who in range(len(laws))]
        for one, other in permutations(with_each, 2):
            told = sum(max(0.0, one[key] - exp(smaller) * other[key]) for key in one)
            most = max(most, told)
    return most


def laws_of(survey: Survey) -> list[list[float]]:
    """The law of a drawn slot together with its report, of each record."""
    laws = []
    for record in product((False, True), repeat=len(survey.schema)):
        law = []
        for slot in range(survey.slots):
            question = survey.question(slot)
            symbol = question.asks.symbol(dict(zip(survey.schema.names, record, strict=True)))
            answer = question.answer
            chance = float(survey.index.chance(survey.index.template_of(slot)))
            chance /= survey.index.templates[survey.index.template_of(slot)].count
            law += [chance * each / answer.law_total for each in answer.law(symbol)]
        laws.append(law)
    return laws


SMALL = [
    ("InpHT", 1, 1, 6),
    ("InpHT", 2, 2, 3),
    ("InpPS", 1, 1, 6),
    ("InpPS", 2, 2, 4),
    ("InpRR", 1, 1, 4),
    ("MargPS", 2, 1, 4),
    ("InpEM", 2, 2, 4),
    ("Subspace", 2, 2, 3),
]


@pytest.mark.parametrize(("name", "attributes", "order", "crowd"), SMALL)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_a_small_crowd_hides_no_less_than_is_said(
    name: str, attributes: int, order: int, crowd: int, epsilon: float
) -> None:
    survey = asking(name, attributes, order, epsilon)
    for delta in (0.01, 0.1):
        told = shuffle(survey, crowd, "Acme", delta, "drawn").epsilon
        assert 0 <= told <= epsilon
        if told < epsilon:
            assert told_by_brute_force(laws_of(survey), crowd, told) <= delta + 1e-12


def test_a_small_crowd_of_randomized_response_is_known_exactly() -> None:
    survey = asking("InpHT", 1, 1, 2.0)
    for crowd in (2, 5, 8):
        own = shuffle(survey, crowd, "Acme", 0.05, "drawn").epsilon
        assert told_by_brute_force(laws_of(survey), crowd, own) <= 0.05
        assert told_by_brute_force(laws_of(survey), crowd, own * 0.995) > 0.05


def test_a_law_with_fewer_tokens_than_is_said_is_noticed() -> None:
    """The planted bug: of four symbols one is said to be any of two, which hides more."""
    survey, crowd, delta = asking("InpPS", 2, 2, 2.0), 4, 0.05
    right = hidden(2.0, crowd, delta, Tokens.of_symbol(2.0, 4))
    wrong = right / 1.5
    laws = laws_of(survey)
    assert (
        told_by_brute_force(laws, crowd, right) <= delta < told_by_brute_force(laws, crowd, wrong)
    )


def test_any_law_is_bounded_and_what_is_known_of_one_helps() -> None:
    bound = hidden(1.1, 5_000, 1e-6, Tokens.of_any(1.1))
    symbols = [hidden(1.1, 5_000, 1e-6, Tokens.of_symbol(1.1, m)) for m in (3, 4, 8, 64)]
    assert symbols == sorted(symbols, reverse=True)
    assert hidden(1.1, 5_000, 1e-6, None) < bound < 1.1
    assert symbols[0] < bound


def test_of_several_bounds_the_smallest_is_told() -> None:
    """Of one symbol of four, a small crowd hides more by any law's bound, a larger one by its own."""
    survey = asking("InpPS", 2, 2, 1.1)
    for crowd, delta in ((40, 1e-3), (5_000, 1e-6)):
        told = shuffle(survey, crowd, "Acme", delta, "drawn").epsilon
        both = [
            hidden(1.1, crowd, delta, tokens)
            for tokens in (Tokens.of_any(1.1), Tokens.of_symbol(1.1, 4))
        ]
        assert told == min(both) < max(both)
    assert hidden(1.1, 40, 1e-3, Tokens.of_any(1.1)) < hidden(
        1.1, 40, 1e-3, Tokens.of_symbol(1.1, 4)
    )


def test_nothing_is_hidden_where_there_is_no_crowd_and_never_more_than_epsilon() -> None:
    for tokens in (None, Tokens.of_symbol(1.1, 4), Tokens.of_any(1.1)):
        assert hidden(1.1, 0, DELTA, tokens) == hidden(1.1, 1, DELTA, tokens) == 1.1
        assert hidden(1.1, 3, DELTA, tokens) == 1.1
        assert hidden(1.1, 2, 0.9, tokens) < 0.01


def test_a_crowd_beyond_what_is_counted_is_one_of_as_many() -> None:
    tokens = Tokens.of_any(1.1)
    assert hidden(1.1, 10**15, DELTA, tokens) == hidden(1.1, MOST_PEOPLE, DELTA, tokens)


def test_a_crowd_hides_at_a_delta_that_rounding_exceeds() -> None:
    """A million people hide more than a tenth of them, whatever δ is."""
    for delta in (1e-15, 1e-18, 1e-40):
        many, few = (hidden(1.1, people, delta, None) for people in (10**6, 10**5))
        assert many < few / 2


def test_a_search_that_nears_nothing_ends() -> None:
    """Where next to nothing is told, ε' is rounded up to next to nothing, not searched for."""
    told = [hidden(1e-6, 10**5, DELTA, Tokens.of_symbol(1e-6, 4)), hidden(1.1, 50, 0.9, None)]
    assert all(0 < each < 1e-11 for each in told)
    assert min(told) > 1e-14


def test_the_crowd_is_everybody_or_those_with_the_rarest_slot() -> None:
    survey = asking("InpHT", 8)
    assert survey.slots == 36
    assert shuffle(survey, 1000, "Acme", DELTA, "drawn").crowd == 1000
    crowds = [shuffle(survey, n, "Acme", DELTA, "assigned").crowd for n in (35, 36, 36 * 7, 1000)]
    assert crowds == [1, 1, 7, 27]
    assert shuffle(survey, 1000, "Acme", DELTA, "assigned").epsilon == log(3)
    assert shuffle(asking("InpPS", 8), 1000, "Acme", DELTA, "assigned").crowd == 1000


def test_templates_and_tables_with_weights_of_their_own_count_each() -> None:
    three = asking("Subspace", 8, 3)
    counts = [slots.count for slots in three.index.templates]
    per_slot = [three.index.chance(i) / count for i, count in enumerate(counts)]
    assert min(per_slot) < max(per_slot) / 1.5, "some slots are rarer than others"
    assert shuffle(three, 10**6, "Acme", DELTA, "assigned").crowd == int(10**6 * min(per_slot))
    schema = Schema.binary(*"abcd")
    own = Survey(schema, 2, 1.1, "Subspace", workload={("a", "b"): 9, ("c", "d"): 1})
    chances = np.concatenate([own.index.chances(i) for i in range(len(own.templates))])
    assert shuffle(own, 10**6, "Acme", DELTA, "assigned").crowd == int(10**6 * chances.min())


def test_of_a_tally_the_smallest_slot_that_occurs_counts() -> None:
    survey = asking("InpHT", 3)
    people = pd.DataFrame(
        np.random.default_rng(0).random((3_000, 3)) < 0.4, columns=survey.schema.names
    )
    batch = survey.randomize(people, seed="crowds")
    tally = survey.tally(batch, simulation=True)
    _, counts = tally.people_by_slot()
    own = shuffled_tally(tally, "Acme", DELTA, "assigned")
    assert own.crowd == counts.min() > 100
    assert own.epsilon == hidden(log(3), int(counts.min()), DELTA, None)
    assert shuffled_tally(tally, "Acme", DELTA, "drawn").crowd == 3_000


def test_a_plan_tells_of_shuffling_only_if_somebody_shuffles() -> None:
    schema = Schema.binary(*"abcdef")
    assert plan(schema, people=PEOPLE).to_json()["shuffled"] is None
    drawn = plan(schema, people=PEOPLE, shuffler=" Acme ", delta=1e-6).to_json()["shuffled"]
    best = Survey(schema, 2, 1.1)
    assert drawn == {
        "shuffler": "Acme",
        "delta": 1e-6,
        "slots": "drawn",
        "crowd": PEOPLE,
        "epsilon": shuffle(best, PEOPLE, "Acme", 1e-6, "drawn").epsilon,
    }
    assigned = plan(schema, people=PEOPLE, shuffler="Acme", slots="assigned")
    assert assigned.recommended == best.mechanism
    assert assigned.shuffled is not None
    assert assigned.shuffled == shuffle(best, PEOPLE, "Acme", 1e-9, "assigned")
    assert drawn["epsilon"] < assigned.shuffled.epsilon < 1.1


# A release's own numbers


def counted(survey: Survey, people: int, seed: str = "crowd") -> Release:
    frame = pd.DataFrame(
        np.random.default_rng(2).random((people, len(survey.schema))) < 0.5,
        columns=survey.schema.names,
    )
    return survey.tally(survey.randomize(frame, seed), simulation=True).release()


def test_a_release_tells_what_mixing_its_reports_gives() -> None:
    release = counted(asking("InpHT", 3), 3_000)
    slots, people = release.tallies[0].people_by_slot()
    assert len(slots) == 6
    assigned, drawn = release.shuffling(DELTA), release.shuffling(DELTA, slots="drawn")
    assert assigned.crowd == people.min()
    assert assigned.epsilon == hidden(log(3), int(people.min()), DELTA, None)
    assert drawn.crowd == 3_000
    assert drawn.epsilon < assigned.epsilon < assigned.local_epsilon == log(3)
    assert f"has {people.min():,} people" in assigned.sentence
    assert "in place of ε = 1.09861" in assigned.sentence
    assert "all 3,000 people" in drawn.sentence
    assert release.shuffling(shuffler="Acme").sentence.startswith("If Acme mixed")
    assert assigned.to_json()["sentence"] == assigned.sentence


def test_one_thin_slot_gives_everybody_nothing() -> None:
    """The planted bug: a mean slot hides, the thin one does not."""
    tally = counted(asking("InpHT", 3), 3_000).tallies[0]
    first = tally.slot == tally.slot[0]
    thin = replace(tally, count=np.where(first, 1, tally.count))
    own = Tally.of(thin).release().shuffling(DELTA)
    assert own.crowd <= 4
    assert own.epsilon == own.local_epsilon
    assert "too few to hide" in own.sentence
    assert hidden(log(3), thin.people // 6, DELTA, None) < own.epsilon


def test_pooled_people_hide_among_those_of_their_own_survey() -> None:
    large, small = counted(asking("InpHT", 3), 3_000), counted(asking("InpHT", 2, 2, 1.0), 60)
    pooled = Release.pool([large, small])
    assert pooled.shuffling(DELTA).crowd == small.shuffling(DELTA).crowd
    drawn = pooled.shuffling(0.01, slots="drawn")
    assert drawn.epsilon == max(
        each.shuffling(0.01, slots="drawn").epsilon for each in (large, small)
    )


@pytest.mark.parametrize("epsilon", [0.00123456, 0.0700000001, 0.999999, 1.0, 1.23456])
def test_words_never_say_less_than_the_number(epsilon: float) -> None:
    said = float(_rounded_up(epsilon))
    assert epsilon <= said <= epsilon * 1.01


def test_a_release_refuses_a_delta_and_slots_that_are_none() -> None:
    release = counted(asking("InpHT", 2), 500)
    for how, reason in [({"delta": 0}, "delta must lie"), ({"slots": "some"}, "slots must be")]:
        with pytest.raises(SurveyError, match=reason):
            release.shuffling(**how)


def test_a_report_says_what_mixing_gives_and_for_whom_it_does_not_hold(tmp_path: Path) -> None:
    release = counted(asking("InpHT", 3), 3_000)
    release.report(tmp_path / "out.html")
    text = html.unescape((tmp_path / "out.html").read_text("utf-8"))
    for slots in SLOTS:
        assert release.shuffling(slots=slots).sentence in text
    assert UNMIXED in text
