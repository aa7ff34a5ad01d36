"""Write test vectors: surveys, questions, answers and estimates that must never change.

Other clients (browser, phone) are written against these files. Existing files are golden: this script
refuses to touch them, and writes only what a new version adds: `python scripts/make_vectors.py NAME`.
"""

from __future__ import annotations

import base64
import json
import sys
from math import nextafter
from pathlib import Path

from deniable import Report, Schema, Survey, Tally
from deniable.analysis.records import frame_of
from deniable.client.client import draw_period
from deniable.decoding.decoder import decoder_of
from deniable.errors import DeniableError
from deniable.questions.answers import Bitwise, Subset, Unary
from deniable.questions.entropy import WORD, HashedSource, Key
from deniable.questions.exact import exponential, log_down
from deniable.questions.question import Cell, Parities, Question, Term
from deniable.schema.attribute import Attribute

FOLDER = Path(__file__).parent.parent / "tests" / "vectors"
SCHEMA = Schema.binary("Action", "Romance", "Comedy", "Crime", 'Čapek’s "R.U.R."')
EPSILON = 1.0986122886681098
MIXED = Schema.of(
    smokes=[False, True],
    Jahre=["bis 30", "30–60", "über 60"],
    rooms=[1, 2, 3, 4, 5],
    country=[f"c{i}" for i in range(9)],
)
PAPERS = ("InpRR", "InpPS", "InpHT", "MargRR", "MargPS", "MargHT", "InpEM")


class Recorded:
    """A source that notes the words it gives."""

    def __init__(self, seed: str) -> None:
        self.source, self.words = Key.seeded(seed).stream(), []

    def word(self) -> int:
        self.words.append(self.source.word())
        return self.words[-1]


def answered(question: Question, record: dict[str, object], seed: str) -> dict:
    source = Recorded(seed)
    value = question.reply(record, source)
    return {
        "question": question.to_json(),
        "record": record,
        "words": [str(word) for word in source.words],
        "symbol": str(question.asks.symbol(record)),
        "value": str(value),
    }


def records() -> list[dict[str, bool]]:
    return [{n: bool(p >> i & 1) for i, n in enumerate(SCHEMA.names)} for p in (0, 5, 18, 31)]


