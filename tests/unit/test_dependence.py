"""One number for the dependence of a pair, wherever it is shown."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deniable import Schema, Survey, simulate
from deniable.analysis import dependence as engine
from deniable.analysis import tree as chow_liu
from deniable.release.graph import pair_information
from deniable.release.projection import measure
from deniable.server.analysts import Analysts
from deniable.show.report import page
from deniable.survey.coefficients import Shared

MIXED = Schema.of(
    income=["low", "mid", "high"], car=[False, True], region=[*"NSEW"], tea=[False, True]
)


def people(count: int = 40_000) -> pd.DataFrame:
    """Return records of attributes of two, three and four values, of which some depend."""
    random = np.random.default_rng(5)
    income = random.integers(0, 3, count)
    region = np.where(random.random(count) < 0.5, income, random.integers(0, 4, count))
    return pd.DataFrame(
        {
            "income": np.array(["low", "mid", "high"])[income],
            "car": random.random(count) < np.array([0.2, 0.5, 0.8])[income],
            "region": np.array([*"NSEW"])[region],
            "tea": random.random(count) < 0.4,
        }
    )


@pytest.fixture(scope="module")
def mixed() -> Any:
    return simulate(Survey(MIXED, 2, 3.0, "Subspace"), people(), "dependence")


@pytest.fixture(scope="module")
def binary() -> Any:
    frame = people()
    frame = pd.DataFrame(
        {"rich": frame["income"] == "high", "car": frame["car"], "tea": frame["tea"]}
    ).assign(north=frame["region"] == "N")
    return simulate(Survey(Schema.from_frame(frame), 2, 2.0, "InpHT"), frame, "dependence")


def of_associations(release: Any) -> dict[frozenset[str], tuple[float, float]]:
    """Return V and mutual information of each pair, as `associations` tells them."""
    rows = release.associations()[["a", "b", "cramers_v", "mutual_information"]]
    return {frozenset((a, b)): (v, nats) for a, b, v, nats in rows.itertuples(index=False)}


def disagreements(release: Any) -> list[str]:
    """Return where tree, report, dashboard and graph say something else than `associations`."""
    told = of_associations(release)
    wrong = []

    def compare(where: str, a: str, b: str, number: float, at: int, digits: int = 12) -> None:
        if abs(number - told[frozenset((a, b))][at]) > 0.51 * 10.0**-digits:
            wrong.append(f"{where}: {a} × {b}")

    for edge in release.tree().edges.itertuples():
        compare("tree", edge.a, edge.b, edge.mutual_information, 1)

    text = re.sub(r"<wbr>|</?span[^>]*>", "", page(release))
    listed = re.findall(
        r'<tr><th scope="row">(\w+) × (\w+)</th><td class="number">([\d.]+)</td>.*?'
        r'<td class="number narrow">([\d.]+)</td>', text)  # fmt: skip
    drawn = re.findall(r"(\w+) and (\w+): ([\d.]+) nats of mutual information", text)
    squares = re.findall(r"(\w+) and (\w+): Cramér’s V ([\d.]+)", text)
    assert listed
    assert drawn
    for a, b, v, nats in listed:
        compare("report's list", a, b, float(v), 0, 3)
        compare("report's list", a, b, float(nats), 1, 4)
    for a, b, nats in drawn:
        compare("report's tree", a, b, float(nats), 1, 4)
    for a, b, v in squares:
        compare("report's matrix", a, b, float(v), 0, 3)

    analysts = Analysts(lambda: None)  # type: ignore[arg-type, return-value]
    analysts._release = lambda *_: release  # type: ignore[method-assign]
    part: Any = SimpleNamespace(stored_survey=release)
    for row in analysts.associations(part, "none"):
        compare("dashboard", row["a"], row["b"], row["cramers_v"], 0, 9)
        compare("dashboard", row["a"], row["b"], row["mutual_information"], 1, 9)
        compare("dashboard's matrix", row["a"], row["b"], float(row["words"].split()[2][:-1]), 0, 3)
    form = analysts.tree(part, "none")
    for row in form["edges"]:
        compare("dashboard's tree", row["a"], row["b"], row["mutual_information"], 1)
    if form["drawing"]["wide"] not in page(release):
        wrong.append("dashboard's drawing: not the report's")

    if release.survey.schema.is_binary:  # other models than of two values do not exist yet
        names = release.survey.schema.names
        matrix = pair_information(measure(release.evidence, Shared(len(names), 2)))
        plain = engine.dependence(release)  # a model is fitted to what was measured, undrawn
        chosen = [pair for pair in plain.pairs.tolist() if matrix[*pair] > 0]
        assert chosen
        for (i, j), nats in zip(plain.pairs.tolist(), plain.columns["excess"], strict=True):
            if matrix[i, j] > 0 and abs(matrix[i, j] - nats) > 1e-9:
                wrong.append(f"graph: {names[i]} × {names[j]}")
    return wrong


@pytest.mark.parametrize("kind", ["mixed", "binary"])
@pytest.mark.parametrize("consistency", ["none", "joint"])
def test_every_place_shows_the_same_number(request: Any, kind: str, consistency: str) -> None:
    release = request.getfixturevalue(kind).with_consistency(consistency)
    assert disagreements(release) == []


@pytest.mark.parametrize("kind", ["mixed", "binary"])
def test_another_formula_in_one_place_would_be_seen(
    request: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted bug: the tree forgets to take away what noise adds."""
    sound = chow_liu._edges

    def forgetful(*arguments: Any) -> pd.DataFrame:
        edges = sound(*arguments)
        return edges.assign(mutual_information=edges["mutual_information"] + 1e-3)

    monkeypatch.setattr(chow_liu, "_edges", forgetful)
    places = {line.split(":")[0] for line in disagreements(request.getfixturevalue(kind))}
    assert places == {"tree", "report's tree", "dashboard's tree"}


def test_a_graph_with_another_formula_would_be_seen(
    binary: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = pair_information
    monkeypatch.setitem(globals(), "pair_information", lambda measured: 1.01 * sound(measured))
    assert {line.split(":")[0] for line in disagreements(binary)} == {"graph"}


def test_mutual_information_is_not_negative_and_within_its_interval(mixed: Any) -> None:
    rows = mixed.associations()
    assert (rows["mutual_information"] >= 0).all()
    assert (rows["mutual_information_low"] <= rows["mutual_information"]).all()
    assert (rows["mutual_information"] <= rows["mutual_information_high"]).all()
