"""Beyond the paper: error against the lower bound, and people needed for the same error."""

from __future__ import annotations

from itertools import product
from math import ceil, log
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import pyarrow as pa

from deniable.api.survey import Survey
from deniable.lab.experiments.errors import (
    JOINT,
    PAPER,
    POOLED,
    SUBSPACE,
    errors,
    is_as_predicted,
    standard_error,
)
from deniable.lab.experiments.experiment import Claim, Experiment, Point
from deniable.lab.experiments.figures import COLOURS, UNIFORM, colour, dash
from deniable.lab.experiments.sources import Data
from deniable.lab.experiments.verdicts import all_of, exactly, mean_within, verdict
from deniable.planning.error import bound_tv, predicted_tv
from deniable.schema.schema import Schema

INPHT = next(each for each in PAPER if each.label == "InpHT")
PREDICTED = (INPHT, POOLED, SUBSPACE)
SETTINGS = ((8, 2), (16, 2), (8, 3), (16, 3))
LEVELS = tuple(level / 10 for level in range(2, 41))
MEASURED = (0.5, log(3), 2.0, 3.0)
PEOPLE = 1 << 18
EPSILONS = alt.X("epsilon:Q", title="ε")


def grid(quick: bool) -> list[Point]:
    """Return predictions along ε, and measurements of the same error with fewer people."""
    points: list[Point] = []
    for d, k in SETTINGS:
        setting = {"data": "movielens", "attributes": d, "order": k, "people": PEOPLE}
        points += [setting | {"what": "predicted", "epsilon": e, "repeat": 0} for e in LEVELS]
        levels = MEASURED[1:3] if quick else MEASURED
        points += [
            setting | {"what": "measured", "epsilon": e, "repeat": r}
            for e, r in product(levels, range(3 if quick else 10))
        ]
    return points


def measure(point: Point, data: Data) -> list[dict[str, Any]]:
    """Return errors over the bound's, and how many people have InpHT's error with Subspace."""
    d, k, e = point["attributes"], point["order"], point["epsilon"]
    schema = Schema.binary(*(f"a{i}" for i in range(d)))
    bound = bound_tv(schema, k, e, PEOPLE)
    if point["what"] == "predicted":
        rows = []
        for each in PREDICTED:
            survey = Survey(schema, k, e, each.mechanism)
            tv = predicted_tv(survey, PEOPLE, each.estimator)
            assert tv is not None
            rows.append({"label": each.label, "over_bound": (tv / bound) ** 2})
        return rows
    full = errors(point, data, (INPHT, SUBSPACE, JOINT))
    theirs, ours = (row["predicted"] for row in full[:2])
    fewer = ceil(PEOPLE * (ours / theirs) ** 2)
    part = errors(point | {"people": fewer}, data, (SUBSPACE, JOINT))
    rows = [row | {"on": "data", "asked": PEOPLE} for row in full]
    rows += [row | {"on": "fewer", "asked": fewer} for row in part]
    return rows + [
        row | {"on": "coins", "asked": PEOPLE, "over_bound": (row["tv"] / bound) ** 2}
        for row in errors(point | {"first": True}, _coins(d), PREDICTED)
        if row["label"] != UNIFORM
    ]


def _coins(attributes: int) -> Data:
    """Return people who toss a coin for every attribute: the bound is for them."""
    cells = np.arange(1 << attributes)
    bits = {f"a{i}": (cells >> i & 1).astype(bool) for i in range(attributes)}
    return Data("coins", "synthetic", "fair coins", pa.table(bits), np.ones_like(cells))


def chart(frame: pd.DataFrame) -> Any:
    """Return variance over the bound against ε, and below it the people needed for InpHT's error."""
    settings = frame[["attributes", "order"]].to_numpy()
    frame = frame.assign(setting=[f"d = {d}, k = {k}" for d, k in settings])
    return alt.vconcat(_variances(frame), _needed(frame), spacing=20)


def _variances(frame: pd.DataFrame) -> Any:
    predicted = frame[frame["what"] == "predicted"]
    tossed = frame[frame["on"] == "coins"]
    roots = tossed.assign(root=np.sqrt(tossed["over_bound"].to_numpy(float)))
    dots = roots.groupby(["setting", "label", "epsilon"], sort=False)["root"].mean().reset_index()
    dots["over_bound"] = dots["root"] ** 2
    scale = alt.Scale(type="log", domain=[0.8, 30], clamp=True)
    axis = alt.Axis(format="~g", values=[1, 2, 3, 5, 10, 20])
    y = alt.Y("over_bound:Q", title="variance over the lower bound", scale=scale, axis=axis)
    base = alt.Chart().encode(x=EPSILONS, y=y, color=colour(predicted))
    return _panels(base, predicted, dots, dash(predicted))


