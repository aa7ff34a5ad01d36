"""How a question is answered: three ways to turn the true symbol into a deniable report.

Each way is a few integers. From them come its exact law, its exact ε, a sampler for one device, a
vectorised sampler for simulations, and what a decoder needs: the *support* of a report is the set
of symbols it speaks for, and four probabilities say how supports relate to the truth.

============  ===========================================================  ====================
way           the report                                                   the paper's name
============  ===========================================================  ====================
`Subset`      w symbols, the true one among them with probability t/2⁶⁴    RR (M=2), PS (w=1)
`Unary`       one noisy bit per symbol                                     parallel RR
`Bitwise`     the symbol's c bits, each by randomized response             budget splitting
============  ===========================================================  ====================

Thresholds are rounded towards *no information*, so the realised ε never exceeds the stated one.
"""

from __future__ import annotations

from typing import Any

from deniable.errors import QuestionError
from deniable.formats.forms import check_form
from deniable.questions.answers.answer import NARROW, Answer, Inclusion
from deniable.questions.answers.bitwise import Bitwise
from deniable.questions.answers.subset import Subset
from deniable.questions.answers.unary import Unary

__all__ = ["NARROW", "Answer", "Bitwise", "Inclusion", "Subset", "Unary", "answer_from_json"]


def answer_from_json(form: Any) -> Subset | Unary | Bitwise:
    """Read a way of answering, and refuse anything that is not exactly one."""
    check_form("answer", form, QuestionError)
    match form["way"]:
        case "subset":
            return Subset(form["symbols"], form["chosen"], int(form["threshold"]))
        case "unary":
            return Unary(form["symbols"], int(form["own"]), int(form["other"]))
        case _:
            return Bitwise(form["bits"], int(form["threshold"]))
