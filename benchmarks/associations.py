"""How long tests of all pairs take where values are rare, so that the law of each test is drawn."""

from __future__ import annotations

from math import comb
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from benchmarks.measure import Row, Section, progress, require, seconds
from deniable import Schema, Survey, simulate

PEOPLE = 40_000
ATTRIBUTES, VALUES = 14, 12
EPSILON = 2.0
DECOMPOSED = 1_000
MOST = 20
"""How many times as long as that many decompositions; it was 40 as long as each draw took one."""

MOST_AGAIN = 3


def section() -> Section:
    made = Section(
        "Tests of all pairs",
        f"`release.associations()` of {ATTRIBUTES} attributes of {VALUES} values, of which some are "
        f"rare, and then `release.report()`; {PEOPLE:,} people. Ratios are to the eigenvalues and "
        f"eigenvectors of {DECOMPOSED:,} matrices of {(VALUES - 1) ** 2} rows. Timed once.",
        ("what", "pairs", "drawn", "seconds", "ratio"),
    )
    progress(f"associations of {ATTRIBUTES} attributes of {VALUES} values")
    random = np.random.default_rng(1)
    trait = random.normal(size=PEOPLE)
    columns = {
        f"a{i}": ((trait * (i % 3) / 2 + random.normal(size=PEOPLE)) * 2 + VALUES / 2)
        .clip(0, VALUES - 1)
        .astype(int)
        for i in range(ATTRIBUTES)
    }
    survey = Survey(Schema.of(**{name: range(VALUES) for name in columns}), 2, EPSILON)
    release = simulate(survey, pa.table(columns), seed="benchmark")
    matrices = random.normal(size=(DECOMPOSED, (VALUES - 1) ** 2, (VALUES - 1) ** 2))
    unit = seconds(lambda: np.linalg.eigh(matrices))
    took = seconds(release.associations)
    frame = release.associations()
    drawn = int((frame["method"] == "bootstrap").sum())
    require(len(frame) == comb(ATTRIBUTES, 2), "every pair is tested")
    require(bool(drawn), "some laws are drawn")
    with TemporaryDirectory() as folder:
        again = seconds(lambda: release.report(Path(folder) / "report.html"))
    for what, each, most in (("associations", took, MOST), ("report, then", again, MOST_AGAIN)):
        cells = what, f"{len(frame)}", f"{drawn}", f"{each:.1f}", f"{each / unit:.1f}"
        made.rows.append(Row(cells, f"< {most} ×", each / unit < most))
    return made
