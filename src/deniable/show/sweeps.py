"""Charts and tables of a sweep of simulations, fit for a paper."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd

from deniable.errors import ChartError
from deniable.formats.spreadsheets import frame_text
from deniable.formats.writing import write_text
from deniable.show.charts import COLOURS, headed, with_theme
from deniable.show.export import check_ending
from deniable.show.plans import MECHANISM_COLOURS, OTHER_COLOUR

ENDINGS = (".tex", ".csv")
"""What a table of a sweep can be written as."""

LEVEL = 0.95
"""Of the intervals that are drawn."""

_DECADE = 10.0
_AXES = {"people": "people who answer", "epsilon": "ε of one report", "order": "order"}
_SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke"]
_WIDTH, _HEIGHT = 260, 220


def sweep_chart(frame: pd.DataFrame) -> Any:
    """Return the errors of a sweep, with 95 % intervals over repeats, and what is predicted dashed.

    ``frame`` is what `sweep_frame` returns. The number that takes most values runs along a panel, people
    first; the others divide panels. Axes whose values span a decade are logarithmic.
    """
    swept = [name for name in _AXES if frame[name].nunique() > 1]
    if not swept:
        return _one_point(frame)
    along = max(swept, key=lambda name: frame[name].nunique())
    rows = _with_intervals(frame)
    colours = _colours(rows)
    panels = [
        [
            _panel(part, along, _panel_title(part, swept, along), rows, colours)
            for _, part in band.groupby(columns, sort=True)
        ]
        for band, columns in _bands(rows, [name for name in swept if name != along])
    ]
    grid = alt.vconcat(*(alt.hconcat(*band, spacing=16) for band in panels), spacing=16)
    note = "Lines: simulated, with 95 % intervals over repeats. Dashed: predicted"
    title = alt.TitleParams("Error of a table by mechanism", subtitle=note, offset=12)
    return with_theme(grid.properties(title=title)).configure_legend(symbolStrokeWidth=2)


def _bands(rows: pd.DataFrame, others: list[str]) -> list[tuple[pd.DataFrame, list[str]]]:
    """Return rows of panels: one for each order, if that and another number are swept beside."""
    if len(others) < 2:
        return [(rows, others or ["repeat"])]
    first, second = others[-1], others[:-1]
    return [(band, second) for _, band in rows.groupby(first, sort=True)]


def _panel_title(part: pd.DataFrame, swept: list[str], along: str) -> str:
    first = part.iloc[0]
    words = {
        "order": f"order {first['order']}",
        "epsilon": f"ε = {first['epsilon']:g}",
        "people": f"{first['people']:,} people",
    }
    return ", ".join(words[name] for name in words if name in swept and name != along)


def _with_intervals(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with the ends of Student's intervals: repeats may be few."""
    from scipy.stats import t

    students = t.ppf((1 + LEVEL) / 2, frame["repeat"].clip(lower=2) - 1)
    reach = students * frame["standard_error"].fillna(0.0)
    low = (frame["mean_tv"] - reach).clip(lower=frame["mean_tv"] / 10)  # a log axis has no 0
    return frame.assign(low=low, high=frame["mean_tv"] + reach)


def _colours(rows: pd.DataFrame) -> tuple[Any, Any]:
    """Return the scales of colours and shapes of mechanisms, the best on average first."""
    names = rows.groupby("mechanism")["behind"].mean().sort_values().index.tolist()
    own = [MECHANISM_COLOURS.get(name, OTHER_COLOUR) for name in names]
    shapes = [_SHAPES[place % len(_SHAPES)] for place in range(len(names))]
    return alt.Scale(domain=names, range=own), alt.Scale(domain=names, range=shapes)


def scale_of(values: pd.Series, zero: bool = True) -> Any:
    """Return a logarithmic scale where values span a decade or more, else a linear one."""
    low, high = float(values.min()), float(values.max())
    if low > 0 and high / low >= _DECADE:
        return alt.Scale(type="log", domain=[low / 1.15, high * 1.15], nice=False)
    return alt.Scale(zero=True) if zero else alt.Scale(zero=False, padding=12)


def _panel(
    part: pd.DataFrame, along: str, title: str, rows: pd.DataFrame, colours: tuple[Any, Any]
) -> Any:
    errors = pd.concat([rows["low"], rows["high"]])
    ticks = sorted(rows[along].unique().tolist())
    form = "~s" if along == "people" else "~g"
    x = alt.X(
        f"{along}:Q",
        title=_AXES[along],
        scale=scale_of(rows[along], zero=False),
        axis=alt.Axis(values=ticks, format=form),
    )
    y = alt.Y("mean_tv:Q", title="mean error of a table", scale=scale_of(errors))
    colour = alt.Color("mechanism:N", title=None, scale=colours[0])
    shape = alt.Shape("mechanism:N", title=None, scale=colours[1])
    base = alt.Chart(part).encode(x=x, color=colour)
    predicted = base.transform_filter("isValid(datum.predicted_tv)").mark_line(
        strokeDash=[4, 3], strokeWidth=1, opacity=0.7
    )
    return alt.layer(
        predicted.encode(y=alt.Y("predicted_tv:Q", scale=scale_of(errors))),
        base.mark_line(strokeWidth=1.8).encode(y=y),
        base.mark_rule(strokeWidth=1.5).encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_point(filled=True, size=50, opacity=1).encode(
            y=y, shape=shape, tooltip=_tips(rows)
        ),
    ).properties(
        title=alt.TitleParams(title, fontSize=12, fontWeight="normal"), width=_WIDTH, height=_HEIGHT
    )


