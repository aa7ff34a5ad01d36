"""The collector's key: ids and tickets that nobody else can make, slots that nobody can choose."""

from __future__ import annotations

import base64
import json
from hashlib import blake2b
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from deniable import Schema, Survey
from deniable.messages.ticket import Ticket
from deniable.messages.token import OPEN, hashed_slot, hashed_text
from deniable.questions.entropy import HashedSource
from deniable.server import slots as slots_module
from deniable.server.digests import digest_of
from deniable.server.slots import BLOCK, FEW, Assignment, hashed_slots
from deniable.server.tickets import GRACE, LIFE, Seal

VECTORS = Path(__file__).parents[1] / "vectors"
SECRET = bytes(range(32))
SEAL, OTHER = (Seal(key, {0: key}, {0: key}) for key in (SECRET, bytes(32)))
KEY, OTHER_KEY = Assignment(SECRET), Assignment(bytes(32))


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
    st.just(0),
)


@given(tickets)
def test_a_ticket_is_read_as_it_was_written(ticket):
    text = SEAL.ticket(ticket)
    assert len(text) == 60
    assert SEAL.read(text) == ticket
    assert OTHER.read(text) == "ticket-invalid"


@given(tickets, st.integers(0, 59), st.characters(codec="ascii"))
def test_a_changed_ticket_is_none(ticket, place, letter):
    text = SEAL.ticket(ticket)
    changed = text[:place] + letter + text[place + 1 :]
    assert (SEAL.read(changed) == ticket) is (changed == text)


@given(st.integers(0, OPEN - 1), st.integers(0, 31), st.characters(codec="ascii"))
def test_a_changed_id_is_none(serial, place, letter):
    text = SEAL.issue(serial)
    assert SEAL.participant(text) == serial
    assert OTHER.participant(text) == "participant-unknown"
    changed = text[:place] + letter + text[place + 1 :]
    assert (SEAL.participant(changed) == serial) is (changed == text)


@given(st.text())
def test_any_text_is_read_or_not(text):
    assert SEAL.read(text) == "ticket-invalid"
    assert SEAL.participant(text) == "participant-unknown"


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
        assert SEAL.read_all([*texts, bad]).surveys[-1] == "ticket-invalid"
        assert SEAL.read_all([*texts, bad]).participants[:-1] == read.participants
        assert SEAL.participants([*ids, bad]) == [*range(count), "participant-unknown"]
    # Two that are wrong together: lengths that add up.
    assert (
        SEAL.participants([*ids, ids[0] + "AAAA", ids[1][:-4]])[-2:] == ["participant-unknown"] * 2
    )


def test_what_a_key_vouches_for_is_the_same_for_ever():
    """A collector that is replaced by a newer one knows the ids and tickets that are out there."""
    assert SEAL.issue(123_456_789) == "AAAAAAdbzRVxhWuSAAYCqEq8_mJ9Z9mR"
    text = "ATEyMzQ1Njc4AAAAAAAAAAUAAAAAAAAABwAHoSBrM-PYE9kY30xjRuKHIGOX"
    assert SEAL.ticket(Ticket(b"12345678", 5, 7, 500_000)) == text
    assert SEAL.digest("phase", b"text").hex() == "2b9b8ecc2f25b5e6a0946e86af9c6fb3"
    assert [SEAL.expiry(serial, 500_000) for serial in range(4)] == [500305, 500206, 500116, 500245]
    points = SimpleNamespace(slot_at=lambda point, bits: (point, bits))
    chosen = SimpleNamespace(id="f" * 64, index=points)
    assert KEY.slot(chosen, 0) == (0xF0907EEC0D7AD971B5A204F7A0CD1318, 128)
    assert KEY.slot(chosen, 1) == (0x33D381AF854529813B5435AE831C38B0, 128)
    assert KEY.slot(chosen, BLOCK) == (0x970904BD1DA3F66E83BC6D9179EE7AED, 128)


