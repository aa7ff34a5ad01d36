"""Files are written whole or not at all, and through no link that lies in their folder."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import deniable
from deniable import Schema, Survey, simulate
from deniable.cli.app import app
from deniable.cli.questionnaires import write_survey
from deniable.cli.survey_logs import mirror_log
from deniable.client.bulk import write_batches
from deniable.collector.folders import save_folder
from deniable.errors import ChartError, DeniableError
from deniable.formats.writing import write_whole
from deniable.lab.experiments.reproduce import _write_json
from deniable.lab.experiments.running import PointStore
from deniable.messages.survey_log import SurveyLog

SCHEMA = Schema.binary("a", "b")
SURVEY = Survey(SCHEMA, 2, 2.0, "InpHT")
FRAME = pd.DataFrame({"a": [True, False] * 40, "b": [True, True, False, False] * 20})
RELEASE = simulate(SURVEY, FRAME, "x")
KEPT = b"keep"
OLD_DRAFTS = ("{}.part", "{}.draft", "{}.tmp", ".{}.part", "{}~", ".{}.swp", "{}-journal", "{}-wal")


def run(words: list[str]) -> None:
    app(words, standalone_mode=False)


def save_groups(folder: Path) -> None:
    save_folder({"one": SURVEY.tally(SURVEY.randomize(FRAME))}, folder)


def stream(path: Path) -> None:
    import pyarrow as pa

    table = SURVEY.randomize(FRAME).to_arrow()
    write_batches(pa.RecordBatchReader.from_batches(table.schema, table.to_batches()), path)


def store(folder: Path) -> str:
    """Return the store of a folder, which holds no link yet."""
    url = f"sqlite:///{folder / 'store.db'}"
    if not (folder / "store.db").exists():
        run(["issue", "--count", "3", "--store", url, "-o", str(folder / "first.txt")])
    return url


def command(*words: str) -> Callable[[Path], None]:
    """Return what runs a command whose words may name the store and the file."""

    def write(path: Path) -> None:
        url = store(path.parent)
        run([word.format(store=url, path=path) for word in words])

    return write


WRITERS: dict[str, Callable[[Path], object]] = {
    **{f"all{end}": RELEASE.export for end in (".html", ".json", ".csv", ".parquet", ".xlsx", ".sav")},
    "report.html": RELEASE.report,
    "day.tally": lambda path: SURVEY.tally(SURVEY.randomize(FRAME)).save(path),
    "reports.parquet": lambda path: SURVEY.randomize(FRAME).to_parquet(path),
    "stream.parquet": stream,
    "chart.svg": lambda path: RELEASE.marginal("a").plot().save(path),
    "chart.html": lambda path: RELEASE.marginal("a").plot().save(path),
    "survey.json": lambda path: write_survey(SURVEY, None, path),
    "surveys.log": lambda path: mirror_log(path, SurveyLog.of_text(f"2026-01-01 {SURVEY.id}\n")),
    "claims.json": lambda path: _write_json(path, {"a": 1}),
    "ids.csv": command("issue", "--count", "2", "--store", "{store}", "--format", "csv", "-o", "{path}"),
    "copy.db": command("backup", "{store}", "{path}"),
    "audit.log": command("audit-log", "export", "--store", "{store}", "-o", "{path}"),
}  # fmt: skip
"""What writes a file, by the file's name."""


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
def test_no_link_in_a_folder_is_followed(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each name of a draft is a link to a file that is kept, or to one that is not there."""
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    folder.mkdir(), outside.mkdir()
    store(folder)
    for number, form in enumerate(OLD_DRAFTS):
        target = outside / str(number)
        if number % 2 == 0 or form == "{}.part":
            target.write_bytes(KEPT)
        (folder / form.format(name)).symlink_to(target)
    absent = outside / "absent"
    (folder / name).symlink_to(absent)
    before = {path.name: path.read_bytes() for path in outside.iterdir()}
    WRITERS[name](folder / name)
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == before
    assert not (folder / name).is_symlink()
    assert (folder / name).stat().st_size > 0
    assert not [path for path in folder.glob(".*.part") if not path.is_symlink()]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in WRITERS if name not in ("survey.json", "surveys.log")]
)
def test_a_link_with_the_files_own_name_is_replaced(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(KEPT)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / name).symlink_to(precious)
    WRITERS[name](folder / name)
    assert precious.read_bytes() == KEPT
    assert (folder / name).is_file()
    assert not (folder / name).is_symlink()


def test_a_folder_of_tallies_is_written_into_no_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for ending in ("part", "draft", "tmp"):
        (tmp_path / f"groups.{ending}").symlink_to(outside)
    save_groups(tmp_path / "groups")
    assert list(outside.iterdir()) == []
    assert [path.name for path in (tmp_path / "groups").iterdir()] == ["one.parquet"]


def test_points_are_added_to_no_link(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(KEPT)
    (tmp_path / "bars.jsonl").symlink_to(tmp_path / "precious")
    with pytest.raises(DeniableError, match="cannot be added to: it is a link"):
        PointStore(tmp_path / "bars.jsonl").add("key", [{}])
    assert (tmp_path / "precious").read_bytes() == KEPT


def test_a_store_is_not_made_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "store.db").symlink_to(tmp_path / "absent.db")
    with pytest.raises(DeniableError, match="cannot be opened: it is a link that leads nowhere"):
        run(["issue", "--count", "3", "--store", f"sqlite:///{tmp_path / 'store.db'}"])
    assert not (tmp_path / "absent.db").exists()


@pytest.mark.parametrize("name", ["ids.csv", "copy.db"])
def test_secrets_are_for_their_owner_alone(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = os.umask(0)
    try:
        WRITERS[name](tmp_path / name)
        RELEASE.export(tmp_path / "all.csv")
    finally:
        os.umask(before)
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "all.csv").stat().st_mode & 0o777 == 0o666


def test_a_draft_that_is_exchanged_for_a_link_never_takes_the_files_place(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(KEPT)
    (tmp_path / "a.csv").write_text("before")

    def write(draft: Path) -> None:
        draft.unlink()
        draft.symlink_to(tmp_path / "precious")

    with pytest.raises(ChartError, match="another program put something in the place"):
        write_whole(tmp_path / "a.csv", write, ChartError)
    assert (tmp_path / "a.csv").read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "precious"]


def test_a_draft_whose_name_is_taken_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".known.part").symlink_to(tmp_path / "precious")
    monkeypatch.setattr("secrets.token_hex", lambda _: "known")
    with pytest.raises(ChartError, match="cannot be written: File exists"):
        write_whole(tmp_path / "a.csv", fill, ChartError)
    assert not (tmp_path / "precious").exists()
    assert (tmp_path / ".known.part").is_symlink()  # it is not ours to remove


def test_a_device_or_a_folder_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "null").symlink_to("/dev/null")
    for name, why in (
        ("pipe", "not a regular file"), ("folder", "a folder"), ("null", "not a regular file"),
    ):  # fmt: skip
        with pytest.raises(ChartError, match=f"cannot be written: it is {why}"):
            write_whole(tmp_path / name, fill, ChartError)
    assert (tmp_path / "pipe").is_fifo()
    assert (tmp_path / "null").is_symlink()


def fill(draft: Path) -> None:
    draft.write_text("text")


ELSEWHERE = {
    "formats/writing.py": "this is it",
    "client/ledger.py": "has a private draft of its own, and a lock",
    "cli/forms.py": "makes a file that is not there ('x'), which follows no link",
    "lab/experiments/running.py": "adds to a file, and opens no link",
    "schema/labelled.py": "tells the system which process to end",
    "studio/importing.py": "writes into a new folder of its own",
}
"""Where else files are written, and why not through `write_whole`."""


def written_to(node: ast.AST) -> str | None:
    """Return what a call writes to, as the source has it; None if it writes to no file."""
    if not isinstance(node, ast.Call):
        return None
    function = node.func
    words = [word.value for word in (*node.args, *(k.value for k in node.keywords))
             if isinstance(word, ast.Constant) and isinstance(word.value, str)]  # fmt: skip
    opens = any(set(word) <= set("rwaxbt+") and set(word) & set("wax+") for word in words)
    if isinstance(function, ast.Name) and function.id == "open" and opens:
        return ast.unparse(node.args[0])
    if isinstance(function, ast.Attribute) and (
        (function.attr == "open" and opens)
        or function.attr in ("write_text", "write_bytes", "touch")
    ):
        owner = ast.unparse(function.value)
        return ast.unparse(node.args[0]) if owner in ("os", "io") else owner
    return None


def test_every_file_is_written_in_one_way() -> None:
    """A writer that opens a file itself writes into a draft, and is called with one."""
    package = Path(deniable.__file__).parent
    others = dict[str, list[str]]()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            target = written_to(node)
            if target is not None and target not in ("draft", "self._folder", "writing"):
                others.setdefault(name, []).append(target)
    assert others.keys() == ELSEWHERE.keys() - {"formats/writing.py"}, others
