"""Measure a wide survey's report: how long it takes, how large it is, and when its progress moves.

    python scripts/measure_wide.py [--attributes 200] [--people 5000000] [--consistency none auto]

Yes/no attributes of a dozen hidden factors are asked about at order 2 and ε = 1.1, without devices
(SIMULATED). *fitted* is the processor time until there is a release, *report* until its file is written,
*first* the share of the latter that has passed when progress moves first, and *still* the longest share
in which it does not move.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from deniable import Schema, Survey, Tally
from deniable.show.export import write_export

FACTORS, TOGETHER = 12, 250_000


def tally_of(attributes: int, people: int) -> Tally:
    """Return the tally of so many people, who are drawn and asked some at a time."""
    random = np.random.default_rng(5)
    names = [f"attribute {place}" for place in range(1, attributes + 1)]
    survey = Survey(Schema.binary(*names), 2, 1.1, people=people)
    factor = random.integers(0, FACTORS, attributes)
    load = random.uniform(0, 0.9, attributes).astype(np.float32)
    limit = random.uniform(-1, 1.3, attributes).astype(np.float32)
    parts = []
    for start in range(0, people, TOGETHER):
        count = min(TOGETHER, people - start)
        hidden = random.standard_normal((count, FACTORS), np.float32)[:, factor]
        own = random.standard_normal((count, attributes), np.float32)
        held = pd.DataFrame(load * hidden + np.sqrt(1 - load**2) * own > limit, columns=names)
        reports = survey.randomize(held, seed=f"wide {start}")
        parts.append(survey.tally(reports, simulation=True))
    return Tally.total(survey, parts)


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--attributes", type=int, default=200)
    parser.add_argument("--people", type=int, default=5_000_000)
    parser.add_argument("--consistency", nargs="+", default=["none", "auto"])
    options = parser.parse_args()
    tally = tally_of(options.attributes, options.people)
    for consistency in options.consistency:
        print(f"{consistency}: {measured(tally, consistency)}", flush=True)


def measured(tally: Tally, consistency: str) -> str:
    """Return what is measured of one release."""
    begun = time.process_time()
    release = tally.release(consistency)
    fitted = time.process_time()
    moves = [fitted]
    with TemporaryDirectory() as folder:
        path = Path(folder, "report.html")
        write_export(release, path, lambda: moves.append(time.process_time()))
        done, size = time.process_time(), path.stat().st_size
    still = max(np.diff([*moves, done])) / (done - fitted)
    return (
        f"{release.applied}, fitted {fitted - begun:.1f} s, report {done - fitted:.1f} s, "
        f"{size / 1e6:.2f} MB, first {(moves[1] - fitted) / (done - fitted):.0%}, still {still:.0%}"
    )


if __name__ == "__main__":
    main()
