"""How often tests of difference err, and intervals cover: `python scripts/measure_difference.py`.

The numbers in docs/groups.md are from here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from deniable import Release, Schema, Survey
from deniable.analysis.difference import group_differences
from deniable.messages.report import ReportBatch

TESTS = 1500
GRID = [
    *((name, (2,) * 6, e, n) for name in ("InpHT", "MargPS", "Subspace", "MargRR", "InpPS")
      for e, n in ((1.1, (100, 150)), (3.0, (100, 150)), (1.1, (2000, 500)))),
    *((name, (2, 3, 4, 2), e, n) for name in ("InpHT", "MargPS", "Subspace", "MargRR")
      for e, n in ((1.1, (200, 300)), (5.0, (200, 300)), (1.1, (1000,) * 5))),
]  # fmt: skip

SHARES = {"north": 0.2, "south": 0.5, "west": 0.3}
PEOPLE = {"north": 1500, "south": 300, "west": 200}
YES = {"north": (0.2, 0.3), "south": (0.7, 0.6), "west": (0.4, 0.5)}


def released(
    survey: Survey, frame: pd.DataFrame, counts: list[int], seed: str
) -> Iterator[Release]:
    """Yield releases of so many people each, from one batch."""
    batch, start = survey.randomize(frame, seed), 0
    for count in counts:
        rows = slice(start, start + count)
        start += count
        part = ReportBatch(survey.id, batch.slots[rows], batch.values[rows], simulated=True)
        yield survey.tally(part, simulation=True).release()


def type_one(name: str, sizes: tuple[int, ...], epsilon: float, counts: tuple[int, ...]) -> float:
    """Return how often groups of one population differ at the 5 % level."""
    random = np.random.default_rng(6)
    schema = Schema.of(**{f"a{i}": [str(v) for v in range(r)] for i, r in enumerate(sizes)})
    survey = Survey(schema, 2, epsilon, name)
    repeats = TESTS * 2 // (len(sizes) * (len(sizes) - 1))
    frame = {}
    for i, size in enumerate(sizes):
        share = random.dirichlet(np.full(size, 2.0))
        frame[f"a{i}"] = random.choice(size, repeats * sum(counts), p=share).astype(str)
    made = released(survey, pd.DataFrame(frame), [*counts] * repeats, f"{name} {sizes} {epsilon}")
    found = []
    for _ in range(repeats):
        groups = {str(place): next(made) for place in range(len(counts))}
        found.append(group_differences(groups)["p_value"].dropna().to_numpy())
    p = np.concatenate(found)
    rate = float((p < 0.05).mean())
    print(f"{name:9} {sizes} ε {epsilon} people {counts}: {len(p):,} tests, {rate:.3f}", flush=True)
    return rate


def coverage(name: str, epsilon: float, repeats: int = 400) -> None:
    """Print how often intervals cover the population: of combined strata, and of all reports."""
    random = np.random.default_rng(7)
    survey = Survey(Schema.binary("a", "b"), 2, epsilon, name)
    truth = sum(w * np.outer(*([1 - p, p] for p in YES[h])) for h, w in SHARES.items())
    parts = {}
    for h, count in PEOPLE.items():
        frame = pd.DataFrame(random.random((count * repeats, 2)) < YES[h], columns=["a", "b"])
        parts[h] = released(survey, frame, [count] * repeats, f"{name} {h}")
    hit: dict[str, list[float]] = {"combined": [], "all together": [], "combined, joint": []}
    for _ in range(repeats):
        strata = {h: next(part) for h, part in parts.items()}
        made = {
            "combined": Release.combine(strata, SHARES),
            "all together": Release.combine(strata, PEOPLE),
            "combined, joint": Release.combine(strata, SHARES, "joint"),
        }
        for kind, release in made.items():
            low, high = release.marginal("a", "b").interval()
            hit[kind].append(float(((low <= truth) & (truth <= high)).mean()))
    rates = ", ".join(f"{kind} {np.mean(each):.3f}" for kind, each in hit.items())
    print(f"{name:9} ε {epsilon}: {rates}", flush=True)


if __name__ == "__main__":
    for case in (("MargPS", 1.1), ("InpHT", 1.1), ("Subspace", 1.1), ("Subspace", 3.0)):
        coverage(*case)
    rates = [type_one(*case) for case in GRID]
    print(f"{len(rates)} settings: {min(rates):.3f} to {max(rates):.3f}")