def described(survey: Survey) -> dict:
    slots = sorted({0, survey.slots // 2, survey.slots - 1})
    questions = [survey.question(slot) for slot in slots]
    return {
        "id": survey.id,
        "survey": json.loads(survey.to_json()),
        "canonical": survey.to_json(),
        "questions": [{"question": q.to_json(), "epsilon": repr(q.epsilon)} for q in questions],
    }


def surveys() -> list[dict]:
    return [described(Survey(SCHEMA, 2, EPSILON, name)) for name in PAPERS]


def answers() -> list[dict]:
    made = []
    for name in PAPERS:
        survey = Survey(SCHEMA, 2, EPSILON, name)
        for slot in sorted({0, survey.slots - 1}):
            for turn, record in enumerate(records()):
                seed = f"{name} {slot} {turn}"
                made.append(answered(survey.question(slot), record, seed))
    # Subset selection with several symbols, over parities, as future surveys will ask.
    terms = [Term(name, (True,)) for name in SCHEMA.names]
    asks = Parities(((terms[0], terms[1]), (terms[2],), (terms[3], terms[4])))
    for chosen in (1, 2, 3, 5):
        question = Question("0" * 64, 7, asks, Subset.within(EPSILON, 8, chosen))
        for turn, record in enumerate(records() * 2):
            made.append(answered(question, record, f"subset {chosen} {turn}"))
    return made


def estimated(survey: Survey) -> dict:
    import numpy as np
    import pyarrow as pa

    random = np.random.default_rng(11)
    if survey.schema == SCHEMA:
        held = random.random((2000, len(SCHEMA))) < [0.2, 0.5, 0.7, 0.4, 0.9]
        frame = pa.table({name: held[:, i] for i, name in enumerate(SCHEMA.names)})
    elif survey.schema == FEW_NUMBERS:
        codes = [random.binomial(a.codes - 1, 0.3, 2000) for a in FEW_NUMBERS.attributes]
        frame = frame_of(FEW_NUMBERS, codes)
    else:
        codes = [random.binomial(a.size - 1, 0.3, 2000) for a in survey.schema.attributes]
        values = [np.array(a.values) for a in survey.schema.attributes]
        columns = {n: v[c] for n, v, c in zip(survey.schema.names, values, codes, strict=True)}
        frame = pa.table(columns)
    asked = ("Comedy", "Action") if survey.schema == SCHEMA else ("country", "Jahre")
    asked = ("smokes", "share") if survey.schema == FEW_NUMBERS else asked
    tally: Tally = survey.tally(survey.randomize(frame, seed="golden"), simulation=True)
    tables = []
    for estimator in decoder_of(survey).estimators:
        table = tally.release(estimator=estimator).marginal(*asked)
        error = None if estimator == "em" else table.standard_error.tolist()
        tables.append(
            {"estimator": estimator, "values": table.values.tolist(), "standard_error": error}
        )
    return {
        "survey": survey.to_json(),
        "seed": "golden",
        "tally": [tally.slot.tolist(), tally.value.tolist(), tally.count.tolist()],
        "attributes": list(asked),
        "tables": tables,
    }


def estimates() -> list[dict]:
    return [estimated(Survey(SCHEMA, 2, EPSILON, name)) for name in PAPERS]


def drawn(survey: Survey, seed: str) -> dict:
    source = Recorded(seed)
    slot = survey.draw_slot(source)
    return {"words": [str(word) for word in source.words], "slot": str(slot)}


def subspace() -> list[dict]:
    """Surveys whose slots have weights: how they are drawn, asked, answered and decoded."""
    made = []
    tables = {("Action", "Romance"): 2.0, ("Comedy", "Action"): 1.0, ("Crime",): 1.0}
    for order, epsilon, options in (
        (2, EPSILON, {}),
        (3, EPSILON, {}),
        (3, 0.5, {}),
        (2, 2.0, {}),
        (2, 1.0, {"dimension": 1}),
        (2, 1.0, {"workload": tables}),
    ):
        survey = Survey(SCHEMA, order, epsilon, "Subspace", **options)
        draws = [drawn(survey, f"draw {turn}") for turn in range(12)]
        made.append(
            described(survey)
            | {
                "draws": draws,
                "answers": [
                    answered(survey.question(int(draw["slot"])), record, f"{order} {turn}")
                    for turn, (draw, record) in enumerate(zip(draws, records(), strict=False))
                ],
                "estimates": estimated(survey),
            }
        )
    return made


def mixed() -> list[dict]:
    """Surveys of attributes of two to nine values, by every mechanism."""
    made = []
    held = [(False, 0, 1, 8), (True, 2, 4, 0), (True, 1, 0, 5)]
    people = [
        {a.name: a.values[int(code)] for a, code in zip(MIXED.attributes, codes, strict=True)}
        for codes in held
    ]
    for name in (*PAPERS, "InpHTBits", "InpES", "Subspace"):
        survey = Survey(MIXED, 2, 2.0, name)
        draws = [drawn(survey, f"draw {turn}") for turn in range(6)]
        asked = zip(draws, people, strict=False)
        made.append(
            described(survey)
            | {
                "draws": draws,
                "answers": [
                    answered(survey.question(int(draw["slot"])), record, f"{name} {turn}")
                    for turn, (draw, record) in enumerate(asked)
                ],
                "estimates": estimated(survey),
            }
        )
    return made


NUMBERS = Schema(
    (
        Attribute("age", low=0, high=99, missing="none", other="none", unit="years"),
        Attribute("share", low=-0.5, high=0.7, step=0.1, missing=False, edges=(0, 0.3)),
        Attribute("Lohn", points=(0.5, 1000, 2000.25, 41000, 1234567), unit="€"),
        Attribute("day", low="2024-02-20", high="2024-03-05", step=7, missing="?", other="?"),
        Attribute(
            "often", ("never", "at times", "often", "always", "–"), missing="–", ordered=True
        ),
        Attribute("smokes"),
    )
)
"""Every kind of attribute that has an order."""
FEW_NUMBERS = Schema((NUMBERS.attributes[1], NUMBERS.attributes[5]))
"""Of these all coefficients are asked, by few people."""


def numbers() -> list[dict]:
    """Surveys of numbers, days and ordered words, and records of all sorts for them."""
    whole = dict(zip(NUMBERS.names, (41, 0.04, 1000, "2024-02-27", "often", True), strict=True))
    changes = [
        *(
            {},
            {"age": None},
            {"age": -5},
            {"age": 40.5},
            {"age": 40.49999999999999},
            {"age": 1e300},
        ),
        *({"age": "41"}, {"age": True}, {"age": "none"}, {"age": [41]}, {"share": 0.05}),
        *({"share": 0.15000000000000002}, {"share": -9}, {"share": None}, {"share": "x"}),
        *({"Lohn": 500.25}, {"Lohn": 500.24}, {"Lohn": -0.0}, {"Lohn": 1e308}, {"Lohn": None}),
        *(
            {"day": "2024-02-29"},
            {"day": "2024-03-01"},
            {"day": "2023-02-29"},
            {"day": "0001-01-01"},
        ),
        *({"day": "9999-12-31"}, {"day": 20240227}, {"day": None}, {"day": "2024-02-27T00:00"}),
        *({"often": "–"}, {"often": None}, {"often": "Often"}, {"smokes": 1}, {"more": 1}),
    ]
    rows, people = [], []
    for change in changes:
        try:
            held = NUMBERS.decode(NUMBERS.encode(whole | change))
            people.append(held)
        except DeniableError:
            held = None
        rows.append({"record": whole | change, "held": held})
    made = []
    for name in ("InpHT", "MargHT", "InpES", "Subspace"):
        survey = Survey(NUMBERS, 2, 2.0, name)
        draws = [drawn(survey, f"draw {turn}") for turn in range(24)]
        answers = [
            answered(survey.question(int(draw["slot"])), record, f"{name} {turn}")
            for turn, (draw, record) in enumerate(zip(draws, people, strict=False))
        ]
        own = described(survey)
        own["questions"] += [
            {"question": q.to_json(), "epsilon": repr(q.epsilon)}
            for q in (survey.question(int(draw["slot"])) for draw in draws)
        ]
        own |= {"draws": draws, "answers": answers}
        made.append(own | {"estimates": estimated(Survey(FEW_NUMBERS, 2, 2.0, name))})
    made[0]["records"] = rows
    return made


ODD = Schema(
    (
        Attribute("sm,okes"),
        Attribute(" age", missing="unknown", edges=(18, 40, 65.5)),
        Attribute("a and 3 more", ("", "\u200b", "x\u200dy", '"', "\\", "b and 2 more", "z?")),
        Attribute("n", tuple(range(-2, 250)), other=0),
        Attribute("mixed", (True, 7, "seven")),
    )
)
"""Names and values that are hard to see, or to tell apart in a list."""


def spoken() -> list[dict]:
    """Questions of every kind to be said in words, odds that are nearly simple among them."""
    odd = [Term(a.name, a.values) for a in ODD.attributes]
    few = [Term(a.name, a.values[1:3]) for a in ODD.attributes]
    one = [Term(a.name, a.values[:1]) for a in ODD.attributes]
    true = [Term(name, (True,)) for name in ("Comedy", "Crime", "a;b", "")]
    rough = (WORD * 7 // 10, WORD // 2 + 1, WORD - 2, WORD * 999 // 1000 + 1, WORD * 999 // 1000)
    ties = tuple(WORD * n // 10_000 for n in (8775, 8765, 9875, 9925, 5005, 5015, 9990, 9985))
    thirds = tuple(
        WORD * n // d + off for n, d in ((2, 3), (11, 12), (5, 7)) for off in (0, 10**11)
    )
    made = [
        Question("0" * 64, 1, Parities(((true[0],),)), Subset(2, 1, t))
        for t in (*rough, *ties, *thirds)
    ]
    asks = [
        *(Parities(((term,),)) for term in (*few, *one, true[2], true[3])),
        *(Parities((tuple(terms),)) for terms in (true[:2], true[:3], few[:2], few[1:4], one)),
    ]
    made += [Question("0" * 64, 2, each, Subset(2, 1, WORD * 3 // 4)) for each in asks]
    several = [
        Parities(((true[0],), (true[1],))),
        Parities(((true[0], true[1]), (true[1],), (true[2],))),
        Parities(((few[0],), (few[1],), (one[4],))),
        Parities(((few[0], few[2]), (true[1],))),
    ]
    for each in several:
        bits = len(each.bits)
        made += [
            Question("0" * 64, 3, each, Subset(1 << bits, 1, WORD // 2)),
            Question("0" * 64, 4, each, Subset(1 << bits, 3, WORD * 7 // 8)),
            Question("0" * 64, 5, each, Unary(1 << bits, WORD // 2, WORD // 9)),
            Question("0" * 64, 6, each, Bitwise(bits, WORD * 5 // 8)),
        ]
    for cell in (Cell((odd[0],)), Cell((odd[2],)), Cell((odd[0], odd[4])), Cell((odd[3], odd[1]))):
        made += [Question("0" * 64, 7, cell, Subset(cell.symbols, 1, WORD * 9 // 10))]
        made += [Question("0" * 64, 8, cell, Unary(cell.symbols, WORD // 2, WORD // 2000))]
    return [q.to_json() for q in made]


def encoded() -> dict:
    """Records of all sorts, and the declared values that they stand for; null where refused."""
    whole = {"sm,okes": True, " age": 30, "a and 3 more": "", "n": 5, "mixed": "seven"}
    changes = [
        {},
        {" age": None},
        {" age": 18},
        {" age": 17.999},
        {" age": 65.5},
        {" age": -1},
        {" age": "30"},
        {" age": True},
        {"sm,okes": 1},
        {"sm,okes": "true"},
        {"n": 1.0},
        {"n": 1.5},
        {"n": 99_999},
        {"n": "5"},
        {"n": None},
        {"mixed": 7},
        {"mixed": True},
        {"mixed": 1},
        {"a and 3 more": "\u200b"},
        {"a and 3 more": "?"},
        {"more": 1},
        {"__proto__": 1},
    ]
    rows = []
    for change in changes:
        record = whole | change
        try:
            held = ODD.decode(ODD.encode(record))
        except DeniableError:
            held = None
        rows.append({"record": record, "held": held})
    absent = {name: value for name, value in whole.items() if name != " age"}
    rows.append({"record": absent, "held": ODD.decode(ODD.encode(absent))})
    return {"schema": ODD.to_json(), "records": rows}


def refused() -> list[dict]:
    """Questions that a client of a survey must refuse, with the reason."""
    survey = Survey(SCHEMA, 2, EPSILON, "InpHT")
    asked = survey.question(12).to_json()
    terms = asked["asks"]["parities"][0]
    other = next(n for n in SCHEMA.names if n not in [t["attribute"] for t in terms])
    subset = asked["answer"]
    changes = {
        "of another survey": ("foreign", {"survey": "0" * 64}),
        "a threshold raised by one": (
            "epsilon",
            {"answer": subset | {"threshold": str(int(subset["threshold"]) + 1)}},
        ),
        "a threshold that tells all": (
            "epsilon",
            {"answer": subset | {"threshold": str(WORD - 1)}},
        ),
        "a threshold of 0": ("question", {"answer": subset | {"threshold": "0"}}),
        "an attribute too many": (
            "attributes",
            {"asks": {"parities": [[*terms, {"attribute": other, "values": [True]}]]}},
        ),
        "an attribute that there is not": (
            "question",
            {"asks": {"parities": [[{"attribute": "Western", "values": [True]}]]}},
        ),
        "a value that there is not": (
            "question",
            {"asks": {"parities": [[{"attribute": other, "values": ["yes"]}]]}},
        ),
        "1 for true": (
            "question",
            {"asks": {"parities": [[{"attribute": other, "values": [1]}]]}},
        ),
        "an attribute twice": ("question", {"asks": {"parities": [[terms[0], terms[0]]]}}),
        "a bit that asks nothing": ("question", {"asks": {"parities": [[]]}}),
        "fewer symbols than the cell has": (
            "question",
            {"asks": {"cell": [t | {"values": [False, True]} for t in terms]}},
        ),
        "a field too many": ("question", {"note": "hello"}),
        "no slot": ("question", {"slot": None}),
        "a slot with a sign": ("question", {"slot": "+12"}),
    }
    rows = [
        {"why": why, "reason": reason, "question": asked | change}
        for why, (reason, change) in changes.items()
    ]
    tables = Survey(MIXED, 2, 2.0, "MargPS")
    slot = tables.slots - 1  # of a set of the largest attributes
    whole = tables.question(slot).to_json()
    terms = whole["asks"]["cell"]
    fewer = [term | {"values": term["values"][:4]} for term in terms]
    turned = [term | {"values": term["values"][::-1]} for term in terms]
    cells = {
        "a cell that leaves out values": ("question", fewer, Subset.within(2.0, 16)),
        "a cell that leaves out values, bit by bit": ("question", fewer, Bitwise.within(2.0, 4)),
        "a cell in another order": ("question", turned, Subset.within(2.0, 45)),
    }
    more = [
        {
            "why": why,
            "reason": reason,
            "question": whole | {"asks": {"cell": asks}, "answer": answer.to_json()},
        }
        for why, (reason, asks, answer) in cells.items()
    ]
    return [
        {"survey": s.to_json(), "id": s.id, "limit": 2, "sound": sound, "refused": changed}
        for s, sound, changed in ((survey, asked, rows), (tables, whole, more))
    ]


def clients() -> dict:
    """What a client in any language says, reads, takes and refuses, beside drawing answers."""
    issued = ["AAAAAAAAAAGbYs9kqyz9QcBB5tIWXJgm", "AAAAAAAAAAKx", "Zm9v-_8"]
    hashed = []
    for survey in (
        Survey(SCHEMA, 2, EPSILON, "InpHT"),
        Survey(SCHEMA, 3, EPSILON, "Subspace"),
        Survey(MIXED, 2, 2.0, "InpES"),
    ):
        for one in issued:
            source = HashedSource(f"deniable.slot{survey.id}{one}".encode())
            slot = survey.draw_slot(source)
            hashed.append({"survey": survey.to_json(), "id": one, "slot": str(slot)})
    tickets = []
    for survey, slot, hour in (
        ("0f" * 32, 0, 1),
        ("a1" * 32, 2**53 + 1, 490_000),
        ("00" * 32, 9, 2**32 - 1),
    ):
        raw = bytes([1]) + bytes.fromhex(survey)[:8] + (2**63 + 5).to_bytes(8, "big")
        raw += slot.to_bytes(8, "big") + hour.to_bytes(4, "big") + bytes(range(16))
        text = base64.urlsafe_b64encode(raw).decode()
        tickets.append({"ticket": text, "survey": survey, "slot": str(slot), "hour": hour})
    limits = []
    for epsilon in (1e-9, 0.1, 1.0, 1.1, EPSILON, 2.0, 3.0, 19.5, 20.0):
        for answer in (
            Subset.within(epsilon, 2),
            Subset.within(epsilon, 8, 3),
            Unary.within(epsilon, 16),
            Unary.within(epsilon, 70, optimised=True),
            Bitwise.within(epsilon, 40),
        ):
            for limit in (
                epsilon,
                nextafter(epsilon, 0),
                answer_limit(answer),
                below_limit(answer),
            ):
                limits.append(
                    {
                        "answer": answer.to_json(),
                        "limit": repr(limit),
                        "exceeds": answer.ratio > exponential(limit),
                    }
                )
    return {
        "questions": spoken(),
        "records": encoded(),
        "hashed": hashed,
        "tickets": tickets,
        "limits": limits,
        "refused": refused(),
    }


def labels() -> dict:
    """What a client in any language sends beside its answer, when it answers, and what it refuses."""
    regions = {"region": ["north", "south", "Übersee"], "version": ["1", "2"]}
    quarters = ["2026-11-01", "2027-02-01", "2027-05-01", "2027-08-01"]
    days = [f"2028-02-{day:02}" for day in range(1, 29)]
    declared = [
        {"labels": {"region": ["north", "south"]}},
        {"labels": regions, "periods": quarters},
        {"periods": ["2026-12-31", "2027-01-01"]},
        {"periods": days},
        {"labels": {"place": [f"p{i}" for i in range(12)]}, "periods": quarters[:3]},
    ]
    made = [Survey(SCHEMA, 2, EPSILON, "InpHT", **each) for each in declared]
    every = made[1]
    form = json.loads(every.to_json())
    changes = {
        "no labels, but the field": {"labels": []},
        "no periods, but the field": {"periods": []},
        "one day": {"periods": quarters[:1]},
        "days in another order": {"periods": quarters[::-1]},
        "a day twice": {"periods": [quarters[0], quarters[0]]},
        "no day": {"periods": ["2026-02-29", "2026-03-01"]},
        "a day in short": {"periods": ["20261101", "20261201"]},
        "a label twice": {"labels": [form["labels"][0]] * 2},
        "a label in other letters": {
            "labels": [form["labels"][0], {"name": "Region", "values": ["x"]}]
        },
        "a value twice": {"labels": [{"name": "region", "values": ["x", "x"]}]},
        "no value": {"labels": [{"name": "region", "values": []}]},
        "a value that is no text": {"labels": [{"name": "region", "values": [1]}]},
        "a value that begins with a space": {"labels": [{"name": "region", "values": [" x"]}]},
        "a label with a dot": {"labels": [{"name": "a.b", "values": ["x"]}]},
        "a label called period": {"labels": [{"name": "period", "values": ["x"]}]},
        "a label called as an attribute": {"labels": [{"name": "Crime", "values": ["x"]}]},
        "a field too many": {"labels": [{"name": "region", "values": ["x"], "secret": True}]},
    }
    given = [
        {"region": "north", "version": "1"},
        {"version": "2", "region": "Übersee"},
        {},
        {"region": "north"},
        {"region": "North", "version": "1"},
        {"region": "north", "version": 1},
        {"region": "north", "version": "1", "town": "x"},
        {"region": "north", "version": "1", "period": "2026-11-01"},
    ]
    drawn = []
    for survey in made[1:]:
        for turn in range(8):
            source = Recorded(f"period {turn}")
            period = draw_period(survey.labels, source)
            begin, end = survey.labels.bounds(period)
            words = [str(word) for word in source.words]
            drawn.append(
                {"survey": survey.id, "words": words, "begins": str(begin), "ends": str(end)}
            )
    return {
        "surveys": [
            {
                "survey": json.loads(survey.to_json()),
                "canonical": survey.to_json(),
                "id": survey.id,
                "values": survey.labels.values,
                "english": survey.labels.english(),
            }
            for survey in made
        ],
        "bad surveys": [{"why": why, "survey": form | change} for why, change in changes.items()],
        "given": [
            {"survey": every.id, "labels": labels, "sent": sent_beside(every, labels)}
            for labels in given
        ],
        "periods": drawn,
        "days": [
            {"begins": "2027-02-01", "ends": "2027-05-01", "today": today, "refused": reason}
            for today, reason in (
                ("2026-11-01", "early"),
                ("2027-01-31", "early"),
                ("2027-02-01", None),
                ("2027-04-30", None),
                ("2027-05-01", "over"),
                ("2031-01-01", "over"),
            )
        ],
        "reports": [
            Report(slot, value, every.labels.group(number)).to_json()
            for slot, value, number in ((3, 0, 0), (9, 1, 4), (0, 1, 17))
        ],
        "bad reports": [
            {"slot": "3", "value": "0", "labels": wrong}
            for wrong in ({}, None, [], "north", {"region": 1}, {"region": None})
        ],
    }


def sent_beside(survey: Survey, labels: dict[str, object]) -> dict[str, str] | None:
    """Return what is sent of labels that a person gives, the period excepted; None if refused."""
    try:
        return survey.labels.given(labels)
    except DeniableError:
        return None


def answer_limit(answer: Subset | Unary | Bitwise) -> float:
    """Return the least double that is no less than the answer's epsilon."""
    return nextafter(log_down(answer.ratio), 100)


def below_limit(answer: Subset | Unary | Bitwise) -> float:
    """Return the largest double below the answer's epsilon."""
    return log_down(answer.ratio)


def main() -> None:
    makers = {
        "surveys": surveys,
        "answers": answers,
        "estimates": estimates,
        "subspace": subspace,
        "mixed": mixed,
        "numbers": numbers,
        "clients": clients,
        "labels": labels,
    }
    for name in sys.argv[1:] or makers:
        path = FOLDER / f"{name}.json"
        if path.exists():
            sys.exit(f"{path.name} is golden and stays as it is; give new vectors a new name.")
        text = json.dumps(makers[name](), indent=1, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
