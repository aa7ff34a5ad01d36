"""deniable: joint statistics from people without collecting their records."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deniable.analysis.one_question import OneQuestion
    from deniable.api.marginal import Marginal
    from deniable.api.open_regression import regress
    from deniable.api.release import Release, Releases
    from deniable.api.survey import Survey
    from deniable.api.tally import Tallies, Tally
    from deniable.client.client import Client
    from deniable.client.ledger import Ledger
    from deniable.errors import DeniableError
    from deniable.lab.simulate import simulate
    from deniable.mechanisms.registry import register
    from deniable.messages.report import Report, ReportBatch
    from deniable.planning.plan import Plan, plan
    from deniable.questions.question import Question
    from deniable.schema.attribute import Attribute
    from deniable.schema.schema import Schema

__version__ = "0.3.0.dev0"

__all__ = [
    "Attribute",
    "Client",
    "DeniableError",
    "Ledger",
    "Marginal",
    "OneQuestion",
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
    "register",
    "regress",
    "simulate",
]

_HOMES = {
    "Attribute": "schema.attribute",
    "Client": "client.client",
    "DeniableError": "errors",
    "Ledger": "client.ledger",
    "Marginal": "api.marginal",
    "OneQuestion": "analysis.one_question",
    "Plan": "planning.plan",
    "Question": "questions.question",
    "Release": "api.release",
    "Releases": "api.release",
    "Report": "messages.report",
    "ReportBatch": "messages.report",
    "Schema": "schema.schema",
    "Survey": "api.survey",
    "Tallies": "api.tally",
    "Tally": "api.tally",
    "plan": "planning.plan",
    "register": "mechanisms.registry",
    "regress": "api.open_regression",
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
