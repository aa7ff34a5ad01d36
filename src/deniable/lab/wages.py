"""The demo's second scene: numbers, of people's wages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from deniable.api.release import Release
from deniable.api.survey import Survey
from deniable.client.client import Client
from deniable.client.ledger import Ledger
from deniable.lab.datasets import declared_schema, load
from deniable.lab.simulate import Crowd, count_crowd
from deniable.questions.entropy import Key
from deniable.questions.question import Question
from deniable.release.numbers.estimates import Estimates
from deniable.schema.schema import Schema

PERSON = {"income": 21_500, "age": 41, "gender": "female", "schooling": "bachelor"}
"""Somebody made up, with a record like those of the respondents."""


@dataclass(frozen=True)
class Fact:
    """What is told of numbers, with its 95 % interval, beside the truth."""

    what: str
    estimate: float | None
    low: float | None
    high: float | None
    truth: float
    unit: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form: null for what cannot be told."""
        ends = {"estimate": self.estimate, "low": self.low, "high": self.high}
        return {"what": self.what, **ends, "truth": self.truth, "unit": self.unit}


@dataclass(frozen=True)
class Wages:
    """All that the scene shows."""

    survey: Survey
    respondents: int
    question: Question
    facts: tuple[Fact, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "survey": self.survey.id,
            "respondents": self.respondents,
            "question": self.question.to_json() | {"english": self.question.english()},
            "facts": [fact.to_json() for fact in self.facts],
        }


def run_wages(people: int, epsilon: float) -> Wages:
    """Ask ``people``, drawn with replacement, about their wages; randomness is fresh."""
    schema, frame = declared_schema("wages", [*PERSON]), load("wages", [*PERSON])
    assert schema is not None
    survey, key = Survey(schema, order=2, epsilon=epsilon, people=people), Key.fresh()
    crowd = Crowd(schema.encode_frame(frame), people, key)
    release = count_crowd(survey, crowd, key).release()
    facts = tuple(_facts(release, _Truth(schema, crowd)))
    client = Client(survey, ledger=Ledger.in_memory(), limit=epsilon, lifetime_limit=epsilon)
    return Wages(survey, len(frame), survey.question(client.report(PERSON).slot), facts)


class _Truth:
    """What is true of a crowd, in which people may occur several times."""

    def __init__(self, schema: Schema, crowd: Crowd) -> None:
        levels = {a.name: schema.codes(crowd.records, i) for i, a in enumerate(schema.attributes)}
        self._numbers = {
            a.name: a.numbers[levels[a.name]] for a in schema.attributes if a.is_ordered
        }
        self._is_man = levels["gender"] == 1
        self._people = crowd.multiplicity

    def mean(self, is_man: bool | None = None) -> float:
        own = np.ones(len(self._people)) if is_man is None else self._is_man == is_man
        weights: NDArray[Any] = self._people * own
        return float(np.average(self._numbers["income"], weights=weights)) if weights.any() else 0.0

    def median(self) -> float:
        return float(pd.Series(np.repeat(self._numbers["income"], self._people)).median())

    def correlation(self, other: str) -> float:
        pair = np.cov(self._numbers["income"], self._numbers[other], fweights=self._people, ddof=0)
        scale = np.sqrt(pair[0, 0] * pair[1, 1])
        return float(pair[0, 1] / scale) if scale else 0.0


def _facts(release: Release, truth: _Truth) -> list[Fact]:
    mean, by = release.mean("income"), release.mean("income", by="gender")
    women, men = truth.mean(False), truth.mean(True)
    unit = mean.unit
    facts = [_fact("mean income", mean.estimate, mean.low, mean.high, truth.mean(), unit)]
    for row, (name, own) in enumerate({"women": women, "men": men}.items()):
        ends = by.estimate[row], by.low[row], by.high[row]
        facts.append(_fact(f"mean income of {name}", *ends, own, unit))
    gap = by.differences().iloc[0]
    ends = -gap["estimate"], -gap["high"], -gap["low"]
    facts.append(_fact("men's above women's", *ends, men - women, unit))
    facts.append(_fact("median income", *_median(release, mean), truth.median(), unit))
    for name in ("schooling", "age"):
        bond = release.correlation(name, "income")
        ends = bond.estimate, bond.low, bond.high
        facts.append(_fact(f"correlation of {name} and income", *ends, truth.correlation(name)))
    return facts


def _median(release: Release, mean: Estimates) -> tuple[float, float, float]:
    """Return the median and its interval; not numbers where the mean may be anything, too."""
    if (mean.low, mean.high) == mean.bounds:
        return np.nan, np.nan, np.nan
    median = release.quantile("income", 0.5)
    return median.estimate, median.low, median.high


def _fact(
    what: str, estimate: float, low: float, high: float, truth: float, unit: str | None = None
) -> Fact:
    return Fact(what, _finite(estimate), _finite(low), _finite(high), truth, unit)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
