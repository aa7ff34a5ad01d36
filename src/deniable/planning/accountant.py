"""What a crowd hides, by numbers: the ε of shuffled reports for a δ, always rounded up.

A report hides one of two records behind *tokens*. Let R₀ and R₁ be its laws for the two, and

    R₀ = α·Q₀ + β·Q₁ + (1 − α − β)·Q,   R₁ = β·Q₀ + α·Q₁ + (1 − α − β)·Q,
    R_x = p·Q₀ + p·Q₁ + (1 − 2p)·Q_x

for every other record x. Then shuffled reports tell of the two no more than how many tokens of Q₀ and Q₁
there are: the person's own among those of the others, Bin(n − 1, 2p) many, each one or the other by a
fair coin. Given their number, the ratio of likelihoods grows with the tokens of Q₀, so the most that an
event tells, P₀ − e^ε'·P₁, is a sum of binomial tails. Whether the person's report is a token is taken to
be known: who else gave none depends on it.

- *Any law* has α = e^ε/(e^ε + 1), β = 1 − α and p = e^−ε/2, whatever slot is drawn.
- *A symbol of M, the true one more often*: with chance w = (e^ε − 1)/(e^ε + M − 1) it is the true one,
  else any of them. So P₀ − e^ε'·P₁ is at most w times P₀ − e^ε''·P₁ of true ones, with e^ε'' − 1 =
  (e^ε' − 1)/w, since the two symbols can be told apart no better than others.
- *Randomized response* is known exactly. Shuffled, it tells how many said yes; the others' truths are
  the adversary's to choose, and the worst are looked for among all of them. Where these are very many,
  neighbouring choices are bounded together, by the crowd without the people in whom they differ.

Every number is rounded towards *less is hidden*: what a window of a binomial law leaves out counts as
told, and relative errors of 10⁻⁹ (those of floats are below 10⁻¹¹) are against the person.

*Source.* Feldman, McMillan, Talwar, "Hiding Among the Clones", FOCS 2021 (tokens); Balle, Bell, Gascón,
Nissim, "The Privacy Blanket", CRYPTO 2019 (a symbol of M); Balle, Barthe, Gaboardi, "Privacy
Amplification by Subsampling", NeurIPS 2018 (ε'').
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, exp, floor, inf, log, log2, nextafter, sqrt

import numpy as np
from numpy.typing import NDArray

from deniable.numeric.roots import bracket

Floats = NDArray[np.float64]

_Divergence = Callable[[float, int | None], float]
"""The most that an event tells at an ε', P₀ − e^ε'·P₁; about so where few of the terms are looked at."""

MOST_PEOPLE = 1 << 26
"""A crowd of more people counts as one of so many."""

_LEFT_OUT = 1e-3
"""The part of δ that windows may leave out."""

_DOUBT = 1e-9
_CHOICES = 64
"""So many sets of choices of the others' truths are bounded one by one."""

_STEP = 1e-4
"""How far up ε is rounded, relatively."""

_LEAST = 1e-12
"""An ε that is said to be no smaller than this."""

_ROUGH = 1 << 11
"""About so many numbers of tokens are looked at while ε is searched for; all of them in the end."""

_WIDE = 1 << 13
"""From windows of this length on, sums are taken by Fourier transform."""


@dataclass(frozen=True)
class Tokens:
    """The law of a report by tokens: α and β of a person's, p of everybody else's.

    ``part`` is the chance that the person's report has to do with the record at all.
    """

    alpha: float
    beta: float
    other: float
    part: float = 1.0

    @classmethod
    def of_any(cls, epsilon: float) -> Tokens:
        """Return the tokens of any law of this ε: R_x ≥ e^−ε·(R₀ + R₁)/2."""
        own = 1 / (exp(-epsilon) + 1)
        return cls(own, 1 - own, exp(-epsilon) / 2)

    @classmethod
    def of_symbol(cls, epsilon: float, symbols: int) -> Tokens:
        """Return the tokens of a symbol of M, each of the others as likely as the next."""
        other = 1 / (exp(epsilon) + symbols - 1)
        return cls(1.0, 0.0, other, (exp(epsilon) - 1) * other)


def hidden(epsilon: float, crowd: int, delta: float, tokens: Tokens | None) -> float:
    """Return the ε that holds with δ where reports of so many people are mixed, rounded up.

    Without ``tokens``, answers are by randomized response. Never more than the ε of one report.
    """
    people = min(crowd, MOST_PEOPLE) - 1
    if people < 1:
        return epsilon  # nobody else is there
    divergence = (
        _by_answers(epsilon, people, delta) if tokens is None else _by_tokens(people, delta, tokens)
    )
    if tokens is None and divergence(epsilon, None) > delta:
        # The sums are not that precise. Those of the tokens of one symbol of two subtract nothing.
        divergence = _by_tokens(people, delta, Tokens.of_symbol(epsilon, 2))
    _, smaller = bracket(  # the divergence falls with ε
        lambda bound: divergence(bound, _ROUGH) > delta,
        0.0,
        epsilon,
        steps=ceil(log2(epsilon / _LEAST)),
        relative=_STEP,
    )
    while smaller < epsilon and divergence(smaller, None) > delta:
        smaller *= 1 + _STEP
    return min(epsilon, nextafter(smaller, inf))


