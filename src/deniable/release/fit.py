"""Models of yes/no attributes: fitted to reports, stopped and judged by their halves."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from deniable.release.descent import descend
from deniable.release.graph import ROUNDS, WIDTH, CliqueTree, grow, pair_information
from deniable.release.judging import Fit, Judges
from deniable.release.model import MOST_WHOLE, Distribution, Path, follow_both
from deniable.release.projection import Measurements, joint
from deniable.survey.coefficients import Floats, Ints, Shared, all_tables, hadamard

_MOST_JUDGED = 6000
"""The most coefficients by which a graph is judged; of more, as many are picked evenly."""

_MOST_COMPARED = 1500
"""The most coefficients by which its stops are compared."""

_LATER = 2
"""Twice the people, twice the time: two stops of a path (and one of a graph's, 1.64 times as far)."""

_STRONGER = 4
"""How many stops after a model's the truth is taken to be.

Where a share g of the square of what was measured in some direction is true, the rest noise, the best
model has g of it, the truth √g. A flow that has gone as far as g after some time is at √g after 1.4
times that for strong dependence (g = .8), 2.7 for weak (.2), 5 for hardly any (.05); four stops are 4.
"""


class Fitted(NamedTuple):
    """A model of a tally, how well it fits, and what its error bars need.

    ``stronger`` is a fit that keeps as much dependence as the truth may have; ``refit`` fits other
    measurements as the model was. Both are None where that would take too long to be done many times.
    """

    model: Distribution
    quality: Fit
    stronger: Distribution | None = None
    refit: Callable[[Measurements], Distribution] | None = None


def fit(measurements: Measurements, first: Measurements, second: Measurements) -> Fitted:
    """Return the model of what was measured, judged by what either half of the reports measured."""
    numbering = measurements.numbering
    joints = [joint(half.theta, numbering) for half in (first, second)]

    def judges_of(numbers: Ints) -> Judges:
        return Judges((first, second), numbers, (joints[0][numbers], joints[1][numbers]))

    if numbering.attributes <= MOST_WHOLE:
        stop, *fits = follow_both(first, second)
        judges = judges_of(np.arange(numbering.size))
        verdict = judges.verdict("the whole joint distribution", stop, (fits[0], fits[1]))

        def refit(other: Measurements, beyond: int = 0) -> Distribution:
            path = Path(other)
            for _ in range((stop + _LATER if stop else 0) + beyond):
                path.advance()
            return path.distribution

        stronger = refit(measurements, _STRONGER)
        return Fitted(refit(measurements), verdict, stronger, refit)
    name = f"a graph of treewidth {WIDTH} over the pairs that significantly depend"
    # One graph for both halves: the first is then judged by what had no part in it.
    cliques = grow(pair_information(first))
    stops = np.stack(descend(cliques, (first, second), ROUNDS), axis=1)

    def pick(judges: Judges, which: slice) -> list[tuple[Floats, Floats]]:
        tree = CliqueTree.of_cells(cliques, stops[:, which])
        both = coefficients(tree, numbering, judges.numbers)
        return [(one, other) for one, other in both]

    few, many = (
        judges_of(np.unique(np.linspace(0, numbering.size - 1, most).astype(int)))
        for most in (_MOST_COMPARED, _MOST_JUDGED)
    )
    stop = int(np.argmin([few.miss(fits) for fits in pick(few, slice(None))]))
    later = min(stop + 1, ROUNDS) if stop else 0
    own = grow(pair_information(measurements))
    tree = CliqueTree.of_cells(own, descend(own, (measurements,), later)[later][:, 0])
    return Fitted(tree, many.verdict(name, stop, pick(many, slice(stop, stop + 1))[0]))


def coefficients(model: Distribution, numbering: Shared, numbers: Ints) -> Floats:
    """Return a model's coefficients with these numbers, which ascend."""
    parts = []
    for size in range(1, numbering.order + 1):
        level = numbering.level(size)
        inside = (numbers >= level.start) & (numbers < level.stop)
        if inside.any():
            sets = all_tables(numbering.attributes, size)[numbers[inside] - level.start]
            parts.append(model.tables(sets) @ hadamard(np.eye(1 << size))[-1])
    return np.concatenate(parts, axis=-1)
