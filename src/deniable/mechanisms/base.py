"""What a mechanism is: a distribution over questions, and a decoder.

A mechanism states its shapes. What is asked derives from them (`deniable.survey.asking`): how slots
are numbered and drawn, the question of a slot, the vectorised answers. So do the wire format, the
decoder and the predicted error.
"""

from __future__ import annotations

import copy
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from math import comb, inf, log2, prod
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from deniable.decoding.cells import Answered, CellEvidence
from deniable.decoding.evidence import Evidence, Readings, SlotEvidence, Spread, SymmetricEvidence
from deniable.design.workload import read_workload
from deniable.errors import SurveyError, TableError
from deniable.formats.forms import limit
from deniable.questions.answers import Bitwise, Unary
from deniable.questions.entropy import BLOCK, Key, Stream
from deniable.questions.exact import LARGEST_EPSILON, exponential
from deniable.questions.lists import MOST_BITS
from deniable.questions.question import Question
from deniable.schema.labels import Labels
from deniable.schema.schema import Records, Schema
from deniable.survey.asking import Asking, Family
from deniable.survey.coefficients import Ints, Listed, Numbering, PerTable, Shared, hadamard
from deniable.survey.template import ALL_WEIGHT, Places, Shape, pairs_among

__all__ = [
    "Family",
    "FrozenSurvey",
    "Holding",
    "Mechanism",
    "Shape",
    "canonical",
    "check_parameters",
]

FORMAT = 1
"""The version of the survey JSON."""

MOST_COEFFICIENTS = 1 << 26
"""The most coefficients that are estimated at once: half a gigabyte each for a few arrays."""

MOST_COUNTERS = 1 << 28
"""The most counters of a tally that has one for each cell of each table."""

MOST_ORDER = 10
"""The largest table's attributes: its 2^k cells have a covariance of 4^k numbers."""


class Holding(NamedTuple):
    """The share of reports that hold a coefficient, and their scores' second moment and size."""

    share: float
    moment: float
    largest: float


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


