"""Modes: how a survey is collected, and how its reports are counted. Each is declared here, once."""

from __future__ import annotations

from collections.abc import Sequence
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


def in_words(names: Sequence[str]) -> str:
    """Return names as a sentence lists them.

    >>> in_words(choices(Engine))
    'duckdb, polars or spark'
    """
    return f"{', '.join(names[:-1])} or {names[-1]}"


def check_choice(name: str, choice: object, mode: Any, error: type[DeniableError]) -> None:
    """Refuse what is none of the choices."""
    if choice not in choices(mode):
        raise error(f"{name} must be {in_words([*map(repr, choices(mode))])}, got {choice!r}.")
