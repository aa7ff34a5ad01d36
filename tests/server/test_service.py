"""The service around the reports: who may see what, what it says of itself, how it holds up."""

from __future__ import annotations

import io
import json
import re
import threading
from hashlib import sha256

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from server_parts import Clock, problem, survey, until

from deniable.api.tally import Tally
from deniable.errors import StoreError, SurveyError
from deniable.messages.problems import PROBLEMS
from deniable.questions.entropy import Key
from deniable.release.consistency import METHODS, Method
from deniable.server.intake import Intake
from deniable.server.limits import Buckets
from deniable.server.openapi import document
from deniable.server.problems import ProblemError
from deniable.server.serve import Rules, new_token, prepare
from deniable.server.stores import open_store

GUARDED = [
    path for path, held in document()["paths"].items() if "security" in next(iter(held.values()))
]


def fill(service, people=400, first=0):
    """Let some people answer honestly, over the wire."""
    chosen, source = service.surveys[0], Key.seeded("fill").stream()
    batch = []
    for number in range(first, first + people):
        form = service.ask(f"person {number}").json()
        question = chosen.question(int(form["question"]["slot"]))
        record = {name: bool(number >> i & 1) for i, name in enumerate(chosen.schema.names)}
        batch.append({"ticket": form["ticket"], "value": str(question.reply(record, source))})
    assert service.send(batch).json()["accepted"] == people


def test_analysts_need_their_token(small):
    service = small()
    assert len(GUARDED) >= 16
    for path in GUARDED:
        for headers in (
            {},
            {"Authorization": "Bearer"},
            {"Authorization": "Bearer wrong"},
            {"Authorization": f"Basic {service.token}"},
            {"Authorization": f"Bearer {service.token}x"},
            {"Authorization": "Bearer \u00e9".encode("latin-1")},
        ):
            response = service.client.get(path, headers=headers)
            assert response.status_code == 401, path
            assert problem(response, "unauthorized")
            assert response.headers["www-authenticate"].startswith("Bearer")
        assert service.get(path).status_code != 401
    with service.opened() as store:
        (analyst,) = store.analysts()
        assert analyst.digest == sha256(service.token.encode()).digest()
        everything = [store.run(f"SELECT * FROM {table}") for table in ("settings", "analysts")]
    assert service.token not in str(everything)


def test_a_new_collector_has_nothing_to_release(small):
    service = small()
    assert service.get("/v1/release").json()["people"] == 0
    assert service.get("/v1/release/history").json() == {"history": []}
    for path in ("marginal?attributes=a0", "associations", "tree", "report", "tables.csv"):
        response = service.get(f"/v1/release/{path}")
        assert response.status_code == 409
        assert problem(response, "no-reports")
    assert problem(service.get("/v1/integrity"), "no-reports")


def test_what_analysts_get_is_the_release_of_the_tally(start):
    service = start()
    fill(service, 600)
    release = Tally.of(service.tally()).release()
    told = service.get("/v1/release").json()
    assert (told["people"], told["order"], told["epsilon"]) == (600, 2, 1.1)
    assert told["integrity"] == {"alarm": False, "alarms": []}
    assert 0 < told["expected_error"] < 1
    asked = {"attributes": ["a2", "a0"], "level": 0.9}
    table = service.get("/v1/release/marginal", **asked, consistency="none").json()
    expected = release.marginal("a2", "a0")
    assert table["values"] == expected.values.tolist()
    assert table["low"] == expected.interval(0.9)[0].tolist()
    assert [each["name"] for each in table["attributes"]] == ["a2", "a0"]
    joint = service.get("/v1/release/marginal", attributes=["a0", "a1"], consistency="joint").json()
    assert min(min(row) for row in joint["values"]) >= 0
    first = service.get("/v1/release/marginal", **asked).json()
    auto = Tally.of(service.tally()).release("auto")
    assert first["values"] == auto.marginal("a2", "a0").values.tolist()
    assert first["kind"] == auto.table_kind != table["kind"] == "unbiased"
    assert (first["swamped"], first["words"]) == (False, "")
    assert first["expected_error"] == auto.marginal("a2", "a0").expected_error
    rows = service.get("/v1/release/associations").json()["associations"]
    assert len(rows) == 6
    assert {"a", "b", "p_value", "q_value", "cramers_v"} <= set(rows[0])
    assert len(service.get("/v1/release/tree").json()["edges"]) == 3
    history = service.get("/v1/release/history").json()["history"]
    assert [row["people"] for row in history] == [600]
    report = service.get("/v1/release/report")
    assert report.text.startswith("<!doctype html>")
    assert "sandbox" in report.headers["content-security-policy"]
    frame = pd.read_csv(io.StringIO(service.get("/v1/release/tables.csv").text))
    stored = pd.read_parquet(io.BytesIO(service.get("/v1/release/tables.parquet").content))
    assert len(frame) == len(stored) == 4 * 2 + 6 * 4
    assert set(frame["applied"]) == {auto.applied}
    assert frame["read"].min() >= 0
    assert len(service.get("/v1/release/tables.json").json()["tables"]) == 10
    assert service.get("/v1/release/tables.exe").status_code == 404
    checks = service.get("/v1/integrity").json()
    assert [check["name"] for check in checks["checks"]] == ["slots", "answers", "coefficients"]
    for query, name in (
        ({"attributes": "nobody"}, "table-impossible"),
        ({"attributes": ""}, "table-impossible"),
        ({"attributes": ["a0", "a1", "a2"], "consistency": "none"}, "table-impossible"),
        ({"attributes": "a0", "level": "2"}, "table-impossible"),
        ({"attributes": "a0", "level": "x"}, "malformed"),
        ({"attributes": "a0", "level": "nan"}, "table-impossible"),
        ({"attributes": "a0", "consistency": "x"}, "malformed"),
        ({"attributes": "a0", "survey": "x"}, "survey-unknown"),
    ):
        assert problem(service.get("/v1/release/marginal", **query), name), query


