"""What the commands' options say: data, schemas, workloads, mechanisms, labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.api.tally import Tally
from deniable.cli.forms import ENDINGS as FORM_ENDINGS
from deniable.cli.forms import is_form
from deniable.cli.output import say
from deniable.errors import DataError, ReportError, SurveyError
from deniable.formats.reading import parse, read_text
from deniable.mechanisms.registry import known_mechanisms, mechanism_named
from deniable.schema.attribute import Attribute
from deniable.schema.declarations import NUMBER_FIELDS, column_holds, number_attribute
from deniable.schema.scale import day_of
from deniable.schema.schema import Schema

if TYPE_CHECKING:
    from deniable.api.release import Release

_MOST_ATTRIBUTES = 10_000
_MOST_VALUES = 4096
_BUILT_IN = b"deniable.built_in"
"""Where a frame says which built-in data set it is."""


def load_frame(data: str, columns: str | None) -> Any:
    """Return the chosen columns of data, as an Arrow table."""
    import pyarrow as pa

    from deniable.lab.datasets import BUILT_IN, load

    names = None if columns is None else [name.strip() for name in columns.split(",")]
    if is_form(Path(data)):
        raise DataError(
            f"{data!r} is a form, because it has a sheet 'survey': deniable new makes a survey of it, "
            f"and {Path(data).name}#SHEET reads a sheet as data."
        )
    frame = pa.Table.from_pandas(load(data, names), preserve_index=False)
    if Path(data).suffix.lower() in FORM_ENDINGS:
        say(
            f"deniable: {data!r} has no sheet 'survey' with a column 'type', so it is read as data."
        )
    return frame.replace_schema_metadata({_BUILT_IN: data}) if data in BUILT_IN else frame


def without_gaps(frame: Any, drop_missing: bool) -> Any:
    """Return a frame without rows that have empty cells; refuse them unless they may be dropped."""
    if drop_missing:
        return frame.drop_null()
    for name in frame.column_names:
        if frame[name].null_count:
            raise DataError(
                f"Column {name!r} has {frame[name].null_count:,} empty cells; "
                "--drop-missing leaves such rows out."
            )
    return frame


def binary_schema(attributes: int) -> Schema:
    """Return a schema of so many attributes of two values: a1, a2, …"""
    if not 1 <= attributes <= _MOST_ATTRIBUTES:
        raise SurveyError(
            f"The number of attributes must be 1 to {_MOST_ATTRIBUTES:,}, got {attributes}."
        )
    return Schema.binary(*(f"a{index + 1}" for index in range(attributes)))


def sized_schema(text: str) -> Schema:
    """Return a schema of attributes with so many values: '2,3,42'."""
    parts = [part.strip() for part in text.split(",")]
    sizes = [int(part) if part.isdecimal() and len(part) < 9 else 0 for part in parts]
    if not all(2 <= size <= _MOST_VALUES for size in sizes):
        raise SurveyError(
            f"--sizes needs numbers of values from 2 to {_MOST_VALUES:,}, such as 2,3,42."
        )
    return Schema(
        tuple(
            binary if size == 2 else Attribute(binary.name, tuple(map(str, range(1, size + 1))))
            for binary, size in zip(binary_schema(len(sizes)).attributes, sizes, strict=True)
        )
    )


def parse_workload(text: str | None) -> dict[tuple[str, ...], float] | None:
    """Return tables and their weights: 'a,b; a,c=2'."""
    if text is None:
        return None
    weights: dict[tuple[str, ...], float] = {}
    for part in filter(str.strip, text.split(";")):
        names, _, weight = part.rpartition("=") if "=" in part else (part, "", "1")
        table = tuple(name.strip() for name in names.split(","))
        try:
            weights[table] = weights.get(table, 0.0) + float(weight)
        except ValueError:
            raise SurveyError(
                f"A table's weight must be a number, got {weight.strip()!r}."
            ) from None
    return weights


def load_pilot(path: Path | None) -> Release | None:
    """Return the release of an earlier survey's tally."""
    return None if path is None else Tally.load(path).release()


