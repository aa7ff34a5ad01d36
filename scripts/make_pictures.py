"""Draw the pictures of the README and the docs: `python scripts/make_pictures.py`."""

from __future__ import annotations

import re
from contextlib import chdir, redirect_stdout
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pyarrow as pa

from deniable import Schema, Survey, plan, simulate
from deniable.lab.datasets import load
from deniable.lab.simulate import sample, trials
from deniable.mechanisms.registry import MECHANISMS
from deniable.questions.entropy import Key
from deniable.show.charts import error_chart, save_chart
from deniable.show.plans import plan_chart

FOLDER = Path(__file__).parent.parent / "docs" / "images"
PEOPLE, EPSILON, SEED = 200_000, 1.1, "pictures"


def main() -> None:
    frame = pa.Table.from_pandas(load("abortion"), preserve_index=False)
    schema = Schema.from_frame(frame)
    rows = []
    for name in MECHANISMS:
        survey = Survey(schema, 2, EPSILON, name)
        *_, last = trials(survey, frame, people=PEOPLE, repeat=10, seed=SEED)
        rows.append(asdict(last))
    bound = plan(schema, order=2, epsilon=EPSILON, people=PEOPLE).unbiased_bound_tv
    title = {
        "text": "Error of all 45 two-way tables, by mechanism",
        "subtitle": f"{PEOPLE:,} people, ten yes/no attributes, ε = {EPSILON}, mean of 10 runs",
    }
    chart = error_chart(pd.DataFrame(rows), bound, title)
    crowd = sample(frame, PEOPLE, Key.seeded(SEED))
    release = simulate(Survey(schema, 2, EPSILON), crowd, SEED)
    table = release.marginal("college", "legal_if_single").plot()
    sixteen = Schema.binary(*(f"a{i}" for i in range(16)))
    curves = plan_chart(plan(sixteen, order=2, epsilon=1.1, people=1_000_000, target_error=0.02))
    pictures = (("errors", chart), ("table", table), ("plan", curves), ("groups", _groups()))
    for name, picture in pictures:
        save_chart(picture, FOLDER / f"{name}.svg")


def _groups() -> Any:
    """Return the chart that docs/groups.md makes, block by block."""
    page = (FOLDER.parent / "groups.md").read_text("utf-8")
    names: dict[str, Any] = {}
    with TemporaryDirectory() as folder, chdir(folder), redirect_stdout(StringIO()):
        for block in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
            exec(block, names)
    return names["chart"]


if __name__ == "__main__":
    main()
