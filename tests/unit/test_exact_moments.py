"""Means and covariances of all decoders, against the exact law of a report from every record.

The oracle knows nothing of Hadamard transforms or inclusion probabilities. For each slot it takes
the question's own answer to each record, the probability of each value, and what the decoder makes of
a single report of that value; means and covariances over people and noise are sums of these.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from deniable import ReportBatch, Schema, Survey
from deniable.collector.engines import count_reports
from deniable.decoding.decoder import decoder_of
from deniable.survey.coefficients import all_tables

CASES = [
    (name, attributes, order, estimator)
    for name, estimators, most in (
        ("InpRR", [None], 3),
        ("InpPS", [None], 4),
        ("InpHT", [None], 4),
        ("MargRR", [None, "unpooled"], 3),
        ("MargPS", [None, "unpooled"], 4),
        ("MargHT", [None, "unpooled"], 4),
        ("InpEM", ["inverse"], 4),
    )
    for attributes in range(1, most + 1)
    for order in range(1, min(3, attributes) + 1)
    for estimator in estimators
]


def made(name: str, attributes: int, order: int) -> Survey:
    names = "abcd"[:attributes]
    return Survey(Schema.binary(*names), order, 1.3, name)


def decoded(survey: Survey, slots: list[int], values: list[int], estimator: str | None):
    batch = ReportBatch(survey.id, np.array(slots), np.array(values))
    counts = count_reports(survey, batch)
    return decoder_of(survey).decode(counts.slot, counts.value, counts.count, estimator)


def truth(table: tuple[int, ...], population: np.ndarray) -> np.ndarray:
    """Return the mean of (−1)^(attributes of the subset that are true), for each subset but none."""
    return np.array(
        [
            sum(
                share
                * (-1) ** sum(cell >> a & 1 for i, a in enumerate(table[::-1]) if mask >> i & 1)
                for cell, share in enumerate(population)
            )
            for mask in range(1, 1 << len(table))
        ]
    )


@pytest.mark.parametrize(("name", "attributes", "order", "estimator"), CASES)
def test_estimates_have_exactly_the_mean_and_covariance_that_is_claimed(
    name: str, attributes: int, order: int, estimator: str | None
) -> None:
    survey = made(name, attributes, order)
    random = np.random.default_rng([attributes, order])
    population = random.dirichlet(np.full(1 << attributes, 0.5))
    asked = random.integers(1, 6, survey.slots)  # people per slot
    tables = all_tables(attributes, order)
    width = (1 << order) - 1
    reports = np.zeros((len(tables), width))
    total = np.zeros((len(tables), width))
    spread = np.zeros((len(tables), width, width))
    for slot, people in enumerate(asked.tolist()):
        question = survey.question(slot)
        answer = question.answer
        chance = np.zeros(answer.outcomes)
        for cell, share in enumerate(population):
            codes = [cell >> a & 1 for a in range(attributes)]
            symbol = question.asks.symbol(survey.schema.decode(codes))
            law = [float(Fraction(p, answer.law_total)) for p in answer.law(symbol)]
            chance += share * np.array(law)
        found = [
            decoded(survey, [slot], [value], estimator).coefficients(tables)
            for value in range(answer.outcomes)
        ]
        scores = np.array([theta for theta, _ in found])
        holds = np.array([held for _, held in found])[0] > 0
        mean = np.tensordot(chance, scores, 1)
        second = np.einsum("v,vti,vtj->tij", chance, scores, scores)
        both = holds[:, :, None] & holds[:, None, :]
        spread += people * np.where(both, second - mean[:, :, None] * mean[:, None, :], 0)
        total += people * mean
        reports += people * holds
    theta = np.array([truth(tuple(table), population) for table in tables.tolist()])
    assert total / reports == pytest.approx(theta, abs=1e-9), "estimates are unbiased"
    exact = spread / (reports[:, :, None] * reports[:, None, :])

    slots = np.repeat(np.arange(survey.slots), asked).tolist()
    evidence = decoded(survey, slots, [0] * len(slots), estimator)
    assert evidence.coefficients(tables)[1] == pytest.approx(reports)
    claimed = evidence.covariance(tables, theta)
    assert claimed == pytest.approx(exact, rel=1e-9, abs=1e-9)

    # Cells are sums of coefficients: column γ of the transform is χ_α(γ)/2^k.
    transform = np.array(
        [
            [(-1) ** (mask & cell).bit_count() for cell in range(width + 1)]
            for mask in range(width + 1)
        ]
    )[1:] / (width + 1)
    cells = np.einsum("ac,tab,bd->tcd", transform, exact, transform)
    full = np.column_stack((np.ones(len(theta)), theta))
    true_cells = full @ np.vstack((np.full(width + 1, 1 / (width + 1)), transform))
    found = evidence.cell_covariances(tables, true_cells)
    assert found == pytest.approx(cells, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("name", "attributes", "order", "estimator"), CASES)
def test_the_predicted_precision_is_that_of_a_tally_as_expected(
    name: str, attributes: int, order: int, estimator: str | None
) -> None:
    survey = made(name, attributes, order)
    people = 1000.0
    tables = all_tables(attributes, order)
    flat = np.zeros((len(tables), (1 << order) - 1))
    expected = decoder_of(survey).expected(people, estimator)
    variances = np.einsum("tii->ti", expected.covariance(tables, flat))
    for level in range(1, order + 1):
        masks = [m - 1 for m in range(1, 1 << order) if m.bit_count() == level]
        predicted = 1 / (people * decoder_of(survey).precision(level, estimator))
        assert variances[:, masks] == pytest.approx(
            np.full((comb(attributes, order), len(masks)), predicted)
        )
