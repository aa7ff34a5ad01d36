"""Labels: public facts that travel beside a report, and periods, in one of which a person answers.

A survey declares its labels, such as region or version, with all their values; a person is shown them
before consent, because they are outside ε: no noise protects them. A survey may also declare periods.
A device draws the one in which it answers, without looking at its data, and answers in no other: asked
every month, a person would pay ε every month.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any
from unicodedata import normalize

from deniable.errors import RecordError, SurveyError
from deniable.formats.forms import check_form, definition, fold_case, limit
from deniable.schema.schema import Schema

PERIOD = "period"
"""The label that says in which period a report was drawn: the period's first day."""

FEWEST = 100
"""The fewest reports of a group that is displayed."""


@dataclass(frozen=True)
class Labels:
    """What is known of everybody who reports: the declared values of each label, by its name.

    ``periods`` are days, ``2026-11-01`` and so on: each period begins on one of them and ends before the
    next, so that the last only ends. The label of a report's period is called ``period``.
    """

    declared: tuple[tuple[str, tuple[str, ...]], ...] = ()
    periods: tuple[date, ...] = ()

    @classmethod
    def of(
        cls,
        labels: Mapping[str, Iterable[str]] | None = None,
        periods: Iterable[str | date] | None = None,
    ) -> Labels:
        """Return labels that make sense, or say in one sentence why they do not."""
        if not isinstance(labels or {}, Mapping):
            raise SurveyError("Labels must be a mapping of names to lists of values.")
        declared = tuple(map(_label, (labels or {}).items()))
        # To DuckDB and Spark, A and a are one column.
        names = [fold_case(look(name)) for name, _ in declared]
        for (name, _), capitals in zip(declared, names, strict=True):
            if (
                capitals in definition()["taken"]
            ):  # a table of reports or of groups needs it for itself
                raise SurveyError(f"A label cannot be called {name!r}.")
            if names.count(capitals) > 1:
                raise SurveyError(
                    f"There are two labels called {name!r}; small letters are no other."
                )
        if not isinstance(periods or (), Iterable):
            raise SurveyError("Periods must be a list of days.")
        days = tuple(map(_day, () if periods is None else periods))
        if len(days) == 1 or any(a >= b for a, b in pairwise(days)):
            raise SurveyError(
                "Periods must be two days or more, one after the other: each begins a period, and the "
                "last day only ends one."
            )
        every = cls(declared, days)
        if every.groups > limit("groups"):
            raise SurveyError(
                f"The labels have {every.groups:,} combinations; {limit('groups'):,} is the limit."
            )
        return every

    def check(self, schema: Schema) -> None:
        """Refuse a label that an attribute would share its name with: that would be no secret."""
        attributes = {fold_case(name) for name in schema.names}
        for name in self.names:
            if fold_case(name) in attributes:
                raise SurveyError(
                    f"{name!r} is an attribute and a label; what is sent as a label is not protected."
                )

    def __bool__(self) -> bool:
        return bool(self.declared or self.periods)

    @cached_property
    def values(self) -> dict[str, tuple[str, ...]]:
        """Return the declared values of each label, the period's included."""
        days = {PERIOD: tuple(map(str, self.periods[:-1]))} if self.periods else {}
        return dict(self.declared) | days

    @property
    def names(self) -> tuple[str, ...]:
        """Return the labels' names."""
        return tuple(self.values)

    @property
    def groups(self) -> int:
        """Return the number of combinations of labels."""
        return prod(map(len, self.values.values()))

    @cached_property
    def addends(self) -> dict[str, dict[str, int]]:
        """Return what each label's value adds to the number of a combination; the last counts ones."""
        addends, step = dict[str, dict[str, int]](), self.groups
        for name, values in self.values.items():
            step //= len(values)
            addends[name] = {value: place * step for place, value in enumerate(values)}
        return addends

    def number(self, group: Mapping[str, str]) -> int:
        """Return the number of a combination of all labels, below ``groups``."""
        return sum(addends[group[name]] for name, addends in self.addends.items())

    def group(self, number: int) -> dict[str, str]:
        """Return the combination of labels with a number."""
        group, step = {}, self.groups
        for name, values in self.values.items():
            step //= len(values)
            group[name] = values[number // step % len(values)]
        return group

    def given(self, labels: Mapping[str, str] | None) -> dict[str, str]:
        """Return what a person says of the labels, in their order; the period is not theirs to say."""
        if not isinstance(labels or {}, Mapping):
            raise RecordError("Labels must be a mapping of names to values.")
        rest = dict(labels or {})
        if PERIOD in rest:
            raise RecordError("A period is drawn by the device, not given.")
        own = {}
        for name, values in self.declared:
            if name not in rest:
                raise RecordError(f"The label {name!r} is missing; it is {either(values)}.")
            if not isinstance(rest[name], str) or rest[name] not in values:
                raise RecordError(f"The label {name!r} must be {either(values)}.")
            own[name] = rest.pop(name)
        if rest:
            raise RecordError(f"The survey has no label {next(iter(rest))!r} that one may give.")
        return own

    def bounds(self, period: str) -> tuple[date, date]:
        """Return a period's first day, and the day before which it ends."""
        begin = date.fromisoformat(period)
        return begin, self.periods[self.periods.index(begin) + 1]

    def english(self) -> str:
        """Return what a person must know before consenting; nothing where there are no labels."""
        parts = [f"your {name} ({either(values)})" for name, values in self.declared]
        if self.periods:
            parts.append("the period in which your device answers, which it draws by lot")
        if not parts:
            return ""
        enumeration = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
        return f"Sent beside your answer as it is, and not protected by chance: {enumeration}."

    def to_json(self) -> dict[str, Any]:
        """Return the fields that the survey's JSON gets; none where nothing is declared."""
        form: dict[str, Any] = {}
        if self.declared:
            form["labels"] = [{"name": n, "values": list(v)} for n, v in self.declared]
        if self.periods:
            form["periods"] = list(map(str, self.periods))
        return form

    @classmethod
    def of_form(cls, form: Mapping[Any, Any]) -> Labels:
        """Read the fields of a survey's JSON that declare labels, which are checked already."""
        labels = form.get("labels", [])
        if len({each["name"] for each in labels}) < len(labels):
            raise SurveyError("There are two labels of one name.")
        return cls.of({each["name"]: each["values"] for each in labels}, form.get("periods"))


def _label(item: tuple[Any, object]) -> tuple[str, tuple[str, ...]]:
    """Return a label's name and values, or say why they are none."""
    name, values = item
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise SurveyError(f"The label {name!r} needs a list of values.")
    members: list[Any] = list(values)
    check_form("label", {"name": name, "values": members}, SurveyError)
    if len(set(members)) < len(members):
        raise SurveyError(f"The label {name!r} has a value twice.")
    if len(set(map(look, members))) < len(members):
        raise SurveyError(f"The label {name!r} has two values that look alike.")
    return str.__str__(name), tuple(map(str.__str__, members))


def look(text: str) -> str:
    """Return how a text looks: one way of writing its accents, and one space for many.

    >>> look("Zu\u0308rich  Nord") == look("Z\u00fcrich Nord")
    True
    """
    return re.sub(" +", " ", normalize("NFC", text))


def _day(value: object) -> date:
    try:
        if type(value) is date:
            return value
        if isinstance(value, str) and str(day := date.fromisoformat(value)) == value:
            return day
    except ValueError:
        pass
    raise SurveyError("A period begins on a day such as '2026-11-01'.")


def either(values: tuple[str, ...]) -> str:
    """Return values as a list in English, the last after "or"; of more than ten, the first nine."""
    some = values if len(values) <= 10 else (*values[:9], f"{len(values) - 9} others")
    return some[0] if len(some) == 1 else f"{', '.join(some[:-1])} or {some[-1]}"
