"""Evidence: what a tally tells about coefficients, with exact covariances.

A slot's reports give, for every coefficient α its question holds, scores with mean θ_α. With weights
g = 1/V (V the score's second moment; weights never look at the data), and G_α = Σ g over the reports
that hold α,

    θ̂_α = Σ g·score / G_α
    Cov(θ̂_α, θ̂_α') = Σ g² (κ·θ_{α⊕α'} − θ_α·θ_α') / (G_α·G_α')   over reports that hold both,

with V in place of κ·θ_{α⊕α'} where α = α', so that Σ g²V = G_α. κ and V come from the way of answering
alone (`deniable.questions.answers.Inclusion`). A coefficient that no report holds is estimated as 0
with infinite variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms.coefficients import Ints, Numbering, hadamard

__all__ = [
    "Evidence",
    "Overview",
    "Readings",
    "SlotEvidence",
    "Spread",
    "SymmetricEvidence",
    "Tables",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tables:
    """Estimated cells of several tables: bit i of a cell's index is attribute i, ascending."""

    values: Floats
    known: NDArray[np.bool_]
    notes: dict[str, NDArray[Any]]

    @classmethod
    def of(cls, theta: Floats, people: Floats) -> Tables:
        """Return the tables of these coefficients (without θ_∅) and the reports behind each."""
        full = np.column_stack((np.ones(len(theta)), theta))
        return cls(hadamard(full) / full.shape[1], np.all(people > 0, axis=1), {})


class Overview(NamedTuple):
    """All coefficients at once, by number: θ̂, its variance where θ is near 0, and its reports.

    At another θ the variance is ``variance − gain·θ²``. A coefficient that was never asked counts as
    0, with infinite variance and no reports.
    """

    theta: Floats
    variance: Floats
    people: Floats
    gain: Floats


class Spread(Protocol):
    """What a prediction needs."""

    def covariance(self, tables: Ints, theta: Floats | None = None) -> Floats:
        """Return the covariance matrices of all coefficients but θ_∅ of each table.

        They are at a given θ, or at what is known of it.
        """
        ...


class Evidence(Spread, Protocol):
    """What a release needs to make tables."""

    @property
    def numbering(self) -> Numbering:
        """Return how coefficients are numbered."""
        ...

    @property
    def overview(self) -> Overview:
        """Return what is known of every coefficient."""
        ...

    def coefficients(self, tables: Ints) -> tuple[Floats, Floats]:
        """Return θ̂ of all coefficients but θ_∅ of each table, and the reports behind each."""
        ...

    def tables(self, tables: Ints) -> Tables:
        """Return the estimated cells of each table."""
        ...


@dataclass(frozen=True, eq=False)
class Readings:
    """Slots that answer in one way: who reported, and what was learnt about which coefficients.

    ``members[i, j]`` numbers the coefficient that score j of slot i speaks about, ``masks[j]`` says
    which of the slot's attributes it is of; ``scores[i, j]`` is the sum of the scores of its
    ``people[i]`` reports.
    """

    members: Ints
    masks: Ints
    people: Floats
    scores: Floats
    second_moment: float
    cross: float


