"""Which settings are changed together? From a plan to a report, with simulated devices.

python examples/telemetry.py [FOLDER]        writes survey.json and report.html there
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from deniable import Client, Ledger, Schema, Survey, plan

SETTINGS = ("dark_mode", "large_text", "screen_reader", "no_animation", "offline", "beta")
PEOPLE = 60_000


def devices(people: int) -> pd.DataFrame:
    """Return made-up devices: people who need large text change other settings, too."""
    random = np.random.default_rng(7)
    needs = random.random(people) < 0.2
    usual, needy = [0.4, 0.1, 0.01, 0.1, 0.2, 0.1], [0.5, 0.8, 0.3, 0.6, 0.2, 0.1]
    chances = np.where(needs[:, None], needy, usual)
    return pd.DataFrame(random.random(chances.shape) < chances, columns=list(SETTINGS))


def main(folder: Path) -> None:
    # Plan: before anybody is asked, what error will sixty thousand devices give?
    schema = Schema.binary(*SETTINGS)
    planned = plan(schema, order=2, epsilon=1.1, people=PEOPLE)
    print(f"{planned.recommended}: tables off by {planned.rows[0].predicted_tv:.3f} on average")

    # Freeze: the survey's id names every detail, and devices know it.
    survey = Survey(schema, order=2, epsilon=1.1)
    (folder / "survey.json").write_text(survey.to_json(), encoding="utf-8")
    print(f"Survey {survey.id[:16]}")

    # One device, as it would be: its own randomness, its own ledger, one report for ever.
    everyone = devices(PEOPLE)
    client = Client(survey, ledger=Ledger(folder / "device.json"))
    report = client.report(everyone.iloc[0].to_dict())
    print(f"Asked:\n{survey.question(report.slot).english()}")
    print(f"Sent:  slot {report.slot}, value {report.value}")

    # All the others at once, which stands in for sixty thousand devices.
    tally = survey.tally([report]) + survey.tally(survey.randomize(everyone[1:]))

    # Read: tables with error bars, what goes together, and one file that tells it all.
    release = tally.release()
    print(release.marginal("large_text", "no_animation").to_frame().round(3).to_string(index=False))
    found = release.associations()
    print(found[found.q_value < 0.05][["a", "b", "cramers_v"]].round(2).to_string(index=False))
    release.report(folder / "report.html")
    print(f"The report is in {folder / 'report.html'}.")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
