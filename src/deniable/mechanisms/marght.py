"""MargHT: one random coefficient of one random k-way table, by randomized response.

*Idea.* A person is given k attributes at random and a non-empty subset α of them, and answers the
parity of α by randomized response.

*Privacy.* Both are drawn without looking at the record; one bit with odds e^ε.

*Estimator.* As InpHT for each (table, α), pooled over tables by default.

*Variance.* (C² − θ²)/N_{β,α} within one table, N_{β,α} ≈ N/(C(d,k)·(2^k−1)).

*More values.* A coefficient takes one yes/no question about each of its attributes, out of 2^b − 1
(`deniable.questions.lists`). Tables with more coefficients are asked about more often, because
every coefficient of every table is as likely as any other.

*Source.* Cormode, Kulkarni, Srivastava, SIGMOD 2018, §4.3.
"""

from __future__ import annotations

from typing import Any

from deniable.mechanisms.base import Mechanism
from deniable.questions.answers import Subset
from deniable.schema.schema import Schema
from deniable.survey.template import Template


class MargHT(Mechanism):
    """One random coefficient of a random k-way table, by randomized response."""

    name = "MargHT"

    @classmethod
    def design(
        cls, schema: Schema, order: int, epsilon: float, **options: Any
    ) -> tuple[Template, ...]:
        """Return one template per coefficient of a table."""
        answer = Subset.within(epsilon, 2)
        return tuple(Template(order, (mask,), answer) for mask in range(1, 1 << order))
