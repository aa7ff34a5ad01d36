"""What a rival is: a method of others, as far as comparing its tables with ours needs it.

A rival is told schema, order and ε, asks a crowd once, and answers with tables. It has no reports, no
format and no collector, and it is drawn with ordinary floating-point randomness: each answer keeps to ε
by its formulas, not bit by bit, so a rival protects nobody and is for simulation only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from deniable.questions.entropy import Key
from deniable.schema.schema import Schema
from deniable.survey.checks import check_parameters
from deniable.survey.coefficients import Floats, Ints

if TYPE_CHECKING:
    from deniable.lab.simulate import Crowd

Advance = Callable[[int], object]


class Tabled(Protocol):
    """What came out: it answers tables."""

    def tables(self, tables: Ints) -> Floats:
        """Return the cells of tables (sorted attributes, one row each) of the same sizes."""
        ...


class Rival(ABC):
    """One method of others, for one schema, order and ε."""

    name: ClassVar[str]

    def __init__(self, schema: Schema, order: int, epsilon: float) -> None:
        check_parameters(schema, order, epsilon)
        self.schema, self.order, self.epsilon = schema, order, epsilon

    @property
    def mechanism(self) -> str:
        """Return the name, as a survey does."""
        return self.name

    @property
    def kinds(self) -> Ints:
        """Return a number for each attribute: equal ones have as many values."""
        return np.array(self.schema.sizes)

    @abstractmethod
    def run(self, crowd: Crowd, key: Key, advance: Advance = lambda people: None) -> Tabled:
        """Ask everybody of a crowd once; ``advance`` is told how many have answered since."""