def test_history_has_a_row_for_each_doubling(start):
    service = start(slots="drawn")
    held, analysts = service.collector.surveys[0], service.collector.analysts
    for people in (60, 60, 120, 10, 250):
        service.send([{"slot": "0", "value": "1"}] * people)
        analysts.answer(analysts.checkpoint, held)
    rows = service.get("/v1/release/history").json()["history"]
    assert [row["people"] for row in rows] == [120, 240, 500]


def test_a_width_that_is_not_known_is_null(small):
    service = small(slots="drawn")
    service.send([{"slot": "0", "value": "1"}] * 100)
    analysts = service.collector.analysts
    analysts.answer(analysts.checkpoint, service.collector.surveys[0])
    with service.opened() as store:
        assert store.checkpoints(service.collector.surveys[0]) == [(100, None)]
    rows = service.get("/v1/release/history").json()["history"]
    assert rows == [{"people": 100, "half_width": None}]


def test_attributes_with_commas_are_named_one_by_one(small):
    from deniable import Schema, Survey

    service = small(Survey(Schema.binary("a, or b", "c", "d"), 2, 1.1, "InpHT"))
    fill(service, 100)
    table = service.get("/v1/release/marginal", attributes=["c", "a, or b"]).json()
    assert [each["name"] for each in table["attributes"]] == ["c", "a, or b"]
    assert problem(service.get("/v1/release", attributes="c"), "malformed")
    assert problem(service.get("/v1/release/marginal", level=["0.5", "0.9"]), "malformed")


def test_analysts_stop_nobody_else(small):
    """While a release takes long, and many wait for it: pages, metrics and reports go on."""
    service = small(slots="drawn")
    service.send({"slot": "0", "value": "0"})
    told, others = [], []
    asking = [
        threading.Thread(target=lambda: told.append(service.get("/v1/release"))) for _ in range(60)
    ]

    def go_on():
        others.append(service.client.get("/").status_code)
        others.append(service.get("/metrics").status_code)
        others.append(service.send({"slot": "0", "value": "0"}).status_code)

    going_on = threading.Thread(target=go_on)
    with service.collector.analysts._lock:
        for each in asking:
            each.start()
        until(lambda: len(told) == 60 - 32)
        assert all(problem(each, "unavailable") for each in told)
        assert told[0].headers["retry-after"]
        going_on.start()
        going_on.join(60)
        assert others == [200, 200, 200]
    for each in asking:
        each.join()
    assert [each.status_code for each in told[28:]] == [200] * 32


def test_what_is_looked_after_is_looked_after_again(small, monkeypatch):
    monkeypatch.setattr("deniable.server.collector.WATCH", 0.05)
    service = small(slots="drawn")
    collector = service.collector
    with monkeypatch.context() as broken:
        broken.setattr(collector.analysts, "checkpoint", lambda *_: 1 / 0)
        until(lambda: collector.failures > 1)
    service.send([{"slot": "0", "value": "0"}] * 100)
    with service.opened() as store:
        until(lambda: store.checkpoints(collector.surveys[0]))
        token = new_token(store)  # as another process makes it
    until(lambda: service.get("/v1/release").status_code == 401)
    service.token = token
    assert service.get("/v1/release").status_code == 200


