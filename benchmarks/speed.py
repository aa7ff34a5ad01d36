"""From an Arrow frame to a tally, beside a bare numpy InpHT; and InpRR beside its keystream.

``python -m benchmarks.speed NAME`` prints the extra memory of one job in a process of its own.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.measure import (
    EPSILON,
    People,
    Row,
    Section,
    best,
    memory,
    million,
    progress,
    require,
    seconds,
    use_one_core,
)
from deniable import Schema, Survey
from deniable.questions.entropy import Key

PEOPLE, ATTRIBUTES, ORDER = 10_000_000, 16, 2
BARE = "bare numpy InpHT"
TARGETS = {
    "InpHT": 1.0,
    "Subspace": 0.4,
    "MargHT": 0.6,
    "MargPS": 0.6,
    "InpPS": 0.6,
    "MargRR": 0.15,
}
MOST_MEMORY = 500_000_000


def bare(frame: pa.Table) -> Any:
    """InpHT as a careful numpy user would write it: not secure, not exact, whole arrays."""
    attributes = range(frame.num_columns)
    cells = np.zeros(frame.num_rows, np.uint16)
    for i in attributes:
        cells |= frame.column(i).to_numpy().astype(np.uint16) << np.uint16(i)
    masks = coefficient_masks(frame.num_columns)
    random = np.random.default_rng()
    slots = random.integers(len(masks), size=len(cells))
    parity = np.bitwise_count(cells & masks[slots]) & 1
    flip = random.random(len(cells)) < 1 / (math.exp(EPSILON) + 1)
    return np.bincount(2 * slots + (parity ^ flip), minlength=2 * len(masks))


def coefficient_masks(attributes: int) -> Any:
    sets = (s for size in range(1, ORDER + 1) for s in combinations(range(attributes), size))
    return np.array([sum(1 << i for i in members) for members in sets], np.uint16)


def check_bare(people: People, counts: Any) -> None:
    """The baseline must be right too: single attributes within six standard errors."""
    even, odd = counts.reshape(-1, 2).T[:, : people.attributes]
    scale = (math.exp(EPSILON) + 1) / (math.exp(EPSILON) - 1)
    found = scale * (even - odd) / (even + odd)
    truth = [1 - 2 * people.table([name])[1] for name in people.frame.column_names]
    strays = np.abs(found - truth) * np.sqrt(even + odd) / scale
    require(counts.sum() == people.count and strays.max() < 6, f"{BARE} is wrong.")


def survey_of(frame: pa.Table, mechanism: str) -> Survey:
    return Survey(Schema.from_frame(frame), ORDER, EPSILON, mechanism)


def job_of(name: str, frame: pa.Table) -> Callable[[pa.Table], Any]:
    if name == BARE:
        return bare
    survey = survey_of(frame, name)
    return lambda part: survey.tally(survey.randomize(part))


def extra_memory(name: str) -> int | None:
    """Return the peak beyond the frame and the imports, measured in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.speed", name]
    said = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
    return int(said) if said else None


def measure_memory(name: str) -> None:
    frame = People(PEOPLE, ATTRIBUTES).frame
    job = job_of(name, frame)
    job(frame.slice(0, 1000))  # what is loaded on first use is no part of it
    before = memory("VmRSS")
    job(frame)
    peak = memory("VmHWM")
    print("" if before is None or peak is None else peak - before)


def section() -> Section:
    made = Section(
        "From a frame to a tally",
        f"{PEOPLE:,} people, d = {ATTRIBUTES}, k = {ORDER}, ε = ln 3, on one core: an Arrow table of "
        "boolean columns becomes reports, with secret AES-CTR words and exact decisions, and the "
        "reports a tally, `survey.tally(survey.randomize(table))`. Beside it, in turns, a bare "
        "numpy InpHT (encode the same table, draw, parity, flip, bincount; neither secure nor "
        "exact). Extra memory is the resident peak beyond the table.",
        ("job", "reports/s", "of bare numpy", "extra memory"),
    )
    people = People(PEOPLE, ATTRIBUTES)
    check_bare(people, bare(people.frame))
    for name, target in TARGETS.items():
        progress(f"{name}: frame to tally")
        job = job_of(name, people.frame)
        tally = job(people.frame)
        people.check(name, tally.people, tally.release().marginals())
        del tally
        took = best({BARE: lambda: bare(people.frame), name: lambda job=job: job(people.frame)})
        ratio = took[BARE] / took[name]
        extra = extra_memory(name)
        made.rows.append(
            Row(
                (name, million(PEOPLE / took[name]), f"{ratio:.2f} ×", megabytes(extra)),
                f"≥ {target:g} ×, < {MOST_MEMORY // 10**6} MB",
                ratio >= target and (extra is None or extra < MOST_MEMORY),
            )
        )
        slow = PEOPLE / took[BARE]
    progress(f"{BARE}: memory")
    made.rows.append(Row((BARE, million(slow), "1 ×", megabytes(extra_memory(BARE)))))
    return made


def megabytes(size: int | None) -> str:
    return "not measured" if size is None else f"{size / 1e6:.0f} MB"


def bits() -> Section:
    """InpRR decides 2^d bits a person, so its randomness is what limits it."""
    made = Section(
        "InpRR: bits decided per second",
        "1,000,000 people, d = 8: 256 bits each. A decision takes one byte of the keystream (eight "
        "more in one case of 256), so the keystream's own bytes per second are the limit.",
        ("job", "reports/s", "bits/s", "keystream bytes/s", "of the limit"),
    )
    progress("InpRR: bits per second")
    people = People(1_000_000, 8)
    survey = survey_of(people.frame, "InpRR")
    tally = survey.tally(survey.randomize(people.frame))
    people.check("InpRR", tally.people, tally.release().marginals())
    stream, pieces = Key.fresh().stream("speed"), 256

    def keystream() -> None:
        for _ in range(pieces):
            stream.octets(1 << 20)

    took = best({"InpRR": lambda: survey.randomize(people.frame), "keystream": keystream})
    reports = people.count / took["InpRR"]
    limit = (pieces << 20) / took["keystream"]
    batch = survey.randomize(people.frame)
    counting = people.count / min(seconds(lambda: survey.tally(batch)) for _ in range(3))
    rows = [
        Row(
            (
                "randomize",
                million(reports),
                f"{256 * reports / 1e9:.2f} G",
                f"{limit / 1e9:.2f} G",
                f"{256 * reports / limit:.0%}",
            )
        ),
        Row(("tally", million(counting), f"{256 * counting / 1e9:.2f} G", "–", "–")),
    ]
    made.rows.extend(rows)
    return made


if __name__ == "__main__":
    use_one_core()
    measure_memory(sys.argv[1])
