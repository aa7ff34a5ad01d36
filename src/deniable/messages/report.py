"""What travels: one report, or a batch of reports.

A report is a slot and a value, and the labels that its survey declares; nothing else. A batch is these
as columns, with the survey's id beside them. Values of unary answers over more than 62 symbols are
packed little-endian bytes; all others are integers. Labels are texts.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.errors import ReportError
from deniable.formats.writing import write_parquet
from deniable.messages.modes import Slots

MOST_NUMBER = (1 << 63) - 1
"""The largest slot, and the largest value that is not packed."""

MOST_EXACT = (1 << 53) - 1
"""The largest integer that JSON holds exactly everywhere; beyond, numbers travel as decimal texts."""

MOST_REPORTS = 10_000
"""Reports in one request."""

NAMED_BY: dict[Slots, str] = {"assigned": "ticket", "hashed": "id", "drawn": "slot"}
"""The field by which a report that is sent to a collector names its question."""

SURVEY_KEY = b"deniable.survey"
SIMULATED_KEY = b"deniable.simulated"

_SPARK_KEY = b"org.apache.spark.sql.parquet.row.metadata"
"""Where Spark keeps the metadata of columns in the Parquet files that it writes."""


class Provenance(NamedTuple):
    """What a table of reports says about itself: the survey's id, and whether it is simulated."""

    survey: str | None = None
    simulated: bool = False

    @classmethod
    def read(cls, metadata: Mapping[bytes, bytes] | None) -> Provenance:
        """Read the metadata of an Arrow table or a Parquet file, Spark's included."""
        entries = dict(metadata or {})
        try:
            fields = json.loads(entries.get(_SPARK_KEY, b"{}")).get("fields", ())
            for slot in (field["metadata"] for field in fields if field["name"] == "slot"):
                entries = {
                    name.encode(): str(text).encode() for name, text in slot.items()
                } | entries
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            pass  # somebody else's metadata
        survey = entries.get(SURVEY_KEY)
        survey_id = None if survey is None else survey.decode(errors="replace")
        return cls(survey_id, SIMULATED_KEY in entries)

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """Return the metadata that says so."""
        survey = {SURVEY_KEY: self.survey.encode()} if self.survey else {}
        return survey | {SIMULATED_KEY: b"true"} if self.simulated else survey

    def check(self, survey: str) -> None:
        """Refuse reports that say they belong to another survey."""
        if self.survey is not None and self.survey != survey:
            raise ReportError(
                f"The reports belong to another survey ({self.survey[:8]}, not {survey[:8]})."
            )


