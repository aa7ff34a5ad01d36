"""Draw docs/images/studio-write.png and studio-design.png: the studio, in Chromium.

`python scripts/make_studio_pictures.py` needs the tests' packages and a Chromium (CHROMIUM names another
than /usr/bin/chromium).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).parent.parent / "docs" / "images"
NAME = "work-and-health"
WIDTH, HEIGHT = 1280, 1000
FORM = """\
deniable: questionnaire
format: 1
languages: [de, en]
title: {de: Arbeit und Gesundheit, en: Work and health}
introduction:
  de: Vier Fragen zu Ihrem Arbeitsalltag. Sie dauern eine Minute.
  en: Four questions about your work. They take a minute.
who:
  de: Die Beispiel-Universität, für eine Studie zur Gesundheit im Beruf.
  en: Example University, for a study of health at work.
design: {order: 2, epsilon: 1.1, people: 2000}
attributes:
  - name: alkohol
    wording: {de: Haben Sie im Dienst schon Alkohol getrunken?, en: Did you ever drink alcohol at work?}
  - name: mittel
    wording: {de: "Nehmen Sie Mittel, um länger zu arbeiten?", en: Do you take anything to work longer?}
  - name: krank
    wording: {de: Haben Sie krank gearbeitet?, en: Did you work while you were ill?}
  - name: dienst
    wording: {de: Wie arbeiten Sie?, en: How do you work?}
    complete: true
    values:
      - {value: tag, label: {de: am Tag, en: by day}}
      - {value: nacht, label: {de: in der Nacht, en: at night}}
      - {value: wechsel, label: {de: im Wechsel, en: in turns}}
"""


def address_of(studio: subprocess.Popen[str]) -> str:
    """Return the address that opens a studio."""
    assert studio.stderr is not None
    told = re.search(r"http://\S+", studio.stderr.readline())
    assert told is not None
    return told[0]


def shot(page: Page, name: str) -> None:
    """Write a picture; the folder is called as it would be in somebody's home."""
    page.locator("#folder code").evaluate(f"(one) => (one.textContent = '~/{NAME}')")
    page.mouse.move(WIDTH - 1, HEIGHT - 1)
    page.screenshot(path=IMAGES / name)


def main() -> None:
    with TemporaryDirectory() as place, sync_playwright() as playwright:
        folder = Path(place) / NAME
        folder.mkdir()
        (folder / "survey.yaml").write_text(FORM, "utf-8")
        command = [sys.executable, "-m", "deniable", "studio", str(folder), "--no-browser"]
        studio = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce"
        )
        page.goto(address_of(studio))
        page.frame_locator("#phone iframe").locator("#fill form").wait_for()
        shot(page, "studio-write.png")
        page.goto(f"{page.url.partition('#')[0]}#design")
        page.locator("#need-v dd:not(:text('…'))").wait_for()
        shot(page, "studio-design.png")
        browser.close()
        studio.terminate()
        studio.wait()


if __name__ == "__main__":
    main()
