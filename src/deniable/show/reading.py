"""What a reader is told of tables: what was done to them, and where their error swamps them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable.release.consistency import METHODS
from deniable.release.marginal import Table
from deniable.release.release import ReleasedTables
from deniable.survey.coefficients import Floats

INTERVALS = {
    "normal": "exact, of unbiased estimates",
    "delta": (
        "by the delta method, of unbiased estimates that are weighted; they do not hold what weights "
        "cannot repair"
    ),
    "bootstrap": (
        "from noise that is drawn and processed anew; they do not hold the bias of a wrong model"
    ),
    "posterior": (
        "of the model’s posterior: how far the truth may be from it; they do not hold the bias of a "
        "wrong model"
    ),
    "unprocessed": "of the unbiased estimates that the tables were made from",
}
"""What error bars are, by the kind of interval; "none" is none."""


def reading_words(release: ReleasedTables) -> str:
    """Say what the tables of a release are, and what follows from that: "joint: no cell …"."""
    if release.population is not None:
        words = str(release.population)
        return words if release.applied == "none" else f"{words}, and {release.table_kind}"
    if release.table_kind == "likeliest":
        return "likeliest: those that make the reports most probable"
    words = f"{release.table_kind}: {METHODS[release.applied].means or release.applied}"
    is_rejected = release.fit is not None and release.fit.rejected
    return f"{words} (a model was tried, and fits worse)" if is_rejected else words


def interval_sentence(release: ReleasedTables) -> str:
    """Say what the error bars of a release's tables are, where they have some."""
    kind = release.interval_kind(release.survey.order)
    return f"Intervals (95 %) are {INTERVALS[kind]}." if kind in INTERVALS else ""


def doubtful_cells(table: Table, low: Floats, high: Floats) -> NDArray[np.bool_]:
    """Tell which cells of a table may be nothing but noise: report, dashboard and charts draw these so.

    ``low`` and ``high`` are the ends of its intervals. It is a cell whose interval holds 0, or that is
    not above 0 where there are no intervals; every cell of a table that its error swamps; every cell of
    one that is not known.
    """
    if not table.known or table.is_swamped:
        return np.ones(table.values.shape, bool)
    if table.interval_kind == "none" or not (np.isfinite(low).all() and np.isfinite(high).all()):
        return ~(table.values > 0)
    doubtful: NDArray[np.bool_] = ~(low > 0)
    return doubtful


def warning_words(table: Table) -> str:
    """Warn of a table that is not known, or whose error is so large that it says little, and why."""
    if not table.known:
        return f"This table is not known: {table.unknown}."
    error = table.expected_error
    if error is None or not table.is_swamped:
        return ""
    of = "its unbiased estimate" if table.interval_kind == "unprocessed" else "it"
    share = "most" if error >= 1 else f"{100 * error:.0f}\N{NO-BREAK SPACE}%"
    return (
        f"The error swamps this table: {of} is expected to put {share} of the people into the wrong "
        "cell."
    )
