"""One GROUP BY on any frame: reports are counted where they lie.

Frames go through narwhals (pandas, polars, Arrow, DuckDB, Spark), so that one expression is pushed
down to each engine; streams and datasets of Arrow go through DuckDB, and so do files, unless another
engine is named. What comes back is small: a count for each slot and value, on which validity is judged.
Values that no GROUP BY can sum (packed unary reports) are folded batch by batch, in Spark by its
executors.
"""

from __future__ import annotations

import glob
import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.client.wire import Marks, Report, ReportBatch, packed_rows
from deniable.collector.files import find, inspect
from deniable.collector.tally import REFUSALS, Counter, Counts, count_batch, merge, refuse
from deniable.errors import ReportError
from deniable.mechanisms.base import Mechanism
from deniable.mechanisms.registry import read_survey
from deniable.questions.frames import in_batches

__all__ = ["ENGINES", "Progress", "count_reports"]

ENGINES = ("duckdb", "polars", "spark")
"""What may read files."""

Progress = Callable[[int, int], None]
"""Is told, now and then, how many of how many reports are read."""

_UNREADABLE = "The reports cannot be read to their end."


def count_reports(
    mechanism: Mechanism,
    reports: Any,
    *,
    invalid: str = "refuse",
    engine: str = "duckdb",
    progress: Progress | None = None,
) -> Counts:
    """Return the tally of a batch, a list, a frame, a stream, or files of reports.

    ``invalid="refuse"`` takes all reports or none; ``"drop"`` leaves out those that the survey cannot
    have got, and says in ``refused`` how many they were.
    """
    if invalid not in ("refuse", "drop"):
        raise ReportError(f"invalid must be 'refuse' or 'drop', got {invalid!r}.")
    if engine not in ENGINES:
        raise ReportError(f"The engine must be one of {', '.join(ENGINES)}, got {engine!r}.")
    if isinstance(reports, list | tuple) and all(isinstance(r, Report) for r in reports):
        reports = ReportBatch.of(mechanism.id, reports, mechanism.packed_bytes)
    names = [reports] if isinstance(reports, str | Path) else reports
    if isinstance(names, Sequence) and names and all(isinstance(n, str | Path) for n in names):
        made = _count_files(mechanism, find(names), invalid, engine, progress)
    elif isinstance(reports, ReportBatch):
        marks = Marks(reports.survey, reports.simulated)
        if _is_ours(mechanism, marks, invalid):
            made = count_batch(mechanism, reports)
        else:
            made = _foreign(mechanism, len(reports))
    else:
        made = _count_frame(mechanism, reports, invalid)
    if invalid == "refuse":
        refuse(made)
    return made


def _is_ours(mechanism: Mechanism, marks: Marks, invalid: str) -> bool:
    """Tell whether reports may belong to the survey, by what they say about themselves."""
    if invalid == "refuse":
        marks.check(mechanism.id)
    return marks.survey in (None, mechanism.id)


def _foreign(mechanism: Mechanism, reports: int) -> Counts:
    """Return the tally of reports that all belong to another survey."""
    none = np.zeros(0, np.int64)
    refused = {"other survey": reports} if reports else {}
    return Counts(mechanism, none, none, none, refused=refused)


@contextmanager
def _reading() -> Iterator[None]:
    """Say that reports cannot be read, whatever each engine says."""
    try:
        yield
    except (ReportError, MemoryError):
        raise
    except Exception as error:
        raise ReportError(_UNREADABLE) from error


# Frames


def _count_frame(mechanism: Mechanism, frame: Any, invalid: str) -> Counts:
    import duckdb
    import narwhals as nw
    import pyarrow as pa
    import pyarrow.dataset as ds
    from narwhals.exceptions import DuplicateError

    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    marks = Marks()
    is_stream = isinstance(frame, pa.RecordBatchReader | ds.Dataset)
    if isinstance(frame, ds.FileSystemDataset):
        marks = _dataset_marks(mechanism, frame)
    elif is_stream or isinstance(frame, pa.Table):
        marks = Marks.read(frame.schema.metadata)
    with ExitStack() as opened:
        try:
            if is_stream:
                frame = opened.enter_context(duckdb.connect()).from_arrow(frame)
            lazy = nw.from_native(frame).lazy()
            schema = lazy.collect_schema()
        except TypeError:
            raise ReportError(
                "Reports must be a batch, a list of them, a frame, or names of Parquet files, "
                f"got {type(frame).__name__}."
            ) from None
        except DuplicateError:
            raise ReportError("The frame of reports has two columns of the same name.") from None
        if not {"slot", "value"} <= set(schema.names()):
            raise ReportError("A frame of reports must have the columns slot and value.")
        for name in ("slot",) if mechanism.packed_bytes else ("slot", "value"):
            if not schema[name].is_integer():
                raise ReportError(f"The column {name} must hold integers, got {schema[name]}.")
        if _is_spark(lazy):
            marks = _spark_marks(frame)
        with _reading():
            if _is_ours(mechanism, marks, invalid):
                return _count_lazy(mechanism, lazy, simulated=marks.simulated)
            return _foreign(mechanism, lazy.select(nw.len()).collect("pyarrow").item())


