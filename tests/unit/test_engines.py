"""Reports are counted alike wherever they lie, and files are taken by their name, whatever it is."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from deniable import Client, Ledger, Report, ReportBatch, Schema, Survey, Tally
from deniable.errors import ReportError, TallyError
from deniable.mechanisms.registry import MECHANISMS

NARROW = Survey(Schema.binary("a", "b", "c"), 2, 1.1, "InpHT")
FOLDED = Survey(Schema.binary("a", "b", "c"), 2, 1.1, "MargRR")
PACKED = Survey(Schema.binary(*"abcdefg"), 2, 1.1, "InpRR")
NUMBERS = Survey(Schema.of(age=(18, 100), day=("2026-01-01", "2026-12-31")), 2, 2.0)
SURVEYS = [NARROW, FOLDED, PACKED, NUMBERS]


def batch(survey: Survey, people: int = 700) -> ReportBatch:
    shares = np.random.default_rng(3).random((people, len(survey.schema)))
    frame = pd.DataFrame(shares < 0.4, columns=survey.schema.names)
    if survey is NUMBERS:
        days = pd.Timestamp("2026-01-01") + pd.to_timedelta(shares[:, 1] * 365, "D")
        frame = pd.DataFrame({"age": 10 + 100 * shares[:, 0], "day": days})
    return survey.randomize(frame)


def label(survey: Survey) -> str:
    return survey.mechanism


@pytest.mark.parametrize("survey", SURVEYS, ids=label)
def test_every_kind_of_frame_counts_alike(survey: Survey) -> None:
    made = batch(survey)
    table, expected = made.to_arrow(), survey.tally(made)
    shuffled = table.take(np.random.default_rng(4).permutation(len(made)))
    frames = {
        "arrow": table,
        "arrow in chunks": pa.concat_tables([table.slice(13), table.slice(0, 13)]),
        "arrow shuffled": shuffled,
        "pandas": table.to_pandas(),
        "polars": pl.from_arrow(table),
        "polars lazy": pl.from_arrow(table).lazy(),
        "duckdb": duckdb.from_arrow(table),
        "a record batch": table.combine_chunks().to_batches()[0],
        "a reader": table.to_reader(max_chunksize=100),
        "a dataset": ds.dataset(table),
        "with its survey": table.append_column("survey", pa.array([survey.id] * len(made))),
        "with it as a category": pl.from_arrow(table).with_columns(
            survey=pl.lit(survey.id).cast(pl.Categorical)
        ),
    }
    for name, frame in frames.items():
        assert survey.tally(frame) == expected, name


@pytest.mark.slow
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
    with pytest.raises(ReportError, match=r"bad\.parquet is not a Parquet file"):
        NARROW.tally(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "notes.txt").write_text("nothing")
    with pytest.raises(ReportError, match="The folder empty holds no"):
        NARROW.tally(tmp_path / "empty")
    with pytest.raises(ReportError, match=r"No file matches .*none\*\.parquet"):
        NARROW.tally(tmp_path / "none*.parquet")
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
    for wrong in (Report(99, 0), Report(0, 5), Report(0, 1 << 70)):
        with pytest.raises(ReportError):
            asked.tally([Report(0, 1), wrong])
    for slot, value in ((1 << 70, 0), (-1, 0), (0, -1)):
        with pytest.raises(ReportError):
            Report(slot, value)


def test_a_batch_must_have_as_many_whole_values_as_slots() -> None:
    for slots, values in (
        (np.array([0, 1]), np.array([0])),
        (np.array([0]), np.array([0.5])),
        ([0], [0]),
        (np.array([[0]]), np.array([[0]])),
    ):
        with pytest.raises(ReportError, match="A batch"):
            ReportBatch("0" * 64, slots, values)


# Folders, patterns, engines


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("survey", SURVEYS, ids=label)
def test_folders_and_patterns_stand_for_the_files_in_them(
    tmp_path: Path, survey: Survey, engine: str
) -> None:
    made = batch(survey, 300)
    for name in ("1.parquet", "2.parquet", "deep/er/3.parquet", "slot=9/4.parquet"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        made.to_parquet(tmp_path / name)
    for draft in (
        "_temporary/0/x.parquet",
        ".hidden.parquet",
        "_metadata.parquet",
        "x.parquet.part",
    ):
        (tmp_path / draft).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / draft).write_bytes(b"half-written")
    one = survey.tally(made)
    for meant, files in (
        (tmp_path, 4),
        (f"{tmp_path}/[12].parquet", 2),
        (f"{tmp_path}/**/*.parquet", 4),
        ([f"{tmp_path}/deep", f"{tmp_path}/?.parquet"], 3),
    ):
        assert survey.tally(meant, engine=engine) == sum([one] * files)
    spelt = tmp_path / "_own [1]"
    spelt.mkdir()
    made.to_parquet(spelt / "5.parquet")
    for meant in (spelt, f"{tmp_path}/_own*/*.parquet"):
        assert survey.tally(meant, engine=engine) == one
    assert survey.tally(tmp_path, engine=engine) == sum([one] * 4)


def test_an_engine_that_does_not_exist_and_other_options_are_refused(tmp_path: Path) -> None:
    batch(NARROW).to_parquet(tmp_path / "day.parquet")
    with pytest.raises(ReportError, match="must be 'duckdb', 'polars' or 'spark', got 'oracle'"):
        NARROW.tally(tmp_path, engine="oracle")
    with pytest.raises(ReportError, match="must be 'refuse' or 'drop', got 'ignore'"):
        NARROW.tally(tmp_path, invalid="ignore")


def test_files_of_different_types_are_each_read_by_their_own(tmp_path: Path) -> None:
    wide = Survey(Schema.binary(*(f"a{i}" for i in range(30))), 2, 1.1, "InpHT")
    made = batch(wide, 3000)
    few = made.slots < 128
    narrow = ReportBatch(
        wide.id, made.slots[few].astype(np.int8), made.values[few].astype(np.uint8)
    )
    narrow.to_parquet(tmp_path / "a.parquet")
    ReportBatch(wide.id, made.slots[~few], made.values[~few]).to_parquet(tmp_path / "b.parquet")
    for engine in ("duckdb", "polars"):
        assert wide.tally(tmp_path, engine=engine) == wide.tally(made)


def test_progress_reaches_the_number_of_reports(tmp_path: Path) -> None:
    for day in range(3):
        batch(NARROW, 50_000).to_parquet(tmp_path / f"{day}.parquet")
    told: list[tuple[int, int]] = []
    NARROW.tally(tmp_path, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (150_000, 150_000)
    assert all(0 <= done <= total == 150_000 for done, total in told)


@pytest.mark.slow
def test_a_huge_folder_is_counted(tmp_path: Path) -> None:
    made = batch(NARROW, 3)
    for part in range(1500):
        made.to_parquet(tmp_path / f"{part}.parquet")
    assert NARROW.tally(tmp_path).people == 4500


# What is refused, and how many


def mixed() -> pa.Table:
    """Eight rows, two of which are reports to NARROW."""
    return pa.table(
        {
            "slot": pa.array([0, 1, 99, -1, None, 2, 3, 99], pa.int64()),
            "value": pa.array([0, 1, 0, 0, 0, None, 7, 1], pa.int64()),
            "survey": [NARROW.id] * 7 + [None],
        }
    )


REFUSED = {"other survey": 1, "missing": 2, "unknown slot": 2, "impossible value": 1}


def frames_of(table: pa.Table, folder: Path) -> dict[str, object]:
    pq.write_table(table, folder / "mixed.parquet")
    integers = {pa.int64(): pd.Int64Dtype(), pa.int32(): pd.Int32Dtype()}
    return {
        "arrow": table,
        "pandas": table.to_pandas(types_mapper=integers.get),
        "polars": pl.from_arrow(table),
        "polars lazy": pl.from_arrow(table).lazy(),
        "duckdb": duckdb.from_arrow(table),
        "reader": table.to_reader(),
        "file": folder / "mixed.parquet",
    }


@pytest.mark.parametrize("repeat", [1, 50])
def test_every_engine_refuses_alike_and_counts_what_it_refuses(tmp_path: Path, repeat: int) -> None:
    table = pa.concat_tables([mixed()] * repeat)
    said = (
        rf"{6 * repeat} of {8 * repeat} reports cannot be counted \(other survey: {repeat}, "
        rf"missing: {2 * repeat}, unknown slot: {2 * repeat}, impossible value: {repeat}\); "
        "invalid='drop' leaves them out"
    )
    for name, frame in frames_of(table, tmp_path).items():
        if name != "reader":  # which is read once
            with pytest.raises(ReportError, match=said):
                NARROW.tally(frame)
        made = NARROW.tally(frame, invalid="drop")
        assert made.people == 2 * repeat, name
        assert made.refused == {kind: n * repeat for kind, n in REFUSED.items()}, name
        assert made == sum([NARROW.tally(table.slice(0, 2))] * repeat)


def test_folded_reports_are_refused_by_kind_too() -> None:
    made = batch(FOLDED, 200)
    slots, values = made.slots.copy(), made.values.copy()
    slots[:3], values[3:5] = FOLDED.slots, 1 << 40
    wrong = ReportBatch(FOLDED.id, slots, values)
    for reports in (wrong, wrong.to_arrow(), pl.from_arrow(wrong.to_arrow()).lazy()):
        dropped = FOLDED.tally(reports, invalid="drop")
        assert dropped.refused == {"unknown slot": 3, "impossible value": 2}
        assert dropped == FOLDED.tally(ReportBatch(FOLDED.id, made.slots[5:], made.values[5:]))


def test_packed_values_of_another_width_are_refused_by_kind(tmp_path: Path) -> None:
    wrong = pa.table(
        {
            "slot": pa.array([0, 0, 5, None, 7, 0], pa.int64()),
            "value": pa.array([bytes(16), bytes(3), bytes(16), bytes(16), b"", None], pa.binary()),
        }
    )
    for name, frame in frames_of(wrong, tmp_path).items():
        made = PACKED.tally(frame, invalid="drop")
        assert made.people == 1, name
        assert made.refused == {"missing": 2, "unknown slot": 2, "impossible value": 1}, name
    for other in ("text", 5, 0.5):
        with pytest.raises(ReportError, match="packed bytes each"):
            PACKED.tally(pa.table({"slot": [0], "value": [other]}))


def test_reports_of_another_survey_are_counted_as_that_where_they_say_so(tmp_path: Path) -> None:
    other = Survey(NARROW.schema, 2, 1.0, "InpHT")
    ours, theirs = batch(NARROW, 70), batch(other, 30)
    ours.to_parquet(tmp_path / "1.parquet")
    theirs.to_parquet(tmp_path / "2.parquet")
    for reports in (
        theirs,
        theirs.to_arrow(),
        theirs.to_arrow().to_reader(),
        tmp_path / "2.parquet",
    ):
        made = NARROW.tally(reports, invalid="drop")
        assert (made.people, made.refused) == (0, {"other survey": 30})
    made = NARROW.tally(tmp_path, invalid="drop")
    assert made == NARROW.tally(ours)
    assert made.refused == {"other survey": 30}
    with pytest.raises(ReportError, match="another survey"):
        NARROW.tally(tmp_path)
    files = [tmp_path / f"{n}.parquet" for n in (1, 2)]
    for invalid in ("refuse", "drop"):
        with pytest.raises(ReportError, match="another survey as well"):
            NARROW.tally(ds.dataset(files), invalid=invalid)
    assert NARROW.tally(ds.dataset(files[1:]), invalid="drop").refused == {"other survey": 30}
    assert NARROW.tally(ds.dataset(files[:1]).filter(ds.field("slot") < 3)).people < 70
    seeded = NARROW.randomize(pd.DataFrame({n: [True] for n in "abc"}), seed="x")
    seeded.to_parquet(files[1])
    with pytest.raises(ReportError, match="simulated"):
        NARROW.tally(ds.dataset(files))
    for kind in (pa.int64(), pa.float64()):
        odd = ours.to_arrow().append_column("survey", pa.array([1] * 70, kind))
        assert NARROW.tally(odd, invalid="drop").refused == {"other survey": 70}


def test_integers_beyond_63_bits_are_refused_not_wrapped(tmp_path: Path) -> None:
    table = pa.table(
        {
            "slot": pa.array([0, 2**63, 2**64 - 1], pa.uint64()),
            "value": pa.array([0, 0, 2**64 - 1], pa.uint64()),
        }
    )
    for name, frame in frames_of(table, tmp_path).items():
        made = NARROW.tally(frame, invalid="drop")
        assert (made.people, made.refused) == (1, {"unknown slot": 2}), name


def test_refusals_add_up_and_survive_a_file(tmp_path: Path) -> None:
    made = NARROW.tally(mixed(), invalid="drop")
    both = made + made
    assert both.refused == {kind: 2 * n for kind, n in REFUSED.items()}
    both.save(tmp_path / "x.tally")
    assert Tally.load(tmp_path / "x.tally").refused == both.refused
    assert (made + NARROW.tally(batch(NARROW))).refused == REFUSED
    for notes in (b"{", b"[]", b'{"unknown slot": -1}', b'{"other": 1}', b'{"missing": true}'):
        table = pq.read_table(tmp_path / "x.tally")
        marked = table.replace_schema_metadata(table.schema.metadata | {b"deniable.refused": notes})
        pq.write_table(marked, tmp_path / "y.tally")
        with pytest.raises(TallyError, match="notes cannot be read"):
            Tally.load(tmp_path / "y.tally")
