"""Whatever was counted, everything that a tally gives is finite, or not known, or refused in a sentence.

Anybody can send anything to an open survey, and nothing that they send may break its reading.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import date
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from touching import DERIVING, MACHINERY, Touch, members

from deniable import Attribute, DeniableError, Schema, Survey, Tallies, Tally
from deniable.api.release import Release
from deniable.collector.validity import tally_values
from deniable.questions.answers import Unary

MOST_REPORTS = (1 << 53) - 2
"""The most that a tally's file may count."""

SURVEYLESS = {"mean", "variance", "quantile", "distribution", "correlation"}
"""What a survey without numbers is not asked."""

METHODS = ("none", "auto", "joint", "model")

HOURS = Attribute("hours", low=0, high=40, step=10, missing="none")
MOOD = Attribute("mood", ("low", "mid", "high"), ordered=True)
DAY = Attribute("day", low=date(2026, 1, 1), high=date(2026, 1, 5))
JOB = Attribute("job", ("a", "b", "c"))


@cache
def survey_named(name: str) -> Survey:
    """A survey for each kind of answer, of attribute, and of order."""
    plain, mixed = Schema.binary("a", "b", "c"), Schema((Attribute("smokes"), HOURS, MOOD))
    makers: dict[str, Callable[[], Survey]] = {
        "one attribute": lambda: Survey(Schema((JOB,)), 1, 1.1),
        "InpHT": lambda: Survey(plain, 2, 1.1, "InpHT"),
        "InpHT of order 3": lambda: Survey(plain, 3, 1.1, "InpHT"),
        "InpES": lambda: Survey(Schema((Attribute("smokes"), JOB)), 2, 1.1, "InpES"),
        "InpEM": lambda: Survey(plain, 2, 1.1, "InpEM"),
        "InpRR": lambda: Survey(plain, 2, 1.1, "InpRR"),
        "MargPS": lambda: Survey(plain, 2, 1.1, "MargPS"),
        "MargRR": lambda: Survey(plain, 2, 1.1, "MargRR"),
        "numbers": lambda: Survey(mixed, 2, 1.1, people=2000),
        "numbers alone": lambda: Survey(Schema((HOURS, DAY)), 1, 1.1),
        "groups": lambda: Survey(
            Schema((Attribute("smokes"), DAY)), 2, 1.1, labels={"region": ["north", "south"]}
        ),
    }
    return makers[name]()


SURVEYS = ("one attribute", "InpHT", "InpHT of order 3", "InpES", "InpEM", "InpRR", "MargPS")
SURVEYS += ("MargRR", "numbers", "numbers alone", "groups")


def values_of(survey: Survey, slot: int) -> int:
    """Return how many different reports there are to a slot."""
    family = next(each for each in survey.families if each.start <= slot < each.stop)
    is_unary = isinstance(family.answer, Unary)
    return 1 << family.answer.symbols if is_unary else tally_values(family)


def counted(survey: Survey, reports: Mapping[tuple[int, int], int], **group: str) -> Tally:
    """Return the tally of so many reports of each slot and value; of bits, the value's."""
    rows: Counter[tuple[int, int]] = Counter()
    for (slot, value), count in reports.items():
        family = next(each for each in survey.families if each.start <= slot < each.stop)
        if isinstance(family.answer, Unary):
            bits = [s for s in range(family.answer.symbols) if value >> s & 1]
            rows.update(dict.fromkeys(((slot, bit) for bit in bits), count))
            rows[slot, family.answer.symbols] += count
        else:
            rows[slot, value] += count
    keys = np.array(sorted(rows), np.int64).reshape(-1, 2)
    count = np.array([rows[slot, value] for slot, value in sorted(rows)], np.int64)
    return Tally(survey, keys[:, 0], keys[:, 1], count, group=group)


class Shape(NamedTuple):
    """A survey's slots, and the last value of each."""

    survey: Survey

    @property
    def slots(self) -> range:
        """All slots."""
        return range(self.survey.slots)

    def last(self, slot: int) -> int:
        """The last value of one."""
        return values_of(self.survey, slot) - 1


