"""Questionnaires that tests of the studio write."""

from __future__ import annotations

from typing import Any

GERMAN: dict[str, Any] = {
    "deniable": "questionnaire",
    "format": 1,
    "languages": ["de", "en"],
    "title": {"de": "Arbeit und Schlaf", "en": "Work and sleep"},
    "introduction": {"de": "Drei Fragen."},
    "design": {"order": 2, "epsilon": 1.1, "people": 2000},
    "attributes": [
        {"name": "nap", "wording": {"de": "Schlafen Sie im Dienst?", "en": "Do you sleep at work?"}},
        {
            "name": "place",
            "wording": {"de": "Wo?", "en": "Where?"},
            "values": [
                {"value": "desk", "label": {"de": "am Tisch", "en": "at my desk"}},
                {"value": "sofa", "label": {"de": "auf dem Sofa", "en": "on a sofa"}},
                {"value": "none", "label": {"de": "nirgends", "en": "nowhere"}},
            ],
            "missing": "none",
            "when": {"attribute": "nap", "is": True, "otherwise": "none"},
        },
        {"name": "hours", "wording": {"de": "Stunden Schlaf?", "en": "Hours of sleep?"},
         "low": 0, "high": 12, "step": 1, "unit": "h"},
    ],
}  # fmt: skip
