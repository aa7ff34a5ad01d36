"""Attributes and schemas: what is declared, how it is encoded, what is refused, never what was held."""

from __future__ import annotations

import datetime
import enum
import json
import re
from collections.abc import Callable
from decimal import Decimal
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deniable import Attribute, Schema, Survey
from deniable.errors import DeniableError, RecordError, SchemaError

SECRET = "Rumpelstiltskin"
NUMBER = 1_152_921_504_606_846_977  # 2^60 + 1, which no float holds


def refusal(kind: type[DeniableError], act: Callable[[], object]) -> str:
    """Return the message of an error, which must be one sentence without a person's value."""
    with pytest.raises(kind) as caught:
        act()
    message = str(caught.value)
    assert SECRET not in message
    assert str(NUMBER)[:6] not in message
    assert "\n" not in message
    assert message.endswith(".")
    return message


# Declarations


def test_the_three_ways_to_make_a_schema_agree() -> None:
    frame = pd.DataFrame({"a": [True], "b": [False]})
    assert Schema.binary("a", "b") == Schema.from_frame(frame)
    assert Schema.binary("a", "b") == Schema.of(a=[False, True], b=Attribute("any name"))
    assert Schema.of(cls=["x", "y"]).names == ("cls",)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Schema(()), "at least one attribute"),
        (lambda: Schema.binary("a", "b", "a"), "'a' is declared twice"),
        (lambda: Schema((1, 2)), "nothing but attributes"),
        (lambda: Schema.binary(""), "not empty"),
        (lambda: Schema.binary(["a", "b"]), "must be a text"),
        (lambda: Schema.binary("a\ud800"), "not valid Unicode"),
        (lambda: Schema.of(a="fm"), "needs a list"),
        (lambda: Schema.of(a=3), "needs a list"),
        (lambda: Schema.of(a={"f", "m"}), "needs a list .* not a text, a set or a mapping"),
        (lambda: Schema.of(a={"f": 1, "m": 2}), "needs a list"),
        (lambda: Schema.of(a=b"fm"), "needs a list"),
        (lambda: Schema.of(a=np.array(3)), "needs a list"),
        (lambda: Attribute("a", "fm"), "needs a list"),
        (lambda: Attribute("a", None), "needs a list"),
        (lambda: Attribute("a", edges="12"), "needs a list"),
        (lambda: Schema.of(a=[]), "'a' has no values; list two or more, or leave it out"),
        (
            lambda: Schema.of(a=["f"]),
            "'a' has only one value, the same for everybody: leave it out",
        ),
        (lambda: Schema.of(a=range(70_000)), "more than 65,536 values; group some"),
        (lambda: Schema.of(a=range(10**15)), "more than 65,536 values"),
        (lambda: Schema.of(a=count()), "more than 65,536 values"),
        (lambda: Attribute("a", edges=range(65_536)), "more than 65,536 values"),
        (lambda: Schema.of(a=["f", "f"]), "a value twice"),
        (lambda: Schema.of(a=[0, np.int64(0)]), "a value twice"),
        (lambda: Schema.of(a=[0, False]), "easily confused, as true, 1 and '1' are; keep one"),
        (lambda: Schema.of(a=[1, "1"]), "easily confused"),
        (lambda: Schema.of(a=[True, "true", 0]), "easily confused"),
        (lambda: Attribute("a", (1, 2), missing="1"), "easily confused"),
        (lambda: Schema.of(a=[1, 1.0]), "declares a float .* need bins at public edges"),
        (lambda: Schema.of(a=[0.5, 1.5]), "declares a float"),
        (lambda: Schema.of(a=[b"f", b"m"]), "declares a bytes"),
        (lambda: Schema.of(a=[("f",), "m"]), "declares a tuple"),
        (lambda: Schema.of(a=np.zeros((2, 2))), "declares a ndarray"),
        (lambda: Schema.of(a=[np.datetime64(1, "ns"), "m"]), "declares a datetime64"),
        (lambda: Schema.of(a=[None, "x"]), "lists None or NaN .* stands for an absent one"),
        (lambda: Schema.of(a=[1, 2, float("nan")]), "lists None or NaN"),
        (lambda: Schema.of(a=np.array([1, np.nan])), "declares a float|lists None or NaN"),
        (lambda: Schema.of(a=[pd.NA, "x"]), "lists None or NaN"),
        (lambda: Schema.of(a=[pd.NaT, "x"]), "lists None or NaN"),
        (lambda: Attribute("a", (1, 2), missing=float("nan")), "lists None or NaN"),
        (lambda: Schema.of(a=[0, 2**53]), "2\\^53 or more"),
        (lambda: Schema.of(a=["\ud800", "x"]), "not Unicode"),
        (lambda: Attribute("a", edges=(2.0, 1.0)), "finite and increasing"),
        (lambda: Attribute("a", edges=(1.0, 1.0)), "finite and increasing"),
        (lambda: Attribute("a", edges=(float("nan"),)), "finite and increasing"),
        (lambda: Attribute("a", edges=(1.0, float("inf"))), "finite and increasing"),
        (lambda: Attribute("a", edges=(10**400,)), "finite and increasing"),
        (lambda: Attribute("a", edges=("low", "high")), "finite and increasing"),
        (lambda: Attribute("a", edges=("1", "2")), "finite and increasing"),
        (lambda: Attribute("a", edges=(False, True)), "finite and increasing"),
        (lambda: Attribute("a", edges=(None, 2.0)), "finite and increasing"),
        (lambda: Attribute("a", ("x", "y"), edges=(1.0,)), "'a' has values and edges; give one"),
    ],
)
def test_a_bad_declaration_is_refused(make: Callable[[], object], message: str) -> None:
    assert re.search(message, refusal(SchemaError, make))


