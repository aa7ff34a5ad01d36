"""Linear forms of coefficients: their values and covariances, enumerated and simulated."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from deniable import Schema, Survey, simulate
from deniable.analysis.records import frame_of
from deniable.decoding import slot_evidence
from deniable.decoding.decoder import decoder_of
from deniable.decoding.forms import Form, product_form, sum_of, weight_matrix
from deniable.questions.about import lists_about
from deniable.questions.answers import Subset
from deniable.release.numbers.forms import Forms
from deniable.schema.attribute import Attribute
from deniable.survey.frozen import FrozenSurvey
from deniable.survey.template import Template


def one_number(questions: int, levels: int, missing: str | None) -> FrozenSurvey:
    """Return a survey of one number, asked about one cut or three."""
    schema = Schema((Attribute("n", low=0, high=levels - 1, missing=missing),))
    answer = Subset.within(1.2, 1 << questions)
    template = Template(1, (1, 2)[:questions], answer, questions=(2,) if questions == 2 else ())
    lists = lists_about(schema.attributes, "codes")
    return FrozenSurvey(schema, 1, 1.2, (template,), lists, mechanism="own")


@pytest.mark.parametrize(
    ("questions", "levels", "missing"), [(1, 3, None), (1, 2, "?"), (2, 4, None)]
)
def test_a_covariance_is_exact_in_expectation_over_all_reports(
    questions, levels, missing, monkeypatch
):
    """Two people, every slot and every value of each: the mean covariance is the true one.

    That of the reports themselves, which is all where there are many.
    """
    monkeypatch.setattr(slot_evidence, "blended", lambda own, law, reports, doubt: own)
    survey = one_number(questions, levels, missing)
    codes = survey.schema.ranges[0]
    shares = np.random.default_rng(3).dirichlet(np.ones(codes))
    answer, decoder = survey.templates[0].answer, decoder_of(survey)
    chances = np.zeros((survey.slots, answer.outcomes))
    for slot, code in product(range(survey.slots), range(codes)):
        symbol = survey.question(slot).asks.symbol(survey.schema.decode([code]))
        law = np.array(answer.law(symbol), float) / float(answer.law_total)
        chances[slot] += shares[code] * law / survey.slots
    assert chances.sum() == pytest.approx(1)
    reports = list(np.ndindex(chances.shape))
    functions = (np.arange(codes), np.arange(codes) ** 2, np.eye(codes)[0])
    values, covariances, weights = [], [], []
    for pair in product(reports, reports):
        slot, value = np.array(sorted(pair)).T
        evidence = decoder.decode(slot, value, np.ones(2, np.int64))
        forms = [product_form(evidence, {0: each.astype(float)}) for each in functions]
        theta = evidence.overview.theta
        values.append([form.at(theta) for form in forms])
        covariances.append(evidence.form_covariance(forms))
        weights.append(chances[pair[0]] * chances[pair[1]])
    weights, values = np.array(weights), np.array(values)
    mean = weights @ values
    assert mean == pytest.approx(np.array(functions, float) @ shares)
    off = values - mean
    exact = (off * weights[:, None]).T @ off
    assert np.einsum("p,pij->ij", weights, covariances) == pytest.approx(exact)


def test_a_covariance_across_tables_is_that_of_simulations():
    schema = Schema(
        (Attribute("n", low=0, high=9, missing="?"), Attribute("b"), Attribute("c", tuple("xyz")))
    )
    survey = Survey(schema, 2, 3.0)
    random = np.random.default_rng(5)
    b = random.integers(0, 2, 3000)
    n = np.where(random.random(3000) < 0.1, 10, (random.integers(0, 6, 3000) + 4 * b).clip(0, 9))
    frame = frame_of(schema, [n, b, random.integers(0, 3, 3000)])
    items = ["n", {"b": True}, ("n", "b"), {"b": True, "c": "x"}, [(2.0, "n"), (-1.0, {"c": "y"})]]
    values, covariances = [], []
    for turn in range(80):
        people = frame.sample(3000, replace=True, random_state=turn)  # a sample of a population
        release = simulate(survey, people, f"forms {turn}")
        forms = Forms(release)
        number = np.append(np.arange(10.0), 0)
        cells = [np.array([0.0, 1.0]), np.array([1.0, 0, 0]), np.array([0.0, 1, 0])]
        own = [
            forms.mean({0: number}),
            forms.mean({1: cells[0]}),
            forms.mean({0: number, 1: cells[0]}),
            forms.mean({1: cells[0], 2: cells[1]}),
        ]
        own.append(sum_of([own[0].scaled(2.0), forms.mean({2: cells[2]}).scaled(-1.0)]))
        values.append(forms.values(own))
        covariances.append(forms.covariance(own))
        if not turn:
            assert release.covariance(items) == pytest.approx(covariances[0])
    level, has_b = np.where(n < 10, n, 0), b == 1
    c = frame["c"].to_numpy()
    truth = [level.mean(), has_b.mean(), (level * has_b).mean(), (has_b & (c == "x")).mean()]
    truth.append(2 * truth[0] - (c == "y").mean())
    claim = np.mean(covariances, axis=0)
    error = np.sqrt(np.diag(claim))
    assert (np.abs(np.mean(values, axis=0) - truth) < 4.5 * error / np.sqrt(80)).all()
    seen = np.cov(np.array(values).T) / np.outer(error, error)
    assert seen == pytest.approx(claim / np.outer(error, error), abs=0.5)
    assert np.diag(seen) == pytest.approx(1, abs=0.5)


def test_cells_of_categories_have_nearly_the_covariance_that_their_law_gives():
    schema = Schema.of(a=[*"xyz"], b=[False, True], c=[*"stuv"])
    random = np.random.default_rng(1)
    frame = frame_of(schema, [random.integers(0, size, 40_000) for size in schema.sizes])
    release = simulate(Survey(schema, 2, 1.5, "Subspace"), frame, "cells")
    forms = Forms(release)
    for table in ([0, 1], [1, 2], [0, 2]):
        own = forms.cells({a: np.eye(schema.sizes[a]) for a in table})
        estimates = release.evidence.tables(np.array([table]))
        assert forms.values(own) == pytest.approx(estimates.values[0])
        assert forms.knows(own)
        exact = release.evidence.cell_covariances(np.array([table]))[0]
        error = np.sqrt(np.diag(exact))
        scaled = forms.covariance(own) / np.outer(error, error)
        assert scaled == pytest.approx(exact / np.outer(error, error), abs=0.05)


def test_what_was_never_asked_has_an_infinite_variance():
    survey = one_number(1, 5, None)
    decoder = decoder_of(survey)
    count = np.full(1, 1000)
    evidence = decoder.decode(np.zeros(1, np.int64), np.zeros(1, np.int64), count)
    first = Form(0.0, np.array([0]), np.ones(1))
    second = Form(0.0, np.array([3]), np.ones(1))
    covariance = evidence.form_covariance([first, second])
    assert np.isfinite(covariance[0, 0])
    assert np.isinf(covariance[1, 1])
    assert np.isnan(covariance[0, 1])


def test_forms_are_sums_with_weights():
    one = Form(1.0, np.array([0, 2]), np.array([1.0, 2.0]))
    two = Form(-1.0, np.array([2, 5]), np.array([4.0, 8.0]))
    whole = sum_of([one.scaled(2), two])
    theta = np.arange(6.0)
    assert whole.at(theta) == 2 * one.at(theta) + two.at(theta)
    numbers, matrix = weight_matrix([whole, one])
    assert numbers.tolist() == [0, 2, 5]
    assert matrix.T.tolist() == [[2, 8, 8], [1, 2, 0]]


def test_few_reports_give_no_certainty():
    """Where no report tells of a cell, its standard error is what the law of answers makes of it."""
    schema = Schema.of(n=Attribute("n", low=0, high=399, step=1), b=[False, True])
    survey = Survey(schema, 1, 1.1)
    frame = frame_of(schema, [np.arange(100) * 4, np.arange(100) % 2])
    release = simulate(survey, frame, "few")
    errors = release.marginal("n", bins={"n": [200]}).standard_error
    assert (errors > 1).all()
    lonely = simulate(survey, frame.iloc[:2], "few")
    assert lonely.variance("n").standard_error > 0
    assert lonely.mean("n").standard_error > 0
