"""Processes that answer at the same moment give one answer; one that is killed loses nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from client_parts import RECORD, drive_python
from fake_collector import FakeCollector

from deniable import Client, Ledger, Report, Survey
from deniable.client.ledger import Entry

PYTHON = """
import json, sys
from deniable import Ledger
from deniable.client.http import HTTPClient
told = json.loads(sys.argv[1])
ledger = Ledger(told["ledger"])
client = HTTPClient(told["collector"], told["survey"], token=told["token"], ledger=ledger)
client.question(told["record"])
print("ready", flush=True)
sys.stdin.readline()
client.answer(told["record"])
print(json.dumps(client.submit().to_json()), flush=True)
"""

JAVASCRIPT = """
import { Client } from "CLIENT";
import { fileLedger } from "LEDGER";
const told = JSON.parse(process.argv[2]);
const clients = [1, 2, 3].map(() => new Client({ ...told, ledger: fileLedger(told.ledger) }));
await Promise.all(clients.map((client) => client.question(told.record)));
console.log("ready");
await new Promise((done) => process.stdin.once("data", done));
const reports = await Promise.all(clients.map(async (client) => {
  await client.answer(told.record);
  return client.submit();
}));
if (new Set(reports.map((report) => report.value)).size > 1) throw Error("two answers");
console.log(JSON.stringify(reports[0]));
process.exit();
"""


def racing(command: list[str], told: dict[str, object], count: int) -> list[dict[str, str]]:
    """Start processes, let them all go at once when they are ready, and return their reports."""
    started = [
        subprocess.Popen(
            [*command, json.dumps(told)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(count)
    ]
    for one in started:
        assert one.stdout
        assert one.stdout.readline() == "ready\n"
    for one in started:
        assert one.stdin
        one.stdin.write("go\n")
        one.stdin.flush()
    return [json.loads(one.communicate(timeout=300)[0]) for one in started]


def in_node(node: str, folder: Path) -> list[str]:
    package = Path(__file__).parents[2] / "clients" / "js"
    script = folder / "race.mjs"
    text = JAVASCRIPT.replace("CLIENT", (package / "dist" / "deniable.min.js").as_uri())
    script.write_text(text.replace("LEDGER", (package / "src" / "file.js").as_uri()))
    return [node, str(script)]


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_processes_give_one_answer(
    language: str, collector: FakeCollector, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Sixteen values are possible, so that two answers would hardly ever be the same by chance."""
    survey = Survey(collector.survey.schema, 4, 0.1, "MargPS")
    collector.survey, collector.shown = survey, json.loads(survey.to_json())
    told = {"collector": collector.url, "survey": survey.id, "token": "me", "record": RECORD}
    told["ledger"] = str(tmp_path / "ledger.json")
    if language == "python":
        command = [sys.executable, "-c", PYTHON]
    else:
        command = in_node(request.getfixturevalue("node"), tmp_path)
    reports = racing(command, told, 6)
    assert all(report == reports[0] for report in reports)
    assert len({one.body for one in collector.sent("reports")}) == 1
    assert len(collector.counted) == 1


def test_a_process_that_is_killed_while_sending_sends_the_same_again(
    collector: FakeCollector, tmp_path: Path
) -> None:
    told = {"collector": collector.url, "survey": collector.survey.id, "token": "me"}
    told |= {"record": RECORD, "ledger": str(tmp_path / "ledger.json")}
    collector.faults.reports = ["before 503 30"]
    command = [sys.executable, "-c", PYTHON, json.dumps(told)]
    killed = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert killed.stdin
    assert killed.stdout
    killed.stdout.readline()
    killed.stdin.write("go\n")
    killed.stdin.flush()
    end = time.monotonic() + 120
    while not collector.sent("reports"):
        assert time.monotonic() < end
        time.sleep(0.01)
    killed.kill()
    killed.communicate()
    (entry,) = Ledger(told["ledger"]).entries().values()
    assert entry.sending
    assert entry.sending.state == "drawn"
    del told["record"]
    came = drive_python(("submit",), [], **told)
    assert came.results == [entry.report.to_json()]
    first, second = collector.sent("reports")
    assert first.body == second.body
    assert len(collector.counted) == 1


def test_a_ledger_of_an_earlier_version_is_read_and_kept(survey: Survey, tmp_path: Path) -> None:
    path = tmp_path / "me.json"
    entry = {"report": {"slot": "3", "value": "1"}, "epsilon": "1.0"}
    path.write_text(json.dumps({"deniable": "ledger", "surveys": {"f" * 64: entry}}))
    ledger = Ledger(path)
    assert ledger.entries() == {"f" * 64: Entry(Report(3, 1), 1.0)}
    Client(survey, ledger=ledger).report(RECORD)
    kept = json.loads(path.read_text())
    assert kept["surveys"]["f" * 64] == entry
    assert set(kept) == {"deniable", "surveys"}, "one that is not sent over HTTP looks as before"


def test_an_answer_given_without_a_collector_cannot_be_sent(
    collector: FakeCollector, tmp_path: Path
) -> None:
    path = tmp_path / "me.json"
    Client(collector.survey, ledger=Ledger(path)).report(RECORD)
    told = {"collector": collector.url, "survey": collector.survey.id, "ledger": path}
    came = drive_python(("submit",), [], **told)
    assert came.reason == "nothing"
    assert "elsewhere" in came.message
