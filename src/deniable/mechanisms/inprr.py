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

*Source.* Cormode, Kulkarni, Srivastava, SIGMOD 2018, §4.2 (InpRS in older texts).
"""

from __future__ import annotations

from typing import Any

from deniable.mechanisms.base import Mechanism, Shape
from deniable.questions.answers import Unary

__all__ = ["InpRR"]

MOST_ATTRIBUTES = 20


class InpRR(Mechanism):
    """The whole record, one noisy bit per cell."""

    name = "InpRR"
    options = ("optimised",)
    whole_record = True

    @classmethod
    def design(
        cls, attributes: int, order: int, epsilon: float, *, optimised: bool = False, **_: Any
    ) -> tuple[Shape, ...]:
        """Return the one shape: the joint value of all attributes."""
        need = f"2^{attributes} bits in every report ({_bytes(attributes)})"
        cls.refuse_beyond(attributes, MOST_ATTRIBUTES, need)
        return (
            Shape.table(attributes, Unary.within(epsilon, 1 << attributes, optimised=optimised)),
        )


def _bytes(attributes: int) -> str:
    if attributes >= 200:
        return "beyond any device"
    size, units = (1 << attributes) / 8, ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"]
    power = min(len(units) - 1, (attributes - 3) // 10)
    return f"{size / 1024**power:,.0f} {units[power]}"
