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
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.collector.builder import GroupTallyBuilder, nothing, tally_of_batch
from deniable.collector.files import find, inspect
from deniable.collector.tally import TallyCounts, merge, refuse
from deniable.collector.tally_file import REFUSALS
from deniable.collector.validity import IMPOSSIBLE_VALUE, UNKNOWN_SLOT, unknown_slots
from deniable.errors import ReportError, TallyError
from deniable.messages.modes import Engine, Invalid, check_choice
from deniable.messages.report import Provenance, Report, ReportBatch, packed_rows
from deniable.schema.frames import in_batches
from deniable.schema.labels import Labels
from deniable.survey.format import read_survey
from deniable.survey.frozen import FrozenSurvey

Progress = Callable[[int, int], None]
"""Is told, now and then, how many of how many reports are read."""

_TOGETHER = Labels()
"""No labels: all reports are one group."""

_UNREADABLE = "The reports cannot be read to their end."


def count_reports(survey: FrozenSurvey, reports: Any, **options: Any) -> TallyCounts:
    """Return the tally of reports, as `count_groups` takes them, all groups together."""
    return TallyCounts.total(survey, count_groups(survey, reports, _TOGETHER, **options))


def count_groups(
    survey: FrozenSurvey,
    reports: Any,
    by: Labels,
    *,
    invalid: str = "refuse",
    engine: str = "duckdb",
    progress: Progress | None = None,
) -> list[TallyCounts]:
    """Return the tallies of a batch, a list, a frame, a stream, or files of reports.

    There is one for each group by these labels, and one of no group that notes what was left out.
    ``invalid="refuse"`` takes all reports or none; ``"drop"`` leaves out those that the survey cannot
    have got, and says in ``refused`` how many they were.
    """
    check_choice("invalid", invalid, Invalid, ReportError)
    check_choice("engine", engine, Engine, ReportError)
    if isinstance(reports, list | tuple) and all(isinstance(r, Report) for r in reports):
        reports = ReportBatch.of(survey.id, reports, survey.packed_bytes)
    names = [reports] if isinstance(reports, str | Path) else reports
    if isinstance(names, Sequence) and names and all(isinstance(n, str | Path) for n in names):
        tallies = _count_files(survey, by, find(names), invalid, engine, progress)
    elif isinstance(reports, ReportBatch) and not by and not reports.labels:
        provenance = Provenance(reports.survey, reports.simulated)
        if _is_ours(survey, provenance, invalid):
            tallies = [tally_of_batch(survey, reports)]
        else:
            tallies = [_foreign(survey, len(reports))]
    else:
        if isinstance(reports, ReportBatch):
            reports = _with_label_columns(survey, by, reports).to_arrow()
        tallies = _count_frame(survey, by, reports, invalid)
    if invalid == "refuse":
        refuse(TallyCounts.total(survey, tallies))
    return tallies


def _with_label_columns(survey: FrozenSurvey, by: Labels, batch: ReportBatch) -> ReportBatch:
    """Return a batch with all declared labels that it has or is counted by; none is a label unknown."""
    unknown = np.full(len(batch), None, object)
    names = [n for n in survey.labels.names if n in batch.labels or n in by.names]
    return replace(batch, labels={name: batch.labels.get(name, unknown) for name in names})


def _is_ours(survey: FrozenSurvey, provenance: Provenance, invalid: str) -> bool:
    """Tell whether reports may belong to the survey, by what they say about themselves."""
    if invalid == "refuse":
        provenance.check(survey.id)
    return provenance.survey in (None, survey.id)


def _foreign(survey: FrozenSurvey, reports: int) -> TallyCounts:
    return nothing(survey, {"other survey": reports} if reports else {})


@contextmanager
def _reading() -> Iterator[None]:
    """Say that reports cannot be read, whatever each engine says."""
    try:
        yield
    except (ReportError, TallyError, MemoryError):
        raise
    except Exception as error:
        raise ReportError(_UNREADABLE) from error


# Frames


def _count_frame(survey: FrozenSurvey, by: Labels, frame: Any, invalid: str) -> list[TallyCounts]:
    import duckdb
    import narwhals as nw
    import pyarrow as pa
    import pyarrow.dataset as ds
    from narwhals.exceptions import DuplicateError

    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    provenance = Provenance()
    is_stream = isinstance(frame, pa.RecordBatchReader | ds.Dataset)
    if isinstance(frame, ds.FileSystemDataset):
        provenance = _dataset_provenance(survey, frame)
    elif is_stream or isinstance(frame, pa.Table):
        provenance = Provenance.read(frame.schema.metadata)
    with ExitStack() as stack:
        try:
            if is_stream:
                frame = stack.enter_context(duckdb.connect()).from_arrow(frame)
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
        for name in ("slot",) if survey.packed_bytes else ("slot", "value"):
            if not schema[name].is_integer():
                raise ReportError(f"The column {name} must hold integers, got {schema[name]}.")
        for name in by.names:
            if name not in schema.names():
                raise ReportError(f"To be counted by {name}, reports need a column of that name.")
        for name in survey.labels.names:
            if name in schema.names() and not isinstance(
                schema[name], nw.String | nw.Categorical | nw.Enum
            ):
                raise ReportError(f"The column {name} must hold texts, got {schema[name]}.")
        if _is_spark(lazy):
            provenance = _spark_provenance(frame)
        with _reading():
            if _is_ours(survey, provenance, invalid):
                return _count_lazy(survey, by, lazy, simulated=provenance.simulated)
            return [_foreign(survey, lazy.select(nw.len()).collect("pyarrow").item())]


