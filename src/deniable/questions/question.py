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
from deniable.questions.entropy import WORD, Source
from deniable.questions.exact import decimal, log_down
from deniable.questions.legible import legible
from deniable.questions.terms import Range, Term, term_of_form
from deniable.schema.attribute import Value, spoken
from deniable.schema.scale import Point, spoken_point

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

    def english(self, *, full: bool = False) -> str:
        """Return what is asked, in plain words; in full, with every value."""
        count = len(self.bits)
        if count == 1:
            return _parity(self.bits[0], None if full else 8)
        is_simple = all(_is_truth(term) for bit in self.bits for term in bit)
        if all(len(bit) == 1 for bit in self.bits):
            facts = [_fact(bit[0], None if full else 4) for bit in self.bits]
            style = _listed if is_simple else _numbered
            enumeration = style(facts, None if full else 8)
            return f"For each of these {count}: {enumeration}: is it true for you?"
        questions = [_parity(bit, None if full else 4) for bit in self.bits]
        if not is_simple:
            questions = [f"({number}) {text}" for number, text in enumerate(questions, 1)]
        return f"{count} questions at once. {' '.join(questions)}"

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

    def english(self, *, full: bool = False) -> str:
        """Return what is asked, in plain words; in full, with every value."""
        names = [legible(name) for name in self.attributes]
        if len(names) == 1:
            values = f": {_values(self.terms[0])}" if full else ""
            return f"Which of the {self.symbols:,} values of {names[0]} is yours{values}?"
        if full:
            names = [f"{n} ({_values(t)})" for n, t in zip(names, self.terms, strict=True)]
        enumeration = _listed(names, None if full else 8)
        return f"Which of the {self.symbols:,} combinations of {enumeration} is yours?"

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
        """Return the question and the device's odds in plain words.

        Long lists are cut, and say how much they leave out; in full, nothing is left out.
        """
        return f"{self.asks.english(full=full)} {_how(self.asks, self.answer)}"

    def composed(self, tag: str = "en", wordings: Mapping[str, Wording] | None = None) -> Words:
        """Return the question in the words of a language, in parts: for whoever lays them out."""
        from deniable.languages.language import language
        from deniable.questions.words import compose

        return compose(self, language(tag), wordings or {})

    def words(self, tag: str = "en", wordings: Mapping[str, Wording] | None = None) -> str:
        """Return the question and the device's odds in the words of a language, in several lines.

        ``wordings`` are those of a survey (`deniable.questionnaire.wordings`); without them, attributes
        and values are named as they are declared. Nothing is left out.
        """
        from deniable.languages.language import language

        return "\n".join(self.composed(tag, wordings).lines(language(tag)))

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


def _is_truth(term: Term | Range) -> bool:
    return isinstance(term, Term) and len(term.values) == 1 and term.values[0] is True


def _range(term: Range) -> str:
    """Return which numbers say yes: above 20 and up to 62 years, or no answer."""
    text = f"above {spoken_point(term.above)}"
    if term.to is not None:
        text += f" and up to {spoken_point(term.to)}"
    text += f" {legible(term.unit)}" if term.unit is not None else ""
    return text if term.stand_in is None else f"{text}, or {_marked(spoken(term.stand_in))}"


def _fact(term: Term | Range, most: int | None) -> str:
    if isinstance(term, Range):
        return f"{_marked(term.attribute)} is {_range(term)}"
    if _is_truth(term):
        return legible(term.attribute)
    several = "one of " if len(term.values) > 1 else ""
    return f"{_marked(term.attribute)} is {several}{_values(term, most)}"


def _parity(bit: Sequence[Term | Range], most: int | None) -> str:
    """Return one bit as a question; where it is about one term, with up to ``most`` values."""
    if len(bit) == 1 and isinstance(bit[0], Range):
        return f"Is your {_marked(bit[0].attribute)} {_range(bit[0])}?"
    if len(bit) == 1:
        assert isinstance(bit[0], Term)
        values = bit[0].values
        if len(values) == 1 or any(isinstance(value, bool) for value in values):
            return f"Is it true for you: {_fact(bit[0], most)}?"
        name = _marked(bit[0].attribute)
        return f"Is your {name} one of these {len(values):,}: {_values(bit[0], most)}?"
    how_many = "exactly one" if len(bit) == 2 else "an odd number"
    facts = [_fact(term, most and 4) for term in bit]
    if all(map(_is_truth, bit)):
        return f"Is {how_many} of {_listed(facts, most and 8)} true for you?"
    return f"Is {how_many} of these true for you: {'; '.join(_cut(facts, most and 8, 'and '))}?"


def _how(asks: Parities | Cell, answer: Subset | Unary | Bitwise) -> str:
    if isinstance(answer, Bitwise):
        chance = _chance(1 - Fraction(answer.threshold, WORD))
        return f"Each answer is reported as its opposite with probability {chance}."
    if isinstance(answer, Unary):
        own, other = Fraction(answer.own, WORD), Fraction(answer.other, WORD)
        each = f"{answer.symbols:,}" + (" combinations" if isinstance(asks, Parities) else "")
        return (
            f"Your device answers yes or no to each of the {each}: yes to the true one "
            f"with probability {_chance(own)}, yes to any other with probability {_chance(other)}."
        )
    keep = Fraction(answer.threshold, WORD)
    if answer.symbols == 2:
        return f"With probability {_chance(1 - keep)} your device reports the opposite."
    several = isinstance(asks, Parities)
    if answer.chosen == 1:
        truth, others = ("the true answers", " combinations of yes and no") if several else (
            "the true one", "")  # fmt: skip
        return (
            f"With probability {_chance(keep)} your device reports {truth}, "
            f"otherwise one of the other {answer.symbols - 1:,}{others} at random."
        )
    options = "combinations of yes and no" if several else "possible answers"
    return (
        f"Your device reports {answer.chosen} of the {answer.symbols:,} {options}; "
        f"the true one is among them with probability {_chance(keep)}."
    )


def _chance(probability: Fraction) -> str:
    """Return a probability as a simple fraction where it is one, else as a percentage."""
    simple = probability.limit_denominator(12)
    if simple and abs(simple - probability) < Fraction(1, 10**9):
        return str(simple)
    if probability > Fraction(999, 1000):
        return "more than 99.9%"
    return f"{float(100 * probability):.3g}%" if probability > Fraction(1, 1000) else "below 0.1%"


def _cut(names: Sequence[str], most: int | None, word: str = "") -> list[str]:
    """Return the names, or the first of them and how many more there are."""
    if most is None or len(names) <= most:
        return list(names)
    return [*names[:most], f"{word}{len(names) - most:,} more"]


def _listed(names: Sequence[str], most: int | None) -> str:
    few = _cut(names, most)
    return few[0] if len(few) == 1 else f"{', '.join(few[:-1])} and {few[-1]}"


def _numbered(names: Sequence[str], most: int | None) -> str:
    return "; ".join(_cut([f"({n}) {name}" for n, name in enumerate(names, 1)], most, "and "))


def _values(term: Term, most: int | None = None) -> str:
    """Return a term's values if they are no more than ``most``, else half as many to begin with."""
    texts = [_marked(spoken(value)) for value in term.values]
    if most is None or len(texts) <= most:
        return ", ".join(texts)
    return _listed(texts, most // 2)


def _marked(text: str) -> str:
    """Return a text that stands in a list, in quotes where one would not see where it ends."""
    return legible(text, r'[,;?"]| and \d+ more$')
