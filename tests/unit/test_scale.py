"""Scales: points, and the level of every kind of value, one by one and in columns."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import Schema
from deniable.errors import DeniableError, RecordError, SchemaError
from deniable.schema.attribute import Attribute
from deniable.schema.scale import Days, Grid, Points, decimals_of, scale_between, spoken_point

KINDS = [
    Attribute("grid", low=0, high=99, missing="none", other="none", unit="years"),
    Attribute("tenths", low=-0.5, high=0.7, step=0.1, edges=(0, 0.3)),
    Attribute("points", points=(0.5, 1, 2.5, 1000), missing=False),
    Attribute("log", low=1, high=100_000, log=True),
    Attribute("days", low="2024-02-20", high="2024-03-05", step=7, missing="?"),
    Attribute("words", ("never", "at times", "often", "?"), missing="?", ordered=True),
]


@pytest.mark.parametrize("own", KINDS, ids=lambda own: own.name)
def test_an_attribute_with_an_order_is_read_as_it_is_written(own: Attribute) -> None:
    form = own.to_json()
    again = Attribute.from_json(form)
    assert again == own
    assert again.to_json() == form
    assert (again.levels, again.codes, again.values) == (own.levels, own.codes, own.values)
    assert own.codes == own.levels + (own.missing is not None)
    assert own.bins.tolist() == sorted(own.bins.tolist())
    assert set(own.bins.tolist()) == set(range(own.size))
    for code in range(own.codes):
        value = own.value_of(code)
        is_absent = code == own.levels and own.scale is not None
        assert own.encode(None if is_absent else value) == code
    assert Schema.from_json(Schema((own,)).to_json()) == Schema((own,))


BAD = [
    {"grid": {"low": "0.0", "high": "9.5", "step": "1.0"}},
    {"grid": {"low": "0.0", "high": "0.0", "step": "1.0"}},
    {"grid": {"low": "0", "high": "9.0", "step": "1.0"}},
    {"grid": {"low": "0.0", "high": "9.0", "step": "-1.0"}},
    {"grid": {"low": "0.0", "high": "4096.0", "step": "1.0"}},
    {"grid": {"low": "0.0", "high": "9.0"}},
    {"grid": {"low": "0.0", "high": "9.0", "step": "1.0"}, "edges": ["4.5"]},
    {"grid": {"low": "0.0", "high": "9.0", "step": "1.0"}, "edges": ["0.0", "4.0"]},
    {"grid": {"low": "0.0", "high": "9.0", "step": "1.0"}, "missing": 3},
    {"grid": {"low": "0.0", "high": "9.0", "step": "1.0"}, "missing": "x", "other": "y"},
    {"grid": {"low": "0.0", "high": "9.0", "step": "1.0"}, "other": "y"},
    {"grid": {"low": "0.0", "high": "9.0", "step": "1.0"}, "values": [1, 2]},
    {"grid": {"low": "0.0", "high": "9.0", "step": "1.0"}, "ordered": True},
    {"points": ["1.0"]},
    {"points": ["1.0", "1.0"]},
    {"points": ["1.0", "9007199254740992.0"]},
    {"points": ["1.0", "1.0000000000000002"]},
    {"days": {"first": "2024-02-20", "last": "2024-03-04", "step": 7}},
    {"days": {"first": "2023-02-29", "last": "2023-03-01", "step": 1}},
    {"days": {"first": "2024-03-01", "last": "2024-02-01", "step": 1}},
    {"days": {"first": "2024-02-01", "last": "2024-03-01", "step": 1}, "unit": "d"},
    {"days": {"first": "2024-02-01", "last": "2024-03-01", "step": 1}, "missing": "2024-02-05"},
    {"values": ["a", "b", "c"], "ordered": True, "missing": "a"},
    {"values": ["a", "b"], "ordered": True, "missing": "b"},
    {"values": ["a", "b"], "ordered": False},
]


@pytest.mark.parametrize("form", BAD, ids=str)
def test_a_scale_that_is_none_is_refused_in_one_sentence(form: dict) -> None:
    with pytest.raises(SchemaError) as caught:
        Attribute.from_json({"name": "n"} | form)
    assert str(caught.value).endswith(".")


# The nearest point


def nearest(points: list[Fraction], number: Fraction) -> int:
    """Return the nearest point, halves upwards."""
    distances = [abs(point - number) for point in points]
    return max(i for i, each in enumerate(distances) if each == min(distances))


@given(st.integers(-1000, 1000), st.sampled_from([1, 2, 5, 8]), st.integers(1, 60), st.data())
def test_the_level_of_a_number_is_its_nearest_point(low, eighths, steps, data):
    """In eighths, which doubles hold exactly."""
    step = eighths / 8
    grid = Grid(float(low), low + steps * step, step)
    points = [Fraction(each) for each in grid.numbers.tolist()]
    assert points == [low + Fraction(eighths, 8) * i for i in range(steps + 1)]
    number = data.draw(st.integers(16 * low - 200, 16 * low + 16 * steps * eighths + 200)) / 16
    assert grid.level_of(number) == nearest(points, Fraction(number))
    assert Points(tuple(grid.numbers.tolist())).level_of(number) == grid.level_of(number)


@given(
    st.dates(date(1900, 1, 1), date(2200, 1, 1)), st.integers(1, 9), st.integers(1, 99), st.dates()
)
def test_the_level_of_a_day_is_its_nearest_point(first, step, steps, day):
    days = Days(first, first + timedelta(step * steps), step)
    points = [Fraction(first.toordinal() + step * i) for i in range(steps + 1)]
    level = nearest(points, Fraction(day.toordinal()))
    assert days.level_of(day) == days.level_of(day.isoformat()) == level
    assert days.level_of(datetime(day.year, day.month, day.day, 23)) == level
    assert days.point(level) == (first + timedelta(step * level)).isoformat()


@pytest.mark.parametrize("step", [0.1, 0.3, 0.01, 0.007, 1e-5])
def test_points_are_the_doubles_of_their_texts(step: float) -> None:
    grid = Grid(-step, float(f"{1000 * step:.9g}"), step)
    digits = decimals_of(step)
    texts = [f"{Decimal(str(step)) * (i - 1):.{digits}f}" for i in range(grid.levels)]
    assert grid.numbers.tolist() == [float(text) for text in texts]
    for level in range(grid.levels):
        assert grid.level_of(grid.point(level)) == level
        assert grid.cut_at(grid.point(level)) == level


FLOATS = st.one_of(st.floats(), st.integers(-(10**20), 10**20), st.just(10**400))


@given(st.sampled_from(KINDS[:4]), st.lists(st.none() | FLOATS, min_size=1, max_size=9))
def test_columns_of_numbers_are_encoded_as_single_ones(own, numbers):
    numbers = [None if n is None or abs(n) > 1e308 else float(n) for n in numbers]
    column = pa.array(numbers, pa.float64())
    try:
        single = [own.encode(number) for number in numbers]
    except RecordError:
        with pytest.raises(RecordError):
            own.encode_column(column)
    else:
        assert own.encode_column(column).tolist() == single
        again = own.encode_column(column.dictionary_encode())
        assert again.tolist() == single


@given(st.lists(st.none() | st.dates(), min_size=1, max_size=9))
def test_columns_of_days_are_encoded_as_single_ones(days):
    own = KINDS[4]
    single = [own.encode(day) for day in days]
    texts = [None if day is None else day.isoformat() for day in days]
    for column in (pa.array(days, pa.date32()), pa.array(texts, pa.string())):
        assert own.encode_column(column).tolist() == single
        assert own.encode_column(column.dictionary_encode()).tolist() == single
    late = [None if day is None else datetime(day.year, day.month, day.day, 23) for day in days]
    assert own.encode_column(pa.array(late, pa.timestamp("us"))).tolist() == single


ODD = [True, "41", "x", [1], {}, b"1", math.inf, -math.inf, 10**400, object()]


@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_what_is_no_number_is_other_or_refused(value: object) -> None:
    assert KINDS[0].encode(value) == KINDS[0].levels
    with pytest.raises(RecordError, match="must be a finite number") as caught:
        KINDS[1].encode(value)
    assert str(value)[:9] not in str(caught.value).replace("finite", "")


@pytest.mark.parametrize(
    "text",
    ["2024-2-20", "2023-02-29", "20240220", "2024-02-20T00:00", "2024-W08-1", "", "x", 20240220],
)
def test_what_is_no_day_is_refused(text: object) -> None:
    with pytest.raises(RecordError, match="must be a day"):
        KINDS[4].encode(text)
    with pytest.raises(DeniableError):
        KINDS[4].encode_column(pa.array([text]))


@pytest.mark.parametrize("kind", [pa.string(), pa.bool_(), pa.date32()])
def test_a_column_of_another_type_is_refused_or_other(kind: pa.DataType) -> None:
    value = {"string": "x", "bool": True, "date32[day]": date(2024, 1, 1)}[str(kind)]
    column = pa.array([value, None], kind)
    assert KINDS[0].encode_column(column).tolist() == [100, 100]
    with pytest.raises(RecordError, match="needs numbers"):
        KINDS[1].encode_column(column)


def test_absent_values_need_one_that_stands_for_them():
    for absent in (None, math.nan, np.nan, pd.NA, pd.NaT):
        assert KINDS[0].encode(absent) == 100
        assert KINDS[4].encode(absent) == KINDS[4].levels
        with pytest.raises(RecordError, match="is missing"):
            KINDS[1].encode(absent)


def test_numpy_numbers_and_days_are_taken():
    assert KINDS[0].encode(np.int8(41)) == KINDS[0].encode(np.float32(41.4)) == 41
    assert KINDS[4].encode(np.datetime64("2024-02-27")) == 1
    assert KINDS[4].encode(pd.Timestamp("2024-02-27 13:00")) == 1


# As people declare them


def test_a_scale_is_as_fine_as_two_hundred_steps():
    for ends, levels in [((0, 1), 2), ((0.0, 1.5), 151), ((0, 100), 101), ((0, 1000), 201)]:
        scale, said = scale_between(*ends)
        assert (scale.levels, said) == (levels, "")
        assert (scale.numbers[0], scale.numbers[-1]) == ends
    with pytest.warns(UserWarning, match="upper end of 'n' becomes 12"):
        assert Attribute("n", low=0, high=10, step=4).high == 12
    assert Attribute("n", low=0, high=9, edges=(0, 4)).edges == (4.0,), "the lower end cuts nothing"


def test_what_stands_for_missing_is_told_from_numbers_and_days():
    for missing in (-1, 3, 5000):
        with pytest.raises(SchemaError, match="could be one of its numbers or days"):
            Attribute("n", low=0, high=9, missing=missing)
    with pytest.raises(SchemaError, match="could be one of its numbers or days"):
        Attribute("d", low="2024-01-01", high="2024-02-01", missing="1900-01-01")
    assert Attribute("d", low="2024-01-01", high="2024-02-01", missing=-1).missing == -1


def test_points_are_said_as_people_write_them():
    said = [spoken_point(each) for each in (41_000, 0.25, -1234.5, "2026-11-01", 1e-05)]
    assert said == ["41,000", "0.25", "-1,234.5", "2026-11-01", "0.00001"]
