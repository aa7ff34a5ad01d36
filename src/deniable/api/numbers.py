"""What is estimated of numbers, as people hold it: it can be drawn."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import date
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from deniable.release.numbers.estimates import Estimates, NumberDistribution

if TYPE_CHECKING:
    from deniable.show.drawing import Drawing


@dataclass(frozen=True, eq=False, repr=False)
class PlottedEstimates(Estimates):
    """Estimates that can be drawn."""

    simulated: bool = False
    is_day: bool = False
    """Whether they are days, counted from the first of the year 1."""

    @classmethod
    def of(cls, estimates: Estimates, *, simulated: bool = False, is_day: bool = False) -> Self:
        """Return the same estimates."""
        return cls(**_parts(estimates, Estimates), simulated=simulated, is_day=is_day)

    def __repr__(self) -> str:
        if not self.is_day or not self.what.startswith("mean"):
            return super().__repr__()
        low, high = self._ends(0.95)
        rows = [
            f"{self.name(i)}: " * bool(self.name(i))
            + (f"{_day(value)} ± {error:.2g} days" if np.isfinite(error) else "not known")
            + f" ({_day(a)} to {_day(b)})"
            for i, (value, error, a, b) in enumerate(
                zip(self.possible, self._errors, low, high, strict=True)
            )
        ]
        return f"<{self.what}: {'; '.join(rows)}, {self.people:,} people>"

    def plot(self, *, level: float = 0.95) -> Drawing:
        """Return a chart of the estimates with their intervals."""
        from deniable.show.drawing import Drawing
        from deniable.show.number_charts import estimates_chart

        return Drawing(estimates_chart(self, level, is_day=self.is_day, simulated=self.simulated))


@dataclass(frozen=True, eq=False, repr=False)
class PlottedDistribution(NumberDistribution):
    """A distribution that can be drawn."""

    simulated: bool = False

    @classmethod
    def of(cls, distribution: NumberDistribution, *, simulated: bool = False) -> Self:
        """Return the same distribution."""
        return cls(**_parts(distribution, NumberDistribution), simulated=simulated)

    def plot(self) -> Drawing:
        """Return a chart: the histogram, and the distribution function with its band."""
        from deniable.show.drawing import Drawing
        from deniable.show.number_charts import distribution_chart

        return Drawing(distribution_chart(self, simulated=self.simulated))


def _day(number: float) -> date:
    return date.fromordinal(round(number))


def _parts(source: Any, kind: Any) -> dict[str, Any]:
    return {each.name: getattr(source, each.name) for each in fields(kind)}
