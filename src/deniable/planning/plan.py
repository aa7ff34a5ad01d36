"""The planner: which mechanism, how many people, what error."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import inf, sqrt
from numbers import Integral
from typing import Any

from deniable.errors import SurveyError
from deniable.mechanisms.base import Mechanism, check_parameters
from deniable.mechanisms.registry import MECHANISMS
from deniable.planning.error import (
    KAPPA,
    bits_per_report,
    bound_variance,
    cell_variance,
    guaranteed_tv,
    has_formula,
    people_needed,
    predicted_tv,
)
from deniable.questions.schema import Schema

__all__ = ["Plan", "Row", "choose", "plan"]


@dataclass(frozen=True)
class Row:
    """What one mechanism would do. ``people_needed`` is None without a target or a formula."""

    mechanism: str
    predicted_tv: float | None
    guaranteed_tv: float | None
    bits_per_report: int
    variance_over_bound: float | None
    people_needed: int | None


@dataclass(frozen=True)
class Plan:
    """Mechanisms ranked by predicted error, the best first.

    ``unbiased_bound_tv`` is the error below which no unbiased ε-private protocol can go.
    ``skipped`` says why a mechanism does not fit.
    """

    attributes: int
    order: int
    epsilon: float
    people: int
    probability: float
    target_error: float | None
    unbiased_bound_tv: float
    rows: tuple[Row, ...]
    skipped: dict[str, str]

    @property
    def recommended(self) -> str:
        """Return the mechanism with the smallest predicted error."""
        return self.rows[0].mechanism

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        form = asdict(self) | {"recommended": self.recommended}
        form["rows"] = list(form["rows"])
        return form

    def to_frame(self) -> Any:
        """Return the ranked rows as a pandas frame."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows])


def plan(
    schema: Schema,
    *,
    order: int = 2,
    epsilon: float = 1.1,
    people: int,
    target_error: float | None = None,
    probability: float = 0.95,
) -> Plan:
    """Rank all mechanisms that fit for a schema, and say what error to expect.

    Predictions are for coefficients near 0, the worst case, and the estimators that are used by
    default. ``probability`` is that of the guaranteed error.
    """
    check_parameters(schema, order, epsilon)
    if isinstance(people, bool) or not isinstance(people, Integral) or not 1 <= people < 1 << 53:
        raise SurveyError(f"people must be a whole number from 1 to 2^53, got {people!r}.")
    if target_error is not None and not 0 < target_error < inf:
        raise SurveyError(f"The target error must be a positive number, got {target_error!r}.")
    fitting, skipped = [], {}
    for name, kind in MECHANISMS.items():
        try:
            fitting.append(kind(schema, order, epsilon))
        except SurveyError as error:
            skipped[name] = str(error)
    if not fitting:
        raise SurveyError(f"No mechanism fits: {next(iter(skipped.values()))}")
    bound = bound_variance(len(schema), order, epsilon, people)
    rows = [_row(mechanism, people, bound, target_error, probability) for mechanism in fitting]
    rows.sort(key=_rank)
    return Plan(
        len(schema),
        order,
        float(epsilon),
        people,
        probability,
        target_error,
        KAPPA * 2**order * sqrt(bound),
        tuple(rows),
        skipped,
    )


def _rank(row: Row) -> tuple[float, int]:
    """Return what mechanisms are ranked by: the predicted error, then the bits of a report."""
    error = inf if row.predicted_tv is None else float(f"{row.predicted_tv:.9e}")
    return error, row.bits_per_report


def _row(
    mechanism: Mechanism, people: int, bound: float, target: float | None, probability: float
) -> Row:
    exact = has_formula(mechanism)
    return Row(
        mechanism.name,
        predicted_tv(mechanism, people),
        guaranteed_tv(mechanism, people, probability),
        bits_per_report(mechanism),
        cell_variance(mechanism, people) / bound if exact else None,
        None if target is None else people_needed(mechanism, target),
    )


def choose(schema: Schema, order: int, epsilon: float) -> Mechanism:
    """Return the mechanism with the smallest predicted error."""
    best = plan(schema, order=order, epsilon=epsilon, people=1).recommended
    return MECHANISMS[best](schema, order, epsilon)
