"""Reports with open columns beside them: in their own rows, or in a frame with a row for each.

Rows are matched by their order and by nothing else: there is no key to join by, because a collector
keeps none. A column that has an attribute's name is refused: what is asked in private is not open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from deniable.analysis.formula import Formula, shown
from deniable.analysis.open_answers.terms import OpenColumn
from deniable.collector.files import find, inspect
from deniable.collector.validity import flaws
from deniable.errors import DataError, ReportError, TableError
from deniable.formats.forms import fold_case
from deniable.messages.report import Report, ReportBatch
from deniable.schema.frames import to_arrow
from deniable.schema.labels import Labels
from deniable.survey.coefficients import Ints
from deniable.survey.frozen import FrozenSurvey

_YES, _NO = ("yes", "true", "1"), ("no", "false", "0")


@dataclass(frozen=True, eq=False)
class OpenReports:
    """Reports to a survey, and the Arrow tables of open columns beside them."""

    batch: ReportBatch
    tables: tuple[Any, ...]

    @classmethod
    def of(
        cls, reports: Any, open_rows: Any, survey: FrozenSurvey, formula: Formula
    ) -> OpenReports:
        """Read a batch, a list of reports, a frame, or files, with open rows beside them if given."""
        table = _table_of(reports, survey, formula)
        if "count" in table.column_names and "count" not in formula.names:
            raise ReportError(
                "Reports with open columns are fitted row by row, so a column count would go unheard; "
                "repeat each row as often as it says, or rename it if it counts no reports."
            )
        batch = ReportBatch.from_arrow(table, survey.id, survey.packed_bytes)
        _check_reports(batch, survey)
        tables = [table.drop_columns(["slot", "value"])]
        if open_rows is not None:
            tables.append(beside(open_rows, table.num_rows))
        for each in tables:
            _check_names(each.column_names, survey)
        return cls(batch, tuple(tables))


def beside(open_rows: Any, reports: int) -> Any:
    """Return open rows as an Arrow table, and refuse them if they are not as many as the reports."""
    table = to_arrow(open_rows)
    if table.num_rows != reports:
        raise DataError(
            f"Open rows must stand beside the reports, one for each, in their order; got "
            f"{table.num_rows:,} rows for {reports:,} reports."
        )
    return table


def _table_of(reports: Any, survey: FrozenSurvey, formula: Formula) -> Any:
    if isinstance(reports, list | tuple) and all(isinstance(r, Report) for r in reports):
        reports = ReportBatch.of(survey.id, reports, survey.packed_bytes)
    if isinstance(reports, ReportBatch):
        return reports.to_arrow()
    names = [reports] if isinstance(reports, str | Path) else reports
    if isinstance(names, Sequence) and names and all(isinstance(n, str | Path) for n in names):
        return _read_files(find(names), survey, formula)
    return to_arrow(reports)


def _read_files(paths: Sequence[Path], survey: FrozenSurvey, formula: Formula) -> Any:
    """Return the reports of Parquet files, with those of their other columns that the formula names."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = []
    for path in paths:
        provenance = inspect(path, survey, Labels()).provenance
        provenance.check(survey.id)
        columns = pq.read_schema(path).names
        _check_names(columns, survey)
        order = dict.fromkeys(("slot", "value", *formula.names, "count"))
        names = [name for name in order if name in columns]
        table = pq.read_table(path, columns=names, partitioning=None)
        tables.append(table.replace_schema_metadata(provenance.metadata))
    simulated = [each for each in tables if each.schema.metadata and len(each.schema.metadata) > 1]
    metadata = (simulated or tables)[0].schema.metadata
    try:
        whole = pa.concat_tables([table.replace_schema_metadata(None) for table in tables])
    except pa.ArrowException:
        raise ReportError(
            "The files of reports must have the same columns of the same types to be fitted together."
        ) from None
    return whole.replace_schema_metadata(metadata)


def _check_names(names: Sequence[str], survey: FrozenSurvey) -> None:
    attributes = {fold_case(name) for name in survey.schema.names}
    for name in names:
        if fold_case(name) in attributes:
            raise DataError(
                f"{shown(name)} is an attribute of the survey, which is asked in private, so it cannot "
                "be an open column; take it out, or rename it if it is something else."
            )


def _check_reports(batch: ReportBatch, survey: FrozenSurvey) -> None:
    """Refuse reports if the survey cannot have got some of them."""
    wrong = {reason: int(rows.sum()) for reason, rows in flaws(survey, batch.slots, batch.values)}
    if wrong:
        kinds = ", ".join(f"{reason}: {count:,}" for reason, count in wrong.items())
        raise ReportError(
            f"{sum(wrong.values()):,} of {len(batch):,} reports cannot have come from the survey "
            f"({kinds}); leave them out, with their open rows."
        )


def open_columns(
    formula: Formula,
    tables: Sequence[Any],
    levels: Mapping[str, Sequence[str]],
    survey: FrozenSurvey | None = None,
) -> dict[str, OpenColumn]:
    """Return the open columns that a formula names; ``levels`` are the values of texts, where known."""
    columns = {}
    names = dict.fromkeys(name for table in tables for name in table.column_names)
    for name in formula.names:
        if survey is not None and name in survey.schema.names:
            raise TableError(
                f"The term {shown(name)} is an attribute of the survey, asked in private; terms here "
                "are open columns, and release.regress explains by private attributes."
            )
        owners = [table for table in tables if name in table.column_names]
        if not owners:
            every = ", ".join(map(repr, names)) or "none"
            raise TableError(f"There is no open column {shown(name)}; the columns are: {every}.")
        if len(owners) > 1:
            raise DataError(
                f"The column {shown(name)} is there twice, beside the reports and in their own rows; "
                "rename one."
            )
        columns[name] = OpenColumn.of(name, owners[0].column(name), levels.get(name, ()))
    return columns


def reported_yes(name: str, column: Any) -> OpenColumn:
    """Return what was reported to a one-question design: 1 for yes, 0 for no."""
    own = OpenColumn.of(name, column)
    if own.values:
        words = [value.strip().lower() for value in own.values]
        if not set(words) <= {*_YES, *_NO}:
            raise DataError(
                f"The outcome {shown(name)} must hold what was reported as yes or no, true or false, or "
                "1 or 0; got other texts."
            )
        says_yes = np.array([word in _YES for word in words], np.float64)
        return replace(own, numbers=says_yes[own.numbers.astype(np.int64)], values=())
    if not np.isin(own.numbers[~own.missing], (0.0, 1.0)).all():
        raise DataError(
            f"The outcome {shown(name)} must hold what was reported as yes or no, true or false, or 1 "
            "or 0; got other numbers."
        )
    return own


def complete_rows(columns: Sequence[OpenColumn], people: int) -> Ints:
    """Return the rows in which no column is empty."""
    missing = np.zeros(people, np.bool_)
    for column in columns:
        missing |= column.missing
    rows: Ints = np.flatnonzero(~missing)
    if not len(rows):
        raise DataError("No row has all the columns that the formula names; got none to fit.")
    return rows