@dataclass(frozen=True)
class Report:
    """What one person sends: ``labels`` maps every label that the survey declares to its value."""

    slot: int
    value: int
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.labels, Mapping):
            raise ReportError("A report's labels must be a mapping of names to values.")
        if isinstance(self.slot, int) and not 0 <= self.slot <= MOST_NUMBER:
            raise ReportError("A report's slot must be an integer from 0 to 2^63 - 1.")
        if isinstance(self.value, int) and self.value < 0:
            raise ReportError("A report's value must not be negative.")
        object.__setattr__(self, "labels", dict(self.labels))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form: decimal texts, or base64 of little-endian bytes if large."""
        form: dict[str, Any] = {"slot": str(self.slot)}
        if self.value <= MOST_NUMBER:
            form["value"] = str(self.value)
        else:
            form["packed"] = _pack(self.value)
        return form | {"labels": dict(self.labels)} if self.labels else form

    @classmethod
    def from_json(cls, form: Any) -> Report:
        """Read the JSON form strictly; whether the labels are declared is for the survey to say."""
        match form:
            case {"slot": str(slot), "value": str(value), **rest}:
                report = cls(_integer(slot), _integer(value), _labels(rest))
            case {"slot": str(slot), "packed": str(text), **rest}:
                report = cls(_integer(slot), unpack(text), _labels(rest))
            case _:
                raise ReportError(_NO_REPORT)
        if report.to_json() != form:
            raise ReportError(_NO_REPORT)
        return report


_NO_REPORT = "A report must be an object with slot and value, and labels if its survey has any."


def _labels(rest: dict[Any, Any]) -> dict[str, str]:
    """Return the labels of a report; nothing if they are none, which then is no report."""
    labels = rest.get("labels")
    texts = labels.values() if isinstance(labels, dict) else [None]
    return dict(labels or {}) if all(isinstance(text, str) for text in texts) else {}


def _pack(value: int) -> str:
    return base64.b64encode(value.to_bytes(-(-value.bit_length() // 8), "little")).decode()


def unpack(text: str) -> int:
    """Return a packed value: base64 of little-endian bytes, as short as can be, 2⁶³ or more."""
    try:
        value = int.from_bytes(base64.b64decode(text, validate=True), "little")
    except ValueError:
        raise ReportError("A report's packed value must be base64.") from None
    if value <= MOST_NUMBER:
        raise ReportError("A report's value below 2^63 is not packed.")
    if _pack(value) != text:
        raise ReportError("A report's packed value must be written as short as can be.")
    return value


def _integer(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 19 and str(int(text)) == text:
        number = int(text)
        if number <= MOST_NUMBER:
            return number
    raise ReportError("A report's numbers must be decimal integers below 2^63.")


@dataclass(frozen=True, eq=False)
class ReportBatch:
    """Many people's reports to one survey.

    ``values`` is int64, or one row of packed bytes per report. ``simulated`` marks reports whose
    randomness can be reproduced: they protect nobody. ``labels`` maps each label's name to an array of
    texts, one per report.
    """

    survey: str
    slots: NDArray[np.int64]
    values: NDArray[Any]
    simulated: bool = False
    labels: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, column in (("slots", self.slots), ("values", self.values)):
            if not isinstance(column, np.ndarray) or column.dtype.kind not in "iu":
                raise ReportError(f"A batch's {name} must be an array of integers.")
        if self.slots.ndim != 1 or self.values.shape[:1] != self.slots.shape:
            raise ReportError("A batch must have as many values as slots.")
        for name, column in self.labels.items():
            if not isinstance(column, np.ndarray) or column.dtype.kind not in "OU":
                raise ReportError(f"A batch's label {name!r} must be an array of texts.")
            if column.shape != self.slots.shape:
                raise ReportError(f"A batch must have as many labels {name!r} as slots.")

    @classmethod
    def of(cls, survey: str, reports: Iterable[Report], packed_bytes: int = 0) -> ReportBatch:
        """Return single reports as a batch; ``packed_bytes`` is the length of a packed value, if any.

        A label that only some of the reports have is None for the others.
        """
        every = list(reports)
        if not all(
            isinstance(report, Report)
            and isinstance(report.slot, int | np.integer)
            and isinstance(report.value, int | np.integer)
            for report in every
        ):
            raise ReportError("A list of reports must hold nothing but reports of whole numbers.")
        try:
            slots = np.array([report.slot for report in every], np.int64)
            if packed_bytes:
                rows = b"".join(
                    int(report.value).to_bytes(packed_bytes, "little") for report in every
                )
                values: NDArray[Any] = np.frombuffer(rows, np.uint8).reshape(-1, packed_bytes)
            else:
                values = np.array([report.value for report in every], np.int64)
        except OverflowError:
            raise ReportError("A report holds a value that nobody can report.") from None
        names = dict.fromkeys(name for report in every for name in report.labels)
        labels = {n: np.array([report.labels.get(n) for report in every], object) for n in names}
        return cls(survey, slots, values, labels=labels)

    def __repr__(self) -> str:
        notes = "".join(f", {name}" for name in self.labels) + ", SIMULATED" * self.simulated
        return f"<ReportBatch of {len(self):,} reports to survey {self.survey[:8]}{notes}>"

    def __len__(self) -> int:
        return len(self.slots)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReportBatch):
            return NotImplemented
        return (
            (self.survey, self.simulated) == (other.survey, other.simulated)
            and np.array_equal(self.slots, other.slots)
            and np.array_equal(self.values, other.values)
            and self.labels.keys() == other.labels.keys()
            and all(np.array_equal(self.labels[name], other.labels[name]) for name in self.labels)
        )

    __hash__ = None  # type: ignore[assignment]

    def to_arrow(self) -> Any:
        """Return an Arrow table: columns slot, value and the labels, the survey's id in its metadata."""
        import pyarrow as pa

        if self.values.ndim == 2:
            width = self.values.shape[1]
            data = pa.py_buffer(np.ascontiguousarray(self.values))
            values = pa.Array.from_buffers(pa.binary(width), len(self), [None, data])
        else:
            values = pa.array(self.values)
        columns = {"slot": pa.array(self.slots), "value": values}
        for name, texts in self.labels.items():
            try:
                columns[name] = pa.array(texts, pa.string())
            except (pa.ArrowException, TypeError, UnicodeError):
                raise ReportError(f"A batch's label {name!r} must be an array of texts.") from None
        table = pa.table(columns)
        return table.replace_schema_metadata(Provenance(self.survey, self.simulated).metadata)

    def to_parquet(self, path: str | Path) -> None:
        """Write the reports to a Parquet file."""
        write_parquet(self.to_arrow(), path, ReportError)

    @classmethod
    def from_arrow(
        cls, table: Any, survey: str, packed_bytes: int = 0, labels: Iterable[str] = ()
    ) -> ReportBatch:
        """Read an Arrow table of reports; its metadata, where there is any, must name the survey.

        ``labels`` are the names of the labels to read.
        """
        import pyarrow as pa

        provenance = Provenance.read(table.schema.metadata)
        provenance.check(survey)
        if not {"slot", "value"} <= set(table.column_names):
            raise ReportError("A frame of reports must have the columns slot and value.")
        slot, value = table.column("slot"), table.column("value")
        if slot.null_count or value.null_count:
            raise ReportError("A frame of reports must not have missing slots or values.")
        if not pa.types.is_integer(slot.type):
            raise ReportError(f"The column slot must hold integers, got {slot.type}.")
        values: NDArray[Any]
        if packed_bytes:
            values, fits = packed_rows(value, packed_bytes)
            if not fits.all():
                raise ReportError(f"Every packed value must have {packed_bytes} bytes.")
        else:
            if not pa.types.is_integer(value.type):
                raise ReportError(f"The column value must hold integers, got {value.type}.")
            values = _int64(value)
        texts = {name: _texts(table, name) for name in labels}
        return cls(survey, _int64(slot), values, provenance.simulated, texts)


