"""The file of `--values`: what columns that are not true/false may hold, from public knowledge."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deniable.errors import DataError, SurveyError
from deniable.formats.reading import parse, read_text
from deniable.schema.attribute import Attribute
from deniable.schema.schema import Schema

_BESIDE = {"missing", "other", "complete"}


def read_values(path: Path) -> dict[str, Any]:
    """Read the file: by column a list of values, or an object with values or bins and what stands in."""
    try:
        text = read_text(path)
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise DataError(f"{str(path)!r} is not a text file.") from None
    twins: list[str] = []

    def note_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        twins.extend(name for name, _ in pairs if len(fields) < len(pairs))
        return fields

    try:
        form = parse(text, note_twins)
    except ValueError:
        raise DataError(f"{str(path)!r} is not JSON.") from None
    if twins:
        raise DataError(f"{str(path)!r} names something twice.")
    if not isinstance(form, dict):
        raise DataError(f"{str(path)!r} must map columns to their values, in braces.")
    for name, declaration in form.items():
        match declaration:
            case list():
                form[name] = {"values": declaration}
            case {"values": list(), **rest} | {"bins": list(), **rest} if rest.keys() <= _BESIDE:
                pass
            case _:
                raise DataError(
                    f"Column {name!r} in {str(path)!r} needs a list of values, such as "
                    '["low", "high"], or {"bins": [18, 65]}, or {"values": [...], "missing": "none", '
                    '"other": "else"}; "complete": true says that everybody has one of them.'
                )
    return form


def schema_of(
    frame: Any,
    columns: str | None,
    values: Path | None = None,
    observed: bool = False,
    complete: bool = False,
) -> Schema:
    """Return the schema of an Arrow table whose columns are true/false, declared, or observed.

    ``complete`` says of all columns that everybody has one of the declared values.
    """
    if observed and values is not None:
        raise SurveyError("Give --values or --observed, not both.")
    if observed:
        return Schema.from_frame(frame, values="observed")
    declared = {} if values is None else read_values(values)
    if columns is not None:  # the file may declare columns that this survey leaves out
        declared = {name: form for name, form in declared.items() if name in frame.column_names}
    _check_columns(frame, declared)
    schema = Schema(
        tuple(
            _declared_attribute(name, declared[name], complete)
            if name in declared
            else Attribute(name)
            for name in frame.column_names
        )
    )
    if declared:
        schema.encode_frame(frame)  # the data must fit
    return schema


def _check_columns(frame: Any, declared: Mapping[str, Any]) -> None:
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


def _declared_attribute(name: str, form: Mapping[str, Any], complete: bool) -> Attribute:
    is_complete = form.get("complete", complete)
    bins, values = form.get("bins", ()), form.get("values", ())
    if "bins" in form and not bins:
        raise DataError(f"The bins of column {name!r} have no edges; give one or more.")
    return Attribute(name, values, form.get("missing"), form.get("other"), bins, is_complete)
