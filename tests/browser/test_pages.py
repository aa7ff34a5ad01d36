"""The participant's page in a real browser, before a real collector: what is asked, drawn and sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from page_parts import HURRY, SPY, Running, Visitor, in_line, sent_report, words_of
from scipy import stats

from deniable import Schema, Survey
from deniable.questions.answers import Bitwise, Subset, Unary
from deniable.schema.attribute import Attribute
from deniable.show.report import PROMISE

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "src" / "deniable" / "server" / "pages"
NAMES = ("Grumbling", "Romance", "Yodelling")
SURVEY = Survey(Schema.binary(*NAMES), 2, 1.1, "MargPS")
RECORD = {"Grumbling": True, "Romance": False, "Yodelling": True}
RAREST = 1e-9
"""How often the check of the law fails where all is well."""

KEPT = """new Promise((done) => {
  const opening = indexedDB.open("deniable");
  opening.onsuccess = () => {
    const reading = opening.result.transaction("ledger").objectStore("ledger").get("entries");
    reading.onsuccess = () => (opening.result.close(), done(reading.result ?? {}));
  };
})"""

MANY = """(async (survey, record, people) => {
  const { Client } = await import("/static/deniable.min.js");
  const forgetful = () => {
    const entries = {};
    return { update: async (change) => change(entries) };
  };
  const one = async (token) => {
    const ledger = forgetful();
    const client = new Client({ survey, collector: location.origin, token, ledger });
    await client.answer(record);
    await client.submit();
  };
  const turn = async () => {
    while (people) await one(`one of many ${people--}`);
  };
  await Promise.all(Array.from({ length: 12 }, turn));
})"""
"""Many people with the same record, by the page's own client."""

FORGETS_A_BIT = "rigged = (array) => (own(array), (array[7] &= 127), array);"
"""A planted bug: random words lose their highest bit."""


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Running]:
    made = Running(tmp_path_factory.mktemp("collector"), SURVEY)
    yield made
    made.close()


@pytest.fixture
def visitor(browser: Any, collector: Running) -> Iterator[Visitor]:
    made = Visitor(browser)
    made.forget(collector.url)
    made.before(SPY)
    made.look(1000)
    yield made
    made.close()


def fill_in(visitor: Visitor) -> None:
    """Fill in the form with clicks; yes stands before no."""
    for number, is_true in enumerate(RECORD.values()):
        visitor.click(f"#items fieldset:nth-child({number + 1}) label:nth-of-type({2 - is_true})")


def answer(visitor: Visitor) -> None:
    """Take part from the form to the end."""
    fill_in(visitor)
    visitor.click("#fill .main")
    visitor.wait("#ask")
    visitor.click("#agree")
    visitor.wait("#sent")


def counts(collector: Running) -> dict[tuple[int, int], int]:
    tally = collector.tally()
    rows = zip(tally.slot.tolist(), tally.value.tolist(), tally.count.tolist(), strict=True)
    return {(slot, value): count for slot, value, count in rows}


def nothing_else_left(visitor: Visitor, collector: Running) -> None:
    """Check that requests go to the collector only and carry nothing of the record."""
    assert {urlsplit(one["url"]).netloc for one in visitor.requests} == {
        urlsplit(collector.url).netloc
    }
    for one in visitor.requests:
        assert one["method"] in ("GET", "POST")
        assert parse_qs(urlsplit(one["url"]).query).keys() <= {"survey"}
        said = json.dumps(one)
        assert not any(name in said for name in NAMES), "a request tells of the record"
    for path, body in visitor.posts:
        assert (path, set(body)) in [
            ("/questions", {"survey", "token"}),
            ("/reports", {"ticket", "value"}),
        ]


