"""Measure what consistency does to the error on real data, and print it as a Markdown table.

    python scripts/measure_consistency.py [--draws 20] [--data FOLDER] [--only NAME]

Each draw samples 2^18 people with replacement, asks them by Subspace at ε = ln 3, and compares all
k-way tables of one tally, unprocessed, joint and modelled, with the sampled people's own: the mean
total variation distance. The last column answers 3-way tables from the order-2 survey's model, and
divides by the order-3 survey's unprocessed error. The data stands beside the repository, in
../shared/data or where DENIABLE_SHARED_DATA says; its README tells where it comes from.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import Progress

from deniable import Schema, Survey
from deniable.lab.simulate import Crowd, count_crowd, sample, true_tables
from deniable.questions.entropy import Key
from deniable.schema.frames import to_arrow
from deniable.survey.coefficients import all_tables

PEOPLE = 1 << 18
FOLDER = Path(os.environ.get("DENIABLE_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))
TAXI = ["CC", "Toll", "Far", "Night_pick", "Night_drop", "M_pick", "M_drop", "Tip"]


def movielens(folder: Path) -> pd.DataFrame:
    frame = pd.read_parquet(folder / "movielens_ml32m_12773users.parquet")
    return frame.drop(columns=["IMAX", "Film-Noir"]).iloc[:, :16].astype(bool)


def msnbc(folder: Path) -> pd.DataFrame:
    return pd.read_parquet(folder / "msnbc_bits.parquet").iloc[:, :16].astype(bool)


def taxi(folder: Path) -> pd.DataFrame:
    frame = pd.read_parquet(folder / "taxi_2015_2019.parquet")
    return frame.loc[frame["year"] <= 2018, TAXI].astype(bool)


DATA = {"MovieLens, 16": movielens, "MSNBC, 16": msnbc, "taxi, 8": taxi}


def distance(found: np.ndarray, truth: np.ndarray) -> float:
    return float(np.abs(found - truth).sum(axis=1).mean() / 2)


def measure(frame: pd.DataFrame, turn: int) -> dict[str, float]:
    """Return the errors of one draw, by order and by what was done, and the seconds of a model."""
    table = to_arrow(frame)
    part = sample(table, PEOPLE, Key.of(f"consistency/{turn}"))
    schema = Schema.from_frame(part)
    found: dict[str, float] = {}
    surveys = {order: Survey(schema, order, math.log(3), "Subspace") for order in (2, 3)}
    truth = {
        k: true_tables(schema, schema.encode_frame(part), all_tables(len(schema), s.order))
        for k, s in surveys.items()
    }
    for order, survey in surveys.items():
        crowd = Crowd(schema.encode_frame(part))
        tally = count_crowd(survey, crowd, Key.of(f"reports/{turn}"))
        every = all_tables(len(schema), order)
        for consistency in ("none", "joint", "model"):
            began = time.perf_counter()
            release = tally.release(consistency)
            found[f"{order} {consistency}"] = distance(release.estimate(every).values, truth[order])
            found[f"{order} {consistency} seconds"] = time.perf_counter() - began
            if consistency == "model":
                found[f"{order} kept"] = float(release.applied == "model")
                if order == 2 and release.applied == "model":
                    larger = release.estimate(all_tables(len(schema), 3)).values
                    found["above"] = distance(larger, truth[3])
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--draws", type=int, default=20)
    options.add_argument("--data", type=Path, default=FOLDER)
    options.add_argument("--only", choices=[*DATA], default=None)
    asked = options.parse_args()
    chosen = {name: read for name, read in DATA.items() if asked.only in (None, name)}
    rows = []
    with Progress(
        console=Console(stderr=True), disable=not Console(stderr=True).is_terminal
    ) as bar:
        task = bar.add_task("draws", total=asked.draws * len(chosen))
        for name, read in chosen.items():
            frame, draws = read(asked.data), []
            for turn in range(asked.draws):
                draws.append(measure(frame, turn))
                bar.advance(task)
            rows += lines(name, pd.DataFrame(draws))
    print("| data | order | unprocessed | joint ÷ it | model ÷ it | 3-way from order 2 ÷ it |")
    print("|-|-|-|-|-|-|")
    print("\n".join(rows))


def lines(name: str, draws: pd.DataFrame) -> list[str]:
    mean = draws.mean()
    made = []
    for order in (2, 3):
        raw = mean[f"{order} none"]
        above = f"{mean['above'] / raw:.3f}" if order == 3 and "above" in mean else ""
        made.append(
            f"| {name} | {order} | {raw:.4f} | {mean[f'{order} joint'] / raw:.3f} "
            f"| {mean[f'{order} model'] / raw:.3f} | {above} |"
        )
    return made


if __name__ == "__main__":
    main()
