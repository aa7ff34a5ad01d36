"""The file of `--values`: what columns that are not true/false may hold, from public knowledge."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deniable.errors import DataError
from deniable.questions.schema import Schema
from deniable.reading import parse, read_text

__all__ = ["read_values", "schema_of"]


def read_values(path: Path) -> dict[str, Any]:
    """Read the file: a list of values, or an object with bins, by column."""
    try:
        text = read_text(path)
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise DataError(f"{str(path)!r} is not a text file.") from None
    twins: list[str] = []

    def read(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        twins.extend(name for name, _ in pairs if len(made) < len(pairs))
        return made

    try:
        form = parse(text, read)
    except ValueError:
        raise DataError(f"{str(path)!r} is not JSON.") from None
    if twins:
        raise DataError(f"{str(path)!r} names something twice.")
    if not isinstance(form, dict):
        raise DataError(f"{str(path)!r} must map columns to their values, in braces.")
    for name, held in form.items():
        match held:
            case list() | {"bins": list()} if isinstance(held, list) or len(held) == 1:
                pass
            case _:
                raise DataError(
                    f"Column {name!r} in {str(path)!r} needs a list of values, "
                    'such as ["low", "high"], or {"bins": [18, 65]}.'
                )
    return form


def schema_of(frame: Any, declared: Mapping[str, Any]) -> Schema:
    """Return the schema of an Arrow table whose columns are true/false, or declared."""
    import pyarrow as pa

    for name in frame.column_names:
        if name not in declared and not pa.types.is_boolean(frame[name].type):
            raise DataError(
                f"Column {name!r} is not true/false: declare what it may hold with --values, or "
                "choose other columns with --columns; to simulate, --observed takes the values that "
                "occur."
            )
    for name in declared:
        if name not in frame.column_names:
            raise DataError(f"The data has no column {name!r}, which --values declares.")
    bins = {name: held["bins"] for name, held in declared.items() if isinstance(held, dict)}
    values = {name: held for name, held in declared.items() if name not in bins}
    schema = Schema.from_frame(frame, values=values, bins=bins)
    if declared:
        schema.encode_frame(frame)  # the data must fit
    return schema
