"""A questionnaire in people's own words, and the texts that travel to them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deniable.questionnaire.questionnaire import Questionnaire
    from deniable.questionnaire.texts import Texts
    from deniable.questionnaire.writing import yaml_text

__all__ = ["Questionnaire", "Texts", "yaml_text"]

_HOMES = {"Questionnaire": "questionnaire", "Texts": "texts", "yaml_text": "writing"}


def __getattr__(name: str) -> Any:
    """Load a name when it is first asked for: a device needs the texts only."""
    if name in _HOMES:
        return getattr(import_module(f"deniable.questionnaire.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'deniable.questionnaire' has no attribute {name!r}")
