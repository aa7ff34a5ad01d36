"""Numbers of a running collector, for Prometheus."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from deniable.server.collector import Collector
from deniable.server.problems import ProblemError

_STATUSES = dict.fromkeys((200, 500, 503), 0)
_REFUSALS = dict.fromkeys(("conflict", "participant-unknown", "ticket-invalid"), 0)
"""What alerts are about is said from the start: Prometheus sees no increase in what was not there."""


async def metrics_text(collector: Collector) -> str:
    """Return all numbers in Prometheus' text format."""
    writer = collector.writer
    assert writer is not None
    people = {}
    with suppress(ProblemError):  # the store is away: the rest is told all the same
        for survey in collector.surveys:
            people[survey.survey.id] = await collector.gauges.work(collector.gauges.people, survey)
    lines = [
        *_metric("responses_total", "counter", "Responses by status.",
                 {f'{{status="{s}"}}': n for s, n in sorted((_STATUSES | collector.answers).items())}),
        *_metric("reports_accepted_total", "counter", "Reports acknowledged, repeats included.",
                 {"": collector.accepted}),
        *_metric("reports_refused_total", "counter", "Reports refused by problem.",
                 {f'{{type="{t}"}}': n for t, n in sorted((_REFUSALS | collector.refused).items())}),
        *_metric("people", "gauge", "Reports that are shown.",
                 {f'{{survey="{i}"}}': n for i, n in people.items()}),
        *_metric("reports_waiting", "gauge", "Reports that wait to be stored.",
                 {"": writer.waiting}),
        *_metric("requests_in_work", "gauge", "Requests in work.", {"": collector.in_work}),
        *_metric("commits_total", "counter", "Transactions.", {"": writer.commits}),
        *_metric("commit_seconds_total", "counter", "Time that transactions took.",
                 {"": round(writer.seconds, 6)}),
        *_metric("store_failures_total", "counter", "Transactions that failed.",
                 {"": writer.failures}),
        *_metric("watch_failures_total", "counter", "Checkpoints and keys not looked after.",
                 {"": collector.failures}),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _metric(name: str, kind: str, about: str, values: dict[str, Any]) -> list[str]:
    full = f"deniable_{name}"
    rows = [f"{full}{labels} {value}" for labels, value in values.items()]
    return [f"# HELP {full} {about}", f"# TYPE {full} {kind}", *rows]
