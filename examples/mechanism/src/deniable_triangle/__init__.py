"""Triangle: the three pair-parities of a random triple of attributes, as one symbol of four.

*Idea.* Two parities of a triple, such as a⊕b and b⊕c, tell the third. A person is given a triple, or a
single attribute, at random, and answers both parities at once.

*Privacy.* What is asked is drawn without looking at the record; the answer is one of four symbols, and
the true one e^ε times as likely as each other.

*Estimator.* The mean of the reported signs, divided by its contrast; all triples of a pair are pooled.

*Variance.* That of one symbol of four, times the number of slots over those that hold the coefficient.

*Source.* The documentation of deniable: Add a mechanism.
"""

from __future__ import annotations

from typing import Any

from deniable import Schema
from deniable.errors import SurveyError
from deniable.mechanisms.base import Mechanism
from deniable.questions.answers import Subset
from deniable.survey.template import Template


class Triangle(Mechanism):
    """The three pair-parities of a random triple, as one symbol of four."""

    name = "Triangle"

    @classmethod
    def design(
        cls, schema: Schema, order: int, epsilon: float, **options: Any
    ) -> tuple[Template, ...]:
        """Return a template for single attributes and one for triples."""
        if order > 2 or len(schema) < 3:
            raise SurveyError("Triangle makes tables of two of at least three attributes.")
        single = Template(1, (0b1,), Subset.within(epsilon, 2))
        triple = Template(3, (0b011, 0b110), Subset.within(epsilon, 4))
        return (single, triple)
