"""Predicted error: what a mechanism's tables will be off by, before anybody is asked.

Errors are total variation distances, averaged over the tables that matter. A cell's estimate is
close to normal, so the expected distance is ½·√(2/π) times the sum of the cells' standard errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, comb, exp, expm1, inf, log, nan, prod, sqrt

import numpy as np

from deniable.decoding.decoder import Holding, InclusionDecoder, decoder_of, is_symmetric
from deniable.decoding.evidence import KAPPA
from deniable.decoding.scores import scoring
from deniable.design.workload import Workload
from deniable.errors import SurveyError
from deniable.numeric.roots import bracket
from deniable.planning.aim import EVERYTHING, Aim
from deniable.questions.lists import QuestionList, lists_named
from deniable.schema.schema import Schema
from deniable.survey.coefficients import (
    Floats,
    Ints,
    all_tables,
    positions,
    same_sizes,
    subset_count,
)
from deniable.survey.frozen import FrozenSurvey


def has_formula(survey: FrozenSurvey, estimator: str | None = None) -> bool:
    """Tell whether an estimator's error can be predicted."""
    return decoder_of(survey).is_unbiased(estimator)


def predicted_tv(
    survey: FrozenSurvey, people: float, estimator: str | None = None, aim: Aim = EVERYTHING
) -> float | None:
    """Return the predicted distance, the mean over the tables that matter; None without a formula."""
    if not has_formula(survey, estimator):
        return None
    if is_symmetric(survey):
        sizes = dict.fromkeys(map(len, aim.workload or ()), 0.0) or {survey.order: 1.0}
        for table, weight in (aim.workload or {}).items():
            sizes[len(table)] += weight
        roots = (w * sqrt(_table_variance(survey, k, estimator, aim)) for k, w in sizes.items())
        return KAPPA * sum(roots) / sum(sizes.values()) / sqrt(people)
    workload = workload_of(survey.order, aim, survey.lists)
    formula = component_precision(survey, workload, aim, estimator)
    errors = workload.errors(*formula) if formula else _expected_errors(survey, workload, estimator)
    return KAPPA * workload.mean(errors) / sqrt(people)


def workload_of(order: int, aim: Aim, lists: Sequence[QuestionList]) -> Workload:
    """Return the tables that matter, all of k attributes unless some were named."""
    if aim.workload is None:
        return Workload.everything(order, lists)
    return Workload.of(aim.workload, order, lists)


def _table_variance(survey: FrozenSurvey, size: int, estimator: str | None, aim: Aim) -> float:
    """Return Σ_α N·Var θ̂_α over the coefficients of a table of so many attributes."""
    levels = range(1, size + 1)
    decoder = decoder_of(survey)
    precisions = [decoder.precision(j, estimator, aim.square(j)) for j in levels]
    return sum(comb(size, j) / p if p else inf for j, p in zip(levels, precisions, strict=True))


def component_precision(
    survey: FrozenSurvey, workload: Workload, aim: Aim, estimator: str | None = None
) -> tuple[Floats, Floats] | None:
    """Return N·P_S of every component where attributes are not alike, and what it needs.

    A component is learnt from all reports that hold coefficients of it, or cells that contain it.
    There is no formula where estimates are not pooled, or some questions are asked more often.
    """
    is_even = all(each.is_even for each in survey.lists)
    if not is_even or decoder_of(survey).check_estimator(estimator) != "pooled":
        return None
    entries = np.array([each.count for each in workload.lists])
    position = np.full(len(survey.schema), -1)
    position[workload.used] = np.arange(len(workload.used))
    weight, variance = np.zeros((2, workload.numbering.size))
    of_cells = any(template.sizes for template in survey.templates)
    for index, template in enumerate(survey.templates):
        moment = scoring(template).moment
        if template.among and not template.questions:
            _add_alike(
                survey, index, position[list(template.among)], workload, aim, weight, variance
            )
            continue
        sets, chances = survey.index.templates[index].sets, survey.index.set_chances(index)
        masks = np.arange(1, 1 << template.attributes) if template.cell else template.member_sets
        masks = masks[np.bitwise_count(masks) <= workload.order]
        for mask, times in zip(*np.unique(masks, return_counts=True), strict=True):
            members = position[sets[:, positions(int(mask))]]
            rows = (members >= 0).all(axis=1)
            if not rows.any():
                continue
            members, share = members[rows], chances[rows] * times
            if not of_cells:
                share /= entries[members].prod(axis=1)
            numbers = workload.numbering.of_question(members, (1 << members.shape[1]) - 1)
            noise = moment - aim.square(members.shape[1])
            weight += np.bincount(numbers, share / moment, len(weight))
            variance += np.bincount(numbers, share * noise / moment**2, len(variance))
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(variance > 0, weight**2 / variance, 0)
    return precision, workload.dimensions if of_cells else workload.scale


def _add_alike(
    survey: FrozenSurvey,
    index: int,
    among: Ints,
    workload: Workload,
    aim: Aim,
    weight: Floats,
    variance: Floats,
) -> None:
    """Add what a template tells that is asked about any of some yes/no attributes, without listing."""
    template = survey.templates[index]
    moment = scoring(template).moment
    among_workload = among[among >= 0]
    for level in range(1, min(workload.order, template.attributes, len(among_workload)) + 1):
        share = survey.index.chance(index) * template.members_of(level) / comb(len(among), level)
        sets = among_workload[all_tables(len(among_workload), level)]
        numbers = workload.numbering.of_question(sets, (1 << level) - 1)
        weight[numbers] += share / moment
        variance[numbers] += share * (moment - aim.square(level)) / moment**2


