"""deniable: joint statistics from people without collecting their records."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deniable.client.client import Client
    from deniable.client.ledger import Ledger
    from deniable.client.wire import Report, ReportBatch
    from deniable.errors import DeniableError
    from deniable.lab.simulate import simulate
    from deniable.planning.plan import Plan, plan
    from deniable.questions.attribute import Attribute
    from deniable.questions.question import Question
    from deniable.questions.schema import Schema
    from deniable.survey import Marginal, Release, Releases, Survey, Tallies, Tally

__version__ = "0.1.0"

__all__ = [
    "Attribute",
    "Client",
    "DeniableError",
    "Ledger",
    "Marginal",
    "Plan",
    "Question",
    "Release",
    "Releases",
    "Report",
    "ReportBatch",
    "Schema",
    "Survey",
    "Tallies",
    "Tally",
    "plan",
    "simulate",
]

_HOMES = {
    "Attribute": "questions.attribute",
    "Client": "client.client",
    "DeniableError": "errors",
    "Ledger": "client.ledger",
    "Marginal": "survey",
    "Plan": "planning.plan",
    "Question": "questions.question",
    "Release": "survey",
    "Releases": "survey",
    "Report": "client.wire",
    "ReportBatch": "client.wire",
    "Schema": "questions.schema",
    "Survey": "survey",
    "Tallies": "survey",
    "Tally": "survey",
    "plan": "planning.plan",
    "simulate": "lab.simulate",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its room when it is first asked for (PEP 562)."""
    if name in _HOMES:
        value = getattr(import_module(f"deniable.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'deniable' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
