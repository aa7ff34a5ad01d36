"""Files of reports, opened by an engine as one lazy frame."""

from __future__ import annotations

import glob
import re
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deniable.errors import ReportError


@contextmanager
def _read_by_duckdb(paths: list[Path], tell: Callable[[float], None]) -> Iterator[Any]:
    import duckdb
    import narwhals as nw

    # A name is a name: neither a pattern, nor a statement about columns (slot=3/day.parquet).
    names = [glob.escape(str(path)) for path in paths]
    with tempfile.TemporaryDirectory() as spill, duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
        connection.execute("SET temp_directory = ?", [spill])
        query = "FROM read_parquet(?, hive_partitioning = false)"
        relation = connection.sql(query, params=[names])
        end = threading.Event()

        def watch() -> None:
            while not end.wait(0.1):
                tell(max(0.0, connection.query_progress() / 100))

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield nw.from_native(relation).lazy()
        finally:
            end.set()
            watcher.join()


@contextmanager
def _read_by_polars(paths: list[Path], tell: Callable[[float], None]) -> Iterator[Any]:
    import narwhals as nw

    try:
        import polars as pl
    except ImportError:
        raise ReportError("The engine polars is not installed: pip install polars.") from None
    yield nw.from_native(pl.scan_parquet(paths, glob=False, hive_partitioning=False))


@contextmanager
def _read_by_spark(paths: list[Path], tell: Callable[[float], None]) -> Iterator[Any]:
    import narwhals as nw

    from deniable.client.spark import local_session

    # A name is a name, here too.
    names = [re.sub(r"([\\\[\]{}*?])", r"\\\1", str(path.absolute())) for path in paths]
    yield nw.from_native(local_session().read.parquet(*names))


READERS = {"duckdb": _read_by_duckdb, "polars": _read_by_polars, "spark": _read_by_spark}
