"""The collector ends within its grace, whatever analysts have asked for."""

from __future__ import annotations

import http.client
import json
import threading

import pytest
from crashing import started
from server_parts import Rules, problem, survey, until

from deniable.server import problems
from deniable.server.serve import new_token, prepare
from deniable.server.stores import open_store

SLEEPS = "time.sleep(10**6)"
WORKS = "while True: pass"

FIRST = """
import time
import deniable.server.lane
from deniable.server.analysts import Analysts
deniable.server.lane.ENDING = 1.0
def overview(*_):
    print("begun", flush=True)
    {}
Analysts.overview = overview
"""


@pytest.mark.parametrize(
    ("url", "work"), [("sqlite", WORKS), ("postgresql", SLEEPS)], indirect=["url"]
)
def test_a_stop_does_not_wait_for_a_long_computation(url, work):
    """Analysts are told to come again, reports that were acknowledged are there; no traceback."""
    with open_store(url) as store:
        prepare(store, [survey()], Rules("drawn"))
        token = new_token(store)
    told = []

    def ask(port):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", "/v1/release", headers={"Authorization": f"Bearer {token}"})
        response = connection.getresponse()
        told.append((response.status, json.loads(response.read()), response.headers["retry-after"]))
        connection.close()

    with started(url, first=FIRST.format(work)) as process:
        assert process.post(b'{"slot": 1, "value": 1}')[0] == 200
        asking = [threading.Thread(target=ask, args=(process.port,)) for _ in range(3)]
        for each in asking:
            each.start()
        assert process.running.stdout.readline() == "begun\n"
        assert process.post(b'{"slot": 2, "value": 1}')[0] == 200
        assert process.end() == 0
        for each in asking:
            each.join()
    assert process.said == ""
    assert [(status, form["type"].rpartition("/")[2]) for status, form, _ in told] == [
        (503, "unavailable")
    ] * 3
    assert all(int(again) > 0 for *_, again in told)
    with open_store(url) as store:
        assert store.people(store.surveys()[0]) == 2


def test_a_request_that_is_given_up_is_told_so(small, monkeypatch):
    """After the grace uvicorn cancels what is in work: an answer, and no traceback."""
    import asyncio

    service = small(slots="drawn")
    gone = asyncio.CancelledError("as uvicorn does it")

    async def cancelled(*_):
        raise gone

    monkeypatch.setattr(service.collector, "take", cancelled)
    assert problem(service.send({"slot": "0", "value": "0"}), "unavailable")
    monkeypatch.setattr(service.collector.analysts, "work", cancelled)
    assert problem(service.get("/v1/release"), "unavailable")


def test_work_that_nobody_waits_for_is_not_begun(small):
    """Who gives up while others are served costs nothing; the lane ends when its turn is over."""
    service = small(slots="drawn")
    analysts, done, threads = service.collector.analysts, [], []
    with analysts._lock:
        for _ in range(2):
            threads.append(threading.Thread(target=lambda: done.append(service.get("/v1/release"))))
            threads[-1].start()
        until(lambda: len(analysts._lane) == 2)
        for told in tuple(analysts._lane._futures):
            told.get_loop().call_soon_threadsafe(problems.settle, told, problems.stop_problem())
        until(lambda: len(done) == 2)
        assert all(problem(each, "unavailable") for each in done)
        assert analysts.is_busy
    assert service.get("/v1/release").status_code == 200
    for each in threads:
        each.join()
