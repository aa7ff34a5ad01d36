"""Associations: the dependence of every pair of attributes as a frame, the surest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from deniable.analysis.dependence import COLUMNS, all_pairs, dependence
from deniable.decoding.evidence import MOST_COVARIED
from deniable.errors import TableError
from deniable.numeric.shares import proportions, ratio
from deniable.survey.coefficients import Ints, same_sizes

if TYPE_CHECKING:
    import pandas as pd

    from deniable.release.release import ReleasedTables

COVERED = "sampling of the people from their population, and privacy noise"
"""What intervals and tests take into account."""

NOT_COVERED = "non-response, and people who lie to their own device"
"""What they cannot."""

_FIRST_ROWS = "intervals hold on average over the first rows, however many are looked at"
_UP_TO = "intervals hold on average over the rows with a q-value up to {:g}"


def associations(
    release: ReleasedTables, *, level: float = 0.95, select: float | None = None
) -> pd.DataFrame:
    """Return a test of independence, and the size of the dependence, of each pair of attributes.

    One row per pair, the surest dependence first: ``statistic``, ``df``, ``p_value``, ``q_value``
    (Benjamini–Hochberg over all pairs), ``cramers_v`` and ``mutual_information`` (nats), both without
    what noise adds and drawn towards 0 by what all pairs are like, with the ends of intervals and
    their ``interval_level``, ``detectable_v`` (the smallest V that this survey finds at the 5 % level
    with probability 0.8; infinite where it finds none), and ``method``: "wald", "bootstrap" where a
    margin is hardly known or few were asked, or "unknown" where a pair was never asked or has too many
    cells for a covariance. Values whose share cannot be told from 0 are merged for V and mutual
    information (not for the test); where that leaves fewer than two values, the interval of V ends at 1.

    Whoever looks at the first rows has picked them, so their intervals are wider: that of row r of m
    has the level 1 − (1 − level)·r/m, and so at least ``level`` of the first k intervals hold on
    average, whatever k is. With ``select``, that is so for the rows with a q-value up to it, and others
    have intervals that hold each by itself; ``select=1`` is for pairs that were named beforehand. An
    interval begins above 0 exactly where p_value < 1 − interval_level.

    All this comes from the unbiased estimates, whatever was done to a release's tables afterwards.
    ``attrs`` says what is covered: sampling and privacy noise; not non-response, nor people who lie to
    their own device.
    """
    release.needs_covariance("A test of independence")
    if select is not None and not (isinstance(select, int | float) and 0 < select <= 1):
        raise TableError(f"select must be a q-value above 0 and up to 1, got {select!r}.")
    pairwise = dependence(release, level=level, select=select)
    frame = _pair_names(release, pairwise.pairs).assign(
        **{name: pairwise.columns[name] for name in COLUMNS}, method=pairwise.method
    )
    frame.attrs.update(
        level=level,
        selection=_FIRST_ROWS if select is None else _UP_TO.format(select),
        people=release.people,
        simulated=release.simulated,
        plausible=release.plausible,
        covered=COVERED,
        not_covered=NOT_COVERED,
        unknown=f"pairs that were never asked, or have more than {MOST_COVARIED:,} cells",
    )
    return surest_first(frame)


def paper_chi_square(release: ReleasedTables) -> pd.DataFrame:
    """Return the paper's χ² test of each pair, which takes estimates for counts: N·φ².

    It knows nothing of the privacy noise: where 5 % of the tests of independent attributes should find
    a dependence, .87 to .99 of them do (.74 with very little noise). It is here for comparison;
    `associations` is the test to use. Cells below 0 count as 0. A pair that is not known has no test.
    """
    pairs = all_pairs(release)
    sizes = np.array(release.survey.schema.sizes)[pairs]
    df, statistic = (sizes - 1).prod(axis=1), np.empty(len(pairs))
    for rows in same_sizes(release.survey.kinds, pairs):
        estimates = release.evidence.tables(pairs[rows])
        cells = proportions(np.where(estimates.known[:, None], estimates.values, np.nan))
        table = cells.reshape(len(rows), *sizes[rows[0]])
        alone = table.sum(axis=2, keepdims=True) * table.sum(axis=1, keepdims=True)
        share = ratio((table - alone) ** 2, alone)
        statistic[rows] = release.people * share.sum(axis=(1, 2))
    p_value = special.chdtrc(df, statistic)
    frame = _pair_names(release, pairs).assign(statistic=statistic, df=df, p_value=p_value)
    return surest_first(frame)


def _pair_names(release: ReleasedTables, pairs: Ints) -> pd.DataFrame:
    import pandas as pd

    names = np.array(release.survey.schema.names, object)
    return pd.DataFrame({"a": names[pairs[:, 0]], "b": names[pairs[:, 1]]})


def surest_first(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the surest dependence first."""
    return frame.sort_values(
        ["p_value", "statistic"], ascending=[True, False], kind="stable", ignore_index=True
    )