class Sex(enum.StrEnum):
    F = "f"
    M = "m"


def test_values_may_come_from_numpy_pandas_or_an_enumeration() -> None:
    for values in (np.array(["f", "m"]), pd.Series(["f", "m"]), pd.Categorical(["f", "m"]), Sex):
        made = Attribute("sex", values)
        assert made == Attribute("sex", ("f", "m"))
        assert [type(value) for value in made.values] == [str, str]
        assert [made.encode(value) for value in ("m", np.str_("m"), Sex.M)] == [1, 1, 1]
    assert Attribute("n", np.arange(3), missing=np.int8(-1)).values == (0, 1, 2, -1)
    assert type(Attribute("n", np.array([False, True])).values[0]) is bool
    assert Attribute("n", edges=np.array([1, 2])) == Attribute("n", edges=(1.0, 2.0))
    assert repr(Attribute(np.str_("n")).name) == "'n'"


def test_values_of_several_kinds_stay_what_they_are() -> None:
    made = Attribute("a", (False, True, 2, "3", "not said"))
    again = Attribute.from_json(json.loads(json.dumps(made.to_json())))
    for attribute in (made, again):
        assert [attribute.encode(v) for v in (False, True, 2, 2.0, "3")] == [0, 1, 2, 2, 3]
        for value in (0, 1, "2", 3, "True", "false"):
            refusal(RecordError, lambda a=attribute, value=value: a.encode(value))
    columns = [[True, False], [2, 2], ["3", "not said"]]
    for column, codes in zip(columns, [[1, 0], [2, 2], [3, 4]], strict=True):
        assert made.encode_column(pa.array(column)).tolist() == codes
    # A column has one type, so its cells may spell a value of another; see test_cells.py.
    columns = [["2", "true"], [3, 2]]
    for column, codes in zip(columns, [[2, 1], [3, 2]], strict=True):
        assert made.encode_column(pa.array(column)).tolist() == codes
    for column in ([0, 1], ["1"], ["03"], [3.5]):
        refusal(RecordError, lambda column=column: made.encode_column(pa.array(column)))


