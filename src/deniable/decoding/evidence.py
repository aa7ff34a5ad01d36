"""Evidence: what a tally tells about tables, with covariances.

What a prediction or a release needs is in the protocols here; what follows for cells from the
covariance of coefficients is said once, for every decoder that estimates coefficients.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from math import pi, prod, sqrt
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from deniable.decoding.forms import FormEvidence
from deniable.errors import TableError
from deniable.numeric.axes import along_axes, kronecker
from deniable.numeric.covariances import mark_unknown, variances_of
from deniable.questions.lists import QuestionList, lists_named
from deniable.survey.coefficients import Floats, Ints, Numbering, hadamard, same_sizes

FEW_REPORTS = 32
"""With fewer reports per coefficient, those of a component are divided by their mean number."""

FEW_AT_CUTS = 64
"""The same for numbers: means of all cuts gain little from dividing each by its own number."""

MOST_COVARIED = 1 << 12
"""The largest table with a covariance: 16 million numbers."""

MOST_PRODUCTS = 1 << 27
"""The most products of a table's cells and coefficients on the way to its covariance."""

KAPPA = 0.5 * sqrt(2 / pi)
"""The expected distance of a table is this times the sum of its cells' standard errors."""

MOSTLY_NOISE = 0.5
"""A table that puts more people than this share into the wrong cell is mostly noise."""

BEYOND = 7.0
"""So many standard errors beyond what is possible are not chance."""


@dataclass(frozen=True)
class Tables:
    """Estimated cells of several tables, a row for each, in C order."""

    values: Floats
    known: NDArray[np.bool_]
    notes: dict[str, NDArray[Any]]


def cells_of(theta: Floats, lists: Sequence[QuestionList]) -> Floats:
    """Return the cells of tables of these coefficients (without θ_∅), by attributes' lists."""
    full = np.column_stack((np.ones(len(theta)), theta))
    if all(each.size == 2 and each.count == 1 for each in lists):
        cells: Floats = hadamard(full) / full.shape[1]
        return cells
    return along_axes(full, [each.synthesis for each in lists])


def coefficients_of(cells: Floats, lists: Sequence[QuestionList]) -> Floats:
    """Return the coefficients (without θ_∅) of tables of these cells."""
    if all(each.size == 2 and each.count == 1 for each in lists):
        return hadamard(cells)[:, 1:]
    return along_axes(cells, [each.analysis for each in lists])[:, 1:]


def refuse_covariance(cells: int, coefficients: int = 0) -> None:
    """Refuse a covariance of too many cells; their variances can be had all the same."""
    if cells > MOST_COVARIED or cells * coefficients > MOST_PRODUCTS:
        raise TableError(
            f"A table of {cells:,} cells has a covariance of {cells**2:,} numbers, which is too "
            f"large: up to {MOST_COVARIED:,} cells have one, or fewer. Standard errors are there for "
            "all."
        )


class Overview(NamedTuple):
    """All coefficients at once, by number: θ̂, its variance where θ is near 0, and its reports.

    At another θ the variance is ``variance − gain·θ²``. A coefficient that was never asked counts as
    0, with infinite variance and no reports.
    """

    theta: Floats
    variance: Floats
    people: Floats
    gain: Floats


class CellErrors(Protocol):
    """What a prediction needs. Tables asked for together have the same sizes, place by place."""

    def cell_variances(self, tables: Ints, truth: Floats | None = None) -> Floats:
        """Return the variance of each cell of each table, at these cells or at what is known."""
        ...

    def cell_covariances(self, tables: Ints, truth: Floats | None = None) -> Floats:
        """Return the covariance matrix of each table's cells.

        Where something needed was never asked, every cell's variance is infinite, and covariances
        between cells are not a number.
        """
        ...


class Evidence(CellErrors, Protocol):
    """What a release needs to make tables."""

    def tables(self, tables: Ints) -> Tables:
        """Return the estimated cells of each table."""
        ...

    @property
    def plausible(self) -> bool:
        """Tell whether people can have given these reports."""
        ...


class CoefficientErrors(ABC):
    """What follows for cells from the covariance of coefficients."""

    @abstractmethod
    def lists_of(self, tables: Ints) -> tuple[QuestionList, ...]:
        """Return the lists of questions about the attributes of these tables."""

    @abstractmethod
    def covariance(self, tables: Ints, theta: Floats | None = None) -> Floats:
        """Return the covariance matrices of all coefficients but θ_∅ of each table.

        They are at a given θ, or at what is known of it.
        """

    def cell_covariances(self, tables: Ints, truth: Floats | None = None) -> Floats:
        """Return the covariance matrix of each table's cells."""
        lists = self.lists_of(tables)
        cells = prod(each.size for each in lists)
        refuse_covariance(cells)
        theta = None if truth is None else coefficients_of(truth, lists)
        errors = self.covariance(tables, theta)
        unknown = np.any(np.isinf(variances_of(errors)), axis=1, keepdims=True)
        transform = kronecker(each.synthesis for each in lists)[:, 1:]
        finite = np.where(unknown[..., None], 0.0, errors)
        return mark_unknown(transform @ finite @ transform.T, unknown)

    def cell_variances(self, tables: Ints, truth: Floats | None = None) -> Floats:
        """Return the variance of each cell of each table."""
        return variances_of(self.cell_covariances(tables, truth))


