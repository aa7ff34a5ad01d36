"""A client answers a survey once, for ever, within its owner's limits, and remembers it safely."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from math import nextafter
from pathlib import Path

import pytest

from deniable import Client, Ledger, Report, Schema, Survey
from deniable.client.ledger import Entry, Sending
from deniable.errors import DeniableError, RecordError, RefusedError, SurveyError
from deniable.questions.answers import Subset
from deniable.questions.entropy import Key
from deniable.questions.question import Parities, Question

NAMES = tuple(f"a{i}" for i in range(16))
RECORD = dict.fromkeys(NAMES, True)
OTHER_RECORD = dict.fromkeys(NAMES, False)


def survey(epsilon: float = 1.0, mechanism: str = "InpHT") -> Survey:
    return Survey(Schema.binary(*NAMES), order=2, epsilon=epsilon, mechanism=mechanism)


def client(**options: float) -> Client:
    return Client(survey(), ledger=Ledger.in_memory(), **options)


# Once, for ever


def test_a_changed_record_gets_the_same_report(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "me.json")
    first = Client(survey(), ledger=ledger).report(RECORD)
    again = {Client(survey(), ledger=ledger).report(OTHER_RECORD) for _ in range(20)}
    assert again == {first}


def test_a_record_that_no_longer_fits_gets_the_same_report(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "me.json")
    first = Client(survey(), ledger=ledger).report(RECORD)
    assert Client(survey(), ledger=ledger).report({"another": "schema"}) == first


def test_a_new_client_with_a_new_ledger_object_gets_the_same_report(tmp_path: Path) -> None:
    reports = {
        Client(survey(), ledger=Ledger(tmp_path / "me.json")).report(RECORD) for _ in range(20)
    }
    assert len(reports) == 1


def test_another_question_after_the_answer_gets_the_first_report_again(tmp_path: Path) -> None:
    one = Client(survey(), ledger=Ledger(tmp_path / "me.json"))
    first = one.report(RECORD, survey().question(3))
    assert first.slot == 3
    assert one.report(RECORD, survey().question(4)) == first


def test_an_in_memory_ledger_remembers_while_it_lives_and_must_be_asked_for() -> None:
    one = client()
    assert len({one.report(RECORD) for _ in range(20)}) == 1
    assert len({client().report(RECORD) for _ in range(20)}) > 1
    with pytest.raises(RefusedError, match="in_memory"):
        Client(survey(), ledger=None)


def test_another_name_of_the_ledger_is_no_second_ledger(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tmp_path / "me.json")
    (tmp_path / "folder").symlink_to(tmp_path)
    names = ("link.json", "me.json", "folder/me.json", "folder/link.json")
    reports = {Client(survey(), ledger=Ledger(tmp_path / n)).report(RECORD) for n in names * 5}
    assert len(reports) == 1


def test_a_ledger_stays_where_it_was_when_the_program_changes_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    one = Client(survey(), ledger=Ledger("me.json"))
    first = one.report(RECORD)
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert {one.report(RECORD) for _ in range(20)} == {first}
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_the_report_is_on_disk_when_it_is_handed_out_and_nothing_else_of_the_record(
    tmp_path: Path,
) -> None:
    path = tmp_path / "me.json"
    report = Client(survey(), ledger=Ledger(path)).report(RECORD)
    form = json.loads(path.read_text())
    assert form == {
        "deniable": "ledger",
        "surveys": {survey().id: {"report": report.to_json(), "epsilon": "1.0"}},
    }
    assert path.stat().st_mode & 0o077 == 0, "only its owner may read a ledger"


def test_a_report_that_cannot_be_kept_is_not_handed_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(RefusedError, match="No space left"):
        Client(survey(), ledger=Ledger(tmp_path / "me.json")).report(RECORD)
    assert [p.name for p in tmp_path.iterdir()] == ["me.json.lock"], "a draft was left behind"


@pytest.mark.parametrize(
    "sending",
    [
        None,
        Sending(),
        Sending("sent", "token", "ticket", "key", 20_000),
        Sending(token="token", day=0),
    ],
)
def test_what_is_kept_comes_back(sending: Sending | None, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "me.json")
    if sending and sending.token:
        sending = replace(sending, token=ledger.token("e" * 64))
    entry = Entry(Report(3, 2**70), 0.1, sending)
    with ledger.open() as entries:
        entries["e" * 64] = entry
    token = ledger.token("d" * 64)
    again = Ledger(tmp_path / "me.json")
    assert again.entries() == {"e" * 64: entry}
    assert again.token("d" * 64) == token != again.token("c" * 64)
    form = json.loads((tmp_path / "me.json").read_text())["surveys"]["e" * 64]
    assert form.keys() == {"report", "epsilon"} | ({"sending"} if sending else set())
    assert None not in form.get("sending", {}).values()


def test_a_report_is_kept_with_what_it_is_sent_with() -> None:
    ledger, sending = Ledger.in_memory(), Sending(token="token", ticket="ticket")
    report = Client(survey(), ledger=ledger).report(RECORD, sending=sending)
    assert ledger.entries() == {survey().id: Entry(report, 1.0, sending)}


@pytest.mark.parametrize("kind", ["file", "memory"])
def test_a_block_that_ends_with_an_error_changes_nothing(kind: str, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "me.json") if kind == "file" else Ledger.in_memory()
    Client(survey(), ledger=ledger).report(RECORD)
    before = ledger.entries()

    def break_off() -> None:
        with ledger.open() as entries:
            entries.clear()
            raise KeyError

    with pytest.raises(KeyError):
        break_off()
    assert ledger.entries() == before != {}
    ledger.entries().clear()  # a copy
    assert ledger.entries() == before


def test_a_report_is_on_the_disk_before_its_name_is_and_the_name_before_it_is_handed_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, sync, put = list[str](), os.fsync, os.replace

    def synced(handle: int) -> None:
        status, every = os.fstat(handle), (tmp_path, *tmp_path.iterdir())
        path = next(each for each in every if os.path.samestat(each.stat(), status))
        steps.append(f"sync {path.relative_to(tmp_path)}")
        assert path.is_dir() or json.loads(path.read_text())["surveys"]
        sync(handle)

    def put_in_place(draft: Path, path: Path) -> None:
        steps.append("replace")
        put(draft, path)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", put_in_place)
    one = Client(survey(), ledger=Ledger(tmp_path / "me.json"))
    one.report(RECORD)
    assert steps == ["sync me.json.draft", "replace", "sync ."]
    one.report(RECORD)
    assert len(steps) == 3, "what has not changed is not written again"


# Several processes

_RACER = """
import sys, time
from pathlib import Path
from deniable import Client, Ledger, Survey
survey = Survey.from_json(Path(sys.argv[1]).read_text())
client = Client(survey, ledger=Ledger(sys.argv[2]))
print("ready", flush=True)
sys.stdin.readline()
print(client.report({a.name: True for a in survey.schema.attributes}).to_json())
"""


@pytest.mark.slow
def test_eight_processes_that_race_for_one_ledger_give_one_report(tmp_path: Path) -> None:
    (tmp_path / "survey.json").write_text(survey().to_json())
    command = [sys.executable, "-c", _RACER, tmp_path / "survey.json", tmp_path / "me.json"]
    racers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    reports = [racer.communicate(timeout=300)[0].strip() for racer in racers]
    kept = Ledger(tmp_path / "me.json").entries()[survey().id].report
    assert reports == [str(kept.to_json())] * 8


def test_threads_that_race_for_one_ledger_give_one_report(tmp_path: Path) -> None:
    shared, reports = Ledger(tmp_path / "me.json"), list[Report]()

    def answer(ledger: Ledger) -> None:
        reports.append(Client(survey(), ledger=ledger).report(RECORD))

    ledgers = [shared, shared, shared, Ledger(tmp_path / "me.json")]
    threads = [threading.Thread(target=answer, args=(ledger,)) for ledger in ledgers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reports) == 4
    assert len(set(reports)) == 1


_VICTIM = """
import os, signal, sys
from pathlib import Path
from deniable import Client, Ledger, Survey
replace = os.replace
def killed(*names):
    if sys.argv[3] == "after":
        replace(*names)
    os.kill(os.getpid(), signal.SIGKILL)
