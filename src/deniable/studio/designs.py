"""What a design would show, at once and in words: sliders, warnings, and what would mend them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import Any

from deniable.errors import SurveyError
from deniable.mechanisms.registry import MECHANISMS, mechanism_named
from deniable.planning.aim import Aim
from deniable.planning.fitting import surveys_that_fit
from deniable.planning.needs import Dependence, Need, Share
from deniable.planning.numbers import Population
from deniable.planning.reading import detectable_v, share_points
from deniable.planning.sizing import Sizing
from deniable.questions.question import odds
from deniable.schema.schema import Schema
from deniable.studio.deeds import command
from deniable.studio.drafts import FILE
from deniable.survey.frozen import FrozenSurvey

NOISE, STRONG_ONLY = 0.5, 0.3
"""Cramér's V: what is only found above the first is noise to most readers, above the second strong."""

WIDE = 10.0
"""Half an interval, in points, beyond which a share tells little."""

HOPELESS = 25.0
"""... and beyond which it tells nothing: of a half, a quarter to three quarters are read."""

LIMIT = 2.0
"""The largest ε that people's devices accept by default."""

SHARE, ASSOCIATION = 5.0, 0.1
"""What people needed are told for: shares to ± 5 points, and a weak association."""

MOST_TABLES = 3
"""The pairs that the page lets an operator name; a file may name more."""


@dataclass(frozen=True)
class Design:
    """How answers would be protected, and what the survey would be good at."""

    schema: Schema
    order: int
    epsilon: float
    people: int
    aim: str
    tables: tuple[tuple[tuple[str, ...], float], ...] = ()
    mechanism: str = "auto"
    prior: float | None = None

    @classmethod
    def of(cls, schema: Schema, form: Mapping[str, Any]) -> Design:
        """Read a questionnaire's design; what it does not say is as `Survey` has it."""
        return cls(
            schema,
            min(int(form.get("order", 2)), len(schema)),
            float(form.get("epsilon", 1.1)),
            int(form.get("people", 100_000)),
            str(form.get("aim", "tables")),
            tuple(
                (tuple(each["attributes"]), float(each.get("weight", 1)))
                for each in form.get("tables", ())
            ),
            str(form.get("mechanism", "auto")),
            form.get("prior"),
        )

    @property
    def goal(self) -> Aim:
        """Return what the design is for."""
        workload = dict(self.tables) or None
        own: dict[str, Any] = {"goal": self.aim, "people": self.people, "prior": self.prior}
        return Aim.of(self.schema, self.order, workload, **own)


@lru_cache(maxsize=64)
def survey_of(design: Design) -> FrozenSurvey:
    """Return the survey that a design would be, without its texts."""
    name = design.mechanism
    kinds = MECHANISMS if name == "auto" else {name: mechanism_named(name)}
    surveys, _ = surveys_that_fit(design.schema, design.order, design.epsilon, design.goal, kinds)
    return surveys[0]


@lru_cache(maxsize=256)
def forecast(design: Design) -> dict[str, Any]:
    """Return what the result will look like, and warnings."""
    survey, goal = survey_of(design), design.goal
    share = share_points(survey, design.people, goal)
    strength = detectable_v(survey, design.people, goal) if design.order > 1 else None
    single = share
    if design.order > 1:
        alone = Design(design.schema, 1, design.epsilon, design.people, "tables")
        single = share_points(survey_of(alone), design.people, alone.goal)
    return {
        "mechanism": survey.mechanism,
        "share_points": _finite(share),
        "detectable_v": _finite(strength),
        "single_share_points": _finite(single),
        "suspicion": odds(survey_ratio(survey)),
        "warnings": _warnings(design, share, strength, single),
    }


def survey_ratio(survey: FrozenSurvey) -> Any:
    """Return the largest ratio by which a report can speak for one record over another."""
    return max(family.answer.ratio for family in survey.families)


