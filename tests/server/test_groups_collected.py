"""Labels through the service: what is taken and refused, counted by group, exported, displayed."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from server_parts import SECRET, Service, problem, survey
from typer.testing import CliRunner

from deniable import Schema, Survey
from deniable.api.tally import Tallies, Tally
from deniable.cli import app
from deniable.messages.report import Report, ReportBatch
from deniable.server.collector import poisoning
from deniable.server.serve import Rules
from deniable.server.slots import Assignment
from deniable.server.work import GROUP_BITS, StoredSurvey

REGIONS = ["north", "süd \\\\u{", "ost"]
DAYS = ["2026-11-01", "2026-12-01", "2027-01-01"]
KEY = "k" * 20


def labelled(mechanism: str = "InpHT", attributes: int = 4, **more) -> Survey:
    declared = {"labels": {"region": REGIONS}, "periods": DAYS} | more
    names = [f"a{i}" for i in range(attributes)]
    return Survey(Schema.binary(*names), 2, 1.1, mechanism, **declared)


def labels(number: int) -> dict[str, str]:
    return {"region": REGIONS[number % 3], "period": DAYS[number // 3 % 2]}


def drawn(asked: Survey, count: int, weights=(6, 3, 1)) -> ReportBatch:
    """Reports of made-up people, each with labels; most are of the first region."""
    draw = np.random.default_rng(8)
    frame = pd.DataFrame(draw.integers(0, 2, (count, len(asked.schema))) > 0)
    frame.columns = asked.schema.names
    frame["region"] = draw.choice(REGIONS, count, p=np.array(weights) / sum(weights))
    frame["period"] = draw.choice(DAYS[:2], count)
    return asked.randomize(frame)


def sent(batch: ReportBatch, **more: str) -> list[dict]:
    """The reports of a batch as they are sent."""
    values = batch.values.tolist()
    if batch.values.ndim > 1:
        values = [int.from_bytes(value, "little") for value in values]
    every = zip(batch.slots.tolist(), values, *batch.labels.values(), strict=True)
    return [
        Report(slot, value, dict(zip(batch.labels, rest, strict=True))).to_json() | more
        for slot, value, *rest in every
    ]


def counted(asked: Survey, batch: ReportBatch) -> Tallies:
    """What the library itself counts."""
    made = asked.tally(batch, by=asked.labels.names)
    assert isinstance(made, Tallies)
    return made


def test_a_single_report_is_counted_in_its_group(start):
    service = start(labelled())
    for number in range(8):
        told = {"ticket": service.ticket(f"p{number}"), "value": "1", "labels": labels(number)}
        assert service.send(told).json() == {"accepted": 1}
        assert service.send(told).json() == {"accepted": 1}
        assert service.send(told | {"labels": labels(number + 1)}).json() == {"accepted": 1}
        assert problem(service.send(told | {"value": "0"}), "conflict")
    with service.opened() as store:
        (held,) = store.surveys()
        assert store.people(held) == 8
        found = store.people_by_group(held)
        expected = [held.labels.number(labels(n)) for n in range(8)]
        assert found == {number: expected.count(number) for number in expected}
        parts = {json.dumps(dict(t.group)): t.people for t in store.tallies(held)}
        assert parts == {json.dumps(held.labels.group(n)): c for n, c in found.items()}


BAD = {
    "none": None,
    "empty": {},
    "too few": {"region": "north"},
    "too many": {"region": "north", "period": DAYS[0], "version": "2"},
    "another name": {"region": "north", "age": "7"},
    "another value": {"region": "west", "period": DAYS[0]},
    "the last day": {"region": "north", "period": DAYS[2]},
}


@pytest.mark.parametrize("why", BAD)
def test_labels_that_are_not_the_surveys_are_refused(start, why):
    service = start(labelled())
    told = {"ticket": service.ticket("p"), "value": "1"}
    if BAD[why] is not None:
        told["labels"] = BAD[why]
    refused = service.send(told)
    assert problem(refused, "label-unknown")
    assert refused.status_code == 422
    assert "west" not in refused.text
    good = {"ticket": service.ticket("q"), "value": "1", "labels": labels(1)}
    came = service.send([good, told])
    assert came.json() == {"accepted": 1, "refused": [{"index": 1, "type": "label-unknown"}]}
    assert service.people() == 1
    # It was not counted, so the participant may still answer.
    assert service.send(told | {"labels": labels(0)}).json() == {"accepted": 1}


def test_a_survey_without_labels_takes_none(start):
    service = start()
    told = {"ticket": service.ticket("p"), "value": "1"}
    for beside in ({}, {"region": "north"}):
        assert problem(service.send(told | {"labels": beside}), "label-unknown")
    assert problem(service.send(told | {"labels": {"region": 7}}), "malformed")
    assert problem(service.send(told | {"labels": ["north"]}), "malformed")
    assert service.people() == 0
    assert service.send(told).json() == {"accepted": 1}


@pytest.mark.parametrize("slots", ["hashed", "drawn"])
def test_labels_go_with_ids_and_with_slots(start, slots):
    asked = labelled()
    service = start(asked, slots=slots, participants="issued" if slots == "hashed" else None)
    named = [{"id": one} for one in service.ids(6)] if slots == "hashed" else [{"slot": 2}] * 6
    reports = [one | {"value": 1, "labels": labels(i)} for i, one in enumerate(named)]
    reports[2] |= {"labels": {"region": "west", "period": DAYS[0]}}
    came = service.send(reports, Idempotency_Key=KEY).json()
    assert came == {"accepted": 5, "refused": [{"index": 2, "type": "label-unknown"}]}
    assert service.send(reports, Idempotency_Key=KEY).json() == came
    with service.opened() as store:
        (held,) = store.surveys()
        expected = {held.labels.number(labels(i)): 1 for i in range(6) if i != 2}
        assert store.people_by_group(held) == expected


@pytest.mark.parametrize(("mechanism", "attributes"), [("InpHT", 4), ("MargRR", 4), ("InpRR", 7)])
@pytest.mark.parametrize("keeps", [False, True])
def test_groups_are_counted_as_the_library_counts_them(
    start, mechanism, attributes, keeps, tmp_path
):
    asked = labelled(mechanism, attributes)
    other = labelled(mechanism, attributes, labels={"version": ["1", "2"]})
    service = start(asked, other, slots="drawn", keeps=keeps)
    batch = drawn(asked, 3000)
    reports = sent(batch, survey=asked.id)
    for part in (reports[:2000], reports[2000:]):
        assert service.send(part).json() == {"accepted": len(part), "refused": []}
    beside = {"version": "2", "period": DAYS[1]}
    service.send([{"survey": other.id, "slot": 0, "value": 1, "labels": beside}])
    by_library = counted(asked, batch)
    with service.opened() as store:
        held, second = store.surveys()
        assert store.people(held) == 3000
        assert [dict(one.group) for one in store.tallies(second)] == [beside]
        by_store = Tallies(asked, asked.labels.names, store.tallies(held))
        assert list(by_store) == list(by_library)
        for name, one in by_library.items():
            assert by_store[name] == one
            assert store.tally(held, one.group) == one
        assert store.tally(held) == by_library.total
        north = store.tally(held, {"region": "north"})
        assert north == Tallies(asked, "region", by_library.values())["north"]
        assert dict(north.group) == {"region": "north"}
        if held.is_unary and not keeps:
            return
        kept = store.reports(held)
    kept.to_parquet(tmp_path / "reports.parquet")
    again = asked.tally(str(tmp_path / "reports.parquet"), by=asked.labels.names)
    assert list(again) == list(by_library)
    assert all(again[name] == by_library[name] for name in by_library)


def test_a_group_counted_elsewhere_would_be_noticed(start):
    """The planted bug: one report of the north is counted as the south's."""
    asked = labelled()
    service = start(asked, slots="drawn")
    batch = drawn(asked, 500)
    service.send(sent(batch))
    regions = batch.labels["region"]
    regions[regions.tolist().index("north")] = "ost"
    by_library = counted(asked, batch)
    with service.opened() as store:
        (held,) = store.surveys()
        by_store = Tallies(asked, asked.labels.names, store.tallies(held))
    assert by_store.total == by_library.total
    assert sum(by_store[name] != by_library[name] for name in by_library) == 2


