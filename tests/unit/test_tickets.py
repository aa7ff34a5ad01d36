"""The collector's key: ids and tickets that nobody else can make, slots that nobody can choose."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from deniable import Schema, Survey
from deniable.messages.ticket import Ticket
from deniable.messages.token import OPEN, hashed_slot
from deniable.questions.entropy import HashedSource
from deniable.server.tickets import BLOCK, LIFE, Seal, hashed_slots

VECTORS = Path(__file__).parents[1] / "vectors"
SEAL = Seal(bytes(range(32)))
OTHER = Seal(bytes(32))


def survey(mechanism: str = "InpHT", attributes: int = 4) -> Survey:
    return Survey(Schema.binary(*(f"a{i}" for i in range(attributes))), 2, 1.1, mechanism)


SURVEYS = [
    survey("InpHT", 16),
    survey("MargPS", 5),
    Survey(Schema.binary(*(f"a{i}" for i in range(8))), 2, 1.1),
    Survey(Schema.of(a=["x", "y", "z"], b=[1, 2], c=[1, 2, 3, 4, 5]).completed(), 2, 1.1),
]
tickets = st.builds(
    Ticket,
    st.binary(min_size=8, max_size=8),
    st.integers(0, OPEN - 1) | st.integers(OPEN, 2 * OPEN - 1),
    st.integers(0, (1 << 63) - 1),
    st.integers(0, (1 << 32) - 1),
)


@given(tickets)
def test_a_ticket_is_read_as_it_was_written(ticket):
    text = SEAL.ticket(ticket)
    assert len(text) == 60
    assert SEAL.read(text) == ticket
    assert OTHER.read(text) is None


@given(tickets, st.integers(0, 59), st.characters(codec="ascii"))
def test_a_changed_ticket_is_none(ticket, place, letter):
    text = SEAL.ticket(ticket)
    changed = text[:place] + letter + text[place + 1 :]
    assert (SEAL.read(changed) == ticket) is (changed == text)


@given(st.integers(0, OPEN - 1), st.integers(0, 31), st.characters(codec="ascii"))
def test_a_changed_id_is_none(serial, place, letter):
    text = SEAL.issue(serial)
    assert SEAL.participant(text) == serial
    assert OTHER.participant(text) is None
    changed = text[:place] + letter + text[place + 1 :]
    assert (SEAL.participant(changed) == serial) is (changed == text)


@given(st.text())
def test_any_text_is_read_or_not(text):
    assert SEAL.read(text) is None
    assert SEAL.participant(text) is None


@pytest.mark.parametrize("count", [3, 40])
def test_many_are_read_as_one_by_one(count):
    ids = [SEAL.issue(serial) for serial in range(count)]
    assert SEAL.participants(ids) == list(range(count))
    made = [Ticket(b"12345678", s + OPEN * (s % 2), 7 * s, 500_000 + s) for s in range(count)]
    texts = [SEAL.ticket(ticket) for ticket in made]
    read = SEAL.read_all(texts)
    assert read.participants == [ticket.participant for ticket in made]
    assert read.slots == [ticket.slot for ticket in made]
    assert read.expiries == [ticket.expiry for ticket in made]
    assert set(read.surveys) == {int.from_bytes(b"12345678", "big")}
    for bad in ("", "x", "A" * 60, "A" * 32, "=" * 60, OTHER.ticket(made[1]), "é" * 60):
        assert SEAL.read_all([*texts, bad]).surveys[-1] is None
        assert SEAL.read_all([*texts, bad]).participants[:-1] == read.participants
        assert SEAL.participants([*ids, bad]) == [*range(count), None]
    # Two that are wrong together: lengths that add up.
    assert SEAL.participants([*ids, ids[0] + "AAAA", ids[1][:-4]])[-2:] == [None, None]


def test_hashed_slots_have_vectors():
    form = json.loads((VECTORS / "hashed.json").read_text("utf-8"))
    read = {}
    for name, text in form["surveys"].items():
        read[name] = Survey.from_json(json.dumps(text))
        assert read[name].id == name
    for row in form["slots"]:
        source = HashedSource(f"deniable.slot{row['survey']}{row['id']}".encode())
        assert [str(source.word()) for _ in row["words"]] == row["words"]
        assert hashed_slot(read[row["survey"]], row["id"]) == int(row["slot"])


@pytest.mark.parametrize("chosen", SURVEYS, ids=lambda s: f"{s.mechanism}{len(s.schema)}")
def test_hashed_slots_are_drawn_as_devices_draw_them(chosen):
    ids = [SEAL.issue(serial) for serial in range(3000)]
    slots = hashed_slots(chosen, ids)
    assert slots == [hashed_slot(chosen, each) for each in ids]
    assert 0 <= min(slots) <= max(slots) < chosen.slots


def expected(chosen):
    parts = [
        np.broadcast_to(chosen.index.chances(i), slots.count)
        for i, slots in enumerate(chosen.index.templates)
    ]
    return np.concatenate(parts)


@pytest.mark.parametrize("chosen", SURVEYS, ids=lambda s: f"{s.mechanism}{len(s.schema)}")
def test_assigned_slots_are_balanced(chosen):
    """Each block of serials uses each slot as often as it should, within two."""
    for start in (0, 5 * BLOCK, OPEN):
        slots = [SEAL.slot(chosen, start + i) for i in range(BLOCK)]
        used = np.bincount(slots, minlength=chosen.slots)
        assert np.abs(used - BLOCK * expected(chosen)).max() < 2
    independent = np.bincount(
        hashed_slots(chosen, [SEAL.issue(i) for i in range(BLOCK)]),
        minlength=chosen.slots,
    )
    assert np.abs(independent - BLOCK * expected(chosen)).max() > 2  # the test can tell


def test_assigned_slots_look_random_to_who_does_not_know_the_key():
    """Given the slots of a serial's neighbours, or of another survey, the next one is anybody's guess.

    Chi-square over pairs of neighbours; at 10⁻⁶ it fails by chance once in a million runs.
    """
    chosen = SURVEYS[1]
    slots = np.array([SEAL.slot(chosen, s) for s in range(4 * BLOCK)])
    other = np.array([OTHER.slot(chosen, s) for s in range(4 * BLOCK)])
    for first, second in ((slots[:-1], slots[1:]), (slots, other)):
        table = np.zeros((chosen.slots, chosen.slots))
        np.add.at(table, (first, second), 1)
        assert stats.chi2_contingency(table).pvalue > 1e-6
    sorted_slots = np.arange(4 * BLOCK) % chosen.slots  # planted: balanced, but in turn
    table = np.zeros((chosen.slots, chosen.slots))
    np.add.at(table, (sorted_slots[:-1], sorted_slots[1:]), 1)
    assert stats.chi2_contingency(table).pvalue < 1e-6


def test_a_slot_sticks():
    chosen = SURVEYS[0]
    again = Seal(bytes(range(32)))
    for serial in (0, 1, 4095, 4096, 10**9, OPEN, OPEN + 5):
        assert SEAL.slot(chosen, serial) == again.slot(chosen, serial)


def test_tickets_live_two_weeks_and_do_not_all_expire_at_once():
    hour = 500_000
    expiries = [SEAL.expiry(serial, hour) for serial in range(2000)]
    assert min(expiries) > hour
    assert max(expiries) <= hour + LIFE
    assert len(set(expiries)) == LIFE
    for serial in range(20):
        until = SEAL.expiry(serial, hour)
        assert {SEAL.expiry(serial, h) for h in range(hour, until)} == {until}
        assert SEAL.expiry(serial, until) == until + LIFE


def test_slots_at_points_of_the_line_have_their_chances():
    for chosen in SURVEYS:
        points = 1 << 14
        slots = [chosen.index.slot_at(i << 46 | 12345, 60) for i in range(points)]
        used = np.bincount(slots, minlength=chosen.slots) / points
        assert np.abs(used - expected(chosen)).max() < 2 / points
        assert slots == sorted(slots)
