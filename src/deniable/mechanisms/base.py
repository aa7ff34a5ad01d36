"""What a mechanism is: a distribution over questions, and a decoder.

A `Shape` is a question up to the choice of attributes. A mechanism states its shapes; a *slot* is a
shape together with the attributes it is asked about, so slots are numbered shape after shape, and
within a shape by the colex rank of the attribute set (or its place, where a shape lists its sets).
Everything else derives from the shapes: how slots are drawn, the question of a slot, the vectorised
answers, the wire format, the decoder, the predicted error.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate
from math import comb, inf
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.errors import SurveyError, TableError
from deniable.mechanisms.coefficients import (
    Ints,
    Listed,
    Numbering,
    PerTable,
    Shared,
    hadamard,
    positions,
)
from deniable.mechanisms.evidence import Evidence, Readings, SlotEvidence, Spread, SymmetricEvidence
from deniable.mechanisms.shape import ALL_WEIGHT, Shape, pairs_among
from deniable.questions.answers import NARROW, Bitwise, Subset, Unary
from deniable.questions.entropy import BLOCK, Key, Source, Stream, below, words_below
from deniable.questions.exact import LARGEST_EPSILON, exponential
from deniable.questions.question import Cell, Parities, Question, Term
from deniable.questions.schema import Records, Schema
from deniable.questions.subsets import unrank, unranks

__all__ = ["Holding", "Mechanism", "Shape", "canonical", "check_parameters"]

FORMAT = 1
"""The version of the survey JSON."""

MOST_COEFFICIENTS = 1 << 26
"""The most coefficients that are estimated at once: half a gigabyte each for a few arrays."""

MOST_LISTED = 1 << 21
"""The most slots whose masks are kept in a table; with more they are computed as needed."""

MOST_LOOKED_UP = 1 << 15
"""The largest table of symbols by slot and cell: what a processor's nearest cache holds."""

_FEW = 32
"""So many runs of slots are told apart faster one by one than by bisection."""

MOST_ORDER = 10
"""The largest table's attributes: its 2^k cells have a covariance of 4^k numbers."""


def _parities(words: NDArray[Any], masks: NDArray[Any], rows: Ints) -> NDArray[Any]:
    """Return the symbols of one-word records: bit j is the parity under column j of their mask."""
    symbols: NDArray[Any] = np.zeros(len(words), np.uint8 if masks.shape[1] <= 8 else int)
    for mask in masks.T[::-1]:
        symbols += symbols  # faster than a shift, in bytes
        symbols |= np.bitwise_count(words & mask.take(rows)) & 1
    return symbols


class Lots(NamedTuple):
    """Runs of slots that are equally likely: a run is drawn by weight, then a slot of it."""

    bounds: NDArray[np.uint32]
    """Where the weights of the second, third, … run begin, out of 2³²."""
    starts: Ints
    sizes: Ints


class Holding(NamedTuple):
    """The share of reports that hold a coefficient, and their scores' second moment and size."""

    share: float
    moment: float
    largest: float


class Family(NamedTuple):
    """Neighbouring slots that answer in the same way."""

    answer: Subset | Unary | Bitwise
    start: int
    stop: int
    shapes: range


