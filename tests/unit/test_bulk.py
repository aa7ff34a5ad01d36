"""Reports are made from streams as from frames, in bounded memory, and files are whole or absent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from deniable import ReportBatch, Schema, Survey
from deniable.client.bulk import write_batches
from deniable.errors import RecordError, ReportError
from deniable.questions.entropy import BLOCK

NAMES = ("a", "b", "c")
SURVEYS = [
    Survey(Schema.binary(*NAMES), 2, 1.1, "InpHT"),
    Survey(Schema.of(a=[False, True], b=[False, True], c=[False, True]), 2, 1.1, "Subspace"),
    Survey(Schema.binary(*NAMES, "d", "e", "f", "g"), 2, 1.1, "InpRR"),
]


def people(survey: Survey, count: int) -> pa.Table:
    held = np.random.default_rng(2).random((count, len(survey.schema))) < 0.4
    frame = pd.DataFrame(held, columns=survey.schema.names)
    return pa.Table.from_pandas(frame.assign(beside=1), preserve_index=False)


@pytest.mark.parametrize("survey", SURVEYS, ids=lambda s: s.mechanism)
@pytest.mark.parametrize("size", [1000, BLOCK - 1, 3 * BLOCK + 5])
def test_a_stream_reports_as_its_frame_however_it_is_cut(survey: Survey, size: int) -> None:
    table = people(survey, 5 * BLOCK + 77)
    expected = survey.randomize(table, seed="cut").to_arrow()
    made = survey.randomize_batches(table.to_reader(max_chunksize=size), seed="cut")
    assert made.schema.metadata == expected.schema.metadata
    assert made.read_all().equals(expected)


def test_any_source_streams_alike() -> None:
    survey = SURVEYS[0]
    table = people(survey, 3000)
    expected = survey.randomize(table, seed="x").to_arrow()
    sources = {
        "table": table,
        "pandas": table.to_pandas(),
        "polars": pl.from_arrow(table),
        "polars lazy": pl.from_arrow(table).lazy(),
        "duckdb": duckdb.from_arrow(table),
        "dataset": ds.dataset(table),
        "reader": table.to_reader(),
        "batches": iter(table.to_batches(max_chunksize=700)),
        "tables": [table.slice(0, 5), table.slice(5, 0), table.slice(5)],
    }
    for name, source in sources.items():
        assert survey.randomize_batches(source, seed="x").read_all().equals(expected), name


def test_record_batches_in_report_batches_out() -> None:
    survey = SURVEYS[0]
    table = people(survey, 3000)
    expected = survey.randomize(table, seed="x").to_arrow()
    for source in (table.to_reader(), ds.dataset(table), iter(table.to_batches())):
        made = survey.randomize(source, seed="x")
        assert isinstance(made, pa.RecordBatchReader)
        assert made.read_all().equals(expected)
    read = []
    batches = (read.append(at) or batch for at, batch in enumerate(table.to_batches()))
    survey.randomize(batches)
    assert not read, "nothing is read before it is wanted"


def test_nothing_becomes_no_reports_of_the_right_form() -> None:
    for survey in SURVEYS:
        made = survey.randomize_batches(people(survey, 0)).read_all()
        assert made.schema == survey.randomize(people(survey, 0)).to_arrow().schema
        assert made.num_rows == 0


def test_a_stream_is_read_as_it_is_needed() -> None:
    survey = SURVEYS[0]
    table = people(survey, BLOCK)
    read = 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal read
        for _ in range(1000):
            read += 1
            yield table.to_batches()[0]

    reports = survey.randomize_batches(batches())
    for turn in range(1, 4):
        assert reports.read_next_batch().num_rows == 4 * BLOCK
        assert read == 4 * turn, "no more is held than is worked on"


def test_every_run_has_randomness_of_its_own() -> None:
    survey = SURVEYS[0]
    table = people(survey, 2000)
    first, second = (survey.randomize_batches(table).read_all() for _ in range(2))
    assert not first.equals(second)
    assert not survey.tally(survey.randomize_batches(table)).simulated
    with pytest.raises(ReportError, match="simulated"):
        survey.tally(survey.randomize_batches(table, seed="x"))


def test_a_stream_that_breaks_off_leaves_no_file_and_no_value(tmp_path: Path) -> None:
    survey = SURVEYS[0]
    table = people(survey, 100)

    def batches() -> Iterator[pa.RecordBatch]:
        yield from table.to_batches()
        raise pa.ArrowInvalid("secret value 'flu'")

    path = tmp_path / "reports.parquet"
    with pytest.raises(RecordError, match="cannot be read to its end") as caught:
        write_batches(survey.randomize_batches(batches()), path)
    assert caught.value.__context__ is None
    bad = [table.to_batches()[0], pa.record_batch({"a": [True], "b": [True]})]
    with pytest.raises(RecordError, match="no column 'c'"):
        write_batches(survey.randomize_batches(bad), path)
    for wrong in (7, [7], "text", {"a": [True]}):
        with pytest.raises(RecordError):
            survey.randomize_batches(wrong).read_all()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("survey", SURVEYS, ids=lambda s: s.mechanism)
def test_a_stream_is_written_as_a_batch_is(survey: Survey, tmp_path: Path) -> None:
    table = people(survey, 5 * BLOCK)
    told: list[int] = []
    path = tmp_path / "reports.parquet"
    reports = survey.randomize_batches(table, seed="x")
    assert write_batches(reports, path, told.append) == sum(told) == 5 * BLOCK
    batch: ReportBatch = survey.randomize(table, seed="x")
    assert pq.read_table(path).equals(batch.to_arrow())
    assert survey.tally(path, simulation=True) == survey.tally(batch, simulation=True)