def test_answers_do_not_wait_for_each_other(monkeypatch):
    """asyncio sends at once (TCP_NODELAY) only what it knows to be TCP."""
    import socket

    from deniable.server import serve

    found = []
    monkeypatch.setattr(serve.Server, "run", lambda _, sockets: found.extend(sockets))
    monkeypatch.setattr(serve.gc, "freeze", lambda: None)
    monkeypatch.setattr(serve.sys, "setswitchinterval", lambda _: None)
    monkeypatch.setattr(serve.signal, "signal", lambda *_: None)
    serve.run(lambda: None, serve.bound("127.0.0.1", 0), lambda _: None)
    assert [each.proto for each in found] == [socket.IPPROTO_TCP]
    found[0].close()


def test_metrics_count(start):
    service = start()
    fill(service, 10)
    service.send({"ticket": "x", "value": "1"})
    text = service.get("/metrics").text
    values = dict(re.findall(r"^(deniable_\S+) (\S+)$", text, re.M))
    assert values["deniable_reports_accepted_total"] == "10"
    assert values['deniable_reports_refused_total{type="ticket-invalid"}'] == "1"
    assert values[f'deniable_people{{survey="{service.surveys[0].id}"}}'] == "0", "none is shown"
    assert int(values["deniable_commits_total"]) > 0
    assert values["deniable_store_failures_total"] == "0"
    assert values["deniable_reports_waiting"] == "0"
    for line in text.splitlines():
        assert re.fullmatch(
            r"# (HELP|TYPE) deniable_\w+ .+|deniable_\w+(\{\w+=\"[^\"]*\"\})? \S+", line
        )


def test_metrics_are_told_where_nothing_can_be_written_or_read(small, monkeypatch):
    """A full disk, and a database that is away, are what their alerts are about."""
    from deniable.server.database import UnavailableError
    from deniable.server.sqlite import SqliteStore

    service = small(slots="drawn")
    with service.opened() as store:
        before = store.audit_head()

    def full(*_):
        raise UnavailableError("database or disk is full")

    for method in ("commit", "audit", "shown_people"):
        monkeypatch.setattr(SqliteStore, method, full)
        assert service.get("/metrics").status_code == 200, method
    monkeypatch.undo()
    monkeypatch.setattr(SqliteStore, "commit", full)
    service.send({"slot": "0", "value": "0"})
    text = service.get("/metrics").text
    assert "deniable_store_failures_total 1" in text
    assert 'deniable_responses_total{status="503"} 1' in text
    with service.opened() as store:
        assert store.audit_head() == before


def test_pages_carry_what_keeps_browsers_safe(small):
    service = small()
    for path in ("/", "/dashboard", "/static/index.html"):
        response = service.client.get(path)
        assert response.status_code == 200
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert response.headers["x-frame-options"] == "DENY"
        assert response.headers["origin-agent-cluster"] == "?1"
    for response in (service.client.get("/v1/surveys"), service.send({})):
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in response.headers
    assert service.client.get("/static/../app.py").status_code == 404
    assert service.client.get("/static/%2e%2e/app.py").status_code == 404


def test_the_dashboard_offers_every_consistency_method_that_is_registered(small, monkeypatch):
    service = small()
    menu = re.compile('<select id="consistency".*?</select>', re.DOTALL)
    option = re.compile('<option value="(.*?)">(.+?)</option>')

    def offers():
        return option.findall(menu.search(service.client.get("/dashboard").text)[0])

    assert [name for name, _ in offers()] == ["auto", "none", "joint", "model"]
    assert {name for name, _ in offers()} == set(METHODS)
    assert dict(offers())["none"] == "as measured: unbiased, some cells below 0"
    monkeypatch.setitem(METHODS, "new", Method("new", "", lambda request: None, "at < 0, zero"))
    monkeypatch.setitem(METHODS, "bare", Method("bare", "", lambda request: None))
    assert offers()[-2:] == [("new", "at &lt; 0, zero"), ("bare", "bare")]


