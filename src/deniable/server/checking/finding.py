"""What a check says: that all is well, what is wrong and what to do, or why it did not look."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Finding(NamedTuple):
    """What one check says of a deployment."""

    check: str
    state: Literal["well", "wrong", "unseen"]
    says: str = ""
    """What is wrong, or why nobody looked: one sentence."""
    todo: str = ""
    """What to do about what is wrong: one sentence."""


def well(check: str) -> Finding:
    """Say that nothing is wrong."""
    return Finding(check, "well")


def wrong(check: str, says: str, todo: str) -> Finding:
    """Say what is wrong, and what to do."""
    return Finding(check, "wrong", says, todo)


def judge(check: str, is_well: bool, says: str, todo: str) -> Finding:
    """Say that nothing is wrong, or what is."""
    return well(check) if is_well else wrong(check, says, todo)


def unseen(check: str, says: str) -> Finding:
    """Say why nobody looked."""
    return Finding(check, "unseen", says)
