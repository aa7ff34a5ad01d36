"""What a survey must be to be asked: consistent, short enough to go through, within its ε.

The JavaScript client says the same of every survey (`clients/js/src/survey.js`); limits are shared
data (`deniable.formats.forms`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deniable.errors import SurveyError
from deniable.formats.forms import limit
from deniable.questions.answers import Bitwise, Unary
from deniable.questions.exact import LARGEST_EPSILON, exponential
from deniable.questions.lists import MOST_BITS, Balanced
from deniable.schema.schema import Schema
from deniable.survey.slots import TemplateSlots
from deniable.survey.template import ALL_WEIGHT, Template

if TYPE_CHECKING:
    from deniable.survey.frozen import FrozenSurvey

MOST_ORDER = 10
"""The largest table's attributes: its 2^k cells have a covariance of 4^k numbers."""

_BY_THRESHOLDS = (
    "A survey asks for values in order by thresholds: by Subspace, InpHT or MargHT. For others, put "
    "numbers into bins at public edges, and leave orders out."
)


def check_parameters(schema: Schema, order: int, epsilon: float) -> None:
    """Refuse what no survey can do."""
    if isinstance(order, bool) or not isinstance(order, Integral):
        raise SurveyError(f"order must be a whole number, got {type(order).__name__}.")
    if not 1 <= order <= len(schema):
        raise SurveyError(
            f"order must be 1 to {len(schema)}, the number of attributes, got {order}."
        )
    if order > MOST_ORDER:
        raise SurveyError(
            f"order must be at most {MOST_ORDER}, got {order}: a table of 2^{order} cells "
            f"has a covariance of 4^{order} numbers."
        )
    if isinstance(epsilon, bool) or not isinstance(epsilon, Real):
        raise SurveyError(f"epsilon must be a number, got {type(epsilon).__name__}.")
    if not 0 < epsilon < inf:
        raise SurveyError(f"epsilon must be a positive finite number, got {epsilon!r}.")
    if epsilon > LARGEST_EPSILON:
        raise SurveyError(
            f"epsilon must be at most {LARGEST_EPSILON:g}, got {epsilon!r}: "
            "beyond that a report protects nobody and 64-bit thresholds no longer suffice."
        )
    for attribute in schema.attributes:
        if attribute.bits > MOST_BITS:
            raise SurveyError(
                f"{attribute.name!r} has {attribute.codes:,} values; {1 << MOST_BITS:,} is the "
                "limit, so put some of them together."
            )


def check_survey(survey: FrozenSurvey) -> None:
    """Refuse a survey that nobody should answer, or could decode."""
    check_parameters(survey.schema, survey.order, survey.epsilon)
    survey.labels.check(survey.schema)
    _check_length(survey)
    if survey.touches > len(survey.schema):
        raise SurveyError(
            f"A question of the survey touches {survey.touches} attributes; there are "
            f"{len(survey.schema)}."
        )
    if survey.slots >= 1 << limit("slots"):
        raise SurveyError(f"The survey would need {survey.slots:.1e} slots; 2^63 is the limit.")
    _check_coefficients(survey)
    _check_templates(survey)
    for template, slots in zip(survey.templates, survey.index.templates, strict=True):
        _check_fit(survey, template, slots)
    for family in survey.families:
        if family.answer.ratio > exponential(survey.epsilon):
            raise SurveyError("The survey's questions exceed its stated epsilon.")


def _check_length(survey: FrozenSurvey) -> None:
    """Refuse a survey that is too long to go through: every device would have to."""
    sizes = survey.schema.sizes
    counts = {
        "values": sum(survey.schema.ranges),
        "rows": sum(
            each.size**2 for each in dict.fromkeys(survey.lists) if isinstance(each, Balanced)
        ),  # of lists that are matrices
        "places": sum(
            t.attributes * len(t.among or sizes if t.sets is None else t.sets)
            for t in survey.templates
        ),
        "members": sum(
            t.attributes << len(() if t.cell else t.parities)
            for t in survey.templates
            if not isinstance(t.answer, Bitwise)
        ),
    }
    for name, count in counts.items():
        if count > limit(name):
            raise SurveyError(
                f"{survey.mechanism} would have {count:,} {name} to go through; {limit(name):,} is the "
                "limit, so ask about fewer attributes or values."
            )


