"""The participant's page in each language, on a phone: its words, its direction, and what it weighs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from time import sleep
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from page_parts import Running, Visitor, axe, in_line, until, words_of
from tongues import FORM, MARKUP, TONGUES, tongues

from deniable import Survey
from deniable.languages import Catalogue, language, tags
from deniable.questionnaire import Questionnaire
from deniable.server import app
from deniable.server.closing import FRESH

AUDIT = (Path(__file__).parent / "audit.js").read_text("utf-8")
PAGE_AND_SCRIPTS = 60_000
"""Bytes that the participant's page and all its scripts may have."""

OUTSIDE = """[...document.querySelectorAll("body *")].filter((one) => {
  const { left, right } = one.getBoundingClientRect();
  return one.checkVisibility() && !one.closest(".hidden") && (left < -0.5 || right > innerWidth + 0.5);
}).map((one) => one.outerHTML.slice(0, 80))"""
CHOOSE = """document.querySelectorAll("#items fieldset, #labels fieldset").forEach((box) => {
  if (box.checkVisibility() && !box.querySelector(":checked")) box.querySelector("input").click();
})"""
FILLED = """[...document.querySelectorAll("#items input, #labels input")].map((one) =>
  one.type === "number" ? one.value : one.checked)"""


class Collecting:
    """A collector of questionnaires; the last is the one that is looked at."""

    def __init__(self, folder: Path, *forms: Questionnaire) -> None:
        self.surveys = [Survey.from_questionnaire(form) for form in forms]
        self.survey, self.texts = self.surveys[-1], forms[-1].texts
        texts = {
            survey.id: form.texts
            for survey, form in zip(self.surveys, forms, strict=True)
            if form.texts
        }
        self.running = Running(folder, *self.surveys, texts=texts)

    def address(self, tag: str, survey: Survey | None = None) -> str:
        """Return the page's address in a language."""
        return f"{self.running.url}/?survey={(survey or self.survey).id}&language={tag}"

    def words(self, tag: str) -> set[str]:
        """Return all questions in the words of a language."""
        survey = self.survey
        slots = range(survey.slots)
        return {words_of(survey.question(slot), survey, tag, self.texts) for slot in slots}


@pytest.fixture(scope="module")
def collecting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collecting]:
    one = Collecting(tmp_path_factory.mktemp("tongues"), tongues())
    yield one
    one.running.close()


@pytest.fixture
def visitor(browser: Any, collecting: Collecting) -> Iterator[Visitor]:
    one = Visitor(browser)
    one.forget(collecting.running.url)
    one.look(390)
    yield one
    one.close()


def text_of(form: dict[str, Any], tag: str) -> str:
    return str(form.get(tag, form["de"]))


def is_sound(visitor: Visitor, name: str) -> None:
    """Check that nothing sticks out, and that nobody is kept from using the page."""
    faults = [axe(visitor), visitor.run(AUDIT), visitor.run(OUTSIDE)]
    assert (name, *faults) == (name, [], [], [])


def fill_page(visitor: Visitor) -> None:
    """Answer what is seen of the form, the first answer everywhere."""
    visitor.run(CHOOSE)
    if visitor.sees("#items input[type=number]"):
        visitor.type("#items input[type=number]", "40")
    visitor.run(CHOOSE)  # what these lead to


