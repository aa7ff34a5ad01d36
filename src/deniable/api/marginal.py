"""Marginal: a table as people hold it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deniable.errors import TableError
from deniable.formats.markup import table_markup
from deniable.release.marginal import Table
from deniable.schema.attribute import spoken

if TYPE_CHECKING:
    import pandas as pd

    from deniable.show.drawing import Drawing


class Marginal(Table):
    """A table with error bars."""

    def plot(self) -> Drawing:
        """Return a chart of the table with its intervals; it shows and saves without a network."""
        from deniable.show.charts import marginal_chart
        from deniable.show.drawing import Drawing

        return Drawing(marginal_chart(self))

    def percentages(self, within: str | None = None, *, labels: bool = False) -> pd.DataFrame:
        """Return the shares in percent, crossed: the last attribute's values are the columns.

        ``within`` names the attribute each of whose values is to be 100 %: the first of two gives row
        percentages, the second column percentages; without it all cells are. Shares that are not known
        to be above 0 are not a number where something is divided by them. Intervals of such shares are
        those of `Release.conditional`. With ``labels`` values are as people were asked.
        """
        import pandas as pd

        values = self.values
        if within is not None:
            if within not in self.names:
                raise TableError(f"The table is of {' and '.join(self.names)}, not of {within!r}.")
            others = tuple(i for i, name in enumerate(self.names) if name != within)
            whole = values.sum(axis=others, keepdims=True)
            values = np.divide(
                values,
                whole,
                out=np.full_like(values, np.nan),
                where=np.broadcast_to(whole > 0, values.shape),
            )
        *rows, columns = self.attributes
        *levels, last = self.shown_values(labels)
        index = (
            pd.MultiIndex.from_product(levels, names=[a.name for a in rows])
            if len(rows) > 1
            else pd.Index(levels[0] if rows else ["%"], name=rows[0].name if rows else None)
        )
        heads = pd.Index(last, name=columns.name)
        return pd.DataFrame(100 * values.reshape(-1, columns.size), index=index, columns=heads)

    def _repr_html_(self) -> str:
        frame, count = self.to_frame().drop(columns="raw"), len(self.names)
        rows = [
            [
                *map(spoken, cell[:count]),
                _percent(cell[count]),
                f"{_percent(cell[-2])} to {_percent(cell[-1])}",
            ]
            for cell in frame.itertuples(index=False, name=None)
        ]
        notes = [
            *([] if self.known else [f"Not known: {self.unknown}."]),
            *(
                ["Mostly noise: more than half of the people are in the wrong cell."]
                * self.is_swamped
            ),
            *(["The reports are implausible."] * (not self.plausible)),
            *(["Simulated."] * self.simulated),
        ]
        caption = f"{' × '.join(self.names)}: {self.kind}, {self.people:,} people"
        heads = (*self.names, "share", "95 % interval")
        return table_markup(heads, rows, caption=caption, notes=notes)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if np.isfinite(share) else "–"