def _expected_errors(
    survey: FrozenSurvey, workload: Workload, estimator: str | None
) -> tuple[Floats, ...]:
    """Return the same from the variances of all cells of all tables, where people are uniform."""
    evidence, by_size = decoder_of(survey).expected(1.0, estimator), []
    for tables in workload.tables:
        errors = np.empty(len(tables))
        for rows in same_sizes(survey.kinds, workload.used[tables]):
            own = workload.used[tables[rows]]
            cells = prod(survey.schema.sizes[a] for a in own[0])
            uniform = np.full((len(own), cells), 1 / cells)
            errors[rows] = np.sqrt(evidence.cell_variances(own, uniform)).sum(axis=1)
        by_size.append(errors)
    return tuple(by_size)


def bound_tv(
    schema: Schema, order: int, epsilon: float, people: float, aim: Aim = EVERYTHING
) -> float:
    """Return the expected distance below which no unbiased ε-private protocol can go.

    It is not a number where some attributes are numbers, whose bins nobody reads without bias. It is for
    uniform data. Any report tells Σ_φ I_φ ≤ (e−1)²/4e about orthonormal functions φ of the
    record. A component of attributes of r values has ∏(r−1) of them, so a table's distance is at least
    κ·√(Σ_S ∏(r−1)²/(N·I_S)) if I_S is spent on S. What is best spent on each is the least of a convex
    function, found by solving for needs divided by the errors, again and again.
    """
    if any(each.is_ordered for each in schema.attributes):
        return nan
    information = expm1(epsilon) ** 2 / (4 * exp(epsilon))
    if aim.workload is None and schema.is_binary:
        roots = sum(sqrt(comb(order, j) * comb(len(schema), j)) for j in range(1, order + 1))
        return KAPPA * roots / sqrt(information * people)
    workload = workload_of(order, aim, lists_named("codes", schema.sizes))
    scale = workload.dimensions
    needs, before = workload.needs(scale=scale), inf
    while True:
        budget = np.sqrt(needs * scale)
        precision = np.where(budget > 0, budget / budget.sum() / scale, 1)
        errors = workload.errors(precision, scale)
        value = workload.mean(errors)
        if value > before * (1 - 1e-9):
            return KAPPA * value / sqrt(information * people)
        needs, before = workload.needs(errors, scale), value


def people_needed(
    survey: FrozenSurvey,
    target_tv: float,
    estimator: str | None = None,
    aim: Aim = EVERYTHING,
) -> int | None:
    """Return how many people bring the predicted distance down to a target."""
    if not isinstance(target_tv, int | float) or not 0 < target_tv < inf:
        raise SurveyError(f"The target error must be a positive number, got {target_tv!r}.")
    one = predicted_tv(survey, 1, estimator, aim)
    if one is None or one == inf:
        return None
    return max(1, ceil((Fraction(one) / Fraction(target_tv)) ** 2))


def guaranteed_tv(survey: FrozenSurvey, people: float, probability: float = 0.95) -> float | None:
    """Return a distance that no k-way table exceeds, with this probability.

    A coefficient is estimated as Σ g·score / Σ g over the reports that hold it, with g = 1/V. Let P be
    the mean of g over all reports (0 where not held), Q that of g², and B the largest g·(s + 1), s
    the largest score. Then P(|θ̂ − θ| > c) ≤ 2·exp(−N·c²·P² / (2(P + c²·Q) + ⅔·c·P·(B + c·max g))):
    this is Bernstein's inequality for Σ g·(score − θ − c) + c·P over the people as they are, whatever
    they hold, so it covers estimates divided by the reports that came, not by the expected number.
    The T coefficients share 1 − probability. A table's distance is at most ½·√(Σ_α (θ̂_α − θ_α)²) by
    Cauchy–Schwarz. Distances are to the table of these very people, and may exceed 1, because
    estimates are not clipped.
    """
    if not isinstance(probability, int | float) or not 0 < probability < 1:
        raise SurveyError(f"A probability must lie between 0 and 1, got {probability!r}.")
    decoder = decoder_of(survey)
    if not isinstance(decoder, InclusionDecoder) or not is_symmetric(survey):
        return None  # coefficients of one level are not alike
    d, k = len(survey.schema), survey.order
    budget = log(2 * subset_count(d, k) / (1 - probability))
    total = 0.0
    for level in range(1, k + 1):
        holdings = [holding for holding in decoder.holdings(level) if holding.share]
        if not holdings:
            return inf
        total += comb(k, level) * _furthest(holdings, people, budget) ** 2
    return 0.5 * sqrt(total)


def _furthest(holdings: list[Holding], people: float, budget: float) -> float:
    """Return the c beyond which `guaranteed_tv`'s exponent exceeds the budget."""
    weight = sum(h.share / h.moment for h in holdings)
    square = sum(h.share / h.moment**2 for h in holdings)
    heaviest = max(1 / h.moment for h in holdings)
    largest = max((h.largest + 1) / h.moment for h in holdings)

    def is_near(c: float) -> bool:
        exponent = 2 * (weight + c * c * square) + 2 / 3 * c * weight * (largest + c * heaviest)
        return people * (c * weight) ** 2 <= budget * exponent

    # No estimate is ever further off.
    return float(bracket(is_near, 0.0, 1 + max(h.largest for h in holdings), steps=80)[1])