@pytest.mark.parametrize("tag", TONGUES)
def test_a_survey_is_answered_on_a_phone_in_each_language(
    visitor: Visitor, collecting: Collecting, tag: str
) -> None:
    own = language(tag)
    before = collecting.running.people
    visitor.go(collecting.address(tag), "#fill form")
    root = "document.documentElement"
    assert [visitor.run(f"{root}.lang"), visitor.run(f"{root}.dir")] == [tag, own.direction]
    assert visitor.text("h1") == text_of(FORM["title"], tag)
    assert text_of(FORM["who"], tag) in visitor.text("#asker")
    assert in_line(visitor.text("#fill-head")) == in_line(own.say("fill.head"))
    assert in_line(own.say("fill.many", n=3)) in in_line(visitor.text("#how-many"))
    left, right = visitor.run("""(({ left, right }) => [left, innerWidth - right])(
      document.querySelector("#items legend").firstElementChild.getBoundingClientRect())""")
    assert (left > right) is (own.direction == "rtl"), "texts begin where the language begins"
    is_sound(visitor, "form")

    visitor.click("#fill .main")
    visitor.click("#fill .main")
    visitor.wait("#incomplete")
    assert own.say("lack") in visitor.text("#items .missing")
    is_sound(visitor, "errors")
    fill_page(visitor)
    assert not visitor.sees("#incomplete"), "what was open may be filled in by now"
    assert in_line(own.say("fill.many", n=5)) in in_line(visitor.text("#how-many"))
    visitor.click("#fill .main")
    fill_page(visitor)
    assert in_line(own.say("done", n=5, all=5)) in in_line(visitor.text("#progress p"))
    assert MARKUP in visitor.text("#items"), "markup is text"
    marks = visitor.run(
        "[...document.querySelectorAll('#items abbr.foreign')].map((one) => one.innerText)"
    )
    missing = {"de": 0, "en": 1}.get(tag, 2)  # a wording, and the introduction of a page
    assert marks == ["[de]"] * missing
    is_sound(visitor, "second page")

    visitor.click("#fill .main")
    visitor.wait("#ask")
    question = in_line(visitor.text("#question"))
    assert question in {in_line(words) for words in collecting.words(tag)}
    assert text_of(FORM["consent"], tag) in visitor.text("#consent")
    is_sound(visitor, "question")
    visitor.click("#agree")
    visitor.wait("#sent")
    assert text_of(FORM["thanks"], tag) in visitor.text("#thanks")
    is_sound(visitor, "sent")
    until(lambda: collecting.running.people == before + 1)
    assert visitor.run("document.title") != "run", "markup is never run"
    assert visitor.complaints == []


def test_another_language_keeps_what_is_filled_in(visitor: Visitor, collecting: Collecting) -> None:
    visitor.go(collecting.address("de-AT"), "#fill form")
    assert visitor.run("document.documentElement.lang") == "de", "a variety of what there is"
    fill_page(visitor)
    filled = visitor.run(FILLED)
    assert True in filled
    assert "40" in filled
    visitor.run("""(() => {
      const list = document.querySelector("#languages select");
      list.value = "ar";
      list.dispatchEvent(new Event("change", { bubbles: true }));
    })()""")
    until(lambda: visitor.run("document.documentElement.dir") == "rtl")
    assert visitor.text("h1") == FORM["title"]["ar"]
    assert visitor.run(FILLED) == filled
    assert [one for one in visitor.requests if one["method"] != "GET"] == [], "nothing is sent"


PREFER = "Object.defineProperty(navigator, 'languages', {{ get: () => ['{}'] }})"
CHOSEN = """(() => {{
  const list = document.querySelector("#languages select");
  list.value = "{}";
  list.dispatchEvent(new Event("change", {{ bubbles: true }}));
}})()"""


def tongue(visitor: Visitor) -> str:
    return str(visitor.run("document.documentElement.lang"))


def test_no_request_tells_in_which_language_somebody_reads(
    visitor: Visitor, browser: Any, collecting: Collecting, tmp_path: Path
) -> None:
    """Neither what a browser prefers, nor what is chosen, nor that after loading the page again."""
    other = Collecting(tmp_path, tongues(title="Arbeit"), tongues())
    seen = []
    for prefers, chooses in (("ar", ""), ("fr", "es"), ("nl", "de")):
        reader = Visitor(browser)
        reader.look(390)
        reader.before(PREFER.format(prefers))
        reader.go(f"{other.running.url}/", "#choose a")
        if chooses:
            reader.run(CHOSEN.format(chooses))
        reader.click(f"#choose a[href*='{other.survey.id}']")
        reader.wait("#fill form")
        assert tongue(reader) == (chooses or prefers), "it is carried on"
        if chooses:
            reader.run(CHOSEN.format("ar"))
        reader.reload("#fill form")
        assert tongue(reader) == "ar", "it lasts while the page is loaded again"
        seen.append([(one["method"], one["url"], one.get("postData")) for one in reader.requests])
        assert reader.run("localStorage.length + sessionStorage.length + document.cookie") == "0"
        reader.close()
    assert seen[0] == seen[1] == seen[2]
    other.running.close()
    visitor.before(PREFER.format("fr"))
    visitor.go(f"{collecting.address('de')}#language=es&token=a%20b", "#fill form")
    assert tongue(visitor) == "es", "behind the # it goes to no server, and comes first"
    assert visitor.run("location.hash") == ""


