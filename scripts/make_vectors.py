"""Write test vectors: surveys, questions, answers and estimates that must never change.

Other clients (browser, phone) are written against these files. Existing files are golden: this script
refuses to touch them, and writes only what a new version adds: `python scripts/make_vectors.py NAME`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from deniable import Schema, Survey, Tally
from deniable.questions.answers import Subset
from deniable.questions.entropy import Key
from deniable.questions.question import Parities, Question, Term

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
        "questions": [
            {"question": q.to_json(), "english": q.english(), "epsilon": repr(q.epsilon)}
            for q in questions
        ],
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
    else:
        codes = [random.binomial(a.size - 1, 0.3, 2000) for a in survey.schema.attributes]
        values = [np.array(a.values) for a in survey.schema.attributes]
        columns = {n: v[c] for n, v, c in zip(survey.schema.names, values, codes, strict=True)}
        frame = pa.table(columns)
    asked = ("Comedy", "Action") if survey.schema == SCHEMA else ("country", "Jahre")
    tally: Tally = survey.tally(survey.randomize(frame, seed="golden"), simulation=True)
    tables = []
    for estimator in survey.mechanism.estimators:
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


def main() -> None:
    makers = {
        "surveys": surveys,
        "answers": answers,
        "estimates": estimates,
        "subspace": subspace,
        "mixed": mixed,
    }
    for name in sys.argv[1:] or makers:
        path = FOLDER / f"{name}.json"
        if path.exists():
            sys.exit(f"{path.name} is golden and stays as it is; give new vectors a new name.")
        text = json.dumps(makers[name](), indent=1, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
