"""Symbols: the true answers of many records to many slots at once.

Where questions are parities of bits of the records' codes, records of one machine word are answered
by masks that are looked up by slot, or, for few slots and records, by tables of the symbols.
"""

from __future__ import annotations

from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deniable.survey.coefficients import Ints

if TYPE_CHECKING:
    from deniable.survey.frozen import FrozenSurvey

MOST_LISTED = 1 << 21
"""The most slots whose masks are kept in a table; with more they are computed as needed."""

MOST_LOOKED_UP = 1 << 15
"""The largest table of symbols by slot and cell: what a processor's nearest cache holds."""


class Symbols:
    """What records would truly answer to a survey's questions."""

    def __init__(self, survey: FrozenSurvey) -> None:
        self._survey = survey
        self._widths = np.array([attribute.bits for attribute in survey.schema.attributes])
        self._are_parities = all(each.is_parity for each in survey.lists)

    def of(self, family: int, records: NDArray[Any], slots: Ints) -> NDArray[Any]:
        """Return the true answers of records to slots of one family."""
        survey = self._survey
        _answer, start, stop, templates = survey.families[family]
        template = survey.templates[templates.start]
        is_cell = any(template.sizes for template in survey.templates)
        if records.shape[1] > 1 or survey.slots > MOST_LISTED or not self._are_parities or is_cell:
            return self._one_by_one(family, records, slots)
        words = records[:, 0]
        bits = int(self._widths.sum())
        is_whole = stop - start == 1 and template.attributes == len(survey.schema)
        if is_whole and template.parities == tuple(1 << i for i in range(bits)):
            return words  # the record itself
        rows = slots - start if start else slots
        if (stop - start) << bits <= MOST_LOOKED_UP and len(template.parities) > 1:
            truths: NDArray[Any] = self._truths[family].take((rows << bits) | words)
            return truths
        return _parities(words, self._masks[family], rows)

    @cached_property
    def _masks(self) -> tuple[NDArray[Any], ...]:
        """Return, for each family, the parities of its slots as masks over one-word records."""
        survey, shifts = self._survey, self._survey.schema.layout[:, 1]
        tables = []
        for family in survey.families:
            parts = []
            for index in family.templates:
                slots = survey.index.templates[index]
                sets, entries = slots.locate(np.arange(slots.count))
                columns = [
                    (survey.coefficients(index, sets, entries, p) << shifts[sets]).sum(axis=1)
                    for p in survey.templates[index].parities
                ]
                parts.append(np.stack(columns, axis=1))
            tables.append(np.concatenate(parts).astype(survey.schema.word_type))
        return tuple(tables)

    @cached_property
    def _truths(self) -> tuple[NDArray[Any], ...]:
        """Return, for each family, the symbol of every slot and record: for few of them only."""
        cells = np.arange(1 << int(self._widths.sum())).astype(self._survey.schema.word_type)
        return tuple(
            np.concatenate(
                [_parities(cells, masks, np.full(len(cells), row)) for row in range(len(masks))]
            )
            for masks in self._masks
        )

    def _one_by_one(self, family: int, records: NDArray[Any], slots: Ints) -> NDArray[Any]:
        """Return the true answers attribute by attribute: for long records, or very many slots."""
        survey = self._survey
        symbols = np.zeros(len(slots), np.int64)
        codes_by_attribute = self._codes(records)
        for index in survey.families[family].templates:
            template = survey.templates[index]
            start, stop = survey.index.starts[index : index + 2]
            rows = np.flatnonzero((slots >= start) & (slots < stop))
            if not len(rows):
                continue
            sets, entries = survey.index.locate(slots[rows])
            codes = codes_by_attribute[sets, rows[:, None]].astype(np.int64)
            if template.cell:
                sizes = template.sizes or (2,) * template.attributes
                symbols[rows] = codes @ np.cumprod((1, *sizes[:-1]))
                continue
            for j, parity in enumerate(template.parities):
                coefficients = survey.coefficients(index, sets, entries, parity)
                if self._are_parities:
                    bits = np.bitwise_count(codes & coefficients).sum(axis=1) & 1
                else:
                    bits = self._answers(sets, coefficients, codes)
                symbols[rows] |= bits.astype(np.int64) << j
        return symbols

    def _codes(self, records: NDArray[Any]) -> NDArray[Any]:
        """Return the codes of each attribute, a row each."""
        kind = np.uint8 if self._widths.max() <= 8 else np.uint16
        codes = np.empty((len(self._widths), len(records)), kind)
        layout = self._survey.schema.layout.tolist()
        for row, (word, shift), width in zip(codes, layout, self._widths.tolist(), strict=True):
            part = records[:, word] >> records.dtype.type(shift)
            np.bitwise_and(part, records.dtype.type((1 << width) - 1), out=row, casting="unsafe")
        return codes

    @cached_property
    def _odd(self) -> tuple[NDArray[np.uint8], Ints]:
        """Return all lists' answers, one after the other, and where each attribute's begin."""
        lists = dict.fromkeys(self._survey.lists)
        ends = accumulate(each.odd.size for each in lists)
        begins = {each: end - each.odd.size for each, end in zip(lists, ends, strict=True)}
        flat = np.concatenate([each.odd.ravel() for each in lists])
        return flat, np.array([begins[each] for each in self._survey.lists])

    def _answers(self, sets: Ints, coefficients: Ints, codes: Ints) -> Ints:
        """Return whether an odd number of questions about attributes is answered with yes."""
        odd, begins = self._odd
        at = begins[sets] + coefficients * np.array(self._survey.schema.ranges)[sets] + codes
        bits: Ints = odd[at].sum(axis=1) & 1
        return bits


def _parities(words: NDArray[Any], masks: NDArray[Any], rows: Ints) -> NDArray[Any]:
    """Return the symbols of one-word records: bit j is the parity under column j of their mask."""
    symbols: NDArray[Any] = np.zeros(len(words), np.uint8 if masks.shape[1] <= 8 else int)
    for mask in masks.T[::-1]:
        symbols += symbols  # faster than a shift, in bytes
        symbols |= np.bitwise_count(words & mask.take(rows)) & 1
    return symbols
