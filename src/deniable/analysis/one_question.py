"""One-question designs: classical randomized response, declared by two probabilities.

Dice, coins, birthdays or a second question decide how a person answers; all of it comes to how likely a
reported yes is for somebody to whom the question applies, and for somebody to whom it does not.

=================  =============================================================  ================
design             P(reported yes | yes), P(reported yes | no)                    source
=================  =============================================================  ================
`warner`           p, 1 − p                                                       Warner 1965
`forced_response`  1 − no, yes                                                    Boruch 1971
`unrelated`        ask + (1 − ask)·prevalence, (1 − ask)·prevalence               Greenberg 1969
`crosswise`        prevalence, 1 − prevalence (of saying "both or neither")       Yu et al. 2008
=================  =============================================================  ================
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf

from deniable.errors import QuestionError
from deniable.questions.exact import log_down


@dataclass(frozen=True)
class OneQuestion:
    """How likely a reported yes is where the truth is yes, and where it is no.

    Probabilities are numbers, or texts such as ``"1/6"``, which are taken exactly.

    >>> dice = OneQuestion.forced_response(yes="1/6", no="1/6")
    >>> dice.yes_if_yes, dice.yes_if_no, dice.ratio
    (Fraction(5, 6), Fraction(1, 6), Fraction(5, 1))
    >>> round(dice.epsilon, 6)
    1.609438
    """

    yes_if_yes: Fraction
    yes_if_no: Fraction

    def __post_init__(self) -> None:
        for name in ("yes_if_yes", "yes_if_no"):
            object.__setattr__(self, name, _probability(getattr(self, name)))
        if self.yes_if_yes == self.yes_if_no:
            raise QuestionError(
                "A one-question design must have a yes likelier where the truth is yes than where it is "
                "no, or less likely; got the same probability, so answers tell nothing."
            )

    @classmethod
    def warner(cls, p: object) -> OneQuestion:
        """Return Warner's design: with probability p asked about the statement, else its opposite."""
        share = _probability(p)
        return cls(share, 1 - share)

    @classmethod
    def forced_response(cls, yes: object, no: object) -> OneQuestion:
        """Return the design in which a yes, and a no, are forced with these probabilities."""
        forced_yes, forced_no = _probability(yes), _probability(no)
        if forced_yes + forced_no >= 1:
            raise QuestionError(
                "A forced yes and a forced no must leave room for true answers: their probabilities "
                "must add up to less than 1."
            )
        return cls(1 - forced_no, forced_yes)

    @classmethod
    def crosswise(cls, prevalence: object) -> OneQuestion:
        """Return the crosswise design, beside an innocent question of known prevalence.

        A reported yes is "both or neither is true for me", a no is "exactly one is".
        """
        share = _probability(prevalence)
        return cls(share, 1 - share)

    @classmethod
    def unrelated(cls, ask: object, prevalence: object) -> OneQuestion:
        """Return the design that asks the question with one probability, else an innocent one."""
        own, innocent = _probability(ask), _probability(prevalence)
        return cls(own + (1 - own) * innocent, (1 - own) * innocent)

    @property
    def ratio(self) -> Fraction | None:
        """Return e^ε exactly; None where some answer rules the yes or the no out."""
        pairs = (
            (self.yes_if_yes, self.yes_if_no),
            (1 - self.yes_if_yes, 1 - self.yes_if_no),
        )
        if any(0 in pair for pair in pairs):
            return None
        return max(max(a / b, b / a) for a, b in pairs)

    @property
    def epsilon(self) -> float:
        """Return ε, rounded down; infinite where some answer rules the yes or the no out."""
        return inf if self.ratio is None else log_down(self.ratio)


def _probability(value: object) -> Fraction:
    if isinstance(value, int | float | str | Fraction) and not isinstance(value, bool):
        try:
            share = Fraction(value)
        except (ValueError, OverflowError, ZeroDivisionError):
            share = Fraction(-1)
        if 0 <= share <= 1:
            return share
    raise QuestionError(
        f"A probability of a one-question design must be a number from 0 to 1, got {_shown(value)}."
    )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
