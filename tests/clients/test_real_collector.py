"""Both clients against the real collector, over loopback."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from uuid import uuid4

import pytest
from client_parts import RECORD, Drive, Running, command, lacking

from deniable import Attribute, Schema, Survey

SURVEYS = {
    "InpHT": Survey(Schema.binary(*RECORD), 2, 1.0, "InpHT"),
    "Subspace": Survey(Schema.binary(*RECORD), 2, 1.0986122886681098, "Subspace"),
    "InpRR": Survey(Schema.binary(*RECORD, "more", "and"), 2, 1.0, "InpRR"),
    "mixed": Survey(
        Schema.of(a=[1, 2, 3], b=["x", "y"], c=list("pqrstu")).completed(), 2, 2.0, "InpES"
    ),
    "numbers": Survey(
        Schema.of(
            age=Attribute("age", low=18, high=100, step=1, unit="years", complete=True),
            income=Attribute("income", low=0, high=90_000, missing="none", other="none"),
            moved=Attribute("moved", low="2026-01-01", high="2026-12-31", complete=True),
            mood=Attribute("mood", ("bad", "fair", "good"), ordered=True, complete=True),
        ),
        2,
        2.0,
    ),
}
TODAY = datetime.now(UTC).date()
DAYS = [str(TODAY + timedelta(days)) for days in (-30, -1, 30, 60)]
REGIONS = ["north", "Übersee"]
SURVEYS |= {
    name: Survey(Schema.binary(*RECORD), 2, 1.0, "InpHT", labels={"region": REGIONS}, periods=days)
    for name, days in {"now": DAYS[1:3], "early": DAYS[2:], "over": DAYS[:2]}.items()
}
RECORDS = {
    "InpRR": RECORD | {"more": True, "and": False},
    "mixed": {"a": 3, "b": "x", "c": "u"},
    "numbers": {"age": 41.5, "income": 1e9, "moved": "2026-02-28", "mood": "good"},
}


Serve = Callable[..., Running]


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Tell of a collector with a survey and rules: the one that is running, or a new one."""
    if importlib.util.find_spec("deniable.server") is None:
        lacking("the collector is not in this tree")
    started: dict[tuple[str, ...], Running] = {}

    def start(*asked: str) -> Running:
        if asked not in started:
            folder = tmp_path_factory.mktemp("collector")
            started[asked] = Running(folder, SURVEYS[asked[0]], *asked[1:])
        started[asked].before = started[asked].total
        return started[asked]

    yield start
    for one in started.values():
        one.process.terminate()
    for one in started.values():  # they end together
        one.close()


@pytest.mark.parametrize("name", ["Subspace", "InpRR", "mixed"])
def test_an_answer_is_counted_once(drive: Drive, serve: Serve, name: str, tmp_path: Path) -> None:
    running, record = serve(name), RECORDS.get(name, RECORD)
    mine = running.known(record=record, ledger=tmp_path / "mine")
    came = drive("question", "answer", "submit", **mine)
    assert came.reason == "", came.message
    slot = int(came.results[1]["slot"])
    assert came.results[0] == running.survey.question(slot).to_json()
    assert running.people == 1
    kept = json.loads((tmp_path / "mine").read_text().replace('"sent"', '"drawn"'))
    (tmp_path / "mine").write_text(json.dumps(kept))
    assert drive("submit", **mine).reason == "", "a repeat has the same answer"
    assert running.people == 1


def test_a_second_device_with_the_same_token_is_told(drive: Drive, serve: Serve) -> None:
    running, me, you = serve("InpHT"), uuid4().hex, uuid4().hex
    assert drive("answer", "submit", **running.known(token=me)).reason == ""
    assert drive("answer", "submit", **running.known(token=me)).reason == "answered"
    assert drive("answer", "submit", **running.known(token=you)).reason == ""
    assert running.people == 2


@pytest.mark.parametrize("name", ["Subspace", "numbers"])
@pytest.mark.parametrize("slots", ["assigned", "hashed"])
def test_issued_ids(drive: Drive, serve: Serve, slots: str, name: str) -> None:
    running = serve(name, "--participants", "issued", "--slots", slots)
    issued, own = running.issued(), RECORDS.get(name, RECORD)
    made_up = drive("answer", "submit", **running.known(token="A" * 32, record=own))
    assert made_up.reason == "participant-unknown"
    assert drive("answer", "submit", **running.known(token=issued, record=own)).reason == ""
    again = drive("answer", "submit", **running.known(token=issued, record=own)).reason
    assert again in ({"answered"} if slots == "assigned" else {"", "conflict"})
    assert running.people == 1


