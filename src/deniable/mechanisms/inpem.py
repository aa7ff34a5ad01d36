"""InpEM: every attribute by randomized response with a d-th of the budget, decoded by EM.

*Idea.* Each of the d bits is flipped with probability 1/(e^(ε/d)+1). For a table, the collector sees
the noisy joint values of its attributes and looks for the distribution that makes them likeliest.

*Privacy.* d bits, each with odds e^(ε/d); together e^ε.

*Estimators.* ``em``: expectation maximisation from the uniform table until no cell moves by more than
Ω = 10⁻⁵. Its first step moves a coefficient to g^|α| times what was observed, g = tanh(ε/2d), so with
many attributes it stops at once, at the uniform table: such tables are flagged ``failed_at_once``.
No covariance is known for it. ``inverse``: the noisy coefficients divided by g^|α|, unbiased.

*Variance* of the inverse: (g^(−2|α|) − θ²)/N, covariance (θ_{α⊕α'}·g^(|α⊕α'|−|α|−|α'|) − θ_α·θ_α')/N.

*More values.* Every bit of every attribute's code is reported, with ε divided by all of them; EM looks
only at codes that some value has (`deniable.decoding.bits`).

*Source.* Fanti, Pihur, Erlingsson (PoPETs 2016), as compared in Cormode, Kulkarni, Srivastava,
SIGMOD 2018, §4.4.
"""

from __future__ import annotations

from typing import Any

from deniable.errors import SurveyError
from deniable.mechanisms.base import Mechanism
from deniable.questions.answers import NARROW, Bitwise
from deniable.schema.schema import Schema
from deniable.survey.template import Template


class InpEM(Mechanism):
    """Every attribute, budget split, by bitwise randomized response."""

    name = "InpEM"
    question_list = "bits"

    @classmethod
    def design(
        cls, schema: Schema, order: int, epsilon: float, **options: Any
    ) -> tuple[Template, ...]:
        """Return the one template: each bit of each attribute's code."""
        widths = tuple(attribute.bits for attribute in schema.attributes)
        count = sum(widths)
        questions = widths if count > len(widths) else ()
        if count > NARROW:
            raise SurveyError(
                f"{cls.name} takes at most {NARROW} {'bits of codes' if questions else 'attributes'}, "
                f"got {count}: it would need {count} bits in every report."
            )
        bits = tuple(1 << i for i in range(count))
        answer = Bitwise.within(epsilon, count)
        return (Template(len(schema), bits, answer, questions=questions),)
