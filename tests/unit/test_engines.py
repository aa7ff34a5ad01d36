"""Reports are counted alike wherever they lie, and files are taken by their name, whatever it is."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable import Client, Ledger, Report, ReportBatch, Schema, Survey, Tally
from deniable.errors import ReportError
from deniable.mechanisms.registry import MECHANISMS

NARROW = Survey(Schema.binary("a", "b", "c"), 2, 1.1, "InpHT")
FOLDED = Survey(Schema.binary("a", "b", "c"), 2, 1.1, "MargRR")
PACKED = Survey(Schema.binary(*"abcdefg"), 2, 1.1, "InpRR")
SURVEYS = [NARROW, FOLDED, PACKED]


def batch(survey: Survey, people: int = 700) -> ReportBatch:
    held = np.random.default_rng(3).random((people, len(survey.schema))) < 0.4
    return survey.randomize(pd.DataFrame(held, columns=survey.schema.names))


def label(survey: Survey) -> str:
    return survey.mechanism.name


@pytest.mark.parametrize("survey", SURVEYS, ids=label)
def test_every_kind_of_frame_counts_alike(survey: Survey) -> None:
    made = batch(survey)
    table, expected = made.to_arrow(), survey.tally(made)
    shuffled = table.take(np.random.default_rng(4).permutation(len(made)))
    frames = {
        "arrow": table,
        "arrow in chunks": pa.concat_tables([table.slice(13), table.slice(0, 13)]),
        "arrow shuffled": shuffled,
        "with other columns": table.append_column("when", pa.array(range(len(made)))),
        "pandas": table.to_pandas(),
        "polars": pl.from_arrow(table),
        "polars lazy": pl.from_arrow(table).lazy(),
        "duckdb": duckdb.from_arrow(table),
    }
    for name, frame in frames.items():
        assert survey.tally(frame) == expected, name


@pytest.mark.parametrize("survey", SURVEYS, ids=label)
@pytest.mark.parametrize(
    "name",
    ["day.parquet", "day*.parquet", "day?.parquet", "[d]ay.parquet", "it's; a \"day\".parquet",
     "slot=3/day.parquet", "value=0/day.parquet", "count=9/slot=1/day.parquet", "no extension"],
)  # fmt: skip
def test_a_file_is_taken_by_its_name_whatever_it_is(
    tmp_path: Path, survey: Survey, name: str
) -> None:
    made = batch(survey)
    expected = survey.tally(made)
    for decoy in ("day1.parquet", "day2.parquet"):
        made.to_parquet(tmp_path / decoy)
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    made.to_parquet(path)
    assert survey.tally(path) == expected
    assert survey.tally(str(path)) == expected
    assert survey.tally([path, tmp_path / "day1.parquet"]) == expected + expected


@pytest.mark.parametrize("survey", SURVEYS, ids=label)
def test_several_files_add_up_whatever_their_columns_order(tmp_path: Path, survey: Survey) -> None:
    made = batch(survey)
    first, second = tmp_path / "1.parquet", tmp_path / "2.parquet"
    made.to_parquet(first)
    pq.write_table(made.to_arrow().select(["value", "slot"]), second)
    for paths in ([first, second], (second, first)):
        assert survey.tally(paths) == survey.tally(made) + survey.tally(made)


def test_files_of_narrower_integers_are_counted_and_of_anything_else_refused(
    tmp_path: Path,
) -> None:
    made = batch(NARROW)
    table, good = made.to_arrow(), tmp_path / "good.parquet"
    made.to_parquet(good)
    other = tmp_path / "other.parquet"
    pq.write_table(table.cast(pa.schema([("slot", pa.uint8()), ("value", pa.int16())])), other)
    assert NARROW.tally([good, other]) == NARROW.tally(made) + NARROW.tally(made)
    for kind in (pa.float64(), pa.string()):
        for column in ("slot", "value"):
            index = table.column_names.index(column)
            pq.write_table(table.set_column(index, column, table[column].cast(kind)), other)
            for paths in (other, [good, other], [other, good]):
                with pytest.raises(ReportError, match=f"column {column} of other.parquet"):
                    NARROW.tally(paths)


def test_a_file_of_another_survey_or_simulated_is_noticed_among_others(tmp_path: Path) -> None:
    good, bad, seeded = (tmp_path / f"{n}.parquet" for n in ("good", "bad", "seeded"))
    batch(NARROW).to_parquet(good)
    other = Survey(NARROW.schema, 2, 1.0, "InpHT")
    batch(other).to_parquet(bad)
    with pytest.raises(ReportError, match="another survey"):
        NARROW.tally([good, bad])
    frame = pd.DataFrame({"a": [True], "b": [True], "c": [True]})
    NARROW.randomize(frame, seed="x").to_parquet(seeded)
    with pytest.raises(ReportError, match="simulated"):
        NARROW.tally([good, seeded])
    assert NARROW.tally([good, seeded], simulation=True).simulated


def test_files_that_hold_no_reports_are_refused(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.parquet", tmp_path / "bad.parquet"
    batch(NARROW).to_parquet(good)
    whole = good.read_bytes()
    for content in (b"", b"PAR1", whole[: len(whole) // 2], whole[:-1], bytes(1000)):
        bad.write_bytes(content)
        with pytest.raises(ReportError, match=r"bad\.parquet is not a Parquet file, or it is cut"):
            NARROW.tally([good, bad])
    with pytest.raises(ReportError, match="There is no file nowhere"):
        NARROW.tally([good, tmp_path / "nowhere"])
    with pytest.raises(ReportError, match="not a Parquet file"):
        NARROW.tally(tmp_path)
    for columns in ({"slot": [0]}, {"slot": [0], "Value": [0]}):
        pq.write_table(pa.table(columns), bad)
        with pytest.raises(ReportError, match="holds no reports"):
            NARROW.tally(bad)


def test_a_file_damaged_within_is_refused(tmp_path: Path) -> None:
    for survey in (NARROW, PACKED):
        path = tmp_path / "damaged.parquet"
        batch(survey, 20_000).to_parquet(path)
        content = bytearray(path.read_bytes())
        content[4:600] = bytes(596)
        path.write_bytes(content)
        with pytest.raises(ReportError):
            survey.tally(path)


@pytest.mark.parametrize(
    "columns",
    [
        {"slot": [0, None], "value": [0, 0]},
        {"slot": [0, 0], "value": [None, 0]},
        {"slot": [0.5], "value": [0]},
        {"slot": ["0"], "value": [0]},
        {"slot": [0], "value": [True]},
        {"slot": [0], "value": [b"0"]},
        {"slot": [6], "value": [0]},
        {"slot": [0], "value": [2]},
        {"slot": [0], "other": [0]},
    ],
)
def test_a_frame_of_anything_else_is_refused_by_every_engine(tmp_path: Path, columns: dict) -> None:
    table = pa.table(columns)
    path = tmp_path / "bad.parquet"
    pq.write_table(table, path)
    for frame in (table, table.to_pandas(), pl.from_arrow(table), duckdb.from_arrow(table), path):
        with pytest.raises(ReportError):
            NARROW.tally(frame)


def test_what_is_neither_batch_nor_frame_nor_path_is_refused() -> None:
    twins = pa.Table.from_arrays([pa.array([0])] * 3, names=["slot", "slot", "value"])
    for thing in (None, 3, {}, [1, 2], ["x", 3], np.zeros(3), iter(()), twins):
        with pytest.raises(ReportError):
            NARROW.tally(thing)


def test_no_reports_make_an_empty_tally(tmp_path: Path) -> None:
    for survey in SURVEYS:
        nothing = batch(survey, 0)
        nothing.to_parquet(tmp_path / "nothing.parquet")
        for reports in (nothing, nothing.to_arrow(), tmp_path / "nothing.parquet"):
            made = survey.tally(reports)
            assert isinstance(made, Tally)
            assert made.people == 0


@pytest.mark.parametrize("name", MECHANISMS)
def test_single_reports_are_counted_as_a_batch_is(name: str) -> None:
    schema = Schema.binary("a", "b", "c", "d", "e", "f")
    asked = Survey(schema, 2, 1.1, name)
    reports = []
    for turn in range(40):
        client = Client(asked, ledger=Ledger.in_memory())
        reports.append(client.report({n: bool(turn >> i & 1) for i, n in enumerate(schema.names)}))
    tally = asked.tally(reports)
    assert tally.people == 40
    assert asked.tally(reports[:15]) + asked.tally(tuple(reports[15:])) == tally
    assert asked.tally([]).people == 0


def test_reports_that_nobody_can_have_sent_are_refused_one_by_one() -> None:
    asked = Survey(Schema.binary("a", "b"), 2, 1.1, "InpHT")
    for wrong in (Report(99, 0), Report(0, 5), Report(0, 1 << 70), Report(1 << 70, 0)):
        with pytest.raises(ReportError):
            asked.tally([Report(0, 1), wrong])


def test_a_batch_must_have_as_many_whole_values_as_slots() -> None:
    for slots, values in (
        (np.array([0, 1]), np.array([0])),
        (np.array([0]), np.array([0.5])),
        ([0], [0]),
        (np.array([[0]]), np.array([[0]])),
    ):
        with pytest.raises(ReportError, match="A batch"):
            ReportBatch("0" * 64, slots, values)
