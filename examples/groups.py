"""Did it change, and where? A survey with periods and regions, and a population behind its strata.

python examples/groups.py [FOLDER]        writes survey.json, trend.html and population.html there
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from deniable import Client, Ledger, Schema, Survey
from deniable.show.charts import save_chart

REGIONS = ("north", "east", "south", "west")
MONTHS = ("2027-01-01", "2027-02-01", "2027-03-01", "2027-04-01")
POPULATION = {"north": 30, "east": 25, "south": 35, "west": 10}  # from a census
EAGER = {"north": 0.5, "east": 0.25, "south": 0.2, "west": 0.05}  # who answers
PEOPLE = 120_000


def devices(people: int) -> pd.DataFrame:
    """Return made-up devices: the south is offline more often, and everybody more each month."""
    random = np.random.default_rng(5)
    region = random.choice(REGIONS, people, p=[EAGER[name] for name in REGIONS])
    month = random.integers(0, len(MONTHS) - 1, people)
    return pd.DataFrame(
        {
            "offline": random.random(people) < 0.2 + 0.15 * (region == "south") + 0.04 * month,
            "beta": random.random(people) < 0.1,
            "region": region,
            "period": np.array(MONTHS)[month],
        }
    )


def main(folder: Path) -> None:
    # Declare: labels and periods are in the survey's id, and outside its ε.
    survey = Survey(Schema.binary("offline", "beta"), labels={"region": REGIONS}, periods=MONTHS)
    (folder / "survey.json").write_text(survey.to_json(), encoding="utf-8")
    print(survey.labels.english())

    # One device draws its month by lot, once, and will answer in no other.
    begins, ends = Client(survey, ledger=Ledger(folder / "device.json")).period()
    print(f"This device answers from {begins} until {ends}.")

    # All the others at once, which stands in for their devices.
    reports = survey.randomize(devices(PEOPLE), seed="months")

    # A trend: different people each month, and a test for any change.
    months = survey.tally(reports, by="period", simulation=True).release()
    columns = ["attribute_1", "higher", "lower", "difference", "low", "high", "q_value"]
    print(months.differences(1)[columns].round(3).to_string(index=False))
    save_chart(months.plot("offline"), folder / "trend.html")

    # Regions: the south against the north; and the population that eager regions would hide.
    tallies = survey.tally(reports, by="region", simulation=True)
    regions = tallies.release()
    print(regions["south"].difference(regions["north"], "offline"))
    whole = regions.combine(POPULATION)
    for words, release in (("who answered", tallies.total.release()), ("population", whole)):
        table = release.marginal("offline")
        low, high = table.interval()[:, 1]
        print(f"offline, {words}: {table.values[1]:.1%} ({low:.1%} to {high:.1%})")
    whole.report(folder / "population.html")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
