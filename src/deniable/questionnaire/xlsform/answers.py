"""What may be answered to a row, and which answers of earlier rows a condition wants.

A condition is XPath's: an answer that is not there is an empty text, so ``!= 'a'`` holds for it, and no
comparison of numbers does. It becomes, by attribute, a list of answers; all of them must hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deniable.questionnaire.xlsform.expressions import (
    Both,
    Expression,
    Inexpressible,
    Not,
    Test,
)

Codes = Mapping[str, frozenset[int]]
"""By attribute, which of its answers are wanted."""

_MOST_LISTED = 4096


@dataclass(frozen=True)
class Answers:
    """The answers of an attribute in order; None is no answer, whose value is ``missing``."""

    attribute: str
    listed: tuple[Any, ...]
    missing: str | None = None
    is_number: bool = False

    @property
    def every(self) -> frozenset[int]:
        """Return the codes of all answers."""
        return frozenset(range(len(self.listed)))

    def condition(self, codes: frozenset[int]) -> dict[str, Any]:
        """Return the clause of a questionnaire that wants these answers."""
        values = [self.listed[code] for code in sorted(codes)]
        first, last = min(codes), max(codes)
        if self.is_number and None not in values and len(values) == last - first + 1 > 1:
            ends = {"above": self.listed[first - 1]} if first > 0 else {}
            top = len(self.listed) - (None in self.listed) - 1
            ends |= {"to": self.listed[last]} if last < top or not ends else {}
            return {"attribute": self.attribute, "is": ends}
        if len(values) > _MOST_LISTED:
            raise Inexpressible("it lists too many numbers")
        values = [self.missing if value is None else value for value in values]
        return {"attribute": self.attribute, "is": values[0] if len(values) == 1 else values}


@dataclass(frozen=True)
class Question:
    """What a row became: one attribute, or one for each choice that may be ticked."""

    one: Answers | None
    ticks: Mapping[str, Answers]

    @property
    def all(self) -> list[Answers]:
        """Return the answers of all its attributes."""
        return [*([self.one] if self.one else []), *self.ticks.values()]


def wanted_by(expression: Expression, question: Callable[[str], Question]) -> Codes:
    """Return which answers an expression wants; ``question`` returns an earlier row's, or refuses."""
    return _wanted(expression, question, is_negated=False)


def all_of(parts: Sequence[Codes]) -> Codes:
    """Return what all parts want."""
    whole: dict[str, frozenset[int]] = {}
    for part in parts:
        for name, codes in part.items():
            whole[name] = whole[name] & codes if name in whole else codes
    return whole


def _wanted(
    expression: Expression, question: Callable[[str], Question], *, is_negated: bool
) -> Codes:
    match expression:
        case Not(inner):
            return _wanted(inner, question, is_negated=not is_negated)
        case Test():
            return _tested(expression, question, is_negated)
        case Both(word, first, second):
            parts = [_wanted(each, question, is_negated=is_negated) for each in (first, second)]
            if (word == "and") != is_negated:
                return all_of(parts)
            names = {name for part in parts for name in part}
            if len(names) > 1:
                raise Inexpressible(
                    "it joins answers of different questions by or, and a condition here is that "
                    "all of some answers hold"
                )
            (name,) = names
            return {name: parts[0][name] | parts[1][name]}
    raise AssertionError("an expression is one of these")


def _tested(test: Test, question: Callable[[str], Question], is_negated: bool) -> Codes:
    if test.name == ".":
        raise Inexpressible("it looks at the row's own answer")
    asked_before = question(test.name)
    if asked_before.one is None:
        if test.sign != "selected":
            raise Inexpressible(
                f"{test.name!r} has several answers: write selected(${{{test.name}}}, '…')"
            )
        answers = asked_before.ticks.get(str(test.constant))
        if answers is None:
            raise Inexpressible(f"{str(test.constant)[:40]!r} is no choice of {test.name!r}")
        return {answers.attribute: frozenset({0 if is_negated else 1})}
    answers = asked_before.one
    if not answers.is_number and test.sign in ("=", "selected"):
        texts = [*answers.listed, ""]
        is_known = any(_holds("=", text, test.constant) for text in texts if text is not None)
        if not is_known:
            raise Inexpressible(f"{_spoken(test.constant)!r} is no choice of {test.name!r}")
    sign = "=" if test.sign == "selected" else test.sign
    codes = frozenset(
        code
        for code, answer in enumerate(answers.listed)
        if _holds(sign, answer, test.constant) != is_negated
    )
    return {answers.attribute: codes}


def _spoken(constant: str | float) -> str:
    return constant[:40] if isinstance(constant, str) else f"{constant:g}"


def _holds(sign: str, answer: Any, constant: str | float) -> bool:
    """Compare as XPath does: texts if both are and the sign is = or !=, numbers otherwise."""
    if isinstance(answer, str) and isinstance(constant, str) and sign in ("=", "!="):
        return (answer == constant) == (sign == "=")
    if answer is None and isinstance(constant, str) and sign in ("=", "!="):
        return (constant == "") == (sign == "=")
    if _is_day(answer) and _is_day(constant):
        return _compared(sign, answer, constant)
    first, second = _number(answer), _number(constant)
    if math.isnan(first) or math.isnan(second):
        return sign == "!="
    return _compared(sign, first, second)


def _compared(sign: str, first: Any, second: Any) -> bool:
    match sign:
        case "=":
            return bool(first == second)
        case "!=":
            return bool(first != second)
        case "<":
            return bool(first < second)
        case "<=":
            return bool(first <= second)
        case ">":
            return bool(first > second)
    return bool(first >= second)


def _is_day(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 10 and value[4] == value[7] == "-"


def _number(value: Any) -> float:
    try:
        return float(value) if value is not None else math.nan
    except ValueError:
        return math.nan
