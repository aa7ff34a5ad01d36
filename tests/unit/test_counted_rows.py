"""Rows that say how many reports they stand for count as these reports do; other columns are named."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from deniable import Schema, Survey, Tally, regress
from deniable.errors import ReportError, TallyError

LABELS = {"region": ["north", "south"]}
SURVEYS = {
    "InpHT": Survey(Schema.binary("a", "b", "c"), 2, 1.1, "InpHT", labels=LABELS),
    "folded": Survey(Schema.binary("a", "b", "c"), 2, 1.1, "MargRR", labels=LABELS),
    "packed": Survey(Schema.binary(*"abcdefg"), 2, 1.1, "InpRR", labels=LABELS),
    "numbers": Survey(Schema.of(age=(18, 100), b=[False, True]), 2, 2.0, labels=LABELS),
}
PLAIN = Survey(Schema.binary("a", "b", "c"), 2, 1.1, "InpHT")


@pytest.fixture(params=SURVEYS)
def survey(request: pytest.FixtureRequest) -> Survey:
    return SURVEYS[request.param]


def rows(survey: Survey, count: int = 60) -> pa.Table:
    """Return reports that a survey can have got, which stand for 0 to 6 each."""
    random = np.random.default_rng(2)
    frame = pd.DataFrame(random.random((count, len(survey.schema))) < 0.4)
    frame.columns = list(survey.schema.names)
    if "age" in frame:
        frame["age"] = random.integers(18, 100, count)
    frame["region"] = random.choice(LABELS["region"], count)
    table = survey.randomize(frame).to_arrow()
    return table.append_column("count", pa.array(random.integers(0, 7, count)))


def repeated(table: pa.Table) -> pa.Table:
    """Return a row for each report."""
    counts = np.asarray(table["count"].to_numpy()).astype(int)
    return table.drop_columns("count").take(np.repeat(np.arange(table.num_rows), counts))


def frames_of(table: pa.Table, folder: Path) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    pq.write_table(table, folder / "1.parquet")
    return {
        "arrow": table,
        "arrow in chunks": pa.concat_tables([table.slice(13), table.slice(0, 13)]),
        "pandas": table.to_pandas(),
        "pandas with nullable types": table.to_pandas(
            types_mapper={pa.int64(): pd.Int64Dtype()}.get
        ),
        "polars": pl.from_arrow(table),
        "polars lazy": pl.from_arrow(table).lazy(),
        "duckdb": duckdb.from_arrow(table),
        "a reader": table.to_reader(max_chunksize=7),
        "a dataset": ds.dataset(folder),
        "a file": folder / "1.parquet",
    }


@pytest.mark.slow
def test_every_engine_counts_what_rows_stand_for(survey: Survey, tmp_path: Path) -> None:
    table = rows(survey)
    expected, groups = (survey.tally(repeated(table), by=by) for by in (None, "region"))
    assert expected.people == sum(table["count"].to_pylist())
    for name, frame in frames_of(table, tmp_path).items():
        if name != "a reader":
            counted = survey.tally(frame, by="region")
            assert {n: t == groups[n] for n, t in counted.items()} == dict.fromkeys(groups, True)
        assert survey.tally(frame) == expected, name
    assert survey.tally(tmp_path / "1.parquet", engine="polars") == expected


@pytest.mark.parametrize(
    "kind",
    [pa.int8(), pa.uint32(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(38, 0)],
    ids=str,
)
def test_counts_of_every_numeric_type_are_exact(kind: pa.DataType, tmp_path: Path) -> None:
    """Sums come as doubles of pandas, as decimals of DuckDB, and as 32 bits of polars."""
    table = pa.table({"slot": [0, 0, 1], "value": [0, 0, 1], "count": [3, 100, 9]})
    index = table.column_names.index("count")
    table = table.set_column(index, "count", pc_cast(table["count"], kind))
    for name, frame in frames_of(table, tmp_path).items():
        if name.startswith("pandas") and "decimal" in str(kind):
            continue  # objects, to pandas
        tally = PLAIN.tally(frame)
        assert tally.count.tolist() == [103, 9], name
        assert tally.count.dtype == np.int64


def pc_cast(column: Any, kind: pa.DataType) -> Any:
    if pa.types.is_decimal(kind):
        return pa.array([Decimal(value) for value in column.to_pylist()], kind)
    return column.cast(kind)


def test_sums_beyond_32_bits_do_not_wrap(tmp_path: Path) -> None:
    table = pa.table(
        {
            "slot": [0] * 3 + [1],
            "value": [0] * 3 + [1],
            "count": pa.array([2**32 - 1] * 3 + [1], pa.uint32()),
        }
    )
    for name, frame in frames_of(table, tmp_path).items():
        assert PLAIN.tally(frame).count.tolist() == [3 * (2**32 - 1), 1], name
    most = pa.table({"slot": [0, 0], "value": [0, 1], "count": [2**53 - 2, 1]})
    for name, frame in frames_of(most, tmp_path / "most").items():
        assert PLAIN.tally(frame).count.tolist() == [2**53 - 2, 1], name


@pytest.mark.parametrize(
    "counts",
    [
        pa.array([1, -1]),
        pa.array([1, None]),
        pa.array([1.0, 0.5]),
        pa.array([1.0, float("nan")]),
        pa.array([1.0, float("inf")]),
        pa.array([1.0, 2.0**53]),
        pa.array([1, 2**63 - 1]),
        pa.array([1, 2**64 - 1], pa.uint64()),
        pa.array([Decimal("1"), Decimal("1.5")], pa.decimal128(20, 1)),
    ],
    ids=str,
)
@pytest.mark.parametrize("invalid", ["refuse", "drop"])
@pytest.mark.parametrize("mechanism", ["plain", "packed"])
def test_what_is_no_count_is_refused(
    counts: pa.Array, invalid: str, mechanism: str, tmp_path: Path
) -> None:
    asked = PLAIN if mechanism == "plain" else Survey(Schema.binary(*"abcdefg"), 2, 1.1, "InpRR")
    values = [0, 0] if mechanism == "plain" else pa.array([bytes(16)] * 2, pa.binary(16))
    table = pa.table({"slot": [0, 0], "value": values, "count": counts})
    for name, frame in frames_of(table, tmp_path).items():
        if name == "pandas" and pa.types.is_decimal(counts.type):
            continue
        with pytest.raises(ReportError, match=r"count .*(and does not in 1 row|must hold numbers)"):
            asked.tally(frame, invalid=invalid)


@pytest.mark.parametrize("kind", [pa.string(), pa.bool_(), pa.binary()], ids=str)
def test_a_column_of_no_numbers_counts_nothing(kind: pa.DataType, tmp_path: Path) -> None:
    counts = pa.array([1]).cast(pa.string() if kind == pa.binary() else kind).cast(kind)
    table = pa.table({"slot": [0], "value": [0], "count": counts})
    for frame in frames_of(table, tmp_path).values():
        with pytest.raises(ReportError, match="count"):
            PLAIN.tally(frame)


@pytest.mark.parametrize("copies", [2, 1500])
@pytest.mark.parametrize("mechanism", ["plain", "packed"])
def test_more_reports_than_there_can_be_are_refused_not_wrapped(
    copies: int, mechanism: str, tmp_path: Path
) -> None:
    asked = PLAIN if mechanism == "plain" else Survey(Schema.binary(*"abcdefg"), 2, 1.1, "InpRR")
    values = [0] * copies if mechanism == "plain" else pa.array([bytes(16)] * copies)
    counts = [2**53 - 1] * copies
    table = pa.table({"slot": [0] * copies, "value": values, "count": counts})
    for frame in frames_of(table, tmp_path).values():
        with pytest.raises(ReportError, match="2\\^53 reports or more"):
            asked.tally(frame)


def test_tallies_do_not_add_up_to_more_than_there_can_be(tmp_path: Path) -> None:
    half = PLAIN.tally(pa.table({"slot": [0], "value": [0], "count": [2**52]}))
    with pytest.raises(TallyError, match="fewer than 2\\^53"):
        half + half
    (half + PLAIN.tally(pa.table({"slot": [0], "value": [0]}))).save(tmp_path / "x.tally")
    assert Tally.load(tmp_path / "x.tally").people == 2**52 + 1


def test_what_is_refused_is_counted_in_reports(tmp_path: Path) -> None:
    other = Survey(PLAIN.schema, 2, 1.0, "InpHT")
    table = pa.table(
        {
            "slot": pa.array([0, 99, None, 1, 0], pa.int64()),
            "value": pa.array([0, 0, 0, 9, 0], pa.int64()),
            "survey": [PLAIN.id] * 4 + [other.id],
            "count": [2, 3, 5, 7, 11],
        }
    )
    for name, frame in frames_of(table, tmp_path).items():
        if name == "pandas":
            continue  # a slot that is missing makes its column doubles
        tally = PLAIN.tally(frame, invalid="drop")
        assert tally.people == 2, name
        expected = {"other survey": 11, "missing": 5, "unknown slot": 3, "impossible value": 7}
        assert tally.refused == expected, name
    foreign = table.slice(0, 1).drop_columns("survey")
    foreign = foreign.replace_schema_metadata({b"deniable.survey": other.id.encode()})
    for name, frame in frames_of(foreign, tmp_path / "foreign").items():
        if "arrow" in name or "a " in name:
            assert PLAIN.tally(frame, invalid="drop").refused == {"other survey": 2}, name


def test_files_with_and_without_counts_add_up(tmp_path: Path) -> None:
    table = rows(SURVEYS["folded"])
    pq.write_table(table, tmp_path / "counted.parquet")
    pq.write_table(repeated(table), tmp_path / "single.parquet")
    asked = SURVEYS["folded"]
    for engine in ("duckdb", "polars"):
        seen: list[tuple[int, int]] = []

        def tell(rows_read: int, total: int, seen: list[tuple[int, int]] = seen) -> None:
            seen.append((rows_read, total))

        tally = asked.tally(tmp_path, engine=engine, progress=tell)
        assert tally == asked.tally(repeated(table)) + asked.tally(repeated(table))
        total = table.num_rows + repeated(table).num_rows
        assert seen[-1] == (total, total)
    with pytest.raises(ReportError, match="leaves out the column 'count' of some of its files"):
        asked.tally(ds.dataset([tmp_path / "single.parquet", tmp_path / "counted.parquet"]))


def test_the_result_of_ones_own_group_by_is_a_tally(tmp_path: Path) -> None:
    """Ten million reports are not as many as there are rows."""
    frame = pd.DataFrame(np.random.default_rng(1).random((9000, 3)) < 0.4, columns=list("abc"))
    table = PLAIN.randomize(frame).to_arrow()
    expected = PLAIN.tally(table)
    relation = duckdb.from_arrow(table)
    polars, pandas = pl.from_arrow(table), table.to_pandas()
    keys = ["slot", "value"]
    for counted in (
        relation.aggregate("slot, value, count(*) AS count"),
        relation.aggregate("slot, value, count(*) AS count").aggregate(
            "slot, value, sum(count) AS count"
        ),
        polars.group_by(keys).agg(pl.len().alias("count")),
        pandas.groupby(keys).size().reset_index(name="count"),
        pandas.value_counts(keys).reset_index(),
        pandas.astype("category").groupby(keys, observed=False).size().reset_index(name="count")
        .astype(int),
    ):  # fmt: skip
        assert PLAIN.tally(counted) == expected
    relation.aggregate("slot, value, count(*) AS count").write_parquet(str(tmp_path / "c.parquet"))
    for engine in ("duckdb", "polars"):
        assert PLAIN.tally(tmp_path / "c.parquet", engine=engine) == expected


@pytest.mark.parametrize("name", ["n", "Count", "len", "count_star()", "when", "label_0", "weight"])
def test_any_other_column_is_named(name: str, tmp_path: Path) -> None:
    table = pa.table({"slot": [0, 1], "value": [0, 1], name: [5, 5]})
    for frame in frames_of(table, tmp_path).values():
        with pytest.raises(ReportError, match=r"has a column .*call it count if") as caught:
            PLAIN.tally(frame)
        assert repr(name) in str(caught.value)


def test_what_pandas_calls_an_index_is_no_column(tmp_path: Path) -> None:
    frame = pd.DataFrame({"slot": [0, 9, 0, 1], "value": [0, 0, 0, 1]}).query("slot < 5")
    frame.to_parquet(tmp_path / "index.parquet")
    assert "__index_level_0__" in pq.read_schema(tmp_path / "index.parquet").names
    assert PLAIN.tally(tmp_path / "index.parquet").people == 3


def test_a_tally_is_no_frame_of_reports(tmp_path: Path) -> None:
    """A folded tally's rows are no reports with counts."""
    folded = SURVEYS["folded"]
    folded.tally(repeated(rows(folded))).save(tmp_path / "x.parquet")
    table = pq.read_table(tmp_path / "x.parquet")
    for frame in (table, table.to_reader(), ds.dataset(tmp_path / "x.parquet")):
        with pytest.raises(ReportError, match=r"is a tally: .*Tally\.load"):
            folded.tally(frame)


def test_a_fit_with_open_columns_takes_no_counts(tmp_path: Path) -> None:
    frame = pd.DataFrame(np.random.default_rng(1).random((50, 3)) < 0.4, columns=list("abc"))
    table = PLAIN.randomize(frame).to_arrow().append_column("age", pa.array(range(50)))
    table = table.append_column("count", pa.array([3] * 50))
    pq.write_table(table, tmp_path / "r.parquet")
    for reports in (table, tmp_path / "r.parquet"):
        with pytest.raises(ReportError, match="row by row"):
            regress(reports, "a ~ age", survey=PLAIN)
