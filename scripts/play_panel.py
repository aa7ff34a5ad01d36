"""Play a panel: each personal link is answered, over HTTP, by one row of data, as a device would.

python scripts/play_panel.py LINKS.csv DATA [--survey survey.json] [--people N]

Every person has a client and a ledger of their own; the data never leaves this process but as answers.
For rehearsals: an id that has answered here has answered.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from deniable import Ledger, Survey
from deniable.client.http import HTTPClient
from deniable.lab.datasets import load
from deniable.schema.attribute import Attribute, spoken

WORKERS = 8


def links_of(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each link's address and id."""
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            parts = urlsplit(row["link"])
            (token,) = parse_qs(parts.fragment)["token"]
            yield f"{parts.scheme}://{parts.netloc}{parts.path}", token


def declared(attribute: Attribute, value: Any) -> Any:
    """Return a value as it is declared: a file that mixes yes and no with texts has only texts."""
    names = {text: each for each in attribute.values for text in (str(each), spoken(each))}
    return names.get(value, value) if isinstance(value, str) else value


def play(
    links: Sequence[tuple[str, str]], records: Sequence[Mapping[str, Any]], survey: Survey
) -> float:
    """Let each link be answered by a record; return the seconds it took."""
    attributes = survey.schema.attributes
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(
        dir="/dev/shm" if Path("/dev/shm").is_dir() else None
    ) as folder:

        def answer(person: int) -> None:
            address, token = links[person]
            record = {each.name: declared(each, records[person][each.name]) for each in attributes}
            ledger = Ledger(Path(folder) / f"{person}.json")
            client = HTTPClient(address, survey, ledger=ledger, token=token)
            client.answer(record)
            client.submit()

        with ThreadPoolExecutor(WORKERS) as workers:
            list(workers.map(answer, range(len(links))))
    return time.perf_counter() - begin


def main() -> None:
    """Play the panel, and say how long it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("links", type=Path)
    parser.add_argument("data")
    parser.add_argument("--survey", type=Path, default=Path("survey.json"))
    parser.add_argument("--people", type=int)
    options = parser.parse_args()
    links = list(links_of(options.links))[: options.people]
    records = load(options.data).sample(len(links), random_state=1).to_dict("records")
    seconds = play(links, records, Survey.load(options.survey))
    print(f"{len(links):,} people answered over HTTP in {seconds:.1f} s")


if __name__ == "__main__":
    main()