class Mechanism(Asking, ABC):
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
    labels: Labels = Labels()
    """What reports say beside their answer, in public."""

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
            if attribute.bits > MOST_BITS:
                raise SurveyError(
                    f"{attribute.name!r} has {attribute.size:,} values; {1 << MOST_BITS:,} is the "
                    "limit, so put some of them together."
                )
        self.schema, self.order, self.epsilon = schema, int(order), float(epsilon)
        if shapes is None:
            told = self.read_options(schema, self.order, options)
            shapes = self.design(schema.sizes, self.order, self.epsilon, **told)
        self.shapes = shapes
        self._refuse_work()
        if self.touches > self.most_touched:
            raise SurveyError(
                f"{self.name} asks about at most {self.most_touched} attributes at once."
            )
        if self.slots >= 1 << 63:
            raise SurveyError(f"{self.name} would need {self.slots:.1e} slots; 2^63 is the limit.")
        if not schema.is_binary and not self.asks_cells:
            self._refuse_coefficients()

    def read_options(self, schema: Schema, order: int, options: dict[str, Any]) -> dict[str, Any]:
        """Return what `design` is told, with the names of a workload looked up."""
        if options.get("workload") is None:
            return options
        return options | {"workload": read_workload(schema, order, options["workload"])}

    @classmethod
    @abstractmethod
    def design(
        cls, sizes: tuple[int, ...], order: int, epsilon: float, **options: Any
    ) -> tuple[Shape, ...]:
        """Return the shapes for attributes of these sizes; equal ways of answering side by side."""

    @cached_property
    def is_symmetric(self) -> bool:
        """Tell whether all attributes have two values, and are asked about alike."""
        alike = all(shape.sets is None and not shape.among for shape in self.shapes)
        return self.schema.is_binary and alike

    @cached_property
    def asks_cells(self) -> bool:
        """Tell whether the decoder works on cells of tables, not on coefficients."""
        return any(shape.sizes for shape in self.shapes)

    @property
    def most_touched(self) -> int:
        """Return the most attributes that a question of this mechanism may touch."""
        return len(self.schema) if self.whole_record else self.order

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
        counters = _products(sizes, order)[order] + comb(len(sizes), order)
        if counters > MOST_COUNTERS:
            raise SurveyError(
                f"{cls.name} would need {counters * 8 / 1e9:,.0f} GB of counters for tables of "
                f"{order} of {len(sizes)} attributes."
            )

    def _refuse_work(self) -> None:
        """Refuse a survey that is too long to go through: every device would have to."""
        sizes = self.schema.sizes
        has_codes = type(self).listing is Asking.listing  # other lists are matrices
        counts = {
            "values": sum(sizes),
            "balanced": 0 if has_codes else sum(size**2 for size in set(sizes)),
            "places": sum(
                s.attributes * len(s.among or sizes if s.sets is None else s.sets)
                for s in self.shapes
            ),
            "members": sum(
                s.attributes << len(() if s.cell else s.parities)
                for s in self.shapes
                if not isinstance(s.answer, Bitwise)
            ),
        }
        for name, count in counts.items():
            if count > limit(name):
                raise SurveyError(
                    f"{self.name} would have {count:,} {name} to go through; {limit(name):,} is the "
                    "limit, so ask about fewer attributes or values."
                )

    def _refuse_coefficients(self) -> None:
        """Refuse a survey of which not all coefficients could be estimated at once."""
        count = sum(_products([self.signs[a].count for a in self._asked], self.order)[1:])
        if count > MOST_COEFFICIENTS:
            raise SurveyError(
                f"{self.name} would need {count:,} coefficients for tables of {self.order} of these "
                f"attributes, {8 * count / 1e9:,.0f} GB for each of a few arrays; lower the order, or "
                "put values together."
            )

    @cached_property
    def _asked(self) -> list[int]:
        """Return the attributes that some question may be about."""
        every = range(len(self.schema))
        asked = ([*s.among] if s.among else every for s in self.shapes if s.sets is None)
        listed = (each for s in self.shapes for each in s.sets or ())
        return sorted({a for each in (*asked, *listed) for a in each})

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
        } | self.labels.to_json()

    def labelled(self, labels: Labels) -> Self:
        """Return the same mechanism for a survey that declares labels."""
        labels.check(self.schema)
        made = copy.copy(self)
        made.__dict__.pop("id", None)
        made.labels = labels
        return made

    def canonical(self) -> str:
        """Return the survey's canonical JSON text."""
        return canonical(self.to_json())

    @cached_property
    def id(self) -> str:
        """Return the survey's id: the SHA-256 of its canonical JSON."""
        return hashlib.sha256(self.canonical().encode()).hexdigest()

    def question(self, slot: int) -> Question:
        """Return the question of a slot."""
        asks = self.asks(slot)
        return Question(self.id, slot, asks, self.shapes[self.shape_of(slot)].answer)

    # Many people at once

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
            return self.families[0].answer.answers(self.symbols(0, records, slots), stream)
        width = self.packed_bytes
        values = np.zeros((len(slots), width), np.uint8) if width else np.empty(len(slots), int)
        for index, family in enumerate(self.families):
            rows = np.flatnonzero((slots >= family.start) & (slots < family.stop))
            if len(rows):
                answered = family.answer.answers(
                    self.symbols(index, records[rows], slots[rows]), stream
                )
                if not width:
                    values[rows] = answered
                    continue
                if answered.ndim == 1:  # few bits, as integers
                    answered = answered.astype("<i8").view(np.uint8).reshape(-1, 8)
                taken = -(-family.answer.symbols // 8)  # of the bytes that the longest report has
                values[rows, :taken] = answered[:, :taken]
        return values

    # Decoding

    def numbering(self, estimator: str | None = None) -> Numbering:
        """Return how an estimator numbers its coefficients."""
        d, k, counts = len(self.schema), self.order, [signs.count for signs in self.signs]
        made: Numbering
        if self.check_estimator(estimator) == "unpooled":
            made = PerTable(d, k, counts)
        elif len(self._asked) < d or (self.schema.is_binary and not self.is_symmetric):
            made = Listed(d, k, self._asked, counts)
        else:
            made = Shared(d, k, counts)
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
        """Return what a tally (sorted by slot) tells about every table of up to k attributes."""
        chosen, found = self.check_estimator(estimator), []
        for index, shape in enumerate(self.shapes):
            low, high = np.searchsorted(slot, self._starts[index : index + 2])
            if low == high:
                continue
            present, row = np.unique(slot[low:high], return_inverse=True)
            assert not isinstance(shape.answer, Bitwise)
            supports, people = shape.answer.count(
                len(present), row, value[low:high], count[low:high]
            )
            found.append((index, present, people, supports))
        return self._evidence(chosen, found)

    def _evidence(
        self, estimator: str, found: Sequence[tuple[int, Ints, NDArray[Any], NDArray[Any] | None]]
    ) -> CellEvidence | SlotEvidence:
        """Return the evidence of slots of shapes: who reported, and for what (None: not known)."""
        if self.asks_cells:
            answered = [each for part in found for each in self._answered(*part)]
            pooled = estimator != "unpooled"
            return CellEvidence(self.schema.sizes, self.order, answered, pooled=pooled)
        numbering = self.numbering(estimator)
        readings = [
            self.read(*part, numbering)
            for part in found
            if np.bitwise_count(self.shapes[part[0]].touched).min() <= self.order
        ]
        return SlotEvidence(numbering, readings, self.signs)

    def _answered(
        self, index: int, slots: Ints, people: NDArray[Any], supports: NDArray[Any] | None
    ) -> Iterator[Answered]:
        """Yield the tables that slots of a shape ask about, with what was reported."""
        shape = self.shapes[index]
        assert not isinstance(shape.answer, Bitwise)
        for row, chosen in enumerate(self.attributes_of(slots).tolist()):
            yield Answered(
                tuple(chosen),
                float(people[row]),
                None if supports is None else supports[row].astype(np.float64),
                shape.answer.inclusion,
                shape.answer.symbols,
            )

    def read(
        self,
        index: int,
        slots: Ints,
        people: NDArray[Any],
        supports: NDArray[Any] | None,
        numbering: Numbering,
    ) -> Readings:
        """Return the readings of some slots of a shape."""
        shape = self.shapes[index]
        assert not isinstance(shape.answer, Bitwise)
        law = shape.answer.inclusion
        kept = np.flatnonzero(np.bitwise_count(shape.touched) <= self.order)
        chosen, frame = self.placed(slots)
        members = [
            numbering.of_question(chosen, touched, self.digits_of(index, chosen, frame, member))
            for member, touched in zip(
                shape.members[kept].tolist(), shape.touched[kept].tolist(), strict=True
            )
        ]
        scores = np.zeros((len(slots), len(kept)))
        if supports is not None:
            scores = hadamard(supports)[:, 1:][:, kept] / float(law.contrast)
        return Readings(
            np.stack(members, axis=1),
            shape.touched[kept],
            people.astype(np.float64),
            scores,
            float(law.second_moment(shape.answer.symbols)),
            float(law.cross),
            shape.answer.reach / float(law.contrast),
        )

    def expected(self, people: float, estimator: str | None = None) -> Spread:
        """Return the variances to expect of a tally with every slot used as often as expected."""
        chosen = self.check_estimator(estimator)
        if self.is_symmetric and chosen != "unpooled":
            return self._expected_by_size(people)
        found: list[tuple[int, Ints, NDArray[Any], NDArray[Any] | None]] = []
        for index in range(len(self.shapes)):
            slots = np.arange(self._starts[index], self._starts[index + 1])
            each = np.broadcast_to(people * self.chances(index), len(slots))
            found.append((index, slots, each, None))
        return self._evidence(chosen, found)

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
        packs = self.packed_bytes and not all(isinstance(f.answer, Unary) for f in self.families)
        if packs or not all(map(self.decodes, self.shapes)):
            raise SurveyError(f"The survey's shapes are none that {self.name} can decode.")
        asked = {
            (s.attributes, s.parities, s.functionals, s.sizes, s.sets, s.among) for s in self.shapes
        }
        if len(asked) < len(self.shapes):
            raise SurveyError("A survey's shapes must ask for different things.")
        weights = [shape.weights for shape in self.shapes]
        if any(weights) and not (all(weights) and sum(map(sum, weights)) == ALL_WEIGHT):
            raise SurveyError("The weights of a survey's shapes must add up to 2^32.")
        if self.asks_cells and not all(shape.cell for shape in self.shapes):
            raise SurveyError(f"The survey's shapes are none that {self.name} can decode.")
        for shape, places in zip(self.shapes, self.places, strict=True):
            self._verify_sizes(shape, places)
        for family in self.families:
            if family.answer.ratio > exponential(self.epsilon):
                raise SurveyError("The survey's questions exceed its stated epsilon.")

    def _verify_sizes(self, shape: Shape, places: Places) -> None:
        """Refuse a shape that asks more of attributes than they have."""
        if self.schema.is_binary and not shape.sizes and not shape.functionals:
            return
        if shape.among:
            attributes = [self.schema.attributes[a] for a in shape.among]
            fits = min(a.bits for a in attributes) >= max(shape.bits) and (
                not shape.cell or (not shape.sizes and all(a.is_binary for a in attributes))
            )
        elif shape.cell and shape.sets is None and shape.attributes < len(self.schema):
            fits = False  # cells of different sizes are listed
        elif shape.cell:
            sizes = np.array(self.schema.sizes)[places.sets]
            fits = bool((sizes == (shape.sizes or 2)).all())
        elif shape.sets is None:  # any attributes in order: at each place, any that leaves room
            widths, spare = self._widths, len(self.schema) - shape.attributes + 1
            fits = all(widths[i : i + spare].min() >= bits for i, bits in enumerate(shape.bits))
        else:
            fits = bool((self._widths[places.sets] >= shape.bits).all())
        if not fits:
            raise SurveyError("A survey's shape does not fit the attributes it is asked about.")


def _products(numbers: Sequence[int], order: int) -> list[int]:
    """Return the sum of the products of every 0, 1, … ``order`` of some numbers."""
    sums = [1] + [0] * order
    for number in numbers:
        for level in range(order, 0, -1):
            sums[level] += sums[level - 1] * number
    return sums


FrozenSurvey = Mechanism
