"""Does what was counted look like what people who follow the protocol would send?

Three questions to a tally and the survey's design. *Slots*: are they used as often as designed? Only
more uneven than chance alarms: assigned slots are more even on purpose. *Answers*: whatever the people's
records are, a value's probability lies between its smallest and its largest over all records, so its
share may not lie beyond both by more than chance. *Coefficients*: do estimates lie beyond ±1 by more
than noise? An alarm says that some reports were not drawn as the survey says; silence is no proof.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from deniable.collector.odds import FALSE_ALARM, answers_p_value, slots_p_value
from deniable.collector.tally import TallyCounts
from deniable.decoding.decoder import decoder_of


@dataclass(frozen=True)
class Check:
    """One question to a tally, and its answer."""

    name: str
    alarm: bool
    p_value: float | None
    """How rarely honest people would look so odd; None where it was not computed."""
    sentence: str


@dataclass(frozen=True)
class Integrity:
    """What the monitor sees."""

    people: int
    checks: tuple[Check, ...]

    @property
    def alarm(self) -> bool:
        """Tell whether any check alarms."""
        return any(check.alarm for check in self.checks)

    @property
    def summary(self) -> dict[str, Any]:
        """Return it in short."""
        return {"alarm": self.alarm, "alarms": [c.name for c in self.checks if c.alarm]}

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        checks = [asdict(check) for check in self.checks]
        return {"people": self.people, "alarm": self.alarm, "checks": checks}


def inspect(tally: TallyCounts, plausible: bool | None = None) -> Integrity:
    """Return what a tally tells about the honesty of its reports.

    ``plausible`` is what a release's evidence says of its coefficients, where one was made already.
    """
    if not tally.people:
        return Integrity(0, ())
    checks = [_slots(tally), _answers(tally)]
    if plausible is None:
        estimates = decoder_of(tally.survey).decode(tally.slot, tally.value, tally.count)
        plausible = estimates.plausible
    verdict = "within" if plausible else "beyond"
    checks.append(
        Check(
            "coefficients",
            not plausible,
            None,
            f"Estimates lie {verdict} what people can have, given the noise.",
        )
    )
    return Integrity(tally.people, tuple(checks))


def _slots(tally: TallyCounts) -> Check:
    name, p_value = "slots", slots_p_value(tally)
    if p_value is None:
        return Check(name, False, None, "There are too few reports to tell how slots are used.")
    alarm = p_value < FALSE_ALARM
    verdict = "more unevenly than chance explains" if alarm else "as the survey says"
    return Check(name, alarm, p_value, f"Slots are used {verdict}.")


def _answers(tally: TallyCounts) -> Check:
    p_value = answers_p_value(tally)
    alarm = p_value < FALSE_ALARM
    verdict = "beyond" if alarm else "within"
    return Check(
        "answers", alarm, p_value, f"Answers lie {verdict} what the survey's odds can produce."
    )