def packed_rows(column: Any, width: int) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Return an Arrow column's packed values as rows of bytes, and which of them have that width.

    What has another width, or is missing, becomes a row of zeros.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (pa.types.is_fixed_size_binary(column.type) or str(column.type).endswith("binary")):
        raise ReportError(f"The column value must hold {width} packed bytes each.")
    fits = pc.equal(pc.binary_length(column), width).fill_null(False)
    column = pc.if_else(fits, column.cast(pa.binary()), pa.scalar(bytes(width)))
    whole = pa.concat_arrays(
        column.cast(pa.binary(width)).chunks or [pa.array([], pa.binary(width))]
    )
    rows = np.frombuffer(whole.buffers()[1] or b"", np.uint8)[: len(whole) * width]
    return rows.reshape(-1, width), np.asarray(fits.to_numpy()).astype(np.bool_)


def _texts(table: Any, name: str) -> NDArray[Any]:
    import pyarrow as pa

    if name not in table.column_names:
        raise ReportError(f"The frame of reports has no column {name!r}, a label of its survey.")
    column = table.column(name)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if kind not in (pa.string(), pa.large_string(), pa.string_view()):
        raise ReportError(f"The column {name!r} must hold texts, got {kind}.")
    if column.null_count:
        raise ReportError(f"The column {name!r} must not have missing labels.")
    return np.asarray(column.cast(kind).to_numpy())


def _int64(column: Any) -> NDArray[np.int64]:
    import pyarrow as pa

    try:
        return np.asarray(column.cast(pa.int64()).to_numpy())
    except pa.ArrowInvalid:
        raise ReportError("A column of reports holds integers of 2^63 or more.") from None
