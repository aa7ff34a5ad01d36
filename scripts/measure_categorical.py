"""Measure surveys of attributes with many values, as tables and a picture for docs/categorical.md.

`python scripts/measure_categorical.py [FOLDER] [REPEATS]`; the folder is ../shared/data by default.
About five minutes on one core, most of it for InpEM's steps.
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import asdict
from math import log
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from deniable import Attribute, Schema, Survey, plan, simulate
from deniable.lab.simulate import Trial, trials
from deniable.mechanisms.inpes import InpES
from deniable.mechanisms.registry import MECHANISMS
from deniable.planning.error import predicted_tv
from deniable.questions.lists import Balanced, Codes
from deniable.show.charts import error_chart, save_chart

ROOT = Path(__file__).parent.parent
EPSILONS = {"ln 3": log(3), "2": 2.0}
SIZES = (4, 5, 6, 4, 5, 6, 4, 5)


class InpESOfCodes(InpES):
    """InpES that asks for parities of codes instead of balanced questions."""

    question_list = "codes"


def main() -> None:
    folder = Path(sys.argv[1]) if sys.argv[1:] else ROOT.parent / "shared" / "data"
    repeats = int(sys.argv[2]) if sys.argv[2:] else 30
    large()  # first, because the peak of memory is that of the whole process
    lists()
    several(repeats)
    adult(pq.read_table(folder / "adult_categorical.parquet"), repeats)


def declared(sizes) -> Schema:
    return Schema(tuple(Attribute(f"a{i}", tuple(range(n))) for i, n in enumerate(sizes)))


def correlated(people: int, sizes=SIZES, seed: int = 8) -> pa.Table:
    """Return records with one hidden cause of three values behind every attribute.

    Each attribute's distribution, given the cause, is drawn from all distributions alike.
    """
    random = np.random.default_rng(seed)
    cause = random.integers(0, 3, people)
    columns = {}
    for i, size in enumerate(sizes):
        reached = random.dirichlet(np.ones(size), 3).cumsum(axis=1)[:, :-1]
        columns[f"a{i}"] = (random.random(people)[:, None] > reached[cause]).sum(axis=1)
    return pa.table(columns)


def adult(frame: pa.Table, repeats: int) -> None:
    """Print every mechanism that fits on UCI Adult, beside the lower bound."""
    schema = Schema.from_frame(frame, values="observed")
    print(f"\nUCI Adult, {frame.num_rows:,} people, values {schema.sizes}\n")
    print("| ε | mechanism | measured | predicted | ratio | measured ÷ lower bound |")
    print("|-|-|-|-|-|-|")
    for said, epsilon in EPSILONS.items():
        made = plan(schema, order=2, epsilon=epsilon, people=frame.num_rows)
        names = [*(row.mechanism for row in made.rows), "InpHTBits"]
        rows = [tried(schema, frame, epsilon, name, repeats) for name in names]
        bound = made.unbiased_bound_tv
        print(f"| {said} | (lower bound) | | {bound:.3f} | | |")
        for row in rows:
            cells = [said, row.mechanism, f"{row.mean_tv:.3f}", "", "", ""]
            if row.predicted_tv is not None:
                cells[3:] = [f"{row.predicted_tv:.3f}", f"{row.mean_tv / row.predicted_tv:.2f}"]
                cells.append(f"{row.mean_tv / bound:.2f}")
            print("|", " | ".join(cells), "|", flush=True)
        joint = tried(schema, frame, epsilon, "auto", repeats, consistency="joint")
        print(f"| {said} | {joint.mechanism}, joint | {joint.mean_tv:.3f} | | | |", flush=True)
        if epsilon == 2:
            picture(rows, bound, repeats)


def picture(rows: list[Trial], bound: float, repeats: int) -> None:
    """Draw the errors of unbiased tables; the encoding in bits would stand far to the right."""
    title = {
        "text": "Error of all 55 two-way tables of UCI Adult, by mechanism",
        "subtitle": f"48,842 people, 11 attributes of 2 to 42 values, ε = 2, mean of {repeats} runs",
    }
    left_out = ("InpEM", "InpHTBits")
    shown = pd.DataFrame([asdict(row) for row in rows if row.mechanism not in left_out])
    save_chart(error_chart(shown, bound, title), ROOT / "docs" / "images" / "adult.svg")


def several(repeats: int) -> None:
    """Print what the encoding in bits costs."""
    people = 1 << 18
    frame, schema = correlated(people), declared(SIZES)
    print(f"\n{len(SIZES)} attributes of {min(SIZES)} to {max(SIZES)} values, {people:,} people\n")
    print("| ε | mechanism | measured | predicted | InpHTBits ÷ it |\n|-|-|-|-|-|")
    for said, epsilon in EPSILONS.items():
        names = ("InpHTBits", "InpHT", "InpES", "auto")
        rows = [tried(schema, frame, epsilon, name, repeats) for name in names]
        for name, row in zip(names, rows, strict=True):
            label = f"{name} ({row.mechanism})" if name == "auto" else name
            cells = [said, label, f"{row.mean_tv:.4f}", f"{row.predicted_tv:.4f}"]
            cells.append(f"{rows[0].mean_tv / row.mean_tv:.1f}")
            print("|", " | ".join(cells), "|", flush=True)


def tried(
    schema: Schema, frame: pa.Table, epsilon: float, mechanism: str, repeats: int, **options
) -> Trial:
    survey = Survey(schema, 2, epsilon, mechanism, aim="unbiased")
    *_, last = trials(survey, frame, repeat=repeats, seed="measure", **options)
    return last


def lists() -> None:
    """Print balanced questions beside parities of codes: eight attributes, tables of two, ε = ln 3."""
    print("\n| values | κ, balanced | κ, codes | error of InpES ÷ of codes | Subspace ÷ of codes |")
    print("|-|-|-|-|-|")
    for size in (3, 5, 6, 7, 9, 12):
        schema = declared((size,) * 8)
        kinds = (InpES, InpESOfCodes, MECHANISMS["Subspace"])
        options = ({}, {}, {"aim": "unbiased"})
        ours, codes, best = (
            predicted_tv(kind.survey(schema, 2, log(3), **own), 1)
            for kind, own in zip(kinds, options, strict=True)
        )
        cells = [f"{each.count * each.energy:.3f}" for each in (Balanced(size), Codes(size))]
        print(f"| {size} | {' | '.join(cells)} | {ours / codes:.3f} | {best / codes:.3f} |")


def large() -> None:
    """Print the time and memory of 60 attributes of 2 to 50 values and a million people."""
    people, epsilon = 1_000_000, log(3)
    sizes = np.linspace(2, 50, 60).round().astype(int).tolist()
    schema, frame = declared(sizes), correlated(people, sizes)
    print("\n60 attributes of 2 to 50 values, a million people, ε = ln 3\n")
    print("| step | seconds | peak memory, GB |\n|-|-|-|")
    print(f"| (Python and the data) | | {memory():.2f} |")
    began = time.perf_counter()

    def told(step: str) -> None:
        nonlocal began
        print(f"| {step} | {time.perf_counter() - began:.1f} | {memory():.2f} |", flush=True)
        began = time.perf_counter()

    made = plan(schema, order=2, epsilon=epsilon, people=people)
    told(f"plan: {len(made.rows)} mechanisms")
    survey = Survey(schema, 2, epsilon)
    told(f"make the survey: auto takes {survey.mechanism}")
    release = simulate(survey, frame, "measure")
    told("simulate: a million reports, counted and decoded")
    tables = release.marginals(2)
    told(f"all {len(tables):,} tables")
    cells = sum(table.standard_error.size for table in tables)
    told(f"the standard errors of their {cells:,} cells")
    print(f"\npredicted {made.rows[0].predicted_tv:.1f}, bound {made.unbiased_bound_tv:.1f}")


def memory() -> float:
    """Return the most memory that this process had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


if __name__ == "__main__":
    main()
