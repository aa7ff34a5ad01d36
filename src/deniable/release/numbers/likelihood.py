"""The distribution of one number by maximum likelihood, stopped before it follows the noise.

The climb starts at equal shares and multiplies each level's share by how much likelier the reports
are there than on average (Shepp and Vardi's EM). An LDP report tells at most a part c of what the
symbol tells (`Answers.contraction`), so that EM creeps; the factor to the power 1.5/c goes about as
fast as is stable, and makes the pace the same at every ε. Early steps find the coarse shape, late
ones also spikes and noise: where to stop is all the smoothing there is, and is judged by the data.
Reports are dealt into two halves; each half's path is scored by the other half's likelihood. The
whole has twice the reports of a half and bears more steps: a stop at k steps counts for √2·k. Stops
are averaged, each weighted by its held-out likelihood, which is steadier than the best one alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from deniable.release.numbers.answers import Answers, Law
from deniable.survey.coefficients import Floats

__all__ = ["Answers", "fit"]

_STOPS = tuple(round(2 * 2 ** (i / 2)) for i in range(14))  # 2 … 181 steps
_PACE = 1.5
_MISSING = 0.1
_LOSS = 7.0
"""A path ends once its score is so much below its best: e^−7 is no weight."""


def fit(
    blocks: Sequence[Answers],
    levels: int,
    missing: bool,
    random: np.random.Generator | None = None,
) -> Floats:
    """Return the shares of levels (and of missing numbers, last); they sum to one.

    The random numbers only deal reports into halves; by default they are the same in every call.
    """
    random = random or np.random.default_rng(0)
    laws = [Law(block, levels, missing) for block in blocks]
    counts = [block.outcomes for block in blocks]
    pace = _PACE / max(block.contraction for block in blocks)
    if sum(each.sum() for each in counts) == 0:
        return _start((), levels, missing)
    scores = _scores(laws, _halves(counts, random), pace, levels, missing)
    weights = np.where(scores > scores.max() - _LOSS, np.exp(scores - scores.max()), 0)
    weights = np.trim_zeros(weights / weights.sum(), "b")
    shares = np.zeros(levels + missing)
    for weight, at_stop in zip(
        weights, _path(laws, counts, pace, levels, missing, 1), strict=False
    ):
        shares += weight * at_stop
    return shares


def _start(ahead: tuple[int, ...], levels: int, missing: bool) -> Floats:
    shares = np.full((*ahead, levels + missing), (1 - _MISSING * missing) / levels)
    if missing:
        shares[..., -1] = _MISSING
    return shares


def _halves(counts: Sequence[Floats], random: np.random.Generator) -> list[Floats]:
    """Deal each block's reports into two halves (the new first axis) by fair coins."""
    halves = []
    for count in counts:
        first = random.binomial(np.rint(count).astype(np.int64), 0.5)
        halves.append(np.stack([first, count - first]))
    return halves


def _path(
    laws: Sequence[Law],
    counts: Sequence[Floats],
    pace: float,
    levels: int,
    missing: bool,
    later: int,
) -> Iterator[Floats]:
    """Yield the shares at each stop; `later` shifts all stops by so many half octaves."""
    shares = _start(counts[0].shape[:-2], levels, missing)
    people = np.array(sum(count.sum(axis=(-2, -1)) for count in counts))[..., None]
    step = 0
    for stop in (round(each * 2 ** (later / 2)) for each in _STOPS):
        while step < stop:
            factors = sum(
                law.transpose(count / law.chances(shares))
                for law, count in zip(laws, counts, strict=True)
            )
            # A half without reports, which one of very few has, stays where it starts.
            shares = shares * np.where(people > 0, factors / np.maximum(people, 1), 1) ** pace
            shares /= shares.sum(axis=-1, keepdims=True)
            step += 1
        yield shares


def _scores(
    laws: Sequence[Law], halves: Sequence[Floats], pace: float, levels: int, missing: bool
) -> Floats:
    """Return, per stop, the log likelihood of each half at the other's shares, summed."""
    scores: list[float] = []
    for shares in _path(laws, halves, pace, levels, missing, 0):
        scores.append(
            sum(
                float((half[::-1] * np.log(law.chances(shares))).sum())
                for law, half in zip(laws, halves, strict=True)
            )
        )
        if scores[-1] < max(scores) - _LOSS:
            break
    return np.array(scores)
