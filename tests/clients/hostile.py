"""Surveys, questions and records as an enemy would write them: sound ones changed, and new ones made up.

Everything follows from one seed, so that a case that was found can be found again.
"""

from __future__ import annotations

import copy
import json
from datetime import date
from functools import cache
from math import exp, nextafter, prod
from random import Random
from typing import Any

from deniable import Schema, Survey
from deniable.errors import DeniableError
from deniable.mechanisms.registry import MECHANISMS
from deniable.questions.answers import Bitwise, Subset, Unary
from deniable.schema.attribute import Attribute
from deniable.schema.scale import Days

__all__ = ["changed", "labels", "record", "survey", "words"]

NAMES = (*MECHANISMS, "InpHTBits")
_WORDS = "a other none 1 true True ß SS ẞ é __proto__ constructor period Slot"
_INTEGERS = """0 1 01 -1 +1 1.0 13835058055282163712 9223372036854775807 9223372036854775808
    18446744073709551615 18446744073709551616"""
_DECIMALS = """1.0 1 1e0 0.5 1e-06 1e-6 1e-05 0.0001 -0.0 0.0 20.0 20.000000000000004 nan inf 1e16 1e+16
    5e-324 1.7976931348623157e+308 0x10 1_0 100000.0 1e+06 1000000.0 123456.0 1234567.0
    0.30000000000000004"""
_FIELDS = """name values missing other edges complete observed attributes answer cell sizes parities
    questions weight weights list lists touches sets among way symbols chosen threshold own bits labels
    periods extra __proto__ ordered grid points days unit low high step first last"""
_DAYS = """2026-11-01 2026-11-02 2026-11-30 2024-02-29 2023-02-29 2026-2-3 0001-01-01 9999-12-31
    0000-01-01 2026-13-01 2026-11-01T00:00:00Z +002026-11-01 1969-12-31 1900-03-01 20261101 2026-W01-1"""
_NUMBERS = """0.0 1.0 2.0 3.0 10.0 99.0 -1.0 -0.5 0.1 0.3 0.7 0.25 2.5 1e-05 1e-15 1e-16 4095.0 4096.0
    8190.0 0.30000000000000004 9007199254740991.0 9007199254740992.0 -9007199254740991.0 1e+16
    123456.789 5e-324"""

TEXTS = (
    *("", " a", "\u00a0", "\u202e", "\ud800", "😀", "a,b", "below 1", "1 or more", "x" * 101),
    *_WORDS.split(),
)
NUMBERS = (
    *(-5, -1, *range(5), *range(8, 14), 24, 25, 33, 34, 61, 62, 63, 64, 255, 4096, 4097, 65536),
    *(2**24, 2**28, 2**31, 2**32, 2**32 + 1, 2**53, 2**63, 2**64, 10**400, 0.5, 1.0, -0.0, 1e300),
)
DIGITS = ("", " 1", "١", *_INTEGERS.split())
DOUBLES = tuple(_DECIMALS.split())
FIELDS = tuple(_FIELDS.split())
DAYS = tuple(_DAYS.split())
POINTS = tuple(_NUMBERS.split())
LISTS = ("codes", "bits", "balanced")
CONFUSED = (
    *((1, "1"), (True, 1), (False, 0, 2), ("true", True), (0, "0", "x"), ("a", "a"), ("a", "A")),
    (-1, "-1"),
)


