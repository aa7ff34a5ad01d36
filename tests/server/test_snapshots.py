"""Differencing: whatever an analyst asks, and whenever, no difference is of fewer than 100 reports."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from server_parts import Service, problem, survey

from deniable import Schema, Survey
from deniable.collector.tally import TallyCounts
from deniable.schema.labels import FEWEST
from deniable.server.serve import Rules
from deniable.server.slots import Assignment
from deniable.server.snapshots import WHOLE, Snapshot
from deniable.server.work import StoredSurvey

REGIONS = ["north", "south", "east"]
TABLE = {"attributes": ["a0", "a1"]}


def labelled(**labels: list[str]) -> Survey:
    return Survey(Schema.binary("a0", "a1"), 2, 1.1, "InpHT", labels=labels)


def reports(count: int, start: int = 0, **labels: str) -> list[dict]:
    rows = [{"slot": i % 3, "value": i // 3 % 2} for i in range(start, start + count)]
    return [row | {"labels": labels} for row in rows] if labels else rows


# The promise, for streams of people with labels


def stored(asked: Survey) -> StoredSurvey:
    return StoredSurvey(1, asked, "drawn", "open", False, Assignment(bytes(32)))


def padded(flags: np.ndarray, size: int) -> np.ndarray:
    return np.pad(flags, (0, size - len(flags)))


def people_of(tallies, name: tuple[str, ...]) -> int:
    return tallies[name].people if name in tallies else 0


class Shown:
    """A survey's reports, and every set of them that a snapshot has shown."""

    def __init__(self, **labels: list[str]) -> None:
        self.held, self.snapshot = stored(labelled(**labels)), Snapshot()
        self.groups: list[tuple[str, ...]] = []
        self.sets: dict[tuple[tuple[str, ...], int], np.ndarray] = {}
        self.left: dict[tuple[str, ...], np.ndarray] = {}

    def add(self, group: tuple[str, ...]) -> None:
        self.groups.append(group)
        if not self.snapshot.is_due(len(self.groups)):
            return
        names = self.held.labels.names
        parts = [
            TallyCounts(
                self.held.survey,
                *(np.array([n], np.int64) for n in (1, 0, people)),
                group=dict(zip(names, each, strict=True)),
            )
            for each, people in Counter(self.groups).items()
        ]
        before, self.snapshot = self.snapshot, self.snapshot.after(self.held, parts)
        here = np.array(self.groups)
        for name in self.snapshot.left_out:
            if people_of(self.snapshot.left_out, name) > people_of(before.left_out, name):
                self.left[name] = self.members(here, name) & ~padded(self.last(name), len(here))
        for name, tally in self.snapshot.tallies.items():
            if tally.people > before.people_of(name):
                left = padded(self.left.get(name, np.zeros(0, bool)), len(here))
                self.sets[name, tally.people] = self.members(here, name) & ~left
                assert self.last(name).sum() == tally.people

    def members(self, here: np.ndarray, name: tuple[str, ...]) -> np.ndarray:
        if not name:
            return np.ones(len(here), bool)
        return here[:, self.held.labels.names.index(name[0])] == name[1]

    def last(self, name: tuple[str, ...]) -> np.ndarray:
        """The set that was shown last under a name."""
        return [np.zeros(0, bool), *(each for (n, _), each in self.sets.items() if n == name)][-1]

    def smallest(self) -> int:
        """The fewest reports that any difference or sum of up to four shown sets is of."""
        size = len(self.groups)
        vectors = np.array([padded(each, size).astype(np.int8) for each in self.sets.values()])
        # Reports that are in the same sets are counted, not repeated.
        sets, people = np.unique(vectors, axis=1, return_counts=True)
        supports = [int(people[row != 0].sum()) for row in sets]
        for count in (2, 3, 4):
            every = list(combinations(range(len(sets)), count))
            if len(every) > 4000:
                draw = np.random.default_rng(count)
                every = [every[i] for i in draw.choice(len(every), 4000, replace=False)]
            for signs in product((1, -1), repeat=count - 1):
                for rows in every:
                    sum_ = np.array([1, *signs], np.int8) @ sets[list(rows)]
                    supports.append(int(people[sum_ != 0].sum()))
        return min(support for support in supports if support)