def _needed(frame: pd.DataFrame) -> Any:
    predicted = frame[frame["what"] == "predicted"]
    table = predicted.pivot_table(
        index=["setting", "epsilon"], columns="label", values="over_bound", sort=False
    )
    lines = (table["Subspace"] / table["InpHT"]).reset_index(name="needed")
    dots = pd.DataFrame(
        {"setting": f"d = {d}, k = {k}", "epsilon": e, "needed": n["needed"]}
        for (d, k, e), n in _savings(frame).items()
    )
    y = alt.Y(
        "needed:Q", title="people needed", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])
    )
    base = alt.Chart().encode(x=EPSILONS, y=y, color=alt.value(COLOURS["Subspace"]))
    return _panels(base, lines, dots)


def _panels(base: Any, lines: pd.DataFrame, dots: pd.DataFrame, dashes: Any = None) -> Any:
    both = pd.concat([lines.assign(kind="line"), dots.assign(kind="dot")])
    curves = base.transform_filter("datum.kind == 'line'").mark_line(strokeWidth=2)
    if dashes is not None:
        curves = curves.encode(strokeDash=dashes)
    points = base.transform_filter("datum.kind == 'dot'").mark_point(
        filled=True, size=45, opacity=1
    )
    layered = alt.layer(curves, points, data=both).properties(width=230, height=190)
    order = [f"d = {d}, k = {k}" for d, k in SETTINGS]
    return layered.facet(
        facet=alt.Facet("setting:N", sort=order, title=None), columns=4, spacing=14
    )


def _savings(frame: pd.DataFrame) -> dict[tuple[int, int, float], dict[str, float]]:
    """Return, for each setting, the share of people asked, and how errors then compare.

    ``needed`` is the share that would have had InpHT's error exactly: errors fall with √N.
    """
    savings = {}
    keys = ["attributes", "order", "epsilon"]
    groups: Any = frame[frame["on"].isin(["data", "fewer"])].groupby(keys, sort=False)
    for (d, k, e), part in groups:
        fewer = part[part["on"] == "fewer"]
        theirs = part[part["label"] == "InpHT"].set_index("repeat")["tv"]
        ours = fewer[fewer["label"] == "Subspace"].set_index("repeat")["tv"]
        joint = fewer[fewer["label"] == "Subspace, joint"].set_index("repeat")["tv"]
        share, logs = float(fewer["asked"].mean()) / PEOPLE, np.log(ours / theirs)
        savings[int(d), int(k), float(e)] = {
            "asked": share,
            "error_over_inpht": float(ours.mean() / theirs.mean()),
            "standard_error": standard_error(logs),
            "needed": share * float(ours.mean() / theirs.mean()) ** 2,
            "joint_error_over_inpht": float(joint.mean() / theirs.mean()),
        }
    return savings


def claims(frame: pd.DataFrame) -> list[Claim]:
    """Return how near the bound ours is, and how many people it saves."""
    predicted = frame[(frame["what"] == "predicted") & (frame["epsilon"] <= 2)]
    worst = {str(label): float(p["over_bound"].max()) for label, p in predicted.groupby("label")}
    coins = frame[frame["on"] == "coins"]
    savings = _savings(frame)
    checks = len(PREDICTED) + len(savings) + 1
    agrees = all_of([is_as_predicted(coins, each.label, checks) for each in PREDICTED])
    matches = [each["error_over_inpht"] for each in savings.values()]
    overall = np.log(matches)
    fits = mean_within(overall, -log(1.1), log(1.1), checks)
    shares = [each["asked"] for each in savings.values()]
    joint = [each["joint_error_over_inpht"] for each in savings.values()]
    holds = all_of([exactly(worst["Subspace"] <= 1.25), agrees, fits])
    return [
        Claim(
            None,
            "",
            "Subspace's variance is predicted to be within a quarter of the lower bound for ε ≤ 2, "
            "errors on fair coins are within a tenth of those predicted, and it has InpHT's error, "
            "within a tenth on average, with as many fewer people as predicted.",
            "Largest predicted variance over the bound for ε ≤ 2: "
            f"{', '.join(f'{name} {value:.2f}' for name, value in worst.items())}; errors on coins "
            f"are {_ANSWER[agrees.is_so]} predicted. With {min(shares):.0%} to "
            f"{max(shares):.0%} of the people, Subspace's error is {min(matches):.2f} to "
            f"{max(matches):.2f} times InpHT's with all of them (on average "
            f"{np.exp(overall.mean()):.2f}), that of joint tables {min(joint):.2f} to "
            f"{max(joint):.2f} times.",
            *verdict(holds, holds, int(frame["repeat"].nunique())),
            {
                "worst_over_bound": worst,
                "savings": {
                    f"d={d}, k={k}, ε={e:.3g}": each for (d, k, e), each in savings.items()
                },
            },
        )
    ]


_ANSWER = {True: "as", False: "not as", None: "perhaps as"}


BOUND = Experiment(
    "bound",
    "Beyond the paper: the lower bound, and people needed",
    "Error against the lower bound for any unbiased protocol, and people needed for the same error.",
    "Above, 1 is the bound; lines: predicted for fair coins, dots: measured on them. Below, as a "
    "share of InpHT's people: lines predicted for coins, dots measured on the data",
    grid,
    measure,
    chart,
    claims,
)
