"""A few seconds of chaos; `make chaos` goes on for ten minutes, on both kinds of store."""

from __future__ import annotations

import pytest
from chaos import PLANTED, chaos

from deniable.server.stores import open_store

SEED = "2"


@pytest.mark.slow
def test_whatever_happens_each_answer_is_counted_once():
    with chaos("sqlite", 6, SEED) as story:
        story.check()
        assert len(story.people) > 100
        assert sum(story.events.values()) > 2
        for harm in (  # planted: one too many, one too few, one for another
            "UPDATE counts SET count = count + 1 WHERE slot = (SELECT max(slot) FROM counts)",
            "DELETE FROM counts WHERE slot = (SELECT max(slot) FROM counts)",
            "UPDATE counts SET value = 1 - value WHERE slot = (SELECT max(slot) FROM counts)",
        ):
            with open_store(story.url) as store:
                rows = store.run("SELECT * FROM counts")
                store.run(harm)
            with pytest.raises(AssertionError):
                story.check()
            with open_store(story.url) as store:
                store.run("DELETE FROM counts")
                for row in rows:
                    store.run("INSERT INTO counts VALUES (?, ?, ?, ?)", *row)
        story.check()


@pytest.mark.slow
def test_a_collector_that_answers_before_it_has_stored_is_found():
    with (
        chaos("sqlite", 20, SEED, PLANTED["early"]) as story,
        pytest.raises(AssertionError),
    ):  # it ends with the first thing that is wrong
        story.check()
