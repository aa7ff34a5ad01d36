"""The command that plans a survey: plan."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from deniable.cli import options as option
from deniable.cli.inputs import (
    binary_schema,
    load_frame,
    load_pilot,
    parse_workload,
    schema_of,
    sized_schema,
    without_gaps,
)
from deniable.cli.output import NOISE, attributes_of, is_noise, print_json
from deniable.errors import SurveyError
from deniable.planning.shuffle import SLOTS
from deniable.show.terminal import number, stdout, table, up

if TYPE_CHECKING:
    from deniable.planning.plan import Plan
    from deniable.planning.shuffle import Shuffled

People = Annotated[
    int | None,
    typer.Option(help="How many people will answer; default: as the target needs, or 100000."),
]
TargetError = Annotated[
    float | None, typer.Option(help="Say how many people bring the error down to this.")
]
Shuffler = Annotated[
    str | None, typer.Option(help="Who, independent of you, would mix the reports.")
]
Chart = Annotated[
    Path | None,
    typer.Option(help="Draw the error against epsilon and people: .html, .svg, .png or .json."),
]


def plan(
    order: option.Order = 2,
    epsilon: option.Epsilon = 1.1,
    people: People = None,
    attributes: Annotated[int | None, typer.Option(help="How many binary attributes.")] = None,
    sizes: option.Sizes = None,
    data: Annotated[str | None, typer.Option(help="Take the attributes of this data.")] = None,
    columns: option.Columns = None,
    values: option.Values = None,
    target_error: TargetError = None,
    probability: Annotated[float, typer.Option(help="Of the guaranteed error.")] = 0.95,
    shuffler: Shuffler = None,
    delta: Annotated[float, typer.Option(help="The delta of the mixed reports.")] = 1e-9,
    slots: option.ShuffledSlots = SLOTS[0],
    workload: option.Workload = None,
    pilot: option.Pilot = None,
    chart: Chart = None,
    observed: option.Observed = False,
    drop_missing: option.DropMissing = False,
    as_json: option.Json = False,
) -> None:
    """Predict errors, rank mechanisms, say how many people."""
    from deniable.planning.plan import plan as make_plan

    if [attributes, sizes, data].count(None) != 2:
        raise SurveyError("Give one of --attributes, --sizes and --data.")
    if values is not None and data is None:
        raise SurveyError("--values declares the columns of data; give --data.")
    if data is not None:
        frame = without_gaps(load_frame(data, columns), drop_missing)
        schema = schema_of(frame, columns, values, observed)
    else:
        schema = binary_schema(attributes) if attributes is not None else sized_schema(sizes or "")
    forecast = make_plan(
        schema,
        order=order,
        epsilon=epsilon,
        people=100_000 if people is None and target_error is None else people,
        target_error=target_error,
        probability=probability,
        shuffler=shuffler,
        delta=delta,
        slots=slots,
        workload=parse_workload(workload),
        pilot=load_pilot(pilot),
    )
    if chart is not None:
        _draw(forecast, chart)
    if as_json:
        print_json(forecast.to_json())
        return
    _show_plan(forecast)
    if chart is not None:
        stdout().print(f"The curves are in {escape(chart.name)}.")


def _draw(forecast: Plan, chart: Path) -> None:
    from deniable.show.charts import save_chart
    from deniable.show.plans import plan_chart

    save_chart(plan_chart(forecast), chart)


def _show_plan(forecast: Plan) -> None:
    """Print a plan: the ranked mechanisms, what bounds them, what else is to be known."""
    console = stdout()
    target = forecast.target_error
    enough = target is not None and forecast.people == forecast.rows[0].people_needed
    console.print(
        f"{attributes_of(forecast.schema.sizes)}, tables of {forecast.order}, "
        f"epsilon {forecast.epsilon:g}, {forecast.people:,} people"
        f"{f', as {forecast.recommended} needs for an error of {target:g}' if enough else ''}. "
        "Errors are total variation distances of a table.\n"
    )
    is_sure = any(row.guaranteed_tv is not None for row in forecast.rows)
    console.print(_plan_table(forecast, is_sure))
    console.print(
        f"\nThe expected error is a mean over {forecast.scope}"
        f"{'; what is sure holds for every one' if is_sure else ''}. "
        f"{_limit(forecast)} (÷ bound: variance over that limit). Bits, reads, draws: what a device "
        "sends, the most attributes it reads, the random 64-bit words it draws."
    )
    if forecast.aim.squares:
        shares = ", ".join(f"{square:.2f}" for square in forecast.aim.squares)
        console.print(
            f"Errors are for people like the pilot's, whose coefficients have mean squares {shares} "
            "by level."
        )
    if forecast.shuffled is not None:
        console.print(escape(_shuffled(forecast, forecast.shuffled)))
    if is_noise(row.predicted_tv for row in forecast.rows):
        console.print(NOISE)
    for note in forecast.notes:
        console.print(escape(note))
    for reason in forecast.skipped.values():
        console.print(f"[dim]{escape(reason)}[/dim]")


def _plan_table(forecast: Plan, is_sure: bool) -> Table:
    target = forecast.target_error
    heads = ["mechanism", "expected error"]
    heads += [f"{100 * forecast.probability:g}% sure below"] if is_sure else []
    heads += ["÷ bound", "bits", "reads", "draws"] + (["people for target"] if target else [])
    body = [
        [row.mechanism, number(row.predicted_tv)]
        + ([number(row.guaranteed_tv, 3)] if is_sure else [])
        + [
            number(row.variance_over_bound, 2),
            f"{row.bits_per_report:,}",
            row.attributes_read,
            f"{row.random_words:,}",
        ]
        + ([_count(row.people_needed)] if target else [])
        for row in forecast.rows
    ]
    return table(heads, body, best=0)


def _count(people: int | None) -> str:
    return "–" if people is None else f"{people:,}" if people < 10**9 else f"{Decimal(people):.1e}"


def _shuffled(forecast: Plan, shuffled: Shuffled) -> str:
    """Return what shuffling adds, in one sentence that claims no more than is known."""
    name, crowd = shuffled.shuffler, f"{shuffled.crowd:,}"
    if shuffled.slots == SLOTS[0]:
        hidden = f"and every device draws its own slot, a report hides among all {crowd} people"
    else:
        hidden = (
            f"but slots are assigned, a report hides only among the people with the same slot, "
            f"{crowd} of {forecast.people:,} with {forecast.recommended} if slots are handed out evenly"
        )
    if shuffled.epsilon is None:
        gain = (
            f"which is too few to promise more than the epsilon {forecast.epsilon:g} of one report"
        )
    else:
        gain = (
            f"and the mixed reports have epsilon {up(shuffled.epsilon)} with delta "
            f"{shuffled.delta:g}; {name} itself still sees reports of epsilon {forecast.epsilon:g}"
        )
    return f"If {name}, independent of the collector, mixes the reports {hidden}, {gain}."


def _limit(forecast: Plan) -> str:
    known = "Where nothing is known of people, no" if forecast.aim.squares else "No"
    return f"{known} unbiased protocol can expect less than {number(forecast.unbiased_bound_tv)}"
