"""Tables that commands print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from deniable.show.terminal import bar, number, stdout, table

if TYPE_CHECKING:
    from deniable.lab.audit import Audit
    from deniable.lab.simulate import Trial

__all__ = ["show_audit", "trials_table"]


def trials_table(rows: Sequence[Trial]) -> Table:
    """Return simulated errors beside predicted ones."""
    worst = max(row.mean_tv for row in rows) or 1.0
    best = min(range(len(rows)), key=lambda index: rows[index].mean_tv)
    return table(
        ["mechanism", "mean error", "predicted", "", "reports/s"],
        [
            [
                row.mechanism,
                number(row.mean_tv),
                number(row.predicted_tv),
                bar(row.mean_tv / worst),
                f"{row.reports_per_second:,.0f}",
            ]
            for row in rows
        ],
        best=best if len(rows) > 1 else None,
    )


def show_audit(rows: Sequence[Audit]) -> None:
    """Print audits, one by one if they are few, else by mechanism."""
    console = stdout()
    if len(rows) <= 12:
        body = [
            [r.mechanism, r.attributes, r.order, f"{r.stated_epsilon!r}", f"{r.realised_epsilon!r}",
             "yes" if r.exact else "NO", "yes" if r.unbiased else "NO"]
            for r in rows
        ]  # fmt: skip
        heads = [
            "mechanism",
            "attributes",
            "order",
            "stated epsilon",
            "realised",
            "exact",
            "unbiased",
        ]
        console.print(table(heads, body))
        return
    body = []
    for name in dict.fromkeys(row.mechanism for row in rows):
        mine = [row for row in rows if row.mechanism == name]
        gap = max(row.stated_epsilon - row.realised_epsilon for row in mine)
        exceeded = any(row.realised_epsilon > row.stated_epsilon for row in mine)
        body.append(
            [name, len(mine), f"{gap:.1e}", "YES" if exceeded else "never",
             "yes" if all(r.exact for r in mine) else "NO",
             "yes" if all(r.unbiased for r in mine) else "NO"]
        )  # fmt: skip
    heads = ["mechanism", "surveys", "largest gap", "epsilon exceeded", "exact", "unbiased"]
    console.print(table(heads, body))
    console.print(
        "\nEvery law was computed in integers: enumerated, or factor by factor where there are too "
        "many values. --json lists every survey."
    )