def test_other_origins_only_by_configuration(small):
    service = small(origins=("https://a.example",))
    asked = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
    allowed = service.client.options("/v1/reports", headers=asked)
    assert allowed.headers["access-control-allow-origin"] == "https://a.example"
    other = service.client.options("/v1/reports", headers=asked | {"Origin": "https://b.example"})
    assert "access-control-allow-origin" not in other.headers
    sent = service.send({}, Origin="https://a.example")
    assert sent.headers["access-control-allow-origin"] == "https://a.example"


def test_unknown_addresses_and_methods_are_problems(small):
    service = small()
    assert problem(service.client.get("/nowhere"), "not-found")
    response = service.client.get("/v1/reports")
    assert response.status_code == 405
    assert problem(response, "method-not-allowed")
    assert response.headers["allow"] == "POST"


def test_one_participant_cannot_ask_for_ever(small):
    now = [0.0]
    buckets = Buckets(3, 0.5, clock=lambda: now[0])
    service = small(buckets=buckets)
    for _ in range(3):
        assert service.ask("me").status_code == 200
    response = service.ask("me")
    assert response.status_code == 429
    assert problem(response, "too-many-requests")
    assert response.headers["retry-after"] == "2"
    assert service.ask("you").status_code == 200
    now[0] = 2.0
    assert service.ask("me").status_code == 200
    ticket = service.ticket("she")
    answers = [service.send({"ticket": ticket, "value": "1"}).status_code for _ in range(5)]
    assert answers == [200, 200, 200, 429, 429]
    ticket = service.ticket("they")
    many = [{"ticket": ticket, "value": "1"}]
    answers = [service.send(many * n).status_code for n in (1, 2, 1, 3, 1)]
    assert answers == [200, 200, 200, 429, 429]


def test_buckets_do_not_grow_for_ever():
    buckets = Buckets(most=100)
    for who in range(1000):
        buckets.take(who)
    assert len(buckets._buckets) == 100


def test_the_survey_says_how_far_liars_reach(small):
    service = small(survey(), participants="issued")
    said = service.client.get("/v1/survey").json()["poisoning"]
    assert re.search(r"more than 0\.0\d\d: each issued id counts once", said)


@pytest.mark.parametrize("slots", ["assigned", "drawn"])
def test_the_survey_says_where_there_is_no_bound(small, slots):
    service = small(survey(), slots=slots)
    assert "no bound" in service.client.get("/v1/survey").json()["poisoning"]


def test_a_store_that_fails_is_a_problem_and_loses_nothing(start, monkeypatch):
    service = start()
    fill(service, 5)
    ticket = service.ticket("late")
    from deniable.server.database import UnavailableError

    def fail(*_):
        raise UnavailableError("lost")

    with monkeypatch.context() as broken:
        broken.setattr(service.collector.store, "_take", fail)
        response = service.send({"ticket": ticket, "value": "1"})
        assert response.status_code == 503
        assert problem(response, "unavailable")
        assert int(response.headers["retry-after"]) > 0
        assert problem(service.client.get("/healthz"), "unavailable")
    assert service.people() == 5
    assert service.send({"ticket": ticket, "value": "1"}).status_code == 200
    assert service.client.get("/healthz").json() == {"status": "ok", "forwarded": False}
    assert service.people() == 6


def test_a_mistake_of_ours_is_answered_and_ends_nothing(small, monkeypatch):
    service = small()
    ticket = service.ticket("me")
    with monkeypatch.context() as broken:
        broken.setattr(service.collector.store, "_take", lambda *_: 1 / 0)
        response = service.send({"ticket": ticket, "value": "1"})
        assert response.status_code == 500
        assert problem(response, "internal")
    with monkeypatch.context() as broken:
        broken.setattr("deniable.server.app.poisoning", lambda *_: 1 / 0)
        assert problem(service.client.get("/v1/survey"), "internal")
    assert service.send({"ticket": ticket, "value": "1"}).status_code == 200


def test_a_mistake_in_forgetting_does_not_end_the_writer(small, monkeypatch):
    service = small(slots="drawn")
    writer = service.collector.writer
    with monkeypatch.context() as broken:
        broken.setattr(service.collector.store, "forget", lambda *_: 1 / 0)
        until(lambda: writer.failures > 0)
        assert writer.is_well, "reports can be taken all the same"
        broken.setattr(service.collector.store, "transaction", lambda *_: 1 / 0)
        until(lambda: not writer.is_well)
    until(lambda: writer.is_well)
    assert service.send({"slot": "0", "value": "0"}).status_code == 200


