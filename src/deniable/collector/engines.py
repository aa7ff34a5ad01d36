"""One GROUP BY on any frame: reports are counted where they lie.

Frames go through narwhals (pandas, polars, Arrow, DuckDB relations), files through DuckDB, which
reads more than memory holds. Values that no GROUP BY can sum (packed unary reports) are folded from
Arrow batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from deniable.client.wire import ReportBatch, check_survey, is_simulated, packed_width
from deniable.collector.tally import Counter, Counts, count_batch
from deniable.errors import ReportError
from deniable.mechanisms.base import Mechanism

__all__ = ["count_reports"]


def count_reports(mechanism: Mechanism, reports: Any) -> Counts:
    """Return the tally of a batch, a frame, a path or several paths of reports."""
    if isinstance(reports, ReportBatch):
        return count_batch(mechanism, reports)
    if isinstance(reports, str | Path):
        return _count_files(mechanism, [Path(reports)])
    if (
        isinstance(reports, Sequence)
        and reports
        and all(isinstance(r, str | Path) for r in reports)
    ):
        return _count_files(mechanism, [Path(r) for r in reports])
    return _count_frame(mechanism, reports)


def _count_frame(mechanism: Mechanism, frame: Any) -> Counts:
    import narwhals as nw
    import pyarrow as pa

    metadata = frame.schema.metadata if isinstance(frame, pa.Table) else None
    check_survey(metadata, mechanism.id)
    try:
        lazy = nw.from_native(frame).lazy()
    except TypeError:
        raise ReportError(
            f"Reports must be a batch, a frame or paths of Parquet files, got {type(frame).__name__}."
        ) from None
    names = lazy.collect_schema().names()
    if not {"slot", "value"} <= set(names):
        raise ReportError("A frame of reports must have the columns slot and value.")
    width = _packed(mechanism)
    if width:
        table = lazy.select("slot", "value").collect("pyarrow").to_native()
        return count_batch(mechanism, ReportBatch.from_arrow(table, mechanism.id, width))
    grouped = lazy.group_by("slot", "value").agg(nw.len().alias("count")).collect("pyarrow")
    return _from_groups(mechanism, grouped.to_native(), is_simulated(metadata))


def _count_files(mechanism: Mechanism, paths: list[Path]) -> Counts:
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq

    simulated = False
    for path in paths:
        try:
            schema = pq.read_schema(path)
        except FileNotFoundError:
            raise ReportError(f"There is no file {path.name}.") from None
        except (pa.ArrowException, OSError):
            raise ReportError(f"{path.name} is not a Parquet file, or it is cut short.") from None
        if not {"slot", "value"} <= set(schema.names):
            raise ReportError(f"{path.name} has no columns slot and value: it holds no reports.")
        check_survey(schema.metadata, mechanism.id)
        simulated |= is_simulated(schema.metadata)
    width = _packed(mechanism)
    if width:
        counter = Counter(mechanism)
        for path in paths:
            for part in pq.ParquetFile(path).iter_batches(columns=["slot", "value"]):
                table = pa.Table.from_batches([part])
                batch = ReportBatch.from_arrow(table, mechanism.id, width)
                counter.add(batch.slots, batch.values)
        return counter.counts(simulated=simulated)
    query = "SELECT slot, value, count(*) AS count FROM read_parquet(?) GROUP BY slot, value"
    try:
        with duckdb.connect() as connection:
            files = [[str(path) for path in paths]]
            grouped = connection.sql(query, params=files).to_arrow_table()
    except duckdb.Error:
        raise ReportError("The files of reports cannot be read together; check each one.") from None
    return _from_groups(mechanism, grouped, simulated)


def _packed(mechanism: Mechanism) -> int:
    return max(packed_width(family.answer) for family in mechanism.families)


def _from_groups(mechanism: Mechanism, grouped: Any, simulated: bool) -> Counts:
    batch = ReportBatch.from_arrow(grouped.replace_schema_metadata(None), mechanism.id)
    counter = Counter(mechanism)
    counter.add(batch.slots, batch.values, np.asarray(grouped["count"].to_numpy()).astype(np.int64))
    return counter.counts(simulated=simulated)
