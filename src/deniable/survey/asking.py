"""Asking: how slots are numbered and drawn, what each asks, and what records would truly answer.

All of it derives from a schema and a survey's shapes. A *slot* is a shape together with the
attributes it is asked about and the questions of their lists, so slots are numbered shape after shape,
and within a shape as its `Places` say.
"""

from __future__ import annotations

from functools import cached_property
from itertools import accumulate
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.errors import SurveyError
from deniable.formats.forms import limit
from deniable.questions.answers import NARROW, Bitwise, Subset, Unary
from deniable.questions.entropy import Source, Stream, below, words_below
from deniable.questions.lists import Signs, multiplied, walsh
from deniable.questions.question import Cell, Parities, Term
from deniable.schema.schema import Schema
from deniable.survey.coefficients import Ints
from deniable.survey.template import ALL_WEIGHT, Places, Shape

__all__ = ["Asking", "Family"]

MOST_LISTED = 1 << 21
"""The most slots whose masks are kept in a table; with more they are computed as needed."""

MOST_LOOKED_UP = 1 << 15
"""The largest table of symbols by slot and cell: what a processor's nearest cache holds."""

_FEW = 32
"""So many runs of slots are told apart faster one by one than by bisection."""


class Lots(NamedTuple):
    """Runs of slots that are equally likely: a run is drawn by weight, then a slot of it."""

    bounds: NDArray[np.uint32]
    """Where the weights of the second, third, … run begin, out of 2³²."""
    starts: Ints
    sizes: Ints


class Family(NamedTuple):
    """Neighbouring slots that answer in the same way."""

    answer: Subset | Unary | Bitwise
    start: int
    stop: int
    shapes: range


