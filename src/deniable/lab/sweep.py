"""A sweep: trials over several orders, ε and numbers of people, as one table with paired comparisons.

Contenders of one point ask the same people in each repeat, so what separates them is told far more
surely than what each of them errs by.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan, sqrt
from typing import NamedTuple

import numpy as np
import pandas as pd

from deniable.lab.simulate import Trial


class Comparison(NamedTuple):
    """By what share of its own error a mechanism is worse than another, and the standard error."""

    share: float
    standard_error: float
    """Not a number where there is one repeat."""

    def __str__(self) -> str:
        if isnan(self.standard_error):
            return f"{100 * self.share:.1f} %"
        digits = 1 if self.standard_error >= 5e-4 else 2
        return f"{100 * self.share:.{digits}f} ± {100 * self.standard_error:.{digits}f} %"


def compare(better: Trial, worse: Trial) -> Comparison:
    """Compare two trials repeat by repeat: (worse − better)/worse, as a ratio of means.

    With differences d_i and errors w_i of the worse one, the ratio is r = Σd/Σw, and its standard error
    that of the mean of d_i − r·w_i, over the mean of w.
    """
    errors = np.array(worse.distances)
    differences = errors - np.array(better.distances)
    if not errors.sum():
        return Comparison(0.0, nan)
    ratio = float(differences.sum() / errors.sum())
    if len(errors) < 2:
        return Comparison(ratio, nan)
    rest = differences - ratio * errors
    return Comparison(ratio, float(rest.std(ddof=1) / sqrt(len(rest)) / errors.mean()))


def by_point(trials: Sequence[Trial]) -> list[list[Trial]]:
    """Return trials of the same order, ε and number of people together, the best first."""
    points: dict[tuple[int, float, int], list[Trial]] = {}
    for trial in trials:
        points.setdefault((trial.order, trial.epsilon, trial.people), []).append(trial)
    return [sorted(points[at], key=lambda trial: trial.mean_tv) for at in sorted(points)]


def comparison_sentence(point: Sequence[Trial]) -> str:
    """Return by how much the best of a point is better than the next, in words; none if it is alone."""
    if len(point) < 2:
        return ""
    best, other = point[:2]
    result = compare(best, other)
    doubt = ", which may be chance" if result.share < 2 * result.standard_error else ""
    return f"{best.mechanism} is better than {other.mechanism} by {result}{doubt}."


def sweep_frame(trials: Sequence[Trial]) -> pd.DataFrame:
    """Return all trials, point by point and the best first, as a frame.

    Beside the trial's own numbers it says how much worse each is than the best of its point:
    ``behind``, a share of its error, and ``behind_standard_error``.
    """
    rows = []
    for point in by_point(trials):
        for trial in point:
            behind = compare(point[0], trial)
            rows.append(
                {
                    "order": trial.order,
                    "epsilon": trial.epsilon,
                    "people": trial.people,
                    "mechanism": trial.mechanism,
                    "repeat": trial.repeat,
                    "mean_tv": trial.mean_tv,
                    "standard_error": trial.standard_error,
                    "predicted_tv": trial.predicted_tv,
                    "behind": behind.share,
                    "behind_standard_error": behind.standard_error,
                }
            )
    numbers = ["standard_error", "predicted_tv", "behind_standard_error"]
    return pd.DataFrame(rows).astype(dict.fromkeys(numbers, float))
