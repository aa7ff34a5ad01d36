"""The measure of most experiments: how far a mechanism's tables are from the people's own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from deniable.api.release import Release
from deniable.api.survey import Survey
from deniable.lab.experiments.experiment import Point
from deniable.lab.experiments.figures import UNIFORM
from deniable.lab.experiments.sources import Data
from deniable.lab.experiments.verdicts import Finding, mean_within
from deniable.lab.rivals.calm import Calm
from deniable.lab.rivals.product import ProductOfMargins
from deniable.lab.rivals.registry import RIVALS
from deniable.lab.rivals.rival import Rival
from deniable.lab.simulate import (
    Crowd,
    comparable_tables,
    mean_distance,
    predict,
    simulate,
    true_tables,
)
from deniable.questions.entropy import Key
from deniable.schema.schema import Schema
from deniable.survey.coefficients import Floats, Ints

__all__ = [
    "EM",
    "JOINT",
    "MODEL",
    "OTHERS",
    "PAPER",
    "POOLED",
    "SUBSPACE",
    "Contender",
    "asked",
    "crowd",
    "errors",
    "means",
]


@dataclass(frozen=True)
class Contender:
    """A mechanism, how it is designed and decoded, and what the charts call it; or a rival."""

    label: str
    mechanism: str
    estimator: str | None = None
    consistency: str = "none"
    aim: str = "unbiased"


PAPER = (
    Contender("InpRR", "InpRR"),
    Contender("InpPS", "InpPS"),
    Contender("InpHT", "InpHT"),
    Contender("MargRR", "MargRR", "unpooled"),
    Contender("MargPS", "MargPS", "unpooled"),
    Contender("MargHT", "MargHT", "unpooled"),
)
"""The paper's six, decoded as in the paper: each table from the reports about it alone."""

EM = Contender("InpEM", "InpEM", "em")
POOLED = Contender("MargPS, pooled", "MargPS", "pooled")
SUBSPACE = Contender("Subspace", "Subspace")
JOINT = Contender("Subspace, joint", "Subspace", consistency="joint", aim="tables")
MODEL = Contender("Subspace, auto", "Subspace", consistency="auto", aim="tables")
OTHERS = tuple(Contender(kind.name, kind.name) for kind in (Calm, ProductOfMargins))
"""The rivals that are made for tables, with what they do to these themselves."""


def crowd(point: Point, data: Data) -> pa.Table:
    """Return the people of a point: drawn with replacement, with so many attributes.

    Fewer attributes than there are: a random choice of them in every repeat, or the first ones. More:
    columns again and again, as in the paper. Neither people nor attributes depend on ε, and attributes
    not on the number of people.
    """
    d, repeat = point["attributes"], point["repeat"]
    people = data.draw(point["people"], Key.of(f"people/{_text(point, 'epsilon')}"))
    names = data.columns
    if point.get("first"):
        return people.select(names[:d])
    if d <= len(names):
        words = Key.of(f"attributes/{data.name}/{d}/{repeat}").stream("choice").words(len(names))
        return people.select(
            [names[place] for place in sorted(np.argsort(words, kind="stable")[:d])]
        )
    copies = [(names[i % len(names)], i // len(names)) for i in range(d)]
    return pa.table({f"{name}_{c + 1}" if c else name: people[name] for name, c in copies})


def _text(point: Point, but: str = "") -> str:
    return json.dumps({name: value for name, value in point.items() if name != but}, sort_keys=True)


def _schema(people: pa.Table) -> Schema:
    kinds = people.schema.types
    return Schema.from_frame(
        people, values=None if all(map(pa.types.is_boolean, kinds)) else "observed"
    )


def asked(point: Point, people: pa.Table, contender: Contender) -> Release:
    """Return what a contender makes of these people."""
    survey = Survey(
        _schema(people),
        point["order"],
        point["epsilon"],
        contender.mechanism,
        aim=contender.aim,
        people=point["people"],
    )
    return simulate(
        survey,
        people,
        f"{contender.label}/{_text(point)}",
        consistency=contender.consistency,
        estimator=contender.estimator,
    )


def _answers(point: Point, people: pa.Table, rival: Rival) -> tuple[list[Ints], list[Floats]]:
    """Return all k-way tables of a rival, those of the same sizes together."""
    crowd = Crowd(rival.schema.encode_frame(people))
    answer = rival.run(crowd, Key.of(f"{rival.name}/{_text(point)}"))
    alike = comparable_tables(rival, point["order"])
    return alike, [answer.tables(tables) for tables in alike]


def errors(point: Point, data: Data, contenders: Sequence[Contender]) -> list[dict[str, Any]]:
    """Return, for each contender, the mean distance of all k-way tables, and the one predicted.

    Of yes/no pairs also the mean squared error of their coefficients. The uniform table comes last.
    """
    people = crowd(point, data)
    schema, rows = _schema(people), []
    records = schema.encode_frame(people)
    for each in contenders:
        release = None
        if each.mechanism in RIVALS:
            rival = RIVALS[each.mechanism](schema, point["order"], point["epsilon"])
            alike, estimates = _answers(point, people, rival)
        else:
            release = asked(point, people, each)
            alike = comparable_tables(release.survey, point["order"])
            estimates = [release.estimate(tables).values for tables in alike]
        truth = [true_tables(schema, records, tables) for tables in alike]
        predicted = None
        if release is not None and each.consistency == "none":
            predicted = predict(release.survey, alike, truth, point["people"], each.estimator)
        row = {"label": each.label, "tv": mean_distance(estimates, truth), "predicted": predicted}
        if point["order"] == 2 and schema.is_binary:
            row["pair_square"] = float((((estimates[0] - truth[0]) @ PAIR) ** 2).mean())
        rows.append(row)
    uniform = [np.full_like(own, 1 / own.shape[1]) for own in truth]
    return [*rows, {"label": UNIFORM, "tv": mean_distance(uniform, truth), "predicted": None}]


PAIR = np.array([1.0, -1.0, -1.0, 1.0])
"""The signs of a 2 × 2 table's cells in its pair's coefficient."""


def means(frame: pd.DataFrame, by: Sequence[str], value: str = "tv") -> pd.DataFrame:
    """Return the mean over repeats, the standard deviation, and the number of repeats."""
    groups = frame.groupby([*by, "label"], sort=False, dropna=False)[value]
    return groups.agg(mean="mean", sd="std", repeats="size").reset_index()


def paired(frame: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[Any, pd.DataFrame]]:
    """Yield, for each setting, the errors of every contender (columns) in every repeat (rows)."""
    for setting, part in frame.groupby(list(by), sort=False):
        yield setting, part.pivot(index="repeat", columns="label", values="tv")


def ratios(
    frame: pd.DataFrame, one: str, other: str, by: Sequence[str], value: str = "tv"
) -> pd.Series[float]:
    """Return the log ratio of two contenders, for each setting and repeat."""
    table = frame.pivot_table(index=[*by, "repeat"], columns="label", values=value)
    return pd.Series(np.log(table[one] / table[other]), table.index)


def is_as_predicted(frame: pd.DataFrame, label: str, checks: int) -> Finding:
    """Tell whether a contender's errors are, on the whole, within a tenth of those predicted."""
    part = frame[frame["label"] == label]
    off = part["tv"] / part["predicted"].astype(float) - 1
    return mean_within(off, -0.1, 0.1, checks)


def standard_error(values: NDArray[np.float64] | pd.Series) -> float:
    """Return the standard error of a mean over repeats."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("inf")
