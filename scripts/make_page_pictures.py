"""Draw docs/images/languages.png and participant-page.png: the participants' page, in Chromium.

`python scripts/make_page_pictures.py` needs the tests' packages and a Chromium (CHROMIUM names another
than /usr/bin/chromium).
"""

from __future__ import annotations

import base64
import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.request import Request, urlopen

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "browser"))

from page_parts import Running  # noqa: E402
from tongues import FORM, TONGUES  # noqa: E402

from deniable import Survey  # noqa: E402
from deniable.questionnaire import Questionnaire  # noqa: E402

WIDTH, HEIGHT = 390, 860
BESIDE = "body { margin: 0; display: flex; gap: 14px; background: #d8dee4; padding: 14px }"


def questionnaire() -> Questionnaire:
    """Return the tests' questionnaire, without what only tests need."""
    attributes = [one for one in FORM["attributes"] if one["name"] != "markup"]
    work, rest = FORM["pages"]
    pages = [work, {"title": rest["title"], "attributes": ["tired"]}]
    return Questionnaire.of(FORM | {"attributes": attributes, "pages": pages})


def token_of(address: str, survey: Survey) -> str:
    """Return a token whose question is about two attributes, one of them a number."""
    for number in range(200):
        body = json.dumps({"survey": survey.id, "token": f"picture {number}"}).encode()
        asking = Request(f"{address}/v1/questions", body, {"Content-Type": "application/json"})
        with urlopen(asking) as response:
            bits: list[Any] = json.load(response)["question"]["asks"].get("parities", [])
        if len(bits) == 1 and {term["attribute"] for term in bits[0]} == {"hours", "tired"}:
            return f"picture {number}"
    raise LookupError("no such question")


def fill_page(page: Page) -> None:
    """Answer what is seen of the form, and go on."""
    for _ in range(2):
        for box in page.locator("#items fieldset:visible, #labels fieldset:visible").all():
            box.locator("input").first.check()
        if page.locator("#a1:visible").count():
            page.locator("#a1").fill("40")
    page.click("#fill .main")


def shot(page: Page, top: str) -> str:
    """Return a picture of the page from an element on, as a data URL."""
    y = page.locator(top).evaluate("(one) => one.getBoundingClientRect().top + scrollY") - 16
    clip = {"x": 0, "y": max(y, 0), "width": WIDTH, "height": HEIGHT}
    picture = page.screenshot(full_page=True, clip=clip)  # type: ignore[arg-type]
    return f"data:image/png;base64,{base64.b64encode(picture).decode()}"


def beside(browser: Browser, pictures: list[str], path: Path) -> None:
    """Write pictures side by side."""
    page = browser.new_page(viewport={"width": len(pictures) * 314 + 14, "height": 716})
    images = "".join(f'<img width=300 height=688 src="{one}">' for one in pictures)
    page.set_content(f"<style>{BESIDE} img {{ object-fit: cover }}</style>{images}")
    page.screenshot(path=path)


def main() -> None:
    form = questionnaire()
    survey = Survey.from_questionnaire(form)
    assert form.texts is not None
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        running = Running(Path(folder), survey, texts={survey.id: form.texts})
        token = token_of(running.url, survey)
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox"]
        )
        questions, steps = [], []
        for tag in (*TONGUES[1:], TONGUES[0]):  # English last: it uses the token up
            context = browser.new_context(
                viewport={"width": WIDTH, "height": HEIGHT}, is_mobile=True, reduced_motion="reduce"
            )
            page = context.new_page()
            page.goto(f"{running.url}/?survey={survey.id}&language={tag}#token={token}")
            page.wait_for_selector("#fill form")
            fill_page(page)
            if tag == "en":
                steps.append(shot(page, "#fill-head"))
            fill_page(page)
            page.wait_for_selector("#ask")
            questions.append(shot(page, "header"))
            if tag == "en":
                steps.append(shot(page, "#ask-head"))
                page.click("#agree")
                page.wait_for_selector("#sent")
                steps.append(shot(page, "#sent-head"))
            context.close()
        beside(browser, questions, ROOT / "docs" / "images" / "languages.png")
        beside(browser, steps, ROOT / "docs" / "images" / "participant-page.png")
        browser.close()
        running.close()


if __name__ == "__main__":
    main()
