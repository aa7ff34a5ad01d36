"""Charts of a plan: how the error falls with ε and with people, and whether it came out as predicted."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor, log10
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from deniable.planning.curves import LOWER_BOUND
from deniable.planning.plan import Plan
from deniable.show.charts import COLOURS, headed, with_theme

MECHANISM_COLOURS = {
    "Subspace": "#0072b2",
    "InpHT": "#d55e00",
    "MargPS": "#009e73",
    "MargHT": "#cc79a7",
    "MargRR": "#e69f00",
    "InpPS": "#56b4e9",
    "InpRR": "#000000",
    "InpES": "#882255",
    "InpHTBits": "#999933",
    LOWER_BOUND: COLOURS["bound"],
}
"""From the Okabe–Ito palette, without its yellow, which is hard to see on white; two are Paul Tol's."""

OTHER_COLOUR = "#555555"

WORST = 1.0
"""No two tables are further apart, so an error beyond it is not worth drawing."""

WIDTH, HEIGHT = 300, 340
LINE = 14
"""The height of a label."""


def plan_chart(plan: Plan) -> Any:
    """Return the predicted errors around a plan, against ε and against people, on log scales.

    The recommended mechanism is drawn thick, the lower bound dashed, the plan as a dot, a target
    error dotted. Each curve carries its name; mechanisms that do not differ share a curve.
    """
    frame = _curves(plan)
    best = frame["curve"].iloc[0]
    at_plan = plan.rows[0].predicted_tv or plan.unbiased_bound_tv
    top = max(WORST, 4 * at_plan)
    inside = frame[frame["predicted_tv"] <= top]
    low, high = float(inside["predicted_tv"].min()) / 1.1, float(inside["predicted_tv"].max())
    curves = frame.drop_duplicates("curve")
    colours = [MECHANISM_COLOURS.get(name, OTHER_COLOUR) for name in curves["mechanism"]]
    scale = alt.Scale(domain=curves["curve"].tolist(), range=colours)
    colour = alt.Color("curve:N", scale=scale, legend=None)
    panels = []
    for along, title, steps, form in (
        ("epsilon", f"against ε, with {plan.people:,} people", (1, 2, 3, 5), "~g"),
        ("people", f"against people, at ε = {plan.epsilon:.4g}", (1, 3), "~s"),
    ):
        y = alt.Y(
            "predicted_tv:Q",
            title="expected error of a table" if along == "epsilon" else None,
            scale=alt.Scale(type="log", domain=[low, high], nice=False),
            axis=alt.Axis(values=_ticks(low, high, (1, 2, 5)), format="~g"),
        )
        part = frame[frame["along"] == along]
        left, right = float(part[along].min()), float(part[along].max())
        x = alt.X(
            f"{along}:Q",
            title={"epsilon": "ε of one report", "people": "people who answer"}[along],
            scale=alt.Scale(type="log", domain=[left, right], nice=False),
            axis=alt.Axis(values=_ticks(left, right, steps), format=form),
        )
        layers = [
            _lines(part, x, y, colour, best),
            _names(part, along, (low, high), x, y, colour, best),
        ]
        if plan.target_error is not None and low <= plan.target_error <= high:
            layers.append(_target(plan.target_error, along, left, x, y))
        layers.append(_dot(plan, x, y))
        heading = alt.TitleParams(title, fontSize=12, fontWeight="normal")
        panels.append(alt.layer(*layers).properties(title=heading, width=WIDTH, height=HEIGHT))
    subtitle = [
        f"The total variation distance of a table to the truth, on average over {plan.scope}",
        f"The dot is the plan: {plan.recommended}, expected to be off by {at_plan:.2g}",
    ]
    if plan.rows[0].read_tv is not None:
        as_read = f"{plan.rows[0].read_tv:.2g}"
        subtitle.append(f"Errors are of unbiased tables; as they are read, that is {as_read}")
    outside = sorted(set(frame["curve"]) - set(inside["curve"]))
    if outside:
        subtitle.append(f"Off the chart, with an error above {top:.2g}: {', '.join(outside)}")
    heading = headed("Predicted error by mechanism", subtitle, offset=14)
    return with_theme(alt.hconcat(*panels, spacing=20).properties(title=heading))


