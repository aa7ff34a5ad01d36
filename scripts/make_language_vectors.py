"""Write tests/vectors/languages.json: what Python says in each language, for JavaScript to say the same.

A catalogue's wording may change with every release, so this file does as well: it binds the two clients
of one release to each other, and nobody else's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from deniable import Schema, Survey
from deniable.languages import language, tags
from deniable.languages.messages import fill, read_message
from deniable.questionnaire import Questionnaire
from deniable.questionnaire.wordings import wordings
from deniable.questions.question import Question
from deniable.schema.attribute import Attribute

FOLDER = Path(__file__).parents[1] / "tests" / "vectors"
PATH = FOLDER / "languages.json"

NUMBERS = (0, 1, 2, 3, 11, 100, 1234, 12_345, 1234.5, -3, -1234.25, 0.1, 1e-7, 1_000_000, 2**53 - 1)
DAYS = ("2026-01-01", "1999-12-31", "2024-02-29")
COUNTS = (0, 1, 2, 3, 10, 11, 99, 100, 102, 1_000, 1_000_000)
LISTS = (
    ("uno", "otro"), ("sí", "no", "Óscar"), ("a", "«hoy»"), ("7", "8"), ("10", "11"), ("9", "110"),
    ("Juan", "Íñigo"), ("agua", "hijo"), ("agua", "hielo"), ("x", "yeso"), tuple("abcdefghij"),
)  # fmt: skip
"""Things before which Spanish says another *and* or *or*, and some before which it does not."""
NAMES = ("Ali", "عليّ", "<b>x</b>", "a, b", "{n}", "حرف A1", "12 %")

MESSAGES: tuple[tuple[str, tuple[dict[str, Any], ...]], ...] = (
    ("No placeholder.", ({},)),
    ("{a} and {b}; {a}", ({"a": "x", "b": 1234.5}, {"a": "{b}", "b": -2})),
    (
        "{n, plural, one {{n} thing} other {{n} things of {a}}}!",
        tuple({"n": n, "a": "y"} for n in COUNTS),
    ),
    (
        "{n, plural, zero {z} one {o} two {t} few {f {a}} many {m} other {r}} {a}",
        tuple({"n": n, "a": "y"} for n in COUNTS),
    ),
)

SURVEYS = (
    Survey(
        Schema.of(
            age=Attribute("age", low=18, high=100, unit="years", missing="no answer"),
            born=Attribute("born", low="1920-01-01", high="2008-12-31", complete=True),
            sex=["f", "m"], naps=[False, True], drink=["never", "weekly, or so", "daily"],
        ),
        2, 1.1,
    ),
    Survey(
        Schema.of(pay=Attribute("pay", edges=(0, 1_000, 25_000.5), missing="?"), x=[False, True]),
        2, 1.0, "MargPS",
    ),
    Survey(Schema.binary("Grumbling", "غناء", " two\u200b", "A, B", "e"), 5, 1.1, "InpHT"),
    Survey(Schema.binary(*(f"a{i}" for i in range(8))), 8, 1.1, "InpHT"),
    Survey(Schema.binary("a", "b", "c"), 2, 1.1, "InpEM"),
    Survey(Schema.of(a=[1, 2, 3], b=["x", "y"]), 1, 1.3, "InpRR"),
    Survey(Schema.binary("a", "b"), 2, 2.0, "InpPS"),
)  # fmt: skip


def questionnaire() -> Questionnaire:
    """Return one whose texts are in three languages, with gaps."""
    return Questionnaire.of(
        {
            "deniable": "questionnaire", "format": 1, "languages": ["de", "en", "ar"],
            "title": {"de": "Arbeit und Ruhe", "en": "Work and rest", "ar": "العمل والراحة"},
            "attributes": [
                {"name": "naps",
                 "wording": {"de": "Schlafen Sie  bei der Arbeit?", "en": "Do you sleep at work?",
                             "ar": "هل تنام في العمل؟"}},
                {"name": "drink", "complete": True,
                 "wording": {"de": "Wie oft trinken Sie?", "en": "How often do you drink?"},
                 "values": [{"value": "never", "label": {"de": "nie", "ar": "أبدًا"}},
                            {"value": "some", "label": {"de": "ab und zu, selten", "en": "rarely"}},
                            {"value": "daily"}]},
                {"name": "hours", "wording": "Wie viele Stunden arbeiten Sie?",
                 "low": 0, "high": 80, "step": 2, "missing": "none",
                 "unit": {"de": "Stunden", "ar": "ساعة"},
                 "label_missing": {"de": "weiß nicht", "en": "do not know"}},
                {"name": "pay", "wording": "Gehalt?", "edges": [1000, 2500.5], "missing": "x",
                 "label_missing": "kein Gehalt"},
            ],
        }
    )  # fmt: skip


def questions_of(survey: Survey) -> list[Any]:
    """Return one question of each kind that a survey has, among a few hundred slots."""
    kinds: dict[Any, Any] = {}
    for slot in range(0, survey.slots, max(1, survey.slots // 300)):
        question = survey.question(slot)
        form = question.to_json()
        bits = [
            [
                (sorted(term), len(term.get("values", ())), term.get("values") == [True])
                for term in bit
            ]
            for bit in form["asks"].get("parities", ())
        ]
        kinds.setdefault(str((question.answer, bits)), question)
    return [*kinds.values()][:10]


def rows_of(survey: Survey, texts: Any) -> dict[str, Any]:
    """Return a survey's questions in all languages."""
    rows = []
    for question in questions_of(survey):
        words = {tag: question.words(tag, wordings(survey.schema, tag, texts)) for tag in tags()}
        rows.append({"question": question.to_json(), "words": words})
    form = {"attributes": json.loads(survey.to_json())["schema"]["attributes"], "questions": rows}
    return form | ({} if texts is None else {"texts": texts.to_form()})


def golden() -> dict[str, Any]:
    """Return the questions that clients must be able to say, of no survey, in all languages."""
    rows = []
    for form in json.loads((FOLDER / "clients.json").read_text("utf-8"))["questions"]:
        question = Question.from_json(form)
        rows.append({"question": form, "words": {tag: question.words(tag) for tag in tags()}})
    return {"attributes": [], "questions": rows}


def vectors() -> dict[str, Any]:
    """Return all of it."""
    rows = []
    for tag in tags():
        own = language(tag)
        rows.append(
            {
                "language": tag,
                "numbers": [[number, own.number(number)] for number in NUMBERS],
                "percents": [[number, own.percent(number)] for number in (0.1, 50, 99.9)],
                "days": [[day, own.day(day)] for day in DAYS],
                "lists": [
                    [
                        list(names),
                        own.listing(names),
                        own.listing(names, "or"),
                    ]
                    for names in (*(NAMES[:count] for count in (1, 2, 3, 5)), *LISTS)
                ],
                "isolated": [[name, own.isolate(name)] for name in NAMES],
                "messages": [
                    [text, each, fill(read_message(text), each, own.number, own.category)]
                    for text, several in MESSAGES
                    for each in several
                ],
            }
        )
    form = questionnaire()
    texted = Survey(form.schema, 2, 1.1, texts=form.texts)
    surveys = [rows_of(survey, None) for survey in SURVEYS] + [rows_of(texted, form.texts)]
    return {"languages": rows, "surveys": [*surveys, golden()]}


def main() -> None:
    PATH.write_text(json.dumps(vectors(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