class Asking:
    """What a survey asks: the part of a mechanism that knows nothing of decoding."""

    schema: Schema
    shapes: tuple[Shape, ...]

    @staticmethod
    def listing(size: int) -> Signs:
        """Return the list of yes/no questions about an attribute of so many values."""
        return walsh(size)

    @cached_property
    def signs(self) -> tuple[Signs, ...]:
        """Return the list of questions about each attribute."""
        return tuple(self.listing(size) for size in self.schema.sizes)

    @cached_property
    def places(self) -> tuple[Places, ...]:
        """Return, shape by shape, which attributes and questions its slots ask about."""
        counts = [signs.count for signs in self.signs]
        listed = sum(
            comb(len(shape.among or counts), shape.attributes) * shape.attributes
            for shape in self.shapes
            if shape.is_framed
            and shape.sets is None
            and any(counts[a] > 1 for a in shape.among or range(len(counts)) if a < len(counts))
        )
        if listed > limit("listed"):
            raise SurveyError(
                f"The sets of attributes to ask about would have to be listed, {listed:,} attributes in "
                f"all; {limit('listed'):,} is the limit where attributes have more than two values, so "
                "lower the order."
            )
        return tuple(Places(shape, counts) for shape in self.shapes)

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(places.count for places in self.places)]

    @property
    def slots(self) -> int:
        """Return the number of slots."""
        return self._starts[-1]

    @property
    def touches(self) -> int:
        """Return the most attributes that one question touches."""
        return max(shape.attributes for shape in self.shapes)

    @cached_property
    def families(self) -> tuple[Family, ...]:
        """Return the ways of answering, with the slots and shapes they cover."""
        made: list[Family] = []
        for index, shape in enumerate(self.shapes):
            start, stop = self._starts[index], self._starts[index + 1]
            if made and made[-1].answer == shape.answer:
                last = made.pop()
                made.append(last._replace(stop=stop, shapes=range(last.shapes.start, index + 1)))
            else:
                made.append(Family(shape.answer, start, stop, range(index, index + 1)))
        return tuple(made)

    @cached_property
    def packed_bytes(self) -> int:
        """Return the bytes of a report that is packed, or 0 where values are integers.

        Only unary answers over more than 62 symbols are; then all ways of answering are unary.
        """
        sizes = [f.answer.symbols for f in self.families if isinstance(f.answer, Unary)]
        return -(-max(sizes) // 8) if sizes and max(sizes) > NARROW else 0

    def first_slot(self, shape: int) -> int:
        """Return the first slot of a shape."""
        return self._starts[shape]

    def chances(self, shape: int) -> NDArray[np.float64]:
        """Return the probability of each slot of a shape; one number where all are alike."""
        weights, places = np.array(self.shapes[shape].weights), self.places[shape]
        if not len(weights):
            return np.array([1 / self.slots])
        if self.shapes[shape].sets is None:
            return weights / (ALL_WEIGHT * places.count)
        by_set = places.by_set
        return np.repeat(weights / (ALL_WEIGHT * by_set), by_set)

    def set_chances(self, shape: int) -> NDArray[np.float64]:
        """Return the probability of each set of attributes that a shape is asked about."""
        weights, by_set = np.array(self.shapes[shape].weights), self.places[shape].by_set
        if not len(weights):
            shares: NDArray[np.float64] = by_set / self.slots
        elif self.shapes[shape].sets is None:
            shares = weights[0] / ALL_WEIGHT * by_set / self.places[shape].count
        else:
            shares = weights / ALL_WEIGHT
        return shares

    def chance(self, shape: int) -> float:
        """Return the probability that a person is asked a question of this shape."""
        weights = self.shapes[shape].weights
        return sum(weights) / ALL_WEIGHT if weights else self.places[shape].count / self.slots

    @cached_property
    def _lots(self) -> Lots:
        weights, sizes = list[int](), list[Ints]()
        for shape, places in zip(self.shapes, self.places, strict=True):
            weights += shape.weights
            sizes.append(np.array([places.count]) if shape.sets is None else places.by_set)
        bounds = np.cumsum(weights, dtype=np.int64)[:-1].astype(np.uint32)
        every = np.concatenate(sizes)
        return Lots(bounds, np.cumsum(every) - every, every)

    def draw_slot(self, source: Source) -> int:
        """Draw one person's slot, without looking at any data."""
        if not self.shapes[0].weights:
            return below(source, self.slots)
        lots = self._lots
        lot = int(np.searchsorted(lots.bounds, source.word() >> 32, side="right"))
        return int(lots.starts[lot]) + below(source, int(lots.sizes[lot]))

    def slots_from(self, words: NDArray[np.uint64]) -> Ints:
        """Return what `draw_slot` draws from each row of words; −1 where it would take more."""
        if not self.shapes[0].weights:
            sizes = np.array([self.slots])
            lot: Any = np.zeros(len(words), np.int64)
            starts = np.zeros(1, np.int64)
        else:
            bounds, starts, sizes = self._lots
            lot = np.searchsorted(bounds, words[:, 0] >> np.uint64(32), side="right")
            words = words[:, 1:]
        masks = np.array([(1 << (size - 1).bit_length()) - 1 for size in sizes.tolist()], np.uint64)
        drawn = words & masks[lot][:, None]
        fits = drawn < sizes.astype(np.uint64)[lot][:, None]
        first = fits.argmax(axis=1)
        rows = np.arange(len(words))
        slots: Ints = starts[lot] + drawn[rows, first].astype(np.int64)
        slots[~fits[rows, first]] = -1
        return slots

    def slot_at(self, point: int, bits: int) -> int:
        """Return the slot at a point of the line [0, 2^bits), of which each slot covers its chance.

        ``bits`` is some more than 32 and the bits of a slot: the line is cut to whole points.
        """
        if not self.shapes[0].weights:
            return point * self.slots >> bits
        lots, fine = self._lots, bits - 32
        lot = int(np.searchsorted(lots.bounds, point >> fine, side="right"))
        begin = int(lots.bounds[lot - 1]) if lot else 0
        end = int(lots.bounds[lot]) if lot < len(lots.bounds) else ALL_WEIGHT
        within = (point - (begin << fine)) * int(lots.sizes[lot]) // ((end - begin) << fine)
        return int(lots.starts[lot]) + within

    @property
    def slot_words(self) -> int:
        """Return the most 64-bit words that `draw_slot` takes, if none is rejected."""
        if not self.shapes[0].weights:
            return words_below(self.slots)
        return 1 + max(map(words_below, self._lots.sizes.tolist()))

    def draw_slots(self, stream: Stream, count: int) -> Ints:
        """Draw many people's slots."""
        if not self.shapes[0].weights:
            return stream.below(self.slots, count)
        lots = self._lots
        drawn = stream.octets(4 * count).view("<u4")
        if len(lots.bounds) > _FEW:
            lot = np.searchsorted(lots.bounds, drawn, side="right")
        else:
            lot = np.zeros(count, np.uint8)
            for bound in lots.bounds:
                lot += drawn >= bound
        if not self.schema.is_binary:  # runs are many, and of different lengths
            return lots.starts[lot] + stream.below_each(lots.sizes[lot])
        slots = lots.starts.take(lot)
        for index in np.flatnonzero(lots.sizes > 1).tolist():
            rows = np.flatnonzero(lot == index)
            slots[rows] += stream.below(int(lots.sizes[index]), len(rows))
        return slots

    # What is asked

    def shape_of(self, slot: int) -> int:
        """Return the shape of a slot."""
        return int(np.searchsorted(self._starts, slot, side="right")) - 1

    def attributes_of(self, slots: Ints) -> Ints:
        """Return the sorted attributes of slots that share a shape, one row each."""
        return self.placed(slots)[0]

    def placed(self, slots: Ints) -> tuple[Ints, Ints]:
        """Return the attributes and frames of slots that share a shape."""
        index = self.shape_of(int(slots[0]))
        return self.places[index].of(slots - self._starts[index])

    def digits_of(self, index: int, chosen: Ints, frame: Ints, member: int) -> Ints:
        """Return the question about each chosen attribute that a member of a shape takes, or 0."""
        shape = self.shapes[index]
        if shape.cell or self.schema.is_binary:
            return np.broadcast_to(shape.split(np.array(member)), chosen.shape)
        digits = np.zeros_like(chosen)
        for place, part in enumerate(shape.split(np.array(member)).tolist()):
            if not part:
                continue
            if shape.bits[place] == 1:  # the frames of one question are the questions
                digits[:, place] = frame[:, place] + 1
                continue
            widths = self._widths[chosen[:, place]]
            for width in np.unique(widths).tolist():
                rows = np.flatnonzero(widths == width)
                digits[rows, place] = multiplied(width, frame[rows, place] + 1, part)
        return digits

    @cached_property
    def _widths(self) -> Ints:
        return np.array([attribute.bits for attribute in self.schema.attributes])

    @cached_property
    def _odd(self) -> tuple[NDArray[np.uint8], Ints]:
        """Return all lists' answers, one after the other, and where each attribute's begin."""
        lists = {id(signs): signs for signs in self.signs}
        ends = accumulate(signs.odd.size for signs in lists.values())
        begins = {key: end - lists[key].odd.size for key, end in zip(lists, ends, strict=True)}
        flat = np.concatenate([signs.odd.ravel() for signs in lists.values()])
        return flat, np.array([begins[id(signs)] for signs in self.signs])

    def _said(self, chosen: Ints, digits: Ints, codes: Ints) -> Ints:
        """Return whether an odd number of questions about attributes is answered with yes."""
        odd, begins = self._odd
        at = begins[chosen] + digits * np.array(self.schema.sizes)[chosen] + codes
        said: Ints = odd[at].sum(axis=1) & 1
        return said

    def asks(self, slot: int) -> Cell | Parities:
        """Return what a slot asks."""
        if isinstance(slot, bool) or not isinstance(slot, int) or not 0 <= slot < self.slots:
            raise SurveyError(
                f"A slot of this survey is a whole number from 0 to {self.slots - 1}."
            )
        index = self.shape_of(slot)
        shape = self.shapes[index]
        chosen, frame = self.placed(np.array([slot]))
        held = [self.schema.attributes[a] for a in chosen[0]]
        if shape.cell:
            return Cell(tuple(Term(a.name, a.values) for a in held))
        bits = []
        for parity in shape.parities:
            digits = self.digits_of(index, chosen, frame, parity)[0].tolist()
            bits.append(
                tuple(self._term(a, i) for a, i in zip(chosen[0], digits, strict=True) if i)
            )
        return Parities(tuple(bits))

    def _term(self, attribute: int, question: int) -> Term:
        """Return a yes/no question about an attribute: the values that say yes."""
        asked, said = self.schema.attributes[attribute], self.signs[attribute].yes(question)
        return Term(asked.name, tuple(v for v, yes in zip(asked.values, said, strict=True) if yes))

    # The true answers of many people

    def symbols(self, family: int, records: NDArray[Any], slots: Ints) -> NDArray[Any]:
        """Return the true answers of records to slots of one family."""
        _answer, start, stop, shapes = self.families[family]
        shape = self.shapes[shapes.start]
        if records.shape[1] > 1 or self.slots > MOST_LISTED or not self._asks_bits:
            return self._symbols_one_by_one(family, records, slots)
        words = records[:, 0]
        bits = int(self._widths.sum())
        if shape.parities == tuple(1 << i for i in range(bits)) and (
            self.schema.is_binary or not shape.is_framed
        ):
            return words  # the whole record
        rows = slots - start if start else slots
        if (stop - start) << bits <= MOST_LOOKED_UP and len(shape.parities) > 1:
            truths: NDArray[Any] = self._truths[family].take((rows << bits) | words)
            return truths
        return _parities(words, self._lookup[family], rows)

    @cached_property
    def _has_codes(self) -> bool:
        """Tell whether questions are parities of bits of the records' codes."""
        return self.signs == tuple(map(walsh, self.schema.sizes))

    @cached_property
    def _asks_bits(self) -> bool:
        """Tell whether all symbols are parities of bits of the records' codes."""
        return self._has_codes and not any(shape.sizes for shape in self.shapes)

    @cached_property
    def _lookup(self) -> tuple[NDArray[Any], ...]:
        """Return, for each family, the parities of its slots as masks over one-word records."""
        dtype = self.schema.word_type
        shifts = self.schema.places[:, 1]
        tables = []
        for family in self.families:
            parts = []
            for index in family.shapes:
                chosen, frame = self.places[index].of(np.arange(self.places[index].count))
                columns = [
                    (self.digits_of(index, chosen, frame, parity) << shifts[chosen]).sum(axis=1)
                    for parity in self.shapes[index].parities
                ]
                parts.append(np.stack(columns, axis=1))
            tables.append(np.concatenate(parts).astype(dtype))
        return tuple(tables)

    @cached_property
    def _truths(self) -> tuple[NDArray[Any], ...]:
        """Return, for each family, the symbol of every slot and record: for few of them only."""
        cells = np.arange(1 << int(self._widths.sum())).astype(self.schema.word_type)
        return tuple(
            np.concatenate(
                [_parities(cells, masks, np.full(len(cells), row)) for row in range(len(masks))]
            )
            for masks in self._lookup
        )

    def _symbols_one_by_one(self, family: int, records: NDArray[Any], slots: Ints) -> NDArray[Any]:
        """Return the true answers attribute by attribute: for long records, or very many slots."""
        symbols = np.zeros(len(slots), np.int64)
        for index in self.families[family].shapes:
            shape = self.shapes[index]
            rows = np.flatnonzero(
                (slots >= self._starts[index]) & (slots < self._starts[index + 1])
            )
            if not len(rows):
                continue
            chosen, frame = self.placed(slots[rows])
            codes = np.empty(chosen.shape, np.int64)
            for place, attribute in enumerate(chosen.T):
                word, shift = self.schema.places[attribute].T
                code = records[rows, word] >> shift.astype(records.dtype)
                codes[:, place] = code & ((1 << self._widths[attribute]) - 1).astype(records.dtype)
            if shape.cell:
                sizes = shape.sizes or (2,) * shape.attributes
                symbols[rows] = codes @ np.cumprod((1, *sizes[:-1]))
                continue
            for j, parity in enumerate(shape.parities):
                digits = self.digits_of(index, chosen, frame, parity)
                if self._has_codes:
                    said = np.bitwise_count(codes & digits).sum(axis=1) & 1
                else:
                    said = self._said(chosen, digits, codes)
                symbols[rows] |= said.astype(np.int64) << j
        return symbols


def _parities(words: NDArray[Any], masks: NDArray[Any], rows: Ints) -> NDArray[Any]:
    """Return the symbols of one-word records: bit j is the parity under column j of their mask."""
    symbols: NDArray[Any] = np.zeros(len(words), np.uint8 if masks.shape[1] <= 8 else int)
    for mask in masks.T[::-1]:
        symbols += symbols  # faster than a shift, in bytes
        symbols |= np.bitwise_count(words & mask.take(rows)) & 1
    return symbols