def _curves(plan: Plan) -> pd.DataFrame:
    """Return the plan's curves; those of mechanisms that never differ are one, named after all."""
    frame = plan.curves()
    errors = frame["predicted_tv"].map("{:.6e}".format)
    points = [*zip(frame["along"], frame["epsilon"], frame["people"], errors, strict=True)]
    by_points: dict[tuple[Any, ...], list[str]] = {}
    for name in frame["mechanism"].unique():
        mine = tuple(p for p, n in zip(points, frame["mechanism"], strict=True) if n == name)
        by_points.setdefault(mine, []).append(name)
    rank = {row.mechanism: number for number, row in enumerate(plan.rows)}
    curve_names = {}
    for names in by_points.values():
        names.sort(key=lambda name: rank.get(name, len(rank)))
        curve_names[names[0]] = " = ".join(names)
    rows = frame[frame["mechanism"].isin(curve_names)].copy()
    rows["curve"] = rows["mechanism"].map(curve_names)
    rows["rank"] = rows["mechanism"].map(lambda name: rank.get(name, len(rank)))
    return rows.sort_values("rank", kind="stable")


def _lines(part: pd.DataFrame, x: Any, y: Any, colour: Any, best: str) -> Any:
    """Return the curves, the best above the others, and the bound, which it may touch, above it."""
    tips = [
        alt.Tooltip("curve:N", title="mechanism"),
        alt.Tooltip("epsilon:Q", format=".3g", title="ε"),
        alt.Tooltip("people:Q", format=",.0f"),
        alt.Tooltip("predicted_tv:Q", format=".3g", title="expected error"),
    ]
    plan, bound = part["curve"] == best, part["curve"] == LOWER_BOUND
    return alt.layer(
        *(
            alt.Chart(some)
            .mark_line(clip=True, strokeWidth=width, strokeDash=dash)
            .encode(x=x, y=y, color=colour, tooltip=tips)
            for some, width, dash in (
                (part[~plan & ~bound].iloc[::-1], 1.8, [1, 0]),
                (part[plan & ~bound], 4, [1, 0]),
                (part[bound], 1.8, [5, 4]),
            )
        )
    )


def _names(
    part: pd.DataFrame,
    along: str,
    errors: tuple[float, float],
    x: Any,
    y: Any,
    colour: Any,
    best: str,
) -> Any:
    """Return the curves' names beside their right ends, moved apart where they would overlap."""
    from scipy.optimize import isotonic_regression

    ends = part.sort_values(along).groupby("curve", sort=False).tail(1)
    ends = ends[ends["predicted_tv"] <= errors[1]].sort_values("predicted_tv")
    low, high = np.log(errors)
    height = HEIGHT * (np.log(ends["predicted_tv"].to_numpy()) - low) / (high - low)
    lines = LINE * np.arange(len(ends))
    height = isotonic_regression(height - lines).x + lines
    ends = ends.assign(predicted_tv=np.exp(low + height / HEIGHT * (high - low)))
    plan = ends["curve"] == best
    others, one = (
        alt.Chart(some).encode(x=x, y=y, color=colour, text="curve:N")
        for some in (ends[~plan], ends[plan])
    )
    return alt.layer(
        others.mark_text(align="left", dx=7, fontSize=11),
        one.mark_text(align="left", dx=7, fontSize=11, fontWeight="bold"),
    )


