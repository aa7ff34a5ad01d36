"""What is said in each language: catalogues, messages, numbers, days, lists, and questions."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from deniable import Schema, Survey
from deniable.errors import LanguageError
from deniable.languages import Catalogue, Language, language, tags
from deniable.languages.messages import read_message
from deniable.messages.problems import PROBLEMS
from deniable.questionnaire.wordings import wordings

ROOT = Path(__file__).parents[2]
LANGUAGES = ("en", "ar", "de", "es", "fr")


def english(**messages: str) -> Catalogue:
    return Catalogue("en", "English", "en-GB", "ltr", messages)


def flaws(tag: str, locale: str, messages: dict[str, str], **asked: str) -> list[str]:
    form = {"language": "x", "locale": locale, "direction": "ltr", "messages": messages}
    return [*Catalogue.of(tag, form).flaws(english(**asked))]


@pytest.mark.parametrize("tag", tags())
def test_every_catalogue_says_everything(tag: str) -> None:
    assert {*LANGUAGES} <= {*tags()}
    assert [*tags()[tag].flaws(tags()["en"])] == []


def test_a_translation_that_misses_a_placeholder_is_an_error_naming_file_and_message() -> None:
    assert flaws("de", "de", {"a": "Hallo {name}"}, a="Hello {name}") == []
    assert flaws("de", "de", {"a": "Hallo"}, a="Hello {name}") == [
        "de.json: message 'a' lacks the placeholder {name}."
    ]
    assert flaws("de", "de", {"a": "Hallo {nam}"}, a="Hello {name}") == [
        "de.json: message 'a' lacks the placeholder {name}.",
        "de.json: message 'a' has a placeholder {nam} that is never filled.",
    ]
    assert flaws("de", "de", {}, a="Hello") == ["de.json: message 'a' is missing."]
    assert flaws("de", "de", {"b": "x"}) == ["de.json: message 'b' is none that en.json has."]


def test_a_catalogue_has_the_plural_forms_of_its_language() -> None:
    message = "{n, plural, one {x} other {{n} x}}"
    assert flaws("fr", "fr", {"a": message}, a=message) == []
    assert flaws("ar", "ar", {"a": message}, a=message) == [
        f"ar.json: message 'a' lacks the plural form {form!r}."
        for form in ("few", "many", "two", "zero")
    ]
    assert tags()["ar"].categories == {"zero", "one", "two", "few", "many", "other"}


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("a {", "has a brace without a name at letter 3"),
        ("a {b", "does not close the brace at letter 3"),
        ("a } b", "has a brace too many at letter 3"),
        ("{n, plural, one {a}}", "has a plural without the form 'other'"),
        ("{n, plural, some {a} other {b}}", "has a plural form 'some'; forms are zero, one"),
        ("{n, plural, other {b}", "does not close the brace at letter 1"),
        ("{n, plural, other {b", "does not close the form 'other'"),
    ],
)
def test_a_message_that_is_none_is_refused(text: str, flaw: str) -> None:
    with pytest.raises(LanguageError, match=f"^{flaw}".replace("(", r"\(")):
        read_message(text)
    form = {"language": "x", "locale": "de", "direction": "ltr", "messages": {"a": text}}
    with pytest.raises(LanguageError, match=r"de\.json: message 'a' "):
        Catalogue.of("de", form)


@pytest.mark.parametrize(
    ("change", "flaw"),
    [
        ({"direction": "up"}, "direction must be ltr or rtl"),
        ({"messages": {"a": " "}}, "message 'a' must be a text"),
        ({"extra": 1}, "must have the fields language, locale, direction, messages"),
        ({"locale": 3}, "locale must be of type str"),
        ({"liaisons": [[" y ", " e "]]}, "a liaison must be what lists say, what is said instead"),
        ({"liaisons": [[" y ", " e ", "("]]}, "a liaison must be what lists say"),
    ],
)
def test_a_file_that_is_no_catalogue_is_refused(change: dict[str, Any], flaw: str) -> None:
    form = {"language": "x", "locale": "de", "direction": "ltr", "messages": {"a": "b"}}
    with pytest.raises(LanguageError, match=flaw):
        Catalogue.of("de", form | change)
    with pytest.raises(LanguageError, match="named by its language"):
        Catalogue.of("German!", form)


def test_what_a_catalogue_lacks_is_said_in_english_and_marked() -> None:
    own = Catalogue("ar", "x", "ar", "rtl", {})
    assert Language(own, english(a="Page {n}")).say("a", n=1) == "\u2068Page 1\u2069 [en]"


def test_a_variety_of_a_language_is_said_as_that_one() -> None:
    assert language("de-AT").tag == language("DE").tag == "de"
    with pytest.raises(LanguageError, match="There is no language 'tlh'; there are en, "):
        language("tlh")


def test_a_list_heeds_the_sound_that_follows() -> None:
    spanish, german = language("es"), language("de")
    assert spanish.listing(["uno", "«otro»"], "or") == "uno u «otro»"
    assert spanish.listing(["Ana", "Inés"]) == "Ana e Inés"
    assert spanish.listing(["agua", "hielo"]) == "agua y hielo"
    assert spanish.listing(["otro"], "or") == "otro"
    assert german.listing(["eins", "otro"], "or") == "eins oder otro"


def test_the_vectors_are_what_is_said_now() -> None:
    path = ROOT / "scripts" / "make_language_vectors.py"
    spec = importlib.util.spec_from_file_location("make_language_vectors", path)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    written = json.loads((ROOT / "tests" / "vectors" / "languages.json").read_text("utf-8"))
    now = json.loads(json.dumps(script.vectors()))
    assert written == now, "run scripts/make_language_vectors.py"


def test_hostile_names_stay_names() -> None:
    survey = Survey(Schema.binary("{n}", "a\u202eb", "عليّ"), 1, 1.1, "InpHT")
    texts = [survey.question(slot).words("en", wordings(survey.schema, "en")) for slot in range(3)]
    assert "• {n} – yes" in texts[0]
    assert '• "a\\u{202e}b" – yes' in texts[1]
    assert "• \u2068عليّ\u2069 – yes" in texts[2]


def test_what_a_collector_may_answer_a_device_is_said_in_words() -> None:
    # One has a section of its own, the page knows no log, and draws no value that is impossible.
    elsewhere = {"survey-closed", "head-unknown", "value-impossible"}
    told = {name for name, problem in PROBLEMS.items() if problem.to_owner} - elsewhere
    messages = tags()["en"].messages
    assert [name for name in told if not {f"no.{name}", f"sorry.{name}"} & {*messages}] == []
