"""A question in the words of a language: a lead, what it is about line by line, and the device's odds.

Sentences are whole messages of the catalogue (`deniable.languages`), and what they are about stands
apart from them, one line each: names, wordings and labels are never bent to fit into a sentence, which
no rule could do in every language. The JavaScript client says the same (`clients/js/src/words.js`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deniable.languages.language import Language
from deniable.questions.answers import Bitwise, Unary
from deniable.questions.entropy import WORD
from deniable.questions.legible import legible
from deniable.questions.terms import Range, Term
from deniable.schema.attribute import Value, kind, spoken
from deniable.schema.scale import Point

if TYPE_CHECKING:
    from deniable.questions.question import Cell, Question

_MIXED = re.compile('[,;?"“”„«»،؛]')
"""Signs by which one would not see where a label ends among others."""

_MOST = 8
"""How many things a list has at most where it may be cut; of more labels, half as many are said."""


@dataclass(frozen=True)
class Said:
    """A text of the survey's; ``tag`` is its language where that is not the one that is spoken.

    ``is_prose`` tells that somebody wrote it to be read; otherwise it is said to the letter.
    """

    text: str
    tag: str | None = None
    is_prose: bool = False

    def within(self, language: Language, message: str | None = None) -> str:
        """Return it as a part of what a language says, perhaps within a message such as a quote."""
        if self.is_prose:
            text = legible(" ".join(self.text.split()))
        else:
            text = legible(self.text, '^"' if message is None else '["“”„«»]')
            message = message if text == self.text else None  # it stands in quotes already
        text = language.isolate(text)
        text = text if message is None else language.say(message, text=text)
        return text if self.tag is None else language.foreign(text, self.tag)


@dataclass(frozen=True)
class Wording:
    """How one attribute is spoken of: its wording, and labels of values by `kind`."""

    text: Said
    labels: Mapping[tuple[str, object], Said] = field(default_factory=dict)
    missing: Said | None = None
    unit: Said | None = None


@dataclass(frozen=True)
class Words:
    """A question in words: `lead`, then `items` (a name, what it may be) or `parts`, and `odds`."""

    lead: str
    items: tuple[tuple[str, str], ...] = ()
    parts: tuple[Words, ...] = ()
    odds: str = ""

    def lines(self, language: Language, indent: str = "") -> list[str]:
        """Return it as lines of text."""
        lines = [f"{indent}{self.lead}"]
        lines += [
            f"{indent}• {language.say('item', name=name, says=says)}" for name, says in self.items
        ]
        for number, part in enumerate(self.parts, 1):
            first, *rest = part.lines(language)
            lines += [f"{number}. {first}", *(f"   {line}" for line in rest)]
        return [*lines, self.odds] if self.odds else lines


def compose(
    question: Question,
    language: Language,
    wordings: Mapping[str, Wording],
    *,
    full: bool = True,
) -> Words:
    """Return a question in the words of a language; an attribute without a wording is named.

    Unless it is ``full``, long lists are cut, and say how much they leave out.
    """
    asks = question.asks
    speech = _Speech(language, wordings, full)
    odds = _odds(question, language)
    bits = getattr(asks, "bits", None)
    if bits is None:
        return speech.cell(asks, odds)  # type: ignore[arg-type]
    if len(bits) == 1:
        return speech.parity(bits[0], odds)
    if all(len(bit) == 1 for bit in bits):
        items = speech.items([bit[0] for bit in bits])
        return Words(language.say("each", n=len(bits)), items, odds=odds)
    parts = tuple(map(speech.parity, bits))
    return Words(language.say("several", n=len(bits)), parts=parts, odds=odds)


@dataclass(frozen=True)
class _Speech:
    language: Language
    wordings: Mapping[str, Wording]
    full: bool

    def parity(self, bit: Sequence[Term | Range], odds: str = "") -> Words:
        """Return one bit as a question."""
        items = self.items(bit)
        if len(bit) == 1:
            term = bit[0]
            count = None if isinstance(term, Range) else len(term.values)
            lead = "one.range" if count is None else "one.value"
            return Words(self.language.say(lead, n=count or 0), items, odds=odds)
        if len(bit) == 2:
            return Words(self.language.say("pair"), items, odds=odds)
        numbers = [self.language.number(n) for n in range(1, min(len(bit), 6) + 1, 2)]
        those = self.language.listing([*numbers, *(["…"] if len(bit) > 6 else [])], "or")
        return Words(self.language.say("odd", n=len(bit), odd=those), items, odds=odds)

    def cell(self, asks: Cell, odds: str) -> Words:
        """Return what asks for the joint value of some attributes."""
        lead = "cell" if len(asks.terms) > 1 else "cell.one"
        return Words(self.language.say(lead, n=asks.symbols), self.items(asks.terms), odds=odds)

    def items(self, terms: Sequence[Term | Range]) -> tuple[tuple[str, str], ...]:
        """Return what terms are about, each with what it may be."""
        if self.full or len(terms) <= _MOST:
            return tuple(map(self._item, terms))
        more = self.language.say("more", n=len(terms) - _MOST)
        return (*map(self._item, terms[:_MOST]), ("…", more))

    def _item(self, term: Term | Range) -> tuple[str, str]:
        wording = self.wordings.get(term.attribute) or Wording(Said(term.attribute))
        return wording.text.within(self.language), self._says(term, wording)

    def _says(self, term: Term | Range, wording: Wording) -> str:
        if isinstance(term, Range):
            return self._range(term, wording)
        is_cut = not self.full and len(term.values) > _MOST
        values = term.values[: _MOST // 2] if is_cut else term.values
        labels = [self._label(value, wording) for value in values]
        message = "quote" if self._is_mixed(labels) else None
        texts = [label.within(self.language, message) for label in labels]
        if is_cut:
            texts.append(self.language.say("more", n=len(term.values) - len(values)))
        return self.language.listing(texts, "or")

    def _is_mixed(self, labels: Sequence[Said]) -> bool:
        """Return whether one would not see in a list where a label ends."""
        joint = re.compile(rf"(^| ){self.language.listing(['', ''], 'or').strip()}( |\Z)")
        signs = _MIXED if len(labels) > 1 else joint
        return any(signs.search(label.text) or joint.search(label.text) for label in labels)

    def _label(self, value: Value, wording: Wording) -> Said:
        label = wording.labels.get(kind(value))
        if label is not None:
            return label
        if isinstance(value, bool):
            return Said(self.language.say("yes" if value else "no"))
        return Said(spoken(value))

    def _range(self, term: Range, wording: Wording) -> str:
        """Return which numbers or days say yes: above 20 and up to 62 years, or no answer."""
        is_day = isinstance(term.above, str)
        ends = [self._point(point) for point in (term.above, term.to) if point is not None]
        unit = wording.unit or (Said(term.unit) if term.unit is not None else None)
        if unit is not None:
            ends[-1] += f"\N{NO-BREAK SPACE}{unit.within(self.language)}"
        if term.to is None:
            text = self.language.say("after" if is_day else "above", above=ends[0])
        else:
            message = "until" if is_day else "between"
            text = self.language.say(message, above=ends[0], to=ends[1])
        if term.stand_in is None:
            return text
        missing = wording.missing or wording.labels.get(kind(term.stand_in))
        absent = missing or absence(term.stand_in, self.language)
        return self.language.say(
            "range.or", range=text, missing=absent.within(self.language, "quote")
        )

    def _point(self, point: Point) -> str:
        return self.language.day(point) if isinstance(point, str) else self.language.number(point)


def absence(missing: Value, language: Language) -> Said:
    """Return what stands for no answer, where no text of the survey says it."""
    if isinstance(missing, str):
        return Said(missing)
    return Said(f"{language.say('absent')} ({spoken(missing)})")


def _odds(question: Question, language: Language) -> str:
    answer = question.answer
    if isinstance(answer, Bitwise):
        return language.say("flip.each", chance=_chance(WORD - answer.threshold, language))
    if isinstance(answer, Unary):
        own, other = _chance(answer.own, language), _chance(answer.other, language)
        return language.say("unary", n=answer.symbols, own=own, other=other)
    if answer.symbols == 2:
        return language.say("flip", chance=_chance(WORD - answer.threshold, language))
    chance = _chance(answer.threshold, language)
    if answer.chosen == 1:
        return language.say("one", n=answer.symbols - 1, chance=chance)
    return language.say("some", n=answer.symbols, chosen=answer.chosen, chance=chance)


def _chance(threshold: int, language: Language) -> str:
    """Return a probability out of 2⁶⁴ as a simple fraction where it is one, else as a percentage.

    It is said as after *with probability*. It has three digits, ties go to the even one; all of it in
    integers, so that every client says the same.
    """
    for denominator in range(1, 13):
        numerator = (2 * threshold * denominator + WORD) // (2 * WORD)
        if (
            numerator
            and abs(threshold * denominator - numerator * WORD) * 10**9 < denominator * WORD
        ):
            share = f"{numerator}/{denominator}" if denominator > 1 else f"{numerator}"
            return language.say("chance", chance=share)
    if threshold * 1000 > WORD * 999:
        return language.say("chance.high", chance=language.percent(99.9))
    if threshold * 1000 <= WORD:
        return language.say("chance.low", chance=language.percent(0.1))
    scale = 1000 if threshold * 100 < WORD else 100 if threshold * 10 < WORD else 10
    digits, rest = divmod(100 * threshold * scale, WORD)
    digits += 2 * rest > WORD or (2 * rest == WORD and digits % 2)
    return language.say("chance.percent", chance=language.percent(digits / scale))