def test_attributes_that_python_takes_for_equal_are_not() -> None:
    assert Attribute("a", (0, 1)) != Attribute("a")
    assert Schema.of(a=[0, 1]) != Schema.binary("a")
    assert Schema.of(a=[0, 1]) == Schema.of(a=np.arange(2))
    assert Attribute("a") != "a"
    assert len({Attribute("a"), Attribute("a", (0, 1)), Attribute("a", [False, True])}) == 2


def test_empty_texts_spaces_and_values_that_nobody_has_are_values() -> None:
    schema = Schema.of(a=["", " ", "x", "nobody"])
    frame = pa.table({"a": ["x", "", " "]})
    assert schema.encode_frame(frame).words.ravel().tolist() == [2, 0, 1]
    assert [schema.encode({"a": value}) for value in ("x", "", " ")] == [(2,), (0,), (1,)]
    assert "no value" in refusal(
        RecordError, lambda: schema.encode_frame(pa.table({"a": ["x", None]}))
    )
    refusal(RecordError, lambda: schema.encode({"a": "  "}))
    assert Schema.from_frame(frame, values="observed").attributes[0].values == ("", " ", "x")


def test_buckets_have_names_that_tell_them_apart() -> None:
    assert Attribute("age", edges=(18, 65)).values == ("below 18", "18 to 65", "65 or more")
    close = Attribute("pay", edges=(1_000_000, 1_000_001, 1_000_002))
    assert len(set(close.values)) == 4
    assert Attribute("x", edges=(0.1, 0.1 + 2**-50)).size == 3
    assert Attribute("x", edges=(-0.0,)).values == ("below 0", "0 or more")


def test_stand_ins_join_the_values_once() -> None:
    assert Attribute("a", ("x", "y"), missing="?", other="?").values == ("x", "y", "?")
    assert Attribute("a", ("x", "y"), missing="y").values == ("x", "y")
    assert Attribute("a", edges=(1.0,), other="no number").size == 3


def test_an_unknown_attribute_is_refused_with_the_known_ones() -> None:
    schema = Schema.binary(*(f"a{i}" for i in range(12)))
    assert schema.index("a11") == 11
    for name in ("b", None, 3, ["a0"]):
        with pytest.raises(SchemaError, match=r"attributes are a0, .*a9, …\.$"):
            schema.index(name)


# Schemas from frames


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "'n' is of type int64: say where it begins and ends in numbers, give public edges in"),
        ({"values": "observe"}, "must be"),
        ({"values": ["n"]}, "must be"),
        ({"values": {"n": 5}}, "needs a list"),
        ({"values": {"n": "ab"}}, "needs a list"),
        ({"bins": {"n": 5}}, "needs a list"),
        ({"bins": [1, 2]}, "bins"),
        ({"bins": {"n": ["x"]}}, "increasing numbers"),
        ({"bins": {"n": ["1", "2"]}}, "bin edges of 'n' must be finite and increasing numbers"),
        ({"bins": {"n": [2, 1]}}, "increasing numbers"),
        ({"bins": {"n": [1, 1]}}, "increasing numbers"),
        ({"bins": {"n": [1, float("inf")]}}, "increasing numbers"),
        ({"bins": {"n": [float("nan")]}}, "increasing numbers"),
        ({"bins": {"n": {1, 2}}}, "needs a list"),
        ({"bins": {"n": []}}, "bins of column 'n' have no edges; give one or more"),
        ({"bins": {"n": []}, "missing": "?", "other": "!"}, "no edges"),
        ({"bins": {"zz": [1, 2]}}, "no column 'zz'"),
        ({"bins": {"n": [1]}, "values": {"n": [1, 2, 3]}}, "'n' has values and bins; give one"),
        ({"values": {"zz": [1, 2]}}, "no column 'zz'"),
        ({"values": {"n": []}}, "no values"),
        ({"values": {"n": [1]}}, "only one value"),
    ],
)
def test_a_column_that_is_not_boolean_needs_a_declaration(options: Any, message: str) -> None:
    frame = pa.table({"n": [1, 2, 3]})
    assert message in refusal(SchemaError, lambda: Schema.from_frame(frame, **options))