@pytest.mark.parametrize("width", [1280, 360], ids=["desk", "phone"])
def test_a_participant_answers_through_the_page(
    visitor: Visitor, collector: Running, width: int
) -> None:
    token, before = f"a token at {width}", counts(collector)
    visitor.look(width)
    visitor.go(f"{collector.url}/?survey={SURVEY.id}#token={token}", "#fill")
    assert visitor.text("#promise") in PROMISE
    assert visitor.text("[data-suspicion]") == "75.1 %"

    visitor.click("#fill .main")
    assert "Grumbling, Romance and Yodelling" in visitor.text("#incomplete")
    assert visitor.run("document.activeElement.name") == "a0"
    assert visitor.posts == [], "nothing is asked before the form is complete"

    fill_in(visitor)
    visitor.click("#fill .main")
    visitor.wait("#ask")
    [(path, body)] = visitor.posts
    assert (path, body) == ("/questions", {"survey": SURVEY.id, "token": token})
    assert visitor.run("drawn") == 0, "nothing is drawn before consent"
    assert visitor.run("document.activeElement.id") == "ask-head"
    assert visitor.run(KEPT).get(SURVEY.id, {}).keys() <= {"token"}
    question = in_line(visitor.text("#question"))
    assert question in {words_of(SURVEY.question(slot), SURVEY) for slot in range(3)}
    assert "75.1 % sure" in visitor.text("#odds")

    visitor.click("#agree")
    visitor.wait("#sent")
    assert visitor.run("drawn") > 0
    nothing_else_left(visitor, collector)
    _, (_, sent) = visitor.posts
    after = counts(collector)
    [(slot, value)] = [key for key in after if after[key] != before.get(key, 0)]
    assert after[slot, value] == before.get((slot, value), 0) + 1
    assert sent["value"] == str(value)
    assert words_of(SURVEY.question(slot), SURVEY) == question
    shown = visitor.text("#what")
    assert f"{sent['ticket'][:8]}…{sent['ticket'][-8:]}" in shown
    asks = SURVEY.question(slot).to_json()["asks"]["cell"]
    digits = [value % 2, value // 2]
    words = " and ".join(
        f"{one['attribute']} – {('no', 'yes')[one['values'][digit]]}"
        for one, digit in zip(asks, digits, strict=True)
    )
    assert words in shown
    assert visitor.run("document.querySelector('#items').childElementCount") == 0
    [kept] = visitor.run(KEPT).values()
    assert kept == {"epsilon": SURVEY.epsilon, "state": "sent"}, "others may use this browser"
    assert visitor.run("localStorage.length + sessionStorage.length") == 0
    assert visitor.run("document.documentElement.scrollWidth") == width, "nothing sticks out"
    assert visitor.complaints == []

    visitor.go(f"{collector.url}/?survey={SURVEY.id}#token={token}", "#sent")
    assert "already" in visitor.text("#again")
    assert not visitor.sees("#what"), "only the visit that sends it shows it"
    assert visitor.posts == [], "it is answered once, for ever"


@pytest.mark.parametrize("way", ["resolve(true)", "reject(Error())"])
def test_the_browser_is_asked_to_keep_the_ledger_before_the_draw(
    visitor: Visitor, collector: Running, way: str
) -> None:
    visitor.before(f"""var asked = [];
        const {{ storage }} = navigator;
        if (storage) storage.persist = () => (asked.push(drawn), Promise.{way});""")
    visitor.go(f"{collector.url}/?survey={SURVEY.id}#token=kept {way}", "#fill")
    fill_in(visitor)
    visitor.click("#fill .main")
    visitor.wait("#ask")
    assert visitor.run("asked") == [], "nobody is asked before they agree"
    visitor.click("#agree")
    visitor.wait("#sent")
    assert visitor.run("asked") == [0]
    assert visitor.complaints == []


def test_the_token_of_a_link_does_not_stay_in_the_address(visitor: Visitor, tmp_path: Path) -> None:
    others = Survey(Schema.binary(*NAMES), 1, 1.0, "MargPS")
    collector = Running(tmp_path, SURVEY, others)
    try:
        visitor.go(f"{collector.url}/#token=one%26%20only", "#choose")
        assert visitor.run("location.href") == f"{collector.url}/"
        visitor.click(f"#choose a[href*='{SURVEY.id}']")
        visitor.wait("#fill")
        assert visitor.run("location.href") == f"{collector.url}/?survey={SURVEY.id}"
        visitor.reload("#fill")
        fill_in(visitor)
        visitor.click("#fill .main")
        visitor.wait("#ask")
        assert visitor.posts == [("/questions", {"survey": SURVEY.id, "token": "one& only"})]
        entries = visitor.call("Page.getNavigationHistory")["entries"]
        assert not any("token" in one["url"] for one in entries)
    finally:
        collector.close()


def test_everything_can_be_done_with_the_keyboard(visitor: Visitor, collector: Running) -> None:
    before = collector.people
    visitor.go(f"{collector.url}/#token=keys", "#fill")
    visitor.run("document.querySelector('#items input').focus()")
    outline = "getComputedStyle(document.activeElement.closest('label') ?? document.activeElement)"
    for _ in NAMES:
        visitor.press(" ", 32, " ")
        assert visitor.run("document.activeElement.checked")
        assert visitor.run(f"{outline}.outlineStyle") == "solid", "the focus is seen"
        visitor.press("Tab", 9)
    assert visitor.run("document.activeElement.type") == "submit"
    assert visitor.run(f"{outline}.outlineStyle") == "solid"
    visitor.press("Enter", 13, "\r")
    visitor.wait("#ask")
    visitor.press("Tab", 9)
    assert visitor.run("document.activeElement.id") == "agree"
    visitor.press("Enter", 13, "\r")
    visitor.wait("#sent")
    assert visitor.run("document.activeElement.id") == "sent-head"
    assert collector.people == before + 1


def test_nothing_depends_on_what_was_drawn(visitor: Visitor, collector: Running) -> None:
    seen = []
    for byte in (0, 255):  # the highest of a word: the truth, and not the truth
        visitor.before(f"rigged = (array) => (array.fill(85), (array[7] = {byte}), array);")
        visitor.forget(collector.url)
        visitor.go(f"{collector.url}/?survey={SURVEY.id}#token=byte {byte}", "#fill")
        answer(visitor)
        steps = [
            (
                one["method"],
                urlsplit(one["url"]).path,
                sorted(json.loads(one.get("postData", "{}"))),
            )
            for one in visitor.requests
        ]
        seen.append((steps, visitor.run("drawn"), visitor.text("#sent-head")))
        assert is_true(visitor, SURVEY, RECORD) == (byte == 0)
    assert seen[0] == seen[1], "the same steps, draws and requests, whatever the value"


def is_true(visitor: Visitor, survey: Survey, record: dict[str, Any]) -> bool:
    """Tell whether what the browser sent is the true answer of a record."""
    report = sent_report(visitor)
    return int(report["value"]) == survey.question(int(report["slot"])).asks.symbol(record)


@pytest.mark.parametrize("has_age", [True, False])
def test_every_kind_of_field_is_read(visitor: Visitor, tmp_path: Path, has_age: bool) -> None:
    age = Attribute("age", edges=(18, 65), missing="not told")
    attributes = [Attribute("tea"), Attribute("region", tuple("abcdefghi")), age]
    survey = Survey(Schema(attributes).completed(), 2, 2.0, "InpPS")
    collector = Running(tmp_path, survey)
    try:
        visitor.before("rigged = (array) => array.fill(0);")
        visitor.go(f"{collector.url}/?survey={survey.id}", "#fill")
        visitor.click("#items label:nth-of-type(2)")
        visitor.run("document.querySelector('#a1').focus()")
        visitor.press("d", 68, "d")
        if has_age:
            visitor.type("#a2", "17.5")
        else:
            visitor.click("#items [type=checkbox]")
        visitor.click("#fill .main")
        visitor.wait("#ask")
        visitor.click("#agree")
        visitor.wait("#sent")
        held = {"tea": False, "region": "d", "age": age.values[0] if has_age else "not told"}
        assert is_true(visitor, survey, held)
    finally:
        collector.close()


def law(collector: Running, before: dict[tuple[int, int], int]) -> float:
    """Return how rarely honest answers of this record would look like what was stored since."""
    after = counts(collector)
    new = {key: after[key] - before.get(key, 0) for key in after}
    statistic, freedom = 0.0, 0
    for slot in {slot for slot, _ in new}:
        question = SURVEY.question(slot)
        chances = question.answer.law(question.asks.symbol(RECORD))
        people = sum(count for (own, _), count in new.items() if own == slot)
        for value, chance in enumerate(chances):
            expected = people * chance / question.answer.law_total
            statistic += (new.get((slot, value), 0) - expected) ** 2 / expected
        freedom += len(chances) - 1
    return float(stats.chi2.sf(statistic, freedom))


def drawn_by(people: int, visitor: Visitor, collector: Running) -> float:
    """Let people answer; return how rarely honest ones would do so like this."""
    visitor.go(f"{collector.url}/", "#fill")
    before = counts(collector)
    visitor.run(f"{MANY}({json.dumps(SURVEY.id)}, {json.dumps(RECORD)}, {people})")
    nothing_else_left(visitor, collector)
    assert collector.people == sum(before.values()) + people
    return law(collector, before)


def test_stored_values_follow_the_law(visitor: Visitor, collector: Running) -> None:
    assert drawn_by(400, visitor, collector) > RAREST


def test_a_planted_bug_is_caught_by_the_law_and_by_the_dashboard(
    visitor: Visitor, tmp_path: Path
) -> None:
    collector = Running(tmp_path, SURVEY)
    try:
        visitor.before(FORGETS_A_BIT)
        assert drawn_by(100, visitor, collector) < RAREST
        visitor.go(collector.dashboard, "#pairs > *")
        assert "raises an alarm" in visitor.text("#state")
        assert "Alarm. Answers lie beyond" in visitor.text("#honest")
    finally:
        collector.close()


def test_two_tabs_give_one_answer(visitor: Visitor, collector: Running, browser: Any) -> None:
    before = collector.people
    other = Visitor(browser)
    other.look(1000)
    try:
        for tab in (visitor, other):
            tab.go(f"{collector.url}/?survey={SURVEY.id}", "#fill")
            fill_in(tab)
            tab.click("#fill .main")
            tab.wait("#ask")
        for tab in (visitor, other):
            tab.run("document.querySelector('#agree').click()")
        for tab in (visitor, other):
            tab.wait("#sent")
        assert collector.people == before + 1
        shown = [tab.sees("#receipt") for tab in (visitor, other)]
        assert sum(shown) <= 1, "one tab drew; the other may be another person's"
    finally:
        other.close()


def test_a_question_with_too_large_an_epsilon_is_refused(
    visitor: Visitor, tmp_path: Path, collector: Running
) -> None:
    loud = Survey(Schema.binary(*NAMES), 2, 3.0, "MargPS")
    shouting = Running(tmp_path, loud)
    try:
        visitor.go(f"{shouting.url}/?survey={loud.id}", "#problem")
        assert "tell more about you than this browser allows" in visitor.text("#problem")
        assert not visitor.sees("#fill")
        assert visitor.posts == []
    finally:
        shouting.close()
    # The survey is harmless, but what the collector asks is not.
    people = collector.people
    visitor.go(f"{collector.url}/?survey={SURVEY.id}#token=loud", "#fill")
    fill_in(visitor)

    def louder(form: dict[str, Any]) -> None:
        form["question"]["answer"]["threshold"] = str((1 << 64) - (1 << 58))

    visitor.forge("/v1/questions", louder, ["document.querySelector('#fill .main').click()"])
    visitor.wait("#problem")
    assert "refuses it. Nothing was drawn or sent." in visitor.text("#problem")
    assert not visitor.sees("#agree")
    assert visitor.run("drawn") == 0
    assert [path for path, _ in visitor.posts] == ["/questions"]
    assert collector.people == people


def test_nobody_answers_beyond_the_lifetime_limit(visitor: Visitor, collector: Running) -> None:
    visitor.go(f"{collector.url}/?survey={SURVEY.id}", "#fill")
    visitor.run(KEPT.replace('get("entries")', 'put({ other: { epsilon: 5 } }, "entries")').replace(
        'transaction("ledger")', 'transaction("ledger", "readwrite")'))  # fmt: skip
    visitor.go(f"{collector.url}/?survey={SURVEY.id}", "#problem")
    assert "lifetime limit (ε = 6)" in visitor.text("#problem")
    assert "all surveys of this site" in visitor.text("#problem"), "a ledger is of one origin"
    assert visitor.posts == []


def test_another_survey_than_the_link_names_is_refused(
    visitor: Visitor, collector: Running
) -> None:
    visitor.go(f"{collector.url}/?survey={'0' * 64}", "#problem")
    assert "does not hold the survey" in visitor.text("#problem")
    visitor.go(f"{collector.url}/?survey=mine", "#problem")
    assert "names no survey" in visitor.text("#problem")

    def another(form: dict[str, Any]) -> None:
        form["survey"]["epsilon"] = "1.2"

    visitor.go("about:blank", "html")
    go = f"location = {json.dumps(f'{collector.url}/?survey={SURVEY.id}')}"
    visitor.forge(r"/v1/survey\?", another, [go])
    visitor.wait("#problem")
    assert "another survey than the one that this address names" in visitor.text("#problem")


def test_a_problem_named_as_what_every_object_has_is_a_sentence(
    visitor: Visitor, collector: Running
) -> None:
    visitor.go(f"{collector.url}/?survey={SURVEY.id}#token=object", "#fill")
    fill_in(visitor)

    def unheard_of(form: dict[str, Any]) -> None:
        form["type"] = "https://deniable.example/problems/constructor"

    click = ["document.querySelector('#fill .main').click()"]
    visitor.forge("/v1/questions", unheard_of, click, 418)
    visitor.wait("#problem")
    assert visitor.text("#problem p") == "This cannot go on (constructor)."


def answer_as(visitor: Visitor, own: str) -> None:
    """Correct the id that was typed, and answer."""
    visitor.run("document.querySelector('#token').value = ''")
    visitor.type("#token", own)
    visitor.click("#fill .main")
    visitor.wait("#ask")
    visitor.click("#agree")
    visitor.wait("#sent")


def test_participants_need_their_id(visitor: Visitor, tmp_path: Path) -> None:
    collector = Running(tmp_path, SURVEY, participants="issued")
    try:
        [own] = collector.ids(1)
        visitor.go(f"{collector.url}/?survey={SURVEY.id}", "#token-box")
        fill_in(visitor)
        visitor.click("#fill .main")
        assert "participant id is missing" in visitor.text("#incomplete")
        visitor.type("#token", "made up")
        visitor.click("#fill .main")
        visitor.wait("#problem")
        assert "No such participant id was issued" in visitor.text("#problem")
        answer_as(visitor, own)
        assert collector.people == 1

        visitor.forget(collector.url)  # as if on another device
        visitor.go(f"{collector.url}/?survey={SURVEY.id}#token={own}", "#fill")
        fill_in(visitor)
        visitor.click("#fill .main")
        visitor.wait("#problem")
        assert "is counted already" in visitor.text("#problem")
        assert collector.people == 1
    finally:
        collector.close()


def test_a_misspelt_id_can_be_corrected(visitor: Visitor, tmp_path: Path) -> None:
    """Where the question follows from the id, a wrong one would be answered, once and for ever."""
    collector = Running(tmp_path, SURVEY, slots="hashed", participants="issued")
    try:
        [own] = collector.ids(1)
        visitor.go(f"{collector.url}/?survey={SURVEY.id}", "#token-box")
        fill_in(visitor)
        visitor.type("#token", own[:-1])
        visitor.click("#fill .main")
        visitor.wait("#problem")
        assert "That is no participant id" in visitor.text("#problem")
        answer_as(visitor, own)
        assert collector.people == 1
    finally:
        collector.close()


def test_a_collector_that_is_away_loses_nothing(visitor: Visitor, collector: Running) -> None:
    people = collector.people
    visitor.before(HURRY)
    visitor.go(f"{collector.url}/?survey={SURVEY.id}#token=away", "#fill")
    fill_in(visitor)
    visitor.click("#fill .main")
    visitor.wait("#ask")
    visitor.offline(True)
    visitor.click("#agree")
    visitor.wait("#problem")
    assert "drawn and kept in this browser" in visitor.text("#problem")
    [kept] = visitor.run(KEPT).values()
    assert kept["state"] == "drawn"
    assert not any(name in json.dumps(kept) for name in NAMES)
    assert not visitor.sees("#what"), "what was drawn is not shown before it is counted"
    assert visitor.run("document.querySelector('#back').disabled"), "nor can it be taken back"
    assert collector.people == people
    visitor.offline(False)
    visitor.click("#problem button")
    visitor.wait("#sent")
    assert collector.people == people + 1


@pytest.mark.parametrize("mechanism", ["MargRR", "InpEM", "Subspace"])
def test_every_way_of_answering_is_told_in_words(
    visitor: Visitor, tmp_path: Path, mechanism: str
) -> None:
    survey = Survey(
        Schema.of(tea=[False, True], diet=["some", "any", "none"]).completed(), 2, 1.5, mechanism
    )
    collector = Running(tmp_path, survey)
    try:
        visitor.go(f"{collector.url}/?survey={survey.id}", "#fill")
        for number in (1, 2):
            visitor.click(f"#items fieldset:nth-child({number}) label")
        visitor.click("#fill .main")
        visitor.wait("#ask")
        visitor.click("#agree")
        visitor.wait("#sent")
        [(_, _), (_, sent)] = visitor.posts
        question = survey.question(int(sent_report(visitor)["slot"]))
        assert words_of(question, survey) in in_line(visitor.text("#what"))
        bits = question.to_json()["asks"].get("parities", [])
        several = len(bits) if any(len(bit) > 1 for bit in bits) and len(bits) > 1 else 0
        assert visitor.run("document.querySelectorAll('#what > dd > ol > li').length") == several
        said = [line for line in visitor.text("#what .value").splitlines() if line]
        value = int(sent["value"])
        match question.answer:
            case Unary():
                number = value.bit_count()
                lead = {0: "no to every possible answer", 1: "yes to this one:"}
                assert said[0] == lead.get(number, f"yes to these {number}:")
            case Subset(_, number, _):
                assert len(question.answer.support(value)) == number
            case Bitwise(bits, _):
                number = 1
                words = [("no", "yes")[value >> i & 1] for i in range(bits)]
                assert said == [f"{', '.join(words[:-1])} and {words[-1]}"]
        assert len([line for line in said if not line.endswith(":")]) == max(number, 1)
        assert collector.people == 1
    finally:
        collector.close()


def test_surveys_are_told_apart_by_what_they_ask(visitor: Visitor, tmp_path: Path) -> None:
    other = Survey(Schema.binary("tea", "coffee", "milk", "juice", "water"), 2, 1.1, "InpHT")
    collector = Running(tmp_path, SURVEY, other)
    try:
        visitor.go(f"{collector.url}/", "#choose")
        said = visitor.text("#choose ul")
        assert "About Grumbling, Romance and Yodelling" in said
        assert "About tea, coffee, milk and 2 more" in said
        visitor.click("#choose li:last-child a")
        visitor.wait("#fill")
        assert visitor.run(KEPT) == {}, "to look is to leave nothing"
    finally:
        collector.close()


def test_the_pages_have_the_client_that_was_built() -> None:
    built = ROOT / "clients" / "js" / "dist" / "deniable.min.js"
    assert (PAGES / built.name).read_bytes() == built.read_bytes(), "npm run build writes both"


LONG_FORM = tuple(f"{topic}_{place}" for topic in ("hobby", "illness") for place in range(1, 101))


@pytest.fixture
def long_form(tmp_path: Path, browser: Any) -> Iterator[Visitor]:
    running = Running(tmp_path, Survey(Schema.binary(*LONG_FORM), 2, 1.1, "Subspace"))
    visitor = Visitor(browser)
    visitor.look(390)
    visitor.go(running.url, "#items .group")
    yield visitor
    visitor.close()
    running.close()


ANSWER = """(([from, to]) => [...document.querySelectorAll("#items .item")]
  .slice(from, to).forEach((item) => {{
  const one = item.querySelector("input");
  one.checked = true;
  one.dispatchEvent(new Event("input", {{ bubbles: true }}));
}}))({})"""


@pytest.mark.slow
def test_a_form_of_200_items_folds(long_form: Visitor) -> None:
    """It was 22,669 pixels tall on a phone; each group says how far one is."""
    assert long_form.run("document.documentElement.scrollHeight") < 6000
    assert long_form.run("document.querySelectorAll('#items .item').length") == 200
    opened = "[...document.querySelectorAll('#items .group')].map((one) => one.open)"
    assert long_form.run(opened) == [True, *[False] * 9]
    assert long_form.text("#items .group:nth-child(10) summary").startswith(
        "181 to 200 – illness_81"
    )
    long_form.run(ANSWER.format("[0, 19]"))
    assert "(19 of 20 answered)" in long_form.text("#items summary")
    assert long_form.run(opened) == [True, *[False] * 9]
    long_form.run(ANSWER.format("[19, 20]"))
    assert long_form.run(opened) == [True, True, *[False] * 8], "a complete one opens the next"
    long_form.run(ANSWER.format("[20, 150]"))
    long_form.run(ANSWER.format("[151, 200]"))
    long_form.run("document.querySelectorAll('#items .group').forEach((one) => (one.open = false))")
    long_form.click("#fill .main")
    focused = "document.activeElement.closest('.item').querySelector('legend').innerText"
    assert long_form.run(focused) == LONG_FORM[150], "what is open is found, wherever it is folded"
    assert long_form.run(opened) == [number == 7 for number in range(10)]
    assert long_form.sees("#items .missing")
    assert long_form.complaints == []


def test_a_short_form_does_not_fold(visitor: Visitor, collector: Running) -> None:
    visitor.go(collector.url, "#items .item")
    assert not visitor.sees("#items .group")
