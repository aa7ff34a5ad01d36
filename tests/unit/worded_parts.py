"""A survey in German and English about people who made it up, with words that try to be markup."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from deniable import Release, Survey, simulate
from deniable.questionnaire import Questionnaire, Texts

SCRIPT = "</script><script>globalThis.planted = 1</script><img src=x onerror='planted = 2'>"
LENGTHY = "Allgemeine Station mit gemischter Belegung und wechselnden Schichten, auch " * 3

FORM: dict[str, Any] = {
    "deniable": "questionnaire",
    "format": 1,
    "languages": ["de", "en", "ar"],
    "title": {"de": f"Arbeit {SCRIPT}", "en": "Work", "ar": "العمل"},
    "introduction": "Zehn Fragen.\n\nSie dauern nicht lange.",
    "who": {"de": "Institut für Beispiele", "en": "Institute of Examples"},
    "attributes": [
        {
            "name": "theft",
            "wording": {"de": f"Etwas mitgenommen? {SCRIPT}", "en": "Taken anything?"},
            "help": {"de": f"Auch Kleines. {SCRIPT}"},
            "values": [
                {"value": True, "label": {"de": "Ja", "en": "Yes", "ar": "نعم"}},
                {"value": False, "label": {"de": "Nein", "en": "No", "ar": "لا"}},
            ],
        },
        {
            "name": "ward",
            "wording": {"de": "Auf welcher Station?"},
            "values": [
                {"value": "icu", "label": {"de": f"=Intensiv {SCRIPT}", "en": "Intensive care"}},
                {"value": "general", "label": {"de": LENGTHY.strip()}},
                "other",
            ],
            "complete": True,
        },
        {
            "name": "hours",
            "wording": {"de": "Wie viele Stunden?", "en": "How many hours?"},
            "low": 0,
            "high": 80,
            "step": 1,
            "unit": {"de": "Stunden", "en": "hours"},
            "missing": "no answer",
            "label_missing": {"de": "keine Angabe", "en": "not said"},
        },
    ],
}


@cache
def questionnaire() -> Questionnaire:
    return Questionnaire.of(FORM)


def texts() -> Texts:
    return questionnaire().texts


def people(count: int) -> pd.DataFrame:
    random = np.random.default_rng(3)
    ward = random.integers(0, 3, count)
    return pd.DataFrame(
        {
            "theft": random.random(count) < 0.15 + 0.3 * (ward == 0),
            "ward": np.array(["icu", "general", "other"])[ward],
            "hours": random.normal(38, 9, count).clip(0, 80).round(),
        }
    )


@cache
def release(consistency: str = "none", count: int = 6000) -> Release:
    """What so many people told; not worded yet."""
    survey = Survey.from_questionnaire(questionnaire(), epsilon=3.0)
    return simulate(survey, people(count), "x", consistency=consistency)
