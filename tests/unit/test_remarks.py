"""Values that pass for another are counted, and said to those who hold the data and to nobody else."""

from __future__ import annotations

import math
import warnings
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable import Attribute, Schema, Survey, simulate
from deniable.errors import DeniableWarning, RecordError, SchemaError
from deniable.lab.simulate import trials
from deniable.schema.columns import count_beyond
from deniable.schema.remarks import Remarks

AGE = Attribute("age", low=18, high=100, missing="?")
DAY = Attribute("day", low="2026-01-01", high="2026-01-31", missing="?")
SCHEMA = Schema(
    (
        Attribute("pay", low=0, high=80_000, step=1000, unit="USD", missing="?", other="?"),
        Attribute("word", ("a", "b"), missing="none", other="none"),
        Attribute("bin", edges=(10.0,), complete=True),
    )
)
SURVEY = Survey(SCHEMA, 2, 2.0)
SECRET = 123_456_789


def people(count: int = 400) -> pd.DataFrame:
    """Return people of whom a tenth earn more than the scale holds, and a twentieth less."""
    pay = np.linspace(0, 80_000, count)
    pay[::10], pay[5::20] = SECRET, -5
    word = np.where(np.arange(count) % 8 == 0, "Rumpelstiltskin", "a")
    return pd.DataFrame({"pay": pay, "word": word, "bin": 10.0**9})


BEYOND = (
    "60 of 400 values of 'pay' lie beyond its ends, 0 and 80,000 USD, and count as these: its mean and "
    "all else is of numbers so limited."
)
UNDECLARED = "50 of 400 values of 'word' are not declared, and count as 'none'."


@pytest.mark.parametrize(
    ("own", "column", "beyond"),
    [
        (AGE, [17, 18, 100, 101, None], 2),
        (AGE, [17.9, 18.0, 100.0, 100.1, math.nan, math.inf, -math.inf], 2),
        (AGE, ["17", "18", "?", "1e9", None, "x"], 2),
        (AGE, [True], 0),
        (AGE, [None], 0),
        (Attribute("x", points=(0.5, 1, 10)), [0.4, 0.5, 10, 10.5], 2),
        (Attribute("x", low=-5, high=5), [-(10**18), 10**18, 0], 2),
        (DAY, [date(2025, 12, 31), date(2026, 1, 1), date(2026, 1, 31), date(2026, 2, 1)], 2),
        (DAY, [datetime(2026, 1, 31, 23), datetime(1960, 1, 1)], 1),
        (DAY, ["2025-12-31", "2026-01-02", "?", None, "2026-02-30"], 1),
        (Attribute("x", edges=(1.0,)), [-9, 9], 0),
        (Attribute("x", ("a", "b"), ordered=True), ["z"], 0),
    ],
)
def test_what_lies_beyond_an_end_is_counted(own: Attribute, column: list[Any], beyond: int) -> None:
    array = pa.array(column)
    assert count_beyond(own, array) == beyond
    assert count_beyond(own, array.dictionary_encode()) == beyond
    assert count_beyond(own, pa.chunked_array([array.slice(0, 1), array.slice(1)])) == beyond


def test_counts_agree_with_each_value_alone() -> None:
    random = np.random.default_rng(1)
    for own in (AGE, Attribute("x", low=-1, high=1, step=0.25), Attribute("x", points=(0.5, 3))):
        ends = own.scale.numbers[[0, -1]]
        numbers = random.choice([*random.normal(0, 60, 50), *ends, *ends + 1e-9, *ends - 1e-9], 500)
        brute = sum(not ends[0] <= number <= ends[1] for number in numbers.tolist())
        assert 0 < brute == count_beyond(own, pa.array(numbers)) < 500


def test_a_frame_that_does_not_fit_its_declaration_is_said() -> None:
    frame = pd.DataFrame({"earnings": np.arange(100) * 1000.0})
    with pytest.warns(
        DeniableWarning, match=r"20 of 100 values of 'earnings' .* 0 and 79,000"
    ) as said:
        Schema.from_frame(frame, numbers={"earnings": {"low": 0, "high": 79_000, "step": 1000}})
    assert Path(said[0].filename) == Path(__file__)
    Schema.from_frame(frame, numbers={"earnings": (0, 99_000)})
    Schema.from_frame(frame, bins={"earnings": [10]})


@pytest.mark.parametrize("kind", ["frame", "polars", "arrow", "stream", "batches", "simulate"])
def test_everything_that_asks_people_says_what_became_of_values(kind: str) -> None:
    table = pa.Table.from_pandas(people(), preserve_index=False)
    ask: dict[str, Any] = {
        "frame": lambda: SURVEY.randomize(people()),
        "polars": lambda: SURVEY.randomize(pl.from_arrow(table).lazy()),
        "arrow": lambda: SURVEY.randomize(table),
        "stream": lambda: SURVEY.randomize(iter(table.to_batches(max_chunksize=7))).read_all(),
        "batches": lambda: SURVEY.randomize_batches(people()).read_all(),
        "simulate": lambda: simulate(SURVEY, people(), "s"),
    }
    with pytest.warns(DeniableWarning) as several:
        ask[kind]()
    said = [str(each.message) for each in several]
    assert said == [BEYOND, UNDECLARED]
    for sentence in said:  # counts, and no value
        assert str(SECRET) not in sentence.replace(",", "")
        assert "Rumpel" not in sentence


