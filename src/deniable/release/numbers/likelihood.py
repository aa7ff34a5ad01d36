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
from copy import deepcopy

import numpy as np

from deniable.release.numbers.answers import Answers, Law
from deniable.survey.coefficients import Floats

__all__ = ["Answers", "Climb"]

_STOPS = tuple(round(2 * 2 ** (i / 2)) for i in range(14))  # 2 … 181 steps
_PACE = 1.5
_MISSING = (0.01, 0.9)
_LEAST = 1.0
"""Reports that are told so little by, all together, tell nothing."""
_LOSS = 7.0
"""A path ends once its score is so much below its best: e^−7 is no weight."""


class Climb:
    """The way from equal shares to those that explain the reports, and where it stops.

    ``shares`` are those of levels (and of missing numbers, last); they sum to one. The random numbers
    only deal reports into halves; by default they are the same in every call.
    """

    def __init__(
        self,
        blocks: Sequence[Answers],
        levels: int,
        missing: bool,
        random: np.random.Generator | None = None,
    ) -> None:
        self.blocks, self.levels, self.missing = blocks, levels, missing
        self._random = np.random.default_rng(0) if random is None else random
        self._laws = [Law(block, levels, missing) for block in blocks]
        self._start = _start(blocks, levels, missing)
        contraction = max(block.contraction for block in blocks)
        counts = [block.outcomes for block in blocks]
        self._weights = np.zeros(0)
        if contraction * sum(each.sum() for each in counts) > _LEAST:  # else nothing can be told
            self._pace = _PACE / contraction
            halves = _halves(counts, self._random)
            scores = _scores(self._laws, halves, self._pace, self._start)
            weights = np.where(scores > scores.max() - _LOSS, np.exp(scores - scores.max()), 0)
            self._weights = np.trim_zeros(weights / weights.sum(), "b")
        self.shares = self._reach(counts)

    def _reach(self, counts: Sequence[Floats]) -> Floats:
        """Return the shares where the climb stops, of these reports."""
        if not len(self._weights):
            return np.broadcast_to(self._start, (*counts[0].shape[:-2], len(self._start))).copy()
        path = _path(self._laws, counts, self._pace, self._start, 1)
        stops = zip(self._weights, path, strict=False)
        shares: Floats = np.sum([weight * at_stop for weight, at_stop in stops], axis=0)
        return shares

    @property
    def curve(self) -> Floats:
        """Return the share, of people with a number, up to each level."""
        there = self.shares[: self.levels]
        curve: Floats = np.cumsum(there) / there.sum()
        return curve

    def random(self) -> np.random.Generator:
        """Return the random numbers that follow those of the dealing, from the first one each time."""
        return deepcopy(self._random)

    def again(self, draws: int, random: np.random.Generator) -> Floats:
        """Return the shares of reports drawn anew at those that were fitted, a row for each draw."""
        counts = []
        for block, law in zip(self.blocks, self._laws, strict=True):
            chances = law.chances(self.shares)
            chances = chances / chances.sum(axis=1, keepdims=True)
            people = np.rint(block.people).astype(np.int64)
            counts.append(random.multinomial(people, chances, (draws, len(people))).astype(float))
        return self._reach(counts)


def _start(blocks: Sequence[Answers], levels: int, missing: bool) -> Floats:
    """Return equal shares of all levels beside the share of missing numbers, without bias.

    Entries that count missing numbers below their cuts and entries that count them above differ by
    just that share, cut by cut.
    """
    if not missing:
        return np.full(levels, 1 / levels)
    differences, people = [0.0], [0.0]
    for block in blocks:
        below = block.supports.cumsum(axis=1)[:, :-1].mean(axis=1) / (block.p - block.other)
        bottom, top = block.people @ ~block.top, block.people @ block.top
        if min(bottom, top) > 0:
            differences.append(float(below @ ~block.top / bottom - below @ block.top / top))
            people.append(float(bottom + top))
    absent = np.dot(differences, people) / max(sum(people), 1)
    absent = float(np.clip(absent, *_MISSING))
    return np.append(np.full(levels, (1 - absent) / levels), absent)


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
    start: Floats,
    later: int,
) -> Iterator[Floats]:
    """Yield the shares at each stop; `later` shifts all stops by so many half octaves."""
    shares = np.broadcast_to(start, (*counts[0].shape[:-2], len(start)))
    people = np.asarray(sum(count.sum(axis=(-2, -1)) for count in counts))[..., None]
    step = 0
    for stop in (round(each * 2 ** (later / 2)) for each in _STOPS):
        while step < stop:
            factors = sum(
                law.transpose(count / law.chances(shares))
                for law, count in zip(laws, counts, strict=True)
            )
            growth = np.where(
                people > 0, factors / np.maximum(people, 1), 1.0
            )  # halves may be empty
            shares = shares * growth**pace
            shares /= shares.sum(axis=-1, keepdims=True)
            step += 1
        yield shares


def _scores(laws: Sequence[Law], halves: Sequence[Floats], pace: float, start: Floats) -> Floats:
    """Return, per stop, the log likelihood of each half at the other's shares, summed."""
    scores: list[float] = []
    for shares in _path(laws, halves, pace, start, 0):
        scores.append(
            sum(
                float((half[::-1] * np.log(law.chances(shares))).sum())
                for law, half in zip(laws, halves, strict=True)
            )
        )
        if scores[-1] < max(scores) - _LOSS:
            break
    return np.array(scores)
