"""Consistency: what is done to unbiased estimates where that is asked for, never silently.

Each method is one file; this is the list of them. The command line, the service and the error messages
know no other, nor does the dashboard's menu. Whoever needs the names only waits for no method: each
imports what it computes with when it is applied.
"""

from __future__ import annotations

from deniable.errors import TableError
from deniable.release.consistency import auto, joint, model, none
from deniable.release.consistency.method import Method, Request

__all__ = ["CONSISTENCY", "METHODS", "READABLE", "Method", "Request", "method_named"]

METHODS: dict[str, Method] = {each.METHOD.name: each.METHOD for each in (none, joint, model, auto)}
"""The methods on offer, the default first."""

CONSISTENCY = tuple(METHODS)

READABLE = auto.METHOD.name
"""What people look at first: the default of commands, of the service and of its dashboard."""


def method_named(name: str) -> Method:
    """Return a method by its name."""
    if name not in CONSISTENCY:
        raise TableError(f"consistency must be one of {', '.join(CONSISTENCY)}, got {name!r}.")
    return METHODS[name]
