"""The whole journey on built-in data about real people: plan, ask one device, ask all, look.

A second scene (`deniable.lab.wages`) asks about numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.api.marginal import Marginal
from deniable.api.release import Release
from deniable.api.survey import Survey
from deniable.client.client import Client
from deniable.client.ledger import Ledger
from deniable.errors import DataError
from deniable.lab.datasets import load
from deniable.lab.simulate import Trial, sample, simulate, trials
from deniable.lab.wages import Wages, run_wages
from deniable.mechanisms.registry import MECHANISMS
from deniable.planning.plan import Plan, plan
from deniable.questions.entropy import Key
from deniable.questions.question import Question, odds
from deniable.release.consistency import READABLE
from deniable.schema.schema import Schema

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

MOST_PEOPLE = 10**8

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
    tables: tuple[tuple[Marginal, NDArray[np.float64]], ...]
    release: Release
    wages: Wages
    """The second scene."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "survey": self.survey.id,
            "respondents": self.respondents,
            "people": self.people,
            "plan": self.plan.to_json(),
            "question": self.question.to_json() | {"english": self.question.english()},
            "report": {"slot": str(self.question.slot), "value": str(self.value)},
            "trials": [trial.to_json() for trial in self.trials],
            "tables": [
                {
                    "attributes": list(table.names),
                    "estimate": unbiased.values.tolist(),
                    "interval": unbiased.interval(0.95).tolist(),
                    "read": table.values.tolist(),
                    "read_interval": table.interval(0.95).tolist(),
                    "truth": truth.tolist(),
                }
                for table, truth in self.tables
                for unbiased in [self.release.unprocessed.marginal(*table.names)]
            ],
            "wages": self.wages.to_json(),
        }


def run(people: int, epsilon: float, progress: Callable[[str], None] = lambda _: None) -> Demo:
    """Run the demo: ``people`` respondents are drawn with replacement; randomness is fresh."""
    import pyarrow as pa

    if people > MOST_PEOPLE:
        raise DataError(f"The demo keeps its people in memory, {MOST_PEOPLE:,} at most.")
    frame = pa.Table.from_pandas(load("abortion"), preserve_index=False)
    schema = Schema.from_frame(frame)
    ranking = plan(schema, order=2, epsilon=epsilon, people=people)
    survey = Survey(schema, order=2, epsilon=epsilon)
    client = Client(survey, ledger=Ledger.in_memory(), limit=epsilon, lifetime_limit=epsilon)
    report = client.report(PERSON)
    question = survey.question(report.slot)
    results = []
    for name in MECHANISMS:
        progress(name)
        one = Survey(schema, 2, epsilon, name)
        results.append(list(trials(one, frame, people=people, repeat=REPEATS))[-1])
    progress("tables")
    crowd = sample(frame, people, Key.fresh())
    release = simulate(survey, crowd, consistency=READABLE)
    tables = [(release.marginal(*names), _truth(crowd, *names)) for names in TABLES]
    progress("wages")
    return Demo(
        survey,
        frame.num_rows,
        people,
        ranking,
        question,
        question.asks.symbol(PERSON),
        report.value,
        odds(question.ratio),
        tuple(results),
        tuple(tables),
        release,
        run_wages(people, epsilon),
    )


def _truth(crowd: Any, first: str, second: str) -> NDArray[np.float64]:
    cells = 2 * crowd[first].to_numpy().astype(int) + crowd[second].to_numpy()
    share: NDArray[np.float64] = np.bincount(cells, minlength=4) / crowd.num_rows
    return share.reshape(2, 2)
