"""Drawings: charts that notebooks show, and files hold, without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deniable.show.charts import as_svg, save_chart


class Drawing:
    """A chart: the last line of a notebook's cell shows it, and ``save`` writes it.

    What Altair's own charts can do, it can too (``chart`` is one): these, however, load their scripts
    from the network when they are looked at.
    """

    def __init__(self, chart: Any) -> None:
        self.chart = chart

    def save(self, path: Any, **options: Any) -> None:
        """Write .html (with its scripts inside), .svg, .png or .json, whole or not at all.

        What is no path, or has Altair's own ``options``, is Altair's to write.
        """
        if isinstance(path, str | Path) and not options:
            save_chart(self.chart, path)
        else:
            self.chart.save(path, **options)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return the picture itself for a notebook."""
        return {"image/svg+xml": as_svg(self.chart), "text/plain": repr(self)}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "chart":
            raise AttributeError(name)
        return getattr(self.chart, name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"