DATE = datetime.date(2020, 1, 1)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([SECRET]), "is of type string: declare its values, in their order if they have"),
        (pa.array([None]), "declare its values"),
        (
            pa.array([1.5]),
            "is of type double: say where it begins and ends in numbers, give",
        ),
        (pa.array([1.5]).dictionary_encode(), "other numbers need bins at public edges"),
        (
            pa.array([DATE]),
            "is of type date32[day]: say on which days it begins and ends in numbers, or leave",
        ),
        (pa.array([Decimal("1.5")]), "say where it begins and ends in numbers, or leave it"),
        (pa.array([[1]]), "make it numbers, days, texts or boolean"),
    ],
)
def test_an_undeclared_column_is_refused_with_what_to_do(column: Any, message: str) -> None:
    assert message in refusal(SchemaError, lambda: Schema.from_frame(pa.table({"x": column})))


def test_bins_need_numbers_and_at_least_one_edge() -> None:
    for column in (["1"], [True], [DATE], [b"1"], [[1]]):
        frame = pa.table({"x": pa.array(column)})
        message = refusal(
            SchemaError, lambda frame=frame: Schema.from_frame(frame, bins={"x": [1]})
        )
        assert "bins need numbers" in message
    for column in (pa.array([1, 3]), pa.array([1, 3]).dictionary_encode(), pa.array([1.0, 2.0])):
        frame = pa.table({"x": column})
        schema = Schema.from_frame(frame, bins={"x": [2]})
        assert schema.attributes == (Attribute("x", edges=(2.0,)),)
        assert schema.encode_frame(frame).words.ravel().tolist() == [0, 1]
    nothing = pa.table({"x": pa.nulls(2)})
    schema = Schema.from_frame(nothing, bins={"x": [2]}, missing="?")
    assert schema.encode_frame(nothing).words.ravel().tolist() == [2, 2]


def test_observed_values_mark_the_schema_only_where_values_were_learned() -> None:
    frame = pa.table({"b": [True, False], "n": [2, 1], "t": pa.array(["y", "x"])})
    learned = Schema.from_frame(frame, values="observed")
    assert learned.observed
    assert [a.values for a in learned.attributes] == [(False, True), (1, 2), ("x", "y")]
    assert Schema.from_json(learned.to_json()) == learned
    assert not Schema.from_frame(frame.select(["b"]), values="observed").observed
    declared = Schema.from_frame(frame.select(["b", "n"]), values={"n": [1, 2]}, other="?")
    assert not declared.observed
    assert [a.values for a in declared.attributes] == [(False, True), (1, 2, "?")]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1], [2]]),
        pa.array([{"a": 1}, {"a": 2}]),
        pa.array([1.5, 2.5]),
        pa.array([None, None]),
        pa.array(["x", "x"]),
        pa.array([b"x", b"y"]),
        pa.array([datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)]),
    ],
    ids=lambda column: str(column.type),
)
def test_a_column_whose_values_cannot_be_declared_cannot_be_observed_either(column: Any) -> None:
    refusal(SchemaError, lambda: Schema.from_frame(pa.table({"x": column}), values="observed"))


def test_a_column_of_one_observed_value_is_refused_by_name() -> None:
    only = pd.Categorical([SECRET, SECRET], categories=[SECRET, "x", "y"])
    for column in (only, [SECRET, SECRET], [SECRET, None], [7, 7]):
        frame = pd.DataFrame({"good": [1, 2], "bad": column})
        message = refusal(
            SchemaError, lambda frame=frame: Schema.from_frame(frame, values="observed")
        )
        assert "'bad' has only one value, the same for everybody: leave it out" in message
    frame = pd.DataFrame({"bad": ["x", None]})
    assert Schema.from_frame(frame, values="observed", missing="?").sizes == (2,)