def _dataset_marks(mechanism: Mechanism, dataset: Any) -> Marks:
    """Return the marks of a dataset's files, of which its schema shows the first one's only."""
    with _reading():
        schemas = (dataset.format.inspect(file, dataset.filesystem) for file in dataset.files)
        every = {Marks.read(schema.metadata) for schema in schemas}
    others = {marks.survey for marks in every} - {None, mechanism.id}
    if others and any(marks.survey not in others for marks in every):
        raise ReportError(
            "The dataset holds reports to another survey as well; name its files instead of it."
        )
    survey = next(iter(others), mechanism.id)
    return Marks(survey, any(marks.simulated for marks in every))


def _count_lazy(mechanism: Mechanism, lazy: Any, *, simulated: bool) -> Counts:
    """Count a lazy narwhals frame where it lies."""
    import narwhals as nw

    keys = [name for name in ("slot", "value", "survey") if name in lazy.collect_schema().names()]
    lazy = lazy.select(*keys)
    streaming = {"engine": "streaming"} if lazy.implementation.is_polars() else {}
    if mechanism.packed_bytes and _is_spark(lazy):
        return _fold_in_spark(mechanism, lazy.to_native(), simulated=simulated)
    counter = Counter(mechanism)
    if mechanism.packed_bytes:
        for table in in_batches(lazy.to_native()):
            _add(counter, table)
    else:
        counted = lazy.group_by(*keys).agg(nw.len().alias("count"))
        _add(counter, counted.collect("pyarrow", **streaming).to_native())
    return counter.counts(simulated=simulated, invalid="drop")


def _add(counter: Counter, table: Any) -> None:
    """Add an Arrow table of reports, or of groups with their counts, and sort out what is wrong."""
    import pyarrow.compute as pc

    mechanism = counter.mechanism
    counts = None
    if "count" in table.column_names:
        counts = _integers(table["count"])
    slots, lacking = _integers(table["slot"]), _nulls(table["slot"]) | _nulls(table["value"])
    width = mechanism.packed_bytes
    values: NDArray[Any]
    if width:
        values, fits = packed_rows(table["value"], width)
    else:
        values, fits = _integers(table["value"]), np.ones(len(slots), np.bool_)
    foreign = np.zeros(len(slots), np.bool_)
    if "survey" in table.column_names:
        same = pc.equal(_text(table["survey"]), mechanism.id).fill_null(False)
        foreign = ~np.asarray(same.to_numpy(), np.bool_)
    counter.refuse("other survey", foreign, counts)
    counter.refuse("missing", lacking & ~foreign, counts)
    kept = ~(foreign | lacking)
    unfit = kept & ~fits
    if unfit.any():  # of a slot that there is, or not
        unknown = (slots < 0) | (slots >= mechanism.slots)
        counter.refuse("unknown slot", unfit & unknown, counts)
        counter.refuse("impossible value", unfit & ~unknown, counts)
        kept &= fits
    if kept.all():
        counter.add(slots, values, counts)
    else:
        counter.add(slots[kept], values[kept], None if counts is None else counts[kept])


def _integers(column: Any) -> NDArray[np.int64]:
    """Return a column as int64; what that does not hold turns negative, and is refused as that."""
    filled = column.fill_null(0) if column.null_count else column
    made: NDArray[np.int64] = np.asarray(filled.to_numpy()).astype(np.int64, copy=False)
    return made


def _nulls(column: Any) -> NDArray[np.bool_]:
    if not column.null_count:
        return np.zeros(len(column), np.bool_)
    return np.asarray(column.is_null().to_numpy(), np.bool_)


def _text(column: Any) -> Any:
    import pyarrow as pa

    try:
        return column.cast(pa.string())
    except pa.ArrowException:
        raise ReportError("The column survey must hold the ids of surveys.") from None


