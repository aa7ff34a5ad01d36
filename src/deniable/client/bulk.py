"""Many people's reports, made where their records lie: in a frame, or in a stream of batches.

Whoever runs this has the raw data, so it is not local privacy: it is for simulations, and for data
that somebody holds already and wants to hand on as reports. Labels are columns beside the records; a
period that is no column is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import RecordError, ReportError
from deniable.formats.writing import write_whole
from deniable.messages.report import ReportBatch
from deniable.questions.entropy import BLOCK, Key, Stream
from deniable.schema.frames import in_batches, to_arrow
from deniable.schema.labels import PERIOD, either
from deniable.schema.remarks import Remarks
from deniable.schema.schema import Records
from deniable.survey.coefficients import Ints
from deniable.survey.frozen import FrozenSurvey

_FRAME_PART = 16 * BLOCK
_STREAM_PART = 4 * BLOCK
"""Rows of a stream that are held at once."""


def _keep_freed_memory() -> None:
    """Stop glibc from handing a block's arrays back to the system after each block of rows.

    It keeps freed memory up to twice the largest mapped block that it has seen freed. One of 31 MB,
    which is never touched, saves faulting every page in again: about a tenth of a run's time.
    """
    np.empty(31 << 20, np.uint8)


def randomize_frame(survey: FrozenSurvey, frame: Any, key: Key) -> Iterator[tuple[Any, Any]]:
    """Yield the slots and values of a frame's rows, block by block."""
    table, remarks = to_arrow(frame), Remarks(survey.schema)
    _keep_freed_memory()
    for start in range(0, table.num_rows, _FRAME_PART):
        part = table.slice(start, _FRAME_PART)
        records = survey.schema.encode_frame(part)
        remarks.look(part)
        yield from randomize_records(survey, records, key, start)
    remarks.warn(3)


def randomize_records(
    survey: FrozenSurvey, records: Records, key: Key, first_row: int = 0
) -> Iterator[tuple[Ints, NDArray[Any]]]:
    """Yield slots and values for blocks of records; ``first_row`` must begin a block.

    Substreams depend on the key, the survey and the block, so that results do not depend on how a
    larger frame was cut, and no stream is used for two purposes.
    """
    if first_row % BLOCK:
        raise ValueError(f"first_row must be a multiple of {BLOCK}")
    for start in range(0, len(records), BLOCK):
        block = (first_row + start) // BLOCK
        part = records.words[start : start + BLOCK]
        slots = survey.index.draw_many(key.stream(survey.id, "slots", block), len(part))
        yield slots, answer_block(survey, part, slots, key.stream(survey.id, "answers", block))


