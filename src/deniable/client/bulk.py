"""Many people's reports, made where their records lie: in a frame, or in a stream of batches.

Whoever runs this has the raw data, so it is not local privacy: it is for simulations, and for data
that somebody holds already and wants to hand on as reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from deniable.client.wire import ReportBatch, write_whole
from deniable.errors import RecordError, ReportError
from deniable.mechanisms.base import Mechanism
from deniable.questions.entropy import BLOCK, Key
from deniable.questions.frames import in_batches, to_arrow
from deniable.questions.schema import Schema

__all__ = ["randomize_batches", "randomize_frame", "write_batches"]

_FRAME_PART = 16 * BLOCK
_STREAM_PART = 4 * BLOCK
"""Rows of a stream that are held at once."""


def _keep_freed_memory() -> None:
    """Stop glibc from handing a block's arrays back to the system after each block of rows.

    It keeps freed memory up to twice the largest mapped block that it has seen freed. One of 31 MB,
    which is never touched, saves faulting every page in again: about a tenth of a run's time.
    """
    np.empty(31 << 20, np.uint8)


def randomize_frame(mechanism: Mechanism, frame: Any, key: Key) -> Iterator[tuple[Any, Any]]:
    """Yield the slots and values of a frame's rows, block by block."""
    table = to_arrow(frame)
    _keep_freed_memory()
    for start in range(0, table.num_rows, _FRAME_PART):
        records = mechanism.schema.encode_frame(table.slice(start, _FRAME_PART))
        yield from mechanism.randomize(records, key, start)


def randomize_batches(mechanism: Mechanism, source: Any, key: Key, *, simulated: bool) -> Any:
    """Return a stream of reports, an Arrow `RecordBatchReader`, for a stream of records.

    In bounded memory, and however the stream is cut, they are those that a frame of its rows gets
    under the same key.
    """
    import pyarrow as pa

    nothing = np.zeros(0, np.int64), np.zeros((0, mechanism.packed_bytes), np.uint8)
    values = nothing[1] if mechanism.packed_bytes else nothing[0]
    schema = ReportBatch(mechanism.id, nothing[0], values, simulated).to_arrow().schema

    def reports() -> Iterator[Any]:
        _keep_freed_memory()
        first = 0
        for part in in_parts(mechanism.schema, source):
            records = mechanism.schema.encode_frame(part)
            slots, values = zip(*mechanism.randomize(records, key, first), strict=True)
            made = ReportBatch(
                mechanism.id, np.concatenate(slots), np.concatenate(values), simulated
            )
            yield from made.to_arrow().to_batches()
            first += len(records)

    return pa.RecordBatchReader.from_batches(schema, reports())


def in_parts(schema: Schema, source: Any) -> Iterator[Any]:
    """Yield the columns of a survey in parts of whole blocks, the last one excepted."""
    import pyarrow as pa

    waiting: list[Any] = []
    rows = 0
    for table in in_batches(source):
        absent = [name for name in schema.names if name not in table.column_names]
        if absent:
            raise RecordError(f"The frame has no column {absent[0]!r}.")
        waiting.append(table.select(list(schema.names)))
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

    written = 0

    def write(draft: Path) -> None:
        nonlocal written
        with pq.ParquetWriter(draft, reports.schema) as file:
            for batch in reports:
                file.write_batch(batch)
                written += batch.num_rows
                advance(batch.num_rows)

    write_whole(path, write, ReportError)
    return written
