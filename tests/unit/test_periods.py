"""A device draws its period once, answers in no other, and sends the labels that it was given."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from scipy import stats

import deniable.client.client as client_module
from deniable import Client, Ledger, Report, Schema, Survey
from deniable.errors import RecordError, RefusedError
from deniable.questions.entropy import Key

RECORD = {"a": True, "b": False}
MONTHS = ["2026-11-01", "2026-12-01", "2027-01-01", "2027-02-01"]
REGION = {"region": ["north", "south"]}
FALSE_ALARM = 1e-6


def survey(**declared: object) -> Survey:
    return Survey(Schema.binary("a", "b"), 2, 1.0, "InpHT", **declared)


MONTHLY = survey(labels=REGION, periods=MONTHS)


def client(ledger: Ledger | None = None, asked: Survey = MONTHLY) -> Client:
    return Client(asked, ledger=Ledger.in_memory() if ledger is None else ledger)


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch):
    """Say which day it is."""
    return lambda day: monkeypatch.setattr(client_module, "today", lambda: date.fromisoformat(day))


def in_period(month: int) -> Ledger:
    """Return a ledger whose device has drawn this period."""
    ledger = Ledger.in_memory()
    assert ledger.period(MONTHLY.id, lambda: MONTHS[month]) == MONTHS[month]
    return ledger


def test_labels_go_beside_the_report_and_stay_with_it(tmp_path: Path) -> None:
    asked, ledger = survey(labels=REGION), Ledger(tmp_path / "me.json")
    report = client(ledger, asked).report(RECORD, labels={"region": "south"})
    assert report.labels == {"region": "south"}
    again = client(Ledger(tmp_path / "me.json"), asked)
    assert again.report(RECORD, labels={"region": "north"}) == again.report(RECORD) == report
    kept = json.loads((tmp_path / "me.json").read_text())["surveys"][asked.id]["report"]
    assert kept == report.to_json() == kept | {"labels": {"region": "south"}}


@pytest.mark.parametrize("labels", [None, {}, {"region": "east"}, {"region": "north", "x": "y"}])
def test_labels_that_do_not_fit_are_refused_and_nothing_is_drawn(labels: object) -> None:
    one = client(asked=survey(labels=REGION))
    with pytest.raises(RecordError, match="label"):
        one.report(RECORD, labels=labels)
    assert one.ledger.entries() == {}
    with pytest.raises(RecordError, match="no label"):
        client(asked=survey()).report(RECORD, labels={"region": "north"})


def test_without_periods_there_is_none_and_nothing_of_it_is_kept(tmp_path: Path) -> None:
    one = client(Ledger(tmp_path / "me.json"), survey())
    assert one.period() is None
    one.check_period()
    assert one.report(RECORD).labels == {}
    assert "periods" not in (tmp_path / "me.json").read_text()


def test_a_period_is_drawn_once_and_for_ever(tmp_path: Path, on) -> None:
    first = client(Ledger(tmp_path / "me.json")).period()
    assert {client(Ledger(tmp_path / "me.json")).period() for _ in range(30)} == {first}
    begin, end = first
    on(str(end))
    with pytest.raises(RefusedError):
        client(Ledger(tmp_path / "me.json")).report(RECORD, labels={"region": "north"})
    on(str(begin))
    mine = client(Ledger(tmp_path / "me.json"))
    assert mine.report(RECORD, labels={"region": "north"}).labels["period"] == str(begin)
    other = client(Ledger(tmp_path / "other.json"), survey(periods=["2026-11-01", "2026-12-01"]))
    assert other.period() == (date(2026, 11, 1), date(2026, 12, 1))


def test_the_last_day_begins_no_period_that_could_be_drawn() -> None:
    class Word:
        def __init__(self, *words: int) -> None:
            self.words = list(words)

        def word(self) -> int:
            return self.words.pop(0)

    for words, month in (([0], 0), ([1], 1), ([2], 2), ([3, 7, 2], 2), ([4], 0)):
        begin, end = client().period(source=Word(*words))
        assert [str(begin), str(end)] == MONTHS[month : month + 2]


def test_threads_that_race_for_one_ledger_draw_one_period(tmp_path: Path) -> None:
    def draw(_: int) -> tuple[date, date] | None:
        return client(Ledger(tmp_path / "me.json")).period()

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(draw, range(40)))) == 1


def test_a_refusal_keeps_the_period_that_was_drawn(tmp_path: Path, on) -> None:
    on("2026-10-31")
    drawn = set()
    for _ in range(30):
        with pytest.raises(RefusedError) as caught:
            client(Ledger(tmp_path / "me.json")).report(RECORD, labels={"region": "north"})
        drawn.add(str(caught.value))
    assert len(drawn) == 1, "nobody draws until they like it"
    assert Ledger(tmp_path / "me.json").entries() == {}


@pytest.mark.parametrize(
    ("day", "reason"),
    [
        ("2026-11-30", "early"),
        ("2026-12-01", None),
        ("2026-12-31", None),
        ("2027-01-01", "over"),
        ("2030-01-01", "over"),
    ],
)
def test_a_device_answers_in_its_period_and_in_no_other(day: str, reason: str | None, on) -> None:
    on(day)
    one = client(in_period(1))
    if reason is None:
        one.check_period()
        report = one.report(RECORD, labels={"region": "north"})
        assert report.labels == {"region": "north", "period": "2026-12-01"}
        return
    for ask in (one.check_period, lambda: one.report(RECORD, labels={"region": "north"})):
        with pytest.raises(RefusedError) as caught:
            ask()
        assert caught.value.reason == reason
        assert "2026-12-01" in str(caught.value)
    assert one.ledger.entries() == {}


def test_what_was_answered_in_its_period_is_given_again_later(on) -> None:
    ledger = in_period(0)
    on("2026-11-15")
    first = client(ledger).report(RECORD, labels={"region": "north"})
    on("2031-01-01")
    assert client(ledger).report(RECORD) == first


def test_today_is_the_day_of_utc() -> None:
    before = datetime.now(UTC).date()
    assert before <= client_module.today() <= datetime.now(UTC).date()


def uniformity(months: list[str]) -> float:
    """Return how often fair draws stray from all periods alike as far as these."""
    counts = Counter(months)
    return float(stats.chisquare([counts[month] for month in MONTHS[:-1]]).pvalue)


@pytest.mark.slow
def test_all_periods_are_drawn_alike_even_those_that_are_over_and_whatever_the_record(on) -> None:
    on("2027-01-15")
    source = Key.seeded("periods").stream()
    drawn: dict[bool, list[str]] = {}
    for held in (False, True):
        for _ in range(1_500):
            one = client()
            with contextlib.suppress(RefusedError):  # in two of three cases, because it is over
                one.report({"a": held, "b": held}, labels={"region": "north"}, source=source)
            drawn.setdefault(held, []).append(str(one.period()[0]))
    for months in drawn.values():
        assert uniformity(months) > FALSE_ALARM
    to_come = [month for month in drawn[True] if month >= "2026-12-01"]
    assert uniformity(to_come) < FALSE_ALARM, "drawing only periods to come would be found"
    table = [[Counter(drawn[held])[month] for month in MONTHS[:-1]] for held in (False, True)]
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM


def test_a_period_that_the_survey_does_not_have_is_refused(tmp_path: Path) -> None:
    (tmp_path / "me.json").write_text(
        json.dumps({"deniable": "ledger", "surveys": {}, "periods": {MONTHLY.id: "2020-01-01"}})
    )
    with pytest.raises(RefusedError, match="does not have") as caught:
        client(Ledger(tmp_path / "me.json")).period()
    assert caught.value.reason == "ledger"


@pytest.mark.parametrize("periods", [{"x": 5}, {"x": None}, 7, "2026"])
def test_a_ledger_with_other_periods_is_none(periods: object, tmp_path: Path) -> None:
    text = json.dumps({"deniable": "ledger", "surveys": {}, "periods": periods})
    (tmp_path / "me.json").write_text(text)
    with pytest.raises(RefusedError, match="cannot be read"):
        Ledger(tmp_path / "me.json").entries()
    assert (tmp_path / "me.json").read_text() == text


def test_a_ledger_keeps_periods_beside_all_else(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "me.json")
    ledger.period("x", lambda: "2026-11-01")
    token = ledger.token("y")
    client(ledger, survey()).report(RECORD)
    again = Ledger(tmp_path / "me.json")
    assert again.period("x", lambda: "2027-01-01") == "2026-11-01"
    assert again.token("y") == token
    assert isinstance(again.entries()[survey().id].report, Report)
