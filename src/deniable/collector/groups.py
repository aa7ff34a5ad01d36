"""Groups: reports counted by their labels, in one pass over all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.collector.builder import TallyBuilder
from deniable.collector.tally import TallyCounts
from deniable.errors import SurveyError
from deniable.schema.labels import PERIOD, Labels
from deniable.survey.coefficients import Ints
from deniable.survey.frozen import FrozenSurvey


def labels_for(labels: Labels, by: str | Iterable[str]) -> Labels:
    """Return those of a survey's labels by which reports are counted, in their declared order."""
    if not isinstance(by, Iterable):
        raise SurveyError("Reports are counted by the name of a label, or a list of names.")
    names = [by] if isinstance(by, str) else list(by)
    for name in names:
        if name not in labels.names:
            names_known = ", ".join(map(repr, labels.names))
            raise SurveyError(
                f"The survey has no label {name!r}; "
                + (f"it declares {names_known}." if labels else "it declares none.")
            )
    if not names or len(set(names)) < len(names):
        raise SurveyError("Reports are counted by one label or more, each named once.")
    pairs = tuple(pair for pair in labels.declared if pair[0] in names)
    return Labels(pairs, labels.periods if PERIOD in names else ())


class GroupTallyBuilder:
    """Adds reports up, each to its group; reports that are refused belong to none.

    A group goes by its number among those of the labels ``by``; without labels there is one, 0.
    """

    def __init__(self, survey: FrozenSurvey, by: Labels) -> None:
        self.by = by
        self.judge = TallyBuilder(survey)
        """Notes the reports that were refused."""
        self.builders = {} if by else {0: self.judge}

    def add(
        self, slots: Ints, values: NDArray[Any], counts: Ints | None, groups: Ints | None
    ) -> None:
        """Add reports, or rows that stand for ``counts`` of them; an unknown group is negative."""
        slots, values, counts, groups = self.judge.sound(slots, values, counts, groups)
        if groups is None:
            self.judge.add(slots, values, counts, is_checked=True)
            return
        self.judge.refuse("unknown label", groups < 0, counts)
        order = np.argsort(groups, kind="stable")
        order = order[np.searchsorted(groups[order], 0) :]
        for rows in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
            if len(rows):
                part = None if counts is None else counts[rows]
                self._of(int(groups[rows[0]])).add(slots[rows], values[rows], part, is_checked=True)

    def _of(self, group: int) -> TallyBuilder:
        if group not in self.builders:
            self.builders[group] = TallyBuilder(self.judge.survey, len(self.builders) + 1)
        return self.builders[group]

    def tallies(self, *, simulated: bool = False) -> list[TallyCounts]:
        """Return a tally of each group, in order; with labels, one more of no group notes refusals."""
        tallies = [
            builder.tally(simulated=simulated, invalid="drop", group=self.by.group(group))
            for group, builder in sorted(self.builders.items())
        ]
        if self.by:
            tallies.append(nothing(self.judge.survey, self.judge.refused, simulated))
        return tallies


def nothing(
    survey: FrozenSurvey, refusals: Mapping[str, int], simulated: bool = False
) -> TallyCounts:
    """Return a tally of no reports that notes those that were refused."""
    none = np.zeros(0, np.int64)
    return TallyCounts(survey, none, none, none, simulated, dict(refusals))