@pytest.mark.parametrize(
    "column",
    [
        pd.Categorical(["y", "x", None], categories=["z", "x", "y"]),
        pd.Categorical(["y", "x", None], categories=["z", "x", "y"], ordered=True),
        pd.array(["y", "x", pd.NA], dtype="string"),
        pd.Series(["y", "x", pd.NA], dtype=object),
        pl.Series(["y", "x", None], dtype=pl.Enum(["z", "x", "y"])),
        pa.DictionaryArray.from_arrays(pa.array([1, 0, 2]), pa.array(["x", "y", None])),
        pa.array(["y", "x", None], pa.large_string()),
        pa.array(["y", "x", None], pa.string_view()),
    ],
    ids=lambda column: f"{type(column).__name__} {getattr(column, 'dtype', '')}",
)
def test_categories_that_occur_are_observed_and_absent_ones_are_missing(column: Any) -> None:
    made = {"polars": pl.DataFrame, "pyarrow": pa.table}
    frame = made.get(type(column).__module__.split(".")[0], pd.DataFrame)({"x": column})
    schema = Schema.from_frame(frame, values="observed", missing="?")
    is_ordered = schema.attributes[0].is_ordered
    assert schema.attributes == (Attribute("x", ("x", "y"), missing="?", ordered=is_ordered),)
    assert schema.encode_frame(frame).words.ravel().tolist() == [1, 0, 2]
    strict = Schema.of(x=["x", "y"])
    assert "'x' has no value in 1 rows" in refusal(RecordError, lambda: strict.encode_frame(frame))


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "float64", object])
def test_absent_numbers_are_missing(dtype: Any) -> None:
    frame = pd.DataFrame({"x": pd.Series([2, None, 1], dtype=dtype)})
    for options, codes in (({"values": "observed"}, [1, 2, 0]), ({"bins": {"x": [2]}}, [1, 2, 0])):
        schema = Schema.from_frame(frame, **options, missing="?")
        assert schema.encode_frame(frame).words.ravel().tolist() == codes
        strict = Schema.from_frame(frame, **options)
        refusal(RecordError, lambda strict=strict: strict.encode_frame(frame))


def test_categories_of_truth_values_are_boolean() -> None:
    frame = pd.DataFrame({"a": pd.Categorical([True, False])})
    assert Schema.from_frame(frame) == Schema.binary("a")
    assert Schema.binary("a").encode_frame(frame).words.ravel().tolist() == [1, 0]


def test_a_name_that_is_declared_twice_among_very_many_is_found() -> None:
    with pytest.raises(SchemaError, match="'a0' is declared twice"):
        Schema.binary(*(f"a{i}" for i in range(15_000)), "a0")


def test_two_columns_of_one_name_are_refused() -> None:
    twins = pa.Table.from_arrays([pa.array([True])] * 2, names=["a", "a"])
    pandas = pd.DataFrame([[True, False]], columns=["a", "a"])
    for frame in (twins, pandas, twins.to_batches()[0]):
        for act in (Schema.from_frame, Schema.binary("a").encode_frame):
            assert "same name" in refusal(RecordError, lambda act=act, frame=frame: act(frame))


def test_what_is_no_frame_is_refused() -> None:
    for thing in (None, 3, "frame", {"a": [True]}, [True], pd.Series([True]), np.zeros((2, 2))):
        with pytest.raises(RecordError, match="must be a pandas, polars or Arrow table"):
            Schema.from_frame(thing)


def test_the_index_of_a_pandas_frame_is_no_attribute() -> None:
    frame = pd.DataFrame({"a": [True, False, True]})
    chosen = frame[frame["a"]]
    assert Schema.from_frame(chosen).names == ("a",)
    assert Schema.from_frame(chosen).encode_frame(chosen).words.ravel().tolist() == [1, 1]


# Records


def test_values_of_numpy_and_whole_floats_are_taken_as_what_they_are() -> None:
    sex, count = Attribute("sex", ("f", "m")), Attribute("count", (0, 1, 2))
    assert sex.encode(np.str_("m")) == 1
    assert Attribute("b").encode(np.bool_(True)) == 1
    assert [count.encode(v) for v in (2, 2.0, np.int8(2), np.float32(2))] == [2, 2, 2, 2]


