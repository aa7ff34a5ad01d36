"""InpHT: one random Hadamard coefficient of the record, by randomized response.

*Idea.* A k-way table needs only the coefficients θ_α with |α| ≤ k. A person is given one of these T
sets at random, computes the parity of its attributes, and reports the opposite with probability
1/(e^ε+1).

*Privacy.* The set is drawn without looking at the record; the report is one bit under randomized
response with odds e^ε.

*Estimator.* θ̂_α = mean of the ±1 reports for α, times C = (e^ε+1)/(e^ε−1).

*Variance.* (C² − θ_α²)/N_α, independent across α; N_α ≈ N/T.

*More values.* A coefficient takes one yes/no question about each of at most k attributes: a parity of
the bits of the value's code, of which there are 2^b − 1 (`deniable.questions.lists`). The paper asks
for coefficients of so many *bits* instead, most of which no table needs (`InpHTBits`).

*Source.* Cormode, Kulkarni, Srivastava: Marginal Release Under Local Differential Privacy, SIGMOD
2018, §4.2. The printed user routine returns the record's index instead of the coefficient's, and
samples coefficient 0, which carries nothing; both are corrected here.
"""

from __future__ import annotations

from typing import Any

from deniable.mechanisms.base import Mechanism
from deniable.questions.answers import Subset
from deniable.schema.schema import Schema
from deniable.survey.template import Template


class InpHT(Mechanism):
    """One random coefficient, 1 ≤ |α| ≤ k, by randomized response."""

    name = "InpHT"

    @classmethod
    def design(
        cls, schema: Schema, order: int, epsilon: float, **options: Any
    ) -> tuple[Template, ...]:
        """Return one template per size of the set: the parity of all its attributes."""
        answer = Subset.within(epsilon, 2)
        return tuple(Template(size, ((1 << size) - 1,), answer) for size in range(1, order + 1))
