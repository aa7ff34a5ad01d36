"""Files of reports: which ones are meant, and what each says about itself before it is counted."""

from __future__ import annotations

import glob
import hashlib
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from deniable.collector.tally_file import TALLY_KEY
from deniable.errors import ReportError
from deniable.formats.reading import check_regular
from deniable.messages.report import Provenance
from deniable.schema.labels import Labels, either
from deniable.survey.frozen import FrozenSurvey

_COLUMNS = ("slot", "value", "survey", "count")
_INDEX = re.compile(r"__index_level_\d+__")
_MAGIC = b"PAR1"
_NO_PARQUET = "{} is not a Parquet file, or it is cut short."


class ReportFile(NamedTuple):
    """A Parquet file of reports, as its footer describes it."""

    path: Path
    rows: int
    provenance: Provenance
    columns: tuple[str, ...]
    types: tuple[tuple[str, str], ...]
    """The columns that matter, with their types: files that differ in them are read apart."""


def find(names: Iterable[str | Path]) -> list[Path]:
    """Return the files that are meant by names of files, folders and patterns.

    What exists is taken by its name, whatever it is. A folder stands for all .parquet files in it
    and below. Names that begin with a dot or an underscore are drafts of other programs, unless they
    are spelt out.
    """
    paths: list[Path] = []
    for name in names:
        path = Path(name)
        if path.is_dir():
            inside = _matching(Path(glob.escape(str(path)), "**", "*.parquet"))
            if not inside:
                raise ReportError(f"The folder {path.name} holds no .parquet files.")
            paths += inside
        elif not path.exists() and glob.has_magic(str(path)):
            matching = _matching(path)
            if not matching:
                raise ReportError(f"No file matches {str(path)!r}.")
            paths += matching
        else:
            paths.append(path)
    return paths


def _matching(pattern: Path) -> list[Path]:
    def is_spelt_out(part: str) -> bool:
        return any(p[0] == part[0] and fnmatchcase(part, p) for p in pattern.parts)

    paths = map(Path, glob.iglob(str(pattern), recursive=True))
    return sorted(
        path
        for path in paths
        if all(part[0] not in "._" or is_spelt_out(part) for part in path.parts) and path.is_file()
    )


def inspect(path: Path, survey: FrozenSurvey, by: Labels) -> ReportFile:
    """Read a file's footer, and refuse one that holds no reports, or none with the labels of ``by``."""
    try:
        return _inspect(path, survey, by)
    except UnicodeDecodeError:
        raise ReportError(f"{path.name} has columns whose names are not UTF-8.") from None


def _inspect(path: Path, survey: FrozenSurvey, by: Labels) -> ReportFile:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        check_regular(path)
        with pq.ParquetFile(path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
    except FileNotFoundError:
        raise ReportError(f"There is no file {path.name}.") from None
    except (pa.ArrowException, OSError):
        raise ReportError(_NO_PARQUET.format(path.name)) from None
    if TALLY_KEY in (schema.metadata or {}):
        raise ReportError(f"{path.name} is a tally: it holds counts, and no reports.")
    if (schema.names.count("slot"), schema.names.count("value")) != (1, 1):
        raise ReportError(f"{path.name} has no columns slot and value: it holds no reports.")
    for name in (
        ("slot",) if survey.packed_bytes else ("slot", "value")
    ):  # an engine would convert others
        if not pa.types.is_integer(schema.field(name).type):
            raise ReportError(
                f"The column {name} of {path.name} must hold integers, "
                f"got {schema.field(name).type}."
            )
    if schema.names.count("count") > 1 or not all(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        for kind in (field.type for field in schema if field.name == "count")
    ):
        raise ReportError(f"{path.name} must have one column count, or none, and it holds numbers.")
    for name in survey.labels.names:
        columns = schema.names.count(name)
        if columns > 1 or (not columns and name in by.names):
            raise ReportError(f"{path.name} must have one column {name} to be counted by it.")
        if columns and not is_text(schema.field(name).type):
            raise ReportError(
                f"The column {name} of {path.name} must hold texts, got {schema.field(name).type}."
            )
    matter = (*_COLUMNS, *survey.labels.names)
    types = sorted((f.name, str(f.type)) for f in schema if f.name in matter)
    provenance = Provenance.read(schema.metadata)
    return ReportFile(path, rows, provenance, tuple(schema.names), tuple(types))


def check_beside(what: str, columns: Iterable[str], survey: FrozenSurvey) -> None:
    """Refuse columns that are none of reports': nobody knows what they would change.

    What pandas calls an index is none, though files have it as a column.
    """
    own_columns = (*_COLUMNS, *survey.labels.names)
    for name in columns:
        if name not in own_columns and not _INDEX.fullmatch(name):
            raise ReportError(
                f"{what} has a column {name!r}, and reports have none but {either(own_columns)}; "
                "leave it out, or call it count if it says how many reports a row stands for."
            )


def is_text(kind: Any) -> bool:
    """Tell whether an Arrow column holds texts, as they are or numbered."""
    import pyarrow as pa

    texts = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(texts) or pa.types.is_large_string(texts))


def digest(path: Path) -> str:
    """Return the SHA-256 of a file's content, by which it is known again under any name."""
    try:
        check_regular(path)
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:  # else all of it would be read in vain
                raise ReportError(_NO_PARQUET.format(path.name))
            file.seek(0)
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise ReportError(f"There is no file {path.name}.") from None
    except OSError as error:
        raise ReportError(f"{path.name} cannot be read: {error.strerror}.") from None