@pytest.mark.parametrize("value", [True, "1", 1.5, b"1", 3, [1], {1}, np.array([1, 2]), object()])
def test_a_value_that_was_not_declared_is_refused_or_stands_for_other(value: object) -> None:
    strict = Attribute("count", (0, 1))
    assert "has no such value; declared values are 0, 1." in refusal(
        RecordError, lambda: strict.encode(value)
    )
    assert Attribute("count", (0, 1), other=-1).encode(value) == 2


@pytest.mark.parametrize(
    "value", [None, float("nan"), np.float64("nan"), pd.NA, pd.NaT, np.datetime64("NaT")]
)
def test_a_missing_value_is_refused_or_stands_for_missing(value: object) -> None:
    assert "'count' is missing" in refusal(
        RecordError, lambda: Attribute("count", (0, 1)).encode(value)
    )
    assert Attribute("count", (0, 1), missing=-1).encode(value) == 2


def test_a_number_is_put_into_its_bucket() -> None:
    age = Attribute("age", edges=(18, 65))
    ages = {-1e300: 0, 17.999: 0, 18: 1, 64: 1, 65.0: 2, 10**400: 2, float("inf"): 2}
    assert {value: age.encode(value) for value in ages} == ages
    for value in (SECRET, True, [20]):
        assert "must be a number" in refusal(RecordError, lambda value=value: age.encode(value))
    for value in (np.datetime64(20, "ns"), np.timedelta64(20, "ns")):
        refusal(RecordError, lambda value=value: age.encode(value))
    assert Attribute("age", edges=(18, 65), other="?").encode(SECRET) == 3
    held = pa.table({"age": [float("-inf"), 17.999, 18.0, 64.999, 65.0, float("inf")]})
    assert Schema((age,)).encode_frame(held).words.ravel().tolist() == [0, 0, 1, 1, 2, 2]
    for column in (pa.array([20.0, float("nan")]), pa.array([20, None])):
        frame = pa.table({"age": column})
        message = refusal(RecordError, lambda frame=frame: Schema((age,)).encode_frame(frame))
        assert "no value in 1 rows; declare a value for missing" in message


def test_a_record_must_hold_exactly_the_attributes() -> None:
    schema = Schema.binary("a", "b")
    assert schema.encode({"b": True, "a": False}) == (0, 1)
    assert schema.decode((0, 1)) == {"a": False, "b": True}
    assert "'b' is missing" in refusal(RecordError, lambda: schema.encode({"a": True}))
    extra = {"a": True, "b": True, SECRET: 1}
    assert "1 entries" in refusal(RecordError, lambda: schema.encode(extra))
    for record in (None, [True, False], "a"):
        refusal(RecordError, lambda record=record: schema.encode(record))


# Frames


@pytest.mark.parametrize(
    "column",
    [
        pa.array([NUMBER, 0]),
        pa.array([2**64 - 1, 0], pa.uint64()),
        pa.array([float(NUMBER), 0.0]),
        pa.array([0.5, 0.0]),
        pa.array([SECRET, "0"]),
        pa.array([SECRET, "0"]).dictionary_encode(),
        pa.array([SECRET.encode()]),
        pa.array([True, False]),
        pa.array([datetime.date(2020, 1, 1)]),
        pa.array([[1]]),
    ],
    ids=lambda column: str(column.type),
)
def test_a_column_of_undeclared_values_is_refused_or_stands_for_other(column: Any) -> None:
    frame = pa.table({"n": column})
    for declared in ({"values": (0, 1)}, {"edges": (1.5,)}):
        strict = Attribute("n", **declared)
        lenient = Attribute("n", **declared, other="?")
        # A column of texts may hold a number as well as a text.
        cells = [0 if value == "0" else value for value in column.to_pylist()]
        expected = [lenient.encode(value) for value in cells]
        encoded = Schema((lenient,)).encode_frame(frame).words.ravel().tolist()
        assert encoded == expected
        if "?" in (lenient.values[code] for code in expected):
            refusal(RecordError, lambda strict=strict: Schema((strict,)).encode_frame(frame))


