"""Slots: how a survey's questions are numbered and drawn.

A *slot* is a template together with the attributes it is asked about and the entries of their question
lists. Slots are numbered template after template; within a template set of attributes after set
(colex rank, or as listed); within a set by the entries, the first attribute's fastest. They are drawn
without looking at any data.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from math import comb, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.errors import SurveyError
from deniable.formats.forms import limit
from deniable.questions.entropy import Source, Stream, below, words_below
from deniable.questions.lists import QuestionList
from deniable.questions.subsets import unranks
from deniable.survey.coefficients import Ints, all_tables
from deniable.survey.template import ALL_WEIGHT, Template

_FEW = 32
"""So many runs of slots are told apart faster one by one than by bisection."""


class TemplateSlots:
    """The slots of a template: which attributes, and which entries of their lists."""

    def __init__(self, template: Template, entries: Sequence[int]) -> None:
        members = () if template.sets is None else {a for each in template.sets for a in each}
        if max((*members, *template.among, 0)) >= len(entries):
            raise SurveyError("The survey asks about attributes that its schema does not have.")
        self._size = template.attributes
        self._among = np.array(template.among or range(len(entries)))
        self._sets = None if template.sets is None else np.array(template.sets)
        self._begins: Ints | None = None
        if not template.cell and max(entries[a] for a in members or self._among) > 1:
            self._number_entries(template, entries)
        self.count = (
            int(self._begins[-1])
            if self._begins is not None
            else comb(len(self._among), self._size)
            if self._sets is None
            else len(self._sets)
        )

    def _number_entries(self, template: Template, entries: Sequence[int]) -> None:
        """Find where each set's slots begin, and how many entries each attribute has in it."""
        self._sets = self.sets
        self._radix: Ints = np.array(entries)[self._sets]
        self._radix[:, ~template.is_asked] = 1
        most = 1 << limit("numbered")
        about = float(self._radix.prod(axis=1, dtype=np.float64).sum())
        if about >= most / 2 and sum(map(prod, self._radix.tolist())) >= most:
            raise SurveyError("The questions of a survey's template are too many to be numbered.")
        self._begins = np.append(0, np.cumsum(self._radix.prod(axis=1)))

    @property
    def by_set(self) -> Ints:
        """Return the number of slots of each set."""
        ones = np.ones(self.count if self._sets is None else len(self._sets), np.int64)
        return ones if self._begins is None else np.diff(self._begins)

    @property
    def sets(self) -> Ints:
        """Return the sets of attributes, one sorted row each."""
        if self._sets is None:
            return self._among[all_tables(len(self._among), self._size)]
        return self._sets

    def locate(self, numbers: Ints) -> tuple[Ints, Ints]:
        """Return the sorted attributes and the entries of slots, one row each."""
        if self._begins is None:
            sets = (
                self._among[unranks(numbers, self._size, len(self._among))]
                if self._sets is None
                else self._sets[numbers]
            )
            return sets, np.zeros_like(sets)
        assert self._sets is not None
        row = np.searchsorted(self._begins, numbers, side="right") - 1
        rest, sets = numbers - self._begins[row], self._sets[row]
        entries = np.empty_like(sets)
        for place in range(self._size):
            rest, entries[:, place] = np.divmod(rest, self._radix[row, place])
        return sets, entries


class Runs(NamedTuple):
    """Runs of slots that are equally likely: a run is drawn by weight, then a slot of it."""

    bounds: NDArray[np.uint32]
    """Where the weights of the second, third, … run begin, out of 2³²."""
    starts: Ints
    sizes: Ints


