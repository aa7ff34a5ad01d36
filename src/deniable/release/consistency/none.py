"""No processing: unbiased estimates, which may be negative and disagree."""

from __future__ import annotations

from deniable.release.consistency.method import Method, Request


def process(request: Request) -> None:
    """Leave estimates as they are."""


METHOD = Method(
    "none",
    "",
    process,
    "as measured: unbiased, some cells below 0",
    "as measured, so a small share may come out below 0",
)
