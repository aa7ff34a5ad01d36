"""Frames of any kind, read as Arrow tables: whole, or part by part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from deniable.errors import RecordError

_TWINS = "The frame has two columns of the same name; rename one."


def to_arrow(frame: Any) -> Any:
    """Return a pandas, polars or Arrow frame as an Arrow table."""
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
        table = native.to_arrow()
        return table.select(native.columns)  # without the index of a pandas frame
    except (pa.ArrowException, TypeError, OverflowError):
        pass  # raised below, because Arrow's own message, kept as context, would repeat a value
    raise RecordError(
        f"Column {_misfit(native)!r} of the frame mixes types, or holds what no type does; "
        "give it one type."
    )


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


def _misfit(frame: Any) -> object:
    """Return the name of the first column that is no Arrow column."""
    import pyarrow as pa

    for index, name in enumerate(frame.columns):
        try:
            frame[:, index].to_arrow()
        except (pa.ArrowException, TypeError, OverflowError):
            return name
    return None
