"""Question lists: nothing outside a list assumes that it is tight, closed, or made of codes.

`Cuts` is a list of thresholds such as numbers will have: neither tight nor closed under sums, with
more coefficients than entries. A survey of it and of other lists is answered, decoded and given exact
covariances, all compared with enumeration.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from deniable import Survey
from deniable.decoding.decoder import decoder_of
from deniable.decoding.products import mean_products, products_at_cells
from deniable.errors import SurveyError
from deniable.lab.audit import audit
from deniable.numeric.axes import along_axes
from deniable.planning.error import predicted_tv
from deniable.questions.answers import Subset
from deniable.questions.lists import (
    LISTS,
    Balanced,
    Bits,
    Codes,
    QuestionList,
    lists_named,
    question_list,
)
from deniable.schema.schema import Schema
from deniable.survey.frozen import FrozenSurvey
from deniable.survey.template import Template


class Cuts(QuestionList):
    """Is the value above t? Two at once: also above t + 2; their sum is "in between"."""

    name = "cuts"
    depth = 2

    def __init__(self, size: int) -> None:
        self.size, self.entries = size, size - 1
        above = [tuple(int(value > t) for value in range(size)) for t in range(size - 1)]
        far = [tuple(int(value > t + 2) for value in range(size)) for t in range(size - 3)]
        between = [
            tuple(a ^ b for a, b in zip(above[t], far[t], strict=True)) for t in range(len(far))
        ]
        self._rows = np.array([(0,) * size, *above, *between], np.uint8)
        self.count = len(self._rows) - 1
        if size <= 3:
            self.depth = 1
        elif self.entries > len(far):
            self.entries = len(far)  # entries that have both questions

    def coefficients(self, entries, questions, part):
        if part == 3:
            return entries + self.size  # after the size − 1 cuts
        return np.where(part == 1, entries + 1, entries + 3) if part else np.zeros_like(entries)

    def answers(self, coefficients):
        return self._rows[coefficients]

    @property
    def synthesis(self):
        """The inverse of the cuts alone: cells are differences of neighbouring ones."""
        matrix = np.zeros((self.size, self.count + 1))
        matrix[:, : self.size] = np.linalg.inv(self.analysis[: self.size])
        return matrix


def survey_of(lists: tuple[QuestionList, ...], *templates: Template) -> FrozenSurvey:
    names = {f"a{i}": [f"v{j}" for j in range(each.size)] for i, each in enumerate(lists)}
    return FrozenSurvey(
        Schema.of(**names), min(2, len(lists)), 1.1, templates, lists, mechanism="Test"
    )


ONE = Subset.within(1.1, 2)
FOUR = Subset.within(1.1, 4)
CUTS = (Cuts(3), Codes(3), Balanced(5))
SINGLE = [Template(1, (1,), ONE), Template(2, (3,), ONE)]
BOTH = [
    Template(1, (1,), ONE),
    Template(2, (3,), ONE),
    Template(2, (1, 2), FOUR),  # a question about each of two attributes, at once
]


@pytest.mark.parametrize("templates", [SINGLE, BOTH], ids=["single", "both"])
def test_expected_covariances_are_those_of_every_report_there_can_be(templates) -> None:
    survey = survey_of(CUTS, *templates)
    sizes = survey.schema.sizes
    population = np.random.default_rng(1).dirichlet(np.ones(np.prod(sizes))).reshape(sizes)
    evidence = decoder_of(survey).expected(1e9)  # so that no component is thin
    for table in ((0,), (2,), (0, 1), (0, 2), (1, 2)):
        others = tuple(i for i in range(3) if i not in table)
        truth = population.sum(axis=others).ravel()[None]
        got = evidence.cell_covariances(np.array([table]), truth)[0] * 1e9
        want = enumerated(survey, population, table)
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9)
        alone = evidence.cell_variances(np.array([table]), truth)[0] * 1e9
        np.testing.assert_allclose(alone, np.diag(want), rtol=1e-6)


def enumerated(survey: FrozenSurvey, population: np.ndarray, table: tuple[int, ...]) -> np.ndarray:
    """Return the covariance of a table's cells per person, by going through all slots and reports."""
    lists = [survey.lists[a] for a in table]
    bases = [each.count + 1 for each in lists]
    numbers = list(product(*(range(base) for base in bases)))
    transform = np.array(
        [along_axes(row[None], [e.synthesis for e in lists])[0] for row in np.eye(len(numbers))]
    ).T
    others = tuple(i for i in range(population.ndim) if i not in table)
    cells = population.sum(axis=others)
    theta = np.array([mean_sign(cells, lists, digits) for digits in numbers])
    weight, matrix = np.zeros(len(numbers)), np.zeros((len(numbers), len(numbers)))
    for probability, scores, second in reports(survey, population, table, numbers):
        off = np.zeros(len(numbers))
        for number, score in scores.items():
            off[number] = (score - theta[number]) / second
            weight[number] += probability / second
        matrix += probability * np.outer(off, off)
    known = weight > 0
    matrix = matrix[np.ix_(known, known)] / np.outer(weight[known], weight[known])
    return transform[:, known] @ matrix @ transform[:, known].T


def mean_sign(cells: np.ndarray, lists, digits) -> float:
    signs = [each.analysis[digit] for each, digit in zip(lists, digits, strict=True)]
    for sign in reversed(signs):
        cells = cells @ sign
    return float(cells)