class SlotEvidence:
    """Evidence pooled over slots, by whatever numbering."""

    def __init__(self, numbering: Numbering, readings: Sequence[Readings]) -> None:
        self.numbering = numbering
        self._readings = readings
        size = numbering.size
        self._whole = [r for r in readings if r.members.shape == (1, size)]
        weight, people, total, squared = np.zeros((4, size))
        for r in readings:
            members = r.members.ravel()
            held = np.bincount(members, np.repeat(r.people, r.members.shape[1]), size)
            people += held
            weight += held / r.second_moment
            squared += held / r.second_moment**2
            total += np.bincount(members, r.scores.ravel(), size) / r.second_moment
        self._weight, self._people = weight, people
        asked = weight > 0
        self._theta = np.divide(total, weight, out=np.zeros(size), where=asked)
        variance = np.divide(1, weight, out=np.full(size, np.inf), where=asked)
        gain = np.divide(squared, weight**2, out=np.zeros(size), where=asked)
        self.overview = Overview(self._theta, variance, people, gain)

    def coefficients(self, tables: Ints) -> tuple[Floats, Floats]:
        """Return θ̂ of all coefficients but θ_∅ of each table, and the reports behind each."""
        numbers = self.numbering.of_tables(tables)
        return self._theta[numbers], self._people[numbers]

    def tables(self, tables: Ints) -> Tables:
        """Return the estimated cells of each table."""
        return Tables.of(*self.coefficients(tables))

    @cached_property
    def _everywhere(self) -> tuple[float, float]:
        """Return Σg²κ and Σg² over the reports that hold all coefficients."""
        squared = [(r.people[0] / r.second_moment**2, r.cross) for r in self._whole]
        return sum(g * cross for g, cross in squared), sum(g for g, _ in squared)

    @cached_property
    def _products(self) -> tuple[Any, Any]:
        """Return Σg²κ and Σg² over other reports that hold two coefficients.

        Only pairs of coefficients that a table may hold together are looked at.
        """
        from scipy import sparse

        size, order = self.numbering.size, self.numbering.order
        cross, share = sparse.csr_array((size, size)), sparse.csr_array((size, size))
        for r in self._readings:
            if r in self._whole:  # their products are all the same, and too many to be listed
                continue
            width = r.members.shape[1]
            squared = r.people / r.second_moment**2
            together = np.bitwise_count(r.masks[:, None] | r.masks) <= order
            both: Any
            if together.all():
                starts = np.arange(0, r.members.size + 1, width)
                holds: Any = sparse.csr_array(
                    (np.ones(r.members.size), r.members.ravel(), starts), (len(squared), size)
                )
                both = (holds.T @ (holds * squared[:, None])).tocsr()
            else:
                left, right = np.nonzero(together)
                at = (r.members[:, left].ravel(), r.members[:, right].ravel())
                both = sparse.coo_array((np.repeat(squared, len(left)), at), (size, size)).tocsr()
            cross, share = cross + r.cross * both, share + both
        return cross, share

    def covariance(self, tables: Ints, theta: Floats | None = None) -> Floats:
        """Return the coefficients' covariance matrices, at θ̂ or at a given θ."""
        numbers = self.numbering.of_tables(tables)
        if theta is None:
            theta = self._theta[numbers].clip(-1, 1)
        count, width = numbers.shape
        left = np.broadcast_to(numbers[:, :, None], (count, width, width))
        right = np.broadcast_to(numbers[:, None, :], (count, width, width))
        cross, share = self._products
        weight = self._weight[numbers]
        all_cross, all_share = self._everywhere
        at = (left.ravel(), right.ravel())
        moments = covariance_of_moments(
            theta,
            np.asarray(cross[at]).reshape(left.shape) + all_cross,
            np.asarray(share[at]).reshape(left.shape) + all_share,
            weight,
        )
        return _divided(moments, weight)


def _divided(moments: Floats, weight: Floats) -> Floats:
    """Return moments over products of weights; infinite variance where nobody was asked."""
    with np.errstate(divide="ignore", invalid="ignore"):
        moments /= weight[:, :, None] * weight[:, None, :]
    unknown = weight == 0
    moments[unknown[:, :, None] | unknown[:, None, :]] = 0
    np.einsum("rii->ri", moments)[unknown] = np.inf
    return moments


class SymmetricEvidence:
    """The evidence to expect where all attributes are asked about alike: known by size alone.

    How many reports hold α and α' together depends on |α|, |α'| and |α ∪ α'| only. The arrays are
    indexed by these, or by |α|: Σg²κ and Σg² over the reports that hold both, Σg over those that
    hold one. There are no estimates.
    """

    def __init__(self, cross: Floats, share: Floats, weight: Floats) -> None:
        self._cross, self._share, self._weight = cross, share, weight

    def covariance(self, tables: Ints, theta: Floats | None = None) -> Floats:
        """Return the coefficients' covariance matrices, at 0 or at a given θ."""
        masks = np.arange(1, 1 << tables.shape[1])
        size = np.bitwise_count(masks)
        at = (size[:, None], size[None, :], np.bitwise_count(masks[:, None] | masks))
        weight = self._weight[size]
        if theta is None:
            theta = np.zeros((len(tables), len(masks)))
        alone = np.broadcast_to(weight, theta.shape)
        moments = covariance_of_moments(theta, self._cross[at], self._share[at], alone)
        return _divided(moments, alone)


def covariance_of_moments(theta: Floats, cross: Floats, share: Floats, alone: Floats) -> Floats:
    """Return cross·θ_{α⊕α'} − share·θ_α·θ_α', with ``alone`` for the first term where α = α'."""
    width = theta.shape[1]
    masks = np.arange(1, width + 1)
    full = np.column_stack((np.ones(len(theta)), theta))
    out = cross * full[:, masks[:, None] ^ masks]
    diagonal = np.einsum("rii->ri", out)
    diagonal[:] = alone
    out -= share * theta[:, :, None] * theta[:, None, :]
    return out
