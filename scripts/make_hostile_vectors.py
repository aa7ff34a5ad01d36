"""Write tests/vectors/hostile.json: surveys as an enemy writes them, and which of them a client takes.

Those that an attacker found, each a small change of a sound survey; and some of the fuzzer's.

    python scripts/make_hostile_vectors.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random
from typing import Any

from deniable import Schema, Survey
from deniable.errors import DeniableError
from deniable.formats.forms import parse_json
from deniable.questions.answers import Bitwise, Subset, Unary
from deniable.schema.attribute import Attribute
from deniable.survey.format import survey_of

ROOT = Path(__file__).parents[1]
FUZZED = 120


def identity(text: str, *, travelled: bool = True) -> str | None:
    """Return the id of a survey that is taken, or None."""
    try:
        return survey_of(parse_json(text, from_wire=travelled)).id
    except (DeniableError, ValueError):
        return None


def base(mechanism: str = "MargPS", order: int = 1, **attributes: Any) -> dict[str, Any]:
    form: dict[str, Any] = json.loads(
        Survey(Schema.of(**attributes), order, 1.0, mechanism).to_json()
    )
    return form


def found() -> dict[str, Any]:
    """Return the surveys that were found, by what is wrong with them."""
    income = base(income=["low", "mid", "high"], b=[False, True])
    age = base(age=Attribute("age", edges=(18, 65)), b=[False, True])
    wide = base("InpHT", **{f"a{i}": ["x", "y"] for i in range(40)})
    wide["schema"]["attributes"][7]["values"].append("z")
    rr = Subset.within(1.0, 2).to_json()
    nearly_all = {
        "way": "subset",
        "symbols": 4096,
        "chosen": 4095,
        "threshold": "18413518549523683330",
    }

    def attribute(form: dict[str, Any], **change: Any) -> dict[str, Any]:
        first, *rest = form["schema"]["attributes"]
        changed = {name: each for name, each in (first | change).items() if each is not None}
        return form | {"schema": {"attributes": [changed, *rest]}}

    def asked(form: dict[str, Any], *templates: dict[str, Any], **change: Any) -> dict[str, Any]:
        touches = max(template["attributes"] for template in templates)
        form = {name: each for name, each in form.items() if name != "touches"}
        form |= {"touches": touches} if touches > form["order"] else {}
        return form | {"templates": list(templates)} | change

    def weighed(form: dict[str, Any], by: int) -> dict[str, Any]:
        first, *rest = form["templates"]
        return form | {"templates": [first | {"weight": first["weight"] + by}, *rest]}

    def listed(form: dict[str, Any], *names: str) -> dict[str, Any]:
        return form | {"lists": [{"list": name} for name in names]}

    subspace = base("Subspace", 2, a=[False, True], b=[False, True], c=[False, True])
    whole_record = base("InpPS", a=[False, True], b=[False, True], c=[False, True])

    cell = {"attributes": 1, "cell": True, "sets": [[0]], "sizes": [3]}
    whole = {"attributes": 2, "parities": [[0], [1]]}
    tiny = Bitwise.within(1e-6, 2).to_json()
    return {
        "other is not among the values": attribute(income, other="else"),
        "missing is not among the values": attribute(income, missing="none"),
        "missing is another kind of value": attribute(base(n=[1, 2], b=[False, True]), missing="1"),
        "more edges than buckets": attribute(age, edges=["18.0", "65.0", "70.0"]),
        "fewer edges than buckets": attribute(age, edges=["18.0"]),
        "edges out of order": attribute(age, edges=["65.0", "18.0"]),
        "edges in another form": attribute(age, edges=["18", "65"]),
        "buckets of other names": attribute(age, values=["young", "adult", "old"]),
        "values that are easily confused": attribute(income, values=[True, 1, "x"]),
        "a value twice": attribute(income, values=["low", "low", "high"]),
        "one value": attribute(income, values=["low"]),
        "a value that is a fraction": attribute(income, values=["low", 0.5, "high"]),
        "a value that is nothing": attribute(income, values=["low", None, "high"]),
        "half a letter": attribute(income, values=["low", "\ud800", "high"]),
        "complete, but not true": attribute(income, complete=False),
        "an attribute without a name": attribute(income, name=""),
        "a field too many in an attribute": attribute(income, unit="EUR"),
        "a cell answered bit by bit": asked(
            base("InpEM", a=[False, True], b=[False, True]),
            {"attributes": 2, "cell": True, "answer": tiny},
            epsilon="1e-06",
        ),
        "a cell of other sizes, answered bit by bit": asked(
            income, cell | {"sizes": [4], "answer": tiny}, epsilon="1e-06", mechanism="InpEM"
        ),
        "a cell that lacks a value": asked(income, cell | {"sizes": [2], "answer": rr}),
        "sets without an end": asked(
            wide | {"mechanism": "InpPS"},
            {"attributes": 20, "parities": [list(range(20))], "answer": rr},
        ),
        "parities that depend on each other": asked(
            income,
            whole | {"parities": [[0], [0]], "answer": Subset.within(1.0, 4).to_json()},
            mechanism="InpPS",
        ),
        "more than the stated epsilon": income | {"epsilon": "0.9999999999999999"},
        "epsilon in another form": income | {"epsilon": "1"},
        "an answer that tells nothing": asked(
            income,
            {"attributes": 1, "parities": [[0]], "answer": rr | {"threshold": str(1 << 63)}},
            mechanism="InpHT",
        ),
        "a set of nearly all symbols": asked(
            base("InpPS", **{f"a{i}": [False, True] for i in range(12)}),
            {"attributes": 12, "cell": True, "answer": nearly_all},
            epsilon="2.0",
        ),
        "format 1": income | {"format": 1},
        "format 1, as it was": {
            **{name: each for name, each in income.items() if name not in ("lists", "templates")},
            "format": 1,
            "shapes": income["templates"],
        },
        "a list that nobody knows": listed(income, "hashes", "codes"),
        "a list by the name of a thing": listed(income, "constructor", "codes"),
        "a list too few": listed(income, "codes"),
        "a list too many": listed(income, "codes", "codes", "codes"),
        "a list with a field too many": income
        | {"lists": [{"list": "codes", "weights": [1]}, {"list": "codes"}]},
        "no lists": {name: each for name, each in income.items() if name != "lists"},
        "weights that add up to less": weighed(subspace, -1),
        "weights that add up to more": weighed(subspace, 1),
        "more questions than an entry of a list has": asked(
            listed(income, "balanced", "codes"),
            {
                "attributes": 1,
                "parities": [[0], [1]],
                "questions": [2],
                "sets": [[0]],
                "answer": Subset.within(1.0, 4).to_json(),
            },
        ),
        "bit by bit, of lists with many entries": listed(
            base("InpEM", a=["x", "y", "z"], b=[False, True]), "codes", "codes"
        ),
        "more attributes than it says": whole_record | {"touches": 2},
        "whole records without saying so": {
            name: each for name, each in whole_record.items() if name != "touches"
        },
        "an order above the attributes": income | {"order": 3},
        "a mechanism without a name": income | {"mechanism": ""},
        "a set of attributes that are not there": asked(
            income, cell | {"sets": [[2]], "answer": Subset.within(1.0, 3).to_json()}
        ),
        "unary and subset, of many symbols": asked(
            base(a=list(range(70)), b=[False, True]),
            {**cell, "sizes": [70], "answer": Unary.within(1.0, 70).to_json()},
            {"attributes": 1, "cell": True, "sets": [[1]], "answer": rr},
        ),
        **_orders(attribute, asked, listed, rr),
        "a sound one": income,
        "a sound one by somebody else's mechanism": income | {"mechanism": "constructor"},
        "a sound one of other lists": listed(
            base("InpHT", income=["low", "mid", "high"], b=[False, True]), "balanced", "bits"
        ),
        "a sound one with buckets": age,
    }


def _orders(attribute: Any, asked: Any, listed: Any, rr: dict[str, Any]) -> dict[str, Any]:
    """Return surveys of attributes with an order, by what is wrong with them."""
    years = base(
        "InpHT", n=Attribute("n", low=0, high=9, missing="none", edges=(4,)), b=[False, True]
    )
    paid = base("InpHT", n=Attribute("n", points=(0.5, 1, 10)), b=[False, True])
    days = base("InpHT", n=Attribute("n", low="2024-02-20", high="2024-03-05", step=7))
    words = base("InpHT", n=Attribute("n", tuple("abcd"), missing="d", ordered=True))
    four = Subset.within(1.0, 4).to_json()
    double = {"attributes": 1, "questions": [2], "parities": [[0], [1]], "answer": four}
    pair = {"attributes": 2, "questions": [2, 1], "parities": [[0], [1, 2]], "answer": four}
    grid = {"low": "0.0", "high": "9.0", "step": "1.0"}
    bits = {"way": "bitwise", "bits": 1, "threshold": rr["threshold"]}
    single = {"attributes": 1, "parities": [[0]], "sets": [[0]]}
    return {
        "an order asked by codes": listed(years, "codes", "codes"),
        "thresholds of categories": listed(years, "thresholds", "thresholds"),
        "a cell of an order": asked(
            paid,
            {
                "attributes": 1,
                "cell": True,
                "sizes": [3],
                "answer": Subset.within(1.0, 3).to_json(),
                "sets": [[0]],
            },
        ),
        "an order bit by bit": asked(days, {"attributes": 1, "parities": [[0]], "answer": bits}),
        "two questions about an order, summed": asked(
            years, double | {"parities": [[0], [0, 1]], "sets": [[0]]}
        ),
        "one sum of two questions about an order": asked(
            years, double | {"parities": [[0, 1]], "answer": rr, "sets": [[0]]}
        ),
        "two questions about an order beside another": asked(years, pair | {"sets": [[0, 1]]}),
        "two questions about two cuts": asked(paid, double | {"sets": [[0]]}),
        "a number that stands for missing": attribute(years, missing=-1),
        "a day that stands for missing": attribute(days, missing="2024-01-01"),
        "something else than missing in an order": attribute(years, other="else"),
        "a missing word that is not the last": attribute(words, missing="a"),
        "edges between points": attribute(years, edges=["4.5"]),
        "the lower end as an edge": attribute(years, edges=["0.0", "4.0"]),
        "edges of days": attribute(days, edges=["4.0"]),
        "a unit of days": attribute(days, unit="d"),
        "a unit of words": attribute(words, unit="d"),
        "values beside a grid": attribute(years, values=["a", "b"]),
        "a step that does not divide": attribute(years, grid=grid | {"high": "9.5"}),
        "steps in another decimal": attribute(years, grid=grid | {"step": "0.30000000000000004"}),
        "a grid without an end": attribute(years, edges=None, grid=grid | {"high": "4096.0"}),
        "with missing one level too many": attribute(
            years, edges=None, grid=grid | {"high": "4095.0"}
        ),
        "a grid downwards": attribute(years, edges=None, grid=grid | {"high": "-9.0"}),
        "points downwards": attribute(paid, points=["1.0", "0.5"]),
        "a point beyond 2^53": attribute(paid, points=["1.0", "9007199254740992.0"]),
        "a point of 16 decimals": attribute(paid, points=["1.0", "1.0000000000000002"]),
        "days that are none": attribute(
            days, days={"first": "2023-02-29", "last": "2023-03-01", "step": 1}
        ),
        "days downwards": attribute(
            days, days={"first": "2024-03-01", "last": "2024-02-01", "step": 1}
        ),
        "days in steps that do not divide": attribute(
            days, days={"first": "2024-02-20", "last": "2024-03-04", "step": 7}
        ),
        "one word in order": attribute(words, values=["a", "d"]),
        "a sound one of a grid": years,
        "a sound one of points": paid,
        "a sound one of days": days,
        "a sound one of words in order": words,
        "a sound one with two questions about a grid": asked(years, double | {"sets": [[0]]}),
        "a sound one of single cuts": asked(years, single | {"answer": rr}),
        "a sound one of 4,096 levels": attribute(
            years, edges=None, missing=None, grid=grid | {"high": "4095.0"}
        ),
    }


def main() -> None:
    sys.path.insert(0, str(ROOT / "tests" / "clients"))
    import hostile

    rows = [
        {"why": why, "id": identity(text := json.dumps(form)), "text": text}
        for why, form in found().items()
    ]
    assert [row["why"] for row in rows if row["id"]] == [
        why for why in found() if why.startswith("a sound one")
    ]
    random, wanted = Random("hostile"), {True: FUZZED // 2, False: FUZZED // 2}
    while any(wanted.values()):
        text = hostile.survey(random)
        known = identity(text)
        # 1.0 for 1 is taken where it travelled, and in a file not: no client could tell which this is.
        if (
            len(text) < 2_000
            and "observed" not in text  # which everybody reads, and no client answers
            and identity(text, travelled=False) == known
            and wanted[known is not None]
        ):
            wanted[known is not None] -= 1
            rows.append({"why": f"fuzzed {len(rows)}", "id": known, "text": text})
    path = ROOT / "tests" / "vectors" / "hostile.json"
    lines = ",\n ".join(json.dumps(row) for row in rows)
    path.write_text(f"[\n {lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