def _check_coefficients(survey: FrozenSurvey) -> None:
    """Refuse a survey of which not all coefficients could be estimated at once."""
    if survey.schema.is_binary or any(template.sizes for template in survey.templates):
        return
    counts = [survey.lists[a].count for a in asked_attributes(survey)]
    count = sum(products(counts, survey.order)[1:])
    if count > limit("coefficients"):
        raise SurveyError(
            f"{survey.mechanism} would need {count:,} coefficients for tables of {survey.order} of "
            f"these attributes, {8 * count / 1e9:,.0f} GB for each of a few arrays; lower the order, "
            "or put values together."
        )


def asked_attributes(survey: FrozenSurvey) -> list[int]:
    """Return the attributes that some question may be about."""
    every = range(len(survey.schema))
    whole_ranges = ([*t.among] if t.among else every for t in survey.templates if t.sets is None)
    named_sets = (each for t in survey.templates for each in t.sets or ())
    return sorted({a for each in (*whole_ranges, *named_sets) for a in each})


def products(numbers: Sequence[int], order: int) -> list[int]:
    """Return the sum of the products of every 0, 1, … ``order`` of some numbers."""
    sums = [1] + [0] * order
    for number in numbers:
        for level in range(order, 0, -1):
            sums[level] += sums[level - 1] * number
    return sums


def _check_templates(survey: FrozenSurvey) -> None:
    templates = survey.templates
    contents = {
        (t.attributes, t.parities, t.questions, t.sizes, t.sets, t.among) for t in templates
    }
    if len(contents) < len(templates):
        raise SurveyError("A survey's templates must ask for different things.")
    weights = [template.weights for template in templates]
    if any(weights) and not (all(weights) and sum(map(sum, weights)) == ALL_WEIGHT):
        raise SurveyError("The weights of a survey's templates must add up to 2^32.")
    if survey.packed_bytes and not all(isinstance(t.answer, Unary) for t in templates):
        raise SurveyError("A survey with packed answers must have no others.")
    if any(t.sizes for t in templates) and not all(t.cell for t in templates):
        raise SurveyError("A survey must not ask for both cells of many values and parities.")
    if any(isinstance(t.answer, Bitwise) for t in templates):
        _check_bits(survey)


def _check_bits(survey: FrozenSurvey) -> None:
    """Refuse a survey that is answered bit by bit, but not by every bit of every attribute once."""
    template = survey.templates[0]
    if any(attribute.is_ordered for attribute in survey.schema.attributes):
        raise SurveyError(_BY_THRESHOLDS)
    widths = tuple(attribute.bits for attribute in survey.schema.attributes)
    if not (
        len(survey.templates) == 1
        and not template.weights
        and template.sets is None
        and template.question_counts == widths
        and template.parities == tuple(1 << i for i in range(sum(widths)))
        and all(each.is_parity and each.entries == 1 for each in survey.lists)
    ):
        raise SurveyError(
            "A survey that is answered bit by bit must ask for every bit of every attribute's code."
        )


def _check_fit(survey: FrozenSurvey, template: Template, slots: TemplateSlots) -> None:
    """Refuse a template that asks more of attributes than they, or their lists, have."""
    sizes = np.array(survey.schema.sizes)
    is_ordered = np.array([attribute.is_ordered for attribute in survey.schema.attributes])
    if is_ordered.any():  # sets that are not listed hold any attributes, and may be very many
        whole = list(template.among) or range(len(sizes))
        _check_order(template, is_ordered[whole if template.sets is None else slots.sets])
    depths = np.array([each.depth for each in survey.lists])
    if template.cell:
        if template.among:
            fits = not template.sizes and bool((sizes[list(template.among)] == 2).all())
        elif template.sets is None and template.attributes < len(sizes):
            fits = not template.sizes and bool((sizes == 2).all())  # others are listed
        else:
            fits = bool((sizes[slots.sets] == (template.sizes or 2)).all())
    elif template.sets is not None:
        fits = bool((depths[slots.sets] >= template.question_counts).all())
    else:  # any attributes in order: at each place, any that leaves room
        among = depths[list(template.among)] if template.among else depths
        spare = len(among) - template.attributes + 1
        fits = all(
            among[i : i + spare].min() >= questions
            for i, questions in enumerate(template.question_counts)
        )
    if not fits:
        raise SurveyError("A survey's template does not fit the attributes it is asked about.")


def _check_order(template: Template, is_ordered: NDArray[np.bool_]) -> None:
    """Refuse what is not asked about attributes with an order: their cells, or single bits."""
    if not is_ordered.any():
        return
    if template.cell or isinstance(template.answer, Bitwise):
        raise SurveyError(_BY_THRESHOLDS)
    is_full = template.attributes == 1 and template.parities == (1, 2)
    if max(template.question_counts) > 1 and not is_full:
        raise SurveyError(
            "A survey asks two questions about a value in order only together and alone."
        )
