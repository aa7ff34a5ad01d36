"""How often intervals of what is built on estimates hold the truth (scripts/measure_intervals.py).

Seeds are fixed, and draws few: docs/consistency.md has the measurements. Cells of one draw err together,
so coverage of so few draws scatters by some 2 points (a false alarm in about a thousand, for a new seed,
with the bounds here); each planted bug takes far more away.
"""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from math import inf

import numpy as np
import pytest
from script_parts import load_script

from deniable.decoding import slot_evidence
from deniable.decoding.evidence import CoefficientEvidence
from deniable.decoding.slot_evidence import SlotEvidence
from deniable.release import components, fit, marginal
from deniable.release.components import Geometry, joint_vector

script = partial(load_script, "measure_intervals")


def columns(
    part: str, name: str, setting: tuple[float, int], draws: int, **more: object
) -> list[float]:
    """Return the numbers of one line that the script prints, after its setting."""
    arguments = Namespace(
        data=None, draws=draws, settings=[setting], attributes=6, consistency="model", aim="tables"
    )
    arguments.__dict__.update(more)
    line = next(getattr(script(), part)(name, arguments))
    texts = [text.strip() for text in line.strip("| ").split("|")][3:]
    return [float(text.split("/")[0] or inf) for text in texts]


@pytest.mark.slow
def test_intervals_of_models_hold_the_truth_and_what_would_break_them(monkeypatch) -> None:
    """At ε = 4 with 2,000 people answers to the same people correlate, and shrinking takes much away."""
    measure = partial(columns, "model", "abortion", (4.0, 2_000), 8, attributes=4)
    singles, pairs, triples = measure()[:3]
    assert min(singles, pairs, triples) > 0.9
    with monkeypatch.context() as planted:
        planted.setattr(
            SlotEvidence, "noise", CoefficientEvidence.noise
        )  # independent of each other
        planted.setattr(fit, "_STRONGER", 0)  # about the shrunken fit
        planted.setattr(marginal, "uneven_reach", lambda shares, error, factor: factor * error)
        assert measure()[1] < pairs - 0.03


@pytest.mark.slow
def test_thin_components_have_the_variance_of_their_large_cells(monkeypatch) -> None:
    measure = partial(columns, "thin", "24, 24, 24", (4.0, 200), 12)
    every, large = measure()[2:]
    assert every > 0.93
    assert large > 0.85

    def cut(cells, deviation, expected):
        return cells.clip(0, None) / cells.clip(0, None).sum(axis=1, keepdims=True)

    monkeypatch.setattr(slot_evidence, "likely_cells", cut)
    assert measure()[3] < 0.75


def test_no_interval_is_narrower_than_a_tenth_of_its_error(monkeypatch) -> None:
    """Of a table whose estimate lies far beyond 0, and of shares given another attribute."""
    measure = partial(columns, "conditional", "sparse", (1.1, 2_000), 2)
    tool = script()
    monkeypatch.setitem(tool.MANY, "sparse", lambda folder: tool.uneven((6, 5, 4), 0.9))
    monkeypatch.setattr(f"{__name__}.script", lambda: tool)
    *_, given, narrow, narrow_given = measure()
    assert given > 0.92
    assert narrow == narrow_given == 0


def sparse_truth(geometry: Geometry, random: np.random.Generator) -> np.ndarray:
    """Return the components of three kinds of people."""
    kinds = [random.integers(0, size, 3) for size in geometry.sizes]
    shares, cells = random.dirichlet(np.ones(3)), []
    for a, b in np.concatenate(geometry.groups):
        table = np.zeros((geometry.sizes[a], geometry.sizes[b]))
        np.add.at(table, (kinds[a], kinds[b]), shares)
        cells.append(table.ravel())
    return geometry.mean(np.concatenate(cells))


def worst(steps: int) -> float:
    """Return how much further than estimates joint tables are from the truth, at worst."""
    random, ratios = np.random.default_rng(19), []
    geometry = Geometry((6, 5, 4), 2)
    count, alone = len(geometry.uniform), sum(geometry.sizes)
    for turn in range(steps):
        truth = sparse_truth(geometry, random)
        noise = geometry.mean((0.003, 0.03, 0.2)[turn % 3] * random.standard_normal(count))
        noise[:alone] *= (1, 4)[turn % 2]
        joint = joint_vector(geometry, truth + noise)
        before, after = (geometry.weights @ off**2 for off in (noise, joint - truth))
        assert geometry.cells(joint).min() > -1e-12
        ratios.append(after / before)
    return max(ratios)


def test_joint_tables_of_many_values_are_never_further_from_the_truth(monkeypatch) -> None:
    """A theorem, so no false alarm; margins that are projected first and then stay break it."""
    assert worst(60) < 1
    monkeypatch.setattr(components, "_is_safe", lambda *arguments: True)
    monkeypatch.setattr(components, "_EASES", (1e-3,))
    assert worst(30) > 1.3
