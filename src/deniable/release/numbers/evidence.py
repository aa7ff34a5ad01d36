"""What answers say of each cut on its own, without bias and without smoothing, and how noisy it is.

An entry's reports estimate the share of people below each of its cuts. Estimates of the same cut are
averaged by precision. Neighbouring cuts belong to different entries, so their noise is independent;
cuts of the same entry are about a third of the axis apart, and theirs is not, which is why noise is
also drawn: as normal vectors with each entry's exact covariance, at the shares of a fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from deniable.release.numbers.answers import Answers, Law, symbol_sets
from deniable.release.numbers.likelihood import Climb
from deniable.survey.coefficients import Floats

_NEARLY_NO_WEIGHT = 1e-9


@dataclass(frozen=True, eq=False)
class Evidence:
    """Unbiased estimates of the share of all people below each cut 1 … L − 1.

    `weight` is an estimate's precision, `noise` holds one drawn error per trial (rows) and cut.
    `present` estimates how many people have a number at all, and `present_noise` are its errors.
    `curve` and `present_fit` are the same two things as fitted, so not noisy but perhaps biased.
    `jump` is the most that one report moves a cut's estimate times its weight, 0 where no answer is
    about the cut; `present_jump` is the most that one moves `present`, infinite where answers do not
    tell who has a number: some cut must be asked about with missing numbers below it, and with them
    above.
    """

    value: Floats
    weight: Floats
    noise: Floats
    present: float
    present_noise: Floats
    curve: Floats
    present_fit: float
    jump: Floats
    present_jump: float


def evidence(climb: Climb, trials: int) -> Evidence:
    """Return what the answers say of each cut; chances and covariances are taken at fitted shares."""
    shares, levels, missing, random = climb.shares, climb.levels, climb.missing, climb.random()
    # Rows 0 and 1: entries that count missing numbers below all cuts, and above. Row 0 of trials is
    # the data, the others are noise.
    weight, total = np.zeros((2, levels - 1)), np.zeros((2, trials + 1, levels - 1))
    jump = np.zeros((2, levels - 1))
    for block in climb.blocks:
        law = Law(block, levels, missing)
        errors, precision = _estimates(block, law.chances(shares), random, trials)
        for side in range(2):
            rows = (block.top == bool(side)) & (block.people > 0)
            at = block.cuts[rows].ravel() - 1
            weights = (errors * precision)[:, rows].reshape(trials + 1, -1)
            weight[side] += np.bincount(at, precision[rows].ravel(), minlength=levels - 1)
            each = precision[rows] / block.people[rows, None] / (block.p - block.other)
            np.maximum.at(jump[side], at, each.ravel())
            order = np.argsort(at, kind="stable")
            starts = np.flatnonzero(np.diff(at[order], prepend=-1))
            if len(starts):
                total[side][:, at[order][starts]] += np.add.reduceat(
                    weights[:, order], starts, axis=1
                )
    mean = total / np.maximum(weight, _NEARLY_NO_WEIGHT)[:, None]
    sums = np.maximum(weight.sum(axis=0), _NEARLY_NO_WEIGHT)
    both = weight[0] * weight[1] / sums
    absent, present_jump = np.zeros(trials + 1), 0.0
    if missing:
        absent = (mean[0] - mean[1]) @ both / max(both.sum(), _NEARLY_NO_WEIGHT)
        moved = jump / np.maximum(weight, _NEARLY_NO_WEIGHT) * both
        present_jump = float(moved.max() / both.sum()) if both.any() else inf
    values = (total.sum(axis=0) - weight[0] * absent[:, None]) / sums
    curve = np.cumsum(shares[:levels])
    return Evidence(
        values[0],
        sums,
        values[1:],
        1 - absent[0],
        -absent[1:],
        curve[:-1],
        float(curve[-1]),
        jump=jump.max(axis=0),
        present_jump=present_jump,
    )


def _estimates(
    block: Answers, chances: Floats, random: np.random.Generator, trials: int
) -> tuple[Floats, Floats]:
    """Return shares below each entry's cuts, followed by drawn errors of them, and their precision."""
    scale = block.p - block.other
    people = np.maximum(block.people, _NEARLY_NO_WEIGHT)[:, None]
    below = np.cumsum((block.supports / people - block.other) / scale, axis=1)[:, :-1]
    holds = np.cumsum(symbol_sets(block.symbols, block.w), axis=1)[:, :-1] / scale
    mean = chances @ holds
    second = np.einsum("es,sj,sk->ejk", chances, holds, holds)
    covariance = second - mean[:, :, None] * mean[:, None, :]
    root = np.linalg.cholesky(covariance + 1e-12 * np.eye(covariance.shape[-1]))
    normal = random.standard_normal((trials, *below.shape))
    errors = np.einsum("ejk,tek->tej", root, normal) / np.sqrt(people)
    return np.concatenate([below[None], errors]), people / np.einsum("ejj->ej", covariance)
