"""The public log of surveys: what a store writes, a collector proves, and a file mirrors."""

from __future__ import annotations

import pytest
from server_parts import Service, problem, survey

from deniable.errors import StoreError
from deniable.messages.survey_log import Entry, Head, SurveyLog, today
from deniable.server.serve import Rules, prepare
from deniable.server.stores import open_store

SURVEYS = [survey(attributes=count) for count in (2, 3, 4, 5)]
IDS = [each.id for each in SURVEYS]


def log_at(url):
    with open_store(url) as store:
        return store.survey_log()


def test_every_survey_is_logged_once_in_order(url):
    for surveys in (SURVEYS[:1], SURVEYS[:3], SURVEYS[1:2], SURVEYS):
        before = log_at(url)
        with open_store(url) as store:
            prepare(store, surveys, Rules())
        assert before.begins(log_at(url))
    assert log_at(url).entries == tuple(Entry(today(), each) for each in IDS)


def test_surveys_of_an_older_store_are_logged_at_the_next_start(url):
    with open_store(url) as store:
        prepare(store, SURVEYS[:2], Rules())
        with store.transaction():
            store.run("DELETE FROM survey_log")
        prepare(store, [], Rules())
        assert [entry.survey for entry in store.survey_log().entries] == IDS[:2]


def test_a_collector_proves_its_log_to_everybody(url):
    with Service(url, tuple(SURVEYS[:2]), Rules()) as service:
        form = service.client.get("/v1/log").json()
        assert [row["survey"] for row in form["entries"]] == IDS[:2]
        first = Head.of_log(log_at(url).entries[:1])
        with open_store(url) as store:  # another process
            prepare(store, SURVEYS[2:], Rules())
        log = log_at(url)
        answer = service.client.get("/v1/log/proof", params={"survey": IDS[2], "size": 4}).json()
        assert answer["head"] == log.head._asdict(), "whoever has seen a longer log is told of it"
        for known in (Head.of_log(()), first, log.head):
            query = {"survey": IDS[2], "size": known.size}
            answer = service.client.get("/v1/log/proof", params=query).json()
            head = Head(**answer["head"])
            head.check_follows(known, answer["consistency"])
            entry = Entry.of(**answer["entry"])
            head.check_inclusion(entry, answer["index"], answer["inclusion"])
            assert entry.survey == IDS[2]
        assert "entry" not in service.client.get("/v1/log/proof").json()
        get = service.client.get
        assert problem(get("/v1/log/proof", params={"size": 5}), "head-unknown")
        assert problem(get("/v1/log/proof", params={"survey": 64 * "a"}), "survey-unknown")
        for size in ("-1", "x", "", "1" * 11, "٣"):
            assert problem(get("/v1/log/proof", params={"size": size}), "malformed")
        assert problem(get("/v1/log", params={"size": 1}), "malformed")


def test_a_file_knows_more_than_an_older_copy_of_the_store(url):
    """A store that was restored takes from the file what it lacks; a survey keeps its first day."""
    known = SurveyLog([Entry("2026-01-02", IDS[0]), Entry("2026-01-03", IDS[1])])
    with open_store(url) as store:
        prepare(store, SURVEYS[:1], Rules(), log=SurveyLog(known.entries[:1]))
        prepare(store, [], Rules(), log=known)
        assert store.survey_log().entries == known.entries
        prepare(store, SURVEYS[:2], Rules(), log=known)
        assert store.survey_log().entries == known.entries


@pytest.mark.parametrize(
    "known",
    [
        [Entry(today(), IDS[1])],
        [Entry("2026-01-01", IDS[0])],
        [Entry(today(), IDS[1]), Entry(today(), IDS[0])],
        [Entry(today(), IDS[0]), Entry(today(), 64 * "b"), Entry(today(), 64 * "c")],
    ],
    ids=["removed", "rewritten", "reordered", "forked"],
)
def test_a_log_that_differs_from_its_file_is_refused(url, known):
    with open_store(url) as store:
        prepare(store, SURVEYS[:2], Rules())
        with pytest.raises(StoreError, match="one of them was rewritten, or belongs to another"):
            prepare(store, SURVEYS, Rules(), log=SurveyLog(known))
        assert [entry.survey for entry in store.survey_log().entries] == IDS[:2]
        assert len(store.surveys()) == 2


def test_a_gap_in_the_log_of_a_store_is_told_and_filled_from_a_file(url):
    """A line that somebody took out of the database; what is left may not get another number."""
    with Service(url, tuple(SURVEYS[:3]), Rules()) as service, open_store(url) as store:
        whole = store.survey_log()
        store.run("DELETE FROM survey_log WHERE number = 1")
        for log in (None, SurveyLog(whole.entries[:1]), SurveyLog([*whole.entries[:2]][::-1])):
            with pytest.raises(StoreError, match=r"Line 2 of the store's log of surveys is gone"):
                prepare(store, SURVEYS, Rules(), log=log or SurveyLog(()))
        assert len(store.surveys()) == 3
        assert problem(service.client.get("/v1/log/proof", params={"size": 4}), "unavailable")
        prepare(store, [], Rules(), log=whole)
        assert store.survey_log().entries == whole.entries
        prepare(store, SURVEYS, Rules(), log=whole)
        assert whole.begins(store.survey_log())
        assert [entry.survey for entry in store.survey_log().entries] == IDS