def test_a_category_that_no_row_holds_is_no_reason_to_refuse_a_frame() -> None:
    schema = Schema.of(sex=["f", "m"])
    frames = [
        pd.DataFrame({"sex": pd.Categorical(["m", "f"], categories=["f", "m", "x"])}),
        pl.DataFrame({"sex": pl.Series(["m", "f"], dtype=pl.Enum(["f", "m", "x"]))}),
        pa.table({"sex": pa.array(["x", "m", "f"]).dictionary_encode()}).slice(1),
    ]
    for frame in frames:
        assert schema.encode_frame(frame).words.ravel().tolist() == [1, 0]


def test_errors_of_frames_count_rows() -> None:
    schema = Schema.of(sex=["f", "m"])
    plain = pa.array(["f", SECRET, SECRET, None, "m"])
    for column in (plain, plain.dictionary_encode()):
        frame = pa.table({"sex": column})
        message = refusal(RecordError, lambda frame=frame: schema.encode_frame(frame))
        assert "'sex' has no value in 1 rows" in message
        full = pa.table({"sex": column.drop_null()})
        message = refusal(RecordError, lambda full=full: schema.encode_frame(full))
        assert "an undeclared value in 2 rows; declared values are 'f', 'm'" in message


def test_a_frame_without_an_attribute_or_with_mixed_types_is_refused() -> None:
    schema = Schema.binary("a", "b")
    assert "no column 'b'" in refusal(
        RecordError, lambda: schema.encode_frame(pd.DataFrame({"a": [True]}))
    )
    for values in ([True, SECRET], [True, 10**30], [10**30], [NUMBER, SECRET]):
        mixed = pd.DataFrame({"b": True, "a": pd.Series(values, dtype=object)})
        message = refusal(RecordError, lambda mixed=mixed: schema.encode_frame(mixed))
        assert "an undeclared value in" in message
    for values in ([object()], [True, [SECRET]], [{"a": SECRET}, 1]):
        mixed = pd.DataFrame({"b": True, "a": pd.Series(values, dtype=object)})
        message = refusal(RecordError, lambda mixed=mixed: schema.encode_frame(mixed))
        assert "Column 'a' of the frame holds what no type does; give it one type." in message
    numbered = pd.DataFrame({0: [True, True], 1: pd.Series([1, [SECRET]], dtype=object)})
    assert "Column 1 of" in refusal(RecordError, lambda: Schema.from_frame(numbered))


def test_a_slice_of_a_column_is_encoded_from_where_it_begins() -> None:
    held = np.random.default_rng(0).random(60) < 0.5
    texts = pa.array(np.where(held, "y", "x"))
    for start in range(20):
        for length in (0, 1, 7, 8, 40):
            expected = held[start : start + length].astype(int).tolist()
            part = pa.array(held).slice(start, length)
            assert Attribute("a").encode_column(part).tolist() == expected
            for column in (texts, texts.dictionary_encode()):
                codes = Attribute("a", ("x", "y")).encode_column(column.slice(start, length))
                assert codes.tolist() == expected


def test_an_empty_frame_has_no_records() -> None:
    schema = Schema.of(a=[False, True], b=["x", "y"], c=Attribute("c", edges=(1.0,)))
    types = pa.schema({"a": pa.bool_(), "b": pa.string(), "c": pa.float64()})
    records = schema.encode_frame(types.empty_table())
    assert len(records) == 0
    assert records.words.shape == (0, 1)


# Layout


