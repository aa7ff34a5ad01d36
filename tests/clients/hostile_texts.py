"""Texts, and surveys that cover them, as an enemy would write them: made up, then changed."""

from __future__ import annotations

import copy
import json
from itertools import pairwise
from random import Random
from typing import Any

import hostile

from deniable.formats.forms import parse_json
from deniable.questionnaire.layout import runs_of
from deniable.schema.attribute import Attribute
from deniable.survey.digests import digest
from deniable.survey.frozen import FrozenSurvey

__all__ = ["covering", "digests", "texts"]

LANGUAGES = ("en", "de", "zh-Hant", "pt-BR", "es-419", "EN", "e", "en\n", "en_US", "__proto__", "")
WORDS = (
    *(
        "a",
        "A b",
        "a\nb",
        "<b>x</b>",
        "\u0639\u200f1",
        "😀",
        "x" * 1_000,
        "x\u200d",
        "\u2067a\u2069",
    ),
    *(
        "",
        " ",
        "a ",
        "\na",
        "a\t",
        "\u200b",
        "\u00ad\u00a0",
        "a\u202e",
        "\x7f",
        "x" * 1_001,
        "\ud800",
    ),
    *("\ufeffa", "\u2028", "x" * 20_001, "\ufffe", "\U000e0041"),
)
SOUND = 8
"""So many of these words are sound, as a line or as prose."""

_FIELDS = """wording help values missing unit title introduction who contact consent thanks closed pages
    labels survey attributes languages layout default conditions attribute all on codes otherwise extra
    wording? labels? title?"""
FIELDS = _FIELDS.split()


def _word(random: Random) -> Any:
    return random.choice(WORDS[:SOUND] if random.random() < 0.995 else (*WORDS, None, 7, True))


def _values(random: Random, count: int) -> list[Any]:
    count += random.choice((1, -1)) if random.random() < 0.01 else 0
    return [random.choice((None, _word(random))) for _ in range(count)]


def _of_attribute(random: Random, attribute: Attribute, *, is_default: bool) -> dict[str, Any]:
    form = {}
    if is_default or random.random() < 0.5:
        form["wording"] = _word(random)
    is_number = attribute.scale is not None or bool(attribute.edges)
    if random.random() < 0.3:
        form["help"] = _word(random)
    for name, has in (
        ("values", not is_number),
        ("missing", is_number and attribute.missing is not None),
        ("unit", attribute.unit is not None),
    ):
        if random.random() < (0.4 if has else 0.01):
            form[name] = _values(random, attribute.size) if name == "values" else _word(random)
    return form


def _of_survey(
    random: Random, survey: FrozenSurvey, pages: int, *, is_default: bool
) -> dict[str, Any]:
    form: dict[str, Any] = {"title": _word(random)} if is_default else {}
    if random.random() < 0.3:
        form[random.choice(FIELDS[5:12])] = _word(random)
    if random.random() < 0.3:
        pages += random.random() < 0.1
        form["pages"] = [{"title": _word(random)} for _ in range(pages)]
    if random.random() < 0.3 and survey.labels.declared:
        form["labels"] = [
            {"values": _values(random, len(values))} if random.random() < 0.7 else {}
            for _, values in survey.labels.declared
        ]
    return form


def _split(runs: list[list[int]]) -> list[list[int]]:
    """Return runs of which the first is two that touch each other."""
    (first, last), *others = runs
    return [[first, first], [first + 1, last], *others] if first < last else runs


def _condition(random: Random, survey: FrozenSurvey, order: list[int], turn: int) -> dict[str, Any]:
    before = order[:turn] if random.random() < 0.98 else order
    all_clauses = []
    for _ in range(random.choice((1, 1, 2))):
        on = random.choice(before)
        codes = survey.schema.attributes[on].codes + (random.random() < 0.01)
        some = random.sample(range(codes), random.randint(1, min(codes, 40)))
        runs = [list(run) for run in runs_of(some)]
        if random.random() < 0.04:
            runs = random.choice((runs[::-1], _split(runs)))
        all_clauses.append({"on": on, "codes": runs})
    own = survey.schema.attributes[order[turn]]
    otherwise = random.randrange(own.codes + (random.random() < 0.02))
    return {"attribute": order[turn], "all": all_clauses, "otherwise": otherwise}


