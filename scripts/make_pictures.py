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
from deniable.show.charts import COLOURS, error_chart, save_chart, with_theme
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
    pictures = {"errors": chart, "table": table, "plan": curves}
    pictures |= {"groups": _groups(), "numbers": _numbers()}
    for name, picture in pictures.items():
        save_chart(picture, FOLDER / f"{name}.svg")
    wide = (FOLDER / "overview.svg").read_text("utf-8")
    (FOLDER / "overview-narrow.svg").write_text(narrow_overview(wide), "utf-8")


def narrow_overview(wide: str) -> str:
    """Return the overview for a phone: the collector below the device, and what leaves between them."""
    head, rest = wide.split("  <!-- the device -->\n")
    device, rest = rest.split("  <!-- what leaves -->\n")
    _, rest = rest.split("  <!-- the collector -->\n")
    collector, _, _ = rest.rpartition('  <text class="soft" x="480" y="382"')
    head = head.replace('viewBox="0 0 960 400"', 'viewBox="0 0 502 800"')
    head = head.replace('width="960" height="400"', 'width="502" height="800"')
    leaves = (
        '  <path class="flow" d="M251 348v54"/><path class="tip" d="M244 400l7 11 7-11z"/>\n'
        '  <text class="big" x="236" y="386" text-anchor="end">9, 1</text>\n'
        '  <text class="soft" x="270" y="384">all that leaves</text>\n'
    )
    words = (
        '  <text class="soft" x="251" y="774" text-anchor="middle">Many deniable answers, each to one'
        " small question,</text>\n"
        '  <text class="soft" x="251" y="792" text-anchor="middle">make every table of up to k'
        " attributes.</text>\n"
    )
    moved = f'  <g transform="translate(-510 404)">\n{collector}  </g>\n'
    return f"{head}{device}{leaves}{moved}{words}</svg>\n"


def _page(name: str) -> dict[str, Any]:
    """Return the names that a page of the docs makes, block by block."""
    page = (FOLDER.parent / f"{name}.md").read_text("utf-8")
    names: dict[str, Any] = {}
    with TemporaryDirectory() as folder, chdir(folder), redirect_stdout(StringIO()):
        for block in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
            exec(block, names)
    return names


def _groups() -> Any:
    """Return the chart that docs/groups.md makes."""
    return _page("groups")["chart"]


def _numbers() -> Any:
    """Return the distribution of income that docs/numbers.md reads, beside the truth."""
    import altair as alt

    names = _page("numbers")
    curve, people = names["curve"], names["people"]
    points = curve["point"].to_numpy()
    truth = [(people["income"] < point + 500).mean() for point in points[:-1]]
    curve = curve.assign(truth=[*truth, 1.0])
    x = alt.X("point:Q", title="income, USD", axis=alt.Axis(format=",d"))
    y = alt.Y("low:Q", title="share of people up to there", axis=alt.Axis(format="%"))
    base = alt.Chart(curve).encode(x=x)
    step: dict[str, Any] = {"interpolate": "step-after"}
    band = base.mark_area(opacity=0.2, color=COLOURS["estimate"], **step).encode(y=y, y2="high:Q")
    fit = base.mark_line(color=COLOURS["estimate"], **step).encode(y="cumulative:Q")
    true = base.mark_line(color=COLOURS["truth"], strokeDash=[4, 3], **step).encode(y="truth:Q")
    subtitle = (
        "100,000 people, four attributes, ε = 1.1: the fit, a 95 % band, and the truth (dashed)"
    )
    title = alt.TitleParams("Distribution of income", subtitle=subtitle)
    return with_theme((band + fit + true).properties(width=460, height=260, title=title))


if __name__ == "__main__":
    main()
