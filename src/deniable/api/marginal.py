"""Marginal: a table as people hold it."""

from __future__ import annotations

from typing import Any

from deniable.release.marginal import Table


class Marginal(Table):
    """A table with error bars."""

    def plot(self) -> Any:
        """Return a chart of the table with its intervals."""
        from deniable.show.charts import marginal_chart

        return marginal_chart(self)