def test_drawn_slots(drive: Drive, serve: Serve, tmp_path: Path) -> None:
    running = serve("mixed", "--slots", "drawn")
    mine = running.known(record=RECORDS["mixed"], ledger=tmp_path / "mine")
    assert drive("answer", "submit", **mine).reason == ""
    kept = (tmp_path / "mine").read_text().replace('"sent"', '"drawn"')
    (tmp_path / "mine").write_text(kept)
    assert drive("submit", **mine).reason == ""
    assert running.people == 1


@pytest.mark.parametrize("slots", ["assigned", "hashed"])
def test_a_closed_survey(drive: Drive, serve: Serve, slots: str, tmp_path: Path) -> None:
    """What was drawn before is counted where a ticket tells so; afterwards nothing is drawn."""
    running = serve("InpRR", "--participants", "issued", "--slots", slots)
    early, late = (
        running.known(token=running.issued(), record=RECORDS["InpRR"], ledger=tmp_path / name)
        for name in ("early", "late")
    )
    steps = ("answer",) if slots == "assigned" else ("answer", "submit")
    assert drive(*steps, **early).reason == ""
    subprocess.run(command("close", running.store), capture_output=True, check=True)
    if (
        slots == "hashed"
    ):  # no ticket is asked for: what the survey's page says is a second old at most
        time.sleep(1.1)
    came = drive("answer", **late)
    assert came.reason == "survey-closed"
    assert came.message == "The survey is over: it takes no new answers."
    assert "slot" not in ((tmp_path / "late").read_text() if (tmp_path / "late").exists() else "")
    assert drive("submit", **early).reason == ""
    assert running.people == 1
    subprocess.run(command("reopen", running.store), capture_output=True, check=True)
    time.sleep(1.1)  # a collector asks its store again after a second
    assert drive("answer", "submit", **late).reason == ""


def test_labels_and_periods(drive: Drive, serve: Serve, tmp_path: Path) -> None:
    running = serve("now")
    mine = running.known(ledger=tmp_path / "mine", labels={"region": "Übersee"})
    came = drive("period", "question", "answer", "submit", **mine)
    assert came.reason == "", came.message
    assert came.results[0] == DAYS[1:3]
    assert came.results[3]["labels"] == {"region": "Übersee", "period": DAYS[1]}
    other = mine | {"labels": {"region": "north"}}
    assert drive("answer", "submit", **other).results[1] == came.results[3], "the first stays"
    for bad in ({"region": "south"}, {"region": "north", "period": DAYS[1]}, {}):
        refused = drive("answer", **running.known(labels=bad))
        assert refused.reason == "record"
        assert "south" not in refused.message
    groups = command("tally", running.store, "--by", "region", "-o", tmp_path / "groups", "--json")
    said = subprocess.run(groups, capture_output=True, text=True, check=True).stdout
    groups = [(one["name"], one["people"]) for one in json.loads(said)["groups"]]
    assert groups == [("Übersee", running.total)]
    assert running.people == 1


@pytest.mark.parametrize("name", ["early", "over"])
def test_outside_its_period_a_device_is_not_asked(drive: Drive, serve: Serve, name: str) -> None:
    running = serve(name)
    for step in ("question", "answer"):
        came = drive(step, **running.known(labels={"region": "north"}))
        assert came.reason == name
        assert str(datetime.fromisoformat(DAYS[2 if name == "early" else 0]).year) in came.message


def test_the_first_start_shows_an_address_that_opens_the_dashboard_once(serve: Serve) -> None:
    running = serve("Subspace")
    page, _, code = running.dashboard.partition("#code=")
    assert page == f"{running.url}/dashboard"
    body, kind = json.dumps({"code": code}).encode(), {"Content-Type": "application/json"}
    with urlopen(Request(f"{running.url}/v1/session", body, kind)) as response:
        key = json.load(response)["token"]
    release = Request(f"{running.url}/v1/release", headers={"Authorization": f"Bearer {key}"})
    with urlopen(release) as response:
        assert response.status == 200
    with pytest.raises(HTTPError, match="401"):
        urlopen(Request(f"{running.url}/v1/session", body, kind))
