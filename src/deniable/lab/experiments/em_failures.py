"""Where expectation maximisation stops at once (the paper's failure table), taxi."""

from __future__ import annotations

from math import inf
from typing import Any

import altair as alt
import pandas as pd

from deniable.lab.experiments.errors import EM, asked, crowd
from deniable.lab.experiments.experiment import Claim, Experiment, Point
from deniable.lab.experiments.sources import Data
from deniable.lab.experiments.verdicts import all_of, exactly, mean_within, verdict
from deniable.survey.coefficients import all_tables

ROWS = {
    (1 << 16, 8, 1, 0.2): (3, 8),
    (1 << 18, 8, 2, 0.1): (15, 28),
    (1 << 16, 8, 2, 0.2): (3, 28),
    (1 << 16, 12, 2, 0.2): (19, 66),
    (1 << 18, 16, 2, 0.1): (120, 120),
    (1 << 18, 16, 2, 0.2): (72, 120),
    (1 << 19, 24, 2, 0.2): (276, 276),
}
"""The paper's rows: N, d, k and ε, and how many tables failed of how many."""

SETTING = ["people", "attributes", "order", "epsilon"]


def grid(quick: bool) -> list[Point]:
    """Return the rows of the table, and repeats."""
    return [
        {"data": "taxi", "people": n, "attributes": d, "order": k, "epsilon": e, "repeat": r}
        for n, d, k, e in ROWS
        for r in range(3 if quick else 20)
    ]


def measure(point: Point, data: Data) -> list[dict[str, Any]]:
    """Return how many tables EM leaves at the uniform one."""
    release = asked(point, crowd(point, data), EM)
    every = all_tables(point["attributes"], point["order"])
    failed = release.estimate(every).notes["failed_at_once"]
    return [{"failed": int(failed.sum()), "tables": len(every)}]


def _rows(frame: pd.DataFrame) -> pd.DataFrame:
    rows = frame.groupby(SETTING, sort=False)["failed"].agg(["min", "median", "max"]).reset_index()
    keys = [tuple(row) for row in rows[SETTING].itertuples(index=False)]
    rows["paper"] = [ROWS[n, d, k, e][0] for n, d, k, e in keys]
    rows["tables"] = [ROWS[n, d, k, e][1] for n, d, k, e in keys]
    rows["row"] = [
        f"N = 2^{int(n).bit_length() - 1}, d = {d}, k = {k}, ε = {e:g}" for n, d, k, e in keys
    ]
    return rows


def chart(frame: pd.DataFrame) -> Any:
    """Return the share of failed tables, measured and published, row by row."""
    rows = _rows(frame)
    for name in ("min", "median", "max", "paper"):
        rows[f"{name}_share"] = rows[name] / rows["tables"]
    y = alt.Y("row:N", sort=rows["row"].tolist(), title=None, axis=alt.Axis(labelLimit=300))
    x = alt.X(
        "median_share:Q", title="tables that EM left at the uniform one", axis=alt.Axis(format="%")
    )
    base = alt.Chart(rows).encode(y=y)
    scale = alt.Scale(domain=["measured", "the paper's"], range=["#0072b2", "#d55e00"])
    reach = base.mark_rule(strokeWidth=3).encode(
        x="min_share:Q", x2="max_share:Q", color=alt.datum("measured")
    )
    point = base.mark_point(filled=True, size=90, opacity=1).encode(
        x=x, color=alt.datum("measured")
    )
    paper = base.mark_tick(thickness=3, size=18).encode(
        x="paper_share:Q", color=alt.datum("the paper's")
    )
    layers = (reach + point + paper).encode(color=alt.Color(scale=scale, title=None))
    return layers.properties(width=420, height=alt.Step(32))


def claims(frame: pd.DataFrame) -> list[Claim]:
    """Return the paper's claim that EM fails for all tables in two of the rows."""
    rows = _rows(frame)
    whole = rows[rows["paper"] == rows["tables"]]
    printed = exactly((whole["min"] == whole["tables"]).all())
    shares = frame.assign(share=frame["failed"] / frame["tables"]).groupby(SETTING)["share"]
    some = [shares.get_group(tuple(row)) for row in whole[SETTING].to_numpy().tolist()]
    mostly = all_of([mean_within(each, 0.5, inf, len(some)) for each in some])
    summary = "; ".join(
        f"{r.row}: {r.min} to {r.max} of {r.tables} (the paper: {r.paper})"
        for r in rows.itertuples(index=False)
    )
    return [
        Claim(
            8,
            "EM fails for 120 of 120 tables (N = 2^18, d = 16, ε = 0.1) and for 276 of 276 (N = 2^19, "
            "d = 24, ε = 0.2).",
            "In these two rows EM stops at once for most tables, on average. How many depends on the "
            "data, here and in the other rows: the first step of rare attributes is about the "
            "threshold.",
            f"{summary}.",
            *verdict(printed, mostly, frame["repeat"].nunique()),
            {"rows": rows[["row", "min", "median", "max", "paper", "tables"]].to_dict("records")},
        )
    ]


EM_FAILURES = Experiment(
    "em-failures",
    "Tables for which EM stops at once",
    "The paper's table of EM's failures, its seven rows.",
    "Dots: the median over draws, with the least and the most; ticks: the paper's; EM stops where no "
    "cell moves by 0.00001",
    grid,
    measure,
    chart,
    claims,
)