os.replace = killed
survey = Survey.from_json(Path(sys.argv[1]).read_text())
client = Client(survey, ledger=Ledger(sys.argv[2]))
print(client.report({a.name: True for a in survey.schema.attributes}))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("moment", "kept"), [("before", 1), ("after", 2)])
def test_a_client_killed_while_it_writes_leaves_a_ledger_that_can_be_read(
    tmp_path: Path, moment: str, kept: int
) -> None:
    path = tmp_path / "me.json"
    before = Client(survey(0.5), ledger=Ledger(path)).report(RECORD)
    (tmp_path / "survey.json").write_text(survey().to_json())
    command = [sys.executable, "-c", _VICTIM, tmp_path / "survey.json", path, moment]
    killed = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert killed.returncode == -signal.SIGKILL
    assert killed.stdout == "", "a report was handed out before it was kept"
    entries = Ledger(path).entries()
    assert len(entries) == kept
    assert entries[survey(0.5).id].report == before
    later = Client(survey(), ledger=Ledger(path)).report(RECORD)
    assert Ledger(path).entries()[survey().id].report == later
    Client(survey(0.7), ledger=Ledger(path)).report(RECORD)
    left = {p.name for p in tmp_path.iterdir()} - {"survey.json"}
    assert left == {"me.json", "me.json.lock"}, "no second report is left lying about"