def test_keys_for_different_purposes_are_apart():
    assert SEAL.digest("a", b"bc") != SEAL.digest("ab", b"c")
    secret, text = bytes(range(32)), b"AAAA"
    plain = {blake2b(text, key=secret, digest_size=16).digest()}
    hashers = (SEAL._ids.hashers[0], SEAL._tickets.hashers[0], KEY._point)
    every = plain | {digest_of(each, text) for each in hashers} | {SEAL.digest("", text)}
    assert len(every) == 5
    assert {len(each) for each in every} == {16}


def test_many_are_read_together_and_not_one_by_one(monkeypatch):
    ids = [SEAL.issue(serial) for serial in range(FEW)]
    texts = [SEAL.ticket(Ticket(b"12345678", s, s, s)) for s in range(FEW)]
    slots = [hashed_slot(SURVEYS[1], each) for each in ids]
    for name in ("participant", "read"):
        monkeypatch.setattr(Seal, name, lambda *_: pytest.fail("one by one"))
    monkeypatch.setattr(slots_module, "hashed_slot", lambda *_: pytest.fail("one by one"))
    assert SEAL.participants(ids) == list(range(len(ids)))
    assert SEAL.read_all(texts).slots == list(range(len(ids)))
    assert hashed_slots(SURVEYS[1], ids) == slots


@pytest.mark.parametrize("count", [0, 40])
def test_what_is_sealed_but_cannot_be_is_refused_among_few_and_many(count):
    """Nobody is issued the serial of somebody without an id; a later version reads otherwise."""
    ids = [SEAL.issue(serial) for serial in range(count)]
    assert SEAL.participants([*ids, SEAL.issue(OPEN - 1)])[-1] == OPEN - 1
    assert SEAL.participants([*ids, SEAL.issue(OPEN)])[-1] == "participant-unknown"
    texts = [SEAL.ticket(Ticket(b"12345678", s, s, s)) for s in range(count)]
    later = b"\2" + Ticket(b"12345678", 5, 7, 9).sealed_bytes()[1:]
    seal = digest_of(SEAL._tickets.hashers[0], later)
    text = base64.urlsafe_b64encode(later + seal).decode()
    assert SEAL.read_all([*texts, text]).surveys[-1] == "ticket-invalid"


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


def test_only_ids_whose_draws_are_rejected_are_hashed_further(monkeypatch):
    """A block of hashes holds four words; the few that two blocks do not suffice for go one by one."""
    chosen, ids = SURVEYS[1], [SEAL.issue(serial) for serial in range(3000)]
    sources = {each: HashedSource(hashed_text(chosen.id, each)) for each in ids}
    slots = [chosen.draw_slot(source) for source in sources.values()]
    calls = []
    for name in ("_from_blocks", "hashed_slot"):
        function = getattr(slots_module, name)

        def noted(*inputs, function=function):
            calls.append(inputs[1:])
            return function(*inputs)

        monkeypatch.setattr(slots_module, name, noted)
    assert hashed_slots(chosen, ids) == slots
    second, further = (
        [each for each, source in sources.items() if source._count > words] for words in (4, 8)
    )
    assert calls == [(ids, 1), (second, 2), *((each,) for each in further)]
    assert len(ids) > len(second) > len(further) > 0


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
        slots = [KEY.slot(chosen, start + i) for i in range(BLOCK)]
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
    slots = np.array([KEY.slot(chosen, s) for s in range(4 * BLOCK)])
    other = np.array([OTHER_KEY.slot(chosen, s) for s in range(4 * BLOCK)])
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
    again = Assignment(SECRET)
    for serial in (0, 1, 4095, 4096, 10**9, OPEN, OPEN + 5):
        assert KEY.slot(chosen, serial) == again.slot(chosen, serial)


def test_tickets_live_two_weeks_and_a_day_and_do_not_all_expire_at_once():
    assert (LIFE, GRACE) == (14 * 24, 24)
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