def _dataset_provenance(survey: FrozenSurvey, dataset: Any) -> Provenance:
    """Return the provenance of a dataset's files; its schema shows that of the first one only."""
    with _reading():
        schemas = (dataset.format.inspect(file, dataset.filesystem) for file in dataset.files)
        every = {Provenance.read(schema.metadata) for schema in schemas}
    others = {provenance.survey for provenance in every} - {None, survey.id}
    if others and any(provenance.survey not in others for provenance in every):
        raise ReportError(
            "The dataset holds reports to another survey as well; name its files instead of it."
        )
    return Provenance(
        next(iter(others), survey.id), any(provenance.simulated for provenance in every)
    )


def _count_lazy(
    survey: FrozenSurvey, by: Labels, lazy: Any, *, simulated: bool
) -> list[TallyCounts]:
    import narwhals as nw

    lazy = _with_labels(survey, by, lazy)
    streaming = {"engine": "streaming"} if lazy.implementation.is_polars() else {}
    if survey.packed_bytes and _is_spark(lazy):
        return _fold_in_spark(survey, by, lazy.to_native(), simulated=simulated)
    builder = GroupTallyBuilder(survey, by)
    if survey.packed_bytes:
        for table in in_batches(lazy.to_native()):
            _add(builder, table)
    else:
        rows = lazy.group_by(*lazy.collect_schema().names()).agg(nw.len().alias("count"))
        _add(builder, rows.collect("pyarrow", **streaming).to_native())
    return builder.tallies(simulated=simulated)


def _with_labels(survey: FrozenSurvey, by: Labels, lazy: Any) -> Any:
    """Select the columns that matter: a column for each label that is counted by, one for all others.

    ``label_0`` and so on hold labels, whatever these are called; ``is_declared`` tells whether the
    labels by which nothing is counted are declared ones.
    """
    import narwhals as nw

    schema = lazy.collect_schema()

    def text(name: str) -> Any:
        return nw.col(name) if schema[name] == nw.String else nw.col(name).cast(nw.String)

    keys = [name for name in ("slot", "value", "survey") if name in schema.names()]
    labels = [text(name).alias(f"label_{index}") for index, name in enumerate(by.names)]
    are_declared = [
        text(name).is_in(values)
        for name, values in survey.labels.values.items()
        if name in schema.names() and name not in by.names
    ]
    if are_declared:
        labels.append(nw.all_horizontal(*are_declared, ignore_nulls=False).alias("is_declared"))
    return lazy.select(*keys, *labels)


def _add(builder: GroupTallyBuilder, table: Any) -> None:
    """Add an Arrow table of reports, or of groups with their counts, and sort out what is wrong."""
    import pyarrow.compute as pc

    survey, judge = builder.judge.survey, builder.judge
    counts = None
    if "count" in table.column_names:
        counts = _integers(table["count"])
    slots = _integers(table["slot"])
    is_lacking = _nulls(table["slot"]) | _nulls(table["value"])
    width = survey.packed_bytes
    values: NDArray[Any]
    if width:
        values, fits = packed_rows(table["value"], width)
    else:
        values, fits = _integers(table["value"]), np.ones(len(slots), np.bool_)
    is_foreign = np.zeros(len(slots), np.bool_)
    if "survey" in table.column_names:
        same = pc.equal(_text(table["survey"]), survey.id).fill_null(False)
        is_foreign = ~np.asarray(same.to_numpy(), np.bool_)
    judge.refuse("other survey", is_foreign, counts)
    judge.refuse("missing", is_lacking & ~is_foreign, counts)
    is_whole = ~(is_foreign | is_lacking)
    unfit = is_whole & ~fits
    if unfit.any():  # of a slot that there is, or not
        is_unknown = unknown_slots(survey, slots)
        judge.refuse(UNKNOWN_SLOT, unfit & is_unknown, counts)
        judge.refuse(IMPOSSIBLE_VALUE, unfit & ~is_unknown, counts)
        is_whole &= fits
    groups = _groups(builder.by, table)
    if not is_whole.all():
        slots, values = slots[is_whole], values[is_whole]
        counts = None if counts is None else counts[is_whole]
        groups = None if groups is None else groups[is_whole]
    builder.add(slots, values, counts, groups)


