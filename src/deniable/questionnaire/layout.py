"""Layout: on which page an attribute is asked about, and under which conditions.

An attribute may be asked about only if earlier answers say so. One that is not asked about has a value
that the questionnaire declares, so that a record is whole all the same, and what a device sends is drawn
from it like any other: that something was skipped tells no more than the answer that made it so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from deniable.errors import RecordError, TextsError
from deniable.schema.attribute import Attribute
from deniable.schema.schema import Schema

Run = tuple[int, int]
"""Codes from the first to the last, both included."""


def runs_of(codes: Iterable[int]) -> tuple[Run, ...]:
    """Return codes as ascending runs."""
    runs: list[Run] = []
    for code in sorted(set(codes)):
        if runs and runs[-1][1] == code - 1:
            runs[-1] = (runs[-1][0], code)
        else:
            runs.append((code, code))
    return tuple(runs)


@dataclass(frozen=True)
class Clause:
    """What an earlier answer must be: its attribute, and the codes that it may have."""

    on: int
    codes: tuple[Run, ...]

    def holds(self, code: int) -> bool:
        """Tell whether an answer is one of them."""
        return any(first <= code <= last for first, last in self.codes)


@dataclass(frozen=True)
class Condition:
    """An attribute is asked about only if all clauses hold; its code is ``otherwise`` elsewhere."""

    attribute: int
    clauses: tuple[Clause, ...]
    otherwise: int

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        clauses = [
            {"on": each.on, "codes": [[*run] for run in each.codes]} for each in self.clauses
        ]
        return {"attribute": self.attribute, "all": clauses, "otherwise": self.otherwise}


@dataclass(frozen=True)
class Layout:
    """Pages, each with the positions of its attributes, and conditions, by position."""

    pages: tuple[tuple[int, ...], ...]
    conditions: tuple[Condition, ...] = ()

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Return the positions of attributes in the order in which people are asked about them."""
        return tuple(attribute for page in self.pages for attribute in page)

    @cached_property
    def in_order(self) -> list[Condition]:
        """Return the conditions in the order in which people come to them."""
        turns = {attribute: turn for turn, attribute in enumerate(self.order)}
        return sorted(self.conditions, key=lambda condition: turns[condition.attribute])

    def check(self, schema: Schema) -> None:
        """Refuse a layout that does not fit the attributes of a schema."""
        if sorted(self.order) != [*range(len(schema))]:
            raise TextsError("The pages of a survey must have each of its attributes exactly once.")
        positions = [condition.attribute for condition in self.conditions]
        if positions != sorted(set(positions)) or positions[-1:] > [len(schema) - 1]:
            raise TextsError("Conditions must be in the order of their attributes, one for each.")
        turns = {attribute: turn for turn, attribute in enumerate(self.order)}
        for condition in self.conditions:
            own = schema.attributes[condition.attribute]
            for clause in condition.clauses:
                if turns.get(clause.on, len(schema)) >= turns[condition.attribute]:
                    raise TextsError(
                        f"The condition of {own.name!r} must look at attributes asked before it."
                    )
                _check_codes(own, clause.codes, schema.attributes[clause.on])
            if condition.otherwise >= own.codes:
                raise TextsError(f"A skipped {own.name!r} must have one of its declared values.")

    def completed(self, record: Mapping[str, object], schema: Schema) -> dict[str, object]:
        """Return a record in which what is not asked has its declared value, whatever was given.

        An answer that is absent, or that its attribute does not take, fulfils no condition (unless it
        counts as ``missing`` or ``other``, and the condition takes these).
        """
        whole = dict(record)
        for condition in self.in_order:
            if not all(_holds(clause, whole, schema) for clause in condition.clauses):
                own = schema.attributes[condition.attribute]
                whole[own.name] = own.record_value(condition.otherwise)
        return whole

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "pages": [{"attributes": list(page)} for page in self.pages],
            "conditions": [each.to_json() for each in self.conditions],
        }

    @classmethod
    def of_form(cls, form: Mapping[str, Any]) -> Layout:
        """Read the JSON form, whose fields are checked already (`deniable.formats.forms`)."""
        return cls(
            tuple(tuple(page["attributes"]) for page in form["pages"]),
            tuple(
                Condition(
                    each["attribute"],
                    tuple(
                        Clause(part["on"], tuple((run[0], run[1]) for run in part["codes"]))
                        for part in each["all"]
                    ),
                    each["otherwise"],
                )
                for each in form["conditions"]
            ),
        )


def _holds(clause: Clause, record: Mapping[str, object], schema: Schema) -> bool:
    attribute = schema.attributes[clause.on]
    try:
        return clause.holds(attribute.encode(record.get(attribute.name)))
    except RecordError:
        return False


def _check_codes(own: Attribute, runs: Sequence[Run], on: Attribute) -> None:
    ends = [end for run in runs for end in run]
    is_rising = all(first <= last for first, last in runs) and all(
        last + 1 < first for (_, last), (first, _) in pairwise(runs)
    )
    if not is_rising or ends[-1] >= on.codes:
        raise TextsError(f"The condition of {own.name!r} must list values of {on.name!r} in order.")
