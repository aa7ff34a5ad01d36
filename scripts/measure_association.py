"""Measure the tests of independence, and print them as a Markdown table.

    python scripts/measure_association.py [--tests 5000] [--only InpHT] [--quick]

Attributes come in couples: the two of a couple depend on each other, weakly; everything else is
independent. A row is one survey design, repeated until there are so many tests of independent pairs.
*type I* is how often these are found dependent at the 5 % level, *paper* the same of the paper's χ²,
which knows no noise; *power* is how often couples are found, and *V covered* how often the 95 %
interval of Cramér's V holds the true one (of all pairs | of couples). Shares of "yes", or of the first
value, go from .05 to .85.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
from rich.console import Console
from rich.progress import Progress

from deniable import Schema, Survey, simulate
from deniable.questions.entropy import Key

MIXED = (2, 3, 4, 5, 3, 2, 5, 4)
LINKED = 0.15
"""How far couples are from independence (0) to the closest link that their shares allow (1)."""


def shares(sizes: tuple[int, ...]) -> list[np.ndarray]:
    """Return the shares of attributes' values: those of the last from .05 to .85."""
    made = []
    for size, most in zip(sizes, np.linspace(0.05, 0.85, len(sizes)), strict=True):
        rest = np.arange(1, size, dtype=float)
        made.append(np.append((1 - most) * rest / rest.sum(), most))
    return made


def couple(a: np.ndarray, b: np.ndarray, linked: float) -> np.ndarray:
    """Return the joint shares of a couple."""
    both = np.minimum(a.cumsum()[:, None], b.cumsum()[None, :])
    closest = np.diff(np.diff(both, axis=0, prepend=0), axis=1, prepend=0)
    return (1 - linked) * np.outer(a, b) + linked * closest.clip(0, None)


def cramers_v(joint: np.ndarray) -> float:
    alone = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    return math.sqrt(((joint - alone) ** 2 / alone).sum() / (min(joint.shape) - 1))


@dataclass(frozen=True)
class Population:
    """People whose attributes come in couples."""

    sizes: tuple[int, ...]
    linked: float = LINKED

    @property
    def schema(self) -> Schema:
        if set(self.sizes) == {2}:
            return Schema.binary(*self.names)
        return Schema.of(**{n: list(v) for n, v in zip(self.names, self.values, strict=True)})

    @property
    def names(self) -> list[str]:
        return [f"a{i}" for i in range(len(self.sizes))]

    @property
    def values(self) -> list[tuple[str, ...]]:
        return [tuple(f"v{j}" for j in range(size)) for size in self.sizes]

    @property
    def couples(self) -> dict[tuple[str, str], np.ndarray]:
        each, names = shares(self.sizes), self.names
        return {
            (names[i], names[i + 1]): couple(each[i], each[i + 1], self.linked)
            for i in range(0, len(names), 2)
        }

    def people(self, count: int, random: np.random.Generator) -> pa.Table:
        """Draw people."""
        columns = {}
        for names, joint in self.couples.items():
            bounds = joint.ravel().cumsum()[:-1]
            cells = np.searchsorted(bounds, random.random(count), side="right")
            for name, codes in zip(names, np.divmod(cells, joint.shape[1]), strict=True):
                columns[name] = self._column(name, codes)
        return pa.table(columns)

    def _column(self, name: str, codes: np.ndarray) -> pa.Array:
        if set(self.sizes) == {2}:
            return pa.array(codes == 1)
        values = self.values[self.names.index(name)]
        return pa.DictionaryArray.from_arrays(codes.astype(np.int32), pa.array(values))


def draws(
    population: Population, survey: Survey, people: int, tests: int, seed: str
) -> Iterator[pd.DataFrame]:
    """Yield releases' associations, with the truth and the paper's p-value, one draw after another."""
    couples = population.couples
    pairs = math.comb(len(population.sizes), 2)
    independent = pairs - len(couples) if population.linked else pairs
    random = np.random.Generator(np.random.Philox(Key.of(seed).stream("people").words(2)))
    for turn in range(math.ceil(tests / independent)):
        release = simulate(survey, population.people(people, random), seed=f"{seed}/{turn}")
        found = release.associations(select=1)  # intervals that hold for each pair by itself
        paper = release.paper_chi_square().rename(columns={"p_value": "paper"})
        truth = [
            cramers_v(couples.get(pair, np.eye(1))) if pair in couples else 0.0
            for pair in zip(found["a"], found["b"], strict=True)
        ]
        yield found.assign(v=truth, turn=turn).merge(paper[["a", "b", "paper"]], on=["a", "b"])


def summary(found: pd.DataFrame) -> dict[str, float]:
    """Return rates: of errors, of the paper's errors, of couples found, of intervals that cover."""
    alone, linked = found[found["v"] == 0], found[found["v"] > 0]
    covered = found["v"].between(found["cramers_v_low"] - 1e-9, found["cramers_v_high"] + 1e-9)
    return {
        "tests": len(alone),
        "error": float((alone["p_value"] < 0.05).mean()),
        "paper": float((alone["paper"] < 0.05).mean()),
        "power": float((linked["p_value"] < 0.05).mean()),
        "covered": float(covered.mean()),
        "covered_linked": float(covered[found["v"] > 0].mean()),
        "drawn": float((found["method"] == "bootstrap").mean()),
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--tests", type=int, default=5000)
    options.add_argument("--only", default=None)
    options.add_argument("--quick", action="store_true", help="2^14 people only")
    asked = options.parse_args()
    designs = [
        *((name, (2,) * d) for name, d in product(("InpHT", "MargPS", "Subspace"), (8, 20))),
        *((name, MIXED) for name in ("MargPS", "Subspace")),
    ]
    designs = [each for each in designs if asked.only in (None, each[0])]
    counts = (1 << 14,) if asked.quick else (1 << 14, 1 << 18)
    cases = list(product(designs, counts, (0.4, math.log(3), 3.0)))
    print("| mechanism | attributes | N | ε | tests | type I | paper | power | V covered | drawn |")
    print("|-|-|-|-|-|-|-|-|-|-|")
    screen = Console(stderr=True)
    with Progress(console=screen, disable=not screen.is_terminal) as bar:
        for (name, sizes), people, epsilon in bar.track(cases):
            population = Population(sizes)
            survey = Survey(population.schema, 2, epsilon, name)
            every = draws(population, survey, people, asked.tests, f"{name}/{people}/{epsilon}")
            rate = summary(pd.concat(every))
            kind = "8, of 2 to 5 values" if sizes is MIXED else f"{len(sizes)} yes/no"
            print(
                f"| {name} | {kind} | 2^{people.bit_length() - 1} | {epsilon:.2g} "
                f"| {rate['tests']:,.0f} | {rate['error']:.3f} | {rate['paper']:.2f} "
                f"| {rate['power']:.2f} | {rate['covered']:.3f} \\| {rate['covered_linked']:.3f} "
                f"| {rate['drawn']:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