def mechanism_names(text: str, rivals: Iterable[str] = ()) -> list[str]:
    """Return the names of mechanisms, and of rivals: 'all', or some separated by commas."""
    if text == "all":
        return [*known_mechanisms(), *rivals]
    others = {name.lower(): name for name in rivals}
    names = [name.strip() for name in text.split(",")]
    return [others.get(name.lower()) or mechanism_named(name).name for name in names]


def labels_by_name(options: list[str] | None, example: str) -> dict[str, str]:
    """Return what each --label says: 'name=…'."""
    labels: dict[str, str] = {}
    for text in options or []:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise SurveyError(f"--label needs a name and what follows it, such as {example}.")
        if name in labels:
            raise SurveyError(f"--label gives {name!r} twice.")
        labels[name] = value
    return labels


def check_reports_file(path: Path) -> None:
    """Refuse to write reports to anything but a Parquet file."""
    if path.suffix.lower() != ".parquet":
        raise ReportError(f"Reports must end in .parquet, got {path.name!r}.")


_BESIDE = {"missing", "other", "complete"}
_NUMBER = {*NUMBER_FIELDS, "bins", *_BESIDE}


def read_values(path: Path) -> dict[str, Any]:
    """Read the file: by column a list of values, or an object with values, bins or ends of a number."""
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
            case {"values": list(), **rest} if rest.keys() <= {*_BESIDE, "ordered"}:
                pass
            case {"low": _, "high": _, **rest} | {"points": list(), **rest} if (
                rest.keys() <= _NUMBER
            ):
                pass
            case {"bins": list(), **rest} if rest.keys() <= _BESIDE:
                pass
            case _:
                raise DataError(
                    f"Column {name!r} in {str(path)!r} needs a list of values, such as "
                    '["low", "high"], or a number such as {"low": 0, "high": 200000, "step": 1000, '
                    '"unit": "EUR"}, or {"bins": [18, 65]}, or {"values": [...], "missing": "none", '
                    '"other": "else"}; "complete": true says that everybody has one of them.'
                )
    return form


def ranges_by_name(options: list[str] | None) -> dict[str, dict[str, Any]]:
    """Return the numbers that each --range declares: 'age=18:100', 'day=2026-01-01:2026-12-31:7'."""
    ranges: dict[str, dict[str, Any]] = {}
    for text in options or []:
        name, _, ends = text.rpartition("=")
        parts = [_end(part.strip()) for part in ends.split(":")]
        if not name or len(parts) not in (2, 3) or None in parts:
            raise SurveyError(
                "--range needs a name and where it begins and ends, with a step if you like, such as "
                "age=18:100:1 or day=2026-01-01:2026-12-31."
            )
        if name in ranges:
            raise SurveyError(f"--range gives {name!r} twice.")
        ranges[name] = dict(zip(NUMBER_FIELDS, parts, strict=False))
    return ranges


