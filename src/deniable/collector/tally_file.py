"""A tally's file: sorted rows (slot, value, count) in Parquet, and beside them what they count.

A file of a few kilobytes may say that it holds a billion rows. So the footer is read first, and then the
rows part by part: what the survey cannot have counted is refused before it fills the memory.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.collector.validity import IMPOSSIBLE_VALUE, UNKNOWN_SLOT, tally_values
from deniable.errors import DeniableError, TallyError
from deniable.formats.reading import check_regular, parse
from deniable.formats.writing import write_parquet
from deniable.messages.report import SIMULATED_KEY
from deniable.survey.coefficients import Ints
from deniable.survey.format import read_survey
from deniable.survey.frozen import FrozenSurvey

if TYPE_CHECKING:
    from deniable.collector.tally import TallyCounts


TALLY_KEY = b"deniable.tally"
_REFUSED_KEY = b"deniable.refused"
_SOURCES_KEY = b"deniable.sources"
_GROUP_KEY = b"deniable.group"

REFUSALS = ("other survey", "missing", UNKNOWN_SLOT, IMPOSSIBLE_VALUE, "unknown label")
"""Why a report is not counted; where several reasons hold, the first."""

MOST_ROWS = 1 << 27
"""The most rows of a tally: 3 GB of them."""

_NO_TALLY = "{} is a Parquet file, but not a tally."
_COLUMNS = ["slot", "value", "count"]
_PART = 1 << 20


Content = tuple[
    FrozenSurvey, Ints, Ints, Ints, bool, dict[str, int], frozenset[str], dict[str, str]
]
"""What the file of a tally holds: the fields of `TallyCounts`, in their order."""


def write_tally(tally: TallyCounts, path: str | Path) -> None:
    """Write a tally, with its survey, to a Parquet file."""
    import pyarrow as pa

    if len(tally.slot) > MOST_ROWS:
        raise TallyError(f"A tally has at most {MOST_ROWS:,} rows, got {len(tally.slot):,}.")
    table = pa.table({"slot": tally.slot, "value": tally.value, "count": tally.count})
    metadata = {TALLY_KEY: tally.survey.canonical().encode()}
    if tally.simulated:
        metadata[SIMULATED_KEY] = b"true"
    if tally.refused:
        metadata[_REFUSED_KEY] = json.dumps(dict(tally.refused)).encode()
    if tally.sources:
        metadata[_SOURCES_KEY] = json.dumps(sorted(tally.sources)).encode()
    if tally.group:
        metadata[_GROUP_KEY] = json.dumps(dict(tally.group), ensure_ascii=False).encode()
    write_parquet(table.replace_schema_metadata(metadata), path, TallyError)


def read_tally(path: str | Path) -> Content:
    """Read the rows of a tally, sorted and with positive counts, and what its file says about them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = Path(path).name or str(path)
    if Path(path).is_dir():
        raise TallyError(
            f"{name} is not a tally but a folder: name a tally in it, or give it to what takes groups "
            "(--by, Tallies.load)."
        )
    try:
        check_regular(path)
        with pq.ParquetFile(path) as file:
            survey = _survey_of(file, name)
            rows = _rows_of(file, survey, name)
            metadata = file.schema_arrow.metadata
    except FileNotFoundError:
        raise TallyError(f"There is no tally {name}.") from None
    except UnicodeDecodeError:  # the names of its columns are no texts
        raise TallyError(_NO_TALLY.format(name)) from None
    except (pa.ArrowException, OSError):
        raise TallyError(f"{name} is not a tally, or it is cut short.") from None
    notes = _notes(survey, metadata, name)
    return survey, *rows, SIMULATED_KEY in metadata, *notes


def _survey_of(file: Any, name: str) -> FrozenSurvey:
    """Return the survey of a tally, and refuse what has more rows than that survey can fill."""
    import pyarrow as pa

    schema, rows = file.schema_arrow, file.metadata.num_rows
    if TALLY_KEY not in (schema.metadata or {}) or schema.names != _COLUMNS:
        raise TallyError(_NO_TALLY.format(name))
    if set(schema.types) != {pa.int64()}:
        raise TallyError(f"{name} is broken: its columns must be integers without gaps.")
    try:
        survey = read_survey(schema.metadata[TALLY_KEY].decode(errors="replace"))
    except DeniableError as error:
        raise TallyError(f"{name} holds no readable survey: {error}") from None
    most = sum((family.stop - family.start) * tally_values(family) for family in survey.families)
    if rows > min(most, MOST_ROWS):
        whose = "its survey can fill" if most <= MOST_ROWS else "a tally may have"
        raise TallyError(
            f"{name} is broken: it has {rows:,} rows, more than the {min(most, MOST_ROWS):,} that "
            f"{whose}."
        )
    return survey


def _rows_of(file: Any, survey: FrozenSurvey, name: str) -> tuple[Ints, Ints, Ints]:
    """Read all rows, and stop at the first that is out of order."""
    rows = file.metadata.num_rows
    columns = tuple(np.empty(rows, np.int64) for _ in _COLUMNS)
    start = 0
    for part in file.iter_batches(_PART):
        if any(column.null_count for column in part.columns) or start + len(part) > rows:
            raise TallyError(f"{name} is broken: its columns must be integers without gaps.")
        for whole, column in zip(columns, part.columns, strict=True):
            whole[start : start + len(part)] = column.to_numpy()
        # From the last row of the part before, which this one must come after.
        slot, value, count = (column[max(0, start - 1) : start + len(part)] for column in columns)
        sorted_ = (slot[1:] > slot[:-1]) | ((slot[1:] == slot[:-1]) & (value[1:] > value[:-1]))
        if not sorted_.all() or (count <= 0).any():
            raise TallyError(f"{name} is broken: rows must be sorted, with positive counts.")
        start += len(part)
    if start < rows:
        raise TallyError(f"{name} is not a tally, or it is cut short.")
    slot, value, count = columns
    return slot, value, count


def _notes(
    survey: FrozenSurvey, metadata: dict[bytes, bytes], name: str
) -> tuple[dict[str, int], frozenset[str], dict[str, str]]:
    """Read what a tally's file notes: reports that were left out, files that were counted, its group."""
    try:
        refusals = parse(metadata.get(_REFUSED_KEY, b"{}"))
        sources = parse(metadata.get(_SOURCES_KEY, b"[]"))
        group = parse(metadata.get(_GROUP_KEY, b"{}"))
    except ValueError:
        refusals = sources = group = None
    values_by_label = survey.labels.values
    if (
        not isinstance(refusals, dict)
        or not isinstance(sources, list)
        or not isinstance(group, dict)
        or any(kind not in REFUSALS or type(n) is not int or n < 1 for kind, n in refusals.items())
        or not all(isinstance(source, str) for source in sources)
        or any(value not in values_by_label.get(label, ()) for label, value in group.items())
    ):
        raise TallyError(f"{name} is broken: its notes cannot be read.")
    return refusals, frozenset(sources), group