@dataclass(frozen=True, eq=False)
class _Window:
    """The law of a number of people, from ``start`` on; ``beyond`` is the chance of all the rest."""

    start: int
    chances: Floats
    beyond: float


def _binomial(people: int, chance: float, beyond: float) -> _Window:
    """Return the law of Bin(people, chance) but for a part with at most this chance (Bernstein)."""
    if people == 0 or chance <= 0 or beyond <= 0:
        return _Window(0, np.ones(1), 0.0)
    depth = log(2 / beyond)
    reach = depth / 3 + sqrt(depth**2 / 9 + 2 * depth * people * chance * (1 - chance))
    start = max(0, floor(people * chance - reach))
    stop = min(people, floor(people * chance + reach) + 1)
    k = np.arange(start, stop, dtype=np.float64)
    ratios = np.log((people - k) / (k + 1)) + log(chance) - np.log1p(-chance)
    logs = np.concatenate(([0.0], np.cumsum(ratios)))
    chances = np.exp(logs - logs.max())
    return _Window(start, chances / chances.sum(), beyond)


def _by_tokens(people: int, delta: float, tokens: Tokens) -> _Divergence:
    """Return the divergence of tokens, as a function of ε'."""
    from scipy.special import betainc

    window = _binomial(people, 2 * tokens.other, _LEFT_OUT * delta)
    others = window.start + np.arange(len(window.chances), dtype=np.float64)

    def tail(total: Floats, least: Floats) -> Floats:
        within = np.clip(least, 1, total.clip(1, None))
        chance = betainc(within, total - within + 1, 0.5)
        every: Floats = np.where(least <= 0, 1.0, np.where(least > total, 0.0, chance))
        return every

    def divergence(epsilon: float, most: int | None) -> float:
        odds = 1 + (exp(epsilon) - 1) / tokens.part
        stride = 1 if most is None else -(-len(others) // most)
        total, chances = others[::stride], window.chances[::stride]
        gain, loss = tokens.alpha - odds * tokens.beta, odds * tokens.alpha - tokens.beta
        least = np.ceil((total + 1) * loss / ((tokens.alpha - tokens.beta) * (1 + odds)))
        plus = max(0.0, gain) * (1 + _DOUBT) * tail(total, least - 1)
        own = chances * (plus - loss * (1 - _DOUBT) * tail(total, least))
        return tokens.part * (float(own.clip(0, None).sum()) * stride + window.beyond)

    return divergence


def _by_answers(epsilon: float, people: int, delta: float) -> _Divergence:
    """Return the divergence of the number of yeses, for the worst truths of the others."""
    flip = (1 - 1e-12) / (exp(epsilon) + 1)
    beyond = _LEFT_OUT * delta
    laws = list(_sums(people, flip, beyond))

    def divergence(smaller: float, _: int | None) -> float:
        odds = exp(smaller)
        gain = 1 - flip - odds * flip
        most = 0.0
        for chances, more, doubt in laws:
            # P₀ − e^ε'·P₁ of "at least K yeses": the threshold that tells most.
            own = gain * (1 + _DOUBT) * chances - (odds - 1) * (1 - _DOUBT) * more
            most = max(most, float(own.max()) + doubt)
        return most + 2 * beyond

    return divergence


def _sums(people: int, flip: float, beyond: float) -> Iterator[tuple[Floats, Floats, float]]:
    """Yield laws of the others' yeses: each count's chance, that of more, and how far both are off.

    They are of all yes in truth, then of ever fewer; those of many choices together are of the crowd
    without the people in whom these differ.
    """
    block = max(1, people // _CHOICES)
    ends = [(people, people)]
    while ends[-1][0] > 0:
        last = ends[-1][0] - 1
        ends.append((max(0, last - block + 1), last))
    for least, most in ends:
        yes = _binomial(least, 1 - flip, beyond).chances
        no = _binomial(people - most, flip, beyond).chances
        doubt = 0.0
        if min(len(yes), len(no)) < _WIDE // 16 or max(len(yes), len(no)) < _WIDE:
            chances = np.convolve(yes, no)
        else:
            size = 1 << (len(yes) + len(no) - 2).bit_length()
            product = np.fft.rfft(yes, size) * np.fft.rfft(no, size)
            chances = np.fft.irfft(product, size)[: len(yes) + len(no) - 1].clip(0, None)
            error = 1e-15 * size.bit_length() * sqrt(float(yes @ yes) * float(no @ no))
            doubt = error * len(chances)
        more = np.append(np.cumsum(chances[::-1])[::-1], 0.0)[1:]
        yield chances, more, doubt
