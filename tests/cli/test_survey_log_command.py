"""`deniable survey-log`: a file that mirrors a log of surveys, and is only ever added to."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cli_parts import Run

from deniable import Schema, Survey
from deniable.cli.serving import _prepare
from deniable.cli.survey_logs import mirror_log
from deniable.client.remote import RemoteCollector
from deniable.errors import LogError
from deniable.messages.survey_log import Entry, Head, SurveyLog
from deniable.server.access import Analyst, digest_of_token
from deniable.server.serve import Rules, first_token, prepare
from deniable.server.stores import open_store

ENTRIES = [Entry(f"2026-11-{i + 1:02}", f"{i:064x}") for i in range(6)]
LOG = SurveyLog(ENTRIES)


def test_a_file_is_verified(run: Run, tmp_path: Path) -> None:
    Path("surveys.log").write_text(LOG.text)
    heads = [str(Head.of_log(ENTRIES[:size])) for size in (0, 3, 6)]
    told = run("survey-log", "verify", "surveys.log", *(f"--head={head}" for head in heads))
    assert told.code == 0
    assert "surveys.log lists 6 surveys. Note its head;" in " ".join(told.out.split())
    assert told.out.split()[-1] == str(LOG.head)
    form = run("survey-log", "verify", "surveys.log", "--json").document
    assert form == {"surveys": 6, "head": str(LOG.head)}


CHANGES = {
    "rewritten": [ENTRIES[0], Entry("2026-11-09", ENTRIES[1].survey), *ENTRIES[2:]],
    "removed": [*ENTRIES[:1], *ENTRIES[2:]],
    "reordered": [ENTRIES[1], ENTRIES[0], *ENTRIES[2:]],
    "truncated": ENTRIES[:2],
}


@pytest.mark.parametrize("fault", CHANGES)
def test_a_log_that_was_changed_is_found(run: Run, tmp_path: Path, fault: str) -> None:
    Path("surveys.log").write_text(SurveyLog(CHANGES[fault]).text)
    refused = run("survey-log", "verify", "surveys.log", "--head", Head.of_log(ENTRIES[:3]))
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "was cut short" in refused.err or "does not continue" in refused.err


@pytest.mark.parametrize("fault", CHANGES)
def test_a_mirror_is_only_added_to(
    run: Run, tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = [LOG]
    monkeypatch.setattr(RemoteCollector, "log", lambda self: shown[0])
    file, source = Path("surveys.log"), ("--from", "https://collector.example")
    assert mirror_log(file, SurveyLog(ENTRIES[:3])) == 3
    told = run("survey-log", "mirror", file, *source, "--json")
    assert told.document == {"surveys": 6, "new": 3, "head": str(LOG.head)}
    assert file.read_text() == LOG.text
    shown[0] = SurveyLog(CHANGES[fault])
    refused = run("survey-log", "mirror", file, *source)
    assert refused.code == 2
    assert "The log does not continue the one in surveys.log: surveys were taken" in refused.err
    assert file.read_text() == LOG.text


def test_what_is_refused_is_not_in_the_mirror(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A survey twice, or a log that does not continue a head that is known."""
    twice = [*ENTRIES[:3], Entry("2026-12-01", ENTRIES[0].survey)]
    form = {"entries": [each._asdict() for each in twice]}
    monkeypatch.setattr(RemoteCollector, "call", lambda self, path: form)
    file, mirror = Path("surveys.log"), ("survey-log", "mirror", "surveys.log")
    source = ("--from", "https://collector.example")
    assert "The log has a survey twice." in run(*mirror, *source).err
    form["entries"] = [each._asdict() for each in CHANGES["reordered"]]
    for head in (str(Head.of_log(ENTRIES[:3])), "x"):
        assert run(*mirror, *source, "--head", head).code == 2
    assert not file.exists()
    form["entries"] = [each._asdict() for each in ENTRIES]
    assert run(*mirror, *source, "--head", Head.of_log(ENTRIES[:3])).code == 0
    assert file.read_text() == LOG.text


def test_what_is_no_log_is_refused(run: Run, tmp_path: Path) -> None:
    assert "There is no log none.log." in run("survey-log", "verify", "none.log").err
    Path("bad.log").write_text(LOG.text[:-1])
    assert "The log's last line is cut short." in run("survey-log", "verify", "bad.log").err
    Path("bad.log").write_bytes(b"\xff\n")
    assert "cannot be read as a log: it is no text." in run("survey-log", "verify", "bad.log").err
    Path("good.log").write_text(LOG.text)
    refused = run("survey-log", "verify", "good.log", "--head", "x")
    assert "is its size and root, such as 12:9f2c" in refused.err
    with pytest.raises(LogError, match="cannot be read as a log"):
        mirror_log(Path(), LOG)


def test_a_store_that_differs_from_its_file_is_not_served(run: Run, tmp_path: Path) -> None:
    survey = Survey(Schema.binary("a", "b"), 2, 1.1, "InpHT")
    Path("s.json").write_text(survey.to_json())
    with open_store("sqlite:///c.db") as store:
        prepare(store, [survey], Rules())
        sound = store.survey_log()
    Path("s.log").write_text(SurveyLog(ENTRIES[:1]).text)
    serve = ("serve", "s.json", "--store", "sqlite:///c.db", "--port", 0, "--log", "s.log")
    refused = run(*serve)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "The store's log of surveys and the one in the file differ" in refused.err
    assert Path("s.log").read_text() == SurveyLog(ENTRIES[:1]).text
    with open_store("sqlite:///c.db") as store:
        assert store.survey_log().head == sound.head


def test_collectors_that_start_at_once_write_one_file(run: Run, tmp_path: Path) -> None:
    """Whoever was slower must not write a shorter log over that of the others."""
    surveys = [Survey(Schema.binary("a", f"b{i}"), 2, 1.1, "InpHT") for i in range(12)]

    def start(survey: Survey) -> None:
        _prepare("c.db", [survey], Rules(), {}, Path("s.log"))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(start, surveys))
    with open_store("c.db") as store:
        assert store.survey_log().text == Path("s.log").read_text()
        assert len(store.survey_log().entries) == len(surveys)


def test_a_first_start_takes_away_no_token_that_another_one_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both saw that there is no analyst; the slower one ended in an error, or revoked the token."""
    tokens = []
    with (
        open_store(str(tmp_path / "c.db")) as faster,
        open_store(str(tmp_path / "c.db")) as slower,
    ):
        seen = slower.analysts

        def late() -> list[Analyst]:
            analysts = seen()
            if not tokens:
                tokens.append(first_token(faster))
            return analysts

        monkeypatch.setattr(slower, "analysts", late)
        assert first_token(slower) is None
        assert len(tokens) == 1
        (analyst,) = seen()
        assert analyst.digest == digest_of_token(tokens[0])
