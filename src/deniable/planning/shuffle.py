"""What shuffling adds: the ε of reports that somebody independent mixes before anybody reads them.

A shuffled report hides in a crowd. The slot is part of what is mixed only where a device draws it: then
all people are one crowd. Where slots are assigned, whoever assigned them knows who got which, so the
crowd of a person is the people with the same slot, and the smallest crowd counts. What a crowd hides is
computed in `deniable.planning.accountant`: exactly for randomized response about one slot, and bounded
from above for other answers and for slots that are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.errors import SurveyError
from deniable.messages.modes import Slots
from deniable.planning.accountant import Tokens, hidden
from deniable.questions.answers import Answer, Subset
from deniable.release.pooled import PooledTables
from deniable.survey.frozen import FrozenSurvey

if TYPE_CHECKING:
    from deniable.collector.tally import TallyCounts
    from deniable.release.release import ReleasedTables

DELTA = 1e-9
"""The δ of mixed reports where nobody says another one."""

SOMEBODY = "somebody"

SLOTS: tuple[Slots, ...] = ("drawn", "assigned")
"""Who chooses a person's slot: the device, or the collector."""


@dataclass(frozen=True)
class Shuffling:
    """What holds if ``shuffler`` mixes the reports: a person hides among ``crowd`` people.

    ``epsilon`` is that of the shuffled reports, with ``delta``: that of one report where the crowd is
    too small to hide anybody.
    """

    shuffler: str
    delta: float
    slots: str
    crowd: int
    epsilon: float


def shuffle(
    survey: FrozenSurvey, people: int, shuffler: str, delta: float, slots: str
) -> Shuffling:
    """Return what shuffling would add to the reports of so many people.

    Assigned slots are taken to be handed out evenly, as often as the survey would draw them.
    """
    check_shuffling(shuffler, delta, slots)
    chances = [survey.index.chances(at).min() for at in range(len(survey.templates))]
    # Shares are floats: 36 people on 36 slots are one each. Where there are fewer, some slots have one.
    crowds = [max(1, int(round(people * float(chance), 6))) for chance in chances]
    return _shuffling(survey, people, crowds, shuffler, delta, slots)


def shuffled_tally(tally: TallyCounts, shuffler: str, delta: float, slots: str) -> Shuffling:
    """Return what shuffling adds to the reports of a tally: the slots that occur count."""
    check_shuffling(shuffler, delta, slots)
    survey, (own, counts) = tally.survey, tally.people_by_slot()
    template = np.searchsorted(survey.index.starts, own, side="right") - 1
    crowds = [
        int(counts[template == at].min()) if (template == at).any() else None
        for at in range(len(survey.templates))
    ]
    return _shuffling(survey, tally.people, crowds, shuffler, delta, slots)


@dataclass(frozen=True)
class ReleaseShuffling(Shuffling):
    """What mixing the reports behind a release would give, beside the ε of one report by itself."""

    local_epsilon: float

    @property
    def sentence(self) -> str:
        """Return what it means, and what it does not, in words."""
        who = self.shuffler or "somebody independent of the collector"
        own = f"ε = {self.local_epsilon:g}"
        if self.slots == SLOTS[0]:
            crowd = f"devices drew their own slots, so each hides among all {self.crowd:,} people"
        else:
            crowd = (
                "slots were assigned, so a person hides only among those with the same slot, and the "
                f"smallest one has {self.crowd:,} {'person' if self.crowd == 1 else 'people'}"
            )
        if self.epsilon >= self.local_epsilon:
            return (
                f"If {who} mixed the reports, {own} would hold as before: {crowd}, too few to hide."
            )
        return (
            f"If {who} mixed the reports, whoever sees only the mixed ones would learn ε = "
            f"{_rounded_up(self.epsilon)} of a person (δ = {self.delta:g}) in place of {own}: {crowd}."
        )

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, with the sentence."""
        return {**asdict(self), "sentence": self.sentence}


UNMIXED = (
    "A collector that gets each report with its ticket has nothing mixed for it, so towards it the ε of "
    "one report holds, whatever a crowd would hide. A shuffler that works with the collector adds "
    "nothing."
)
"""What must be said beside what mixing would give."""


def _rounded_up(epsilon: float) -> str:
    """Return three digits of a number, never less than it."""
    exact = Decimal(epsilon)
    step = Decimal(1).scaleb(exact.adjusted() - 2)
    return f"{exact.quantize(step, ROUND_CEILING):f}"


def shuffled_release(
    release: ReleasedTables, delta: float = DELTA, slots: str = SLOTS[1], shuffler: str = ""
) -> ReleaseShuffling:
    """Return what holds for the least hidden of the people behind a release, if reports were mixed.

    Whose reports are told apart by a group or a survey hide among those of the same one.
    """
    tallies = release.parts if isinstance(release, PooledTables) else release.tallies
    every = [
        (shuffled_tally(tally, shuffler or SOMEBODY, delta, slots), tally.survey.epsilon)
        for tally in tallies
    ]
    worst, local = max(every, key=lambda each: (each[0].epsilon, -each[0].crowd))
    return ReleaseShuffling(shuffler.strip(), worst.delta, slots, worst.crowd, worst.epsilon, local)


def _shuffling(
    survey: FrozenSurvey,
    people: int,
    crowds: Sequence[int | None],
    shuffler: str,
    delta: float,
    slots: str,
) -> Shuffling:
    """Return what holds for all people, or for those of the smallest crowd of each template."""
    epsilon, delta = survey.epsilon, float(delta)
    if slots == SLOTS[0] and survey.slots > 1:
        central = hidden(epsilon, people, delta, Tokens.of_any(epsilon))
        return Shuffling(shuffler.strip(), delta, slots, people, central)
    least: dict[Answer, int] = {}
    for template, own in zip(survey.templates, crowds, strict=True):
        if own is not None:
            least[template.answer] = min(own, least.get(template.answer, own))
    central = max(_hidden_by(answer, epsilon, own, delta) for answer, own in least.items())
    return Shuffling(shuffler.strip(), delta, slots, min(least.values()), central)


def _hidden_by(answer: Answer, epsilon: float, crowd: int, delta: float) -> float:
    """Return the ε of reports to one slot: of all bounds that hold for such an answer, the smallest."""
    if isinstance(answer, Subset) and (answer.symbols, answer.chosen) == (2, 1):
        return hidden(epsilon, crowd, delta, None)
    bounds = [Tokens.of_any(epsilon)]
    if isinstance(answer, Subset) and answer.chosen == 1:
        bounds.append(Tokens.of_symbol(epsilon, answer.symbols))
    return min(hidden(epsilon, crowd, delta, tokens) for tokens in bounds)


def check_shuffling(shuffler: str | None, delta: float, slots: str) -> None:
    """Refuse a shuffler without a name, and a way of shuffling that is none."""
    if isinstance(delta, bool) or not isinstance(delta, int | float) or not 0 < delta < 1:
        raise SurveyError(f"delta must lie between 0 and 1, got {delta!r}.")
    if slots not in SLOTS:
        raise SurveyError(f"slots must be {' or '.join(SLOTS)}, got {slots!r}.")
    if shuffler is not None and not (isinstance(shuffler, str) and shuffler.strip()):
        raise SurveyError("A shuffler must have a name, that of whoever mixes the reports.")
