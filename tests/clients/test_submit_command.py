"""deniable submit: the whole way on the command line."""

from __future__ import annotations

import io
import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from client_parts import RECORD
from fake_collector import FakeCollector

from deniable import Ledger, Survey
from deniable.cli.app import main
from deniable.client import remote
from deniable.client.http import HTTPClient
from deniable.questionnaire import Questionnaire


class Terminal(io.StringIO):
    """A person at a terminal."""

    def isatty(self) -> bool:
        return True


class Command:
    """Runs the command in this process, in a folder of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self._patch, self._capture = monkeypatch, capfd

    def __call__(
        self, *arguments: object, stdin: str = "", terminal: bool = False
    ) -> tuple[int, str, str]:
        self._patch.setattr(sys, "argv", ["deniable", "submit", *map(str, arguments)])
        self._patch.setattr(sys, "stdin", (Terminal if terminal else io.StringIO)(stdin))
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = self._capture.readouterr()
        return int(str(ended.value.code)), " ".join(out.split()), err


@pytest.fixture
def submit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "me.json").write_text(json.dumps(RECORD))
    for name in ("HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    return Command(monkeypatch, capfd)


def test_a_record_is_answered_and_sent(
    submit: Command, collector: FakeCollector, tmp_path: Path
) -> None:
    told = ("me.json", "--to", collector.url, "--survey", collector.survey.id)
    code, out, err = submit(*told, "--yes")
    assert (code, err) == (0, "")
    (kept,) = collector.counted.values()
    slot = int(kept["slot"])
    text = collector.survey.question(slot).english(full=True)
    assert " ".join(text.split()) in out
    assert f"value {kept['value']} to question {slot}, is counted" in out
    (ledger,) = (tmp_path / "home").rglob("ledger.json")
    assert ledger.stat().st_mode & 0o077 == 0
    code, out, err = submit(*told)
    assert (code, err) == (0, "")
    assert "was sent before; nothing was sent now" in out
    assert len(collector.sent("reports")) == 1


def test_a_token_that_is_no_text_is_refused(submit: Command, collector: FakeCollector) -> None:
    code, _, err = submit("me.json", "--to", collector.url, "--token", "\udcff", "--yes")
    assert code == 2
    assert "A token is a text" in err
    assert "Traceback" not in err


def test_an_answer_that_another_command_draws_meanwhile_is_not_shown(
    submit: Command, collector: FakeCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two terminals on one ledger ask for consent at once."""
    told = ("me.json", "--to", collector.url, "--survey", collector.survey.id)
    folder = Path("ledger.json")

    def read(_: Terminal, __: int = -1) -> str:
        HTTPClient(collector.url, collector.survey.id, ledger=Ledger(folder)).answer(RECORD)
        return "y\n"

    monkeypatch.setattr(Terminal, "readline", read)
    code, out, err = submit(*told, "--ledger", folder, terminal=True)
    assert (code, err) == (0, "")
    (kept,) = collector.counted.values()
    assert "was drawn before; it is counted" in out
    assert f"value {kept['value']} to question" not in out


def test_the_record_on_stdin_and_the_survey_as_a_file(
    submit: Command, collector: FakeCollector, tmp_path: Path
) -> None:
    (tmp_path / "survey.json").write_text(collector.survey.to_json())
    told = ("--to", collector.url, "--survey", "survey.json", "--json")
    for turn, (record, stdin) in enumerate((("me.json", ""), ("-", json.dumps(RECORD)))):
        mine = ("--ledger", f"{turn}.json", "--token", f"t{turn}")
        code, out, err = submit(record, *told, *mine, "--yes", stdin=stdin)
        assert (code, err) == (0, "")
        form = json.loads(out)
        assert form["survey"] == collector.survey.id
        assert form["question"]["slot"] == form["report"]["slot"]
        assert form["again"] is False
        assert json.loads(submit(record, *told, *mine, stdin=stdin)[1])["again"] is True
    assert {one.form["token"] for one in collector.sent("questions")} == {"t0", "t1"}


def test_without_a_survey_the_collectors_word_is_taken_and_said(
    submit: Command, collector: FakeCollector
) -> None:
    code, out, _ = submit("me.json", "--to", collector.url, "--yes")
    assert code == 0
    assert f"Survey {collector.survey.id[:16]}, which is the collector's word." in out


