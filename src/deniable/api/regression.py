"""A regression as people hold it: it can be drawn."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

from deniable.analysis.regression.fit import Regression

if TYPE_CHECKING:
    from deniable.show.drawing import Drawing


@dataclass(frozen=True, eq=False, repr=False)
class PlottedRegression(Regression):
    """A regression that can be drawn."""

    @classmethod
    def of(cls, fit: Regression) -> Self:
        """Return the same regression."""
        return cls(**{each.name: getattr(fit, each.name) for each in fields(fit)})

    def plot(self, *, level: float | None = None) -> Drawing:
        """Return a forest plot: each coefficient, or odds ratio, with its interval."""
        from deniable.show.drawing import Drawing
        from deniable.show.forest_chart import forest_chart

        return Drawing(forest_chart(self, self.level if level is None else level))
