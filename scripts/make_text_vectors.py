#!/usr/bin/env python
"""Write tests/vectors/texts.json: surveys with texts, and texts that every client must refuse.

Each refused document is of the first survey, or of one that is the same but for these digests: then it
covers them, changes and all, so that only the rules refuse them. Without, they were changed after
freezing.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from deniable import Survey
from deniable.questionnaire import Questionnaire, Texts
from deniable.survey.digests import digest

PATH = Path(__file__).resolve().parents[1] / "tests" / "vectors" / "texts.json"

Form = dict[str, Any]
Change = Callable[[Form], object]

QUESTIONNAIRE: Form = {
    "deniable": "questionnaire",
    "format": 1,
    "languages": ["de", "en"],
    "title": {"de": "Arbeit & Ruhe", "en": "Work & rest"},
    "introduction": "Vier Fragen.\n\nSie dauern nicht lange.",
    "labels": [{"name": "region", "wording": "Wo?", "values": [{"value": "n", "label": "Nord"}, "s"]}],
    "design": {"mechanism": "InpHT", "epsilon": 1.0},
    "attributes": [
        {
            "name": "job",
            "wording": {"de": "Haben Sie Arbeit?", "en": "Do you have a job?"},
            "values": [{"value": True, "label": {"de": "Ja", "en": "Yes"}}, False],
            "missing": "no answer",
            "label_missing": {"de": "keine Angabe"},
        },
        {
            "name": "pay",
            "wording": "Wie viel verdienen Sie?",
            "low": 0,
            "high": 10_000,
            "step": 500,
            "unit": {"de": "Euro", "en": "EUR"},
            "missing": "no answer",
            "label_missing": {"de": "keine Angabe"},
            "when": {"attribute": "job", "is": True, "otherwise": 0},
        },
        {"name": "happy", "wording": {"de": "Froh?", "en": "Happy?"}},
        {
            "name": "since",
            "wording": "Seit wann?",
            "low": "2026-01-01",
            "high": "2026-01-31",
            "complete": True,
            "when": {
                "all": [
                    {"attribute": "pay", "is": {"above": 500, "to": 2000}},
                    {"attribute": "happy", "is": [False]},
                ],
                "otherwise": "2026-01-15",
            },
        },
        {
            "name": "rest",
            "wording": "Wie oft ruhen Sie?",
            "values": ["never", "at times", "often", "no answer"],
            "ordered": True,
            "missing": "no answer",
            "when": {"attribute": "since", "is": {"to": "2026-01-20"}, "otherwise": "no answer"},
        },
    ],
    "pages": [
        {"title": "Arbeit", "attributes": ["job", "pay"]},
        {"title": {"de": "Leben", "en": "Life"}, "attributes": ["happy", "since", "rest"]},
    ],
}  # fmt: skip

RECORDS: list[Form] = [
    {},
    {"job": True, "pay": 1000, "happy": False, "since": "2026-01-03", "rest": "often"},
    {"job": True, "pay": 1000, "happy": False, "since": "2026-01-23", "rest": "often"},
    {"job": True, "pay": 749.99, "happy": False, "since": "2026-01-03", "rest": "often"},
    {"job": True, "pay": 750, "happy": False, "since": "2026-01-03", "rest": "often"},
    {"job": True, "pay": 2249, "happy": False, "since": None, "rest": "never"},
    {"job": True, "pay": 2250, "happy": False, "since": "2026-01-03", "rest": "never"},
    {"job": True, "pay": "?", "happy": False, "since": "2026-01-03"},
    {"job": True, "pay": None, "happy": True, "since": "2026-01-31", "rest": "no answer"},
    {"job": False, "pay": 9999, "happy": False, "since": "2026-01-31", "rest": "?"},
    {"job": 1, "pay": 1000, "happy": False, "since": "2026-01-03", "rest": "often"},
    {"job": "no answer", "pay": 1000, "happy": 0, "since": "2026-01-03", "rest": "often"},
    {"job": True, "pay": 1500, "happy": None, "since": "2026-02-30", "rest": "often", "more": 1},
]


BINS: Form = {
    "deniable": "questionnaire",
    "format": 1,
    "languages": ["en"],
    "title": "What is skipped is a bin, or no answer",
    "design": {"mechanism": "InpHT", "epsilon": 1.0},
    "attributes": [
        {"name": "asked", "wording": "A?"},
        *(
            {"name": f"bin {index}", "wording": "How much?", "when": when} | fields
            for index, (otherwise, fields) in enumerate(
                [
                    ("below 10", {"edges": [10, 50], "complete": True}),
                    ("10 to 50", {"edges": [10, 50], "missing": "none"}),
                    ("50 or more", {"edges": [10, 50], "missing": "none", "other": "no number"}),
                    ("none", {"edges": [10, 50], "missing": "none", "other": "no number"}),
                    ("no number", {"edges": [10, 50], "missing": "none", "other": "no number"}),
                    ("below -5.5", {"edges": [-5.5, 0], "missing": 0}),
                    (0, {"edges": [-5.5, 0], "missing": 0}),
                    ("below 0", {"edges": [0, 1], "complete": True}),
                    ("none", {"low": 0, "high": 4, "step": 1, "missing": "none"}),
                ]
            )
            for when in [{"attribute": "asked", "is": True, "otherwise": otherwise}]
        ),
        {
            "name": "after",
            "wording": "And?",
            "when": {"attribute": "bin 1", "is": "10 to 50", "otherwise": True},
        },
    ],
}

BIN_RECORDS: list[Form] = [
    {"asked": False, "after": False},
    {"asked": False, "after": False} | {f"bin {index}": 99 for index in range(9)},
    {"asked": True, "after": False} | {f"bin {index}": 1 for index in range(9)},
    {"asked": True, "after": False, "bin 0": 9, "bin 1": 10, "bin 7": 0},
]
"""Each is a whole record, once what is not asked has its declared value."""


def words(language: str, index: int, **fields: Any) -> Change:
    return lambda form: form["languages"][language]["attributes"][index].update(fields)


def said(language: str, **fields: Any) -> Change:
    return lambda form: form["languages"][language]["survey"].update(fields)


def condition(index: int, **fields: Any) -> Change:
    return lambda form: form["layout"]["conditions"][index].update(fields)


def clause(index: int, **fields: Any) -> Change:
    return lambda form: form["layout"]["conditions"][index]["all"][0].update(fields)


SOUND: dict[str, Change] = {
    "as it was written": lambda form: None,
    "HTML is text": words("de", 0, wording='<img src=x onerror="alert(1)"> & <script>x</script>'),
    "right to left, marks and joiners": said("de", title="\u0639\u0631\u0628\u064a\u200f 1 \u200d x"),
    "a line without end, and its end": said("en", introduction="a" * 20_000, title="\U0001f600" * 1_000),
    "another default language": lambda form: (
        form.update(default="en"),
        [
            each.setdefault("wording", "x")
            for each in form["languages"]["en"]["attributes"]
        ],
    ),
    "a third language, of which nothing is said": lambda form: form["languages"].update(
        {"pt-BR": {"survey": {}, "attributes": [{}, {}, {}, {}, {}]}}
    ),
    "pages in another order": lambda form: form["layout"].update(
        pages=[{"attributes": [2, 0]}, {"attributes": [1, 3, 4]}]
    ),
    "no conditions": lambda form: form["layout"].update(conditions=[]),
}  # fmt: skip
"""Texts that differ from the first, and are sound."""

FROZEN: dict[str, Change] = {
    "another wording": words("de", 0, wording="Haben sie Arbeit?"),
    "help that was added": words("en", 3, help="Hm."),
    "another label of a value": words("de", 0, values=["Nein", "Ja", None]),
    "another title": said("en", title="Play"),
    "another consent": said("de", consent="Ja."),
    "titles of pages swapped": lambda form: form["languages"]["de"]["survey"]["pages"].reverse(),
    "a language less": lambda form: form["languages"].pop("en"),
    "a language more": lambda form: form["languages"].update(fr=form["languages"]["de"]),
    "languages swapped": lambda form: form.update(
        languages={"de": form["languages"]["en"], "en": form["languages"]["de"]}
    ),
    "another default language, the same words": lambda form: form.update(default="en"),
    "pages swapped": lambda form: form["layout"]["pages"].reverse(),
    "conditions left out": lambda form: form["layout"].update(conditions=[]),
    "another value of what is skipped": condition(0, otherwise=1),
    "another condition": clause(0, codes=[[1, 1]]),
    "an attribute more": lambda form: form["languages"]["de"]["attributes"].append({"wording": "x"}),
}  # fmt: skip
"""Changes to texts whose survey is frozen."""

_BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_UNSEEN = "\u0000\u0009\u000d\u001b\u007f\u0085\u2028\u2029\ufeff\ufffe"

UNFIT: dict[str, Change] = {
    "a field more": lambda form: form.update(extra=1),
    "a field more in words": words("de", 0, html="<b>"),
    "a field with a question mark": words("de", 0, **{"help?": "x"}),
    "another format": lambda form: form.update(format=2),
    "no title": lambda form: form["languages"]["de"]["survey"].pop("title"),
    "no wording in the default language": lambda form: form["languages"]["de"]["attributes"][0].pop(
        "wording"
    ),
    "an empty wording": words("de", 0, wording=""),
    "a wording that nobody sees": words("de", 0, wording="\u200b \u00ad"),
    "a wording of spaces": words("de", 0, wording="  "),
    "a space before it": words("de", 0, wording=" a"),
    "a line's end behind it": words("de", 0, wording="a\n"),
    "too long a wording": words("de", 0, wording="a" * 20_001),
    "too long a title": said("de", title="\U0001f600" * 1_001),
    "a number for a wording": words("de", 0, wording=7),
    "two lines in a title": said("de", title="a\rb"),
    "numbers for labels": words("de", 0, values=[1, 2, 3]),
    "labels of fewer values": words("de", 0, values=["a", "b"]),
    "labels of a number's values": words("de", 1, values=["a", "b"]),
    "a missing value that is none": words("de", 2, missing="x"),
    "a missing value among others": words("de", 0, missing="x"),
    "a unit that is none": words("de", 2, unit="x"),
    "words of fewer pages": lambda form: form["languages"]["en"]["survey"]["pages"].pop(),
    "words of more labels": lambda form: form["languages"]["de"]["survey"]["labels"].append({}),
    "words of fewer values of a label": lambda form: form["languages"]["de"]["survey"]["labels"][
        0
    ].update(values=["a"]),
    "no pages": lambda form: form["layout"].update(pages=[]),
    "an attribute on no page": lambda form: form["layout"]["pages"][1]["attributes"].pop(),
    "an attribute on two pages": lambda form: form["layout"]["pages"][1]["attributes"].append(0),
    "an attribute that is none, on a page": lambda form: form["layout"]["pages"][0].update(
        attributes=[0, 7]
    ),
    "conditions in another order": lambda form: form["layout"]["conditions"].reverse(),
    "two conditions of one attribute": condition(1, attribute=1),
    "a condition of no attribute": condition(2, attribute=5),
    "a condition of what is asked first": condition(0, attribute=0),
    "a condition on what is asked later": clause(0, on=3),
    "a condition on itself": clause(0, on=1),
    "a condition on nothing": clause(0, on=99),
    "a condition that asks nothing": condition(0, all=[]),
    "too many clauses": lambda form: form["layout"]["conditions"][0].update(
        all=form["layout"]["conditions"][0]["all"] * 21
    ),
    "a skipped value that is none": condition(0, otherwise=22),
    "a condition on a value that is none": clause(0, codes=[[2, 3]]),
    "a run that falls": clause(0, codes=[[1, 0]]),
    "runs that touch": clause(0, codes=[[0, 0], [1, 1]]),
    "runs in another order": clause(0, codes=[[2, 2], [0, 0]]),
    "half a run": clause(0, codes=[[1]]),
    "a run below the first value": clause(0, codes=[[-1, 1]]),
    "a language that is none": lambda form: form["languages"].update(
        {"DE": form["languages"]["en"]}
    ),
    **{
        f"U+{ord(sign):04X} in a wording": words("de", 0, wording=f"a{sign}b")
        for sign in _BIDI + _UNSEEN
    },
    "half a pair": words("de", 0, wording="a\ud800b"),
}  # fmt: skip
"""Texts that are refused even if a survey covers them."""

BROKEN: dict[str, Change] = {
    "a default language without digests": lambda form: form["texts"].update(default="fr"),
    "digests of fewer attributes": lambda form: form["texts"]["languages"]["de"]["attributes"].pop(),
    "a digest that is none": lambda form: form["texts"]["languages"]["de"].update(survey="x"),
    "a digest in capitals": lambda form: form["texts"].update(layout=form["texts"]["layout"].upper()),
    "no languages": lambda form: form["texts"].update(languages={}),
    "a language with a line's end": lambda form: form["texts"]["languages"].update(
        {"en\n": form["texts"]["languages"]["de"]}
    ),
    "texts that are null": lambda form: form.update(texts=None),
    "the words themselves": lambda form: form["texts"].update(title="x"),
    "follows nothing": lambda form: form.update(follows=""),
    "follows null": lambda form: form.update(follows=None),
    "follows a part of an id": lambda form: form.update(follows="ab" * 31),
    "follows an id in capitals": lambda form: form.update(follows="AB" * 32),
    "follows an id and a line's end": lambda form: form.update(follows="ab" * 32 + "\n"),
    "follows two": lambda form: form.update(follows=["ab" * 32]),
    "a field that may be left out, by its rule's name": lambda form: form.update({"follows?": 1}),
}  # fmt: skip
"""Surveys that are none."""


def changed(form: Form, change: Change) -> Form:
    form = copy.deepcopy(form)
    change(form)
    return form


def digests(texts: Form) -> Form:
    """Return the digests of any texts, whatever they are."""
    languages = {
        name: {"survey": digest(each["survey"]), "attributes": [*map(digest, each["attributes"])]}
        for name, each in texts["languages"].items()
    }
    return {
        "default": texts["default"],
        "layout": digest(texts["layout"]),
        "languages": languages,
    }


def _bins(follows: str) -> Form:
    """Return a survey of numbers in bins, and which values records have that skip them."""
    questionnaire = Questionnaire.of(BINS | {"follows": follows})
    survey, texts = Survey.from_questionnaire(questionnaire), questionnaire.texts
    completed = []
    for record in BIN_RECORDS:
        whole = texts.completed(record, survey.schema)
        values = [*survey.schema.decode(survey.schema.encode(whole)).values()]
        completed.append({"record": record, "whole": whole, "values": values})
    row = {"why": "bins and no answers that are skipped", "id": survey.id}
    row |= {"survey": json.loads(survey.to_json()), "texts": texts.to_form()}
    return row | {"completed": completed}


def vectors() -> Form:
    """Return all of it."""
    questionnaire = Questionnaire.of(QUESTIONNAIRE)
    survey, own = Survey.from_questionnaire(questionnaire), questionnaire.texts.to_form()
    sound = []
    for why, change in SOUND.items():
        texts = Texts.of(changed(own, change))
        other = survey.worded(texts.digests, None if not sound else survey.id)
        texts.check(other)
        completed = [
            {"record": record, "whole": texts.completed(record, other.schema)} for record in RECORDS
        ]
        row = {"why": why, "id": other.id, "survey": json.loads(other.to_json())}
        sound.append(row | {"texts": texts.to_form(), "completed": completed})
    sound.append(_bins(survey.id))
    refused: list[Form] = [
        {"why": why, "texts": changed(own, change)} for why, change in FROZEN.items()
    ]
    for why, change in UNFIT.items():
        form = changed(own, change)
        row = {"why": why, "texts": form}
        with suppress(UnicodeEncodeError):  # half a letter has no digest
            row["digests"] = digests(form)
        refused.append(row)
    refused.append({"why": "texts of a survey that has none", "texts": own, "digests": None})
    form = json.loads(survey.to_json())
    broken = [{"why": why, "survey": changed(form, change)} for why, change in BROKEN.items()]
    return {"sound": sound, "refused": refused, "broken": broken}


def main() -> None:
    """Write the file, one case on each line."""
    parts = []
    for name, rows in vectors().items():
        lines = ",\n  ".join(json.dumps(row, sort_keys=True) for row in rows)
        parts.append(f' "{name}": [\n  {lines}\n ]')
    PATH.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