def _tips(frame: pd.DataFrame) -> list[Any]:
    return [
        "mechanism:N",
        alt.Tooltip("mean_tv:Q", title="simulated", format=".4f"),
        alt.Tooltip("standard_error:Q", title="standard error", format=".2g"),
        alt.Tooltip("predicted_tv:Q", title="predicted", format=".4f"),
    ]


def _one_point(frame: pd.DataFrame) -> Any:
    """Return the errors of mechanisms at one point, the best above; a tick is what is predicted."""
    rows = _with_intervals(frame)
    scale = scale_of(pd.concat([rows["low"], rows["high"]]))
    names = rows["mechanism"].tolist()
    base = alt.Chart(rows).encode(y=alt.Y("mechanism:N", sort=names, title=None))
    x = alt.X("mean_tv:Q", title="mean error of a table", scale=scale)
    colour = alt.Color("mechanism:N", scale=_colours(rows)[0], legend=None)
    ticks = base.transform_filter("isValid(datum.predicted_tv)").mark_tick(
        color=COLOURS["bound"], thickness=2, size=16
    )
    first = frame.iloc[0]
    note = (
        f"Tables of {first['order']}, ε = {first['epsilon']:g}, {first['people']:,} people; 95 % "
        "intervals over repeats, a tick where it is predicted"
    )
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=x, color=colour, tooltip=_tips(rows)
    )
    chart = alt.layer(
        ticks.encode(x=alt.X("predicted_tv:Q", scale=scale)),
        base.mark_rule(strokeWidth=1.8).encode(x=alt.X("low:Q"), x2="high:Q", color=colour),
        points,
    )
    title = headed("Error of a table by mechanism", [note])
    return with_theme(chart.properties(title=title, width=420, height=alt.Step(26)))


def check_table(path: str | Path) -> str:
    """Return the ending of a file that a table of a sweep can be written to, or refuse it."""
    return check_ending(path, "A table of simulations", ENDINGS)


def save_table(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a sweep as LaTeX (.tex) or .csv, whole or not at all."""
    text = latex if check_table(path) == ".tex" else frame_text
    write_text(path, text(frame), ChartError)


def latex(frame: pd.DataFrame) -> str:
    """Return a sweep as a LaTeX table, which needs the package booktabs.

    Of the order, ε and people those columns are there that change. The best of each point is bold.
    """
    swept = [name for name in ("order", "epsilon", "people") if frame[name].nunique() > 1]
    heads = {"order": "order", "epsilon": r"$\varepsilon$", "people": "people"}
    columns = [heads[name] for name in swept]
    columns += ["mechanism", "error", "predicted", r"behind (\%)"]
    body, before = [], None
    for _, row in frame.iterrows():
        point = tuple(row[name] for name in swept)
        if before not in (None, point):
            body.append(r"\addlinespace")
        cells = [_tex_number(name, row[name]) if point != before else "" for name in swept]
        is_best = not row["behind"]
        name = _tex(row["mechanism"])
        cells.append(rf"\textbf{{{name}}}" if is_best else name)
        cells.append(_plus_minus(row["mean_tv"], row["standard_error"]))
        cells.append("--" if isnan(row["predicted_tv"]) else f"{row['predicted_tv']:.4f}")
        behind = _plus_minus(100 * row["behind"], 100 * row["behind_standard_error"], 1)
        cells.append("" if is_best else behind)
        body.append(" & ".join(cells) + r" \\")
        before = point
    first = frame.iloc[0]
    fixed = [_tex_fact(name, first[name]) for name in heads if name not in swept]
    repeats = f"{first['repeat']} {'repeat' if first['repeat'] == 1 else 'repeats'}"
    lines = [
        f"% deniable simulate: {', '.join([*fixed, repeats])}; needs \\usepackage{{booktabs}}.",
        "% Errors are mean total variation distances of a table, with standard errors over repeats.",
        rf"\begin{{tabular}}{{{'r' * len(swept)}lrrr}}",
        r"\toprule",
        " & ".join(columns) + r" \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _tex(text: str) -> str:
    for letter in "&%$#_{}":
        text = text.replace(letter, f"\\{letter}")
    return text


def _tex_number(name: str, value: float) -> str:
    return f"{value:g}" if name == "epsilon" else f"{int(value):,}".replace(",", r"\,")


def _tex_fact(name: str, value: float) -> str:
    return f"{name} {value:g}" if name != "people" else f"{int(value)} people"


def _plus_minus(value: float, error: float, decimals: int = 4) -> str:
    if isnan(error):
        return f"{value:.{decimals}f}"
    return rf"${value:.{decimals}f} \pm {error:.{decimals}f}$"
