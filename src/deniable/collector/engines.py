"""One GROUP BY on any frame: reports are counted where they lie.

Frames go through narwhals (pandas, polars, Arrow, DuckDB relations), files through DuckDB, which
reads more than memory holds. Values that no GROUP BY can sum (packed unary reports) are folded from
Arrow batches.
"""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from deniable.client.wire import Report, ReportBatch, check_survey, is_simulated
from deniable.collector.tally import Counter, Counts, count_batch
from deniable.errors import ReportError
from deniable.mechanisms.base import Mechanism

__all__ = ["count_reports"]

_UNREADABLE = "The files of reports cannot be read to their end; check each one."


def count_reports(mechanism: Mechanism, reports: Any) -> Counts:
    """Return the tally of a batch, a list, a frame, a path or several paths of reports."""
    if isinstance(reports, ReportBatch):
        return count_batch(mechanism, reports)
    if isinstance(reports, list | tuple) and all(isinstance(r, Report) for r in reports):
        batch = ReportBatch.of(mechanism.id, reports, mechanism.packed_bytes)
        return count_batch(mechanism, batch)
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
    from narwhals.exceptions import DuplicateError

    metadata = frame.schema.metadata if isinstance(frame, pa.Table) else None
    check_survey(metadata, mechanism.id)
    try:
        lazy = nw.from_native(frame).lazy()
    except TypeError:
        raise ReportError(
            "Reports must be a batch, a list of them, a frame or paths of Parquet files, "
            f"got {type(frame).__name__}."
        ) from None
    except DuplicateError:
        raise ReportError("The frame of reports has two columns of the same name.") from None
    names = lazy.collect_schema().names()
    if not {"slot", "value"} <= set(names):
        raise ReportError("A frame of reports must have the columns slot and value.")
    width = mechanism.packed_bytes
    if width:
        table = lazy.select("slot", "value").collect("pyarrow").to_native()
        return count_batch(mechanism, ReportBatch.from_arrow(table, mechanism.id, width))
    grouped = lazy.group_by("slot", "value").agg(nw.len().alias("count")).collect("pyarrow")
    return _from_groups(mechanism, grouped.to_native(), is_simulated(metadata))


def _count_files(mechanism: Mechanism, paths: list[Path]) -> Counts:
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq

    simulated, width = False, mechanism.packed_bytes
    for path in paths:
        try:
            schema = pq.read_schema(path)
        except FileNotFoundError:
            raise ReportError(f"There is no file {path.name}.") from None
        except (pa.ArrowException, OSError):
            raise ReportError(f"{path.name} is not a Parquet file, or it is cut short.") from None
        if (schema.names.count("slot"), schema.names.count("value")) != (1, 1):
            raise ReportError(f"{path.name} has no columns slot and value: it holds no reports.")
        for name in ("slot",) if width else ("slot", "value"):  # DuckDB would convert others
            if not pa.types.is_integer(schema.field(name).type):
                raise ReportError(
                    f"The column {name} of {path.name} must hold integers, "
                    f"got {schema.field(name).type}."
                )
        check_survey(schema.metadata, mechanism.id)
        simulated |= is_simulated(schema.metadata)
    if width:
        counter = Counter(mechanism)
        try:
            for path in paths:
                with pq.ParquetFile(path) as file:
                    for part in file.iter_batches(columns=["slot", "value"]):
                        table = pa.Table.from_batches([part])
                        batch = ReportBatch.from_arrow(table, mechanism.id, width)
                        counter.add(batch.slots, batch.values)
        except (pa.ArrowException, OSError):
            raise ReportError(_UNREADABLE) from None
        return counter.counts(simulated=simulated)
    # A name is a name: neither a pattern of names, nor a statement about columns (slot=3/day.parquet).
    query = (
        "SELECT slot, value, count(*) AS count "
        "FROM read_parquet(?, hive_partitioning = false) GROUP BY slot, value"
    )
    try:
        with duckdb.connect() as connection:
            files = [[glob.escape(str(path)) for path in paths]]
            grouped = connection.sql(query, params=files).to_arrow_table()
    except duckdb.Error:
        raise ReportError(_UNREADABLE) from None
    return _from_groups(mechanism, grouped, simulated)


def _from_groups(mechanism: Mechanism, grouped: Any, simulated: bool) -> Counts:
    batch = ReportBatch.from_arrow(grouped.replace_schema_metadata(None), mechanism.id)
    counter = Counter(mechanism)
    counter.add(batch.slots, batch.values, np.asarray(grouped["count"].to_numpy()).astype(np.int64))
    return counter.counts(simulated=simulated)
