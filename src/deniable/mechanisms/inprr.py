"""InpRR: the whole record as a one-hot vector of 2^d bits, each by randomized response.

*Idea.* Every cell of the full table gets a yes or a no; each is flipped with probability
1/(e^(ε/2)+1).

*Privacy.* Two records differ in two of the bits, each under randomized response with odds e^(ε/2).
This holds for one-hot vectors only.

*Estimator.* A cell's share of yes has mean f·(1 − r) + (1 − f)·r, r the flip probability.

*Variance.* Of a coefficient: (2^d·v + 1 − θ²)/N with v = a/(a−1)², a = e^(ε/2); covariance
(θ_{α⊕α'} − θ_α·θ_α')/N. A report has 2^d bits.

*Option.* ``optimised=True`` keeps a 1 with ½ and raises a 0 with 1/(e^ε+1): better from about 8
cells on, at least up to ε = 3.

*More values.* A bit for each of the ∏r joint values; tables are read off the cells
(`deniable.decoding.cells`).

*Source.* Cormode, Kulkarni, Srivastava, SIGMOD 2018, §4.2 (InpRS in older texts).
"""

from __future__ import annotations

from math import log2, prod
from typing import Any

from deniable.mechanisms.base import Mechanism
from deniable.questions.answers import Unary
from deniable.schema.schema import Schema
from deniable.survey.template import Template, tables_of

MOST_BITS = 20
"""The longest report has 2^20 bits, for 20 yes/no attributes."""


class InpRR(Mechanism):
    """The whole record, one noisy bit per cell."""

    name = "InpRR"
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
        """Return the one template: the joint value of all attributes."""
        sizes = schema.sizes
        cells = prod(sizes)
        need = f"2^{log2(cells):.0f} bits in every report ({_bytes(cells)})"
        cls.refuse_beyond(sizes, MOST_BITS, need)
        answer = Unary.within(epsilon, cells, optimised=optimised)
        return tables_of(sizes, len(sizes), lambda _cells: answer)


def _bytes(cells: int) -> str:
    if cells >= 1 << 200:
        return "beyond any device"
    units = ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"]
    power = min(len(units) - 1, (cells.bit_length() - 4) // 10)
    return f"{cells / 8 / 1024**power:,.0f} {units[power]}"