# Limits


def test_the_default_limit_is_two_and_is_exact() -> None:
    ledger = Ledger.in_memory()
    Client(survey(2.0), ledger=ledger).report(RECORD)
    with pytest.raises(RefusedError, match="above your limit of 2"):
        Client(survey(nextafter(2.0, 3.0)), ledger=ledger).report(RECORD)


@pytest.mark.parametrize("epsilon", [1e-12, 0.1, 0.3, 1.1, 1.7, 2.0])
def test_a_survey_that_just_fits_the_lifetime_limit_is_answered(epsilon: float) -> None:
    Client(survey(epsilon), ledger=Ledger.in_memory(), lifetime_limit=epsilon).report(RECORD)
    below = nextafter(epsilon, 0)
    with pytest.raises(RefusedError, match="above your lifetime limit"):
        Client(survey(epsilon), ledger=Ledger.in_memory(), lifetime_limit=below).report(RECORD)


def test_surveys_add_up_exactly_to_the_lifetime_limit(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "me.json")
    for mechanism in ("InpHT", "MargPS", "MargHT"):
        Client(survey(2.0, mechanism), ledger=ledger).report(RECORD)
    assert ledger.spent == 6.0
    with pytest.raises(
        RefusedError, match=r"add up to epsilon 6\.1, above your lifetime limit of 6"
    ):
        Client(survey(0.1), ledger=ledger).report(RECORD)
    assert ledger.spent == 6.0
    Client(survey(2.0), ledger=ledger).report(RECORD)  # what was answered may be given again


def test_a_tenth_and_two_tenths_are_more_than_three_tenths() -> None:
    ledger = Ledger.in_memory()
    Client(survey(0.1), ledger=ledger).report(RECORD)
    with pytest.raises(RefusedError, match="lifetime"):  # in binary fractions they are
        Client(survey(0.2), ledger=ledger, lifetime_limit=0.3).report(RECORD)


def test_the_largest_limit_is_a_thousand() -> None:
    client(limit=1000, lifetime_limit=1000)
    for name in ("limit", "lifetime_limit"):
        with pytest.raises(RefusedError, match="up to 1,000, got 1001"):
            client(**{name: 1001})


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf"), 10**400, 1e9, "2", None])
@pytest.mark.parametrize("name", ["limit", "lifetime_limit"])
def test_a_limit_that_is_no_limit_is_refused(name: str, limit: object) -> None:
    with pytest.raises(RefusedError, match=f"^{name} must be a positive number up to 1,000"):
        client(**{name: limit})


# Questions that are not what was agreed


def test_a_question_of_another_survey_is_refused() -> None:
    with pytest.raises(RefusedError, match="another survey"):
        client().report(RECORD, survey(0.5).question(0))


def _tampered() -> dict[str, tuple[str, Question]]:
    asked = survey().question(40)
    assert isinstance(asked.asks, Parities)
    assert isinstance(asked.answer, Subset)
    more = survey().question(100).asks
    assert isinstance(more, Parities)
    three = Parities(((*asked.asks.bits[0], *survey().question(9).asks.bits[0]),))
    raised = replace(asked.answer, threshold=asked.answer.threshold + 1)
    return {
        "a threshold raised a little": ("epsilon", replace(asked, answer=raised)),
        "a threshold raised much": ("epsilon", replace(asked, answer=Subset(2, 1, 2**64 - 1))),
        "a threshold lowered": ("question", replace(asked, answer=Subset(2, 1, 2**63 + 1))),
        "a truth turned round": (
            "question",
            replace(asked, answer=Subset(2, 1, 2**64 - asked.answer.threshold)),
        ),
        "an attribute added": ("attributes", replace(asked, asks=three)),
        "another slot's question": ("question", replace(asked, asks=more)),
        "another slot": ("question", replace(asked, slot=41)),
        "a slot that is none": ("question", replace(asked, slot=10**9)),
        "another survey": ("foreign", replace(asked, survey="0" * 64)),
    }


@pytest.mark.parametrize("change", list(_tampered()))
def test_a_tampered_question_is_refused_and_nothing_is_kept(tmp_path: Path, change: str) -> None:
    ledger, (reason, posed) = Ledger(tmp_path / "me.json"), _tampered()[change]
    with pytest.raises(RefusedError) as caught:
        Client(survey(), ledger=ledger).report(RECORD, posed)
    assert caught.value.reason == reason
    assert ledger.entries() == {}
    Client(survey(), ledger=ledger).report(RECORD, survey().question(40))


