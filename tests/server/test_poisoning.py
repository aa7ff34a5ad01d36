"""How far one liar in a hundred pushes a coefficient: assigned slots against drawn ones.

The liars do all they can without breaking the key: they ask again and again, keep every ticket they
are given, come back when tickets have expired, send contradicting answers, and say whatever shifts
the coefficient that they aim at. The collector is the real one, without HTTP.
"""

from __future__ import annotations

import json
from dataclasses import replace
from math import log

import numpy as np
import pytest
from server_parts import fixed_seal, taken

from deniable import Schema, Survey
from deniable.messages.ticket import Ticket
from deniable.questions.entropy import Key
from deniable.server.intake import Intake
from deniable.server.serve import Rules, prepare
from deniable.server.slots import Assignment
from deniable.server.stores import open_store
from deniable.server.tickets import LIFE
from deniable.server.work import Enrolment

PEOPLE, SHARE, REQUESTS = 40_000, 0.01, 40
ATTRIBUTES, ORDER, EPSILON = 8, 2, log(3)
TARGET = {"a0", "a1"}
LIE = 0
"""That the parity is even: it pushes estimates up."""


def survey():
    return Survey(Schema.binary(*(f"a{i}" for i in range(ATTRIBUTES))), ORDER, EPSILON, "InpHT")


def target_slot(chosen):
    """The slot of the coefficient that the liars aim at."""
    every = range(chosen.slots)
    return next(slot for slot in every if set(chosen.question(slot).attributes) == TARGET)


class Attack:
    """A collector with issued ids, honest people, and liars."""

    def __init__(self, url, kind=Assignment, slots="assigned"):
        self.chosen = survey()
        self.store = open_store(url)
        issued = None if slots == "drawn" else "issued"
        prepare(self.store, [self.chosen], Rules(slots, issued))
        self.held = self.store.surveys()[0]
        self.hour = 500_000
        # How people spread over slots is chance, but known.
        self.held = replace(self.held, assignment=kind(bytes(range(32))))
        self.seal = fixed_seal()
        self.intake = Intake(self.seal, [self.held], lambda: self.hour)
        self.target = target_slot(self.chosen)
        self.liars = int(PEOPLE * SHARE)

    def asked(self, serial):
        """What POST /v1/questions does: a ticket, unless the answer is counted."""
        done = self.store.commit([Enrolment(self.held, serial)])[0]
        if done.is_answered:
            return None
        slot = self.held.slot(serial)
        expiry = self.seal.expiry(serial, self.hour)
        prefix = bytes.fromhex(self.chosen.id)[:8]
        return slot, self.seal.ticket(Ticket(prefix, serial, slot, expiry))

    def send(self, forms):
        for start in range(0, len(forms), 5000):
            body = json.dumps(forms[start : start + 5000]).encode()
            self.store.commit([taken(self.intake, body)])

    def run(self):
        """Return the tally of all, and that of the honest alone."""
        self.store.issue(PEOPLE)
        liars, rest = range(self.liars), range(self.liars, PEOPLE)
        for serial in liars:
            self.asked(serial)
        self.hour += 2 * LIFE  # those tickets have expired: perhaps the next ones are better
        hoard = {serial: {} for serial in liars}
        for turn in range(REQUESTS):
            for serial in liars:
                slot, ticket = self.asked(serial)
                hoard[serial][slot] = ticket
            self.hour += turn % 2  # less than the day for which all of them stay good
        tickets = [self.asked(serial) for serial in rest]
        values = np.random.default_rng(1).integers(2, size=len(rest)).tolist()
        self.send([{"ticket": t, "value": v} for (_, t), v in zip(tickets, values, strict=True)])
        honest = self.store.tally(self.held)
        forms = []
        for held in hoard.values():  # the target first, then the rest, then the opposite
            order = sorted(held, key=lambda slot: slot != self.target)
            forms += [{"ticket": held[slot], "value": LIE} for slot in order]
            forms += [{"ticket": held[slot], "value": 1 - LIE} for slot in order]
        self.send(forms)
        assert all(self.asked(serial) is None for serial in liars)
        return self.store.tally(self.held), honest


class Shopping(Assignment):
    """The planted bug: a slot is drawn anew at each request."""

    def __init__(self, key):
        super().__init__(key)
        self._stream = Key.seeded("shopping").stream("slots")

    def slot(self, mechanism, participant):
        return mechanism.draw_slot(self._stream)


def bound(chosen):
    """β(s_max + 1)."""
    answer = chosen.templates[0].answer
    return SHARE * (answer.reach / float(answer.inclusion.contrast) + 1)


def coefficients(chosen, tally):
    """The estimate of each slot's coefficient; InpHT asks for one each."""
    table = np.zeros((chosen.slots, 2))
    table[tally.slot, tally.value] = tally.count
    contrast = float(chosen.templates[0].answer.inclusion.contrast)
    return (table[:, 0] - table[:, 1]) / table.sum(axis=1) / contrast


def shifts(attack, tally, honest):
    """How far the liars moved each coefficient, in units of the bound and what chance adds to it.

    How many liars fall on a slot is chance; five of its standard errors are allowed for.
    """
    moved = coefficients(attack.chosen, tally) - coefficients(attack.chosen, honest)
    most = bound(attack.chosen)
    chance = most / SHARE * np.sqrt(SHARE * attack.chosen.slots / PEOPLE)
    return np.abs(moved) / (most + 5 * chance), moved


def test_assigned_slots_bound_what_liars_do(tmp_path):
    attack = Attack(f"sqlite:///{tmp_path / 's.db'}")
    tally, honest = attack.run()
    attack.store.close()
    assert tally.people == PEOPLE  # everybody counts once
    relative, moved = shifts(attack, tally, honest)
    assert relative.max() < 1
    assert moved.mean() < bound(attack.chosen)  # over all coefficients, chance evens out
    used = tally.people_by_slot()[1]
    assert np.ptp(used) < 30  # of 1,111 people each: balanced


def test_slots_drawn_at_each_request_are_caught(tmp_path):
    """The same test with the planted bug: liars shop for the slot, and the bound breaks."""
    attack = Attack(f"sqlite:///{tmp_path / 's.db'}", Shopping)
    tally, honest = attack.run()
    attack.store.close()
    assert tally.people == PEOPLE
    relative, moved = shifts(attack, tally, honest)
    assert relative.argmax() == attack.target
    assert relative.max() > 3
    assert moved[attack.target] > 0.25


def test_drawn_slots_have_no_bound(tmp_path):
    """The same share of liars, who now name the slot: theory says .53 at d=8, k=2, ε=ln 3."""
    attack = Attack(f"sqlite:///{tmp_path / 's.db'}", slots="drawn")
    rng = np.random.default_rng(2)
    people = PEOPLE - attack.liars
    slots, values = rng.integers(attack.chosen.slots, size=people), rng.integers(2, size=people)
    drawn = zip(slots.tolist(), values.tolist(), strict=True)
    attack.send([{"slot": slot, "value": value} for slot, value in drawn])
    honest = attack.store.tally(attack.held)
    attack.send([{"slot": attack.target, "value": LIE}] * attack.liars)
    tally = attack.store.tally(attack.held)
    attack.store.close()
    relative, moved = shifts(attack, tally, honest)
    # βC/(1/T + β), and the standard error of the honest estimate that it is measured from.
    assert moved[attack.target] == pytest.approx(0.53, abs=0.05)
    assert relative.max() > 5
