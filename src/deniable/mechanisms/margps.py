"""MargPS: the cell in one random k-way table, by preferential sampling.

*Idea.* A person is given k attributes at random and reports their joint value with probability
p = e^ε/(e^ε + 2^k − 1), else another one at random.

*Privacy.* The attributes are drawn without looking at the record; a cell is at most e^ε times likelier
for one record than for another.

*Estimator.* As InpPS within the table. By default each coefficient is pooled over every table that
holds it; ``estimator="unpooled"`` keeps tables apart, as the paper does.

*Variance.* Within one table: ((p−q)⁻² − θ²)/N_β, covariance (θ_{α⊕α'}/(p−q) − θ_α·θ_α')/N_β. Beats
MargHT for ε > ½·ln(2^k − 1).

*More values.* A table has ∏r cells in place of 2^k, and tables are pooled by their pure interactions
(`deniable.decoding.cells`). The variance grows with the square of the cells.

*Source.* Cormode, Kulkarni, Srivastava, SIGMOD 2018, §4.3.
"""

from __future__ import annotations

from typing import Any

from deniable.mechanisms.base import Mechanism
from deniable.questions.answers import Subset
from deniable.schema.schema import Schema
from deniable.survey.template import Template, tables_of


class MargPS(Mechanism):
    """The cell in a random k-way table, by preferential sampling."""

    name = "MargPS"

    @classmethod
    def design(
        cls, schema: Schema, order: int, epsilon: float, **options: Any
    ) -> tuple[Template, ...]:
        """Return the joint value of k attributes: one template, or one for each sizes they have."""
        if not schema.is_binary:
            cls.refuse_counters(schema.sizes, order)
        return tables_of(schema.sizes, order, lambda cells: Subset.within(epsilon, cells))
