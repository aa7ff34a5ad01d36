"""How often intervals of what is built on estimates hold the truth (scripts/measure_intervals.py).

Seeds are fixed, and draws few: docs/consistency.md has the measurements. Cells of one draw err together,
so coverage of so few draws scatters by some 2 points (a false alarm in about a thousand, for a new seed,
with the bounds here); each planted bug takes far more away.
"""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from math import inf

import pytest
from script_parts import load_script

from deniable.decoding import slot_evidence
from deniable.decoding.evidence import CoefficientEvidence
from deniable.decoding.slot_evidence import SlotEvidence
from deniable.release import fit, marginal

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