def canonical(form: dict[str, Any]) -> str:
    """Return the canonical JSON text (RFC 8785) of a survey's form.

    The form holds no fractions and its keys are ASCII, so sorted keys without spaces are it.
    """
    return json.dumps(form, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def check_parameters(schema: Schema, order: int, epsilon: float) -> None:
    """Refuse what no mechanism can do."""
    if isinstance(order, bool) or not isinstance(order, Integral):
        raise SurveyError(f"order must be a whole number, got {type(order).__name__}.")
    if not 1 <= order <= len(schema):
        raise SurveyError(
            f"order must be 1 to {len(schema)}, the number of attributes, got {order}."
        )
    if order > MOST_ORDER:
        raise SurveyError(
            f"order must be at most {MOST_ORDER}, got {order}: a table of 2^{order} cells "
            f"has a covariance of 4^{order} numbers."
        )
    if isinstance(epsilon, bool) or not isinstance(epsilon, Real):
        raise SurveyError(f"epsilon must be a number, got {type(epsilon).__name__}.")
    if not 0 < epsilon < inf:
        raise SurveyError(f"epsilon must be a positive finite number, got {epsilon!r}.")
    if epsilon > LARGEST_EPSILON:
        raise SurveyError(
            f"epsilon must be at most {LARGEST_EPSILON:g}, got {epsilon!r}: "
            "beyond that a report protects nobody and 64-bit thresholds no longer suffice."
        )


class Mechanism(ABC):
    """A survey's contract: who is asked what, how it is answered, how answers are decoded."""

    name: ClassVar[str]
    whole_record: ClassVar[bool] = False
    """Whether questions touch the whole record, not just ``order`` attributes of it."""
    estimators: ClassVar[tuple[str, ...]] = ("pooled",)
    """The decoders on offer, the default first."""
    unbiased: ClassVar[tuple[str, ...]] = ("pooled", "unpooled")
    """Those of them that are unbiased, with a known covariance."""
    options: ClassVar[tuple[str, ...]] = ()
    """What `design` may be told besides."""

    def __init__(
        self,
        schema: Schema,
        order: int,
        epsilon: float,
        shapes: tuple[Shape, ...] | None = None,
        **options: Any,
    ) -> None:
        for name in set(options) - set(self.options):
            has = f"its options are {', '.join(self.options)}" if self.options else "it has none"
            raise SurveyError(f"{self.name} has no option {name!r}; {has}.")
        check_parameters(schema, order, epsilon)
        for attribute in schema.attributes:
            if not attribute.is_binary:
                raise SurveyError(
                    f"{self.name} takes attributes of two values; "
                    f"{attribute.name!r} has {attribute.size}."
                )
        self.schema, self.order, self.epsilon = schema, int(order), float(epsilon)
        if shapes is None:
            told = self.read_options(schema, self.order, options)
            shapes = self.design(len(schema), self.order, self.epsilon, **told)
        self.shapes = shapes
        if self.touches > self.most_touched:
            raise SurveyError(
                f"{self.name} asks about at most {self.most_touched} attributes at once."
            )
        if self.slots >= 1 << 63:
            raise SurveyError(f"{self.name} would need {self.slots:.1e} slots; 2^63 is the limit.")

    def read_options(self, schema: Schema, order: int, options: dict[str, Any]) -> dict[str, Any]:
        """Return what `design` is told, where options speak of the schema."""
        return options

    @classmethod
    @abstractmethod
    def design(
        cls, attributes: int, order: int, epsilon: float, **options: Any
    ) -> tuple[Shape, ...]:
        """Return the shapes for these parameters; equal ways of answering stand side by side."""

    @property
    def touches(self) -> int:
        """Return the most attributes that one question touches."""
        return max(shape.attributes for shape in self.shapes)

    @cached_property
    def is_tailored(self) -> bool:
        """Tell whether some attributes are asked about otherwise than others."""
        return any(shape.sets is not None for shape in self.shapes)

    @property
    def most_touched(self) -> int:
        """Return the most attributes that a question of this mechanism may touch."""
        return len(self.schema) if self.whole_record else self.order

    @classmethod
    def refuse_beyond(cls, attributes: int, most: int, need: str) -> None:
        """Refuse more attributes than fit, saying what they would need."""
        if attributes > most:
            raise SurveyError(
                f"{cls.name} takes at most {most} attributes, got {attributes}: it would need {need}."
            )

    # The frozen contract

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form of the survey that this mechanism carries out."""
        return {
            "deniable": "survey",
            "format": FORMAT,
            "schema": self.schema.to_json(),
            "order": self.order,
            "epsilon": repr(self.epsilon),
            "mechanism": self.name,
            "shapes": [shape.to_json() for shape in self.shapes],
        }

    def canonical(self) -> str:
        """Return the survey's canonical JSON text."""
        return canonical(self.to_json())

    @cached_property
    def id(self) -> str:
        """Return the survey's id: the SHA-256 of its canonical JSON."""
        return hashlib.sha256(self.canonical().encode()).hexdigest()

    # Slots and questions

    @cached_property
    def _starts(self) -> list[int]:
        counts = (shape.slots(len(self.schema)) for shape in self.shapes)
        return [0, *accumulate(counts)]

    @property
    def slots(self) -> int:
        """Return the number of slots."""
        return self._starts[-1]

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

        Only unary answers over more than 62 symbols are; then there is no other way of answering.
        """
        answer = self.families[0].answer
        is_packed = isinstance(answer, Unary) and answer.symbols > NARROW
        return -(-answer.symbols // 8) if is_packed else 0

    def first_slot(self, shape: int) -> int:
        """Return the first slot of a shape."""
        return self._starts[shape]

    def chances(self, shape: int) -> NDArray[np.float64]:
        """Return the probability of each slot of a shape; one number where all are alike."""
        weights = self.shapes[shape].weights
        if not weights:
            return np.array([1 / self.slots])
        each = 1 if self.shapes[shape].sets else self._starts[shape + 1] - self._starts[shape]
        return np.array(weights) / (ALL_WEIGHT * each)

    def chance(self, shape: int) -> float:
        """Return the probability that a person is asked a question of this shape."""
        weights = self.shapes[shape].weights
        count = self._starts[shape + 1] - self._starts[shape]
        return sum(weights) / ALL_WEIGHT if weights else count / self.slots

    @cached_property
    def _lots(self) -> Lots:
        weights, starts, sizes = list[int](), list[int](), list[int]()
        for shape, start in zip(self.shapes, self._starts, strict=False):
            weights += shape.weights
            starts += range(start, start + len(shape.weights))
            sizes += [1] * len(shape.weights) if shape.sets else [shape.slots(len(self.schema))]
        bounds = np.cumsum(weights, dtype=np.int64)[:-1].astype(np.uint32)
        return Lots(bounds, np.array(starts), np.array(sizes))

    def draw_slot(self, source: Source) -> int:
        """Draw one person's slot, without looking at any data."""
        if not self.shapes[0].weights:
            return below(source, self.slots)
        lots = self._lots
        lot = int(np.searchsorted(lots.bounds, source.word() >> 32, side="right"))
        return int(lots.starts[lot]) + below(source, int(lots.sizes[lot]))

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
        slots = lots.starts.take(lot)
        for index in np.flatnonzero(lots.sizes > 1).tolist():
            rows = np.flatnonzero(lot == index)
            slots[rows] += stream.below(int(lots.sizes[index]), len(rows))
        return slots

    def question(self, slot: int) -> Question:
        """Return the question of a slot."""
        if isinstance(slot, bool) or not isinstance(slot, int) or not 0 <= slot < self.slots:
            raise SurveyError(
                f"A slot of this survey is a whole number from 0 to {self.slots - 1}."
            )
        index = next(i for i in range(len(self.shapes)) if slot < self._starts[i + 1])
        shape = self.shapes[index]
        place = slot - self._starts[index]
        chosen = unrank(place, shape.attributes) if shape.sets is None else shape.sets[place]
        held = [self.schema.attributes[a] for a in chosen]
        asks: Cell | Parities
        if shape.cell:
            asks = Cell(tuple(Term(a.name, a.values) for a in held))
        else:
            terms = [Term(a.name, a.values[1:]) for a in held]
            asks = Parities(
                tuple(tuple(terms[i] for i in positions(parity)) for parity in shape.parities)
            )
        return Question(self.id, slot, asks, shape.answer)

    # Many people at once

    @cached_property
    def _lookup(self) -> tuple[NDArray[Any], ...]:
        """Return, for each family, the parities of its slots as masks over one-word records."""
        dtype = self.schema.word_type
        tables = []
        for family in self.families:
            parts = []
            for index in family.shapes:
                shape = self.shapes[index]
                chosen = self.attributes_of(np.arange(self._starts[index], self._starts[index + 1]))
                bits = np.uint64(1) << chosen.astype(np.uint64)
                parts.append(
                    np.stack([bits[:, positions(p)].sum(axis=1) for p in shape.parities], axis=1)
                )
            tables.append(np.concatenate(parts).astype(dtype))
        return tuple(tables)

    def attributes_of(self, slots: Ints) -> Ints:
        """Return the sorted attributes of slots that share a shape, one row each."""
        index = int(np.searchsorted(self._starts, slots[0], side="right")) - 1
        shape, places = self.shapes[index], slots - self._starts[index]
        if shape.sets is None:
            return unranks(places, shape.attributes, len(self.schema))
        sets: Ints = np.array(shape.sets)[places]
        return sets

    def _symbols(self, family: int, records: NDArray[Any], slots: Ints) -> NDArray[Any]:
        """Return the true answers of records to slots of one family."""
        _answer, start, stop, shapes = self.families[family]
        shape = self.shapes[shapes.start]
        if records.shape[1] > 1 or self.slots > MOST_LISTED:
            return self._symbols_one_by_one(family, records, slots)
        words = records[:, 0]
        if shape.parities == tuple(1 << i for i in range(len(self.schema))):
            return words  # the whole record
        rows = slots - start if start else slots
        if (stop - start) << len(self.schema) <= MOST_LOOKED_UP and len(shape.parities) > 1:
            truths: NDArray[Any] = self._truths[family].take((rows << len(self.schema)) | words)
            return truths
        return _parities(words, self._lookup[family], rows)

    @cached_property
    def _truths(self) -> tuple[NDArray[Any], ...]:
        """Return, for each family, the symbol of every slot and cell: for few of them only."""
        cells = np.arange(1 << len(self.schema)).astype(self.schema.word_type)
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
            chosen = self.attributes_of(slots[rows])
            held = np.empty(chosen.shape, np.int64)
            for i, attribute in enumerate(chosen.T):
                word, shift = self.schema.places[attribute].T
                held[:, i] = (records[rows, word] >> shift.astype(np.uint64)) & np.uint64(1)
            for j, parity in enumerate(shape.parities):
                symbols[rows] |= (held[:, positions(parity)].sum(axis=1) & 1) << j
        return symbols

    def randomize(
        self, records: Records, key: Key, first_row: int = 0
    ) -> Iterator[tuple[Ints, NDArray[Any]]]:
        """Yield slots and values for blocks of records; ``first_row`` must begin a block.

        Substreams depend on the key, the survey and the block, so that results do not depend on
        how a larger frame was cut, and no stream is used for two purposes.
        """
        if first_row % BLOCK:
            raise ValueError(f"first_row must be a multiple of {BLOCK}")
        for start in range(0, len(records), BLOCK):
            block = (first_row + start) // BLOCK
            part = records.words[start : start + BLOCK]
            slots = self.draw_slots(key.stream(self.id, "slots", block), len(part))
            yield slots, self.answer_block(part, slots, key.stream(self.id, "answers", block))

    def answer_block(self, records: NDArray[Any], slots: Ints, stream: Stream) -> NDArray[Any]:
        """Draw the values that these records report to these slots."""
        if len(self.families) == 1:
            return self.families[0].answer.answers(self._symbols(0, records, slots), stream)
        values = np.empty(len(slots), np.int64)
        for index, family in enumerate(self.families):
            rows = np.flatnonzero((slots >= family.start) & (slots < family.stop))
            if len(rows):
                symbols = self._symbols(index, records[rows], slots[rows])
                values[rows] = family.answer.answers(symbols, stream)
        return values

    # Decoding

    def numbering(self, estimator: str | None = None) -> Numbering:
        """Return how an estimator numbers its coefficients."""
        d, k = len(self.schema), self.order
        made: Numbering
        if self.is_tailored:
            asked = (s.sets or tuple((a,) for a in range(d)) for s in self.shapes)
            made = Listed(d, k, sorted({a for sets in asked for each in sets for a in each}))
        elif self.check_estimator(estimator) == "unpooled":
            made = PerTable(d, k)
        else:
            made = Shared(d, k)
        if made.size > MOST_COEFFICIENTS:
            raise TableError(
                f"All tables of {self.order} of {len(self.schema)} attributes need {made.size:,} "
                f"coefficients; {MOST_COEFFICIENTS:,} is the limit, so lower the order."
            )
        return made

    def check_estimator(self, estimator: str | None) -> str:
        """Return the estimator's name, the default one for None."""
        if estimator is None:
            return self.estimators[0]
        if estimator not in self.estimators:
            raise SurveyError(
                f"{self.name} has no estimator {estimator!r}; it has {', '.join(self.estimators)}."
            )
        return estimator

    def exact_estimator(self) -> str:
        """Return the first estimator that is unbiased."""
        return next(name for name in self.estimators if name in self.unbiased)

    def decode(
        self, slot: Ints, value: Ints, count: Ints, estimator: str | None = None
    ) -> Evidence:
        """Return what a tally (sorted by slot) tells about every coefficient of order ≤ k."""
        numbering = self.numbering(estimator)
        readings = []
        for index, shape in enumerate(self.shapes):
            low, high = np.searchsorted(slot, self._starts[index : index + 2])
            if low == high:
                continue
            present, row = np.unique(slot[low:high], return_inverse=True)
            assert not isinstance(shape.answer, Bitwise)
            supports, people = shape.answer.count(
                len(present), row, value[low:high], count[low:high]
            )
            transformed = hadamard(supports)
            readings.append(self.read(index, present, people, transformed[:, 1:], numbering))
        return SlotEvidence(numbering, readings)

    def read(
        self,
        index: int,
        slots: Ints,
        people: NDArray[Any],
        sums: NDArray[Any],
        numbering: Numbering,
    ) -> Readings:
        """Return the readings of some slots of a shape; ``sums`` has a column per member."""
        shape = self.shapes[index]
        assert not isinstance(shape.answer, Bitwise)
        law = shape.answer.inclusion
        kept = np.flatnonzero(np.bitwise_count(shape.members) <= self.order)
        chosen, masks = self.attributes_of(slots), shape.members[kept]
        members = [numbering.of_question(chosen, mask) for mask in masks.tolist()]
        return Readings(
            np.stack(members, axis=1),
            masks,
            people.astype(np.float64),
            sums[:, kept] / float(law.contrast),
            float(law.second_moment(shape.answer.symbols)),
            float(law.cross),
        )

    def expected(self, people: float, estimator: str | None = None) -> Spread:
        """Return the covariances, at a given θ, of a tally with every slot used as often as expected."""
        if not self.is_tailored and self.check_estimator(estimator) != "unpooled":
            return self._expected_by_size(people)
        numbering = self.numbering(estimator)
        readings = []
        for index, shape in enumerate(self.shapes):
            slots = np.arange(self._starts[index], self._starts[index + 1])
            each = np.broadcast_to(people * self.chances(index), len(slots))
            sums = np.zeros((len(slots), len(shape.members)))
            readings.append(self.read(index, slots, each, sums, numbering))
        return SlotEvidence(numbering, readings)

    def _expected_by_size(self, people: float) -> SymmetricEvidence:
        """Return what to expect without listing slots, which may be too many."""
        d, k = len(self.schema), self.order
        cross, share = np.zeros((2, k + 1, k + 1, k + 1))
        weight = np.zeros(k + 1)
        for index, shape in enumerate(self.shapes):
            assert not isinstance(shape.answer, Bitwise)
            law = shape.answer.inclusion
            moment = float(law.second_moment(shape.answer.symbols))
            reports = people * self.chance(index)
            together = reports * shape.held_together(k) / moment**2
            cross += float(law.cross) * together
            share += together
            held = [reports * shape.held(level) for level in range(1, k + 1)]
            weight[1:] += np.array(held) / moment
        for sizes in np.argwhere(share).tolist():
            among = pairs_among(d, *sizes)
            cross[tuple(sizes)] /= among
            share[tuple(sizes)] /= among
        subsets = np.array([comb(d, level) for level in range(k + 1)], float)
        return SymmetricEvidence(cross, share, weight / subsets)

    def holdings(self, level: int, estimator: str | None = None) -> list[Holding]:
        """Return, by shape, how a coefficient of ``level`` attributes is held, on average."""
        d, k = len(self.schema), self.order
        pooled = self.check_estimator(estimator) != "unpooled"
        among = comb(d, level) if pooled else comb(d, k) * comb(k, level)
        made = []
        for index, shape in enumerate(self.shapes):
            assert not isinstance(shape.answer, Bitwise)
            law = shape.answer.inclusion
            made.append(
                Holding(
                    self.chance(index) * shape.held(level) / among,
                    float(law.second_moment(shape.answer.symbols)),
                    shape.answer.reach / float(law.contrast),
                )
            )
        return made

    def precision(self, level: int, estimator: str | None = None, square: float = 0.0) -> float:
        """Return 1/(N·Var θ̂_α) for a coefficient of ``level`` attributes with this θ²."""
        held = self.holdings(level, estimator)
        weight = sum(h.share / h.moment for h in held)
        spread = sum(h.share * (h.moment - square) / h.moment**2 for h in held)
        return weight**2 / spread if spread else 0.0

    def decodes(self, shape: Shape) -> bool:
        """Tell whether the decoder understands what a shape asks."""
        fits = shape.attributes == self.order or "unpooled" not in self.estimators
        return fits and not isinstance(shape.answer, Bitwise) and not shape.weights

    def verify(self) -> None:
        """Refuse a design that was read if it cannot be decoded or exceeds the stated ε."""
        wide = [
            f for f in self.families if isinstance(f.answer, Unary) and f.answer.symbols > NARROW
        ]
        if not all(map(self.decodes, self.shapes)) or (wide and len(self.families) > 1):
            raise SurveyError(f"The survey's shapes are none that {self.name} can decode.")
        weights = [shape.weights for shape in self.shapes]
        if any(weights) and not (all(weights) and sum(map(sum, weights)) == ALL_WEIGHT):
            raise SurveyError("The weights of a survey's shapes must add up to 2^32.")
        if any(max(map(max, s.sets)) >= len(self.schema) for s in self.shapes if s.sets):
            raise SurveyError("The survey asks about attributes that its schema does not have.")
        for family in self.families:
            if family.answer.ratio > exponential(self.epsilon):
                raise SurveyError("The survey's questions exceed its stated epsilon.")