@pytest.mark.parametrize(
    ("count", "words", "dtype"),
    [(1, 1, "u1"), (8, 1, "u1"), (9, 1, "u2"), (17, 1, "u4"), (33, 1, "u8"), (64, 1, "u8"),
     (65, 2, "u8"), (200, 4, "u8")],
)  # fmt: skip
def test_a_record_takes_as_few_words_as_hold_it(count: int, words: int, dtype: str) -> None:
    schema = Schema.binary(*(f"a{i}" for i in range(count)))
    row = pa.table({name: [i % 3 == 0] for i, name in enumerate(schema.names)})
    encoded = schema.encode_frame(row).words
    assert encoded.shape == (1, words)
    assert encoded.dtype == np.dtype(dtype)
    bits = [int(encoded[0, i // 64]) >> (i % 64) & 1 for i in range(count)]
    assert bits == [int(i % 3 == 0) for i in range(count)]


def test_no_attribute_straddles_two_words() -> None:
    schema = Schema(tuple(Attribute(f"a{i}", tuple(range(5))) for i in range(30)))
    assert schema.layout[20:22].tolist() == [[0, 60], [1, 0]]
    frame = pa.table({name: [4, 0, 3] for name in schema.names})
    words = schema.encode_frame(frame).words
    for word, shift in schema.layout.tolist():
        assert [int(w) >> shift & 7 for w in words[:, word]] == [4, 0, 3]


def test_two_hundred_attributes_go_all_the_way() -> None:
    schema = Schema.binary(*(f"a{i}" for i in range(200)))
    survey = Survey(schema, order=2, epsilon=4.0, mechanism="MargPS")
    random = np.random.default_rng(5)
    held = random.random((20_000, 200)) < np.linspace(0.1, 0.9, 200)
    held[:, 199] = held[:, 0]
    frame = pa.table(dict(zip(schema.names, held.T, strict=True)))
    release = survey.tally(survey.randomize(frame, "many"), simulation=True).release()
    # 19,900 pairs share the reports, so only single attributes, pooled over 199 pairs, are sharp.
    ones = release.marginal("a199")
    error = ones.standard_error[1]
    assert 0.01 < error < 0.3
    assert abs(ones.values[1] - held[:, 199].mean()) < 5 * error
    assert release.marginal("a0", "a199").values.shape == (2, 2)


# JSON


@pytest.mark.parametrize(
    "change",
    [
        lambda form: form.update(extra=1),
        lambda form: form.update(attributes=[]),
        lambda form: form.update(attributes={}),
        lambda form: form.update(observed=False),
        lambda form: form.update(observed=1),
        lambda form: form["attributes"].append(form["attributes"][0]),
        lambda form: form["attributes"].append("a"),
        lambda form: form["attributes"][0].update(extra=1),
        lambda form: form["attributes"][0].update(name=""),
        lambda form: form["attributes"][0].update(name=1),
        lambda form: form["attributes"][0].update(values="fm"),
        lambda form: form["attributes"][0].update(values=[["f"], ["m"]]),
        lambda form: form["attributes"][0].update(values=[0.5, 1.5]),
        lambda form: form["attributes"][0].update(missing=None),
        lambda form: form["attributes"][0].update(missing=[]),
        lambda form: form["attributes"][0].update(other="not listed"),
        lambda form: form["attributes"][0].pop("values"),
        lambda form: form["attributes"][1].update(edges=[]),
        lambda form: form["attributes"][1].update(edges="12"),
        lambda form: form["attributes"][1].update(edges=[1.0, 2.0]),
        lambda form: form["attributes"][1].update(edges=["1", "2"]),
        lambda form: form["attributes"][1].update(edges=["2.0", "1.0"]),
        lambda form: form["attributes"][1].update(edges=["x"]),
        lambda form: form["attributes"][1].update(edges=["1e999"]),
        lambda form: form["attributes"][1].update(edges=None),
        lambda form: form["attributes"][1].update(values=["low", "high"]),
    ],
)
def test_a_schema_in_json_that_is_not_exactly_one_is_refused(change: Any) -> None:
    schema = Schema((Attribute("sex", ("f", "m")), Attribute("age", edges=(1.0, 2.0), other="?")))
    form = schema.to_json()
    assert Schema.from_json(form) == schema
    change(form)
    with pytest.raises(SchemaError):
        Schema.from_json(form)


def test_neither_is_an_index_of_shuffled_rows_or_with_a_name() -> None:
    frame = pd.DataFrame({"a": [True, False, True]}).iloc[[2, 0, 1]]
    assert Schema.from_frame(frame).names == ("a",)
    assert Schema.from_frame(frame.set_index(pd.Index([7, 8, 9], name="id"))).names == ("a",)
