"""The English of a question says exactly what is asked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from deniable.languages import language
from deniable.questions.answers import Subset
from deniable.questions.question import Cell, Parities, Term
from deniable.questions.words import compose

ENGLISH = language("en")
PIECES = ("a", "b", ",", ", ", ";", "; ", "?", '"', "“", "”", "\\", " ", "\n", "\u202e", "u{a}",
          "or", " or ", " or 2 more", " – ", "• ", "2. ")  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=4).map("".join) | st.text(max_size=4)
VALUES = st.lists(TEXTS, min_size=1, max_size=12, unique=True) | st.lists(
    st.integers(-20, 20), min_size=1, max_size=12, unique=True
)
BITS = st.lists(
    st.lists(
        st.builds(lambda name, values: Term(name, tuple(values)), st.sampled_from("xyz"), VALUES),
        min_size=1,
        max_size=3,
        unique_by=lambda term: term.attribute,
    ).map(tuple),
    min_size=1,
    max_size=3,
).map(tuple)


def english(asks: Parities | Cell, *, full: bool = True) -> list[str]:
    """Return the lines that say what is asked, however it is answered."""
    question: Any = SimpleNamespace(asks=asks, answer=Subset(2, 1, 3 << 62))
    return compose(question, ENGLISH, {}, full=full).lines(ENGLISH)


def said(bits: tuple[tuple[Term, ...], ...]) -> list[list[tuple[str, list[str]]]]:
    """Return what a question is about, with numbers as the texts that they read as."""
    return [[(term.attribute, [str(v) for v in term.values]) for term in bit] for bit in bits]


@given(BITS, BITS)
def test_two_questions_never_read_the_same_in_full(
    one: tuple[tuple[Term, ...], ...], two: tuple[tuple[Term, ...], ...]
) -> None:
    assume(said(one) != said(two))
    assert english(Parities(one)) != english(Parities(two))


@given(VALUES, st.data())
def test_two_lists_of_values_never_read_the_same(values: list, data: st.DataObject) -> None:
    """Each list is compared with one that joins, parts, drops or turns some of it."""
    texts = [str(value) for value in values]
    place = data.draw(st.integers(0, len(texts) - 1))
    mark = data.draw(st.sampled_from(PIECES))
    joined = [*texts[:place], mark.join(texts[place : place + 2]), *texts[place + 2 :]]
    parted = [*texts[:place], *texts[place].split(mark), *texts[place + 1 :]]
    for changed in (joined, parted, texts[:place], texts[::-1]):
        if changed and changed != texts and len(set(changed)) == len(changed):
            one, two = Term("x", tuple(texts)), Term("x", tuple(changed))
            for make in (lambda term: Parities(((term,),)), lambda term: Cell((term,))):
                assert english(make(one)) != english(make(two))


@given(BITS)
def test_a_question_is_legible_line_by_line(bits: tuple[tuple[Term, ...], ...]) -> None:
    cells = [Cell(bit) for bit in bits]
    for asks in (Parities(bits), *cells):
        for full in (False, True):
            lines = english(asks, full=full)
            assert "\n".join(lines).splitlines() == lines
            assert lines[0].endswith(("?", ":"))
            assert "\u202e" not in "".join(lines)
            count = (
                len(bits) + sum(map(len, bits)) if isinstance(asks, Parities) else len(asks.terms)
            )
            assert len(lines) <= count + 2
