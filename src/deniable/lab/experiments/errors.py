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

from deniable.lab.experiments.experiment import Point
from deniable.lab.experiments.sources import Data
from deniable.lab.simulate import predict, simulate, true_tables
from deniable.mechanisms.coefficients import all_tables, same_sizes
from deniable.questions.entropy import Key
from deniable.questions.schema import Schema
from deniable.survey import Survey

__all__ = ["EM", "JOINT", "PAPER", "POOLED", "SUBSPACE", "Contender", "crowd", "errors", "means"]


@dataclass(frozen=True)
class Contender:
    """A mechanism, how it is decoded, and what the charts call it."""

    label: str
    mechanism: str
    estimator: str | None = None
    consistency: str = "none"


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
JOINT = Contender("Subspace, joint", "Subspace", consistency="joint")


def crowd(point: Point, data: Data) -> pa.Table:
    """Return the people of a point: drawn with replacement, with so many attributes.

    Fewer attributes than there are: a random choice of them, or the first ones. More: columns again
    and again, as in the paper. People and attributes do not depend on ε.
    """
    d, key = point["attributes"], _key("crowd", point)
    people = data.draw(point["people"], key)
    names = data.columns
    if point.get("first"):
        return people.select(names[:d])
    if d <= len(names):
        chosen = np.argsort(key.stream("attributes").words(len(names)), kind="stable")[:d]
        return people.select([names[place] for place in sorted(chosen)])
    copies = [(names[i % len(names)], i // len(names)) for i in range(d)]
    return pa.table({f"{name}_{c + 1}" if c else name: people[name] for name, c in copies})


def _key(purpose: str, point: Point) -> Key:
    about = {name: value for name, value in point.items() if name != "epsilon"}
    return Key.of(f"{purpose}/{json.dumps(about, sort_keys=True)}")


def errors(point: Point, data: Data, contenders: Sequence[Contender]) -> list[dict[str, Any]]:
    """Return, for each contender, the mean distance of all k-way tables, and the one predicted."""
    people = crowd(point, data)
    schema = Schema.from_frame(people, values=None if _is_binary(people) else "observed")
    order, count = point["order"], point["people"]
    every = all_tables(len(schema), order)
    alike = [every[rows] for rows in same_sizes(schema.sizes, every)]
    records = schema.encode_frame(people)
    truth = [true_tables(schema, records, tables) for tables in alike]
    rows = []
    for each in contenders:
        survey = Survey(schema, order, point["epsilon"], each.mechanism)
        seed = f"{each.label}/{json.dumps(point, sort_keys=True)}"
        release = simulate(
            survey, people, seed, consistency=each.consistency, estimator=each.estimator
        )
        off = sum(
            float(np.abs(release.estimate(tables).values - own).sum())
            for tables, own in zip(alike, truth, strict=True)
        )
        predicted = None
        if each.consistency == "none":
            predicted = predict(survey.mechanism, alike, truth, count, each.estimator)
        rows.append(
            {
                "label": each.label,
                "tv": off / 2 / len(every),
                "predicted": predicted,
            }
        )
    return rows


def _is_binary(people: pa.Table) -> bool:
    return all(pa.types.is_boolean(kind) for kind in people.schema.types)


def means(frame: pd.DataFrame, by: Sequence[str], value: str = "tv") -> pd.DataFrame:
    """Return the mean over repeats, the standard deviation, and the number of repeats."""
    grouped = frame.groupby([*by, "label"], sort=False, dropna=False)[value]
    return grouped.agg(mean="mean", sd="std", repeats="size").reset_index()


def paired(frame: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[Any, pd.DataFrame]]:
    """Yield, for each setting, the errors of every contender (columns) in every repeat (rows)."""
    for setting, part in frame.groupby(list(by), sort=False):
        yield setting, part.pivot(index="repeat", columns="label", values="tv")


def standard_error(values: NDArray[np.float64] | pd.Series) -> float:
    """Return the standard error of a mean over repeats."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("inf")
