"""Frames of any kind, read as Arrow tables."""

from __future__ import annotations

from typing import Any

from deniable.errors import RecordError

__all__ = ["to_arrow"]


def to_arrow(frame: Any) -> Any:
    """Return a pandas, polars or Arrow frame as an Arrow table."""
    import narwhals as nw
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    try:
        native = nw.from_native(frame)
    except TypeError:
        raise RecordError(
            f"A frame must be a pandas, polars or Arrow table, got {type(frame).__name__}."
        ) from None
    if isinstance(native, nw.LazyFrame):
        native = native.collect()
    try:
        return native.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        # Arrow's own message would repeat a value.
        raise RecordError("A column of the frame mixes types; give each column one type.") from None
