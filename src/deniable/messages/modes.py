"""Modes: how a survey is collected, and how its reports are counted. Each is declared here, once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

from deniable.errors import DeniableError

Slots = Literal["assigned", "hashed", "drawn"]
"""Who chooses questions: the collector, a hash of the participant's id, or the devices."""

Participants = Literal["open", "issued"]
"""Who may take part: anybody, or who was issued an id."""

Keep = Literal["counts", "reports"]
"""What a collector keeps."""

Invalid = Literal["refuse", "drop"]
"""What is done with reports that the survey cannot have got: all are refused, or these left out."""

Engine = Literal["duckdb", "polars", "spark"]
"""What reads files of reports."""


def choices(mode: Any) -> tuple[str, ...]:
    """Return what can be chosen, the default first."""
    return get_args(mode)


def listed(mode: Any, shown: Callable[[str], str] = str) -> str:
    """Return what can be chosen, in words.

    >>> listed(Engine)
    'duckdb, polars or spark'
    """
    *first, last = map(shown, choices(mode))
    return f"{', '.join(first)} or {last}"


def check_choice(name: str, choice: object, mode: Any, error: type[DeniableError]) -> None:
    """Refuse what is none of the choices."""
    if choice not in choices(mode):
        raise error(f"{name} must be {listed(mode, repr)}, got {choice!r}.")