def test_trials_say_it_too() -> None:
    with pytest.warns(DeniableWarning) as several:
        assert len(list(trials(SURVEY, people(), repeat=2))) == 2
    assert [str(each.message) for each in several] == [BEYOND, UNDECLARED]


@pytest.mark.parametrize(
    ("fields", "values"),
    [
        ({"low": 18, "high": 100}, [17, 17.9999, 100.0001, 101, 10**20, -(10**20)]),
        ({"points": (0.5, 1, 10)}, [0.25, 10.5]),
        (
            {"low": "2026-01-01", "high": "2026-01-31"},
            ["2025-12-31", date(2026, 2, 1), datetime(2027, 1, 1)],
        ),
    ],
)
def test_a_strict_number_has_no_values_beyond_its_ends(
    fields: dict[str, Any], values: list[Any]
) -> None:
    loose, strict = Attribute("x", **fields), Attribute("x", **fields, strict=True)
    lenient = Attribute("x", **fields, strict=True, missing="?", other="?")
    assert "strict" not in loose.to_json()  # surveys keep their ids
    assert strict == Attribute.from_json(strict.to_json()) != loose
    assert not strict.covers
    assert lenient.covers
    ends = [loose.scale.point(0), loose.scale.point(-1)]
    assert [strict.encode(end) for end in ends] == [loose.encode(end) for end in ends]
    assert strict.encode_column(pa.array(ends)).tolist() == [0, strict.levels - 1]
    for value in values:
        assert loose.encode(value) in (0, loose.levels - 1)
        assert lenient.encode(value) == lenient.levels
        with pytest.raises(RecordError, match=r"must be a .* from .* to ") as caught:
            strict.encode(value)
        assert str(value) not in str(caught.value)
        texts = [str(value)] if not isinstance(value, datetime) else []
        for cell in (value, *texts):
            column = pa.array([cell if not isinstance(cell, int) else float(cell)])
            assert lenient.encode_column(column).tolist() == [lenient.levels]
            with pytest.raises(RecordError, match=r"and is none in 1 rows|needs (numbers|days)"):
                strict.encode_column(column)
            assert Remarks.of(Schema((lenient,)), pa.table({"x": column})).sentences == (
                "1 of 1 values of 'x' are not declared, and count as '?'.",
            )


@pytest.mark.parametrize("fields", [{}, {"edges": (1.0,)}, {"values": ("a", "b"), "ordered": True}])
def test_only_a_number_with_ends_is_strict(fields: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match="may be strict"):
        Attribute("x", **fields, strict=True)
    with pytest.raises(SchemaError, match="may be strict"):
        Attribute("x", low=0, high=9, strict=1)


def test_a_survey_that_anybody_may_be_beyond_must_say_what_then() -> None:
    strict = Attribute("x", low=0, high=9, strict=True)
    with pytest.raises(SchemaError, match="may not fit everybody"):
        Schema((strict,)).check_coverage()
    for rest in ({"complete": True}, {"missing": "?", "other": "?"}):
        Schema((Attribute("x", low=0, high=9, strict=True, **rest),)).check_coverage()


def test_no_word_of_it_leaves_with_reports(tmp_path: Path) -> None:
    """How many were changed follows from true answers, which only those know who hold them."""
    with pytest.warns(DeniableWarning):
        batch = SURVEY.randomize(people())
    batch.to_parquet(tmp_path / "r.parquet")
    metadata = pq.read_schema(tmp_path / "r.parquet").metadata
    assert {key for key in metadata if not key.startswith(b"ARROW")} == {b"deniable.survey"}
    release = SURVEY.tally(tmp_path / "r.parquet").release("none")
    assert release.remarks == ()
    release.report(tmp_path / "r.html")
    assert "lie beyond" not in (tmp_path / "r.html").read_text()


def test_the_report_of_a_simulation_shows_it(tmp_path: Path) -> None:
    with pytest.warns(DeniableWarning):
        release = simulate(SURVEY, people(), "s")
    assert release.remarks == (BEYOND, UNDECLARED)
    for each in (release, release.with_consistency("auto")):
        each.report(tmp_path / "r.html")
        text = (tmp_path / "r.html").read_text()
        assert "60 of 400 values of" in text
        assert "lie beyond its ends" in text


def test_nothing_is_said_of_values_that_fit() -> None:
    fitting = people().assign(pay=np.linspace(0, 80_000, 400), word="b")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(SURVEY, fitting, "s")
    assert Remarks.of(SCHEMA, pa.table({"pay": [None], "word": ["a"], "bin": [1]})).sentences == ()
