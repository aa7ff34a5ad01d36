"""InpPS: the whole record as one cell of 2^d, by preferential sampling.

*Idea.* Report the record's cell with probability p = e^ε/(e^ε + 2^d − 1), else another one at random.

*Privacy.* Any cell is at most e^ε times likelier for one record than for another.

*Estimator.* A cell's share of the reports has mean q + (p − q)·f with q = (1 − p)/(2^d − 1); tables
are sums of cells.

*Variance.* Of a coefficient: ((p−q)⁻² − θ²)/N, and covariance (θ_{α⊕α'}/(p−q) − θ_α·θ_α')/N. The
error grows like 2^d, so this is for few attributes.

*More values.* ∏r cells in place of 2^d (`deniable.decoding.cells`).

*Source.* Cormode, Kulkarni, Srivastava, SIGMOD 2018, §4.2.
"""

from __future__ import annotations

from math import log2, prod
from typing import Any

from deniable.mechanisms.base import Mechanism
from deniable.questions.answers import Subset
from deniable.schema.schema import Schema
from deniable.survey.template import MOST_CELLS, Template, tables_of


class InpPS(Mechanism):
    """The whole record, by preferential sampling."""

    name = "InpPS"

    @classmethod
    def design(
        cls, schema: Schema, order: int, epsilon: float, **options: Any
    ) -> tuple[Template, ...]:
        """Return the one template: the joint value of all attributes."""
        sizes = schema.sizes
        need = f"a table of 2^{log2(prod(sizes)):.0f} cells to decode"
        cls.refuse_beyond(sizes, MOST_CELLS.bit_length() - 1, need)
        return tables_of(sizes, len(sizes), lambda cells: Subset.within(epsilon, cells))
