"""Data files that somebody made to harm whoever opens them: one sentence, and the program goes on."""

from __future__ import annotations

import random
import time
from collections import Counter
from datetime import date, datetime
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pyreadstat
import pytest

from deniable.errors import DataError
from deniable.lab.datasets import load
from deniable.schema import labelled

CASES = 40
FRAME = pd.DataFrame(
    {
        "sex": [1.0, 2.0, 2.0] * 30,
        "age": [30.0, 40.0, 99.0] * 30,
        "town": ["a", "b", "c" * 40] * 30,
        "long": ["x" * 300, "y" * 280, "z"] * 30,
    }
)
LABELS = {"sex": {1: "woman", 2: "man", 3: "other"}, "age": {99: "not said"}}
CRASHES = {".sav": 83, ".zsav": 271}
"""Cases of `damaged` that crash pyreadstat 1.3.7."""


def sound(kind: str) -> bytes:
    path = Path("sound.dta" if kind == ".dta" else "sound.sav")
    if kind == ".dta":
        pyreadstat.write_dta(FRAME.drop(columns=["long"]), path, variable_value_labels=LABELS)
    else:
        more = (
            {"compress": True}
            if kind == ".zsav"
            else {"column_labels": ["s", "a", "t", "l"], "variable_measure": {"sex": "nominal"}}
        )
        missing = {"age": [99]}
        pyreadstat.write_sav(
            FRAME, path, variable_value_labels=LABELS, missing_ranges=missing, **more
        )
    return path.read_bytes()


def damaged(content: bytes, seed: int) -> bytes:
    """Return a file with some other bytes, most of them where it says what follows."""
    own, other = random.Random(seed), bytearray(content)
    in_head = own.random() < 0.7
    for _ in range(own.choice([1, 1, 2, 4, 8, 32])):
        place = own.randrange(min(len(other), 1600) if in_head else len(other))
        other[place] = own.choice([0, 255, 0x7F, 0x80, own.randrange(256)])
    if own.random() < 0.2:
        place = own.randrange(0, len(other) - 4, 4)
        extremes = (b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff", b"\0\0\0\x80", b"\xff\xff\xff\0")
        other[place : place + 4] = own.choice(extremes)
    return bytes(other)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("kind", [".sav", ".zsav", ".dta"])
def test_damaged_statistics_files_are_read_or_refused(kind: str, folder: Path) -> None:
    """On the old way of reading, in this process, `CRASHES` end the tests themselves."""
    content, results = sound(kind), Counter[str]()
    path = folder / ("case.dta" if kind == ".dta" else "case.sav")
    seeds = [*range(CASES // 3), *([CRASHES[kind]] if kind in CRASHES else [])]
    for seed in seeds:
        path.write_bytes(damaged(content, seed))
        try:
            load(str(path))
            results["read"] += 1
        except DataError:
            results["refused"] += 1
    assert results.total() == len(seeds)
    assert results["refused"] > 0


HARM = {
    "crash": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)",
    "memory": "import json\ntext = 'x' * (1 << 40)",
    "noise": "import os\nos.write(1, b'no table')",
    "half": "import os, sys\nos.write(1, b'\\xff\\xff\\xff\\xff\\x10\\0\\0\\0')\nsys.exit(0)",
    "hang": "import time\ntime.sleep(600)",
}


@pytest.mark.slow
@pytest.mark.parametrize("harm", HARM)
def test_whatever_becomes_of_the_reader_it_is_one_sentence(
    harm: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "reader.py").write_text(HARM[harm])
    (folder / "d.sav").write_bytes(b"$FL2")
    monkeypatch.setattr(labelled, "__file__", str(folder / "reader.py"))
    monkeypatch.setattr(labelled, "most_seconds", lambda size: 1 if harm == "hang" else 60)
    with pytest.raises(DataError, match=r"^File '.*d\.sav' cannot be read as \.sav: it is damaged"):
        load("d.sav")


@pytest.mark.slow
def test_a_parser_that_takes_memory_or_time_is_ended(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limits are those of the reader itself; only the parser is another."""
    (folder / "parsers").mkdir()
    monkeypatch.setenv("PYTHONPATH", str(folder / "parsers"))
    (folder / "d.sav").write_bytes(b"$FL2")
    code = "def read_sav(*_, **__):\n    {}\n"
    for harm, sentence in (
        ("x = [bytearray(1 << 30) for _ in range(1 << 10)]", "it is damaged"),
        ("import ctypes; ctypes.string_at(0)", "needs more memory or time"),
        ("print('noise', flush=True); raise ValueError", "it is damaged"),
    ):
        (folder / "parsers" / "pyreadstat.py").write_text(code.format(harm))
        begin = time.monotonic()
        with pytest.raises(DataError, match=sentence):
            load("d.sav")
        assert time.monotonic() - begin < 300
    assert not list(folder.glob("core*"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [".sav", ".dta"])
def test_what_is_read_is_what_the_parser_reads(kind: str, folder: Path) -> None:
    frame = FRAME.assign(
        day=[date(2020, 1, 31), date(1900, 3, 1), None] * 30,
        moment=[datetime(2020, 1, 31, 12, 30), datetime(1970, 1, 1), None] * 30,
        gap=[1.5, None, -0.0] * 30,
    ).drop(columns=["long"] if kind == ".dta" else [])
    write = pyreadstat.write_sav if kind == ".sav" else pyreadstat.write_dta
    write(frame, f"all{kind}")
    read = pyreadstat.read_sav if kind == ".sav" else pyreadstat.read_dta
    expected, _ = read(f"all{kind}")
    expected["day"] = expected["day"].where(expected["day"].notna(), None)
    pd.testing.assert_frame_equal(load(f"all{kind}"), expected)


@pytest.mark.slow
def test_where_no_parser_is_installed_the_extra_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "pyreadstat.py").write_text("raise ImportError")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    (folder / "d.dta").write_bytes(b"")
    with pytest.raises(DataError, match="need the extra 'forms'"):
        load("d.dta")


@pytest.mark.parametrize("kind", [".parquet", ".feather"])
@pytest.mark.parametrize(
    ("own", "other"),
    [
        (b'"index_columns"', b'"index_colum\x01s"'),
        (b'"pandas_type"', b'"pandas_tyre"'),
        (b'"numpy_type": "int64"', b'"numpy_type": "int6\x7f"'),
    ],
)
def test_what_a_file_says_for_pandas_may_be_anything(
    kind: str, own: bytes, other: bytes, folder: Path
) -> None:
    table = pa.Table.from_pandas(pd.DataFrame({"a": [1, 2]}))
    metadata = {b"pandas": table.schema.metadata[b"pandas"].replace(own, other)}
    assert metadata != table.schema.metadata
    write = pq.write_table if kind == ".parquet" else feather.write_feather
    write(table.replace_schema_metadata(metadata), f"a{kind}")
    with pytest.raises(DataError, match="is damaged"):
        load(f"a{kind}")
