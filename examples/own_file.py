"""A file of one's own, with numbers and texts: would a deniable survey tell what we want to know?

python examples/own_file.py [FOLDER]        writes people.csv and survey.json there
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from deniable import Attribute, Schema, Survey, plan, simulate

SCHOOLS = ("none", "school", "college")


def made_up(people: int) -> pd.DataFrame:
    """Return people whose income rises with school, and who smoke less the more of it they had."""
    random = np.random.default_rng(3)
    school = random.choice(3, people, p=[0.3, 0.5, 0.2])
    income = random.lognormal(10 + 0.35 * school, 0.4)
    smokes = random.random(people) < 0.35 - 0.1 * school
    return pd.DataFrame(
        {"school": np.array(SCHOOLS)[school], "income": income.round(-2), "smokes": smokes}
    )


def main(folder: Path) -> None:
    made_up(80_000).to_csv(folder / "people.csv", index=False)
    people = pd.read_csv(folder / "people.csv")

    # Values and edges come from what everybody knows, never from the file.
    schema = Schema.of(
        school=SCHOOLS,
        income=Attribute("income", edges=(20_000, 30_000, 45_000)),
        smokes=Attribute("smokes"),
    )

    # Two of the three pairs matter, one of them twice as much.
    wanted = {("school", "smokes"): 2.0, ("income", "smokes"): 1.0}
    planned = plan(schema, order=2, epsilon=1.1, people=len(people), workload=wanted)
    print(planned.to_frame()[["mechanism", "predicted_tv"]].head(3).to_string(index=False))
    survey = Survey(schema, order=2, epsilon=1.1, workload=wanted)
    (folder / "survey.json").write_text(survey.to_json(), encoding="utf-8")

    # A rehearsal: the whole protocol on these people, marked as simulated, beside the truth.
    release = simulate(survey, people, seed="rehearsal")
    table = release.marginal("school", "smokes")
    truth = people.groupby(["school", "smokes"]).size().div(len(people))
    shown = table.to_frame().set_index(["school", "smokes"])
    print(shown[["estimate", "standard_error"]].assign(truth=truth).round(3).to_string())

    strays = (shown["raw"] - truth) / shown["standard_error"]
    print(f"The farthest cell is {strays.abs().max():.1f} standard errors off.")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            main(Path(made))
