"""Labels and periods on both pages: said before consent, sent as they are, and groups that are shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import pandas as pd
import pytest
from page_parts import SPY, Running, Visitor, until

from deniable import Schema, Survey
from deniable.messages.report import Report

AUDIT = (Path(__file__).parent / "audit.js").read_text("utf-8")
NAMES = ("Comedy", "Crime")
REGIONS = ("north", "south", "east")
VERSIONS = tuple(f"3.{i}" for i in range(9))
LABELS = {"region": REGIONS, "version": VERSIONS}

Collect = Callable[..., tuple[Running, Survey]]


NOW = (-10, 10)
TODAY = datetime.now(UTC).date()  # once: a test may see midnight pass


def day(distance: int) -> str:
    return str(TODAY + timedelta(distance))


@pytest.fixture
def collect(tmp_path: Path, browser: Any) -> Iterator[Collect]:
    """Start a collector of a survey with labels, and periods some days from now."""
    running: list[Running] = []

    def begin(
        days: tuple[int, ...] = NOW, labels: Any = LABELS, **rules: Any
    ) -> tuple[Running, Survey]:
        periods = [day(one) for one in days]
        schema = Schema.binary(*NAMES)
        survey = Survey(schema, 2, 1.1, "InpHT", labels=labels, periods=periods)
        running.append(Running(tmp_path, survey, **rules))
        return running[-1], survey

    yield begin
    for one in running:
        one.close()


@pytest.fixture
def visitor(browser: Any) -> Iterator[Visitor]:
    made = Visitor(browser)
    made.before(SPY)
    made.look(390)
    yield made
    made.close()


def fill_in(visitor: Visitor) -> None:
    for number in range(len(NAMES)):
        visitor.click(f"#items fieldset:nth-child({number + 1}) label:nth-of-type(1)")


def test_labels_are_announced_asked_for_and_sent_as_they_are(
    visitor: Visitor, collect: Collect
) -> None:
    collector, survey = collect()
    visitor.go(f"{collector.url}/?survey={survey.id}", "#fill")
    learns = visitor.text("#learns").splitlines()
    assert "region and version: as it is, not protected by chance" in learns
    assert "the period that your device drew: as it is, not protected by chance" in learns
    assert "ε does not cover it" in visitor.text("#beside")
    assert "which is now" in visitor.text("#period")
    found = {"form": visitor.run(AUDIT)}

    fill_in(visitor)
    visitor.click("#fill .main")
    visitor.wait("#incomplete")
    assert visitor.text("#incomplete") == "Still open: region and version."
    assert visitor.run("document.activeElement.name") == "l0"
    found["open"] = visitor.run(AUDIT)
    assert visitor.posts == [], "nothing is sent for a form that is not complete"

    visitor.click("#labels fieldset label:nth-of-type(2)")
    visitor.run("document.querySelector('#l1').focus()")
    visitor.press("End", 35)
    visitor.click("#fill .main")
    visitor.wait("#ask")
    told = visitor.text("#told")
    assert "not protected by chance" in told.lower()
    assert "south" in told
    assert VERSIONS[-1] in told
    found["question"] = visitor.run(AUDIT)
    assert [path for path, _ in visitor.posts] == ["/questions"], "no label before consent"
    assert not any(value in json.dumps(visitor.posts) for value in ("south", VERSIONS[-1]))

    visitor.click("#agree")
    visitor.wait("#sent")
    found["sent"] = visitor.run(AUDIT)
    labels = {"region": "south", "version": VERSIONS[-1], "period": day(NOW[0])}
    path, body = visitor.posts[-1]
    assert (path, set(body), body["labels"]) == ("/reports", {"labels", "ticket", "value"}, labels)
    assert "south" in visitor.text("#what")
    with collector._opened() as store:
        (held,) = store.surveys()
        assert [(dict(one.group), one.people) for one in store.tallies(held)] == [(labels, 1)]

    visitor.go(f"{collector.url}/", "#sent")
    assert "Your answer is counted" in visitor.text("#sent-head")
    assert not visitor.sees("#what"), "whoever opens the page later may be another person"
    assert visitor.posts == []
    assert not any(found.values()), found
    assert visitor.complaints == []


def test_a_survey_without_labels_says_nothing_of_them(visitor: Visitor, collect: Collect) -> None:
    collector, survey = collect((), None)
    visitor.go(f"{collector.url}/?survey={survey.id}", "#fill")
    assert not visitor.sees("#beside")
    assert "protected by chance" not in visitor.text("#law")
    assert visitor.text("#unsent") == "Nothing of the form is sent."
    fill_in(visitor)
    visitor.click("#fill .main")
    visitor.wait("#ask")
    assert not visitor.sees("#told")


def test_a_period_alone_is_announced(visitor: Visitor, collect: Collect) -> None:
    collector, survey = collect(NOW, None)
    visitor.go(f"{collector.url}/?survey={survey.id}", "#fill")
    assert "the period that your device drew: as it is" in visitor.text("#learns")
    assert "which is now" in visitor.text("#beside")
    fill_in(visitor)
    visitor.click("#fill .main")
    visitor.wait("#ask")
    assert "period" in visitor.text("#told")


@pytest.mark.parametrize(
    ("days", "said"), [((20, 50), "Not yet: come back on"), ((-50, -20), "turn is over")]
)
def test_outside_its_period_a_device_is_not_asked(
    visitor: Visitor, collect: Collect, days: tuple[int, int], said: str
) -> None:
    collector, survey = collect(days)
    for _ in range(2):
        visitor.go(f"{collector.url}/?survey={survey.id}", "#later")
        assert said in visitor.text("#later-head")
        assert not visitor.sees("#fill")
        assert visitor.posts == []
        assert visitor.run(AUDIT) == []
    first = datetime.fromisoformat(day(days[0]))
    assert f"from {first.day} " in visitor.text("#later-when")
    assert f"{first:%B}" in visitor.text("#later-when")


def test_the_period_is_drawn_once(visitor: Visitor, collect: Collect) -> None:
    collector, survey = collect((-10, 10, 20, 30, 40, 50, 60, 70))
    seen = set()
    for _ in range(4):
        visitor.go(f"{collector.url}/?survey={survey.id}", "#later:not([hidden]), #fill")
        seen.add(visitor.text("#later-head") or visitor.text("#period"))
    assert len(seen) == 1
    again = set()
    for _ in range(12):
        visitor.forget(collector.url)
        visitor.go(f"{collector.url}/?survey={survey.id}", "#later:not([hidden]), #fill")
        again.add(visitor.text("#later-head") or visitor.text("#period"))
        if len(again) > 1:
            break
    assert len(again) > 1, "cleared data draws anew; all twelve alike once in 10^9"


def test_analysts_choose_among_large_groups(visitor: Visitor, collect: Collect) -> None:
    named = {"region": REGIONS, "version": ["1", "2"], "constructor": ["a", "b"]}
    collector, survey = collect(labels=named, slots="drawn")
    random, count = np.random.default_rng(5), 4000
    region = random.choice(REGIONS, count, p=(0.6, 0.4, 0))
    comedy = random.random(count) < np.where(region == "north", 0.95, 0.05)
    frame = pd.DataFrame({"Comedy": comedy, "Crime": random.random(count) < 0.5})
    frame["region"], frame["version"] = region, random.choice(["1", "2"], count)
    frame["constructor"] = random.choice(["a", "b"], count)
    batch = survey.randomize(frame, "groups")
    large = {name: int((region == name).sum()) for name in REGIONS}
    rows = zip(batch.slots.tolist(), batch.values.tolist(), *batch.labels.values(), strict=True)
    reports = [
        Report(slot, value, dict(zip(batch.labels, rest, strict=True))).to_json()
        for slot, value, *rest in rows
    ]
    headers = {"Content-Type": "application/json"}
    body = json.dumps(reports).encode()
    urlopen(Request(f"{collector.url}/v1/reports", body, headers)).close()

    visitor.look(1280)
    visitor.go(collector.dashboard, "#tree > *")
    assert visitor.text("#facts .most dd") == f"{count:,}"
    assert "How far liars can push estimates" in visitor.text("#poisoning")
    options = visitor.run(
        "[...document.querySelectorAll('#whose option')].map((o) => [o.text, o.disabled])"
    )
    assert [f"north ({large['north']:,})", False] in options
    assert len(options) == 1 + 3 + 2 + 2 + 1, "no group is listed under another label"
    assert ["east (not shown: too few)", True] in options
    visitor.run("document.querySelector('#whose select').focus()")
    for letter in "south":
        visitor.press(letter, ord(letter.upper()), letter)
    until(lambda: visitor.text("#facts .most dd") == f"{large['south']:,}")
    until(lambda: f"from {large['south']:,} people" in visitor.text("#table"))
    assert "region: south" in visitor.text("#facts")
    single = "Of a single group there is no bound: a label is what a device says."
    assert visitor.text("#poisoning") == single
    assert visitor.run(AUDIT) == []
    visitor.press("Home", 36)
    until(lambda: visitor.text("#facts .most dd") == f"{count:,}")
    assert "How far liars can push estimates" in visitor.text("#poisoning")
    asked = [one["url"] for one in visitor.requests if "/v1/release" in one["url"]]
    assert any("label%5Bregion%5D=south" in url for url in asked)
    assert visitor.complaints == []