@cache
def sound() -> tuple[dict[str, Any], ...]:
    """Surveys of every mechanism, over every kind of attribute, some with labels and periods."""
    age = Attribute("age", missing="none", other="none", edges=(18, 40, 65.5))
    share = Attribute("share", edges=(-1e-7, 0, 1e6, 1.5e17), missing=0)
    schemas = [
        Schema.binary("a", "b", "c", "d"),
        Schema.binary(*(f"q{i}" for i in range(9))),
        Schema.of(sex=["f", "m"], income=["low", "mid", "high"], age=age),
        Schema.of(n=[1, 2, 3, 4, 5], t=Attribute("t", ("x", "y"), "?", "else"), b=[False, True]),
        Schema.of(share=share, c=Attribute("c", tuple("abcdefg"), complete=True), b=[False, True]),
        Schema.binary("solo"),
        Schema.of(t=Attribute("t", ("x", "y"), "?", "else"), age=age),
        *_ordered_schemas(),
    ]
    declared: list[dict[str, Any]] = [
        {},
        {"labels": {"region": ["north", "south"], "Größe": ["1", "2", "3"]}},
        {"periods": ["2026-11-01", "2026-12-01", "2027-01-01"]},
        {"labels": {"v": ["1"]}, "periods": ["2026-11-01", "2026-12-01"]},
    ]
    forms = []
    for number, (name, schema) in enumerate((n, s) for n in NAMES for s in schemas):
        for order in range(1, min(3, len(schema)) + 1):
            for epsilon in (1.0986122886681098, 4.0):
                more = declared[(number + order) % len(declared)]
                try:
                    made = Survey(schema, order, epsilon, name, **more)
                except DeniableError:
                    continue
                if len(text := made.to_json()) < 20_000:
                    forms.append(json.loads(text))
    return tuple(forms)


@cache
def _ordered_schemas() -> tuple[Schema, ...]:
    """Numbers, days and ordered words, with what stands for missing and without."""
    years = Attribute("years", low=0, high=99, missing="none", other="none", unit="years")
    share = Attribute("share", low=-0.5, high=0.7, step=0.1, missing=False)
    paid = Attribute("paid", points=(0.1, 1, 2.5, 1000), edges=(1, 2.5), unit="€")
    day = Attribute("day", low="2024-02-01", high="2024-03-02", step=3, missing="?", other="?")
    born = Attribute("born", low="1969-12-30", high="1970-01-01", complete=True)
    often = Attribute("often", ("never", "at times", "often", "always"), ordered=True)
    rank = Attribute("rank", (3, 2, 1, 0), missing=0, ordered=True)
    return (
        Schema((years, Attribute("b"))),
        Schema((share, often, day)),
        Schema((Attribute("c", ("x", "y", "z")), paid, born, rank)),
        Schema((years,)),
    )


ODD_ORDERS = (
    *({"missing": number, "other": number} for number in (-7, 0, 99, 5000)),
    *({"missing": -7}, {"missing": "2026-11-01"}, {"other": "else"}, {"missing": 1.5}),
    *(
        {"edges": ["0.5"]},
        {"edges": ["0.05", "0.4"]},
        {"edges": ["-0.5"]},
        {"edges": ["1.0", "1.0"]},
    ),
    *({"unit": "x"}, {"ordered": True}, {"values": ["a", "b"]}),
)
"""What an attribute with an order may not have, or only some."""


# Changes


