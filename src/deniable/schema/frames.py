"""Frames of any kind, read as Arrow tables: whole, or part by part."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from deniable.errors import RecordError
from deniable.schema.cells import text_column

_TWINS = "The frame has two columns of the same name; rename one."


def to_arrow(frame: Any) -> Any:
    """Return a pandas, polars or Arrow frame as an Arrow table; cells of several types become texts."""
    import narwhals as nw
    import pyarrow as pa
    from narwhals.exceptions import DuplicateError

    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if isinstance(frame, pa.Table):
        if len(set(frame.column_names)) < frame.num_columns:
            raise RecordError(_TWINS)
        return frame
    try:
        native = nw.from_native(frame)
    except DuplicateError:
        raise RecordError(_TWINS) from None
    except TypeError:
        raise RecordError(
            f"A frame must be a pandas, polars or Arrow table, got {type(frame).__name__}."
        ) from None
    if isinstance(native, nw.LazyFrame):
        native = native.collect()
    try:
        if not _has_objects(native):
            table = native.to_arrow()
            return table.select(native.columns)  # without the index of a pandas frame
    except (pa.ArrowException, TypeError, OverflowError):
        pass  # what is raised below has none of it as its context: Arrow's message repeats a value
    columns = [_column(native, index) for index in range(len(native.columns))]
    return pa.Table.from_arrays(columns, names=[str(name) for name in native.columns])


def _has_objects(frame: Any) -> bool:
    """Tell whether polars holds objects of Python, whose addresses it would hand out for values."""
    is_polars = frame.implementation.is_polars()
    return is_polars and any(str(kind) == "Object" for kind in frame.schema.values())


def _column(frame: Any, index: int) -> Any:
    """Return a column as Arrow's, as texts if it mixes types."""
    import pyarrow as pa

    column = frame[:, index]
    with contextlib.suppress(pa.ArrowException, TypeError, OverflowError):
        is_object = frame.implementation.is_polars() and str(column.dtype) == "Object"
        return pa.array(column.to_list()) if is_object else column.to_arrow()
    texts = text_column(column.to_list())
    if texts is None:
        raise RecordError(
            f"Column {frame.columns[index]!r} of the frame holds what no type does; give it one type."
        )
    return texts


def is_stream(source: Any) -> bool:
    """Tell whether rows come part by part, and nobody knows how many."""
    import pyarrow.dataset as ds

    return isinstance(source, Iterator | ds.Dataset)


def is_spark(frame: Any) -> bool:
    """Tell whether a frame is Spark's; asks nothing of it, and loads no Spark."""
    return type(frame).__module__.startswith("pyspark.sql.")


def in_batches(source: Any) -> Iterator[Any]:
    """Yield the rows of a stream, a dataset, or any frame as Arrow tables, in order.

    Streams and datasets of Arrow, lazy polars frames, DuckDB relations and iterables of record batches
    are read part by part, in bounded memory.
    """
    import pyarrow as pa
    import pyarrow.dataset as ds

    parts: Iterable[Any]
    if isinstance(source, ds.Dataset):
        parts = source.to_batches()
    elif hasattr(source, "collect_batches"):  # polars
        parts = source.collect_batches(maintain_order=True)
    elif hasattr(source, "to_arrow_reader"):  # DuckDB
        parts = source.to_arrow_reader()
    elif isinstance(source, pa.RecordBatchReader) or (
        isinstance(source, Iterable) and not hasattr(source, "__arrow_c_stream__")
    ):
        parts = source
    else:
        parts = [source]
    broken = False
    rest = iter(parts)
    while True:
        try:
            part = next(rest)
        except StopIteration:
            return
        except (pa.ArrowException, OSError):
            broken = True  # raised below: Arrow's own message, kept as context, may repeat a value
        if broken:
            raise RecordError("The data cannot be read to its end: it is damaged, or mixes types.")
        yield to_arrow(part)