def needs(design: Design) -> dict[str, Any]:
    """Return how many people it takes for a share, and for a weak association."""
    kind = mechanism_named(survey_of(design).mechanism)
    population = Population(design.schema, None)
    sizing = Sizing(kind, design.schema, design.order, design.epsilon, design.goal, population)

    def people(need: Need) -> int | None:
        try:
            return sizing.people(need)
        except SurveyError:
            return None

    pairs = people(Dependence(ASSOCIATION)) if design.order > 1 else None
    return {"share": people(Share(SHARE)), "association": pairs}


def planning_command(design: Design) -> str:
    """Return the command that says the same of the questionnaire's file, with people for it."""
    finding = ["--detect", f"v={ASSOCIATION:g}"] if design.order > 1 else []
    # A plan without people would be for as many as it takes.
    return command("plan", FILE, "--people", str(design.people), "--share", f"{SHARE:g}", *finding)


def _finite(number: float | None) -> float | None:
    return number if number is not None and isfinite(number) else None


def _warnings(
    design: Design, share: float | None, strength: float | None, single: float | None
) -> list[dict[str, Any]]:
    """Return what an operator should know before anybody is asked, with what would help."""
    crowd = f"With {design.people:,} people"
    warnings: list[dict[str, Any]] = []
    if strength is not None and (not isfinite(strength) or strength > STRONG_ONLY):
        warnings.append(_pairs_warning(design, crowd, strength, single))
    elif share is not None and share > WIDE:
        warnings.append(
            {
                "id": "shares",
                "text": f"{crowd}, a share is told to ± {share:.0f} points only: of 30 % you would "
                f"read {max(0, 30 - share):.0f} to {min(100, 30 + share):.0f} %. More people, fewer "
                "questions, or a larger ε make it narrower.",
                "remedies": _epsilon_remedy(design),
            }
        )
    if design.epsilon > LIMIT:
        warnings.append(
            {
                "id": "limit",
                "text": f"People's devices refuse an ε above {LIMIT:g} by default, so nobody could "
                "answer on the page.",
                "remedies": [{"label": f"Set ε to {LIMIT:g}", "change": {"epsilon": LIMIT}}],
            }
        )
    if design.order >= 3:
        warnings.append(
            {
                "id": "order",
                "text": "Tables of three are rarely needed: tables of two, read with a model, are "
                "mostly closer to the truth, and every report says more about what is in them.",
                "remedies": [{"label": "Take tables of two", "change": {"order": 2}}],
            }
        )
    return warnings


def _pairs_warning(
    design: Design, crowd: str, strength: float, single: float | None
) -> dict[str, Any]:
    """Say that pairs will be noise, or tell strong associations only."""
    alone = "" if single is None or not isfinite(single) else f" (shares to ± {single:.0f} points)"
    remedies: list[dict[str, Any]] = [
        {"label": f"Ask about single questions{alone}", "change": {"order": 1, "tables": []}}
    ]
    is_hopeless = single is not None and single > HOPELESS
    if is_hopeless:
        text = f"{crowd}, pairs will be noise, and single questions hardly better: ask far fewer "
        text += "questions, or have more people"
    elif strength > NOISE or not isfinite(strength):
        text = f"{crowd}, pairs will be noise: ask about single questions"
    else:
        text = (
            f"{crowd}, only strong associations show (V above {strength:.2f}): to see weaker ones"
        )
        text += ", have more people"
    if len(design.schema) > 2 and not design.tables and not is_hopeless:
        text += ", or name the three pairs that matter"
        remedies.append({"label": "Name the pairs that matter", "change": {"tables": "choose"}})
    return {"id": "pairs", "text": f"{text}.", "remedies": [*remedies, *_epsilon_remedy(design)]}


def _epsilon_remedy(design: Design) -> list[dict[str, Any]]:
    if design.epsilon >= LIMIT:
        return []
    label = f"Protect less: ε = {LIMIT:g}"
    return [{"label": label, "change": {"epsilon": LIMIT}, "costs_privacy": True}]