def test_what_a_catalogue_lacks_is_english_and_marked(
    visitor: Visitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A translation that was just begun: whoever adds a language sees at once what is left to do."""
    whole = tags()["ar"]
    messages = dict([*whole.messages.items()][:30])
    assert "fill.head" not in messages
    begun = Catalogue("ar", whole.language, whole.locale, whole.direction, messages)
    english = tags()["en"]
    forms = [f'"{one.tag}":{one.to_json(english)}' for one in (english, begun)]
    monkeypatch.setattr(app, "spoken", lambda: f"{{{','.join(forms)}}}")
    one = Collecting(tmp_path, tongues())
    visitor.go(one.address("ar"), "#fill form")
    head = visitor.run("document.querySelector('#fill-head').innerHTML")
    english = tags()["en"].messages["fill.head"]
    assert f'<span lang="en">\u2068{english}\u2069</span>' in head
    assert visitor.text("#fill-head abbr") == "[en]"
    is_sound(visitor, "form")
    for _ in range(2):
        fill_page(visitor)
        visitor.click("#fill .main")
    visitor.wait("#ask")
    assert "نعم" in visitor.text("#possible"), "what there is, is said"
    assert visitor.text("#agree").endswith("[en]")
    is_sound(visitor, "question")
    one.running.close()


@pytest.mark.parametrize("tag", ["de", "ar"])
def test_a_survey_that_is_over_or_was_answered_before_says_so(
    visitor: Visitor, tmp_path: Path, tag: str
) -> None:
    old = tongues()
    id_before = Survey.from_questionnaire(old).id
    new = Collecting(tmp_path, old, tongues(title="Arbeit", follows=id_before))
    visitor.go(new.address(tag, new.surveys[0]), "#fill form")
    for _ in range(2):
        fill_page(visitor)
        visitor.click("#fill .main")
    visitor.wait("#ask")
    visitor.click("#agree")
    visitor.wait("#sent")
    visitor.go(new.address(tag), "#before")
    assert in_line(visitor.text("#before-head")) == in_line(language(tag).say("before.head"))
    is_sound(visitor, "before")
    new.running.end(new.survey.id)
    sleep(FRESH)
    visitor.click("#anew")
    visitor.wait("#closed")
    assert visitor.text("#closed div") == FORM["closed"][tag]
    assert not visitor.sees("#fill")
    is_sound(visitor, "closed")
    new.running.close()


def weights(visitor: Visitor) -> dict[str, int]:
    """Return how many bytes each file has that the page loaded, as a server gives it uncompressed."""
    paths = dict.fromkeys(one["url"] for one in visitor.requests if one["method"] == "GET")
    found = {}
    for url in paths:
        with urlopen(url) as response:
            assert "content-encoding" not in response.headers
            found[urlsplit(url).path] = len(response.read())
    return found


def test_the_page_and_its_scripts_are_small(visitor: Visitor, collecting: Collecting) -> None:
    visitor.go(collecting.address("ar"), "#fill form")
    sizes = weights(visitor)
    scripts = {path: size for path, size in sizes.items() if path == "/" or path.endswith(".js")}
    assert len(scripts) == 2
    assert sum(scripts.values()) < PAGE_AND_SCRIPTS, scripts
    print(json.dumps(sizes))
