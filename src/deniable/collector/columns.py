"""The columns of reports that matter: chosen in any engine, and added up from Arrow.

``count``, where there is such a column, says how many reports a row stands for. It is summed as doubles:
such a sum is exact as long as it is below 2⁵³, no engine wraps it, and more reports are refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.collector.builder import GroupTallyBuilder
from deniable.collector.tally import MOST_PEOPLE
from deniable.collector.validity import IMPOSSIBLE_VALUE, UNKNOWN_SLOT, unknown_slots
from deniable.errors import ReportError
from deniable.messages.report import packed_rows
from deniable.schema.labels import Labels
from deniable.survey.frozen import FrozenSurvey


def columns_that_matter(survey: FrozenSurvey, by: Labels, lazy: Any) -> Any:
    """Select the columns that matter: a column for each label that is counted by, one for all others.

    ``label_0`` and so on hold labels, whatever these are called; ``is_declared`` tells whether the
    labels by which nothing is counted are declared ones. ``reports`` is what a row counts for, where a
    column ``count`` says so, and ``miscounts`` is 1 where that is no count.
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
    return lazy.select(*keys, *labels, *_counts(schema))


def _counts(schema: Any) -> list[Any]:
    import narwhals as nw

    if "count" not in schema.names():
        return []
    is_whole = schema["count"].is_integer()
    number = nw.col("count") if is_whole else nw.col("count").cast(nw.Float64)
    # A NaN is above all numbers to some engines, and below none to others: both ends refuse it.
    is_count = (number >= 0) & (number < MOST_PEOPLE)
    if schema["count"].is_unsigned_integer():  # Arrow compares those with their own kind only
        is_count = number < nw.lit(MOST_PEOPLE, nw.UInt64)
    is_count = (is_count if is_whole else is_count & (number % 1 == 0)).fill_null(False)
    # Chosen first and cast then: Arrow refuses to cast an integer beyond 2⁵³.
    none = nw.lit(0, schema["count"] if is_whole else nw.Float64)
    reports = nw.when(is_count).then(number).otherwise(none).cast(nw.Float64)
    miscounts = nw.when(is_count).then(nw.lit(0)).otherwise(nw.lit(1))
    return [reports.alias("reports"), miscounts.alias("miscounts")]


def grouped(lazy: Any) -> Any:
    """Return how many rows and reports there are of each kind, still in the engine that holds them."""
    import narwhals as nw

    sums = [name for name in ("reports", "miscounts") if name in lazy.collect_schema().names()]
    keys = [name for name in lazy.collect_schema().names() if name not in sums]
    return lazy.group_by(*keys).agg(nw.len().alias("rows"), *(nw.col(name).sum() for name in sums))


def reports_in(lazy: Any) -> int:
    """Return how many reports a frame holds."""
    import narwhals as nw

    counts = _counts(lazy.collect_schema())
    if not counts:
        return int(lazy.select(nw.len()).collect("pyarrow").item())
    sums = lazy.select(*counts).select(nw.col("reports").sum(), nw.col("miscounts").sum())
    (row,) = sums.collect("pyarrow").to_native().to_pylist()
    check_counts(row["miscounts"] or 0, row["reports"] or 0.0)
    return int(row["reports"] or 0)


def check_counts(miscounts: int, reports: float) -> None:
    """Refuse a column ``count`` of anything but whole numbers, and more reports than a tally holds."""
    if miscounts:
        raise ReportError(
            "The column count must say how many reports a row stands for, a whole number below 2^53, "
            f"and does not in {miscounts:,} rows."
        )
    if reports >= MOST_PEOPLE:
        raise ReportError("The column count adds up to 2^53 reports or more; a tally holds fewer.")


def add_rows(builder: GroupTallyBuilder, table: Any) -> None:
    """Add an Arrow table of reports, or of groups with their counts, and sort out what is wrong."""
    import pyarrow as pa
    import pyarrow.compute as pc

    survey, judge = builder.judge.survey, builder.judge
    rows = integers_of(table["rows"]) if "rows" in table.column_names else None
    builder.rows += table.num_rows if rows is None else int(rows.sum())
    counts = rows
    if "reports" in table.column_names:
        reports = np.asarray(table["reports"].to_numpy())
        builder.miscounts += int(integers_of(table["miscounts"]).sum())
        builder.reports += float(reports.sum())
        if builder.miscounts or builder.reports >= MOST_PEOPLE:
            return  # all of it will be refused
        table, counts = table.filter(pa.array(reports > 0)), reports[reports > 0].astype(np.int64)
    slots = integers_of(table["slot"])
    is_lacking = _nulls(table["slot"]) | _nulls(table["value"])
    width = survey.packed_bytes
    values: NDArray[Any]
    if width:
        values, fits = packed_rows(table["value"], width)
    else:
        values, fits = integers_of(table["value"]), np.ones(len(slots), np.bool_)
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
        groups += np.array(list(addends.values()))[integers_of(indices)]
    if "is_declared" in table.column_names:
        is_unknown |= ~np.asarray(table["is_declared"].fill_null(False).to_numpy(), np.bool_)
    groups[is_unknown] = -1
    return groups


def integers_of(column: Any) -> NDArray[np.int64]:
    """Return a column as int64; what that does not hold turns negative, and is refused as that."""
    import pyarrow as pa

    if pa.types.is_decimal(column.type):  # DuckDB's sums
        column = column.cast(pa.int64())
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