def _paths(form: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = (
        form.items()
        if isinstance(form, dict)
        else enumerate(form)
        if isinstance(form, list)
        else ()
    )
    return [path, *(deep for key, each in items for deep in _paths(each, (*path, key)))]


def _at(form: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        form = form[key]
    return form


def _scalar(random: Random, old: Any) -> Any:
    """Another value in the place of one: near it, of its kind, or of any other."""
    pools: list[Any] = [(None, True, False, [], {}, [[]], "x"), TEXTS, NUMBERS, DIGITS, DOUBLES]
    if isinstance(old, bool) or random.random() < 0.15:
        return random.choice(random.choice(pools))
    if isinstance(old, int):
        near = old + random.choice((-2, -1, 1, 2))
        return random.choice(
            (near, near, 2 * old, random.choice(NUMBERS), float(min(old, 1 << 60)), str(old))
        )
    if isinstance(old, str) and old.isdigit():
        near = str(int(old) + random.choice((-1, 1, 2**40, -(2**40))))
        return random.choice(
            (near, near, str(random.getrandbits(64)), random.choice(DIGITS), int(old))
        )
    if isinstance(old, str):
        pools = [TEXTS, DOUBLES, DAYS if old[4:5] == "-" else POINTS]
        return random.choice(
            (old + " ", old.upper(), old[:-1], *(random.choice(pool) for pool in pools))
        )
    return random.choice(random.choice(pools))


def changed(random: Random, form: Any, others: tuple[Any, ...], times: int) -> Any:
    """Return a form with some places changed, left out, doubled, swapped, or taken from another form."""
    form = copy.deepcopy(form)
    for _ in range(times):
        path = random.choice(_paths(form))
        if not path:
            continue
        holder, key, old = _at(form, path[:-1]), path[-1], _at(form, path)
        match random.randrange(8):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, list):
                holder.insert(key, copy.deepcopy(random.choice(holder)))
            case 2 if isinstance(holder, list):
                other = random.randrange(len(holder))
                holder[key], holder[other] = holder[other], holder[key]
            case 1 | 2 if isinstance(holder, dict):
                holder[random.choice(FIELDS)] = (
                    holder.pop(key) if random.random() < 0.5 else copy.deepcopy(old)
                )
            case 3:
                other = random.choice(others)
                places = [
                    p for p in _paths(other) if p and type(p[-1]) is type(key) and p[-1] == key
                ]
                if places:
                    holder[key] = copy.deepcopy(_at(other, random.choice(places)))
            case 4 if isinstance(old, dict):
                old[random.choice(FIELDS)] = random.choice((1, True, [0, 1], [1, 1], [2, 3], "a"))
            case 4 if isinstance(old, list):
                old.append(_scalar(random, old[-1] if old else None))
            case _:
                holder[key] = (
                    _scalar(random, old)
                    if not isinstance(old, dict | list) or random.random() < 0.1
                    else old
                )
    return form


# Made up


def _scale(random: Random) -> dict[str, Any]:
    """A grid, points, days or ordered words: nearly sound, as an enemy would write them."""
    match random.randrange(5):
        case 0:
            low, step = float(random.choice(POINTS)), float(random.choice(POINTS[:16]))
            high = low + step * random.choice((1, 2, 3, 7, 40, 4095, 4096, 1.5))
            digits = random.choice((1, 2, 6, 15, 17))
            ends = (repr(float(f"{each:.{digits}g}")) for each in (low, high, step))
            return {"grid": dict(zip(("low", "high", "step"), ends, strict=True))}
        case 1:
            low, steps = random.randint(-50, 50), random.choice((1, 2, 3, 9, 100))
            size = random.choice((0.1, 0.25, 0.5, 1, 3, 1000))
            ends = (repr(float(f"{each:.6g}")) for each in (low, low + size * steps, size))
            return {"grid": dict(zip(("low", "high", "step"), ends, strict=True))}
        case 2:
            points = sorted(
                {random.choice(POINTS) for _ in range(random.choice((2, 4, 9)))}, key=float
            )
            return {"points": points}
        case 3:
            first, last = sorted(random.sample(DAYS[:9], 2))
            step = random.choice((1, 1, 2, 7, 29, 36525, 36526))
            if random.random() < 0.7:
                first, last, step = "2024-02-20", "2024-03-05", random.choice((1, 2, 7, 14))
            return {"days": {"first": first, "last": last, "step": step}}
    values = [f"v{i}" for i in range(random.choice((2, 3, 4, 5, 9)))]
    return {"values": values, "ordered": True}


def _ordered(random: Random, name: str) -> dict[str, Any]:
    """An attribute with an order, and what stands for missing or for anything else in it."""
    if random.random() < 0.7:
        every = [a for schema in _ordered_schemas() for a in schema.attributes if a.is_ordered]
        form = random.choice(every).to_json() | {"name": name}
        return form | (random.choice(ODD_ORDERS) if random.random() < 0.1 else {})
    form = {"name": name} | _scale(random)
    last = form.get("values", ["none"])[-1]
    if random.random() < 0.5:
        form["missing"] = random.choice((last, last, "none", False, -7, 0, 5000, DAYS[0]))
        if random.random() < 0.5:
            form["other"] = random.choice((form["missing"], form["missing"], "else"))
    if "grid" in form or "points" in form:
        if random.random() < 0.3:
            form["unit"] = random.choice(("years", "€", "", " ", "a" * 101))
        if random.random() < 0.5:
            pool = form.get("points") or ["0.5", *(repr(float(each)) for each in range(-3, 6))]
            form["edges"] = sorted(random.sample(pool, min(len(pool), 2)), key=float)
    elif random.random() < 0.05:
        form |= random.choice(({"unit": "days"}, {"edges": ["1.0"]}))
    return form | ({"complete": True} if random.random() < 0.2 else {})


def _size_of(form: dict[str, Any]) -> int:
    try:
        return min(Attribute.of_form(form).codes, 64)
    except (DeniableError, ValueError):
        return 2


def _is_ordered(form: Any) -> bool:
    return isinstance(form, dict) and not {"ordered", "grid", "points", "days"}.isdisjoint(form)


def _attribute(random: Random, name: str) -> dict[str, Any]:
    if random.random() < 0.4:
        return {"name": name, "values": [False, True]}
    if random.random() < 0.2:
        edges = sorted(
            {
                random.choice(
                    (-2.5, 0.0, 1e-5, 1.0, 18.0, 123456.0, 1234567.0, 1e16, 5e-324, 1e-320)
                )
                for _ in range(3)
            }
        )
        made = Attribute(
            name,
            missing=random.choice((None, "none", 7)),
            other=random.choice((None, "none")),
            edges=tuple(edges),
        )
        return made.to_json()
    if random.random() < 0.12:
        return {"name": name, "values": list(random.choice(CONFUSED))}
    size = random.choice((2, 3, 3, 4, 5, 6, 7, 8, 9, 12))
    values: list[Any] = (
        [f"v{i}" for i in range(size)] if random.random() < 0.7 else list(range(size))
    )
    form: dict[str, Any] = {"name": name, "values": values}
    for field in ("missing", "other"):
        if random.random() < 0.25:
            form[field] = random.choice(values)
    return form | ({"complete": True} if random.random() < 0.2 else {})


def _answer(random: Random, epsilon: float, symbols: int, bits: int | None) -> dict[str, Any]:
    share = epsilon * random.choice((1, 1, 1, 0.5, 1.0001))
    chosen = random.choice((1, 1, 1, 2, symbols // 2, symbols - 1, symbols - 2, 33, 34))
    try:
        if bits is not None and random.random() < 0.2:
            return Bitwise.within(share, bits).to_json()
        if random.random() < 0.2:
            return Unary.within(share, symbols, optimised=random.random() < 0.5).to_json()
        return Subset.within(share, symbols, chosen).to_json()
    except DeniableError:  # what nobody would make, an enemy writes by hand
        chosen = max(1, min(chosen, symbols - 1))
        keep = chosen * exp(share) / (chosen * exp(share) + symbols - chosen)
        threshold = max(1, min(int(keep * 2**64), 2**64 - 1))
        return {
            "way": "subset",
            "symbols": symbols,
            "chosen": chosen,
            "threshold": str(threshold - 2**12),
        }


def _template(random: Random, sizes: list[int], order: int, epsilon: float) -> dict[str, Any]:
    d = len(sizes)
    count = random.choice((order, order, random.randint(1, min(d, 10)), min(62, d // 2 + 1)))
    count = max(1, min(count, d))
    chosen = sorted(random.sample(range(d), count))
    form: dict[str, Any] = {"attributes": count}
    if random.random() < 0.35:
        form["cell"] = True
        if any(sizes[a] > 2 for a in chosen):
            form["sizes"] = [sizes[a] for a in chosen]
        form["answer"] = _answer(
            random, epsilon, max(2, min(1 << 28, prod(sizes[a] for a in chosen))), None
        )
    else:
        bits = [1] * count
        if random.random() < 0.3:
            bits = [random.randint(1, max(1, min(2, (sizes[a] - 1).bit_length()))) for a in chosen]
            form["questions"] = bits
        total = sum(bits)
        parities = random.choice((1, 1, 2, 3))
        if random.random() < 0.3:
            form["parities"] = [[i] for i in range(total)]
        elif random.random() < 0.5:
            form["parities"] = [list(range(total))]
        else:
            form["parities"] = [
                sorted(random.sample(range(total), random.randint(1, total)))
                for _ in range(parities)
            ]
        length = len(form["parities"])
        form["answer"] = _answer(random, epsilon, 1 << min(28, length), length)
    if random.random() < 0.35:
        sets = {
            tuple(sorted(random.sample(range(d), count))) for _ in range(random.randint(1, 3))
        } | {tuple(chosen)}
        form["sets"] = [list(each) for each in sorted(sets)]
    elif random.random() < 0.2:
        form["among"] = sorted(random.sample(range(d), random.randint(count, d)))
    return form


def _doubled(random: Random, d: int, epsilon: float) -> dict[str, Any]:
    """Two questions about an attribute: alone and in full, as orders are asked about, or nearly."""
    count = random.choice((1, 1, 1, min(2, d)))
    parities = random.choice(([[0], [1]], [[0], [1]], [[0], [0, 1]], [[0, 1]], [[1], [0]]))
    form = {
        "attributes": count,
        "questions": [2] * count if random.random() < 0.5 else [2, 1][:count],
        "parities": parities,
        "answer": Subset.within(epsilon, 1 << len(parities)).to_json(),
    }
    if random.random() < 0.5:
        form["sets"] = [sorted(random.sample(range(d), count))]
    return form


def _weighted(random: Random, templates: list[dict[str, Any]]) -> None:
    """Give templates weights that add up, or nearly."""
    parts = sum(len(template.get("sets", [0])) for template in templates)
    cuts = sorted(random.sample(range(1, 1 << 32), parts - 1))
    weights = [b - a for a, b in zip([0, *cuts], [*cuts, 1 << 32], strict=True)]
    for template in templates:
        taken = [weights.pop() for _ in template.get("sets", [0])]
        template |= {"weights": taken} if "sets" in template else {"weight": taken[0]}


def _made_up(random: Random) -> dict[str, Any]:
    d = random.choice((1, 2, 2, 3, 3, 4, 5, 8, 40))
    attributes = [_attribute(random, f"a{i}") for i in range(d)]
    if d == 40 or random.random() < 0.3:
        attributes = [{"name": f"a{i}", "values": [False, True]} for i in range(d)]
        if random.random() < 0.5:
            attributes[random.randrange(d)]["values"] = ["x", "y", "z"]
    has_order = random.random() < 0.4
    if has_order:
        for place in random.sample(range(d), random.randint(1, min(d, 3))):
            attributes[place] = _ordered(random, f"a{place}")
    sizes = [_size_of(each) for each in attributes]
    order = random.randint(1, min(d, 4))
    epsilon = random.choice((1e-6, 0.1, 1.0986122886681098, 2.0, 20.0))
    name = random.choice(("Subspace", "Subspace", *NAMES))
    templates = [
        _doubled(random, d, epsilon)
        if has_order and random.random() < 0.4
        else _template(random, sizes, order, epsilon)
        for _ in range(random.choice((1, 1, 2, 3)))
    ]
    if random.random() < 0.5 or any("among" in template for template in templates):
        _weighted(random, templates)
    lists = [random.choice(LISTS)] * d
    if random.random() < 0.3:
        lists = [random.choice(LISTS) for _ in range(d)]
    if random.random() < 0.95:
        orders = map(_is_ordered, attributes)
        lists = ["thresholds" if own else each for own, each in zip(orders, lists, strict=True)]
    elif random.random() < 0.5:
        lists[random.randrange(d)] = "thresholds"
    touches = max(template["attributes"] for template in templates)
    return {
        "deniable": "survey",
        "format": 2,
        "schema": {"attributes": attributes},
        "order": order,
        "epsilon": repr(epsilon),
        "mechanism": name,
        "lists": [{"list": each} for each in lists],
        "templates": templates,
    } | ({"touches": touches} if touches > order else {})


def _wide(random: Random) -> dict[str, Any]:
    """Many attributes, and a question about so many that nobody could go through all sets of them."""
    form, count = _made_up(random), random.randint(2, 40)
    form["schema"]["attributes"] = [{"name": f"a{i}", "values": [False, True]} for i in range(40)]
    form["schema"]["attributes"][random.randrange(40)]["values"] = ["x", "y", "z"]
    form["lists"] = [{"list": random.choice(("codes", "balanced"))}] * 40
    form.pop("touches", None)
    form |= {"touches": count} if count > form["order"] else {}
    answer = Subset.within(float(form["epsilon"]) / 2, 2).to_json()
    template = {"attributes": count, "parities": [list(range(count))], "answer": answer}
    return form | {"mechanism": random.choice(("InpPS", "InpRR", "InpHT")), "templates": [template]}


def _relisted(random: Random) -> dict[str, Any]:
    """A sound survey with other question lists."""
    form = copy.deepcopy(random.choice(sound()))
    names = (*LISTS, "thresholds") if random.random() < 0.1 else LISTS
    every = [random.choice(names)] * len(form["lists"])
    if random.random() < 0.3:
        every = [random.choice(names) for _ in every]
    orders = map(_is_ordered, form["schema"]["attributes"])
    if random.random() < 0.9:
        every = ["thresholds" if own else each for own, each in zip(orders, every, strict=True)]
    return form | {"lists": [{"list": each} for each in every]}


def _disordered(random: Random) -> dict[str, Any]:
    """A sound survey, of which one attribute with an order has what it may not have."""
    orders = [f for f in sound() if any(map(_is_ordered, f["schema"]["attributes"]))]
    form = copy.deepcopy(random.choice(orders))
    attributes = form["schema"]["attributes"]
    place = random.choice([i for i, each in enumerate(attributes) if _is_ordered(each)])
    attributes[place] |= random.choice(ODD_ORDERS)
    return form


def _labelled(random: Random, form: dict[str, Any]) -> dict[str, Any]:
    """Give a survey labels, of which one may be called as an attribute, or as another label."""
    taken = [each["name"] for each in form["schema"]["attributes"]]
    names = [*taken, "period", "Slot", "region", "REGION", "straße", "STRASSE", "v"]
    turn = random.choice((str, str.upper, str.title))
    labels = [
        {
            "name": turn(random.choice(names)),
            "values": random.choice((["1"], ["a", "b"], ["a", "a"])),
        }
        for _ in range(random.randint(1, 3))
    ]
    days = random.sample(
        ("2026-11-01", "2026-12-01", "2027-02-29", "0000-01-01", "9999-12-31", "2026-1-1"), 2
    )
    return form | {"labels": labels} | ({"periods": days} if random.random() < 0.3 else {})


def unseen() -> list[str]:
    """Return surveys that are sound but for labels of letters that nobody sees, or that look alike."""
    letters = "\u00ad\u034f\u115f\u17b4\u180f\u200b\u200d\u2060\u2800\u3164\ufe0f\uffa0\ufff0"
    letters += "\U0001d173\U000e0100"
    values = [
        *(["a", f"a{letter}"] for letter in f"{letters} "),
        *(["a", letter] for letter in letters),
        *(["a b", f"a{letter}b"] for letter in ("\u00a0", "  ", "\u3000")),
        *(["\u00e4", "a\u0308"], ["\uac00", "\u1100\u1161"], ["\u212b", "\u00c5"]),
    ]
    form = next(form for form in sound() if "labels" in form)
    names = [f"a{letter}" for letter in letters]
    every = [
        *([{"name": "region", "values": each}] for each in values),
        *([{"name": name, "values": ["x"]}] for name in names),
        [{"name": name, "values": ["x"]} for name in ("Gr\u00f6\u00dfe", "gro\u0308\u00dfe")],
    ]
    return [json.dumps(form | {"labels": labels}) for labels in every]


def survey(random: Random) -> str:
    """Return the JSON text of a survey, sound or not."""
    if random.random() < 0.4:
        form = _wide(random) if random.random() < 0.1 else _made_up(random)
        if random.random() < 0.2:
            form = _labelled(random, form)
        if random.random() < 0.3:
            form = changed(random, form, sound(), 1)
    elif random.random() < 0.1:
        form = _relisted(random)
    elif random.random() < 0.05:
        form = _disordered(random)
    else:
        form = changed(random, random.choice(sound()), sound(), random.choice((0, 1, 1, 1, 2, 3)))
    if random.random() < 0.03 and isinstance(form.get("schema"), dict):
        form["schema"]["observed"] = True
    text = json.dumps(form, ensure_ascii=random.random() < 0.5)
    if random.random() < 0.02:
        at = random.randrange(len(text))
        text = random.choice(
            (
                text[:at],
                text[:at] + random.choice('0-."\\{}[],:') + text[at + 1 :],
                "[" * 5000 + text,
            )
        )
    return text


def _point(random: Random, attribute: Attribute) -> Any:
    """A number or a day near a point, or halfway to the next, or beyond all; or something else."""
    if random.random() < 0.1:
        odd = (None, True, attribute.missing, *NUMBERS, *TEXTS[:9], *DAYS, [1], {}, "1", "1.0")
        return random.choice(odd)
    if isinstance(attribute.scale, Days):
        number = int(random.choice(attribute.numbers)) + random.randint(-9, 9)
        day = date.fromordinal(max(1, number)).isoformat()
        return random.choice((day, day, day, random.choice(DAYS)))
    at = random.randrange(attribute.levels)
    point, other = (float(attribute.numbers[max(0, at - by)]) for by in (0, 1))
    half = (point + other) / 2
    near = random.choice((point, half, nextafter(half, -1e300), nextafter(half, 1e300)))
    return random.choice((near, near, near, -near, point * 1.1, -1e308, 1e308, round(point)))


def record(random: Random, schema: Schema) -> Any:
    """Return a record that mostly fits a schema."""
    is_patient = all(attribute.missing is not None for attribute in schema.attributes)
    if random.random() < (0.3 if is_patient else 0.02):
        return random.choice((None, [], "x", 3, {}, [["a", 1]], True))
    held: dict[str, Any] = {}
    for attribute in schema.attributes:
        if random.random() < 0.9:
            held[attribute.name] = random.choice(attribute.values)
        elif random.random() < 0.8:
            held[attribute.name] = random.choice((None, True, 1, *NUMBERS, *TEXTS[:9], [1], {}))
        if attribute.scale is not None:
            held[attribute.name] = _point(random, attribute)
        elif attribute.edges and random.random() < 0.8:
            edge = random.choice(attribute.edges)
            held[attribute.name] = random.choice(
                (edge, edge - 1, edge + 0.5, -1e308, 10**400, int(edge))
            )
    if random.random() < 0.03:
        held[random.choice(TEXTS)] = True
    return held


def labels(random: Random, declared: Any) -> Any:
    """Return what a person may say of a survey's labels."""
    said = {name: random.choice(values) for name, values in declared}
    if random.random() < 0.3:
        said = changed(random, said, (said,), 1)
    odd = random.choice((None, {}, said | {"period": "2026-11-01"}, "n", ["n"], True, 3))
    return odd if random.random() < 0.3 else said


def words(random: Random, answer: Any, count: int) -> list[str]:
    """Return words near all that they are compared with, at the ends, and anywhere."""
    edges = (
        [int(each) for each in answer.values() if isinstance(each, str) and each.isdigit()]
        if answer
        else []
    )
    near = [edge + by for edge in edges for by in (-1, 0, 1)]
    pool = [0, 1, 2**63, 2**64 - 1, *(min(each, 2**64 - 1) for each in near)]
    return [
        str(random.choice(pool) if random.random() < 0.5 else random.getrandbits(64))
        for _ in range(count)
    ]