class SlotIndex:
    """The numbering of a survey's slots, and their chances.

    ``templates`` holds, template by template, which attributes and entries its slots ask about; they
    begin at ``starts``, of which the last is the number of all slots.
    """

    def __init__(self, templates: Sequence[Template], lists: Sequence[QuestionList]) -> None:
        self._templates = templates
        entries = [each.entries for each in lists]
        total = sum(
            comb(len(template.among or entries), template.attributes) * template.attributes
            for template in templates
            if not template.cell
            and template.sets is None
            and any(entries[a] > 1 for a in template.among or range(len(entries)) if a < len(lists))
        )
        if total > limit("listed"):
            raise SurveyError(
                f"The sets of attributes to ask about would have to be listed, {total:,} attributes in "
                f"all; {limit('listed'):,} is the limit where attributes have more than two values, so "
                "lower the order."
            )
        self.templates = tuple(TemplateSlots(template, entries) for template in templates)
        self.starts = [0, *accumulate(each.count for each in self.templates)]

    @property
    def count(self) -> int:
        """Return the number of slots."""
        return self.starts[-1]

    @property
    def is_weighted(self) -> bool:
        """Tell whether some slots are likelier than others."""
        return bool(self._templates[0].weights)

    # Numbers

    def template_of(self, slot: int) -> int:
        """Return the template of a slot."""
        return int(np.searchsorted(self.starts, slot, side="right")) - 1

    def locate(self, slots: Ints) -> tuple[Ints, Ints]:
        """Return the attributes and entries of slots that share a template."""
        index = self.template_of(int(slots[0]))
        return self.templates[index].locate(slots - self.starts[index])

    def attributes_of(self, slots: Ints) -> Ints:
        """Return the sorted attributes of slots that share a template, one row each."""
        return self.locate(slots)[0]

    # Chances

    def chances(self, template: int) -> NDArray[np.float64]:
        """Return the probability of each slot of a template; one number where all are alike."""
        weights, slots = np.array(self._templates[template].weights), self.templates[template]
        if not len(weights):
            return np.array([1 / self.count])
        if self._templates[template].sets is None:
            return weights / (ALL_WEIGHT * slots.count)
        by_set = slots.by_set
        return np.repeat(weights / (ALL_WEIGHT * by_set), by_set)

    def set_chances(self, template: int) -> NDArray[np.float64]:
        """Return the probability of each set of attributes that a template is asked about."""
        weights, slots = np.array(self._templates[template].weights), self.templates[template]
        if not len(weights):
            shares: NDArray[np.float64] = slots.by_set / self.count
        elif self._templates[template].sets is None:
            shares = weights[0] / ALL_WEIGHT * slots.by_set / slots.count
        else:
            shares = weights / ALL_WEIGHT
        return shares

    def chance(self, template: int) -> float:
        """Return the probability that a person is asked a question of this template."""
        weights = self._templates[template].weights
        return sum(weights) / ALL_WEIGHT if weights else self.templates[template].count / self.count

    # Drawing

    @cached_property
    def _runs(self) -> Runs:
        weights, sizes = list[int](), list[Ints]()
        for template, slots in zip(self._templates, self.templates, strict=True):
            weights += template.weights
            sizes.append(np.array([slots.count]) if template.sets is None else slots.by_set)
        bounds = np.cumsum(weights, dtype=np.int64)[:-1].astype(np.uint32)
        every = np.concatenate(sizes)
        return Runs(bounds, np.cumsum(every) - every, every)

    @property
    def words(self) -> int:
        """Return the most 64-bit words that `draw` takes, if none is rejected."""
        if not self.is_weighted:
            return words_below(self.count)
        return 1 + max(map(words_below, self._runs.sizes.tolist()))

    def draw(self, source: Source) -> int:
        """Draw one person's slot."""
        if not self.is_weighted:
            return below(source, self.count)
        runs = self._runs
        run = int(np.searchsorted(runs.bounds, source.word() >> 32, side="right"))
        return int(runs.starts[run]) + below(source, int(runs.sizes[run]))

    def draw_from(self, words: NDArray[np.uint64]) -> Ints:
        """Return what `draw` draws from each row of words; −1 where it would take more."""
        if not self.is_weighted:
            sizes = np.array([self.count])
            run: Any = np.zeros(len(words), np.int64)
            starts = np.zeros(1, np.int64)
        else:
            bounds, starts, sizes = self._runs
            run = np.searchsorted(bounds, words[:, 0] >> np.uint64(32), side="right")
            words = words[:, 1:]
        masks = np.array([(1 << (size - 1).bit_length()) - 1 for size in sizes.tolist()], np.uint64)
        candidates = words & masks[run][:, None]
        fits = candidates < sizes.astype(np.uint64)[run][:, None]
        first = fits.argmax(axis=1)
        rows = np.arange(len(words))
        slots: Ints = starts[run] + candidates[rows, first].astype(np.int64)
        slots[~fits[rows, first]] = -1
        return slots

    def draw_many(self, stream: Stream, count: int) -> Ints:
        """Draw many people's slots."""
        if not self.is_weighted:
            return stream.below(self.count, count)
        runs = self._runs
        octets = stream.octets(4 * count).view("<u4")
        if len(runs.bounds) > _FEW:
            run = np.searchsorted(runs.bounds, octets, side="right")
        else:
            run = np.zeros(count, np.uint8)
            for bound in runs.bounds:
                run += octets >= bound
        if len(runs.sizes) > _FEW:  # many, and of different lengths
            return runs.starts[run] + stream.below_each(runs.sizes[run])
        slots = runs.starts.take(run)
        for index in np.flatnonzero(runs.sizes > 1).tolist():
            rows = np.flatnonzero(run == index)
            slots[rows] += stream.below(int(runs.sizes[index]), len(rows))
        return slots

    def slot_at(self, point: int, bits: int) -> int:
        """Return the slot at a point of the line [0, 2^bits), of which each slot covers its chance.

        ``bits`` is some more than 32 and the bits of a slot: the line is cut to whole points.
        """
        if not self.is_weighted:
            return point * self.count >> bits
        runs, fine = self._runs, bits - 32
        run = int(np.searchsorted(runs.bounds, point >> fine, side="right"))
        begin = int(runs.bounds[run - 1]) if run else 0
        end = int(runs.bounds[run]) if run < len(runs.bounds) else ALL_WEIGHT
        within = (point - (begin << fine)) * int(runs.sizes[run]) // ((end - begin) << fine)
        return int(runs.starts[run]) + within
