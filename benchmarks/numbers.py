"""A survey of numbers, categories and yes/no attributes, from the plan to the report.

``python -m benchmarks.numbers`` prints the seconds of each part, the peak memory, and how fast a frame
becomes a tally beside a bare numpy InpHT of the same frame.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.measure import EPSILON, Row, Section, best, memory, progress, require, seconds
from deniable import Attribute, Schema, Survey, plan

PEOPLE = 1_000_000
SIZES = (3, 4, 5, 6, 7, 8, 3, 5, 8, 4)
STEPS = 100
MOST_SECONDS, MOST_MEMORY, TARGET = 60.0, 4_000_000_000, 0.4


def section() -> Section:
    made = Section(
        "Ten numbers, ten categories, ten yes/no attributes",
        f"`plan`, `Survey`, `randomize` and `tally` with {PEOPLE:,} people, and the whole report, in a "
        "process of its own on one core. The last column is how fast the frame becomes a tally, over "
        "how fast a bare numpy InpHT of the same frame does: one random question to one or two "
        "attributes of each person, neither secure nor exact.",
        ("plan", "survey", "frame to tally", "report", "sum", "peak memory", "of bare numpy"),
    )
    progress("numbers, categories and yes/no attributes")
    command = [sys.executable, "-m", "benchmarks.numbers"]
    said = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.split()
    *parts, peak, ratio = map(float, said)
    total = sum(parts)
    made.rows.append(
        Row(
            (
                *(f"{part:.1f} s" for part in (*parts, total)),
                f"{peak / 1e9:.1f} GB" if peak else "not measured",
                f"{ratio:.2f}",
            ),
            f"< {MOST_SECONDS:g} s, < {MOST_MEMORY // 10**9} GB, ≥ {TARGET:g}",
            total < MOST_SECONDS and peak < MOST_MEMORY and ratio >= TARGET,
        )
    )
    return made


def people() -> tuple[Schema, pa.Table, dict[str, Any]]:
    """Return a schema, people who share a trait, and what each attribute's codes are."""
    random = np.random.default_rng(2018)
    trait = random.standard_normal(PEOPLE, np.float32)
    attributes, columns, codes = [], {}, {}

    def mixed(weight: float) -> Any:
        return weight * trait + random.standard_normal(PEOPLE, np.float32)

    for i in range(10):
        name = f"n{i}"
        number = (50 + 15 * mixed(0.4)).clip(0, STEPS).astype(np.float64)
        attributes.append(Attribute(name, low=0, high=STEPS, step=1))
        columns[name], codes[name] = pa.array(number), np.floor(number + 0.5).astype(np.int64)
    for i, size in enumerate(SIZES):
        name, values = f"c{i}", [f"v{j}" for j in range(size)]
        code = ((mixed(0.5) + 3) / 6 * size).clip(0, size - 1).astype(np.int32)
        attributes.append(Attribute(name, tuple(values), complete=True))
        columns[name] = pa.DictionaryArray.from_arrays(pa.array(code), pa.array(values))
        codes[name] = code
    for i in range(10):
        name, yes = f"b{i}", mixed(0.5) > 0.5
        attributes.append(Attribute(name))
        columns[name], codes[name] = pa.array(yes), yes.astype(np.int64)
    return Schema(tuple(attributes)), pa.table(columns), codes


def bare(frame: pa.Table) -> Any:
    """A careful numpy user's InpHT: is it above a random point, or is a random bit of its code set?"""
    random, count = np.random.default_rng(), frame.num_rows
    rows, most = [], []
    for column in frame.columns:
        chunk = column.combine_chunks()
        if pa.types.is_dictionary(chunk.type):
            rows.append(chunk.indices.to_numpy().astype(np.uint8))
            most.append(len(chunk.dictionary) - 1)
        elif pa.types.is_floating(chunk.type):
            rows.append(np.floor(chunk.to_numpy() + 0.5).astype(np.uint8))
            most.append(STEPS)
        else:
            rows.append(chunk.to_numpy(zero_copy_only=False).astype(np.uint8))
            most.append(1)
    codes, ends = np.stack(rows), np.array(most)
    first, second = random.integers(len(rows), size=(2, count))
    at = np.arange(count)
    cuts = [random.integers(1, ends[which] + 1) for which in (first, second)]
    one = codes[first, at] >= cuts[0]
    both = one ^ ((codes[second, at] >= cuts[1]) & (first != second))
    flip = random.random(count) < 1 / (math.exp(EPSILON) + 1)
    begins = np.append(0, np.cumsum(ends))[:-1]
    slots = (begins[first] + cuts[0] - 1) * int(ends.sum()) + begins[second] + cuts[1] - 1
    return np.unique(2 * slots + (both ^ flip), return_counts=True)


def run() -> None:
    schema, frame, codes = people()
    survey = Survey(schema, 2, EPSILON, people=PEOPLE)
    times = [
        seconds(lambda: plan(schema, order=2, epsilon=EPSILON, people=PEOPLE)),
        seconds(lambda: Survey(schema, 2, EPSILON, people=PEOPLE)),
    ]
    jobs = {
        "bare": lambda: bare(frame),
        "ours": lambda: survey.tally(survey.randomize(frame)),
    }
    took = best(jobs)
    tally = survey.tally(survey.randomize(frame))
    require(tally.people == PEOPLE, "people were lost")
    release = tally.release("auto")
    for i in range(10):
        mean = release.mean(f"n{i}")
        off = abs(mean.estimate - float(codes[f"n{i}"].mean())) / mean.standard_error
        require(off < 6, f"a mean is {off:.1f} standard errors off the truth")
    with tempfile.TemporaryDirectory() as folder:
        report = seconds(lambda: tally.release("auto").report(Path(folder) / "report.html"))
    print(*times, took["ours"], report, memory("VmHWM") or 0, took["bare"] / took["ours"])


if __name__ == "__main__":
    from benchmarks.measure import use_one_core

    use_one_core()
    run()