def test_a_writer_that_has_ended_keeps_nobody_waiting(small):
    service = small(slots="drawn")
    writer = service.collector.writer
    writer._closing = True
    writer.join(60)
    writer._closing = False
    assert problem(service.send({"slot": "0", "value": "0"}), "unavailable")
    assert problem(service.client.get("/healthz"), "unavailable")


def test_a_full_disk_loses_nothing(small):
    service = small(slots="drawn")
    assert service.send({"slot": "0", "value": "0"}).status_code == 200
    store = service.collector.store
    pages = store.run("PRAGMA page_count")[0][0]
    store.run(f"PRAGMA max_page_count = {pages}")
    many = [{"slot": str(i % 10), "value": str(i % 2)} for i in range(1000)]
    came = 1
    while (response := service.send(many, Idempotency_Key=f"k{came:020d}")).status_code == 200:
        came += 1000
        assert came < 200_000
    assert problem(response, "unavailable")
    assert service.people() == came
    store.run("PRAGMA max_page_count = 1000000")
    assert service.send(many, Idempotency_Key=f"k{came:020d}").status_code == 200
    assert service.people() == came + 1000


def test_a_locked_database_is_waited_for_then_a_problem(small, monkeypatch):
    service = small(slots="drawn")
    service.collector.store.run("PRAGMA busy_timeout = 200")
    other = service.opened()
    other.run("BEGIN IMMEDIATE")
    assert problem(service.send({"slot": "0", "value": "0"}), "unavailable")
    other.run("COMMIT")
    other.close()
    assert service.send({"slot": "0", "value": "0"}).status_code == 200
    assert service.people() == 1


def test_too_much_waiting_is_told_to_come_again(small, monkeypatch):
    service = small(slots="drawn")
    monkeypatch.setattr("deniable.server.writer.MOST_WAITING", 10)
    response = service.send([{"slot": "0", "value": "0"}] * 11)
    assert response.status_code == 503
    assert response.headers["retry-after"]
    monkeypatch.setattr("deniable.server.report_endpoint.MOST_IN_WORK", 0)
    assert problem(service.client.get("/v1/surveys"), "unavailable")


