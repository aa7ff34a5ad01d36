"""The whole protocol as one readable function, and experiments made of it."""

from __future__ import annotations

import time
from collections import Counter as Multiset
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from math import comb, prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.api.release import Release
from deniable.api.survey import Survey
from deniable.api.tally import Tally
from deniable.client.bulk import randomize_records
from deniable.collector.builder import TallyBuilder
from deniable.decoding.decoder import decoder_of, is_symmetric
from deniable.decoding.evidence import expected_tv
from deniable.errors import DataError
from deniable.lab.rivals.rival import Rival
from deniable.planning.error import has_formula, predicted_tv
from deniable.questions.answers import Unary
from deniable.questions.entropy import BLOCK, WORD, Key
from deniable.release.estimate import in_chunks
from deniable.schema.frames import to_arrow
from deniable.schema.remarks import Remarks
from deniable.schema.schema import Records, Schema
from deniable.survey.checks import MOST_ORDER
from deniable.survey.coefficients import Floats, Ints, alike_tables, all_tables, hadamard, positions
from deniable.survey.frozen import FrozenSurvey

MOST_PEOPLE = 10**11
"""More would take longer than anybody waits: 10⁹ take a quarter of a minute."""

OWN = "its own"
"""What is applied to a rival's estimates."""

_MOST_CELLS = 1 << 24
_MOST_COUNTED = 20
_MOST_STEPS_EXPECTED = 1 << 36
_MOST_SLOTS_EXPECTED = 1 << 21


