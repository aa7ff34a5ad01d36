"""MargRR: the cell in one random k-way table as a one-hot vector, each bit by randomized response.

*Idea.* A person is given k attributes at random; every cell of their table gets a yes or a no, each
flipped with probability 1/(e^(ε/2)+1).

*Privacy.* The attributes are drawn without looking at the record; two records differ in two bits,
each under randomized response with odds e^(ε/2).

*Estimator.* As InpRR within the table, pooled over tables by default.

*Variance.* Within one table: (2^k·v + 1 − θ²)/N_β with v = a/(a−1)², a = e^(ε/2).

*Option.* ``optimised=True`` keeps a 1 with ½ and raises a 0 with 1/(e^ε+1): better from k = 3 on, at
least up to ε = 3.

*More values.* A table has ∏r cells; its variance has that in place of 2^k, and tables are pooled by
their pure interactions (`deniable.decoding.cells`).

*Source.* Cormode, Kulkarni, Srivastava, SIGMOD 2018, §4.3 (MargRS in older texts, one of which samples
a single cell at full ε: a different mechanism).
"""

from __future__ import annotations

from typing import Any

from deniable.mechanisms.base import Mechanism
from deniable.questions.answers import Unary
from deniable.schema.schema import Schema
from deniable.survey.template import Template, tables_of


class MargRR(Mechanism):
    """The cell in a random k-way table, one noisy bit per cell."""

    name = "MargRR"
    options = ("optimised",)

    @classmethod
    def design(
        cls,
        schema: Schema,
        order: int,
        epsilon: float,
        *,
        optimised: bool = False,
        **_: Any,
    ) -> tuple[Template, ...]:
        """Return the joint value of k attributes: one template, or one for each sizes they have."""
        cls.refuse_counters(schema.sizes, order)
        return tables_of(
            schema.sizes, order, lambda cells: Unary.within(epsilon, cells, optimised=optimised)
        )