def test_two_processes_share_one_database(start, url):
    """Many threads with stores of their own stand for processes: the database decides."""
    service = start()
    held = service.collector.surveys[0]
    from deniable.server.work import Arrivals, Enrolment, Reports

    def reports(value):
        part = Arrivals(held)
        for i in range(200):
            part.slots.append(i % 10)
            part.values.append(value)
            part.positions.append(i)
            part.keys.append(held.key(i))
            part.fingerprints.append(value)
            part.expiries.append(10**6)
        return Reports([part])

    outcomes, serials = [], []
    gate = threading.Barrier(6)

    def work(value):
        with open_store(url) as store:
            gate.wait()
            outcomes.append((value, store.commit([reports(value)])[0]))
            for i in range(20):
                asked = store.commit([Enrolment(held, None, b"%016d" % i)])[0]
                serials.append((i, asked.serial))

    threads = [threading.Thread(target=work, args=(i % 2,)) for i in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert service.people() == 200
    won = [value for value, outcome in outcomes if not outcome.refusals]
    lost = [outcome for value, outcome in outcomes if outcome.refusals]
    assert len(won) == len(lost) == 3
    assert len(set(won)) == 1
    assert all(len(outcome.refusals) == 200 for outcome in lost)
    assert len(set(serials)) == 20  # one serial each, whoever came first


def test_serials_move_on_after_a_restore(url):
    with open_store(url) as store:
        before = [*store.issue(3), *store.issue(2)]
        assert before == [0, 1, 2, 3, 4]
        store.advance()
        (first,) = store.issue(1)
        assert first >= 1 << 32
        assert first % 4096 == 0  # a block of slots begins there
        for _ in range(10):
            store.advance()
        assert store.issue(1)[0] < 1 << 46


def test_the_key_is_made_once_and_kept_private(url):
    with open_store(url) as first, open_store(url) as second:
        assert first.seal().issue(1) == second.seal().issue(1)
        assert "redacted" in repr(first.seal())
    if url.startswith("sqlite"):
        import os
        from pathlib import Path

        for path in Path(url.removeprefix("sqlite:///")).parent.iterdir():
            assert os.stat(path).st_mode & 0o077 == 0, path


def test_a_store_that_others_could_read_is_made_private(tmp_path):
    path = tmp_path / "s.db"
    with open_store(str(path)):
        for each in tmp_path.iterdir():
            each.chmod(0o644)
        with open_store(str(path), create=False):
            assert {each.stat().st_mode & 0o777 for each in tmp_path.iterdir()} == {0o600}


def test_surveys_that_cannot_be_collected_are_refused(tmp_path):
    from deniable import Schema, Survey

    frame = pd.DataFrame({"a": [True, False], "b": ["x", "y"]})
    observed = Survey(Schema.from_frame(frame, values="observed"), 1, 1.0, "InpHT")
    with open_store(f"sqlite:///{tmp_path / 's.db'}") as store:
        with pytest.raises(SurveyError, match="learned from data"):
            prepare(store, [observed], Rules())
        with pytest.raises(SurveyError, match="issued"):
            prepare(store, [survey()], Rules("hashed", "open"))
        with pytest.raises(SurveyError, match="nobody in particular"):
            prepare(store, [survey()], Rules("drawn", "issued"))
        with pytest.raises(SurveyError, match="must be 'assigned', 'hashed' or"):
            prepare(store, [survey()], Rules("other"))
        with pytest.raises(SurveyError, match="bits"):
            prepare(store, [survey("InpRR", 17)], Rules())
        assert store.surveys() == []


@pytest.mark.parametrize("name", ["", "mysql://x", "sqlite:///", "http://x"])
def test_what_is_no_store_is_refused(name):
    with pytest.raises(StoreError):
        open_store(name)


def test_a_file_that_is_no_store_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but quite long " * 100)
    with pytest.raises(StoreError, match="cannot be opened"):
        open_store(str(path))
    with pytest.raises(StoreError, match="no store"):
        open_store(str(tmp_path / "nothing.db"), create=False)


def test_every_problem_is_documented():
    from server_parts import ROOT

    page = (ROOT / "docs" / "http.md").read_text()
    for name, (status, *_) in PROBLEMS.items():
        assert re.search(rf"`{name}`.*\b{status}\b|\b{status}\b.*`{name}`", page), name


@pytest.fixture(scope="module")
def intakes(tmp_path_factory):
    made = []
    for slots in ("assigned", "hashed", "drawn"):
        with open_store(str(tmp_path_factory.mktemp("fuzz") / "s.db")) as store:
            prepare(store, [survey(), survey("InpRR", 7)], Rules(slots))
            made.append((Intake(store.seal(), store.surveys(), Clock()), store.surveys()))
    return made


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 70), 1 << 70)
    | st.floats()
    | st.text()
    | st.sampled_from(["0", "1", str(1 << 63), "AAAAAAAAAIA=", survey().id]),
    lambda part: (
        st.lists(part)
        | st.dictionaries(
            st.sampled_from(["ticket", "id", "slot", "survey", "value", "packed"]) | st.text(), part
        )
    ),
)


def read(intake, body):
    """What was read, or the problem with it; anything else is a crash."""
    try:
        sent, is_many = intake.read(body, "k" * 16)
        return *intake.reports(sent, body, "k" * 16), is_many
    except ProblemError as error:
        return error


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary() | json_values.map(lambda form: json.dumps(form).encode()))
def test_whatever_is_sent_is_read_or_refused(intakes, body):
    for intake, _ in intakes:
        found = read(intake, body)
        if isinstance(found, ProblemError):
            assert found.status in (400, 404, 413)
            continue
        reports, refused, is_many = found
        assert reports.size + len(refused) == (len(json.loads(body)) if is_many else 1)


slotted = st.fixed_dictionaries(
    {"slot": st.integers(0, (1 << 53) - 1), "value": st.integers(0, (1 << 53) - 1)},
    optional={"survey": st.sampled_from([survey().id, survey("InpRR", 7).id])},
)


@settings(max_examples=200, deadline=None)
@given(st.lists(slotted, max_size=5))
def test_what_is_taken_can_be_reported(intakes, forms):
    intake, surveys = intakes[2]
    by_id = {held.survey.id: held.survey for held in surveys}
    found = read(intake, json.dumps(forms).encode())
    if isinstance(found, ProblemError):
        assert found.name == "survey-unknown"
        assert any("survey" not in form for form in forms)
        return
    reports, refused, _ = found
    possible = [
        f["slot"] < by_id[f["survey"]].slots
        and f["value"]
        < by_id[f["survey"]].question(min(f["slot"], by_id[f["survey"]].slots - 1)).answer.outcomes
        for f in forms
    ]
    assert sorted(index for index, _ in refused) == [i for i, p in enumerate(possible) if not p]
    assert reports.size == sum(possible)
