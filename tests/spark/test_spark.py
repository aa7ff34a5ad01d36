"""A real Spark on this machine: its executors make reports and count them as one machine does."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable import ReportBatch, Schema, Survey
from deniable.client.spark import randomize_spark
from deniable.errors import RecordError, ReportError
from deniable.lab.law import p_value
from deniable.questions.entropy import Key

NAMES = tuple(f"a{i}" for i in range(6))
SURVEY = Survey(Schema.binary(*NAMES), 2, math.log(3), "InpHT")
NUMBERS = ["age", "moved"]
PACKED = Survey(Schema.binary(*"abcdefg"), 2, 1.1, "InpRR")
FALSE_ALARM = 1e-9


def people(count: int, names: tuple[str, ...] = NAMES) -> pd.DataFrame:
    random = np.random.default_rng(8)
    trait = random.random(count) < 0.4
    return pd.DataFrame({name: random.random(count) < 0.2 + 0.4 * trait for name in names})


def records(spark: Any, folder: Path, frame: pd.DataFrame, files: int) -> Any:
    """Write a frame to several files, so that Spark reads as many partitions."""
    folder.mkdir()
    for index, part in enumerate(np.array_split(np.arange(len(frame)), files)):
        frame.iloc[part].to_parquet(folder / f"{index}.parquet", index=False)
    return spark.read.parquet(str(folder))


def rows(frame: Any) -> list[tuple[int, Any]]:
    table = frame.toArrow()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def test_one_file_counts_alike_on_every_engine(spark: Any, tmp_path: Path) -> None:
    reports = SURVEY.randomize(people(2_000_000))
    path = tmp_path / "reports.parquet"
    reports.to_parquet(path)
    expected = SURVEY.tally(reports)
    assert expected.people == 2_000_000
    for engine in ("duckdb", "polars", "spark"):
        made = SURVEY.tally(path, engine=engine)
        for ours, theirs in zip(
            (made.slot, made.value, made.count),
            (expected.slot, expected.value, expected.count),
            strict=True,
        ):
            assert ours.dtype == theirs.dtype == np.int64
            assert ours.tobytes() == theirs.tobytes(), engine
    assert SURVEY.tally(spark.read.parquet(str(path))) == expected
    assert SURVEY.tally(pl.scan_parquet(path)) == expected


def test_spark_refuses_what_others_refuse_and_counts_it_alike(spark: Any) -> None:
    table = pa.table(
        {
            "slot": pa.array([0, 1, 99, -1, None, 2, 3, 99], pa.int32()),
            "value": pa.array([0, 1, 0, 0, 0, None, 7, 1], pa.int64()),
            "survey": [SURVEY.id] * 7 + ["0" * 64],
        }
    )
    frame = spark.createDataFrame(table)
    refused = {"other survey": 1, "missing": 2, "unknown slot": 2, "impossible value": 1}
    for each in (frame, table, pl.from_arrow(table), pl.from_arrow(table).lazy()):
        with pytest.raises(
            ReportError, match=r"6 of 8 reports cannot be counted \(other survey: 1"
        ):
            SURVEY.tally(each)
        made = SURVEY.tally(each, invalid="drop")
        assert (made.people, made.refused) == (2, refused)
    for bad in ("slot string, value long", "slot double, value long", "slot long, value boolean"):
        with pytest.raises(ReportError, match="must hold integers"):
            SURVEY.tally(spark.createDataFrame([], bad))
    with pytest.raises(ReportError, match="columns slot and value"):
        SURVEY.tally(spark.createDataFrame([], "slot long, other long"))
    assert SURVEY.tally(spark.createDataFrame([], "slot long, value long")).people == 0


def test_packed_reports_are_folded_by_the_executors(spark: Any, tmp_path: Path) -> None:
    reports = PACKED.randomize(people(5000, PACKED.schema.names))
    path = tmp_path / "packed.parquet"
    reports.to_parquet(path)
    expected = PACKED.tally(reports)
    assert PACKED.tally(path, engine="spark") == expected
    assert PACKED.tally(spark.read.parquet(str(path)).repartition(3)) == expected
    wrong = pa.table(
        {
            "slot": pa.array([0, 0, 5, None], pa.int64()),
            "value": pa.array([b"\0" * 16, b"\0" * 3, b"\0" * 16, b"\0" * 16], pa.binary()),
        }
    )
    for frame in (spark.createDataFrame(wrong), wrong, pl.from_arrow(wrong).lazy()):
        made = PACKED.tally(frame, invalid="drop")
        assert made.people == 1
        assert made.refused == {"missing": 1, "unknown slot": 1, "impossible value": 1}
        with pytest.raises(ReportError, match="3 of 4 reports"):
            PACKED.tally(frame)


@pytest.mark.parametrize(
    "name", ["day*.parquet", "[d]ay.parquet", "a{b}.parquet", "sp ace%20.parquet",
             "it's; a \"day\".parquet", "slot=3/day.parquet", "back\\slash.parquet"],
)  # fmt: skip
def test_spark_takes_a_file_by_its_name_too(spark: Any, tmp_path: Path, name: str) -> None:
    reports = SURVEY.randomize(people(50))
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    reports.to_parquet(path)
    SURVEY.randomize(people(70)).to_parquet(tmp_path / "day1.parquet")
    assert SURVEY.tally(path, engine="spark") == SURVEY.tally(reports)


def test_reports_keep_their_marks_through_spark_and_its_files(spark: Any, tmp_path: Path) -> None:
    frame = records(spark, tmp_path / "records", people(1000), 2)
    reports = SURVEY.randomize_spark(frame, seed="x")
    reports.write.parquet(str(tmp_path / "reports"))
    other = Survey(SURVEY.schema, 2, 1.0, "InpHT")
    for written in (reports, spark.read.parquet(str(tmp_path / "reports")), tmp_path / "reports"):
        with pytest.raises(ReportError, match="simulated"):
            SURVEY.tally(written)
        assert SURVEY.tally(written, simulation=True).people == 1000
        with pytest.raises(ReportError, match="another survey"):
            other.tally(written)
        assert other.tally(written, invalid="drop").refused == {"other survey": 1000}
    real = SURVEY.randomize(frame)
    assert type(real) is type(frame), "the driver collects nothing"
    assert not SURVEY.tally(real).simulated
    assert rows(real) != rows(SURVEY.randomize_spark(frame)), "every job has a key of its own"


def test_a_task_that_runs_again_yields_the_same_reports(spark: Any, tmp_path: Path) -> None:
    frame = records(spark, tmp_path / "records", people(3000), 3)

    def failing_at_first(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        if TaskContext.get().attemptNumber() == 0:
            raise RuntimeError("an executor is lost")
        yield from batches

    key = Key.fresh()
    calm = randomize_spark(SURVEY, frame, key, simulated=False)
    again = randomize_spark(
        SURVEY, frame.mapInArrow(failing_at_first, frame.schema), key, simulated=False
    )
    assert rows(calm) == rows(calm) == rows(again)


def test_partitions_share_no_randomness_even_if_they_hold_the_same(
    spark: Any, tmp_path: Path
) -> None:
    same = pd.DataFrame({name: [True] * 600 for name in NAMES})
    frame = records(spark, tmp_path / "records", same, 3)
    reports = rows(SURVEY.randomize_spark(frame, seed="x"))
    parts = {tuple(reports[start : start + 200]) for start in (0, 200, 400)}
    assert len(parts) == 3


def test_the_same_place_with_another_record_gets_other_randomness(
    spark: Any, tmp_path: Path
) -> None:
    """The same noise on two records of one person would tell where they differ."""
    before = people(400)
    after = before.copy()
    after.loc[7, "a0"] = ~after.loc[7, "a0"]
    key = Key.seeded("x")
    slots = []
    for name, held in (("before", before), ("after", after)):
        frame = records(spark, tmp_path / name, held, 1)
        made = randomize_spark(SURVEY, frame, key, simulated=True)
        slots.append([slot for slot, _ in rows(made)])
    assert np.mean(np.array(slots[0]) == np.array(slots[1])) < 0.2


def test_reports_of_executors_follow_the_law_and_a_shared_key_does_not(
    spark: Any, tmp_path: Path
) -> None:
    held = people(400_000)
    frame = records(spark, tmp_path / "records", held, 8)
    encoded = SURVEY.schema.encode_frame(held)
    spread = SURVEY.tally(SURVEY.randomize_spark(frame))
    assert spread.people == 400_000
    assert p_value(spread, encoded) > FALSE_ALARM
    assert p_value(SURVEY.tally(SURVEY.randomize(held)), encoded) > FALSE_ALARM
    table = spread.release().marginal("a0", "a1")
    truth = pd.crosstab(held["a0"], held["a1"], normalize=True).to_numpy()
    assert (np.abs(table.values - truth) < 5.5 * table.standard_error).all()

    class SharedKey(Key):
        """A planted bug: all partitions draw from the same streams."""

        def derive(self, *names: str | int) -> Key:
            return self

    shared = randomize_spark(
        SURVEY, frame, SharedKey(Key.seeded("shared")._secret), simulated=False
    )
    assert p_value(SURVEY.tally(shared), encoded) < FALSE_ALARM


def test_awkward_columns_and_missing_ones(spark: Any) -> None:
    schema = Schema.of(**{"a.b": ["x", "y`z"], "c d": [1, 2]})
    survey = Survey(schema, 2, 1.1, "MargPS")
    frame = spark.createDataFrame([("x", 1), ("y`z", 2)], ["a.b", "c d"])
    assert survey.tally(survey.randomize_spark(frame)).people == 2
    with pytest.raises(RecordError, match="no column 'c d'"):
        survey.randomize_spark(frame.drop("c d"))


def test_numbers_and_days_in_spark(spark: Any) -> None:
    """Everybody is 30 and moved on the same day: executors put both where they are on their grids."""
    survey = Survey(Schema.of(age=(20, 60), moved=("2026-01-01", "2026-01-31")), 2, 4.0)
    rows = [(30.2, date(2026, 1, 9))] * 4000
    release = survey.tally(survey.randomize_spark(spark.createDataFrame(rows, NUMBERS))).release()
    for name, truth in (("age", 30), ("moved", date(2026, 1, 9).toordinal())):
        mean = release.mean(name)
        assert abs(mean.estimate - truth) < 5 * mean.standard_error  # 6 times in 10 million
        assert mean.standard_error < 2


def test_the_command_counts_by_spark(spark: Any, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from deniable.api.tally import Tally
    from deniable.cli.app import app

    reports: ReportBatch = SURVEY.randomize(people(300))
    pq.write_table(reports.to_arrow(), tmp_path / "r.parquet")
    (tmp_path / "survey.json").write_text(SURVEY.to_json())
    arguments = [str(tmp_path / "r.parquet"), "--survey", str(tmp_path / "survey.json")]
    out = ["--engine", "spark", "-o", str(tmp_path / "day.tally")]
    ended = CliRunner().invoke(app, ["tally", *arguments, *out])
    assert ended.exit_code == 0, ended.output
    assert Tally.load(tmp_path / "day.tally") == SURVEY.tally(reports)
