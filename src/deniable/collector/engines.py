"""One GROUP BY on any frame: reports are counted where they lie.

Frames go through narwhals (pandas, polars, Arrow, DuckDB, Spark), so that one expression is pushed
down to each engine; streams and datasets of Arrow go through DuckDB, and so do files, unless another
engine is named. What comes back is small: a count for each slot and value, on which validity is judged.
Values that no GROUP BY can sum (packed unary reports) are folded batch by batch, in Spark by its
executors. A column ``count`` says how many reports a row stands for, so that the result of another
GROUP BY counts as its reports do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from deniable.collector.builder import GroupTallyBuilder, nothing, tally_of_batch
from deniable.collector.columns import (
    add_rows,
    check_counts,
    columns_that_matter,
    grouped,
    integers_of,
    reports_in,
)
from deniable.collector.files import ReportFile, check_beside, find, inspect
from deniable.collector.readers import READERS
from deniable.collector.tally import TallyCounts, merge, refuse
from deniable.collector.tally_file import REFUSALS, TALLY_KEY
from deniable.errors import ReportError, TallyError
from deniable.messages.modes import Engine, Invalid, check_choice
from deniable.messages.report import Provenance, Report, ReportBatch
from deniable.schema.frames import in_batches
from deniable.schema.labels import Labels
from deniable.survey.format import read_survey
from deniable.survey.frozen import FrozenSurvey

Progress = Callable[[int, int], None]
"""Is told, now and then, how many of how many rows of reports are read."""

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
        refuse(tallies)
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
        provenance = _provenance(frame.schema)
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
        if "count" in schema.names() and not schema["count"].is_numeric():
            raise ReportError(f"The column count must hold numbers, got {schema['count']}.")
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
                check_beside("The frame", schema.names(), survey)
                return _count_lazy(survey, by, lazy, simulated=provenance.simulated)[0]
            return [_foreign(survey, reports_in(lazy))]


def _provenance(schema: Any) -> Provenance:
    """Return what an Arrow schema says of its reports; refuse that of a tally."""
    if TALLY_KEY in (schema.metadata or {}):
        raise ReportError("The frame is a tally: it holds counts, and Tally.load reads its file.")
    return Provenance.read(schema.metadata)


def _dataset_provenance(survey: FrozenSurvey, dataset: Any) -> Provenance:
    """Return the provenance of a dataset's files; its schema shows that of the first one only."""
    with _reading():
        schemas = [dataset.format.inspect(file, dataset.filesystem) for file in dataset.files]
        every = {_provenance(schema) for schema in schemas}
    for name in (name for schema in schemas for name in schema.names):
        if name not in dataset.schema.names:
            raise ReportError(
                f"The dataset leaves out the column {name!r} of some of its files; name these files "
                "instead of it."
            )
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
) -> tuple[list[TallyCounts], int]:
    """Return the tallies of a frame's groups, and how many rows were read for them."""
    lazy = columns_that_matter(survey, by, lazy)
    streaming = {"engine": "streaming"} if lazy.implementation.is_polars() else {}
    if survey.packed_bytes and _is_spark(lazy):
        return _fold_in_spark(survey, by, lazy.to_native(), simulated=simulated)
    builder = GroupTallyBuilder(survey, by)
    if survey.packed_bytes:
        for table in in_batches(lazy.to_native()):
            add_rows(builder, table)
    else:
        add_rows(builder, grouped(lazy).collect("pyarrow", **streaming).to_native())
    check_counts(builder.miscounts, builder.reports)
    return builder.tallies(simulated=simulated), builder.rows


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
    total = sum(file.rows for file in ours)
    for file in ours:
        check_beside(file.path.name, file.columns, survey)
    others = [file for file in files if file not in ours]
    tallies = [_foreign(survey, sum(_reports_in(file, engine) for file in others))]
    rows_read = 0
    # Files whose columns differ in type are read apart: an engine would take the first one's for all.
    for _, alike in groupby(sorted(ours, key=lambda f: f.types), key=lambda f: f.types):
        group = list(alike)
        rows = sum(file.rows for file in group)

        def tell(share: float, rows_read: int = rows_read, rows: int = rows) -> None:
            if progress:
                progress(rows_read + int(share * rows), total)

        with _reading(), READERS[engine]([file.path for file in group], tell) as lazy:
            simulated = any(file.provenance.simulated for file in group)
            parts, rows_counted = _count_lazy(survey, by, lazy, simulated=simulated)
        if rows_counted != rows:
            raise ReportError(_UNREADABLE)
        tallies, rows_read = tallies + parts, rows_read + rows
        tell(1.0)
    return tallies


def _reports_in(file: ReportFile, engine: str) -> int:
    if "count" not in file.columns:
        return file.rows
    with _reading(), READERS[engine]([file.path], lambda share: None) as lazy:
        return reports_in(lazy)


# Spark


def _is_spark(lazy: Any) -> bool:
    engine = lazy.implementation
    return bool(engine.is_pyspark() or engine.is_pyspark_connect())


def _spark_provenance(frame: Any) -> Provenance:
    """Return the provenance of a Spark frame, which its column of slots carries."""
    metadata = frame.schema["slot"].metadata
    return Provenance.read({name.encode(): str(text).encode() for name, text in metadata.items()})


_NOTES = (*REFUSALS, "rows", "miscounts", "reports")
"""What an executor notes beside its counts."""


def _fold_in_spark(
    survey: FrozenSurvey, by: Labels, frame: Any, *, simulated: bool
) -> tuple[list[TallyCounts], int]:
    """Fold packed reports where they lie: every partition sends its counts."""
    text = survey.canonical()
    columns = ("group", "slot", "value", "count")

    def fold(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        builder = GroupTallyBuilder(read_survey(text), by)
        for batch in batches:
            add_rows(builder, pa.Table.from_batches([batch]))
        for group, part in builder.builders.items():
            slot, value, count = part.rows()
            rows = np.full(len(slot), group), slot, value, count
            yield pa.record_batch(dict(zip(columns, rows, strict=True)))
        notes = [(-1, 0, _NOTES.index(name), many) for name, many in builder.notes.items()]
        columns_of = zip(columns, np.array(notes, np.int64).T, strict=True)
        yield pa.record_batch(dict(columns_of))

    partials = frame.mapInArrow(fold, ", ".join(f"`{name}` long" for name in columns))
    table = partials.groupBy(*columns[:3]).sum("count").toArrow()
    group, slot, value, count = map(integers_of, table.columns)
    is_tally = group >= 0
    pairs = zip(value[~is_tally].tolist(), count[~is_tally].tolist(), strict=True)
    notes = {_NOTES[index]: many for index, many in pairs}
    check_counts(notes.get("miscounts", 0), notes.get("reports", 0))
    tallies = []
    for each in np.unique(group[is_tally]).tolist():
        rows = group == each
        part = merge([(slot[rows], value[rows], count[rows])])
        tallies.append(TallyCounts(survey, *part, simulated, group=by.group(each)))
    refusals = {reason: notes[reason] for reason in REFUSALS if notes.get(reason)}
    return [*tallies, nothing(survey, refusals, simulated)], notes.get("rows", 0)