SHAPES: dict[str, Callable[[Shape], dict[tuple[int, int], int]]] = {
    "nothing": lambda s: {},
    "constant": lambda s: {(slot, 0): 100_000 // len(s.slots) + 1 for slot in s.slots},
    "the last values": lambda s: {(slot, s.last(slot)): 50 for slot in s.slots},
    "one slot": lambda s: {(0, 0): 100_000},
    "one report": lambda s: {(len(s.slots) // 2, 0): 1},
    "two reports": lambda s: {(0, 0): 1, (s.slots[-1], s.last(s.slots[-1])): 1},
    "half of the slots": lambda s: {
        (slot, value): 7 for slot in s.slots[::2] for value in (0, s.last(slot))
    },
    "thin": lambda s: {(slot, slot % (s.last(slot) + 1)): 1 for slot in s.slots},
    "lopsided": lambda s: {
        (slot, value): 1 if slot else 10**6 for slot in s.slots for value in (0, s.last(slot))
    },
    "2^31 each": lambda s: {(slot, min(slot % 2, s.last(slot))): 1 << 31 for slot in s.slots},
    "the most there can be": lambda s: {(0, 0): MOST_REPORTS},
    "nearly all the same": lambda s: {
        **{(slot, 0): 1 for slot in s.slots}, (0, s.last(0)): 1 << 52
    },
}  # fmt: skip


def failures(tally: Tally, consistency: str, folder: Path, turn: int = 0) -> list[str]:
    """Return what goes wrong with a tally, and all that it gives."""
    touch = Touch(folder, turn)
    try:
        touch.of(tally.release(consistency))
    except DeniableError:
        assert consistency != "none" or not tally.people, "unbiased estimates need nothing"
    return touch.failures


GRID = [(survey, shape) for survey in SURVEYS for shape in SHAPES]
PART = GRID if os.environ.get("HYPOTHESIS_PROFILE") == "explore" else GRID[::5]
"""All of it takes minutes. A fifth has every survey and every tally: 5 and 12 share no divisor."""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "shape"), PART, ids=[f"{a}: {b}" for a, b in PART])
def test_any_tally_is_read_or_refused(name, shape, tmp_path):
    survey, turn = survey_named(name), PART.index((name, shape))
    tally = counted(survey, SHAPES[shape](Shape(survey)))
    assert not failures(tally, METHODS[turn % len(METHODS)], tmp_path, turn)


@pytest.mark.slow
def test_any_groups_are_read_or_refused(tmp_path):
    """One group of 100 constant reports, one of a single report, or both alike."""
    survey = survey_named("groups")
    shape = Shape(survey)
    north = counted(survey, SHAPES["constant"](shape), region="north")
    for other in ("one report", "the last values", "one slot"):
        south = counted(survey, SHAPES[other](shape), region="south")
        touch = Touch(tmp_path)
        touch.of(Tallies(survey, "region", [north, south]))
        assert not touch.failures
        assert "Releases.borrowed" in touch.asked


@st.composite
def tallies(draw: st.DrawFn) -> Tally:
    """A few reports, or very many, to any slots of any survey."""
    survey = survey_named(draw(st.sampled_from(SURVEYS)))
    slots = st.integers(0, survey.slots - 1)
    rows = draw(st.lists(st.tuples(slots, st.integers(0, 7)), min_size=1, max_size=12))
    counts = st.sampled_from([1, 1, 2, 40, 10**4, 10**9, 10**15])
    reports: dict[tuple[int, int], int] = {}
    for slot, value in rows:
        reports[slot, value % values_of(survey, slot)] = draw(counts)
    return counted(survey, reports)


@pytest.mark.slow
@given(tallies(), st.sampled_from(METHODS))
@settings(max_examples=int(os.environ.get("TALLIES", "6")))
def test_sparse_tallies_are_read_or_refused(tally, consistency):
    with TemporaryDirectory() as folder:
        assert not failures(tally, consistency, Path(folder))


def test_the_walk_asks_for_everything_and_sees_what_is_wrong(tmp_path, monkeypatch):
    """It asks for each public member; one that it cannot call, or that says nan, fails."""
    tally = counted(survey_named("InpHT"), {(0, 0): 9, (5, 1): 9})
    touch = Touch(tmp_path)
    touch.of(tally)
    members_of_release = {f"Release.{name}" for name in members(Release)}
    unasked = {name.partition(".")[2] for name in members_of_release - touch.asked}
    assert unasked <= MACHINERY["Release"] | {*DERIVING, "worded"} | SURVEYLESS
    monkeypatch.setattr(Release, "cite", lambda self: "about nan people")
    monkeypatch.setattr(Release, "novel", lambda self, argument: argument, raising=False)
    monkeypatch.setattr(Release, "squares", property(lambda self: 1 / 0))
    touch = Touch(tmp_path)
    with pytest.raises(AssertionError, match=r"Release.novel takes arguments"):
        touch.of(tally.release())
    monkeypatch.delattr(Release, "novel")
    touch = Touch(tmp_path)
    touch.of(tally.release())
    wrong = [text.partition(":")[0] for text in touch.failures]
    assert {"Release.cite", "Release.squares"} <= set(wrong)
