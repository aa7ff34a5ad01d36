"""Building tallies: reports are added up in bounded memory, all together or by their labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.collector.tally import MOST_PEOPLE, Rows, TallyCounts, add_sorted, merge, refuse
from deniable.collector.validity import flaws, rows_of, tally_values
from deniable.errors import ReportError, SurveyError, TallyError
from deniable.messages.modes import Invalid
from deniable.messages.report import ReportBatch
from deniable.questions.answers import Unary
from deniable.schema.labels import PERIOD, Labels
from deniable.survey.coefficients import Ints
from deniable.survey.frozen import FrozenSurvey

_DENSE = 1 << 24
"""The most counters kept in one array; larger tallies are kept as sorted rows."""

_MOST_PACKED = 1 << 28

_FOLD_BITS = 1 << 22
"""Bits of unary reports that are added up at once."""


class TallyBuilder:
    """Adds reports up, block by block, in bounded memory.

    Reports that the survey cannot have got are left out, and ``refused`` counts them by reason. A
    builder that is not the only one says that it is the ``nth``, so that together they stay small;
    one that is ``sparse`` has counters for nothing but what was reported.
    """

    def __init__(self, survey: FrozenSurvey, nth: int = 1, *, sparse: bool = False) -> None:
        self.survey = survey
        self.refused: Counter[str] = Counter()
        self._dense: list[Ints | None] = []
        for family in survey.families:
            cells = (family.stop - family.start) * tally_values(family)
            if survey.packed_bytes and cells * nth > _MOST_PACKED and not sparse:
                groups = f" by {nth:,} groups or more" if nth > 1 else ""
                raise TallyError(
                    f"A tally of this survey{groups} would need {cells * nth * 8 / 1e9:,.0f} GB of "
                    "counters."
                )
            is_dense = not sparse and (cells * nth <= _DENSE or survey.packed_bytes)
            self._dense.append(np.zeros(cells, np.int64) if is_dense else None)
        self._sparse: list[Rows] = []
        self._sparse_rows = 0

    def add(
        self,
        slots: Ints,
        values: NDArray[Any],
        counts: Ints | None = None,
        *,
        is_checked: bool = False,
    ) -> None:
        """Add reports, or rows that stand for ``counts`` reports each.

        Reports are checked first, unless ``is_checked`` says that they were, or the mechanism drew them.
        """
        if not is_checked:
            slots, values, counts, _ = self.sound(slots, values, counts)
        for index, family in enumerate(self.survey.families):
            rows = rows_of(self.survey, family, slots)
            part = slots[rows]
            if len(part):
                offsets = part - family.start if family.start else part
                self._add_family(index, offsets, values[rows], _at(counts, rows))

    def sound(
        self,
        slots: Ints,
        values: NDArray[Any],
        counts: Ints | None = None,
        groups: Ints | None = None,
    ) -> tuple[Ints, NDArray[Any], Ints | None, Ints | None]:
        """Return the rows that the survey can have got, and note the others as left out."""
        for reason, is_wrong in flaws(self.survey, slots, values):
            self.refuse(reason, is_wrong, counts)
            slots, values = slots[~is_wrong], values[~is_wrong]
            counts, groups = _at(counts, ~is_wrong), _at(groups, ~is_wrong)
        return slots, values, counts, groups

    def refuse(self, reason: str, is_wrong: NDArray[np.bool_], counts: Ints | None = None) -> None:
        """Note the rows that are wrong as reports that were left out."""
        reports = np.count_nonzero(is_wrong) if counts is None else counts[is_wrong].sum()
        if reports:
            self.refused[reason] += int(reports)

    def _add_family(
        self, index: int, offsets: Ints, values: NDArray[Any], counts: Ints | None
    ) -> None:
        """Add reports to the slots of one way of answering, which are counted from its first."""
        family = self.survey.families[index]
        if not isinstance(family.answer, Unary):
            self._count(index, offsets, values, counts)
            return
        symbols = family.answer.symbols
        self._count(index, offsets, np.full(len(offsets), symbols), counts)
        is_narrow, slots = values.ndim == 1, family.stop - family.start
        if is_narrow and counts is None and slots << symbols <= len(offsets):
            # With fewer different reports than reports, count them first.
            alike = np.bincount((offsets << symbols) | values)
            keys = np.flatnonzero(alike)
            counts, offsets = alike[keys], keys >> symbols
            values = keys & ((1 << symbols) - 1)
        masks = values.astype("<i8").view(np.uint8).reshape(-1, 8) if is_narrow else values
        dense = self._dense[index]
        for offset, yeses in _fold(offsets, masks, symbols, counts):
            if dense is not None:
                dense.reshape(-1, symbols + 1)[offset, :-1] += yeses
            else:
                symbol = np.flatnonzero(yeses)
                slot = np.full(len(symbol), offset + family.start)
                self._keep((slot, symbol, yeses[symbol].astype(np.int64)))

    def _count(self, index: int, offsets: Ints, values: Ints, counts: Ints | None) -> None:
        family, dense = self.survey.families[index], self._dense[index]
        if dense is None:
            ones = np.ones(len(offsets), np.int64) if counts is None else counts
            self._keep(merge([(offsets + family.start, values, ones)]))
            return
        keys = offsets * tally_values(family) + values if family.stop - family.start > 1 else values
        if counts is None:
            dense += np.bincount(keys, minlength=len(dense))
        else:
            np.add.at(dense, keys, counts)

    def _keep(self, rows: Rows) -> None:
        self._sparse.append(rows)
        self._sparse_rows += len(rows[0])
        if self._sparse_rows > _DENSE:
            self._sparse = [merge(self._sparse)]
            self._sparse_rows = 0

    def rows(self) -> Rows:
        """Return columns slot, value, count of what was added, sorted."""
        parts = list(self._sparse)
        for family, dense in zip(self.survey.families, self._dense, strict=True):
            if dense is not None:
                keys = np.flatnonzero(dense)
                offsets, values = np.divmod(keys, tally_values(family))
                parts.append((offsets + family.start, values, dense[keys]))
        return add_sorted(parts)

    def tally(
        self,
        *,
        simulated: bool = False,
        invalid: Invalid = "refuse",
        group: Mapping[str, str] | None = None,
    ) -> TallyCounts:
        """Return the tally of what was added; if reports were left out, ``invalid`` says "drop"."""
        refusals, labels = dict(self.refused), dict(group or {})
        tally = TallyCounts(self.survey, *self.rows(), simulated, refusals, group=labels)
        if invalid == "refuse":
            refuse([tally])
        return tally


def _at(column: Ints | None, rows: Any) -> Ints | None:
    return None if column is None else column[rows]


def _fold(
    offsets: Ints, masks: NDArray[np.uint8], symbols: int, counts: Ints | None
) -> Iterator[tuple[int, Ints]]:
    """Yield slots, and how many reports set each bit: up to 255 reports to one slot at a time.

    So many are added in bytes, many times faster than in words.
    """
    order = np.argsort(offsets, kind="stable")
    step = max(1, _FOLD_BITS // symbols)
    for start in range(0, len(offsets), step):
        part = order[start : start + step]
        bits = np.unpackbits(masks[part], axis=1, count=symbols, bitorder="little")
        offset, weights = offsets[part], _at(counts, part)
        edges = np.union1d(np.arange(0, len(part), 255), np.flatnonzero(np.diff(offset)) + 1)
        for low, high in pairwise([*edges.tolist(), len(part)]):
            if weights is None:
                yield int(offset[low]), bits[low:high].sum(axis=0, dtype=np.uint8)
            else:
                yield int(offset[low]), weights[low:high] @ bits[low:high]


def tally_of_batch(survey: FrozenSurvey, batch: ReportBatch) -> TallyCounts:
    """Return the tally of a batch of reports to this survey."""
    width = survey.packed_bytes
    fits = batch.values.ndim == 1 if not width else batch.values.shape[1:] == (width,)
    if not fits or (width and batch.values.dtype != np.uint8):
        form = f"rows of {width} packed bytes" if width else "single integers"
        raise ReportError(f"The batch's values must be {form}, which is how this survey reports.")
    builder = TallyBuilder(survey)
    step = 1 << 18
    for start in range(0, len(batch), step):
        slots, values = batch.slots[start : start + step], batch.values[start : start + step]
        # What an int64 does not hold turns negative, and is refused as that.
        values = values if width else values.astype(np.int64, copy=False)
        builder.add(slots.astype(np.int64, copy=False), values)
    return builder.tally(simulated=batch.simulated, invalid="drop")


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
        self.rows, self.miscounts, self.reports = 0, 0, 0.0
        """How many rows were read, how many say no count, and what the others' counts add up to."""

    @property
    def notes(self) -> dict[str, int]:
        """Return what is known beside the counts, as whole numbers; reports are at most 2⁵³."""
        reports = int(min(self.reports, MOST_PEOPLE))
        own = {"rows": self.rows, "miscounts": self.miscounts, "reports": reports}
        return dict(self.judge.refused) | own

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
