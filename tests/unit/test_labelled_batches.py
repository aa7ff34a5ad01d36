"""Reports made in bulk carry the labels of their rows; periods that are not given are drawn."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import deniable.client.bulk as bulk
from deniable import ReportBatch, Schema, Survey
from deniable.client.bulk import write_batches
from deniable.errors import RecordError
from deniable.questions.entropy import BLOCK, Key

REGION = {"region": ["north", "south", "west"]}
MONTHS = ["2026-11-01", "2026-12-01", "2027-01-01", "2027-02-01"]
FALSE_ALARM = 1e-6


def survey(mechanism: str = "InpHT", **declared: object) -> Survey:
    names = "abcdefg" if mechanism == "InpRR" else "abc"
    declared = declared or {"labels": REGION, "periods": MONTHS}
    return Survey(Schema.binary(*names), 2, 1.1, mechanism, **declared)


def people(asked: Survey, count: int) -> pa.Table:
    random = np.random.default_rng(3)
    columns = {name: random.random(count) < 0.4 for name in asked.schema.names}
    region = np.array(REGION["region"])[random.integers(3, size=count)]
    return pa.table(columns | {"region": region, "beside": np.zeros(count)})


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["InpHT", "Subspace", "InpRR"])
@pytest.mark.parametrize("size", [1000, BLOCK - 1, 3 * BLOCK + 5])
def test_a_labelled_stream_reports_as_its_frame_however_it_is_cut(
    mechanism: str, size: int
) -> None:
    asked = survey(mechanism)
    table = people(asked, 5 * BLOCK + 77)
    batch = asked.randomize(table, seed="cut")
    assert batch.labels["region"].tolist() == table["region"].to_pylist()
    assert set(batch.labels["period"]) == set(MONTHS[:-1])
    made = asked.randomize_batches(table.to_reader(max_chunksize=size), seed="cut")
    assert made.schema.names == ["slot", "value", "region", "period"]
    read = made.read_all()
    assert read.equals(batch.to_arrow())
    again = ReportBatch.from_arrow(read, asked.id, asked.packed_bytes, asked.labels.names)
    assert again == batch


def test_labels_change_nothing_else_of_the_reports_but_the_survey() -> None:
    plain = survey(labels={})
    table = people(plain, 500)
    assert plain.randomize(table, seed="x").labels == {}
    assert plain.randomize_batches(table).read_all().column_names == ["slot", "value"]


def test_every_kind_of_frame_brings_its_labels() -> None:
    asked = survey(labels=REGION | {"version": ["1", "2"]}, periods=MONTHS)
    table = people(asked, 400)
    day = [date(2026, 12, 1), date(2026, 11, 1)] * 200
    table = table.append_column("period", [day]).append_column("version", [[1, 2] * 200])
    expected = asked.randomize(table, seed="x")
    assert expected.labels["period"].tolist() == list(map(str, day))
    assert expected.labels["version"].tolist() == ["1", "2"] * 200
    coded = table.set_column(
        table.column_names.index("region"), "region", table["region"].dictionary_encode()
    )
    for frame in (
        coded,
        table.to_pandas(),
        table.to_pandas().astype({"region": "category", "version": str}),
        pl.from_arrow(table),
        pl.from_arrow(table).with_columns(pl.col("region").cast(pl.Categorical)),
        pl.from_arrow(table).lazy(),
    ):
        assert asked.randomize(frame, seed="x") == expected
        assert asked.randomize_batches(frame, seed="x").read_all().equals(expected.to_arrow())
    relation = duckdb.from_arrow(table)
    assert asked.randomize_batches(relation, seed="x").read_all().equals(expected.to_arrow())


def test_nothing_becomes_no_reports_with_columns_of_labels() -> None:
    asked = survey()
    made = asked.randomize_batches(people(asked, 0)).read_all()
    assert made.schema == asked.randomize(people(asked, 0)).to_arrow().schema
    assert made.schema.field("region").type == pa.string()


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (None, "The frame has no column 'region'."),
        (["north", "Rumpel"], "Column 'region' has labels that are missing or not declared"),
        (["north", None], "Column 'region' has labels that are missing or not declared"),
        ([None, None], "each must be north, south or west"),
        ([1, 2], "not declared"),
        ([1.5, 2.5], "Column 'region' must hold texts, got double"),
        ([True, False], "Column 'region' must hold texts, got bool"),
        ([b"north", b"north"], "Column 'region' must hold texts, got binary"),
    ],
)
def test_a_label_that_is_not_declared_names_its_column_and_never_its_value(
    column: list[object] | None, message: str, tmp_path: Path
) -> None:
    asked = survey()
    table = people(asked, 2).drop_columns("region")
    table = table if column is None else table.append_column("region", pa.array(column))
    path = tmp_path / "reports.parquet"
    for make in (
        lambda: asked.randomize(table),
        lambda: write_batches(asked.randomize_batches(table), path),
    ):
        with pytest.raises(RecordError, match=message) as caught:
            make()
        assert "Rumpel" not in str(caught.value)
    assert not path.exists()


def test_a_period_is_given_for_all_rows_or_for_none() -> None:
    asked = survey()
    table = people(asked, 10)
    dated = table.append_column("period", [["2026-11-01"] * 10])
    for parts in ([dated, table], [table, dated]):
        with pytest.raises(RecordError, match="Only some parts of the data have a column 'period'"):
            asked.randomize_batches(parts).read_all()
    wrong = table.append_column("period", [["2027-02-01"] * 10])  # which only ends the last
    with pytest.raises(RecordError, match="Column 'period'"):
        asked.randomize(wrong)


def test_a_file_of_labelled_reports_is_read_by_others(tmp_path: Path) -> None:
    asked = survey()
    table = people(asked, 3000)
    path = tmp_path / "reports.parquet"
    write_batches(asked.randomize_batches(table), path)
    counted = duckdb.sql(f"SELECT region, count(*) FROM '{path}' GROUP BY 1 ORDER BY 1").fetchall()
    assert dict(counted) == pd.Series(table["region"].to_pylist()).value_counts().to_dict()
    assert pq.read_schema(path).names == ["slot", "value", "region", "period"]
    assert asked.tally(path).people == 3000


# How periods are drawn


def dependence(a: object, b: object) -> float:
    return float(stats.chi2_contingency(pd.crosstab(np.asarray(a), np.asarray(b))).pvalue)


def alarms(batch: ReportBatch, table: pa.Table) -> list[str]:
    """Return which laws the periods of a batch break."""
    month = batch.labels["period"].astype(str)
    _, counts = np.unique(month, return_counts=True)
    checks = {
        "alike": stats.chisquare(counts).pvalue if len(counts) == 3 else 0.0,
        "record": dependence(month, table["a"].to_numpy()),
        "slot": dependence(month, batch.slots),
        "value": dependence(month, batch.values),
        "neighbour": dependence(month[1:], month[:-1]),
        "block": dependence(month[BLOCK : 2 * BLOCK], month[:BLOCK]),
    }
    return [name for name, chance in checks.items() if chance < FALSE_ALARM]


def planted(bug: str, key: Key) -> Key:
    """Return a key whose periods go wrong."""

    class Broken(Key):
        def stream(self, *names: str | int) -> object:
            if "periods" not in names:
                return super().stream(*names)
            if bug == "slot":  # the stream of the slots once more
                return super().stream(names[0], "slots", names[2])
            return super().stream(*names[:2], 0)  # every block alike

    return Broken(key._secret)


@pytest.mark.slow
def test_drawn_periods_are_fair_and_independent_and_planted_bugs_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = Survey(Schema.binary("a", "b"), 2, 1.1, "InpHT", periods=MONTHS)
    table = pa.table({name: np.arange(3 * BLOCK) % 2 == 0 for name in "ab"})
    assert alarms(asked.randomize(table, seed="fair"), table) == []
    real = bulk.labels_of
    for bug in ("slot", "block"):
        monkeypatch.setattr(
            "deniable.client.bulk.labels_of",
            lambda m, t, key, first=0, bug=bug: real(m, t, planted(bug, key), first),
        )
        assert bug in alarms(asked.randomize(table, seed="fair"), table)