def _layout(random: Random, survey: FrozenSurvey) -> dict[str, Any]:
    order = [*range(len(survey.schema))]
    random.shuffle(order)
    cuts = sorted(random.sample(range(1, len(order)), random.randrange(min(len(order), 3))))
    starts = [0, *cuts, len(order)]
    pages = [order[a:b] for a, b in pairwise(starts)]
    turns = [turn for turn in range(1, len(order)) if random.random() < 0.4]
    conditions = [_condition(random, survey, order, turn) for turn in turns]
    if random.random() < 0.98:
        conditions.sort(key=lambda condition: condition["attribute"])
    return {"pages": [{"attributes": page} for page in pages], "conditions": conditions}


def texts(random: Random, survey: FrozenSurvey) -> dict[str, Any]:
    """Return the form of texts for a survey: sound ones, nearly sound ones, or anything."""
    layout = _layout(random, survey)
    pool = LANGUAGES[:5] if random.random() < 0.97 else LANGUAGES
    names = random.sample(pool, random.choice((1, 1, 2, 3)))
    languages = {
        name: {
            "survey": _of_survey(random, survey, len(layout["pages"]), is_default=not place),
            "attributes": [
                _of_attribute(random, attribute, is_default=not place)
                for attribute in survey.schema.attributes
            ],
        }
        for place, name in enumerate(names)
    }
    form = {"deniable": "texts", "format": 1, "default": names[0], "layout": layout}
    form["languages"] = languages
    times = random.choice((0, 0, 1, 1, 2))
    return _renamed(random, hostile.changed(random, form, (form,), times))


def _renamed(random: Random, form: Any) -> Any:
    """Return a form in which, once in a while, a field has another name or holds another word."""
    if random.random() < 0.8 or not isinstance(form, dict):
        return form
    places = [form]
    while random.random() < 0.8:
        inner = places[-1].values() if isinstance(places[-1], dict) else places[-1]
        parts = [each for each in inner if isinstance(each, dict | list) and each]
        if not parts:
            break
        places.append(random.choice(parts))
    place = places[-1]
    if isinstance(place, dict) and place:
        name = random.choice([*place])
        if random.random() < 0.5:
            place[random.choice(FIELDS)] = copy.deepcopy(place[name])
        else:
            place[name] = random.choice(WORDS)
    return form


def digests(form: Any) -> Any:
    """Return the digests of texts, sound or not; None where they have none."""
    try:
        own = parse_json(json.dumps(form), from_wire=True)
        languages = {
            name: {
                "survey": digest(each["survey"]),
                "attributes": [digest(part) for part in each["attributes"]],
            }
            for name, each in own["languages"].items()
        }
        return {
            "default": own["default"],
            "layout": digest(own["layout"]),
            "languages": languages,
        }
    except (LookupError, TypeError, AttributeError, ValueError):
        return None


def covering(random: Random, text: str) -> str:
    """Return the JSON of a survey that covers texts, or follows another; some of it is wrong."""
    try:
        form = json.loads(text)
        count = len(form["schema"]["attributes"])
    except (LookupError, TypeError, ValueError, RecursionError):
        return text

    def hexadecimal() -> str:
        return f"{random.getrandbits(256):064x}"

    names = random.sample(LANGUAGES[:5], random.choice((1, 2)))
    languages = {
        name: {"survey": hexadecimal(), "attributes": [hexadecimal() for _ in range(count)]}
        for name in names
    }
    more: dict[str, Any] = {
        "texts": {"default": names[0], "layout": hexadecimal(), "languages": languages}
    }
    if random.random() < 0.4:
        more["follows"] = hexadecimal()
    if random.random() < 0.4:
        more = hostile.changed(random, more, (more,), 1)
    if random.random() < 0.1:
        others = (hexadecimal().upper(), hexadecimal() + "\n", "", None, [hexadecimal()])
        more[random.choice(("follows", "follows?", "texts?"))] = random.choice(others)
    if random.random() < 0.1 and isinstance(more.get("texts"), dict):
        more["texts"]["default"] = random.choice(LANGUAGES)
    if random.random() < 0.1 and isinstance(more.get("texts"), dict):
        more["texts"]["languages"] = {random.choice(LANGUAGES): each for each in languages.values()}
    return json.dumps(form | more)
