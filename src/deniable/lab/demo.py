"""The whole journey on built-in data about real people: plan, ask one device, ask all, look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from deniable.client.client import Client
from deniable.client.ledger import Ledger
from deniable.lab.datasets import load
from deniable.lab.simulate import Trial, sample, simulate, trials, true_tables
from deniable.mechanisms.coefficients import all_tables
from deniable.mechanisms.registry import MECHANISMS
from deniable.planning.plan import Plan, plan
from deniable.questions.entropy import Key
from deniable.questions.question import Question, odds
from deniable.questions.schema import Schema
from deniable.survey import Marginal, Survey

__all__ = ["Demo", "run"]

PERSON = {
    "legal_if_defect": True,
    "legal_if_no_more": False,
    "legal_if_health": True,
    "legal_if_poor": False,
    "legal_if_rape": True,
    "legal_if_single": False,
    "female": True,
    "college": False,
    "over_50": True,
    "democrat": True,
}
"""Somebody made up, with a record like those of the respondents."""

REPEATS = 20

TABLES = (
    ("college", "legal_if_single"),
    ("democrat", "legal_if_no_more"),
    ("legal_if_health", "legal_if_poor"),
)


@dataclass(frozen=True)
class Demo:
    """All that the demo shows."""

    survey: Survey
    respondents: int
    people: int
    plan: Plan
    question: Question
    truth: int
    value: int
    odds: float
    trials: tuple[Trial, ...]
    tables: tuple[tuple[Marginal, np.ndarray], ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "survey": self.survey.id,
            "respondents": self.respondents,
            "people": self.people,
            "plan": self.plan.to_json(),
            "question": self.question.to_json() | {"english": self.question.english()},
            "report": {"slot": str(self.question.slot), "value": str(self.value)},
            "trials": [asdict(trial) for trial in self.trials],
            "tables": [
                {
                    "attributes": list(table.names),
                    "estimate": table.values.tolist(),
                    "interval": table.interval(0.95).tolist(),
                    "truth": truth.tolist(),
                }
                for table, truth in self.tables
            ],
        }


def run(people: int, epsilon: float, progress: Callable[[str], None] = lambda _: None) -> Demo:
    """Run the demo: ``people`` respondents are drawn with replacement; randomness is fresh."""
    import pyarrow as pa

    frame = pa.Table.from_pandas(load("abortion"), preserve_index=False)
    schema = Schema.from_frame(frame)
    ranking = plan(schema, order=2, epsilon=epsilon, people=people)
    survey = Survey(schema, order=2, epsilon=epsilon)
    client = Client(survey, ledger=Ledger.in_memory(), limit=epsilon, lifetime_limit=epsilon)
    report = client.report(PERSON)
    question = survey.question(report.slot)
    tried = []
    for name in MECHANISMS:
        progress(name)
        one = Survey(schema, 2, epsilon, name)
        tried.append(list(trials(one, frame, people=people, repeat=REPEATS))[-1])
    progress("tables")
    crowd = sample(frame, people, Key.fresh())
    release = simulate(survey, crowd)
    exact = true_tables(survey.mechanism, schema.encode_frame(crowd))
    every = [tuple(row) for row in all_tables(len(schema), 2).tolist()]
    shown = []
    for names in TABLES:
        first, second = (schema.index(name) for name in names)
        cells = exact[every.index((min(first, second), max(first, second)))].reshape(2, 2)
        shown.append((release.marginal(*names), cells.T if first < second else cells))
    return Demo(
        survey,
        frame.num_rows,
        people,
        ranking,
        question,
        question.asks.symbol(PERSON),
        report.value,
        odds(question.ratio),
        tuple(tried),
        tuple(shown),
    )