def test_who_submits_reads_how_people_are_asked(
    submit: Command, collector: FakeCollector, tmp_path: Path
) -> None:
    form = Questionnaire.of(
        {
            "deniable": "questionnaire",
            "format": 1,
            "languages": ["en", "de"],
            "title": "Work",
            "attributes": [
                {"name": "nap", "wording": {"en": "Do you nap?", "de": "Schlafen Sie?"}},
                {"name": "job", "wording": {"en": "Do you work?", "de": "Haben Sie Arbeit?"}},
            ],
        }
    )
    collector.survey, collector.texts = Survey.from_questionnaire(form), form.texts.to_form()
    collector.shown = json.loads(collector.survey.to_json())
    (tmp_path / "me.json").write_text(json.dumps({"nap": True, "job": False}))
    told = ("me.json", "--to", collector.url, "--yes")
    english = submit(*told, "--ledger", "a.json", "--token", "a")[1]
    german = submit(*told, "--ledger", "b.json", "--token", "b", "--language", "de")[1]
    shown = json.loads(submit(*told, "--ledger", "c.json", "--token", "c", "--json")[1])["wording"]
    assert "nap: Do you nap?" in english or "job: Do you work?" in english
    assert "Schlafen Sie?" in german or "Haben Sie Arbeit?" in german
    assert "Wahrscheinlichkeit" in german
    assert shown.items() <= {"nap": "Do you nap?", "job": "Do you work?"}.items()
    assert shown
    code, _, err = submit(*told, "--ledger", "d.json", "--token", "d", "--language", "xx!")
    assert (code, err.count("\n")) == (2, 1)
    assert len(collector.counted) == 3, "who cannot read the question answers nothing"


def test_on_a_terminal_nothing_is_drawn_before_consent(
    submit: Command, collector: FakeCollector, tmp_path: Path
) -> None:
    told = ("me.json", "--to", collector.url, "--ledger", "mine.json")
    code, out, _ = submit(*told, stdin="n\n", terminal=True)
    assert code == 130
    assert "Shall your device answer, once and for ever?" in out
    assert "report" not in json.loads((tmp_path / "mine.json").read_text())["surveys"]
    assert not collector.sent("reports")
    code, out, _ = submit(*told, stdin="y\n", terminal=True)
    assert code == 0
    assert len(collector.counted) == 1
    assert "Shall" not in submit(*told, terminal=True)[1], "what was answered is not asked again"
    assert submit(*told[:3], "--yes", "--ledger", "other.json", terminal=True)[0] == 0


@pytest.mark.parametrize(
    ("more", "terminal"),
    [(("me.json",), False), (("me.json", "--json"), True), (("-",), True)],
    ids=["no terminal", "json", "stdin"],
)
def test_where_nobody_can_be_asked_nothing_is_drawn(
    submit: Command, collector: FakeCollector, more: tuple[str, ...], terminal: bool
) -> None:
    told = (*more, "--to", collector.url, "--ledger", "mine.json")
    mine = {"stdin": json.dumps(RECORD), "terminal": terminal}
    code, out, err = submit(*told, **mine)
    assert (code, err) == (
        2,
        "deniable: Nobody can be asked here, so nothing was drawn; --yes says that you agree.\n",
    )
    assert (out == "") == ("--json" in more)
    assert not collector.sent("reports")
    collector.faults.reports = ["503 3600"]
    assert "cannot be reached" in submit(*told, "--yes", **mine)[2]
    assert submit(*told, **mine)[0] == 0, "what was drawn before is sent"
    assert len(collector.counted) == 1


def test_where_there_are_several_surveys_they_are_named(
    submit: Command, collector: FakeCollector
) -> None:
    collector.others = ["f" * 64]
    code, _, err = submit("me.json", "--to", collector.url, "--yes")
    assert (code, err) == (
        2,
        "deniable: The collector holds several surveys; name one with --survey: "
        f"{collector.survey.id}, {'f' * 64}.\n",
    )
    assert (
        submit("me.json", "--to", collector.url, "--yes", "--survey", collector.survey.id)[0] == 0
    )