# Files


def _count_files(
    mechanism: Mechanism, paths: list[Path], invalid: str, engine: str, progress: Progress | None
) -> Counts:
    files = [inspect(path, packed=mechanism.packed_bytes > 0) for path in paths]
    ours = [file for file in files if _is_ours(mechanism, file.marks, invalid)]
    total = sum(file.reports for file in ours)
    made = _foreign(mechanism, sum(file.reports for file in files) - total)
    done = 0
    # Files whose columns differ in type are read apart: an engine would take the first one's for all.
    for _, alike in groupby(sorted(ours, key=lambda f: f.types), key=lambda f: f.types):
        group = list(alike)
        reports = sum(file.reports for file in group)

        def tell(share: float, done: int = done, reports: int = reports) -> None:
            if progress:
                progress(done + int(share * reports), total)

        with _reading(), _READERS[engine]([file.path for file in group], tell) as lazy:
            simulated = any(file.marks.simulated for file in group)
            counts = _count_lazy(mechanism, lazy, simulated=simulated)
        if counts.people + sum(counts.refused.values()) != reports:
            raise ReportError(_UNREADABLE)
        made, done = made + counts, done + reports
        tell(1.0)
    return made


@contextmanager
def _read_by_duckdb(paths: list[Path], tell: Callable[[float], None]) -> Iterator[Any]:
    import duckdb
    import narwhals as nw

    # A name is a name: neither a pattern, nor a statement about columns (slot=3/day.parquet).
    names = [glob.escape(str(path)) for path in paths]
    with tempfile.TemporaryDirectory() as spill, duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
        connection.execute("SET temp_directory = ?", [spill])
        query = "FROM read_parquet(?, hive_partitioning = false)"
        relation = connection.sql(query, params=[names])
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(0.1):
                tell(max(0.0, connection.query_progress() / 100))

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield nw.from_native(relation).lazy()
        finally:
            ended.set()
            watcher.join()


@contextmanager
def _read_by_polars(paths: list[Path], tell: Callable[[float], None]) -> Iterator[Any]:
    import narwhals as nw

    try:
        import polars as pl
    except ImportError:
        raise ReportError("The engine polars is not installed: pip install polars.") from None
    yield nw.from_native(pl.scan_parquet(paths, glob=False, hive_partitioning=False))


@contextmanager
def _read_by_spark(paths: list[Path], tell: Callable[[float], None]) -> Iterator[Any]:
    import narwhals as nw

    from deniable.client.spark import local_session

    # A name is a name, here too.
    names = [re.sub(r"([\\\[\]{}*?])", r"\\\1", str(path.absolute())) for path in paths]
    yield nw.from_native(local_session().read.parquet(*names))


_READERS = {"duckdb": _read_by_duckdb, "polars": _read_by_polars, "spark": _read_by_spark}


# Spark


def _is_spark(lazy: Any) -> bool:
    engine = lazy.implementation
    return bool(engine.is_pyspark() or engine.is_pyspark_connect())


def _spark_marks(frame: Any) -> Marks:
    """Return the marks of a Spark frame, which its column of slots carries."""
    held = frame.schema["slot"].metadata
    return Marks.read({name.encode(): str(mark).encode() for name, mark in held.items()})


def _fold_in_spark(mechanism: Mechanism, frame: Any, *, simulated: bool) -> Counts:
    """Fold packed reports where they lie: every partition sends its counts."""
    survey = mechanism.canonical()

    def fold(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        counter = Counter(read_survey(survey))
        for batch in batches:
            _add(counter, pa.Table.from_batches([batch]))
        made = counter.counts(invalid="drop")
        yield pa.record_batch({"slot": made.slot, "value": made.value, "count": made.count})
        left_out = [(-1, REFUSALS.index(reason), n) for reason, n in made.refused.items()]
        if left_out:
            rows = np.array(left_out, np.int64).T
            yield pa.record_batch(dict(zip(("slot", "value", "count"), rows, strict=True)))

    folded = frame.mapInArrow(fold, "slot long, value long, count long")
    table = folded.groupBy("slot", "value").sum("count").toArrow()
    slot, value, count = map(_integers, table.columns)
    slot, value, count = merge([(slot, value, count)])
    kept = slot >= 0
    refused = zip(value[~kept].tolist(), count[~kept].tolist(), strict=True)
    return Counts(
        mechanism,
        slot[kept],
        value[kept],
        count[kept],
        simulated,
        {REFUSALS[reason]: n for reason, n in refused},
    )
