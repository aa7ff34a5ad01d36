"""The command that plans a survey."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deniable.cli import options as option
from deniable.cli import waves
from deniable.cli.inputs import (
    declared_schema,
    load_frame,
    load_pilot,
    parse_workload,
    sample_schema,
    sizes_by_name,
    without_gaps,
)
from deniable.cli.options import about
from deniable.cli.output import print_json, progress
from deniable.cli.plans import show_plan
from deniable.cli.questionnaires import READERS, given
from deniable.design.reading import PEOPLE, POWER
from deniable.errors import SurveyError
from deniable.planning.shuffle import SLOTS

if TYPE_CHECKING:
    from deniable.planning.plan import Plan
    from deniable.schema.schema import Schema


_DETECTED = "what to find and its size: v=0.1, difference=5"
_MEAN = "a number and half the width of its interval, such as income=500"

People = Annotated[
    int | None, about("How many people will answer; default: as the target needs, or 100000.")
]
TargetError = Annotated[float | None, about("Say how many people bring the error down to this.")]
Shuffler = Annotated[str | None, about("Who, independent of you, would mix the reports.")]
Detected = Annotated[
    list[str] | None,
    about(
        "What a test at the 5 % level is to find: dependence of a Cramér's V (v=0.1), or a difference "
        "between two groups in points (difference=5); can be given again.",
        "--detect",
    ),
]
Power = Annotated[float, about("How often a test is to find what there is.")]
Groups = Annotated[
    str | None,
    about(
        "Groups of a difference: two shares, such as 0.3,0.7 (default: halves), or an attribute."
    ),
]
ShareWidth = Annotated[
    float | None,
    about("How sure a share is to be: half of its 95 % interval, in points.", "--share"),
]
SlopeWidth = Annotated[
    float | None, about("The same of the slope of a yes/no outcome on predictors.", "--slope")
]
Predictors = Annotated[int | None, about("How many; by default all other attributes.")]
MeanWidths = Annotated[
    list[str] | None,
    about(
        "The same of the mean of a number, in its unit, such as income=500; can be given again.",
        "--mean",
    ),
]
Chart = Annotated[
    Path | None,
    about("Draw the error against epsilon and people: .html, .svg, .pdf, .png or .json."),
]


PlanData = Annotated[
    str | None,
    typer.Argument(
        help="A questionnaire (.yaml, .toml or .json): plan as it says, unless options say otherwise. "
        "Or data: take its attributes, and plan for people like those."
    ),
]


def plan(
    context: typer.Context,
    data: PlanData = None,
    order: option.Order = 2,
    epsilon: option.Epsilon = 1.1,
    people: People = None,
    attributes: Annotated[int | None, about("How many binary attributes.")] = None,
    sizes: option.Sizes = None,
    columns: option.Columns = None,
    values: option.Values = None,
    ranges: option.Range = None,
    target_error: TargetError = None,
    detect: Detected = None,
    power: Power = POWER,
    groups: Groups = None,
    share: ShareWidth = None,
    slope: SlopeWidth = None,
    predictors: Predictors = None,
    mean: MeanWidths = None,
    probability: Annotated[float, about("Of the guaranteed error.")] = 0.95,
    shuffler: Shuffler = None,
    delta: Annotated[float, about("The delta of the mixed reports.")] = 1e-9,
    slots: option.ShuffledSlots = SLOTS[0],
    aim: option.Aim = "tables",
    prior: option.Prior = None,
    workload: option.Workload = None,
    pilot: option.Pilot = None,
    every: waves.Every = None,
    duration: waves.Duration = None,
    lifetime: waves.Lifetime = None,
    chart: Chart = None,
    observed: option.Observed = False,
    drop_missing: option.DropMissing = False,
    as_json: option.Json = False,
) -> None:
    """Predict errors, rank mechanisms, say how many people."""
    others = target_error, share, slope, mean, shuffler, workload, pilot, chart
    waves.check_waves(every, duration, lifetime, others)
    _check_sources(attributes, sizes, data, ranges, values)
    _check_chart(chart)
    if data is not None and Path(data).suffix.lower() in READERS:
        schema, sample, design = _asked(context, Path(data))
    elif data is not None:
        sample, design = without_gaps(load_frame(data, columns), drop_missing), {}
        schema = sample_schema(sample, columns, values, observed, ranges)
    else:
        schema, sample, design = declared_schema(attributes, sizes, ranges), None, {}
    needs = _needs(detect, share, slope, mean)
    size: dict[str, Any] = {"order": order, "epsilon": epsilon, "people": people, "aim": aim}
    size |= {"prior": prior, "workload": parse_workload(workload)} | design
    if every is not None:
        return waves.tell_waves(schema, every, duration, lifetime, needs["detect"], as_json, size)
    is_open = target_error is not None or any(each not in (None, {}) for each in needs.values())
    if size["people"] is None and not is_open:
        size["people"] = PEOPLE
    options: dict[str, Any] = {"target_error": target_error, "probability": probability}
    options |= {"shuffler": shuffler, "delta": delta, "slots": slots, "pilot": load_pilot(pilot)}
    options |= {"power": power, "groups": _groups(groups), "predictors": predictors}
    _tell(schema, size | options | needs | {"sample": sample}, chart, as_json)


def _asked(context: typer.Context, path: Path) -> tuple[Schema, None, dict[str, Any]]:
    """Return what a questionnaire asks about, of nobody, and its design beside the command line."""
    questionnaire, names = READERS[path.suffix.lower()](path), given(context)
    design = {name: value for name, value in questionnaire.design.items() if name not in names}
    design.pop("mechanism", None)  # a plan ranks them all
    return questionnaire.schema, None, design


def _needs(
    detect: list[str] | None, share: float | None, slope: float | None, mean: list[str] | None
) -> dict[str, Any]:
    """Return what is asked for in an analyst's terms."""
    return {
        "detect": sizes_by_name(detect, "--detect", _DETECTED),
        "share": share,
        "slope": slope,
        "means": sizes_by_name(mean, "--mean", _MEAN),
    }


def _tell(schema: Schema, options: dict[str, Any], chart: Path | None, as_json: bool) -> None:
    """Make a plan, draw it, if it is to be drawn, and print it."""
    from deniable.planning.plan import plan as make_plan

    forecast = make_plan(schema, **options)
    if chart is not None:
        _draw_plan(forecast, chart)
    if as_json:
        print_json(forecast.to_json())
    else:
        show_plan(forecast, chart)


def _check_sources(
    attributes: int | None,
    sizes: str | None,
    data: str | None,
    ranges: list[str] | None,
    values: Path | None,
) -> None:
    """Refuse a plan that is about nothing, or about two things at once."""
    sources = 3 - [attributes, sizes, data].count(None)
    if sources > 1 or (not sources and not ranges):
        raise SurveyError("Give data, or one of --attributes and --sizes, or --range of numbers.")
    if values is not None and data is None:
        raise SurveyError("--values declares the columns of data; give the data.")


def _check_chart(path: Path | None) -> None:
    if path is not None:
        from deniable.show.charts import check_chart

        check_chart(path)


def _draw_plan(forecast: Plan, path: Path) -> None:
    from deniable.show.charts import save_chart
    from deniable.show.plans import plan_chart

    with progress(None, "drawing"):
        save_chart(plan_chart(forecast), path)


def _groups(text: str | None) -> str | tuple[float, ...] | None:
    """Return the shares of groups, or the name of the attribute that makes them."""
    if text is None or "," not in text:
        return text
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise SurveyError(
            f"--groups needs two shares, such as 0.3,0.7, or the name of an attribute; got {text!r}."
        ) from None
