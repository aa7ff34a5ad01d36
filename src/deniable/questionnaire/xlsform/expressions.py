"""Expressions of XLSForm, as far as a questionnaire can keep them: tests of answers, and, or, not.

What is read here is XPath's logic of constants: ``${age} >= 18 and selected(${pets}, 'cat')``. All else
(calculations, functions, an answer beside another) is refused with a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LETTERS = 2000
_TOKEN = re.compile(
    r"""\s*(?:
      \$\{\s*(?P<name>[^{}\s]+)\s*\}
    | (?P<number>-?(?:\d+(?:\.\d*)?|\.\d+))
    | "(?P<double>[^"]*)" | '(?P<single>[^']*)'
    | (?P<sign><=|>=|!=|=|<|>|\(|\)|,)
    | (?P<self>\.)(?![.\d/])
    | (?P<word>[A-Za-z][A-Za-z0-9-]*)
    )\s*""",
    re.VERBOSE,
)
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}


class Inexpressible(ValueError):  # noqa: N818 - its text is the reason why a row is refused
    """A form says what a questionnaire cannot."""


@dataclass(frozen=True)
class Test:
    """A comparison of an answer (``.`` is the row's own) with a constant; or ``selected``."""

    name: str
    sign: str
    constant: str | float


@dataclass(frozen=True)
class Both:
    """Two expressions joined by and, or by or."""

    word: str
    first: Expression
    second: Expression


@dataclass(frozen=True)
class Not:
    """The opposite of an expression."""

    inner: Expression


Expression = Test | Both | Not


def parsed(text: str) -> Expression:
    """Return what an expression says; refuse what is none of these."""
    tokens = list(_tokens(text))
    reader = _Reader(tokens)
    expression = reader.alternatives(0)
    if reader.position < len(tokens):
        raise Inexpressible(
            f"it has {tokens[reader.position][1]!r}, where and, or, or its end should be"
        )
    return expression


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    if len(text) > _LETTERS:
        raise Inexpressible(f"it has more than {_LETTERS:,} letters")
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise Inexpressible(f"{text[position : position + 20].strip()!r} is not understood")
        kind = match.lastgroup or ""
        yield ("text" if kind in ("double", "single") else kind), match[kind]
        position = match.end()


class _Reader:
    """Reads tokens from the first to the last."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens, self.position = tokens, 0

    def alternatives(self, depth: int) -> Expression:
        """Read what is joined by or."""
        expression = self.conjunction(depth)
        while self._takes("word", "or"):
            expression = Both("or", expression, self.conjunction(depth))
        return expression

    def conjunction(self, depth: int) -> Expression:
        """Read what is joined by and."""
        expression = self.unit(depth)
        while self._takes("word", "and"):
            expression = Both("and", expression, self.unit(depth))
        return expression

    def unit(self, depth: int) -> Expression:
        """Read a comparison, selected(…), not(…), or what stands in parentheses."""
        if depth > 20:
            raise Inexpressible("it is nested too deep")
        if self._takes("sign", "("):
            expression = self.alternatives(depth + 1)
            self._need("sign", ")")
            return expression
        if self._takes("word", "not"):
            self._need("sign", "(")
            expression = self.alternatives(depth + 1)
            self._need("sign", ")")
            return Not(expression)
        if self._takes("word", "selected"):
            self._need("sign", "(")
            name = self._name()
            self._need("sign", ",")
            kind, value = self._next()
            if kind not in ("text", "number"):
                raise Inexpressible("selected() needs a value in quotes")
            self._need("sign", ")")
            return Test(name, "selected", value)
        return self._comparison()

    def _comparison(self) -> Test:
        first, (kind, sign) = self._operand(), self._next()
        if kind != "sign" or sign not in _FLIPPED:
            raise Inexpressible("it has no comparison such as = or >= where one should be")
        second = self._operand()
        names = [side for side in (first, second) if isinstance(side, _Name)]
        if len(names) != 1:
            raise Inexpressible("it must compare one answer with a constant")
        if isinstance(first, _Name):
            assert not isinstance(second, _Name)
            return Test(first.name, sign, second)
        return Test(names[0].name, _FLIPPED[sign], first)

    def _operand(self) -> _Name | str | float:
        kind, text = self._next()
        if kind in ("name", "self"):
            return _Name(text)
        if kind == "number":
            return float(text)
        if kind == "text":
            return text
        if (kind, text) == ("word", "date"):
            self._need("sign", "(")
            kind, text = self._next()
            self._need("sign", ")")
            if kind == "text":
                return text
        if kind == "word":
            raise Inexpressible(f"{text}() is calculated where the form is filled in")
        raise Inexpressible(
            f"{text!r} stands where an answer or a constant should" if text else "it ends early"
        )

    def _name(self) -> str:
        kind, text = self._next()
        if kind not in ("name", "self"):
            raise Inexpressible("selected() needs an answer such as ${name}")
        return text

    def _next(self) -> tuple[str, str]:
        if self.position >= len(self.tokens):
            return "end", ""
        self.position += 1
        return self.tokens[self.position - 1]

    def _takes(self, kind: str, text: str) -> bool:
        if self.tokens[self.position : self.position + 1] != [(kind, text)]:
            return False
        self.position += 1
        return True

    def _need(self, kind: str, text: str) -> None:
        if not self._takes(kind, text):
            raise Inexpressible(f"{text!r} is missing")


@dataclass(frozen=True)
class _Name:
    name: str


def bounds_of(text: str) -> tuple[Bound | None, Bound | None]:
    """Return where a constraint such as ``. >= 0 and . <= 120`` begins and ends a number."""
    lows: list[Bound] = []
    highs: list[Bound] = []
    for test in _conjuncts(parsed(text)):
        if test.name != "." or test.sign not in ("<", "<=", ">", ">="):
            raise Inexpressible("it says more than where the number begins and ends")
        side = lows if test.sign[0] == ">" else highs
        side.append(Bound(test.constant, "=" in test.sign))
    if len(lows) > 1 or len(highs) > 1:
        raise Inexpressible("it gives one end twice")
    return lows[0] if lows else None, highs[0] if highs else None


@dataclass(frozen=True)
class Bound:
    """An end of a number, and whether the number may be there."""

    at: str | float
    is_included: bool


def _conjuncts(expression: Expression) -> Iterator[Test]:
    match expression:
        case Test():
            yield expression
        case Both("and", first, second):
            yield from _conjuncts(first)
            yield from _conjuncts(second)
        case _:
            raise Inexpressible("it says more than where the number begins and ends")
