"""A survey whose attributes stand in another order: the same questions, in other slots.

A question is moved to another page, and a survey and its successor list the same attributes in two
orders. A template takes attributes in order, so what it asks of its first one is then asked of another
place; each of its sets is asked by a template that has been turned as the set was.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import accumulate

import numpy as np

from deniable.errors import SurveyError
from deniable.survey.coefficients import Floats, Ints
from deniable.survey.frozen import FrozenSurvey
from deniable.survey.slots import SlotIndex
from deniable.survey.template import Template


class Turned:
    """A survey's questions by the ``positions`` that its attributes have in another order.

    ``templates`` list the sets that they are asked about, by those positions; ``chances`` say how often
    each set is asked.
    """

    def __init__(self, survey: FrozenSurvey, positions: Ints) -> None:
        self._survey, self._positions = survey, positions
        self._turns: list[tuple[Ints, Ints]] = []
        """By template: how each set is turned, and the number of the template that then asks it."""
        templates: list[Template] = []
        chances: list[Floats] = []
        for number, template in enumerate(survey.templates):
            sets = positions[survey.index.templates[number].sets]
            patterns, which = np.unique(np.argsort(sets, axis=1), axis=0, return_inverse=True)
            self._turns.append((patterns[which.ravel()], len(templates) + which.ravel()))
            for place, pattern in enumerate(patterns):
                rows = which.ravel() == place
                own = tuple(map(tuple, np.sort(sets[rows], axis=1).tolist()))
                turned = _turned(template, pattern)
                templates.append(replace(turned, sets=own, among=(), weights=()))
                chances.append(survey.index.set_chances(number)[rows])
        self.templates, self.chances = tuple(templates), chances

    @cached_property
    def _index(self) -> SlotIndex:
        lists = dict(zip(self._positions.tolist(), self._survey.lists, strict=True))
        absent = self._survey.lists[0]
        every = [lists.get(place, absent) for place in range(int(self._positions.max()) + 1)]
        return SlotIndex(self.templates, every)

    def slots(self, slots: Ints) -> Ints:
        """Return the slots in which the questions of these slots are asked."""
        index, out = self._survey.index, np.empty_like(slots)
        entry_counts = np.array([each.entries for each in self._survey.lists])
        for number, (turns, _) in enumerate(self._turns):
            start, stop = index.starts[number : number + 2]
            own = np.flatnonzero((slots >= start) & (slots < stop))
            if not len(own):
                continue
            begins = np.append(0, np.cumsum(index.templates[number].by_set))
            row = np.searchsorted(begins, slots[own] - start, side="right") - 1
            sets, entries = index.templates[number].locate(slots[own] - start)
            radix = np.where(self._survey.templates[number].is_asked, entry_counts[sets], 1)
            if self._survey.templates[number].cell:
                radix[:] = 1
            turned = turns[row]
            entries, radix = (np.take_along_axis(each, turned, axis=1) for each in (entries, radix))
            strides = np.cumprod(radix, axis=1) // radix
            within = (entries * strides).sum(axis=1)
            out[own] = self._first[number][row] + within
        return out

    @cached_property
    def _first(self) -> list[Ints]:
        """Return, by template, the first slot of each set in which it is asked."""
        starts, firsts = self._index.starts, []
        for _, asked_by in self._turns:
            first = np.empty(len(asked_by), np.int64)
            for template in np.unique(asked_by).tolist():
                by_set = self._index.templates[template].by_set
                first[asked_by == template] = starts[template] + np.cumsum(by_set) - by_set
            firsts.append(first)
        return firsts


def _turned(template: Template, pattern: Ints) -> Template:
    """Return a template that asks of its j-th attribute what was asked of that at ``pattern[j]``."""
    if (np.diff(pattern) > 0).all():
        return template
    if template.sizes:
        raise SurveyError(
            "The surveys list attributes in different orders, and one of them asks for cells of many "
            "values, which are not pooled then; release them one by one."
        )
    counts = [template.question_counts[place] for place in pattern.tolist()]
    shifts = np.array([0, *accumulate(counts)][:-1])
    parts = template.split(np.array(template.parities))[:, pattern]
    parities = tuple((parts << shifts).sum(axis=1).tolist())
    # The cell of attributes with two values is the parities of each of them.
    questions = tuple(counts) if template.questions else ()
    return replace(template, parities=parities, questions=questions, cell=False)
