"""Whatever stands where a file is expected: one sentence; nothing hangs or fills the memory."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable import Ledger, Schema, Survey, Tally
from deniable.cli.inputs import read_values
from deniable.collector import tally_file
from deniable.collector.files import digest, inspect
from deniable.errors import DataError, DeniableError, ReportError, SurveyError, TallyError
from deniable.formats.reading import MOST_BYTES, TooDeep, check_regular, parse, read_text
from deniable.lab.datasets import load, stream
from deniable.messages.report import Provenance
from deniable.schema.labels import Labels

SURVEY = Survey(Schema.binary("a", "b", "c"), 2, 1.0, "InpHT")

READERS: dict[str, Callable[[Path], object]] = {
    "survey": Survey.load,
    "values": read_values,
    "ledger": lambda path: Ledger(path).entries(),
    "tally": Tally.load,
    "reports": lambda path: SURVEY.tally([path]),
    "reports by a command": digest,
    "footer": lambda path: inspect(path, SURVEY, Labels()),
}


def deep(levels: int, kind: str = "list") -> str:
    return "[" * levels + "]" * levels if kind == "list" else '{"a":' * levels + "1" + "}" * levels


def no_end(folder: Path) -> Path:
    return Path("/dev/zero")


def pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def large(folder: Path) -> Path:
    with (folder / "large").open("wb") as file:
        file.truncate(10 << 30)  # which takes no room
    return folder / "large"


def written(text: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / "text").write_text(text)
        return folder / "text"

    return write


HOSTILE: dict[str, Callable[[Path], Path]] = {
    "a device without an end": no_end,
    "a device without anything": lambda _: Path("/dev/null"),
    "a pipe that nobody writes to": pipe,
    "ten gigabytes of zeros": large,
    "a folder": lambda folder: folder,
    "nothing": written(""),
    "brackets": written(deep(980)),
    "more brackets": written(deep(100_000)),
    "braces": written(deep(980, "dict")),
}


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("reader", READERS)
def test_every_reader_refuses_what_it_cannot_read(what: str, reader: str, tmp_path: Path) -> None:
    path = HOSTILE[what](tmp_path)
    if reader == "ledger":  # beside which a lock is kept
        (tmp_path / "ledger").symlink_to(path)
        path = tmp_path / "ledger"
    with pytest.raises(DeniableError) as caught:
        READERS[reader](path)
    assert str(caught.value).count("\n") == 0


@pytest.mark.parametrize("what", [w for w in HOSTILE if w not in ("brackets", "braces")])
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".feather", ".arrow"])
def test_data_is_a_file_that_can_be_read(what: str, ending: str, tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    named = tmp_path / f"data{ending}"
    named.symlink_to(HOSTILE[what](tmp_path / "inside"))
    with pytest.raises(DataError):
        load(str(named))
    with pytest.raises(DataError):
        list(stream(str(named), ["a"])[0])


def test_a_text_is_read_from_a_pipe_that_somebody_writes_to(tmp_path: Path) -> None:
    path = pipe(tmp_path)
    writer = os.open(path, os.O_RDWR)  # as a shell opens it: before the reader comes
    os.write(writer, SURVEY.to_json().encode())
    closing = threading.Timer(0.2, os.close, [writer])
    closing.start()
    assert Survey.load(path).id == SURVEY.id
    closing.join()


def test_a_text_has_a_limit_and_keeps_to_it(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("x" * 10)
    assert read_text(path, 10) == "x" * 10
    with pytest.raises(OSError, match="larger") as caught:
        read_text(path, 9)
    assert caught.value.strerror == "it is larger than 0 MB"
    with pytest.raises(OSError, match=f"larger than {MOST_BYTES >> 20} MB"):
        read_text("/dev/zero")
    check_regular(path)
    check_regular(tmp_path / "absent")


def test_json_is_taken_to_a_depth_that_everything_else_survives() -> None:
    assert parse(deep(60)) == json.loads(deep(60))
    assert parse("3") == 3
    for levels in (70, 980, 100_000):
        for kind in ("list", "dict"):
            with pytest.raises(TooDeep):
                parse(deep(levels, kind))
    with pytest.raises(ValueError, match="Expecting"):
        parse("[")


def tally(folder: Path, **columns: list[int]) -> Path:
    """A file that may be a tally: rows that a survey can have counted, unless other ones are given."""
    table = pa.table({"slot": [0, 1], "value": [0, 0], "count": [5, 6]} | columns)
    metadata = {tally_file.TALLY_KEY: SURVEY.to_json().encode()}
    pq.write_table(table.replace_schema_metadata(metadata), folder / "made.tally")
    return folder / "made.tally"


@pytest.mark.parametrize("levels", [980, 100_000])
@pytest.mark.parametrize("key", ["tally", "refused", "sources", "group"])
def test_a_tally_with_brackets_in_its_notes_is_broken(
    key: str, levels: int, tmp_path: Path
) -> None:
    path = tally(tmp_path)
    table = pq.read_table(path)
    for kind in ("list", "dict"):
        notes = table.schema.metadata | {f"deniable.{key}".encode(): deep(levels, kind).encode()}
        pq.write_table(table.replace_schema_metadata(notes), path)
        with pytest.raises(TallyError):
            Tally.load(path)


@pytest.mark.parametrize("levels", [980, 100_000])
def test_brackets_in_the_notes_of_reports_are_somebody_elses(levels: int) -> None:
    for held in (
        deep(levels),
        f'{{"fields":[{{"name":"slot","metadata":{{"x":{deep(levels)}}}}}]}}',
    ):
        spark = {b"org.apache.spark.sql.parquet.row.metadata": held.encode()}
        assert Provenance.read(spark) == Provenance()


def test_names_that_are_no_texts_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "names.parquet"
    table = pa.table({"slot": [1], "value": [0], "name": [1]})
    notes = {tally_file.TALLY_KEY: SURVEY.to_json().encode()}
    for metadata in (None, notes):
        pq.write_table(table.replace_schema_metadata(metadata), path, store_schema=False)
        path.write_bytes(path.read_bytes().replace(b"name", b"\xff\xfe\xfd\xfc"))
        with pytest.raises(TallyError, match="is a Parquet file, but not a tally"):
            Tally.load(path)
        with pytest.raises(ReportError, match="names are not UTF-8"):
            SURVEY.tally([path])
        with pytest.raises(DataError):
            load(str(path))


def test_texts_that_are_not_utf_8_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "texts.parquet"
    pq.write_table(
        pa.table({"a": ["same", "text"], "b": [True, False]}),
        path,
        use_dictionary=False,
        compression="none",
        write_statistics=False,
    )
    path.write_bytes(path.read_bytes().replace(b"same", b"\xff\xfe\xfd\xfc"))
    with pytest.raises(DataError, match="not UTF-8"):
        load(str(path))
    assert load(str(path), ["b"])["b"].tolist() == [True, False]


def test_a_tally_says_no_more_rows_than_its_survey_can_fill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Tally.load(tally(tmp_path)).people == 11
    monkeypatch.setattr(tally_file, "_rows_of", lambda *_: pytest.fail("the footer was enough"))
    most = 2 * SURVEY.slots
    many = {name: [0] * (most + 1) for name in ("slot", "value", "count")}
    with pytest.raises(
        TallyError, match=f"has {most + 1} rows, more than the {most} that its survey"
    ):
        Tally.load(tally(tmp_path, **many))
    monkeypatch.setattr(tally_file, "MOST_ROWS", 1)
    with pytest.raises(TallyError, match="has 2 rows, more than the 1 that a tally may have"):
        Tally.load(tally(tmp_path))
    counted = SURVEY.tally(pa.table({"slot": [0, 1], "value": [0, 0]}))
    with pytest.raises(TallyError, match="at most 1 rows, got 2"):
        counted.save(tmp_path / "saved.tally")


def test_a_tally_has_at_most_3_gb_of_rows(tmp_path: Path) -> None:
    wide = Survey(Schema.binary(*(f"a{i}" for i in range(40))), 2, 1.0, "InpEM")
    columns = pa.schema([(name, pa.int64()) for name in ("slot", "value", "count")])
    schema = columns.with_metadata({tally_file.TALLY_KEY: wide.to_json().encode()})

    def file(rows: int) -> SimpleNamespace:
        return SimpleNamespace(schema_arrow=schema, metadata=SimpleNamespace(num_rows=rows))

    most = (3 << 30) // 24
    assert tally_file._survey_of(file(most), "x").id == wide.id
    with pytest.raises(TallyError, match="more than the 134,217,728 that a tally may have"):
        tally_file._survey_of(file(most + 1), "x")
    long = replace(wide.tally([]), slot=np.broadcast_to(0, most + 1))  # which takes no room
    with pytest.raises(TallyError, match="at most 134,217,728 rows, got 134,217,729"):
        long.save(tmp_path / "long.tally")


def test_a_tally_is_read_no_further_than_to_the_first_wrong_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tally_file, "_PART", 2)
    sound = {"slot": [0, 0, 1, 1, 2], "value": [0, 1, 0, 1, 0], "count": [1, 2, 3, 4, 5]}
    assert Tally.load(tally(tmp_path, **sound)).people == 15
    for wrong in (
        {"value": [0, 0, 0, 1, 0]},  # the same row twice, in one part
        {"slot": [0, 0, 0, 1, 2], "value": [0, 1, 1, 0, 0]},  # and across two
        {"slot": [0, 1, 0, 1, 2]},
        {"count": [1, 2, 3, 4, 0]},
    ):
        with pytest.raises(TallyError, match="rows must be sorted, with positive counts"):
            Tally.load(tally(tmp_path, **(sound | wrong)))


def test_a_survey_that_is_no_text_says_why(tmp_path: Path) -> None:
    path = tmp_path / "survey.json"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(SurveyError, match=r"cannot be read as a survey: it is no text\."):
        Survey.load(path)