def test_a_batch_holds_as_many_labelled_reports_as_others(start):
    service = start(labelled(), slots="drawn")
    report = {"slot": 1, "value": 1, "labels": {"region": REGIONS[1], "period": DAYS[0]}}
    assert service.send([report] * 10_000).json() == {"accepted": 10_000, "refused": []}
    assert problem(service.send([report] * 10_001), "too-large")
    assert problem(service.send([{"slot": 1, "value": 1}] * 10_001), "too-large")
    assert service.people() == 10_000


def test_escapes_hide_no_name(start):
    service = start(labelled(), slots="drawn")
    form = {"slot": 1, "value": 1, "labels": {"region": REGIONS[1], "period": DAYS[0]}}
    headers = {"Content-Type": "application/json"}
    for ensure_ascii in (False, True):  # whichever way an encoder goes
        body = json.dumps(form, ensure_ascii=ensure_ascii).encode()
        came = service.client.post("/v1/reports", content=body, headers=headers)
        assert came.json() == {"accepted": 1}
    assert b"\\u00fc" in body
    hidden = body.replace(b'"value": 1', b'"val\\u0075e": 1.0')
    assert problem(service.client.post("/v1/reports", content=hidden, headers=headers), "malformed")


def test_of_a_group_no_bound_on_liars_is_claimed(start):
    said = [
        poisoning(StoredSurvey(1, each, "assigned", "issued", False, Assignment(SECRET)))
        for each in (labelled(), survey())
    ]
    assert ["no coefficient" in each for each in said] == [True, True]
    assert ["no bound" in each for each in said] == [True, False]


