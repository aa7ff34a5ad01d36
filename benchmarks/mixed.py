"""A wide survey of attributes of two to fifty values, from the plan to all pairs with error bars.

``python -m benchmarks.mixed EPSILON`` prints the seconds of each part and the peak memory.
"""

from __future__ import annotations

import subprocess
import sys
from math import log

import numpy as np
import pyarrow as pa

from benchmarks.measure import Row, Section, memory, progress, require, seconds
from deniable import Schema, Survey, plan, simulate

PEOPLE = 1_000_000
SIZES = tuple(np.random.default_rng(60).integers(2, 51, 60).tolist())
EPSILONS = {"ln 3": log(3), "2": 2.0}
MOST_SECONDS = 60.0
MOST_MEMORY = 4_000_000_000
CHECKED = 40
"""So many tables are compared with the truth."""


def section() -> Section:
    made = Section(
        "Sixty attributes of 2 to 50 values",
        f"`plan`, `Survey`, `simulate` with {PEOPLE:,} people, all 1,770 pairs, and the standard "
        "error of every cell, in a process of its own on one core. The target is for all of it; the "
        f"peak is of the whole process, data included. {CHECKED} tables are compared with the truth.",
        ("ε", "plan", "survey", "simulate", "all pairs", "errors", "sum", "peak memory"),
    )
    for name, epsilon in EPSILONS.items():
        progress(f"60 attributes of 2 to 50 values, epsilon {name}")
        command = [sys.executable, "-m", "benchmarks.mixed", repr(epsilon)]
        said = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.split()
        *parts, peak = map(float, said)
        total = sum(parts)
        made.rows.append(
            Row(
                (
                    name,
                    *(f"{part:.1f} s" for part in (*parts, total)),
                    f"{peak / 1e9:.1f} GB" if peak else "not measured",
                ),
                f"< {MOST_SECONDS:g} s, < {MOST_MEMORY // 10**9} GB",
                total < MOST_SECONDS and peak < MOST_MEMORY,
            )
        )
    return made


def run(epsilon: float) -> None:
    values = {f"a{i}": [f"v{j}" for j in range(size)] for i, size in enumerate(SIZES)}
    random = np.random.default_rng(2018)
    trait = random.random(PEOPLE, np.float32)
    codes = {
        name: ((trait + random.random(PEOPLE, np.float32)) / 2 * len(held)).astype(np.int32)
        for name, held in values.items()
    }
    frame = pa.table(
        {n: pa.DictionaryArray.from_arrays(c, pa.array(values[n])) for n, c in codes.items()}
    )
    schema, kept = Schema.of(**values), {}

    def work(name, job):
        def done() -> None:
            kept[name] = job()

        return seconds(done)

    times = [
        work("plan", lambda: plan(schema, order=2, epsilon=epsilon, people=PEOPLE)),
        work("survey", lambda: Survey(schema, 2, epsilon)),
        work("release", lambda: simulate(kept["survey"], frame)),
        work("tables", lambda: kept["release"].marginals(2)),
        work("errors", lambda: [table.standard_error for table in kept["tables"]]),
    ]
    require(kept["release"].people == PEOPLE, "people were lost")
    step = len(kept["tables"]) // CHECKED
    strays = []
    for table in kept["tables"][::step]:
        first, second = (codes[name].astype(np.int64) for name in table.names)
        cells = np.bincount(first * table.values.shape[1] + second, minlength=table.values.size)
        off = table.values.ravel() - cells / PEOPLE
        strays.append(np.abs(off / table.standard_error.ravel()).max())
    require(max(strays) < 7, f"a cell is {max(strays):.1f} standard errors off the truth")
    print(*times, memory("VmHWM") or 0)


if __name__ == "__main__":
    from benchmarks.measure import use_one_core

    use_one_core()
    run(float(sys.argv[1]))