def _end(text: str) -> int | float | str | None:
    """Return a number or a day as it is written on the command line; None if it is neither."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text if day_of(text) is not None else None


def declared_schema(attributes: int | None, sizes: str | None, ranges: list[str] | None) -> Schema:
    """Return the schema of so many attributes, or of so many values each, and of numbers."""
    plain: tuple[Attribute, ...] = ()
    if attributes is not None or sizes is not None:
        schema = sized_schema(sizes) if sizes is not None else binary_schema(attributes or 0)
        plain = schema.attributes
    numbers = ranges_by_name(ranges)
    return Schema(
        (*plain, *(_declared_attribute(name, form, False) for name, form in numbers.items()))
    )


def sizes_by_name(options: list[str] | None, option: str, needed: str) -> dict[str, float]:
    """Return the number that an option gives to each name: 'income=500'."""
    sizes: dict[str, float] = {}
    for text in options or []:
        name, _, size = (part.strip() for part in text.rpartition("="))
        if name in sizes:
            raise SurveyError(f"{option} gives {name!r} twice.")
        try:
            sizes[name] = float(size)
        except ValueError:
            name = ""
        if not name:
            raise SurveyError(f"{option} needs {needed}.")
    return sizes


def _built_in_schema(frame: Any) -> Schema | None:
    from deniable.lab.datasets import declared_schema

    name = (frame.schema.metadata or {}).get(_BUILT_IN, b"").decode()
    return declared_schema(name, frame.column_names)


def schema_of(
    frame: Any,
    columns: str | None,
    values: Path | None = None,
    complete: bool = False,
    ranges: list[str] | None = None,
    advice: str = "",
) -> Schema:
    """Return the schema of an Arrow table whose columns are true/false, or declared.

    ``complete`` says of all columns that everybody has one of the declared values. A built-in data set
    declares its own columns; ``ranges`` declare some of them anew. ``advice`` is what else a command
    offers where a column is not declared.
    """
    own = _built_in_schema(frame)
    numbers = ranges_by_name(ranges)
    if own is not None and values is None:
        _check_columns(frame, dict.fromkeys((*own.names, *numbers)), numbers, advice)
        parts = {name: _declared_attribute(name, form, complete) for name, form in numbers.items()}
        return Schema(tuple(parts.get(each.name, each) for each in own.attributes))
    declarations = {} if values is None else read_values(values)
    for name in numbers:
        if name in declarations:
            raise SurveyError(f"--values and --range both declare {name!r}; give one of them.")
    if columns is not None:  # the file may declare columns that this survey leaves out
        declarations = {
            name: form for name, form in declarations.items() if name in frame.column_names
        }
    declarations |= numbers
    _check_columns(frame, declarations, numbers, advice)
    schema = Schema(
        tuple(
            _declared_attribute(name, declarations[name], complete)
            if name in declarations
            else Attribute(name)
            for name in frame.column_names
        )
    )
    if declarations:
        schema.encode_frame(frame)  # the data must fit
    return schema


def sample_schema(
    frame: Any,
    columns: str | None,
    values: Path | None,
    observed: bool,
    ranges: list[str] | None,
) -> Schema:
    """Return the schema of data of which nobody is asked: it may have the values that occur there."""
    if not observed:
        advice = "; to simulate, --observed takes the values that occur"
        return schema_of(frame, columns, values, ranges=ranges, advice=advice)
    if values is not None:
        raise SurveyError("Give --values or --observed, not both.")
    numbers = ranges_by_name(ranges)
    _check_names(frame, numbers, numbers)
    return Schema.from_frame(frame, values="observed", numbers=numbers)


def _check_columns(
    frame: Any, declarations: Mapping[str, Any], numbers: Mapping[str, Any], advice: str
) -> None:
    """Refuse columns that are neither true/false nor declared, and declarations of no column."""
    for name in frame.column_names:
        holds = column_holds(frame[name].type)
        if name in declarations or holds == "truth values":
            continue
        example = {"numbers": "LOW:HIGH", "days": "DAY:DAY"}.get(holds)
        what = (
            ""
            if example is None
            else f", or where it begins and ends with --range {name}={example}"
        )
        raise DataError(
            f"Column {name!r} is not true/false: declare what it may hold with --values{what}, or "
            f"choose other columns with --columns{advice}."
        )
    _check_names(frame, declarations, numbers)


def _check_names(frame: Any, declarations: Mapping[str, Any], numbers: Mapping[str, Any]) -> None:
    for name in declarations:
        if name not in frame.column_names:
            option = "--range" if name in numbers else "--values"
            raise DataError(f"The data has no column {name!r}, which {option} declares.")


def _declared_attribute(name: str, form: Mapping[str, Any], complete: bool) -> Attribute:
    is_complete = form.get("complete", complete)
    if "bins" in form and not form["bins"]:
        raise DataError(f"The bins of column {name!r} have no edges; give one or more.")
    if any(field in form for field in NUMBER_FIELDS):
        fields = {field: value for field, value in form.items() if field != "bins"}
        edges = form.get("bins", ())
        return number_attribute(name, fields | {"edges": edges, "complete": is_complete})
    rest = (form.get("missing"), form.get("other"), form.get("bins", ()), is_complete)
    return Attribute(name, form.get("values", ()), *rest, ordered=form.get("ordered", False))