def test_places_of_groups_and_of_surveys_never_meet():
    rest = "drawn", "open", False, Assignment(SECRET)
    held = [StoredSurvey(n, labelled(), *rest) for n in (1, 1 << 14)]
    plain = StoredSurvey(1 << 14, Survey(Schema.binary("a"), 1, 1.1), *rest)
    first, last = (each.group_key(0) for each in held)
    assert plain.group_key(0) == 1 << 14 < first == 1 << GROUP_BITS
    assert last | (1 << 14) < 1 << 31  # an integer of PostgreSQL
    every = held[0].group_keys({})
    assert every == list(range(first, first + held[0].labels.groups))
    some = held[0].group_keys({"period": DAYS[1]})
    assert [held[0].labels.group(place - first)["period"] for place in some] == [DAYS[1]] * 3


@pytest.fixture(scope="module")
def analysed(tmp_path_factory):
    """A collector with groups of which one is too small."""
    url = f"sqlite:///{tmp_path_factory.mktemp('groups') / 's.db'}"
    asked = labelled()
    with Service(url, (asked,), Rules("drawn")) as service:
        batch = drawn(asked, 2000, (20, 15, 1))
        assert service.send(sent(batch)).status_code == 200
        yield service, counted(asked, batch)


def test_analysts_see_large_groups_only(analysed):
    service, tallies = analysed
    form = service.get("/v1/release/groups").json()
    assert form["fewest"] == 100
    people = {
        name: {
            value: one.people
            for value, one in Tallies(service.surveys[0], name, tallies.values()).items()
        }
        for name in ("region", "period")
    }
    # East is small, and south hides it: or the whole without the others would show it.
    assert form["groups"] == [
        {"group": {name: value}, "people": people[name][value]}
        for name, value in (("region", "north"), ("period", DAYS[0]), ("period", DAYS[1]))
    ]
    assert form["small"] == [{"region": REGIONS[1]}, {"region": "ost"}]
    assert problem(service.get("/v1/release/groups", by="region"), "malformed")


NORTH = {"label[region]": "north"}


