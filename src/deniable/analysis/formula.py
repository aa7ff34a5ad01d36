"""Formulas: which outcome is explained by which terms.

``income ~ age + sex + age:sex`` reads as in R and statsmodels: an outcome, a tilde, and terms that add
up. A term is a name, a name over a number (``age/10``), a power (``age^2``, ``age**2``, ``(age/10)²``)
or a product ``a:b``; ``a*b`` is short for ``a + b + a:b``. The intercept is always there, so ``1`` adds
nothing. Names are runs of letters, digits, ``_`` and ``.``; any other name stands in backquotes.

A formula may come over HTTP, so its length and the number of its terms are bounded, and nothing in it
nests: what is read is a flat sum of products.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations
from math import isfinite

from deniable.errors import TableError

MOST_CHARACTERS = 4_000
MOST_TERMS = 200
MOST_FACTORS = 6  # of one product; a*b*c*… has 2^factors − 1 terms
MOST_POWER = 9

_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_TOKEN = re.compile(
    rf"\s*(?:(?P<quoted>`[^`]*`)|(?P<word>(?:(?![{_SUPERSCRIPTS}])[\w.])+)"
    rf"|(?P<raised>[{_SUPERSCRIPTS}])|(?P<sign>\*\*|[~+:*^/()]))"
)
_NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?|\.[0-9]+")
_EXAMPLE = "Write it as outcome ~ term + term."


@dataclass(frozen=True)
class Factor:
    """A name, divided and raised to a power: ``(age/10)^2`` is ("age", 10.0, 2)."""

    name: str
    divisor: float = 1.0
    power: int = 1


@dataclass(frozen=True)
class Term:
    """A product of factors of different names, with its label as it was written."""

    label: str
    factors: tuple[Factor, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names that it multiplies, in the order written."""
        return tuple(factor.name for factor in self.factors)


