"""A collector, and devices that talk to it over HTTP: each gets one question, and answers once.

python examples/collector.py [FOLDER]        writes the store, the ledgers and the tally there
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from deniable import Ledger, Schema, Survey, Tally
from deniable.client.http import HTTPClient

DENIABLE = [sys.executable, "-c", "from deniable.cli import main; main()"]
DEVICES = 30


def main(folder: Path) -> None:
    survey = Survey(Schema.binary("Comedy", "Crime", "War"), order=2, epsilon=1.1)
    (folder / "survey.json").write_text(survey.to_json(), encoding="utf-8")
    store = f"sqlite:///{folder / 'collector.db'}"

    # An id for each participant bounds what liars can do: each counts once.
    issued = subprocess.run(
        [*DENIABLE, "issue", "--count", str(DEVICES), "--store", store],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip

    serve = ["serve", folder / "survey.json", "--store", store, "--participants", "issued"]
    with subprocess.Popen(
        [*DENIABLE, *map(str, serve), "--port", "0"], stderr=subprocess.PIPE, text=True
    ) as collector:
        try:
            address = next(
                line.split()[-1] for line in collector.stderr or () if "Collecting at" in line
            )
            for number, token in enumerate(issued):
                record = {"Comedy": number % 2 == 0, "Crime": number % 3 == 0, "War": False}
                ledger = Ledger(folder / f"device-{number}.json")
                # The id of the survey comes from somewhere the device trusts, not from the collector.
                device = HTTPClient(address, survey.id, ledger=ledger, token=token)
                if number == 0:
                    print(f"Device 0 is asked:\n{device.question(record).english()}")
                device.answer(record)
                device.submit()
        finally:
            collector.terminate()

    # What the collector has: how often each value was reported to each question. Nothing else.
    subprocess.run([*DENIABLE, "tally", store, "-o", folder / "day.tally"], check=True)
    tally = Tally.load(folder / "day.tally")
    print(f"{tally.people} people answered; {DEVICES} are far too few for a table.")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            main(Path(made))
