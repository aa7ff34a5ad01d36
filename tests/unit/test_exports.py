"""Exports hold every table as the release has it."""

from __future__ import annotations

import csv
import json
import tracemalloc
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from deniable import Schema, Survey, simulate
from deniable.errors import ChartError, DeniableError
from deniable.formats.spreadsheets import cell
from deniable.show.export import count_tables, write_export

NUMBERS = ["estimate", "standard_error", "low", "high"]
READ = ["read", "read_low", "read_high"]
ODD = 'a,"b"\n=1+1'


@pytest.fixture(scope="module")
def release() -> Any:
    random = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            ODD: random.random(3000) < 0.3,
            "y": random.integers(0, 3, 3000),
            "z": np.array(["new", "älter", "true"])[random.integers(0, 3, 3000)],
        }
    )
    schema = Schema.from_frame(frame, values={"y": [0, 1, 2], "z": ["new", "älter", "true"]})
    return simulate(Survey(schema, 2, 3.0, "MargPS"), frame, "x")


def read(path: Path) -> pd.DataFrame:
    if path.suffix == ".csv":
        text = [f"{what}_{i}" for i in (1, 2) for what in ("attribute", "value")]
        return pd.read_csv(path, dtype=dict.fromkeys(text, str), keep_default_na=False,
                           na_values={name: [""] for name in NUMBERS + READ})  # fmt: skip
    return pd.read_parquet(path).fillna({f"{w}_2": "" for w in ("attribute", "value")})


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_row_per_cell_of_every_table(release: Any, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"all{ending}"
    release.export(path)
    frame = read(path)
    assert len(frame) == (2 + 3 + 3) + (6 + 6 + 9)
    assert frame.columns.tolist() == [
        *("attribute_1", "value_1", "attribute_2", "value_2", *NUMBERS, *READ),
        *("applied", "kind", "interval_kind", "known", "simulated"),
    ]
    assert frame["known"].all()
    assert frame["simulated"].all()
    for names in [("y",), (ODD, "z"), ("y", "z")]:
        shown = [cell(name) if ending == ".csv" else name for name in (*names, "")]
        own = frame[(frame["attribute_1"] == shown[0]) & (frame["attribute_2"] == shown[1])]
        expected = release.marginal(*names).to_frame()
        np.testing.assert_allclose(own[NUMBERS], expected[NUMBERS], rtol=1e-12)
        np.testing.assert_array_equal(own[READ], own[["estimate", "low", "high"]])
        said = expected[names[0]].map(lambda v: str(v).lower() if isinstance(v, bool) else str(v))
        assert own["value_1"].tolist() == said.tolist()


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_spreadsheets_find_no_formula(tmp_path: Path, start: str) -> None:
    """In CSV a text that begins like a formula is made a text; elsewhere it is as it was declared."""
    name, value = f"{start}cmd|'x'!A0", f"{start}1+1"
    schema = Schema.of(**{name: [value, "-5", "-0.5e-3", "fine"], "b": ["x", "y"]})
    frame = pd.DataFrame({name: [value, "-5"] * 50, "b": ["x", "y"] * 50})
    release = simulate(Survey(schema, 2, 3.0, "MargPS"), frame, "x")
    for ending in (".csv", ".parquet"):
        release.export(tmp_path / f"all{ending}")
    with (tmp_path / "all.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    cells = {cell for row in rows for cell in row[:4]}
    assert cells == {f"'{name}", f"'{value}", "-5", "-0.5e-3", "fine", "b", "x", "y", ""}
    assert {type(float(cell)) for row in rows for cell in row[4:11] if cell} == {float}
    stored = pd.read_parquet(tmp_path / "all.parquet")
    assert {name, value} <= {*stored["attribute_1"], *stored["value_1"]}


def test_parquet_says_what_it_is(release: Any, tmp_path: Path) -> None:
    release.export(tmp_path / "all.parquet")
    told = json.loads(pq.read_schema(tmp_path / "all.parquet").metadata[b"deniable.release"])
    assert told["survey"] == release.survey.id
    assert (told["people"], told["simulated"], told["applied"]) == (3000, True, "none")


def test_json_is_one_document(release: Any, tmp_path: Path) -> None:
    release.export(tmp_path / "all.json")
    told = json.loads((tmp_path / "all.json").read_text("utf-8"))
    assert (told["survey"], told["people"]) == (release.survey.id, 3000)
    assert told["simulated"]
    assert told["attributes"][2] == {"name": "z", "values": ["new", "älter", "true"]}
    assert len(told["tables"]) == count_tables(release) == 6
    last = told["tables"][-1]
    table = release.marginal(*last["attributes"])
    np.testing.assert_allclose(last["estimate"], table.values.ravel())
    np.testing.assert_allclose([last["low"], last["high"]], table.interval().reshape(2, -1))


@pytest.mark.parametrize("consistency", ["joint", "model"])
def test_processed_tables_say_so(tmp_path: Path, consistency: str) -> None:
    schema = Schema.binary(*"abc")
    frame = pd.DataFrame(np.random.default_rng(0).random((2000, 3)) < 0.3, columns=schema.names)
    release = simulate(Survey(schema, 2, 2.0, "InpHT"), frame, "x", consistency=consistency)
    release.export(tmp_path / "all.csv")
    frame = read(tmp_path / "all.csv")
    assert set(frame["kind"]) == {release.marginal("a", "b").kind} != {"unbiased"}
    assert set(frame["applied"]) == {release.applied}
    assert (frame["read"] >= 0).all()


def mixed_tally(people: int = 3000, **options: Any) -> Any:
    """A tally of attributes of two, three and five values."""
    random = np.random.default_rng(8)
    frame = pd.DataFrame(
        {"a": random.random(people) < 0.3, "b": random.integers(0, 3, people)}
    ).assign(c=lambda frame: (frame["b"] + random.integers(0, 3, people)) % 5)
    schema = Schema.from_frame(frame, values={"b": [0, 1, 2], "c": [0, 1, 2, 3, 4]})
    survey = Survey(schema, 2, 1.5, **options)
    return survey.tally(survey.randomize(frame, seed="x"), simulation=True)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".json"])
