"""Probes of the decoder that runs: single reports, whose scores are compared with the exact ones."""

from __future__ import annotations

from collections import Counter as Multiset
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.collector.builder import TallyBuilder
from deniable.decoding.decoder import CellDecoder, decoder_of
from deniable.decoding.evidence import CoefficientEvidence, Evidence
from deniable.decoding.scores import scoring
from deniable.errors import TableError
from deniable.questions.answers import Answer, Bitwise, Subset, Unary
from deniable.questions.subsets import rank
from deniable.questions.thresholds import Thresholds
from deniable.schema.schema import Schema
from deniable.survey.coefficients import all_tables, hadamard, positions, same_sizes
from deniable.survey.frozen import FrozenSurvey
from deniable.survey.template import Template

MOST_PROBED = 1 << 17
_MOST_TABLES = 128
_MOST_COEFFICIENTS = 1 << 18

_CUT_SIGNS = np.array([[1, -1, -1, -1], [1, -1, 1, -1], [1, -1, 1, 1]])
"""The sign of each of three cuts (rows) for each symbol.

Below the first cut nothing is answered with yes (symbol 0), after it the second question (2), after the
middle one both (3), after the last one the first (1).
"""


def cuts_of(own: Thresholds, entries: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the coefficients that two questions of entries tell of: three cuts each."""
    cuts: NDArray[np.int64] = own.triples(entries) + own.steps * own.passes(entries)[:, None]
    return cuts


def decoded_scores(survey: FrozenSurvey, slot: int, value: int) -> dict[tuple[int, ...], float]:
    """Return what the running decoder makes of a single report: the coefficients it speaks about.

    Keys are the questions about each of the slot's attributes (0 for none). All sets of at most
    ``order`` of them are read; of a table's attributes, which are all alike, only the first few.
    """
    evidence = _decoded(survey, slot, value)
    assert isinstance(evidence, CoefficientEvidence)
    members = survey.index.attributes_of(np.array([slot]))[0]
    tables = all_tables(len(members), min(survey.order, len(members)))[:_MOST_TABLES]
    scores: dict[tuple[int, ...], float] = {}
    for rows in same_sizes(survey.kinds, members[tables]):
        thetas = evidence.coefficients(members[tables[rows]])[0]
        for table, theta in zip(tables[rows].tolist(), thetas.tolist(), strict=True):
            bases = tuple(survey.lists[members[place]].count + 1 for place in table)
            digits = _digits(tuple(table), bases, len(members))
            scores.update(zip(digits, theta, strict=True))
    return scores


@lru_cache(1 << 10)
def _digits(table: tuple[int, ...], bases: tuple[int, ...], width: int) -> list[tuple[int, ...]]:
    """Return a table's coefficients, as the questions about each of so many attributes."""
    mask = np.arange(1, prod(bases))
    digits = np.zeros((len(mask), width), np.int64)
    for place, base in zip(table[::-1], bases[::-1], strict=True):
        mask, digits[:, place] = np.divmod(mask, base)
    return list(map(tuple, digits.tolist()))


def _decoded(survey: FrozenSurvey, slot: int, value: int) -> Evidence:
    width = survey.packed_bytes
    report = np.array([value])
    if width:
        report = np.frombuffer(value.to_bytes(width, "little"), np.uint8)[None, :]
    builder = TallyBuilder(survey)
    builder.add(np.array([slot]), report)
    counts = builder.tally()
    decoder = decoder_of(survey)
    return decoder.decode(counts.slot, counts.value, counts.count, decoder.exact_estimator)


def _probes(answer: Answer) -> Iterator[int]:
    """Yield reports that show how a decoder treats any.

    Scores are sums over the support, so reports that speak for each symbol once show all; where
    symbols are very many, some of them.
    """
    if isinstance(answer, Unary):  # one bit at a time, none, and all
        step = max(1, answer.symbols**2 // MOST_PROBED)
        yield from (1 << symbol for symbol in range(0, answer.symbols, step))
        few = sum(1 << answer.symbols * third // 3 for third in (1, 2)) | 1 << answer.symbols - 1
        yield from (0, few if answer.symbols > MOST_PROBED else (1 << answer.symbols) - 1)
        return
    if isinstance(answer, Bitwise):
        step = max(1, answer.outcomes // 16)
        yield from range(0, answer.outcomes, step)
        return
    assert isinstance(answer, Subset)
    width = answer.chosen
    step = width * max(1, answer.symbols**2 // MOST_PROBED)
    for first in (*range(0, answer.symbols - width, step), answer.symbols - width):
        yield rank(range(first, first + width))
    yield from {answer.outcomes // 3, answer.outcomes // 2}


def decoder_agrees(survey: FrozenSurvey, index: int) -> bool:
    """Probe the decoder with single reports and compare with the exact scores."""
    is_of_cells = isinstance(decoder_of(survey), CellDecoder)
    survey, index = _alone(survey, index)
    slot, answer = survey.index.starts[index], survey.templates[index].answer
    values = dict.fromkeys(_probes(answer))
    if is_of_cells:
        return all(_cells_agree(survey, index, slot, value) for value in values)
    members = None if isinstance(answer, Bitwise) else _members_of(survey, index, slot)
    return all(_scores_agree(survey, index, slot, value, members) for value in values)


def _alone(survey: FrozenSurvey, index: int) -> tuple[FrozenSurvey, int]:
    """Return a survey that treats reports to the first slot of a template alike, with few coefficients.

    What a report tells about tables of its own attributes depends on no other attribute, so where there
    are many coefficients, a survey of these attributes, asked in this way, shows it as well.
    """
    decoder = decoder_of(survey)
    try:
        whole = decoder.numbering(decoder.exact_estimator).size <= _MOST_COEFFICIENTS
    except TableError:  # there are too many to be numbered
        whole = False
    if whole or isinstance(decoder, CellDecoder):
        return survey, index
    members = survey.index.attributes_of(np.array([survey.index.starts[index]]))[0].tolist()
    schema = Schema(tuple(survey.schema.attributes[a] for a in members))
    template = replace(survey.templates[index], weights=(), sets=None, among=())
    order, lists = min(survey.order, len(members)), [survey.lists[a] for a in members]
    name, epsilon = survey.mechanism, survey.epsilon
    return FrozenSurvey(schema, order, epsilon, (template,), lists, mechanism=name), 0


def _supported(answer: Subset | Unary, value: int) -> NDArray[np.float64]:
    """Return 1 for every symbol that a report speaks for, 0 for the others."""
    if isinstance(answer, Unary):
        return answer.bits(value).astype(np.float64)
    indicator = np.zeros(answer.symbols)
    indicator[list(answer.support(value))] = 1
    return indicator


def _cells_agree(survey: FrozenSurvey, index: int, slot: int, value: int) -> bool:
    """Tell whether a report about a cell becomes the unbiased table of its attributes.

    That is (support − other)/contrast with the mean taken off, and put to that of shares.
    """
    answer = scoring(survey.templates[index]).answer
    cells = _supported(answer, value) - float(answer.inclusion.other)
    cells /= float(answer.inclusion.contrast)
    cells += 1 / len(cells) - cells.mean()
    attributes = survey.index.attributes_of(np.array([slot]))[0]
    sizes = [survey.schema.sizes[a] for a in attributes]
    table = cells.reshape(sizes[::-1]).T  # one axis per attribute
    evidence = _decoded(survey, slot, value)
    for members in all_tables(len(attributes), survey.order)[:_MOST_TABLES].tolist():
        others = tuple(i for i in range(len(attributes)) if i not in members)
        expected = table.sum(axis=others).ravel()
        estimate = evidence.tables(attributes[members][None, :]).values[0]
        if not np.allclose(estimate, expected, rtol=1e-9, atol=1e-9):
            return False
    return True


def _scores_agree(
    survey: FrozenSurvey, index: int, slot: int, value: int, members: _Members | None
) -> bool:
    """Tell whether a report's scores are what they should be: unbiased if its slot is drawn at random.

    Of a component with several coefficients a slot holds some, all equally often (see
    `deniable.lab.audit`), so what it tells about these counts for all: L/n times the score if it holds n
    of L.
    """
    template = survey.templates[index]
    scores = decoded_scores(survey, slot, value)
    if isinstance(template.answer, Bitwise):
        expected = _bitwise_scores(template, template.answer, scores, value)
    else:
        assert members is not None
        expected = _subset_scores(scoring(template).answer, members, value)
    # Nearly all are about coefficients that the slot does not hold, and must be 0.
    matches = [
        (scores.pop(digits), score) for digits, score in expected.items() if digits in scores
    ]
    pairs = np.array([*matches, *((score, 0.0) for score in scores.values())])
    return np.allclose(pairs[:, 0], pairs[:, 1], rtol=1e-9, atol=1e-9)


class _Members(NamedTuple):
    """The members of a slot that tables take (their rows), their coefficients, and L/n of each.

    Without rows they are three cuts.
    """

    rows: NDArray[np.int64] | None
    coefficients: list[tuple[int, ...]]
    factors: NDArray[np.float64]


def _subset_scores(
    answer: Subset | Unary, members: _Members, value: int
) -> dict[tuple[int, ...], float]:
    """Return the scores of all coefficients that a slot holds."""
    rows, coefficients, factors = members
    supported = _supported(answer, value)
    if rows is None:  # three cuts
        law = answer.inclusion
        sums = _CUT_SIGNS @ (supported - float(law.other))
        scores = factors * sums / float(law.contrast)
        return dict(zip(coefficients, scores.tolist(), strict=True))
    spoken = np.flatnonzero(supported)
    if len(spoken) * len(rows) <= answer.symbols:  # far fewer than a transform would go through
        odd = np.bitwise_count((rows + 1)[:, None] & spoken).astype(np.int64) & 1
        sums = (1.0 - 2 * odd).sum(axis=1)
    else:
        sums = hadamard(supported[None, :])[0, 1:][rows]
    scores = factors * sums / float(answer.inclusion.contrast)
    return dict(zip(coefficients, scores.tolist(), strict=True))


def _members_of(survey: FrozenSurvey, index: int, slot: int) -> _Members:
    """Return what a slot holds, whatever was reported to it."""
    template = survey.templates[index]
    rows = np.flatnonzero(np.bitwise_count(template.member_sets) <= survey.order)
    sets, entries = survey.index.locate(np.array([slot]))
    own = survey.lists[sets[0, 0]]
    if isinstance(own, Thresholds) and template.question_counts == (2,):
        cuts: list[tuple[int, ...]] = [(cut,) for cut in cuts_of(own, entries[:, 0])[0].tolist()]
        return _Members(None, cuts, np.full(3, own.count / 3))
    masks = template.member_sets[rows].tolist()
    times = Multiset(masks)
    factors = [
        prod(survey.lists[a].count for a in sets[0, positions(mask)]) / times[mask]
        for mask in masks
    ]
    coefficients = [
        tuple(survey.coefficients(index, sets, entries, member)[0].tolist())
        for member in template.members[rows].tolist()
    ]
    return _Members(rows, coefficients, np.array(factors))


def _sign(mask: int, symbol: int) -> int:
    return -1 if (mask & symbol).bit_count() & 1 else 1


def _bitwise_scores(
    template: Template, answer: Bitwise, coefficients: Iterable[tuple[int, ...]], value: int
) -> dict[tuple[int, ...], float]:
    """Return the scores of some coefficients where every bit was reported."""
    shrink, scores = float(answer.shrink), {}
    shifts = [0, *accumulate(template.question_counts)]
    for digits in coefficients:
        mask = sum(digit << shift for digit, shift in zip(digits, shifts, strict=False))
        scores[digits] = _sign(mask, value) / shrink ** mask.bit_count()
    return scores