@pytest.mark.parametrize("shown", [{}, [], {"surveys": [{"id": "\x1b[31m"}]}, {"surveys": [7]}])
def test_what_is_no_list_of_surveys_is_not_shown(
    submit: Command, collector: FakeCollector, shown: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector.others = ["f" * 64]
    monkeypatch.setattr(collector, "_surveys", lambda *_: (200, shown))
    _, _, err = submit("me.json", "--to", collector.url, "--yes")
    assert err == "deniable: The collector does not hold this survey.\n"


def test_whoever_waits_is_told_once(
    submit: Command, collector: FakeCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    told_time = SimpleNamespace(time=time.time, sleep=waits.append)
    monkeypatch.setattr(remote, "time", told_time)
    away = (
        "deniable: The collector cannot be reached; trying again, which may take a minute or more. "
        "Ctrl-C gives up, and "
    )
    collector.faults.survey, collector.faults.reports = ["before drop"] * 2, ["before 503"] * 6
    told = ("me.json", "--to", collector.url, "--ledger", "mine.json", "--json")
    code, out, err = submit(*told, "--yes")
    assert (code, out, len(waits)) == (2, "", 7)
    assert err.splitlines()[:2] == [
        f"{away}nothing is drawn.",
        f"{away}your answer is kept.",
    ]
    assert len(err.splitlines()) == 3
    collector.faults.reports = ["before 503"]
    code, _, err = submit(*told)
    assert (code, err) == (0, f"{away}your answer is kept.\n")
    collector.faults.survey = ["before 503 3600"]
    assert "Ctrl-C" not in submit(*told)[2], "who asks for too long a wait is not waited for"


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("survey", "What answered is no collector."),
        ("questions", "The collector's question is none."),
        ("reports", "What answered is no collector."),
    ],
)
def test_a_collector_that_answers_brackets_is_none(
    submit: Command, collector: FakeCollector, place: str, sentence: str
) -> None:
    setattr(collector.faults, place, ["deep"])
    code, _, err = submit("me.json", "--to", collector.url, "--yes")
    assert (code, err) == (2, f"deniable: {sentence}\n")


def test_a_record_has_an_end_and_a_bottom(
    submit: Command, collector: FakeCollector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = ("--to", collector.url, "--yes")
    brackets = '{"a":' * 980 + "1" + "}" * 980
    assert submit("-", *told, stdin=brackets)[2] == "deniable: The record is not JSON.\n"
    large = "deniable: The record cannot be read: it is larger than 64 MB.\n"
    assert submit("/dev/zero", *told)[2] == large
    with Path("/dev/zero").open() as endless:
        monkeypatch.setattr(io, "StringIO", lambda _: endless)
        assert submit("-", *told)[::2] == (2, large)
    assert not collector.seen


def test_plain_http_to_another_machine_must_be_allowed(submit: Command) -> None:
    told = ("me.json", "--to", "http://collector.invalid", "--yes")
    assert "plain http shows it to others" in submit(*told)[2]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nowhere.json",), "The record cannot be read: No such file or directory."),
        (('{"Rumpel": 1}',), "A record is a file, or - for stdin: others can see what stands on"),
        (("-",), "The record is not JSON."),
        (("odd.json",), "The record has 1 entries that are no attributes of this survey."),
        (("me.json", "--limit", "1"), "The survey's epsilon is 1.09861"),
        (("me.json", "--limit", "0"), "limit must be a positive number"),
        (("me.json", "--lifetime-limit", "1"), "With this survey your reports would add"),
        (("me.json", "--survey", "0" * 64), "The collector does not hold this survey."),
        (
            ("me.json", "--survey", "no.json"),
            "There is no survey no.json: that is neither a file nor an id of 64 hexadecimal digits.",
        ),
        (("me.json", "--survey", "a" * 300), "There is no survey aaa"),
        (("me.json", "--to", "file:///etc"), "A collector has an http or https address."),
    ],
)
def test_bad_input_is_one_sentence(
    submit: Command,
    collector: FakeCollector,
    arguments: tuple[str, ...],
    sentence: str,
    tmp_path: Path,
) -> None:
    (tmp_path / "odd.json").write_text('{"Rumpel": 1}')
    code, _, err = submit("--yes", "--to", collector.url, *arguments)
    assert code == 2
    assert err.startswith(f"deniable: {sentence}")
    assert len(err.splitlines()) == 1
    assert "Rumpel" not in err
    assert not collector.sent("reports")
