"""FrozenSurvey: what is asked of people, as plain data that knows its slots.

A survey says all that a client or collector needs, in integers and texts. A mechanism designs one
(`deniable.mechanisms`), a device answers one (`deniable.client`), a decoder reads what was answered
(`deniable.decoding`); none of them is needed to hold it, to name it, or to ask its questions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from deniable.errors import SurveyError
from deniable.questions.answers import NARROW, Bitwise, Subset, Unary
from deniable.questions.entropy import Source
from deniable.questions.lists import QuestionList
from deniable.questions.question import Cell, Parities, Question
from deniable.questions.terms import Range, Term
from deniable.questions.thresholds import Thresholds
from deniable.schema.labels import Labels
from deniable.schema.schema import Schema
from deniable.survey.checks import check_survey
from deniable.survey.coefficients import Ints
from deniable.survey.digests import TextDigests, canonical, check_predecessor
from deniable.survey.format import to_form
from deniable.survey.slots import SlotIndex
from deniable.survey.symbols import Symbols
from deniable.survey.template import Template


class Family(NamedTuple):
    """Neighbouring slots that answer in the same way."""

    answer: Subset | Unary | Bitwise
    start: int
    stop: int
    templates: range


class FrozenSurvey:
    """Schema, order, ε, templates, a question list for each attribute, labels; and so an id.

    ``mechanism`` is the name of what designed it, for people to read. ``texts`` are digests of the words
    in which people are asked, ``follows`` is the id of the survey that this one replaces. Whatever is
    inconsistent, too long to go through, or exceeds the stated ε is refused.
    """

    def __init__(
        self,
        schema: Schema,
        order: int,
        epsilon: float,
        templates: Sequence[Template],
        lists: Sequence[QuestionList],
        *,
        mechanism: str,
        labels: Labels = Labels(),  # noqa: B008 (immutable)
        texts: TextDigests | None = None,
        follows: str | None = None,
    ) -> None:
        self.schema, self.order, self.epsilon = schema, int(order), float(epsilon)
        self.templates, self.lists = tuple(templates), tuple(lists)
        self.mechanism, self.labels = mechanism, labels
        self.texts, self.follows = texts, follows
        check_survey(self)
        self._check_words()

    @classmethod
    def of(cls, survey: FrozenSurvey) -> Self:
        """Return a survey as one of this class."""
        if type(survey) is cls:
            return survey
        other = cls.__new__(cls)
        other.__dict__ |= survey.__dict__
        return other

    def labelled(self, labels: Labels) -> Self:
        """Return the same survey with labels on its reports."""
        labels.check(self.schema)
        other = self._copy()
        other.labels = labels
        return other

    def worded(self, texts: TextDigests | None, follows: str | None = None) -> Self:
        """Return the same survey, asked in these words and in place of an earlier one."""
        other = self._copy()
        other.texts, other.follows = texts, follows
        other._check_words()
        return other

    def _copy(self) -> Self:
        """Return the same survey, without the id that what is changed next will change."""
        other = type(self).__new__(type(self))
        other.__dict__ |= self.__dict__
        other.__dict__.pop("id", None)
        return other

    def _check_words(self) -> None:
        if self.texts is not None:
            self.texts.check(len(self.schema))
        if self.follows is not None:
            check_predecessor(self.follows)

    def wording(self, attribute: str) -> dict[str, str]:
        """Return the digest of an attribute's words in each language; nothing where there are none.

        Two surveys ask about it in the same words where these agree in the languages that both have.
        """
        index = self.schema.index(attribute)
        languages = {} if self.texts is None else self.texts.languages
        return {name: each.attributes[index] for name, each in languages.items()}

    # Its name

    def canonical(self) -> str:
        """Return the survey's canonical JSON text."""
        return canonical(to_form(self))

    @cached_property
    def id(self) -> str:
        """Return the survey's id: the SHA-256 of its canonical JSON."""
        return hashlib.sha256(self.canonical().encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrozenSurvey) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return (
            f"<Survey {self.id[:8]}: {len(self.schema)} attributes, order {self.order}, "
            f"epsilon {self.epsilon:g}, {self.mechanism}>"
        )

    def _repr_html_(self) -> str:
        example = self.question(self.slots - 1).english().replace("\n", " ")
        facts = (
            ("id", self.id[:16] + "…"),
            ("attributes", ", ".join(self.schema.names)),
            ("tables of up to", f"{self.order} attributes"),
            ("ε of a report", f"{self.epsilon:g}"),
            ("mechanism", self.mechanism),
            ("questions", f"{self.slots:,}, such as: {example}"),
        )
        from deniable.formats.markup import table_markup

        return table_markup((), facts, caption="Survey")

    # What it asks

    @cached_property
    def index(self) -> SlotIndex:
        """Return how its slots are numbered and drawn."""
        return SlotIndex(self.templates, self.lists)

    @property
    def slots(self) -> int:
        """Return the number of different questions."""
        return self.index.count

    @property
    def touches(self) -> int:
        """Return the most attributes that one question touches."""
        return max(template.attributes for template in self.templates)

    @property
    def whole_record(self) -> bool:
        """Tell whether questions touch the whole record, beyond what tables need."""
        return self.touches == len(self.schema) > self.order

    def draw_slot(self, source: Source) -> int:
        """Draw a slot, without looking at any data."""
        return self.index.draw(source)

    def question(self, slot: int) -> Question:
        """Return the question of a slot."""
        if isinstance(slot, bool) or not isinstance(slot, int) or not 0 <= slot < self.slots:
            raise SurveyError(
                f"A slot of this survey is a whole number from 0 to {self.slots - 1}."
            )
        index = self.index.template_of(slot)
        template = self.templates[index]
        sets, entries = self.index.locate(np.array([slot]))
        if template.cell:
            attributes = (self.schema.attributes[a] for a in sets[0])
            terms = tuple(Term(attribute.name, attribute.values) for attribute in attributes)
            return Question(self.id, slot, Cell(terms), template.answer)
        bits = []
        for parity in template.parities:
            numbers = self.coefficients(index, sets, entries, parity)[0].tolist()
            pairs = zip(sets[0].tolist(), numbers, strict=True)
            bits.append(tuple(self._term(a, number) for a, number in pairs if number))
        return Question(self.id, slot, Parities(tuple(bits)), template.answer)

    def _term(self, attribute: int, coefficient: int) -> Term | Range:
        """Return a yes/no question about an attribute: the values that say yes."""
        own, each = self.schema.attributes[attribute], self.lists[attribute]
        if own.scale is not None:
            assert isinstance(each, Thresholds)
            above, to, missing = each.span(coefficient)
            top = None if to is None else own.scale.point(to - 1)
            stand_in = own.missing if missing else None
            return Range(own.name, own.scale.point(above - 1), top, stand_in, own.unit)
        says_yes = each.answers(np.array([coefficient]))[0]
        return Term(own.name, tuple(v for v, y in zip(own.values, says_yes, strict=True) if y))

    def coefficients(self, template: int, sets: Ints, entries: Ints, member: int) -> Ints:
        """Return the coefficient of each chosen attribute that a member of a template takes, or 0.

        ``sets`` and ``entries`` are the attributes and entries of slots, one row each.
        """
        counts = self.templates[template].question_counts
        parts = self.templates[template].split(np.array(member)).tolist()
        numbers = np.zeros_like(sets)
        for place, (count, part) in enumerate(zip(counts, parts, strict=True)):
            if not part:
                continue
            if len(self._different) == 1:
                numbers[:, place] = self.lists[0].coefficients(entries[:, place], count, part)
                continue
            begins, by_entry = self.coefficients_by_entry(count, part)
            numbers[:, place] = by_entry[begins[sets[:, place]] + entries[:, place]]
        return numbers

    def coefficients_by_entry(self, questions: int, part: int) -> tuple[Ints, Ints]:
        """Return where each attribute's entries begin, and the coefficient that each entry gives."""
        if (questions, part) not in self._by_entry:
            lists = [each for each in self._different if each.depth >= questions]
            ends = np.cumsum([each.entries for each in lists])
            begins = {each: end - each.entries for each, end in zip(lists, ends, strict=True)}
            every = [each.coefficients(np.arange(each.entries), questions, part) for each in lists]
            at = np.array([begins.get(each, 0) for each in self.lists])
            self._by_entry[questions, part] = at, np.concatenate(every)
        return self._by_entry[questions, part]

    @cached_property
    def _by_entry(self) -> dict[tuple[int, int], tuple[Ints, Ints]]:
        return {}

    @cached_property
    def _different(self) -> list[QuestionList]:
        return list(dict.fromkeys(self.lists))

    @cached_property
    def kinds(self) -> Ints:
        """Return a number for each attribute: equal ones have as many values and the same list."""
        numbers = {each: number for number, each in enumerate(self._different)}
        return np.array([numbers[each] for each in self.lists])

    # How it is answered

    @cached_property
    def symbols(self) -> Symbols:
        """Return what records would truly answer."""
        return Symbols(self)

    @cached_property
    def families(self) -> tuple[Family, ...]:
        """Return the ways of answering, with the slots and templates they cover."""
        families: list[Family] = []
        for index, template in enumerate(self.templates):
            start, stop = self.index.starts[index : index + 2]
            if families and families[-1].answer == template.answer:
                last = families.pop()
                whole = range(last.templates.start, index + 1)
                families.append(last._replace(stop=stop, templates=whole))
            else:
                families.append(Family(template.answer, start, stop, range(index, index + 1)))
        return tuple(families)

    @cached_property
    def packed_bytes(self) -> int:
        """Return the bytes of a report that is packed, or 0 where values are integers.

        Only unary answers over more than 62 symbols are; then all ways of answering are unary.
        """
        sizes = [t.answer.symbols for t in self.templates if isinstance(t.answer, Unary)]
        return -(-max(sizes) // 8) if sizes and max(sizes) > NARROW else 0