STREAMS = {
    "mixed": lambda draw, at: (REGIONS[draw.choice(3, p=(0.5, 0.3, 0.2))],),
    "one is rare": lambda draw, at: (REGIONS[draw.choice(3, p=(0.6, 0.39, 0.01))],),
    "two are rare": lambda draw, at: (REGIONS[draw.choice(3, p=(0.98, 0.01, 0.01))],),
    "one after another": lambda draw, at: (REGIONS[min(2, at // 650)],),
    "one after another, with stragglers": lambda draw, at: (
        REGIONS[min(2, at // 650) if draw.random() > 0.02 else 0],
    ),
    "a single one first": lambda draw, at: (REGIONS[int(at == 0)],),
    "a wave at the end": lambda draw, at: (REGIONS[int(at > 1890)],),
}


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("seed", range(2))
def test_no_sum_of_what_was_shown_is_of_few_reports(stream: str, seed: int) -> None:
    shown, draw = Shown(region=REGIONS), np.random.default_rng(seed)
    for at in range(2000):
        shown.add(STREAMS[stream](draw, at))
    assert shown.smallest() >= FEWEST
    assert shown.snapshot.people > 1800  # the whole waits for no group


@pytest.mark.parametrize("alike", [0.0, 0.5, 0.99])
def test_groups_by_two_labels_are_not_told_apart(alike: float) -> None:
    """A site that nearly is a region: their difference would be of a few."""
    sites = ["harbour", "hill", "mill"]
    shown, draw = Shown(region=REGIONS, site=sites), np.random.default_rng(1)
    for _ in range(3000):
        region = draw.integers(3)
        site = region if draw.random() < alike else draw.integers(3)
        shown.add((REGIONS[region], sites[site]))
    assert shown.smallest() >= FEWEST
    assert ("region", "north") in shown.snapshot.tallies
    assert (("site", "mill") in shown.snapshot.tallies) == (alike < 0.9)


def test_mixed_groups_are_all_shown_whole() -> None:
    shown, draw = Shown(region=REGIONS), np.random.default_rng(2)
    for at in range(3000):
        shown.add(STREAMS["mixed"](draw, at))
    people = Counter(region for (region,) in shown.groups)
    for name in REGIONS:
        assert shown.snapshot.people_of(("region", name)) > 0.6 * people[name]
    assert not shown.snapshot.left_out


def test_a_rare_group_holds_up_another_until_there_are_enough() -> None:
    shown = Shown(region=REGIONS)
    for at in range(900):
        shown.add((REGIONS[2 if at % 90 == 0 else at % 2],))
    assert ("region", "east") not in shown.snapshot.tallies
    people = Counter(region for (region,) in shown.groups)
    rest = [people[n] - shown.snapshot.people_of(("region", n)) for n in ("north", "south")]
    assert people["east"] + sum(rest) >= FEWEST
    for at in range(9000):
        shown.add((REGIONS[at % 3],))
    assert {name for name in shown.snapshot.tallies if name} == {("region", n) for n in REGIONS}


def test_a_later_wave_is_shown_without_those_that_came_among_others() -> None:
    shown = Shown(region=REGIONS)
    for at in range(8000):
        shown.add((REGIONS[int(at >= 1950)],))
    assert shown.snapshot.people_of(("region", "south")) > 3000
    assert shown.smallest() >= FEWEST


def test_a_planted_bug_is_noticed() -> None:
    """Groups that are renewed with every whole, as they were: their differences are of few."""
    shown, draw = Shown(region=REGIONS), np.random.default_rng(3)
    for at in range(1000):
        shown.add(STREAMS["mixed"](draw, at))
    here = np.array(shown.groups)[:, 0]
    shown.sets[("region", "east"), -1] = (here == "east") & (np.arange(len(here)) < 950)
    shown.sets[("region", "east"), -2] = here == "east"
    assert shown.smallest() < FEWEST


# Over HTTP

PATHS = {
    "": {},
    "/marginal": TABLE,
    "/associations": {},
    "/tree": {},
    "/history": {},
    "/groups": {},
    "/report": {},
    "/tables.csv": {},
    "/tables.json": {},
}


def everything(service: Service) -> dict[str, str]:
    """All that depends on reports, as analysts get it."""
    texts = {path: service.get(f"/v1/release{path}", **q).text for path, q in PATHS.items()}
    texts["integrity"] = service.get("/v1/integrity").text
    metrics = service.get("/metrics").text.splitlines()
    texts["metrics"] = "".join(line for line in metrics if line.startswith("deniable_people"))
    texts["poolable"] = service.get("/v1/release/poolable").text
    return texts


def count(service: Service, number: int, start: int = 0, **labels: str) -> None:
    answer = service.send(reports(number, start, **labels))
    assert answer.json() == {"accepted": number, "refused": []}


def test_fewer_than_100_reports_are_shown_to_nobody(start) -> None:
    service = start(slots="drawn")
    count(service, FEWEST - 1)
    assert service.get("/v1/release").json()["people"] == 0
    assert service.get("/v1/release/history").json() == {"history": []}
    for path in PATHS.keys() - {"", "/history", "/groups"}:
        answer = service.get(f"/v1/release{path}", **PATHS[path])
        assert problem(answer, "no-reports"), path
    assert problem(service.get("/v1/integrity"), "no-reports")
    assert "} 0" in everything(service)["metrics"]
    assert service.people() == FEWEST - 1  # in the store, all are counted
    count(service, 1)
    assert service.get("/v1/release").json()["people"] == FEWEST


def test_no_answer_changes_until_100_more_came(start) -> None:
    service = start(labelled(region=REGIONS), survey(), slots="drawn")
    name = {"survey": service.surveys[0].id}

    def of_first(number: int, first: int) -> list[dict]:
        return [each | name for each in reports(number, first, region="north")]

    service.send(of_first(130, 0))
    before = {
        path: service.get(f"/v1/release{path}", **q, **name).text for path, q in PATHS.items()
    }
    assert '"people": 130' in before[""]
    for at in range(FEWEST - 1):
        service.send(of_first(1, at))
        if at % 33 == 0:
            after = {
                path: service.get(f"/v1/release{path}", **q, **name).text
                for path, q in PATHS.items()
            }
            assert after == before
    service.send(of_first(1, 7))
    assert service.get("/v1/release", **name).json()["people"] == 230


def test_a_restart_and_other_processes_show_the_same(url: str) -> None:
    rules, asked = Rules("drawn"), survey()
    with Service(url, (asked,), rules) as one:
        count(one, 150)
        before = everything(one)
        with Service(url, (asked,), rules) as other:
            one.token = other.token
            count(other, 60, 7)
            assert everything(other) == before
            assert everything(one) == before
    with Service(url, (asked,), rules) as again:
        assert everything(again) == before
        count(again, 40, 3)
        after = everything(again)
        assert after[""] != before[""]
        with Service(url, (asked,), rules) as another:
            again.token = another.token
            assert everything(another) == after


def test_pooled_surveys_are_shown_of_their_snapshots(start) -> None:
    surveys = survey(), Survey(survey().schema, 1, 2.0, "InpHT")
    service = start(*surveys, slots="drawn")
    pool = {"survey": surveys[0].id, "pool": surveys[1].id}
    for each, number in zip(surveys, (140, 99), strict=True):
        service.send([row | {"survey": each.id} for row in reports(number)])
    assert problem(service.get("/v1/release/marginal", attributes="a0", **pool), "no-reports")
    row = {"slot": 1, "value": 1}
    service.send([row | {"survey": surveys[1].id}])
    before = service.get("/v1/release/marginal", attributes="a0", **pool).json()
    assert before["people"] == 240
    service.send([row | {"survey": each.id} for each in surveys for _ in range(99)])
    assert service.get("/v1/release/marginal", attributes="a0", **pool).json() == before


def test_groups_are_asked_by_one_label(start) -> None:
    service = start(labelled(region=REGIONS, version=["1", "2"]), slots="drawn")
    count(service, 300, region="north", version="1")
    one = service.get("/v1/release", **{"label[region]": "north"})
    assert one.json()["people"] == 300
    two = service.get("/v1/release", **{"label[region]": "north", "label[version]": "1"})
    assert problem(two, "group-small")
    assert "one label" in two.json()["detail"]


def test_a_store_that_takes_nothing_shows_what_it_showed(small, monkeypatch) -> None:
    from deniable.server.database import UnavailableError
    from deniable.server.sqlite import SqliteStore

    service = small(slots="drawn")
    count(service, 120)
    before = everything(service)
    count(service, 120)

    def full(*_: object) -> None:
        raise UnavailableError("disk full")

    monkeypatch.setattr(SqliteStore, "lock_serials", full)
    assert everything(service) == before
    monkeypatch.undo()
    assert service.get("/v1/release").json()["people"] == 240


def test_a_snapshot_is_read_as_it_was_written() -> None:
    shown = Shown(region=REGIONS)
    for at in range(3100):
        shown.add((REGIONS[int(at >= 950)],))
    snapshot = shown.snapshot
    again = Snapshot.of_bytes(snapshot.to_bytes(), shown.held, "s")
    assert again.left_out.keys() == snapshot.left_out.keys() != set()
    for name, tally in (*snapshot.tallies.items(), *snapshot.left_out.items()):
        other = again.tallies.get(name) if name in snapshot.tallies else again.left_out[name]
        assert other is not None
        assert other.people == (snapshot.tallies.get(name) or tally).people
    assert again.batches == snapshot.batches
    assert (again.renewed, again.since) == (snapshot.renewed, snapshot.since)
    assert again.tallies[WHOLE].group == {}
    assert Snapshot().people == 0