def test_a_survey_that_states_less_than_its_thresholds_give_is_refused_on_reading() -> None:
    form = json.loads(survey().to_json())
    for stated in ("0.5", "0.9999999999999999"):
        form["epsilon"] = stated
        with pytest.raises(SurveyError, match="exceed its stated epsilon"):
            Survey.from_json(json.dumps(form))


def test_a_survey_whose_values_were_learned_is_refused() -> None:
    import pyarrow as pa

    frame = pa.table({"sex": ["f", "m", "f"]})
    learned = Survey(Schema.from_frame(frame, values="observed"), 1, 1.0)
    assert learned.schema.observed
    for one in (learned, Survey.from_json(learned.to_json())):
        with pytest.raises(RefusedError, match="learned from data"):
            Client(one, ledger=Ledger.in_memory()).report({"sex": "f"})


def test_a_bad_record_is_refused_whatever_is_asked_and_never_repeated() -> None:
    for change in ({"a0": "Rumpelstiltskin"}, {"a15": None}, {"Rumpelstiltskin": True}):
        with pytest.raises(RecordError) as caught:
            client().report(RECORD | change, survey().question(3))
        assert "Rumpelstiltskin" not in str(caught.value)


def test_a_question_that_takes_1_for_true_is_refused() -> None:
    sure = Survey(Schema.binary("a"), 1, 20.0, "InpHT")
    form = sure.question(0).to_json()
    form["asks"]["parities"][0][0]["values"] = [1]
    posed = Question.from_json(form)
    assert posed == sure.question(0)
    asked = Client(sure, ledger=Ledger.in_memory(), limit=20, lifetime_limit=20)
    with pytest.raises(RefusedError, match="not the one"):
        asked.report({"a": True}, posed)
    assert asked.report({"a": True}, sure.question(0)).value == 1


def test_answers_to_a_given_question_follow_a_reproducible_source() -> None:
    question = survey().question(5)
    draw = [client().report(RECORD, question, source=Key.seeded("x").stream()) for _ in range(3)]
    assert len(set(draw)) == 1
    assert draw[0].slot == 5


# Ledgers that cannot be trusted


def _ledger_text(**entry: object) -> str:
    whole = {"report": {"slot": "0", "value": "0"}, "epsilon": "1.0"} | entry
    return json.dumps({"deniable": "ledger", "surveys": {"other": whole}})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "[" * 100_000,
        '{"surveys": {}}',
        '{"deniable": "ledger"}',
        '{"deniable": "ledger", "surveys": []}',
        '{"deniable": "survey", "surveys": {}}',
        _ledger_text(epsilon="nan"),
        _ledger_text(epsilon="inf"),
        _ledger_text(epsilon="-5.0"),
        _ledger_text(epsilon="0.0"),
        _ledger_text(epsilon=1.0),
        _ledger_text(epsilon=None),
        _ledger_text(epsilon="1"),
        _ledger_text(epsilon="1.00"),
        _ledger_text(sending={"state": "lost"}),
        _ledger_text(sending={"state": 1}),
        _ledger_text(sending={"state": "drawn", "more": "x"}),
        _ledger_text(sending={"ticket": None}),
        _ledger_text(sending={"token": 5}),
        _ledger_text(sending={"day": "1"}),
        _ledger_text(sending={"day": True}),
        _ledger_text(sending={"day": 1.0}),
        _ledger_text(sending=[]),
        _ledger_text(sending=None),
        '{"deniable": "ledger", "surveys": {}, "tokens": {"x": 5}}',
        _ledger_text(report={"slot": "-1", "value": "0"}),
        _ledger_text(report=None),
        "\udcff",
    ],
)
def test_a_ledger_that_is_none_is_refused_and_left_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "me.json"
    path.write_text(text, errors="surrogateescape")
    before = path.read_bytes()
    with pytest.raises(RefusedError, match=r"^The ledger me.json cannot be read") as caught:
        Client(survey(), ledger=Ledger(path)).report(RECORD)
    assert caught.value.reason == "ledger"
    assert path.read_bytes() == before


def test_a_ledger_needs_a_folder_that_is_there_and_a_name_of_its_own(tmp_path: Path) -> None:
    for place in (tmp_path / "nowhere" / "me.json", tmp_path, "/", ""):
        with pytest.raises(DeniableError, match="ledger"):
            Ledger(place).entries()
    assert list(tmp_path.iterdir()) == []
