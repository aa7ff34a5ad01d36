"""Draw docs/images/dashboard.png: the analysts' page of simulated people, in Chromium.

`python scripts/make_dashboard_picture.py` needs the tests' packages and a Chromium (CHROMIUM names
another than /usr/bin/chromium).
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import pandas as pd
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "browser"))

from page_parts import Running  # noqa: E402

from deniable import Survey  # noqa: E402
from deniable.questionnaire import Questionnaire  # noqa: E402
from deniable.server.analysts import Analysts  # noqa: E402

PEOPLE, FIRST = 51_200, 100
WIDTH, HEIGHT = 1280, 1290
ASKED = {
    "alcohol": "Did you ever drink alcohol at work?",
    "pills": "Do you take anything to work longer?",
    "ill": "Did you work while you were ill?",
    "nights": "Do you work at night?",
    "tired": "Are you too tired to work safely?",
    "alone": "Do you work alone?",
}
FORM: dict[str, Any] = {
    "deniable": "questionnaire",
    "format": 1,
    "languages": ["en", "de"],
    "title": {"en": "Work and health", "de": "Arbeit und Gesundheit"},
    "attributes": [
        {"name": name, "wording": {"en": wording}, "values": [True, False], "complete": True}
        for name, wording in ASKED.items()
    ],
}


def people() -> pd.DataFrame:
    """Return simulated people, of whom those who work at night are tired, and take something."""
    random = np.random.default_rng(7)
    nights = random.random(PEOPLE) < 0.35
    tired = random.random(PEOPLE) < np.where(nights, 0.7, 0.25)
    pills = random.random(PEOPLE) < np.where(tired, 0.4, 0.05)
    alcohol = random.random(PEOPLE) < np.where(pills, 0.45, 0.15)
    ill, alone = random.random(PEOPLE) < 0.5, random.random(PEOPLE) < np.where(nights, 0.5, 0.2)
    columns = (alcohol, pills, ill, nights, tired, alone)
    return pd.DataFrame(dict(zip(ASKED, columns, strict=True)))


def send(running: Running, survey: Survey) -> None:
    """Send everybody's report, and let the collector look whenever people have doubled."""
    rows = survey.randomize(people(), "picture").to_arrow().to_pylist()
    analysts, start, stop = Analysts(running._opened), 0, FIRST
    (stored_survey,) = analysts._with_store().surveys()
    while start < PEOPLE:
        for first in range(start, stop, 5_000):
            reports = [
                {name: str(row[name]) for name in ("slot", "value")}
                for row in rows[first : min(first + 5_000, stop)]
            ]
            headers = {"Content-Type": "application/json"}
            request = Request(f"{running.url}/v1/reports", json.dumps(reports).encode(), headers)
            urlopen(request).close()
        analysts.checkpoint(stored_survey)
        start, stop = stop, min(2 * stop, PEOPLE)
    analysts.close()


def main() -> None:
    form = Questionnaire.of(FORM)
    survey = Survey.from_questionnaire(form, epsilon=1.1, mechanism="InpHT")
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        running = Running(Path(folder), survey, texts={survey.id: form.texts}, slots="drawn")
        send(running, survey)
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=1.25
        )
        page.goto(running.dashboard)
        page.wait_for_selector("#tree svg")
        page.screenshot(path=ROOT / "docs" / "images" / "dashboard.png")
        browser.close()
        running.close()


if __name__ == "__main__":
    main()
