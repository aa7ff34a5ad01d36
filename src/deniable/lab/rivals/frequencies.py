"""Frequency oracles on tables: everybody reports the cell of one random table by OUE, OLH or HR.

What somebody gets who takes the best-known oracles for one attribute to tables of several: people are
divided among all tables of the order, and each is estimated without bias from the reports about it
alone.
"""

from __future__ import annotations

from abc import abstractmethod
from math import comb, prod
from typing import TYPE_CHECKING, Protocol

import numpy as np

from deniable.errors import SurveyError, TableError
from deniable.lab.rivals.hadamard import HadamardResponse
from deniable.lab.rivals.oracle import Oracle
from deniable.lab.rivals.rival import Advance, Rival
from deniable.lab.rivals.views import holders_of
from deniable.questions.entropy import Key
from deniable.schema.schema import Schema
from deniable.survey.coefficients import Floats, Ints, all_tables

if TYPE_CHECKING:
    from deniable.lab.simulate import Crowd

_MOST_TABLES = 20_000
_MOST_CELLS = 4096


class FrequencyOracle(Protocol):
    """What draws counts from how many hold each cell, and estimates shares from these."""

    def draw(self, holders: Ints, random: np.random.Generator) -> Ints:
        """Draw what is reported."""
        ...

    def estimate(self, counts: Ints, people: int) -> Floats:
        """Return the unbiased share of each cell."""
        ...


class Frequencies(Rival):
    """One random table per person, by one frequency oracle."""

    def __init__(self, schema: Schema, order: int, epsilon: float) -> None:
        super().__init__(schema, order, epsilon)
        most = prod(sorted(schema.sizes)[-order:])
        if comb(len(schema), order) > _MOST_TABLES or most > _MOST_CELLS:
            raise SurveyError(
                f"{self.name} takes at most {_MOST_TABLES:,} tables of {_MOST_CELLS:,} cells here, got "
                f"{comb(len(schema), order):,} of up to {most:,}."
            )

    @abstractmethod
    def oracle(self, cells: int) -> FrequencyOracle:
        """Return how a cell of so many is reported."""

    def run(self, crowd: Crowd, key: Key, advance: Advance = lambda people: None) -> OwnTables:
        """Ask everybody of a crowd about one table, by lot."""
        random = np.random.Generator(np.random.Philox(key.stream(self.name).words(2)))
        tables = [tuple(row) for row in all_tables(len(self.schema), self.order).tolist()]
        shares = {}
        every = holders_of(self.schema, tables, crowd, random, advance)
        for table, holders in zip(tables, every, strict=True):
            oracle = self.oracle(len(holders))
            shares[table] = oracle.estimate(oracle.draw(holders, random), int(holders.sum()))
        return OwnTables(shares)


class OwnTables:
    """Tables, each estimated by itself."""

    def __init__(self, shares: dict[tuple[int, ...], Floats]) -> None:
        self._shares = shares

    def tables(self, tables: Ints) -> Floats:
        """Return the cells of tables (sorted attributes, one row each) of the same sizes."""
        try:
            return np.stack([self._shares[tuple(row)] for row in tables.tolist()])
        except KeyError:
            order = len(next(iter(self._shares)))
            raise TableError(
                f"This rival tells tables of {order} attributes, and no others."
            ) from None


class OptimisedUnary(Frequencies):
    """Optimised unary encoding: a bit for each cell."""

    name = "OUE"

    def oracle(self, cells: int) -> Oracle:
        """Return OUE."""
        return Oracle.oue(cells, self.epsilon)


class LocalHashing(Frequencies):
    """Optimal local hashing: the hash of the cell, by a function of one's own."""

    name = "OLH"

    def oracle(self, cells: int) -> Oracle:
        """Return OLH."""
        return Oracle.olh(cells, self.epsilon)


class Hadamard(Frequencies):
    """Hadamard response: a place of the cell's row."""

    name = "HR"

    def oracle(self, cells: int) -> HadamardResponse:
        """Return Hadamard response."""
        return HadamardResponse(cells, self.epsilon)
