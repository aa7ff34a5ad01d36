"""A regression as people hold it: it can be drawn."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

from deniable.analysis.regression.fit import Regression


@dataclass(frozen=True, eq=False, repr=False)
class PlottedRegression(Regression):
    """A regression that can be drawn."""

    @classmethod
    def of(cls, fit: Regression) -> Self:
        """Return the same regression."""
        return cls(**{each.name: getattr(fit, each.name) for each in fields(fit)})

    def plot(self, *, level: float | None = None) -> Any:
        """Return a forest plot: each coefficient, or odds ratio, with its interval."""
        from deniable.show.forest_chart import forest_chart

        return forest_chart(self, self.level if level is None else level)