@dataclass(frozen=True)
class Formula:
    """An outcome and the terms that explain it, beside an intercept; ``text`` is what was written."""

    outcome: str
    terms: tuple[Term, ...]
    text: str

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the terms, each once, in the order of their first use."""
        return tuple(dict.fromkeys(name for term in self.terms for name in term.names))


def read_formula(text: str) -> Formula:
    """Read a formula such as ``income ~ age/10 + sex``; a mistake in it is a `TableError`.

    >>> formula = read_formula("legal ~ (age/10)² + female*region")
    >>> formula.outcome, [term.label for term in formula.terms]
    ('legal', ['(age/10)²', 'female', 'region', 'female:region'])
    >>> formula.terms[0].factors
    (Factor(name='age', divisor=10.0, power=2),)
    """
    if not isinstance(text, str):
        raise TableError(f"A formula must be text, got {type(text).__name__}. {_EXAMPLE}")
    if len(text) > MOST_CHARACTERS:
        raise TableError(
            f"A formula must have at most {MOST_CHARACTERS:,} characters, got {len(text):,}."
        )
    return _Reader(text).formula()


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str


class _Reader:
    """Reads the tokens of one formula from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.position = 0

    def formula(self) -> Formula:
        """Return the whole formula."""
        outcome = self._name("the outcome", "The outcome of a formula")
        if not self._takes("~"):
            raise TableError(f"A formula needs ~ behind its outcome, got {self._next}. {_EXAMPLE}")
        terms: dict[frozenset[Factor], Term] = {}
        while True:
            for term in self._product():
                terms.setdefault(frozenset(term.factors), term)
            if len(terms) > MOST_TERMS:
                raise TableError(f"A formula must have at most {MOST_TERMS} terms, got more.")
            if not self._takes("+"):
                break
        if self.position < len(self.tokens):
            raise TableError(f"A formula's terms are joined by +, : or *, got {self._next}.")
        formula = Formula(outcome, tuple(terms.values()), self.text.strip())
        if outcome in formula.names:
            raise TableError(f"The outcome {shown(outcome)} must not be among the terms.")
        return formula

    def _product(self) -> list[Term]:
        """Return the terms of ``a*b:c``: each part alone, then the products of parts."""
        parts = [self._interaction()]
        while self._takes("*"):
            parts.append(self._interaction())
        if sum(len(part.factors) for part in parts) > MOST_FACTORS:
            raise TableError(f"A product in a formula must have at most {MOST_FACTORS} factors.")
        subsets = [some for size in range(len(parts)) for some in combinations(parts, size + 1)]
        terms = [_joined([part for part in some if part.factors]) for some in subsets]
        return [term for term in terms if term.factors]

    def _interaction(self) -> Term:
        """Return the term of ``a:b``; a 1 is a term without factors."""
        if self._takes("1"):
            return Term("1", ())
        parts = [self._factor()]
        while self._takes(":"):
            parts.append(self._factor())
        return _joined(parts)

    def _factor(self) -> Term:
        """Return a term of one factor: a name, perhaps divided, perhaps raised to a power."""
        begin, is_inner = self.position, self._takes("(")
        name, divisor = self._name("a term", "A term of a formula"), 1.0
        if self._takes("/"):
            divisor = self._number("A divisor", 0)
        if is_inner and not self._takes(")"):
            raise TableError(
                "Brackets in a formula hold a name, or a name over a number, such as (age/10), "
                f"got {self._next}."
            )
        power = self._power(is_divided=divisor != 1 and not is_inner)
        label = "".join(token.text for token in self.tokens[begin : self.position])
        return Term(label, (Factor(name, divisor, power),))

    def _power(self, is_divided: bool) -> int:
        """Return the power behind a factor, which is 1 where none stands."""
        if self._kind == "raised":
            power = float(_SUPERSCRIPTS.index(self.tokens[self.position].text))
            self.position += 1
        elif self._takes("^") or self._takes("**"):
            power = self._number("A power", -1)
        else:
            return 1
        if is_divided:
            raise TableError("A quotient is raised to a power in brackets, such as (age/10)^2.")
        if power != int(power) or not 1 <= power <= MOST_POWER:
            raise TableError(f"A power in a formula must be a whole number from 1 to {MOST_POWER}.")
        return int(power)

    def _name(self, place: str, subject: str) -> str:
        """Return the name that stands next."""
        if self._kind == "quoted":
            name = self.tokens[self.position].text[1:-1]
            if not name:
                raise TableError("A name in a formula must not be empty, got two backquotes.")
        elif self._kind == "word" and not _NUMBER.fullmatch(self.tokens[self.position].text):
            name = self.tokens[self.position].text
        else:
            hint = " A name that is a number stands in backquotes." if self._kind == "word" else ""
            hint = hint if self.tokens else f" {_EXAMPLE}"
            raise TableError(f"{subject} must be a name, got {self._next} for {place}.{hint}")
        self.position += 1
        return name

    def _number(self, subject: str, above: float) -> float:
        """Return the number that stands next."""
        is_number = self._kind == "word" and _NUMBER.fullmatch(self.tokens[self.position].text)
        value = float(self.tokens[self.position].text) if is_number else float("nan")
        if not (isfinite(value) and value > above):
            what = "a positive number" if above == 0 else "a whole number"
            raise TableError(f"{subject} in a formula must be {what}, got {self._next}.")
        self.position += 1
        return value

    def _takes(self, text: str) -> bool:
        """Step over this token where it stands next."""
        is_next = self.position < len(self.tokens) and self.tokens[self.position].text == text
        self.position += is_next
        return is_next

    @property
    def _kind(self) -> str:
        return self.tokens[self.position].kind if self.position < len(self.tokens) else ""

    @property
    def _next(self) -> str:
        """Return what stands next, for an error."""
        if self.position < len(self.tokens):
            return shown(self.tokens[self.position].text)
        return "nothing"


def shown(text: str) -> str:
    """Return a piece of a formula as an error shows it: quoted, and never long."""
    return repr(text if len(text) <= 40 else text[:39] + "…")


def _tokens(text: str) -> list[_Token]:
    """Return the tokens of a formula; a sign that none begins with is refused."""
    tokens, position, end = [], 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            sign = text[position:].lstrip()[0]
            if sign == "`":
                raise TableError("A formula has a backquote that is never closed.")
            raise TableError(
                f"A formula holds names, numbers and ~ + : * ^ / ( ), got {shown(sign)}; "
                "any other name stands in backquotes, and the intercept is always there."
            )
        tokens.append(_Token(match.lastgroup, match[match.lastgroup]))
        position = match.end()
    return tokens


def _joined(parts: list[Term]) -> Term:
    """Return the product of terms, each name in it once."""
    factors = tuple(dict.fromkeys(factor for part in parts for factor in part.factors))
    names = [factor.name for factor in factors]
    if len(set(names)) < len(names) or len(factors) < sum(len(part.factors) for part in parts):
        twice = next(name for part in parts for name in part.names if _count(parts, name) > 1)
        raise TableError(
            f"A product must not hold {shown(twice)} twice; write a power, such as {twice[:40]}^2."
        )
    return Term(":".join(part.label for part in parts), factors)


def _count(parts: list[Term], name: str) -> int:
    return sum(part.names.count(name) for part in parts)