def answer_block(
    survey: FrozenSurvey, records: NDArray[Any], slots: Ints, stream: Stream
) -> NDArray[Any]:
    """Draw the values that these records report to these slots."""
    if len(survey.families) == 1:
        return survey.families[0].answer.answers(survey.symbols.of(0, records, slots), stream)
    width = survey.packed_bytes
    values = np.zeros((len(slots), width), np.uint8) if width else np.empty(len(slots), int)
    for index, family in enumerate(survey.families):
        rows = np.flatnonzero((slots >= family.start) & (slots < family.stop))
        if not len(rows):
            continue
        symbols = survey.symbols.of(index, records[rows], slots[rows])
        answers = family.answer.answers(symbols, stream)
        if not width:
            values[rows] = answers
            continue
        if answers.ndim == 1:  # few bits, as integers
            answers = answers.astype("<i8").view(np.uint8).reshape(-1, 8)
        length = -(-family.answer.symbols // 8)  # of the bytes that the longest report has
        values[rows, :length] = answers[:, :length]
    return values


def randomize_batches(survey: FrozenSurvey, source: Any, key: Key, *, simulated: bool) -> Any:
    """Return a stream of reports, an Arrow `RecordBatchReader`, for a stream of records.

    In bounded memory, and however the stream is cut, they are those that a frame of its rows gets
    under the same key. At its end a `DeniableWarning` says how many values passed for another.
    """
    import pyarrow as pa

    nothing = np.zeros(0, np.int64), np.zeros((0, survey.packed_bytes), np.uint8)
    values = nothing[1] if survey.packed_bytes else nothing[0]
    empty = ReportBatch(survey.id, nothing[0], values, simulated).to_arrow()
    schema = with_labels(empty, survey, dict.fromkeys(survey.labels.names, nothing[0])).schema

    def reports() -> Iterator[Any]:
        _keep_freed_memory()
        first, remarks = 0, Remarks(survey.schema)
        for part in in_parts(survey, source):
            records = survey.schema.encode_frame(part)
            remarks.look(part)
            labels = labels_of(survey, part, key, first)
            slots, values = zip(*randomize_records(survey, records, key, first), strict=True)
            batch = ReportBatch(survey.id, np.concatenate(slots), np.concatenate(values), simulated)
            yield from with_labels(batch.to_arrow(), survey, labels).to_batches()
            first += len(records)
        remarks.warn()

    return pa.RecordBatchReader.from_batches(schema, reports())


def columns_of(survey: FrozenSurvey, present: Collection[str]) -> list[str]:
    """Return which columns of a frame make its reports: attributes and labels, a period if present."""
    names = [*survey.schema.names, *dict(survey.labels.declared)]
    for name in names:
        if name not in present:
            raise RecordError(f"The frame has no column {name!r}.")
    return [*names, PERIOD] if survey.labels.periods and PERIOD in present else names


def labels_of(
    survey: FrozenSurvey, table: Any, key: Key, first_row: int = 0
) -> dict[str, NDArray[np.int64]]:
    """Return the labels of an Arrow table's rows, each as its position among the declared values.

    A period that the table does not have is drawn, all periods alike, by a substream of its own for
    each block of rows; ``first_row`` must begin a block.
    """
    codes, present = {}, columns_of(survey, table.column_names)
    for name, values in survey.labels.values.items():
        if name not in present:
            parts = [np.zeros(0, np.int64)]
            for start in range(0, table.num_rows, BLOCK):
                stream = key.stream(survey.id, "periods", (first_row + start) // BLOCK)
                parts.append(stream.below(len(values), min(BLOCK, table.num_rows - start)))
            codes[name] = np.concatenate(parts)
        else:
            codes[name] = _label_codes(table.column(name), name, values)
    return codes


def _label_codes(column: Any, name: str, values: tuple[str, ...]) -> NDArray[np.int64]:
    """Return where a column's labels stand among the declared ones; an error repeats none of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind, types = column.type, pa.types
    kind = kind.value_type if types.is_dictionary(kind) else kind
    is_text = kind in (pa.string(), pa.large_string(), pa.string_view(), pa.null())
    if not (is_text or types.is_integer(kind) or types.is_date(kind)):
        raise RecordError(f"Column {name!r} must hold texts, got {kind}.")
    texts = column.cast(kind).cast(pa.large_string())
    codes = pc.index_in(texts, value_set=pa.array(values, pa.large_string()))
    if codes.null_count:
        raise RecordError(
            f"Column {name!r} has labels that are missing or not declared; each must be "
            f"{either(values)}."
        )
    return np.asarray(codes.to_numpy()).astype(np.int64)


def with_labels(reports: Any, survey: FrozenSurvey, labels: dict[str, NDArray[np.int64]]) -> Any:
    """Return an Arrow table of reports with a column of texts for each label."""
    import pyarrow as pa

    for name, values in survey.labels.values.items():
        texts = pa.DictionaryArray.from_arrays(labels[name], pa.array(values, pa.string()))
        reports = reports.append_column(name, texts.dictionary_decode())
    return reports


def in_parts(survey: FrozenSurvey, source: Any) -> Iterator[Any]:
    """Yield the columns of a survey in parts of whole blocks, the last one excepted."""
    import pyarrow as pa

    waiting: list[Any] = []
    rows, before = 0, None
    for table in in_batches(source):
        names = columns_of(survey, table.column_names)
        if names != (before or names):
            raise RecordError(f"Only some parts of the data have a column {PERIOD!r}.")
        before = names
        waiting.append(table.select(names))
        rows += table.num_rows
        if rows < _STREAM_PART:
            continue
        whole = pa.concat_tables(waiting, promote_options="permissive")
        stop = rows - rows % _STREAM_PART
        for start in range(0, stop, _STREAM_PART):
            yield whole.slice(start, _STREAM_PART)
        waiting, rows = [whole.slice(stop)], rows - stop
    if rows:
        yield pa.concat_tables(waiting, promote_options="permissive")


def write_batches(
    reports: Any, path: str | Path, advance: Callable[[int], object] = lambda rows: None
) -> int:
    """Write a stream of reports to a Parquet file, whole or not at all; return how many they were."""
    import pyarrow.parquet as pq

    rows_written = 0

    def write(draft: Path) -> None:
        nonlocal rows_written
        with pq.ParquetWriter(draft, reports.schema) as file:
            for batch in reports:
                file.write_batch(batch)
                rows_written += batch.num_rows
                advance(batch.num_rows)

    write_whole(path, write, ReportError)
    return rows_written
