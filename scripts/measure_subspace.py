"""Measure Subspace beside InpHT on the shared real data, as a table for docs/subspace.md.

`python scripts/measure_subspace.py [FOLDER] [REPEATS]`; the folder is ../shared/data by default.
"""

from __future__ import annotations

import sys
from math import log
from pathlib import Path

import pyarrow.parquet as pq

from deniable import Schema, Survey
from deniable.lab.simulate import trials

ROOT = Path(__file__).parent.parent
TAXI = ["CC", "Toll", "Far", "Night_pick", "Night_drop", "M_pick", "M_drop", "Tip"]
PEOPLE = 1 << 18


def main() -> None:
    folder = Path(sys.argv[1]) if sys.argv[1:] else ROOT.parent / "shared" / "data"
    repeats = int(sys.argv[2]) if sys.argv[2:] else 100
    movies = pq.read_table(folder / "movielens_ml32m_12773users.parquet")
    movies = movies.drop_columns(["IMAX", "Film-Noir"])
    data = {
        "taxi": pq.read_table(
            folder / "taxi_2015_2019.parquet", columns=TAXI, filters=[("year", "<=", 2018)]
        ),
        "MovieLens": movies.select(movies.column_names[:16]),
        "MSNBC": (table := pq.read_table(folder / "msnbc_bits.parquet")).select(
            table.column_names[:16]
        ),
    }
    print("| data | d | k | ε | InpHT | InpHT, levels weighted | MargPS | Subspace | ÷ InpHT |")
    print("|-|-|-|-|-|-|-|-|-|")
    for name, frame in data.items():
        for order, epsilon in ((2, log(3)), (2, 2.0), (3, log(3))):
            errors = [
                tried(frame, order, epsilon, repeats, *way)
                for way in (
                    ("InpHT", {}),
                    ("Subspace", {"dimension": 1}),
                    ("MargPS", {}),
                    ("Subspace", {}),
                )
            ]
            cells = [
                name,
                frame.num_columns,
                order,
                "ln 3" if epsilon == log(3) else f"{epsilon:g}",
            ]
            cells += [f"{error:.4f}" for error in errors] + [f"{errors[-1] / errors[0]:.2f}"]
            print("|", " | ".join(map(str, cells)), "|", flush=True)


def tried(frame, order: int, epsilon: float, repeats: int, mechanism: str, options: dict) -> float:
    survey = Survey(Schema.from_frame(frame), order, epsilon, mechanism, **options)
    *_, last = trials(survey, frame, people=PEOPLE, repeat=repeats, seed="measure")
    return last.mean_tv


if __name__ == "__main__":
    main()