def test_everything_is_of_the_group_that_was_asked_for(analysed, tmp_path):
    service, tallies = analysed
    north = Tally.of(Tallies(service.surveys[0], "region", tallies.values())["north"])
    release = north.release("auto")
    overview = service.get("/v1/release", **NORTH).json()
    assert overview["people"] == north.people
    assert overview["group"] == {"region": "north"}
    assert [one["name"] for one in overview["labels"]] == ["region", "period"]
    table = service.get("/v1/release/marginal", attributes=["a0", "a1"], **NORTH).json()
    assert np.allclose(table["values"], release.marginal("a0", "a1").values)
    assert table["people"] == north.people
    everybody = service.get("/v1/release/marginal", attributes=["a0", "a1"]).json()
    assert not np.allclose(table["values"], everybody["values"])
    history = service.get("/v1/release/history", **NORTH).json()["history"]
    assert [row["people"] for row in history] == [north.people]
    assert service.get("/v1/integrity", **NORTH).json()["people"] == north.people
    assert service.get("/v1/release/tree", **NORTH).status_code == 200
    assert service.get("/v1/release/associations", **NORTH).status_code == 200
    assert "region: north" in service.get("/v1/release/report", **NORTH).text
    release.export(tmp_path / "north.csv")
    exported = service.get("/v1/release/tables.csv", **NORTH).content
    assert exported == (tmp_path / "north.csv").read_bytes()


PATHS = ["", "/marginal", "/associations", "/tree", "/history", "/report", "/tables.csv"]


@pytest.mark.parametrize("path", [*(f"/v1/release{path}" for path in PATHS), "/v1/integrity"])
def test_a_small_group_is_not_displayed(analysed, path):
    service, _ = analysed
    more = {"attributes": "a0"} if path.endswith("marginal") else {}
    assert service.get(path, **more, **NORTH).status_code == 200
    small = service.get(path, **more, **{"label[region]": "ost"})
    assert problem(small, "group-small")
    assert small.status_code == 404
    assert problem(service.get(path, **more, **{"label[region]": "west"}), "label-unknown")
    assert problem(service.get(path, **more, **{"label[age]": "7"}), "label-unknown")
    assert problem(service.get(path, **more, label="north"), "malformed")
    assert problem(service.get(path, **more, **{"label[region]": ["north", "ost"]}), "malformed")


def test_few_releases_are_kept(analysed, monkeypatch):
    service, _ = analysed
    monkeypatch.setattr("deniable.server.analysts.MOST_KEPT", 2)
    for period in (*DAYS[:2], *DAYS[:2]):
        assert service.get("/v1/release", **{"label[period]": period}).status_code == 200
        assert service.get("/v1/release").status_code == 200
    assert len(service.collector.analysts._releases) == 2


def test_a_store_is_tallied_by_labels_on_the_command_line(analysed, tmp_path):
    service, tallies = analysed
    run, by = CliRunner(), ["--by", "period", "--by", "region"]
    told = ["tally", service.url, *by, "-o", str(tmp_path / "groups"), "--json"]
    said = run.invoke(app, told)
    assert said.exit_code == 0, said.output
    form = json.loads(said.stdout)
    assert form["people"] == 2000
    assert {one["name"]: one["people"] for one in form["groups"]} == {
        name: one.people for name, one in tallies.items()
    }
    again = Tallies.load(tmp_path / "groups")
    assert all(again[name] == one for name, one in tallies.items())
    told = ["tally", service.url, "--by", "age", "-o", str(tmp_path / "none")]
    assert "has no label 'age'" in str(run.invoke(app, told).exception)
    told = ["tally", service.url, "--by", "region", "-o", str(tmp_path / "shown")]
    shown = run.invoke(app, told).output
    assert "not displayed: ost" in shown
    told = ["reports", service.url, "-o", str(tmp_path / "r.parquet")]
    assert run.invoke(app, told).exit_code == 0
    again = service.surveys[0].tally(str(tmp_path / "r.parquet"), by=["region", "period"])
    assert all(again[name] == one for name, one in tallies.items())
