"""Write what a run of `deniable reproduce all` found into docs/paper.md, with its charts.

    python scripts/make_paper_page.py RESULTS

RESULTS is the folder of a full run. The page's part between the two marks is replaced; claims and
charts are copied to docs/images/paper.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from deniable.lab.experiments import EXPERIMENTS
from deniable.lab.experiments.reproduce import CLAIMS, verdicts

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "paper.md"
IMAGES = ROOT / "docs" / "images" / "paper"
BEGIN, END = "<!-- begin: scripts/make_paper_page.py -->\n", "<!-- end -->\n"


def part(about: dict[str, Any]) -> str:
    """Return the generated part of the page."""
    lines = [
        f"Found by `{about['command']}` (deniable {about['version']}) on {about['machine']}.",
        "The data:",
        "",
        *(f"- {d['name']}: {d['origin']} ({d['kind']})" for d in about["data"]),
        "",
        *verdicts(about["claims"]),
    ]
    for experiment in EXPERIMENTS.values():
        lines += ["", f"### {experiment.title}", "", f"{experiment.shows} `{experiment.name}`", ""]
        lines += [f"![{experiment.title}](images/paper/{experiment.name}.svg)"]
    return "\n".join(lines) + "\n"


def page(text: str, about: dict[str, Any]) -> str:
    """Return the page with its generated part made anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n" + part(about) + "\n" + END + after


def main() -> None:
    results = Path(sys.argv[1])
    about = json.loads((results / CLAIMS).read_text("utf-8"))
    missing = set(EXPERIMENTS) - {claim["experiment"] for claim in about["claims"]}
    if about["quick"] or missing:
        sys.exit("The page shows a full run: deniable reproduce all --output RESULTS.")
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in (CLAIMS, *(f"{name}.svg" for name in EXPERIMENTS)):
        shutil.copy(results / name, IMAGES / name)
    PAGE.write_text(page(PAGE.read_text("utf-8"), about), "utf-8")


if __name__ == "__main__":
    main()