def _dot(plan: Plan, x: Any, y: Any) -> Any:
    here = pd.DataFrame(
        {
            "epsilon": [plan.epsilon],
            "people": [plan.people],
            "predicted_tv": [plan.rows[0].predicted_tv],
        }
    )
    colour = MECHANISM_COLOURS.get(plan.recommended, OTHER_COLOUR)
    return (
        alt.Chart(here)
        .mark_point(filled=True, size=130, opacity=1, color=colour, stroke="white", strokeWidth=2)
        .encode(x=x, y=y)
    )


def _target(target: float, along: str, start: float, x: Any, y: Any) -> Any:
    """Return the line of a target error, with its name on a white ground."""
    base = alt.Chart(pd.DataFrame({"predicted_tv": [target], along: [start]})).encode(y=y)
    style: dict[str, Any] = {"align": "left", "dx": 5, "dy": -8, "fontSize": 11}
    text = alt.value(f"target {target:g}")
    return alt.layer(
        base.mark_rule(strokeDash=[2, 3], color="#444444"),
        base.mark_text(**style, stroke="white", strokeWidth=4).encode(x=x, text=text),
        base.mark_text(**style, color="#444444").encode(x=x, text=text),
    )


def _ticks(low: float, high: float, steps: Iterable[int]) -> list[float]:
    """Return the round numbers within a range of a log axis."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    ticks = (float(f"{step}e{power}") for power in powers for step in steps)
    return [tick for tick in ticks if low <= tick <= high]


NEAR = 1.1
"""Errors within this factor of the prediction lie in the band."""


def predicted_chart(rows: pd.DataFrame, title: str = "Predicted and simulated errors") -> Any:
    """Return simulated errors against predicted ones, on log scales: on the line, they agree.

    ``rows`` has the columns mechanism, mean_tv and predicted_tv, as `trials` gives them, once or for
    several ε or numbers of people; rows without a prediction are left out.
    """
    frame = rows.dropna(subset=["predicted_tv"])[["mechanism", "mean_tv", "predicted_tv"]]
    frame = frame.astype({"mean_tv": float, "predicted_tv": float})
    frame = frame[(frame["mean_tv"] > 0) & (frame["predicted_tv"] > 0)]
    errors = frame[["mean_tv", "predicted_tv"]].to_numpy().ravel()
    low, high = (errors.min() / 1.4, errors.max() * 1.4) if len(errors) else (0.01, 1.0)
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    ends = pd.DataFrame({"at": [low, high]})
    ends = ends.assign(under=ends["at"] / NEAR, over=ends["at"] * NEAR)
    across = alt.X("at:Q", scale=scale, title="predicted (log scale)")
    line = alt.Chart(ends).encode(x=across)
    band = line.mark_area(color=COLOURS["bound"], opacity=0.2, clip=True).encode(
        y=alt.Y("under:Q", scale=scale, title="simulated (log scale)"), y2="over:Q"
    )
    diagonal = line.mark_line(color=COLOURS["bound"], strokeDash=[4, 4]).encode(y="at:Q")
    names = sorted(set(frame["mechanism"]))
    colours = [MECHANISM_COLOURS.get(name, OTHER_COLOUR) for name in names]
    points = (
        alt.Chart(frame)
        .mark_point(size=90, strokeWidth=2.2, opacity=1)
        .encode(
            x="predicted_tv:Q",
            y="mean_tv:Q",
            color=alt.Color(
                "mechanism:N", scale=alt.Scale(domain=names, range=colours), title=None
            ),
            shape=alt.Shape("mechanism:N", scale=alt.Scale(domain=names), title=None),
            tooltip=[
                "mechanism:N",
                alt.Tooltip("predicted_tv:Q", title="predicted", format=".4f"),
                alt.Tooltip("mean_tv:Q", title="simulated", format=".4f"),
            ],
        )
    )
    note = f"Mean total variation distance; within the band they differ by at most {NEAR - 1:.0%}"
    return with_theme(
        (band + diagonal + points).properties(title=headed(title, [note]), width=340, height=340)
    )