class CoefficientEvidence(CoefficientErrors, FormEvidence):
    """Evidence that consists of estimated coefficients."""

    def __init__(self, numbering: Numbering, lists: Sequence[QuestionList] = ()) -> None:
        self.numbering = numbering
        self.set_lists(tuple(lists) or lists_named("codes", (2,) * numbering.attributes))

    def set_lists(self, lists: Sequence[QuestionList]) -> None:
        """Take lists to make tables with."""
        self.lists = tuple(lists)
        different = {each: number for number, each in enumerate(dict.fromkeys(self.lists))}
        self.kinds: Ints = np.array([different[each] for each in self.lists])

    def lists_of(self, tables: Ints) -> tuple[QuestionList, ...]:
        """Return the lists of questions about the attributes of these tables."""
        if (self.kinds[tables] != self.kinds[tables[0]]).any():
            raise ValueError("tables that are asked for together must have the same question lists")
        return tuple(self.lists[attribute] for attribute in tables[0].tolist())

    @property
    @abstractmethod
    def overview(self) -> Overview:
        """Return what is known of every coefficient."""

    def with_lists(self, lists: Sequence[QuestionList]) -> Self:
        """Return the same coefficients, of which other lists make tables."""
        other = copy(self)
        other.set_lists(lists)
        return other

    def weights_of(self, attribute: int, functions: Floats) -> Floats:
        """Return the weights of 1 and of coefficients in means of functions of a code (rows)."""
        return self.lists[attribute].expectation(functions)

    def noise(self, random: np.random.Generator, draws: int) -> Floats:
        """Return draws of the noise of all coefficients, in standard errors: a row for each draw.

        Those of different coefficients are independent, unless single reports are known.
        """
        return random.standard_normal((draws, self.numbering.size))

    @abstractmethod
    def coefficients(self, tables: Ints) -> tuple[Floats, Floats]:
        """Return θ̂ of all coefficients but θ_∅ of each table, and the reports behind each."""

    def tables(self, tables: Ints) -> Tables:
        """Return the estimated cells of each table, whose attributes may have different lists."""
        groups = list(same_sizes(self.kinds, tables))
        if len(groups) > 1:
            parts = [self.tables(tables[rows]) for rows in groups]
            back = np.argsort(np.concatenate(groups))
            values = np.concatenate([part.values for part in parts])[back]
            return Tables(values, np.concatenate([part.known for part in parts])[back], {})
        theta, people = self.coefficients(tables)
        is_known = np.all(people > 0, axis=1)
        return Tables(cells_of(theta, self.lists_of(tables)), is_known, {})

    @cached_property
    def plausible(self) -> bool:
        """Tell whether people can have given these reports: no coefficient lies far beyond ±1.

        Chance alone puts one seven standard errors beyond it less than once in 10¹¹ times; liars and
        damaged tallies easily do.
        """
        view = self.overview
        least = 1 if self.numbering.is_plain else FEW_REPORTS  # of fewer, nobody can tell
        is_asked = view.people >= least
        beyond = np.abs(view.theta[is_asked]) - 1
        return not bool((beyond > BEYOND * np.sqrt(view.variance[is_asked])).any())


def covariance_of_moments(theta: Floats, cross: Floats, share: Floats, alone: Floats) -> Floats:
    """Return cross·θ_{α⊕α'} − share·θ_α·θ_α', with ``alone`` for the first term where α = α'."""
    width = theta.shape[1]
    masks = np.arange(1, width + 1)
    full = np.column_stack((np.ones(len(theta)), theta))
    out = cross * full[:, masks[:, None] ^ masks]
    variances_of(out)[:] = alone
    out -= share * theta[:, :, None] * theta[:, None, :]
    return out


def divided_moments(moments: Floats, weight: Floats) -> Floats:
    """Return moments over products of weights; infinite variance where nobody was asked."""
    with np.errstate(divide="ignore", invalid="ignore"):
        moments /= weight[:, :, None] * weight[:, None, :]
    return mark_unknown(moments, weight == 0, between=0.0)


def expected_tv(cell_variances: Floats) -> Floats:
    """Return the expected distance of each table (rows) whose cells have these variances."""
    distance: Floats = KAPPA * np.sqrt(cell_variances.clip(0, None)).sum(axis=-1)
    return distance