def _groups(by: Labels, table: Any) -> NDArray[np.int64] | None:
    """Return the number of each row's group, -1 where a label is not declared; none without labels."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not by and "is_declared" not in table.column_names:
        return None
    groups = np.zeros(table.num_rows, np.int64)
    is_unknown = np.zeros(table.num_rows, np.bool_)
    for index, addends in enumerate(by.addends.values()):
        column = table[f"label_{index}"].cast(pa.string())
        indices = pc.index_in(column, pa.array(list(addends), pa.string()))
        is_unknown |= _nulls(indices)
        groups += np.array(list(addends.values()))[_integers(indices)]
    if "is_declared" in table.column_names:
        is_unknown |= ~np.asarray(table["is_declared"].fill_null(False).to_numpy(), np.bool_)
    groups[is_unknown] = -1
    return groups


def _integers(column: Any) -> NDArray[np.int64]:
    """Return a column as int64; what that does not hold turns negative, and is refused as that."""
    column = column.fill_null(0) if column.null_count else column
    integers: NDArray[np.int64] = np.asarray(column.to_numpy()).astype(np.int64, copy=False)
    return integers


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
    survey: FrozenSurvey,
    by: Labels,
    paths: list[Path],
    invalid: str,
    engine: str,
    progress: Progress | None,
) -> list[TallyCounts]:
    files = [inspect(path, survey, by) for path in paths]
    ours = [file for file in files if _is_ours(survey, file.provenance, invalid)]
    total = sum(file.reports for file in ours)
    tallies = [_foreign(survey, sum(file.reports for file in files) - total)]
    reports_read = 0
    # Files whose columns differ in type are read apart: an engine would take the first one's for all.
    for _, alike in groupby(sorted(ours, key=lambda f: f.types), key=lambda f: f.types):
        group = list(alike)
        reports = sum(file.reports for file in group)

        def tell(share: float, reports_read: int = reports_read, reports: int = reports) -> None:
            if progress:
                progress(reports_read + int(share * reports), total)

        with _reading(), _READERS[engine]([file.path for file in group], tell) as lazy:
            simulated = any(file.provenance.simulated for file in group)
            parts = _count_lazy(survey, by, lazy, simulated=simulated)
        if sum(part.people + sum(part.refused.values()) for part in parts) != reports:
            raise ReportError(_UNREADABLE)
        tallies, reports_read = tallies + parts, reports_read + reports
        tell(1.0)
    return tallies


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
        end = threading.Event()

        def watch() -> None:
            while not end.wait(0.1):
                tell(max(0.0, connection.query_progress() / 100))

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield nw.from_native(relation).lazy()
        finally:
            end.set()
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


def _spark_provenance(frame: Any) -> Provenance:
    """Return the provenance of a Spark frame, which its column of slots carries."""
    metadata = frame.schema["slot"].metadata
    return Provenance.read({name.encode(): str(text).encode() for name, text in metadata.items()})


def _fold_in_spark(
    survey: FrozenSurvey, by: Labels, frame: Any, *, simulated: bool
) -> list[TallyCounts]:
    """Fold packed reports where they lie: every partition sends its counts."""
    text = survey.canonical()
    columns = ("group", "slot", "value", "count")

    def fold(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        builder = GroupTallyBuilder(read_survey(text), by)
        for batch in batches:
            _add(builder, pa.Table.from_batches([batch]))
        for group, part in builder.builders.items():
            slot, value, count = part.rows()
            rows = np.full(len(slot), group), slot, value, count
            yield pa.record_batch(dict(zip(columns, rows, strict=True)))
        refusals = builder.judge.refused.items()
        left_out = [(-1, 0, REFUSALS.index(reason), n) for reason, n in refusals]
        if left_out:
            columns_of = zip(columns, np.array(left_out, np.int64).T, strict=True)
            yield pa.record_batch(dict(columns_of))

    partials = frame.mapInArrow(fold, ", ".join(f"`{name}` long" for name in columns))
    table = partials.groupBy(*columns[:3]).sum("count").toArrow()
    group, slot, value, count = map(_integers, table.columns)
    is_tally = group >= 0
    left_out = zip(value[~is_tally].tolist(), count[~is_tally].tolist(), strict=True)
    refusals = {REFUSALS[reason]: n for reason, n in left_out}
    tallies = []
    for each in np.unique(group[is_tally]).tolist():
        rows = group == each
        part = merge([(slot[rows], value[rows], count[rows])])
        tallies.append(TallyCounts(survey, *part, simulated, group=by.group(each)))
    return [*tallies, nothing(survey, refusals, simulated)]
