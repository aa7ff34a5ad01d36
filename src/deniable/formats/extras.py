"""Extras: what is installed only where it is asked for, and how one gets it."""

from __future__ import annotations


def lacking(need: str, extra: str) -> str:
    """Return a sentence, but for its full stop: what is needed, and how it is installed.

    Nothing of deniable is in a package index, so its extras come from a clone.

    >>> lacking("Questionnaires in YAML need", "forms")
    "Questionnaires in YAML need the extra 'forms': in a clone of deniable, pip install '.[forms]'"
    """
    return f"{need} the extra '{extra}': in a clone of deniable, pip install '.[{extra}]'"
