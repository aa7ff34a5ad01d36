"""A question: what is asked, how it is answered, its exact ε, and its plain English.

A question stands on its own. Anybody who holds one can compute its ε, answer it for a record, print
it, or refuse it, without knowing which mechanism it came from.

*What is asked* turns a record into a symbol. `Parities`: bit j of the symbol is the XOR, over some
attributes, of "is the value one of these?". `Cell`: the joint value of some attributes, numbered
with the first attribute fastest (so that bit j is attribute j where all are binary).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any

from deniable.errors import QuestionError
from deniable.questions.answers import Bitwise, Subset, Unary, answer_from_json
from deniable.questions.entropy import Source
from deniable.questions.exact import decimal, log_down
from deniable.questions.terms import Range, Term, term_of_form
from deniable.schema.attribute import Value
from deniable.schema.scale import Point

if TYPE_CHECKING:
    from deniable.questions.words import Wording, Words


@dataclass(frozen=True)
class Parities:
    """Ask for c bits, each the XOR of some terms' truth values."""

    bits: tuple[tuple[Term | Range, ...], ...]

    def __post_init__(self) -> None:
        for bit in self.bits:
            _refuse_repeated(bit)

    @property
    def symbols(self) -> int:
        """Return 2^c."""
        return 1 << len(self.bits)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Return the attributes that are touched."""
        return tuple(dict.fromkeys(term.attribute for bit in self.bits for term in bit))

    def symbol(self, record: Mapping[str, Value | Point]) -> int:
        """Return the true answer of a record of declared values."""
        symbol = 0
        for j, bit in enumerate(self.bits):
            symbol |= (sum(term.holds(record) for term in bit) & 1) << j
        return symbol

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"parities": [[term.to_json() for term in bit] for bit in self.bits]}


@dataclass(frozen=True)
class Cell:
    """Ask for the joint value of some attributes, the first one fastest."""

    terms: tuple[Term, ...]

    def __post_init__(self) -> None:
        _refuse_repeated(self.terms)

    @property
    def symbols(self) -> int:
        """Return the number of joint values."""
        return prod(len(term.values) for term in self.terms)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Return the attributes that are touched."""
        return tuple(term.attribute for term in self.terms)

    def symbol(self, record: Mapping[str, Value | Point]) -> int:
        """Return the true answer of a record of declared values."""
        symbol, stride = 0, 1
        for term in self.terms:
            place = term.place(record)
            if place is None:
                raise QuestionError(
                    f"The question does not list every value of {term.attribute!r}."
                )
            symbol += place * stride
            stride *= len(term.values)
        return symbol

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"cell": [term.to_json() for term in self.terms]}


@dataclass(frozen=True)
class Question:
    """What one person is asked, and how the device answers. ``slot`` is its public number."""

    survey: str
    slot: int
    asks: Parities | Cell
    answer: Subset | Unary | Bitwise

    def __post_init__(self) -> None:
        if self.asks.symbols != self.answer.symbols:
            raise QuestionError("The question has more or fewer true answers than its way takes.")
        if not 0 <= self.slot < 1 << 63:
            raise QuestionError("A slot must be an integer from 0 to 2^63 - 1.")

    @property
    def attributes(self) -> tuple[str, ...]:
        """Return the attributes that are touched."""
        return self.asks.attributes

    @property
    def ratio(self) -> Fraction:
        """Return e^ε exactly: no report is this many times likelier for one record than another."""
        return self.answer.ratio

    @property
    def epsilon(self) -> float:
        """Return ε, rounded down."""
        return log_down(self.ratio)

    def reply(self, record: Mapping[str, Value | Point], source: Source) -> int:
        """Draw the value to report for a record of declared values.

        A true answer that the question does not have is an error before anything is drawn, and a value
        that it does not have is never returned: such a value would tell whose it is.
        """
        symbol = self.asks.symbol(record)
        if not 0 <= symbol < self.answer.symbols:
            raise QuestionError("The question has no such answer.")
        value = self.answer.answer(symbol, source)
        if not 0 <= value < self.answer.outcomes:
            raise QuestionError("The question has no such answer.")
        return value

    def english(self, *, full: bool = False) -> str:
        """Return the question and the device's odds in plain English, in several lines.

        Long lists are cut, and say how much they leave out; in full it is what `words` says in English.
        """
        return self.words(full=full)

    def composed(
        self,
        tag: str = "en",
        wordings: Mapping[str, Wording] | None = None,
        *,
        full: bool = True,
    ) -> Words:
        """Return the question in the words of a language, in parts: for whoever lays them out."""
        from deniable.languages.language import language
        from deniable.questions.words import compose

        return compose(self, language(tag), wordings or {}, full=full)

    def words(
        self,
        tag: str = "en",
        wordings: Mapping[str, Wording] | None = None,
        *,
        full: bool = True,
    ) -> str:
        """Return the question and the device's odds in the words of a language, in several lines.

        ``wordings`` are those of a survey (`deniable.questionnaire.wordings`); without them, attributes
        and values are named as they are declared. Unless it is ``full``, long lists are cut.
        """
        from deniable.languages.language import language

        return "\n".join(self.composed(tag, wordings, full=full).lines(language(tag)))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "survey": self.survey,
            "slot": str(self.slot),
            "asks": self.asks.to_json(),
            "answer": self.answer.to_json(),
        }

    @classmethod
    def from_json(cls, form: Any) -> Question:
        """Read the JSON form, and refuse anything that is not exactly a question."""
        match form:
            case {"survey": str(survey), "slot": str(slot), "asks": asks, "answer": answer, **rest}:
                if rest:
                    raise QuestionError("A question holds fields that it should not.")
                return cls(survey, decimal(slot), _asks_from_json(asks), answer_from_json(answer))
        raise QuestionError("A question must be an object with survey, slot, asks and answer.")


def _refuse_repeated(terms: Sequence[Term | Range]) -> None:
    if len({term.attribute for term in terms}) < len(terms):
        raise QuestionError("A question touches an attribute twice at once.")


def _asks_from_json(form: Any) -> Parities | Cell:
    match form:
        case {"cell": [_, *_] as terms, **rest} if not rest:
            return Cell(tuple(Term.from_json(term) for term in terms))
        case {"parities": [_, *_] as bits, **rest} if not rest and all(
            isinstance(bit, list) and bit for bit in bits
        ):
            return Parities(tuple(tuple(map(term_of_form, bit)) for bit in bits))
    raise QuestionError("What a question asks must be a cell or a list of parities.")


def odds(ratio: Fraction | float) -> float:
    """Return what a suspicion of one half can become at most, seeing one report."""
    return float(ratio / (1 + ratio))