@pytest.mark.parametrize("consistency", ["auto", "joint", "model"])
def test_estimates_stay_unbiased_beside_what_is_read(
    tmp_path: Path, consistency: str, ending: str
) -> None:
    """Whatever consistency says, `estimate` and its interval are those of an unprocessed release."""
    tally = mixed_tally()
    plain, release = tally.release(), tally.release(consistency)
    path = tmp_path / f"all{ending}"
    release.export(path)
    if ending == ".json":
        told = json.loads(path.read_text("utf-8"))
        assert (told["format"], told["consistency"], told["applied"]) == (
            *(2, consistency, release.applied),
        )
        cells = {name: np.concatenate([t[name] for t in told["tables"]]) for name in NUMBERS + READ}
    else:
        cells = {name: read(path)[name].to_numpy() for name in NUMBERS + READ}

    def numbers(source: Any, value: str) -> Any:
        return np.concatenate([t.to_frame()[value] for n in (1, 2) for t in source.marginals(n)])

    for name, own in zip(NUMBERS, ("raw", *NUMBERS[1:]), strict=True):
        np.testing.assert_allclose(cells[name], numbers(plain, own), rtol=1e-9)
    for name, own in zip(READ, ("estimate", "low", "high"), strict=True):
        np.testing.assert_allclose(cells[name], numbers(release, own), rtol=1e-9)
    assert (cells["estimate"] < 0).any()
    assert (cells["read"] >= 0).all()


def test_the_unprocessed_release_is_one_of_the_same_evidence() -> None:
    release = mixed_tally().release("auto")
    plain = release.unprocessed
    assert (release.applied, plain.applied, plain.consistency) == ("model", "none", "none")
    assert plain.evidence is release.evidence
    assert plain.unprocessed is plain
    assert release.marginal("b", "c").interval_kind == "posterior"
    assert plain.marginal("b", "c").interval_kind == "normal"


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".json", ".html"])
def test_what_is_not_known_is_left_empty(tmp_path: Path, ending: str) -> None:
    schema = Schema.binary(*"abcd")
    frame = pd.DataFrame([[True, False, True, True]], columns=schema.names)
    release = simulate(Survey(schema, 2, 1.0, "MargPS"), frame, "x")
    path = tmp_path / f"one{ending}"
    release.export(path)
    if ending == ".html":
        assert "not known" in path.read_text("utf-8")
        return
    if ending == ".json":
        tables = json.loads(path.read_text("utf-8"))["tables"]
        unknown = [table for table in tables if not table["known"]]
        assert unknown
        assert all(cell is None for table in unknown for n in NUMBERS + READ for cell in table[n])
        return
    frame = read(path)
    assert not frame["known"].all()
    assert frame.loc[~frame["known"], NUMBERS + READ].isna().all(axis=None)


def test_estimates_without_error_bars(tmp_path: Path) -> None:
    schema = Schema.binary(*"abc")
    frame = pd.DataFrame(np.random.default_rng(0).random((500, 3)) < 0.3, columns=schema.names)
    release = simulate(Survey(schema, 2, 2.0, "InpEM"), frame, "x")
    for ending in (".csv", ".json", ".parquet", ".html"):
        release.export(tmp_path / f"em{ending}")
    frame = read(tmp_path / "em.csv")
    assert frame["estimate"].notna().all()
    assert frame[["low", "high", "read_low", "read_high"]].isna().all(axis=None)
    assert frame["read"].tolist() == frame["estimate"].tolist()
    assert "no error bars" in (tmp_path / "em.html").read_text("utf-8")


def test_other_endings_and_places_are_refused(release: Any, tmp_path: Path) -> None:
    with pytest.raises(
        ChartError, match=r"must end in .html, .json, .csv, .parquet, .xlsx or .sav, got 'a.txt'"
    ):
        release.export(tmp_path / "a.txt")
    with pytest.raises(DeniableError, match="cannot be written"):
        release.export(tmp_path / "nowhere" / "a.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_memory_does_not_grow_with_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred times as many tables as are held together."""
    monkeypatch.setattr("deniable.release.release._MOST_CELLS", 1 << 9)
    monkeypatch.setattr("deniable.show.export._ROWS_TOGETHER", 1 << 9)
    schema = Schema.binary(*(f"a{i}" for i in range(100)))
    frame = pd.DataFrame(np.random.default_rng(0).random((50, 100)) < 0.3, columns=schema.names)
    release = simulate(Survey(schema, 2, 2.0, "InpHT"), frame, "x")
    list(release.each_marginal(1))  # what is computed once
    ticks: list[None] = []
    peaks = []
    for tables in (release.marginals, release.each_marginal):
        tracemalloc.start()
        for table in tables(2):
            table.standard_error  # noqa: B018
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] / 4
    write_export(release, tmp_path / "all.parquet", lambda: ticks.append(None))
    assert len(ticks) == count_tables(release) == 100 + 4950
    names = pq.read_table(tmp_path / "all.parquet", columns=["attribute_1", "attribute_2"])
    pairs = set(zip(*(column.to_pylist() for column in names.columns), strict=True))
    assert len(pairs) == 5050
    assert set(combinations(schema.names, 2)) <= pairs