class Crowd:
    """The people who take part: every record once, or so many drawn with replacement.

    They pass by in blocks, so that their number is bounded by patience, not by memory.
    """

    def __init__(self, records: Records, people: int | None = None, key: Key | None = None) -> None:
        self.records, self.people, self._key = records, people, key
        self._drawn = np.zeros(0 if people is None else len(records), np.int64)

    @property
    def multiplicity(self) -> NDArray[np.int64]:
        """Return how often each record takes part: once, or as often as it was drawn."""
        return np.ones(len(self.records), np.int64) if self.people is None else self._drawn

    def __len__(self) -> int:
        return len(self.records) if self.people is None else self.people

    def blocks(self) -> Iterator[Records]:
        """Yield the people, block by block; a crowd that is drawn is drawn once."""
        if self.people is None or self._key is None:
            for start in range(0, len(self.records), BLOCK):
                yield self.records[start : start + BLOCK]
            return
        for start in range(0, self.people, BLOCK):
            stream = self._key.stream("people", start // BLOCK)
            rows = stream.below(len(self.records), min(BLOCK, self.people - start))
            np.add.at(self._drawn, rows, 1)
            yield self.records[rows]


def simulate(
    survey: Survey,
    frame: Any,
    seed: str | None = None,
    *,
    consistency: str = "none",
    estimator: str | None = None,
) -> Release:
    """Run a survey on a frame of records: everybody reports once, reports are counted, tables made.

    The release is marked SIMULATED, whether or not a seed makes it reproducible: no device took part.
    How many values passed for another says a `DeniableWarning`, and the release's report.
    Reports of more than 62 bits (InpRR) are not drawn one by one: how many set each bit is drawn
    from its exact law, two binomials per cell, which is the same distribution.
    """
    table = to_arrow(frame)
    crowd, remarks = Crowd(survey.schema.encode_frame(table)), Remarks.of(survey.schema, table)
    remarks.warn()
    release = count_crowd(survey, crowd, Key.of(seed)).release(consistency, estimator=estimator)
    release.remarks = remarks.sentences
    return release


def count_crowd(
    survey: Survey, crowd: Crowd, key: Key, advance: Callable[[int], object] = lambda people: None
) -> Tally:
    """Ask everybody of a crowd, and count the reports block by block, keeping none."""
    answer = survey.families[0].answer
    if isinstance(answer, Unary) and survey.packed_bytes and survey.slots == 1:
        for block in crowd.blocks():
            advance(len(block))
        return _draw_counts(survey, crowd, answer, key)
    builder, first = TallyBuilder(survey), 0
    for block in crowd.blocks():
        for slots, values in randomize_records(survey, block, key, first):
            builder.add(slots, values, is_checked=True)
        first += len(block)
        advance(len(block))
    return Tally.of(builder.tally(simulated=True))


def _draw_counts(survey: Survey, crowd: Crowd, answer: Unary, key: Key) -> Tally:
    """Draw a unary tally over the whole record from its law: Bin(n, own) + Bin(N − n, other)."""
    slots = np.zeros(len(crowd.records), np.int64)
    symbols = survey.symbols.of(0, crowd.records.words, slots).astype(np.int64)
    holders, people = np.zeros(answer.symbols, np.int64), len(crowd)
    np.add.at(holders, symbols, crowd.multiplicity)
    random = np.random.Generator(np.random.Philox(key.stream(survey.id, "law").words(2)))
    bits = random.binomial(holders, answer.own / WORD)
    bits += random.binomial(people - holders, answer.other / WORD)
    cells = np.flatnonzero(bits)
    value, count = np.append(cells, answer.symbols), np.append(bits[cells], people)
    if not people:
        value, count = value[:0], count[:0]
    return Tally(survey, np.zeros_like(value), value, count, simulated=True)


@dataclass(frozen=True)
class Trial:
    """One mechanism tried on data: the mean distance of its tables to the people's own."""

    mechanism: str
    attributes: int
    order: int
    epsilon: float
    people: int
    repeat: int
    mean_tv: float
    predicted_tv: float | None
    seconds: float
    reports_per_second: float
    consistency: str
    applied: str
    """What was applied: a model that is rejected gives way to joint tables, in some repeats or all."""
    tables: int
    """How many attributes the compared tables have."""
    standard_error: float | None
    """Of the mean distance, over repeats; None of one repeat."""
    distances: tuple[float, ...]
    """The mean distance in each repeat."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, which has the mean of the repeats alone."""
        form = asdict(self)
        del form["distances"]
        return form


def sample(frame: Any, people: int, key: Key) -> Any:
    """Return ``people`` rows of an Arrow table drawn with replacement."""
    if not frame.num_rows:
        raise DataError("The data has no rows to draw people from.")
    return frame.take(key.stream("people").below(frame.num_rows, people))


def trials(
    survey: Survey | Rival,
    frame: Any,
    *,
    people: int | None = None,
    repeat: int = 1,
    seed: str | None = None,
    consistency: str = "none",
    estimator: str | None = None,
    tables: int | None = None,
    crowds: Key | None = None,
    advance: Callable[[int], object] = lambda people: None,
) -> Iterator[Trial]:
    """Yield, after each repeat, the trial so far: the mean over repeats, with the prediction.

    With ``people`` each repeat draws that many rows with replacement, otherwise every row takes
    part once. Distances are to the table of the people who took part, and so is the prediction,
    which is made at the data's own coefficients. ``tables`` is how many attributes the compared
    tables have: the survey's order, or another, which a model may answer. Trials with the same seed
    ask the same people in each repeat, and so do those with the same key of ``crowds``, by which
    mechanisms can be compared in pairs. ``advance`` is told how
    many people have answered since it was told last. A rival's tables are its own: neither
    ``consistency`` nor ``estimator`` is applied to them.
    """
    key = Key.of(seed) if crowds is None else crowds
    schema, table = survey.schema, _attributes_of(survey.schema, frame)
    if people is not None and not 1 <= people <= MOST_PEOPLE:
        raise DataError(f"people must be 1 to {MOST_PEOPLE:,} here, got {people}.")
    size = survey.order if tables is None else tables
    alike = comparable_tables(survey, size)
    records = schema.encode_frame(table)
    Remarks.of(schema, table).warn()
    truth = [true_tables(schema, records, part) for part in alike]
    count = table.num_rows if people is None else people
    predicted = None
    if isinstance(survey, Survey) and consistency == "none" and size == survey.order:
        predicted = predict(survey, alike, truth, count, estimator)
    distances: list[float] = []
    applied: Multiset[str] = Multiset()
    seconds = 0.0
    for turn in range(repeat):
        crowd = Crowd(records, people, key.derive("sample", turn))
        began = time.perf_counter()
        turn_key = Key.of(None if seed is None else f"{seed}/{turn}")
        if isinstance(survey, Rival):
            answer = survey.run(crowd, turn_key, advance)
            estimates, processing = [answer.tables(part) for part in alike], OWN
        else:
            tally = count_crowd(survey, crowd, turn_key, advance)
            release = tally.release(consistency, estimator=estimator)
            estimates = [release.estimate(part).values for part in alike]
            processing = release.applied
        applied[processing] += 1
        seconds += time.perf_counter() - began
        if people is not None:
            truth = [true_tables(schema, records, part, crowd.multiplicity) for part in alike]
        distances.append(mean_distance(estimates, truth))
        yield _trial(survey, size, count, distances, predicted, seconds, consistency, applied)


def _trial(
    survey: Survey | Rival,
    tables: int,
    people: int,
    distances: Sequence[float],
    predicted: float | None,
    seconds: float,
    consistency: str,
    applied: Multiset[str],
) -> Trial:
    repeat = len(distances)
    return Trial(
        mechanism=survey.mechanism,
        attributes=len(survey.schema),
        order=survey.order,
        epsilon=survey.epsilon,
        people=people,
        repeat=repeat,
        mean_tv=float(np.mean(distances)),
        predicted_tv=predicted,
        seconds=seconds,
        reports_per_second=people * repeat / seconds,
        consistency=consistency,
        applied=_in_words(applied),
        tables=tables,
        standard_error=float(np.std(distances, ddof=1) / sqrt(repeat)) if repeat > 1 else None,
        distances=tuple(distances),
    )


def _attributes_of(schema: Schema, frame: Any) -> Any:
    table = to_arrow(frame)
    if not table.num_rows:
        raise DataError("The data has no rows.")
    return table.select([name for name in table.column_names if name in schema.names])


def _in_words(applied: Multiset[str]) -> str:
    if len(applied) == 1:
        return next(iter(applied))
    return ", ".join(f"{name} {times}" for name, times in applied.most_common())


def comparable_tables(survey: FrozenSurvey | Rival, order: int) -> list[Ints]:
    """Return all tables of ``order`` attributes, those of the same kinds together."""
    schema = survey.schema
    attributes, most = len(schema), min(len(schema), MOST_ORDER)
    if not 1 <= order <= most:
        raise DataError(f"Tables have 1 to {most} attributes here, got {order}.")
    if comb(attributes, order) <= _MOST_CELLS >> order:
        every = all_tables(attributes, order)
        if int(np.array(schema.sizes)[every].prod(axis=1).sum()) <= _MOST_CELLS:
            return list(alike_tables(survey.kinds, order))
    raise DataError(
        f"All {comb(attributes, order):,} tables of {order} of {attributes} attributes are too "
        "many to compare; lower the order or take fewer columns."
    )


def mean_distance(estimates: Sequence[Floats], truth: Sequence[Floats]) -> float:
    """Return the mean total variation distance between tables."""
    off = sum(float(np.abs(e - t).sum()) for e, t in zip(estimates, truth, strict=True))
    return off / 2 / sum(map(len, truth))


def true_tables(
    schema: Schema, records: Records, tables: Ints, times: Ints | None = None
) -> Floats:
    """Return the exact cells of tables of the same sizes (sorted attributes, one row each).

    ``times`` is how many people hold each record, one unless told. Where whole records are few and
    tables many, records are counted once, and one transform gives all coefficients.
    """
    people = len(records) if times is None else int(times.sum())
    if schema.is_binary and len(schema) <= _MOST_COUNTED and len(tables) > len(schema):
        cells = np.bincount(records.words[:, 0].astype(np.int64), times, minlength=1 << len(schema))
        sums = hadamard(cells[None, :])[0]
        order = tables.shape[1]
        bits = np.int64(1) << schema.layout[:, 1][tables]
        masks = [bits[:, ::-1][:, positions(mask)].sum(axis=1) for mask in range(1 << order)]
        shares: Floats = hadamard(sums[np.stack(masks, axis=1)]) / (people << order)
        return shares
    sizes = [schema.sizes[attribute] for attribute in tables[0]]
    values = {a: true_values(schema, records, a) for a in np.unique(tables).tolist()}
    counts = []
    for members in tables.tolist():
        cell = np.zeros(len(records), np.int64)
        for attribute, size in zip(members, sizes, strict=True):
            cell = cell * size + values[attribute]
        counts.append(np.bincount(cell, times, minlength=prod(sizes)))
    return np.array(counts) / people


def true_values(schema: Schema, records: Records, attribute: int) -> Ints:
    """Return one attribute's value of each record, as tables count them: numbers in bins."""
    codes, own = schema.codes(records, attribute), schema.attributes[attribute]
    return codes if own.scale is None else own.bins[codes]


def predict(
    survey: FrozenSurvey,
    alike: Sequence[Ints],
    truth: Sequence[Floats],
    people: int,
    estimator: str | None = None,
) -> float | None:
    """Return the expected mean distance to the people's own tables, at their cells.

    Tables stand together that have the same sizes. Where there are too many, or too many slots, the
    prediction is for coefficients near 0.
    """
    if not has_formula(survey, estimator):
        return None
    steps = sum(len(part) * part.shape[1] ** (3 if is_symmetric(survey) else 1) for part in truth)
    slots = 0 if is_symmetric(survey) else survey.slots
    if steps > _MOST_STEPS_EXPECTED or slots > _MOST_SLOTS_EXPECTED:
        return predicted_tv(survey, people, estimator)
    evidence, total = decoder_of(survey).expected(people, estimator), 0.0
    for tables, cells in zip(alike, truth, strict=True):
        start = 0
        for chunk in in_chunks(tables, cells.shape[1]):
            part = cells[start : start + len(chunk)]
            start += len(chunk)
            variances = evidence.cell_variances(chunk, part) - part * (1 - part) / people
            total += float(expected_tv(variances).sum())
    return total / sum(map(len, truth))
