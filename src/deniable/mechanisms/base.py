"""What a mechanism is: a way to design surveys.

A mechanism states its templates, and which lists its questions come from. All else derives from the
survey: slots and drawing, the wire format, the decoder (by the way of answering), predicted error,
audit, and contract checks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import comb, log2, prod
from typing import Any, ClassVar

from deniable.design.workload import read_workload
from deniable.errors import SurveyError
from deniable.questions.about import lists_about
from deniable.questions.lists import QuestionList
from deniable.questions.thresholds import Thresholds
from deniable.schema.schema import Schema
from deniable.survey.checks import check_parameters, products
from deniable.survey.frozen import FrozenSurvey
from deniable.survey.template import Template

MOST_COEFFICIENTS = 1 << 24
"""The most coefficients of tables of three attributes or more, some of which are numbers."""

MOST_COUNTERS = 1 << 28
"""The most counters of a tally that has one for each cell of each table."""


class Mechanism(ABC):
    """A way to design surveys: a name, options, and `design`."""

    name: ClassVar[str]
    options: ClassVar[tuple[str, ...]] = ()
    """What `design` may be told besides."""
    question_list: ClassVar[str] = "codes"
    """The name of the list that questions about an attribute come from."""

    @classmethod
    @abstractmethod
    def design(
        cls, schema: Schema, order: int, epsilon: float, **options: Any
    ) -> tuple[Template, ...]:
        """Return the templates of a survey; equal ways of answering side by side."""

    @classmethod
    def lists(cls, schema: Schema) -> tuple[QuestionList, ...]:
        """Return the question list of each attribute."""
        return lists_about(schema.attributes, cls.question_list)

    @classmethod
    def survey(cls, schema: Schema, order: int, epsilon: float, **options: Any) -> FrozenSurvey:
        """Return the survey that this mechanism designs."""
        for name in set(options) - set(cls.options):
            has = f"its options are {', '.join(cls.options)}" if cls.options else "it has none"
            raise SurveyError(f"{cls.name} has no option {name!r}; {has}.")
        check_parameters(schema, order, epsilon)
        if options.get("workload") is not None:
            options["workload"] = read_workload(schema, order, options["workload"])
        lists = cls.lists(schema)
        _refuse_fine_grids(schema, lists, int(order))
        templates = cls.design(schema, int(order), float(epsilon), **options)
        return FrozenSurvey(schema, order, epsilon, templates, lists, mechanism=cls.name)

    @classmethod
    def refuse_beyond(cls, sizes: tuple[int, ...], most: int, need: str) -> None:
        """Refuse attributes of more than 2^most joint values, saying what they would need."""
        if prod(sizes) <= 1 << most:
            return
        if set(sizes) == {2}:
            limit, got = f"{most} attributes", str(len(sizes))
        else:
            limit, got = f"2^{most} joint values of all attributes", f"2^{log2(prod(sizes)):.0f}"
        raise SurveyError(f"{cls.name} takes at most {limit}, got {got}: it would need {need}.")

    @classmethod
    def refuse_counters(cls, sizes: tuple[int, ...], order: int) -> None:
        """Refuse tables of so many cells that one counter for each does not fit into memory."""
        counters = products(sizes, order)[order] + comb(len(sizes), order)
        if counters > MOST_COUNTERS:
            raise SurveyError(
                f"{cls.name} would need {counters * 8 / 1e9:,.0f} GB of counters for tables of "
                f"{order} of {len(sizes)} attributes."
            )


def _refuse_fine_grids(schema: Schema, lists: Sequence[QuestionList], order: int) -> None:
    """Refuse numbers of so many steps that tables of three attributes would hardly be told."""
    if order < 3 or not any(isinstance(each, Thresholds) for each in lists):
        return

    def coefficients(wider: int) -> int:
        counts = [
            -(-each.count // wider) if isinstance(each, Thresholds) else each.count
            for each in lists
        ]
        return sum(products(counts, order)[1:])

    needed = coefficients(1)
    if needed <= MOST_COEFFICIENTS:
        return
    wider = next((2**i for i in range(1, 13) if coefficients(2**i) <= MOST_COEFFICIENTS), None)
    cure = "lower the order"
    if wider is not None:
        name, steps = max(
            (each.count, attribute.name)
            for each, attribute in zip(lists, schema.attributes, strict=True)
            if isinstance(each, Thresholds)
        )[::-1]
        cure += (
            f", or take steps {wider} times as wide, {-(-steps // wider):,} of them for {name!r}"
        )
    raise SurveyError(
        f"Tables of {order} of these attributes have {needed:,} coefficients, and "
        f"{MOST_COEFFICIENTS:,} is the limit where some are numbers: {cure}."
    )
