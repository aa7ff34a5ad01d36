"""What shuffling adds: the ε of reports that somebody independent mixes before anybody reads them.

A shuffled report hides in a crowd. With n people who each run the same ε-private randomizer, the
shuffled reports are (ε', δ)-private, for ε ≤ ln(n / (16·ln(4/δ))), with

    ε' = ln(1 + (e^ε − 1)/(e^ε + 1) · (8·√(e^ε·ln(4/δ)/n) + 8·e^ε/n)).

The slot is part of the randomizer only where a device draws it. Where slots are assigned, whoever
assigned them knows who got which, so the crowd of a person is the people with the same slot.

*Source.* Feldman, McMillan, Talwar, "Hiding Among the Clones", FOCS 2021, Theorem 3.1 (the condition
is there for ln(2/δ), which is weaker).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from math import inf, nextafter

from deniable.errors import SurveyError
from deniable.messages.modes import Slots
from deniable.survey.frozen import FrozenSurvey

SLOTS: tuple[Slots, ...] = ("drawn", "assigned")
"""Who chooses a person's slot: the device, or the collector."""

_UP = Decimal(1) + Decimal(10) ** -50
"""More than all rounding errors of the formula together."""


@dataclass(frozen=True)
class Shuffling:
    """What holds if ``shuffler`` mixes the reports: a person hides among ``crowd`` people.

    ``epsilon`` is that of the shuffled reports, with ``delta``; None where the crowd is too small
    for the theorem, so that only the local ε is known to hold.
    """

    shuffler: str
    delta: float
    slots: str
    crowd: int
    epsilon: float | None


def shuffled_epsilon(epsilon: float, crowd: int, delta: float) -> float | None:
    """Return the ε of a shuffled crowd's reports, rounded up; None where the crowd is too small.

    >>> from math import log
    >>> round(shuffled_epsilon(log(3), 2**18, 1e-9), 3)
    0.062
    """
    check_shuffling(None, delta, "drawn")
    with localcontext(prec=60):
        odds, people = Decimal(epsilon).exp(), Decimal(crowd)
        failures = (4 / Decimal(delta)).ln()
        if 16 * odds * failures * _UP > people:
            return None
        scale = 8 * (odds * failures / people).sqrt() + 8 * odds / people
        exact = (1 + (odds - 1) / (odds + 1) * scale).ln() * _UP
        nearest = float(exact)
        above = nearest if Decimal(nearest) >= exact else nextafter(nearest, inf)
    return min(float(epsilon), above)


def crowd(survey: FrozenSurvey, people: int, slots: str) -> int:
    """Return how many people a report hides among: all, or the fewest that share a slot.

    Assigned slots are taken to be handed out evenly, as often as the mechanism would draw them.
    """
    if slots == "drawn":
        return people
    rarest = min(survey.index.chances(index).min() for index in range(len(survey.templates)))
    return int(round(people * rarest, 6))  # shares are floats: 36 people on 36 slots are one each


def shuffle(
    survey: FrozenSurvey, people: int, shuffler: str, delta: float, slots: str
) -> Shuffling:
    """Return what shuffling adds to a mechanism's reports."""
    check_shuffling(shuffler, delta, slots)
    hidden_among = crowd(survey, people, slots)
    epsilon = shuffled_epsilon(survey.epsilon, hidden_among, delta)
    return Shuffling(shuffler.strip(), float(delta), slots, hidden_among, epsilon)


def check_shuffling(shuffler: str | None, delta: float, slots: str) -> None:
    """Refuse a shuffler without a name, and a way of shuffling that is none."""
    if isinstance(delta, bool) or not isinstance(delta, int | float) or not 0 < delta < 1:
        raise SurveyError(f"delta must lie between 0 and 1, got {delta!r}.")
    if slots not in SLOTS:
        raise SurveyError(f"slots must be {' or '.join(SLOTS)}, got {slots!r}.")
    if shuffler is not None and not (isinstance(shuffler, str) and shuffler.strip()):
        raise SurveyError("A shuffler must have a name, that of whoever mixes the reports.")