def reports(survey: FrozenSurvey, population: np.ndarray, table, numbers):
    """Yield the probability of every report to every slot, and its scores of a table's coefficients."""
    place = {digits: number for number, digits in enumerate(numbers)}
    for slot in range(survey.slots):
        index = survey.index.template_of(slot)
        template, answer = survey.templates[index], survey.templates[index].answer
        chosen, entries = survey.index.locate(np.array([slot]))
        speaks = {}
        for member in range(1, 1 << len(template.parities)):
            mask = int(template.members[member - 1])
            digits = dict.fromkeys(table, 0)
            numbers_of = survey.coefficients(index, chosen, entries, mask)[0].tolist()
            asked = {a: n for a, n in zip(chosen[0].tolist(), numbers_of, strict=True) if n}
            if set(asked) <= set(table):
                speaks[member] = place[tuple((digits | asked).values())]
        laws = np.array([answer.law(s) for s in range(answer.symbols)], float) / answer.law_total
        question, law = survey.question(slot), answer.inclusion
        second = float(law.second_moment(answer.symbols))
        chance = np.zeros(answer.symbols)
        for codes in np.ndindex(*population.shape):
            chance[question.asks.symbol(survey.schema.decode(list(codes)))] += population[codes]
        for value in range(answer.outcomes):
            support = answer.support(value)
            scores = {
                number: sum((-1) ** (s & member).bit_count() for s in support) / float(law.contrast)
                for member, number in speaks.items()
            }
            yield float(chance @ laws[:, value]) / survey.slots, scores, second


def test_two_questions_of_one_entry_depend_on_how_many_are_asked() -> None:
    survey = survey_of((Cuts(7), Codes(2)), Template(1, (1, 2), FOUR, questions=(2,), sets=((0,),)))
    assert survey.slots == 4
    terms = [[t.values for t in bit] for bit in survey.question(1).asks.bits]
    assert terms == [[("v2", "v3", "v4", "v5", "v6")], [("v4", "v5", "v6")]]
    assert survey.coefficients(0, np.array([[0]]), np.array([[1]]), 3).tolist() == [[8]]
    records = survey.schema.encode_frame(pa.table({"a0": ["v0", "v3", "v6"], "a1": ["v0"] * 3}))
    assert survey.symbols.of(0, records.words, np.array([1, 1, 1])).tolist() == [0, 1, 3]


@pytest.mark.parametrize("lists", [CUTS[:2], CUTS[1:], (Codes(5), Codes(3)), (Bits(4), Cuts(6))])
def test_products_of_coefficients_are_asked_of_the_list(lists) -> None:
    cells = np.random.default_rng(2).dirichlet(np.ones(lists[0].size * lists[1].size))
    counts = [each.count + 1 for each in lists]
    left, right = (m.ravel() for m in np.meshgrid(*[np.arange(np.prod(counts))] * 2))
    signs = np.array([np.outer(a, b).ravel() for a in lists[0].analysis for b in lists[1].analysis])
    want = (signs[left] * signs[right]) @ cells
    np.testing.assert_allclose(mean_products(cells, left, right, lists), want, atol=1e-12)
    values = np.random.default_rng(3).standard_normal(len(left))
    parts = [each.synthesis.T for each in lists]
    share = np.array([np.outer(a, b).ravel() for a in parts[0] for b in parts[1]])
    want = values @ (share[left] * share[right])
    np.testing.assert_allclose(products_at_cells(left, right, values, lists), want, atol=1e-9)


def test_a_list_belongs_to_an_attribute_and_not_to_a_number_of_values() -> None:
    survey = survey_of((Codes(4), Balanced(4), Codes(4)), *SINGLE)
    assert survey.kinds.tolist() == [0, 1, 0]
    assert audit(survey).unbiased
    evidence = decoder_of(survey).expected(1000)
    with pytest.raises(ValueError, match="the same question lists"):
        evidence.cell_variances(np.array([[0, 1], [0, 2]]))


@pytest.mark.parametrize("name", LISTS)
def test_lists_have_names(name) -> None:
    assert question_list(name, 5).to_json() == {"list": name}
    assert lists_named(name, (2, 5)) == (question_list(name, 2), question_list(name, 5))


def test_an_unknown_list_is_refused() -> None:
    with pytest.raises(
        SurveyError, match="There is no question list 'cuts'; there are codes, bits"
    ):
        question_list("cuts", 4)


def test_what_a_list_never_asks_is_not_known_however_few_report() -> None:
    """A component is divided by its mean number of reports only where chance decides what is asked."""
    survey = survey_of((Bits(4),), Template(1, (1,), ONE))
    decoder = decoder_of(survey)
    for people in (6, 6000):
        count = np.array([people])
        evidence = decoder.decode(np.array([0]), np.array([1]), count)
        assert not evidence.tables(np.array([[0]])).known.any()
    assert np.isinf(decoder.expected(1000).cell_variances(np.array([[0]]))).all()
    assert predicted_tv(survey, 1000) == np.inf
    assert not audit(survey).unbiased


def test_tables_of_different_lists_stand_together() -> None:
    survey = Survey.of(survey_of((Codes(4), Balanced(4), Codes(4)), *SINGLE))
    codes = np.random.default_rng(4).integers(0, 4, (3000, 3))
    frame = pa.table({f"a{i}": [f"v{code}" for code in codes[:, i]] for i in range(3)})
    tally = survey.tally(survey.randomize(frame, seed="lists"), simulation=True)
    release = tally.release()
    for table in release.marginals():
        assert np.array_equal(table.values, release.marginal(*table.names).values)
        exact = [np.bincount(codes[:, int(name[1])], minlength=4) / 3000 for name in table.names]
        off = table.values.sum(axis=1) - exact[0]
        assert np.abs(off).max() < 6 * table.standard_error.max()
    assert min(table.values.min() for table in tally.release("joint").marginals()) >= 0
