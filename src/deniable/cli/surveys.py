"""The commands that lead to a survey: plan, new; and explain, which says what it asks."""

from __future__ import annotations

from decimal import Decimal
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from deniable.api.survey import Survey
from deniable.cli import options as option
from deniable.cli.inputs import (
    declared_schema,
    labels_by_name,
    load_frame,
    load_pilot,
    parse_workload,
    schema_of,
    widths_by_name,
    without_gaps,
)
from deniable.cli.number_plans import show_planned_numbers
from deniable.cli.options import about
from deniable.cli.output import NOISE, attributes_of, is_noise, print_json
from deniable.errors import SurveyError
from deniable.formats.reading import check_regular, read_text
from deniable.planning.cost import bits_per_report
from deniable.planning.shuffle import SLOTS
from deniable.questions.entropy import SystemSource
from deniable.questions.question import Question, odds
from deniable.schema.labels import Labels
from deniable.show.terminal import at_most, number, stdout, table, up

if TYPE_CHECKING:
    from deniable.planning.plan import Plan
    from deniable.planning.shuffle import Shuffling


People = Annotated[
    int | None, about("How many people will answer; default: as the target needs, or 100000.")
]
TargetError = Annotated[float | None, about("Say how many people bring the error down to this.")]
Shuffler = Annotated[str | None, about("Who, independent of you, would mix the reports.")]
MeanWidths = Annotated[
    list[str] | None,
    about(
        "Say how many people tell the mean of a number to this, in its unit (half the width of the 95 % "
        "interval), such as income=500; can be given again.",
        "--mean",
    ),
]
Chart = Annotated[
    Path | None,
    about("Draw the error against epsilon and people: .html, .svg, .pdf, .png or .json."),
]


def plan(
    order: option.Order = 2,
    epsilon: option.Epsilon = 1.1,
    people: People = None,
    attributes: Annotated[int | None, about("How many binary attributes.")] = None,
    sizes: option.Sizes = None,
    data: Annotated[str | None, about("Take the attributes of this data.")] = None,
    columns: option.Columns = None,
    values: option.Values = None,
    ranges: option.Range = None,
    target_error: TargetError = None,
    mean: MeanWidths = None,
    probability: Annotated[float, about("Of the guaranteed error.")] = 0.95,
    shuffler: Shuffler = None,
    delta: Annotated[float, about("The delta of the mixed reports.")] = 1e-9,
    slots: option.ShuffledSlots = SLOTS[0],
    aim: option.Aim = "tables",
    prior: option.Prior = None,
    workload: option.Workload = None,
    pilot: option.Pilot = None,
    chart: Chart = None,
    observed: option.Observed = False,
    drop_missing: option.DropMissing = False,
    as_json: option.Json = False,
) -> None:
    """Predict errors, rank mechanisms, say how many people."""
    from deniable.planning.plan import plan as make_plan

    _check_sources(attributes, sizes, data, ranges, values)
    _check_chart(chart)
    sample = None
    if data is not None:
        sample = without_gaps(load_frame(data, columns), drop_missing)
        schema = schema_of(sample, columns, values, observed, ranges=ranges)
    else:
        schema = declared_schema(attributes, sizes, ranges)
    forecast = make_plan(
        schema,
        order=order,
        epsilon=epsilon,
        people=100_000 if people is None and target_error is None and not mean else people,
        target_error=target_error,
        probability=probability,
        shuffler=shuffler,
        delta=delta,
        slots=slots,
        workload=parse_workload(workload),
        pilot=load_pilot(pilot),
        aim=aim,
        prior=prior,
        sample=sample,
        means=widths_by_name(mean),
    )
    if chart is not None:
        _draw_plan(forecast, chart)
    if as_json:
        print_json(forecast.to_json())
    else:
        _show_plan(forecast, chart)


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
        raise SurveyError("Give one of --attributes, --sizes and --data, or --range of numbers.")
    if values is not None and data is None:
        raise SurveyError("--values declares the columns of data; give --data.")


def _check_chart(path: Path | None) -> None:
    if path is not None:
        from deniable.show.charts import check_chart

        check_chart(path)


def _draw_plan(forecast: Plan, path: Path) -> None:
    from deniable.show.charts import save_chart
    from deniable.show.plans import plan_chart

    save_chart(plan_chart(forecast), path)


def _show_plan(forecast: Plan, chart: Path | None) -> None:
    """Print a plan: the ranked mechanisms, what bounds them, what else is to be known."""
    console = stdout()
    console.print(
        f"{attributes_of(forecast.schema)}, tables of {forecast.order}, "
        f"epsilon {forecast.epsilon:g}, {forecast.people:,} people{_enough(forecast)}. "
        "Errors are total variation distances of a table.\n"
    )
    is_sure = any(row.guaranteed_tv is not None for row in forecast.rows)
    console.print(_plan_table(forecast, is_sure))
    console.print(
        f"\nThe expected error is {'of unbiased tables, ' if forecast.aims else ''}a mean over "
        f"{forecast.scope}{'; what is sure holds for every one' if is_sure else ''}. "
        f"{_limit(forecast)} Bits, reads, draws: what a device sends, the most attributes it reads, the "
        "random 64-bit words it draws."
    )
    if forecast.numbers:
        show_planned_numbers(forecast)
    if forecast.aims:
        console.print(f"\nWhat {forecast.aims[0].mechanism} would do with each aim:\n")
        console.print(_aims_table(forecast), "")
    if forecast.aim.squares:
        shares = ", ".join(f"{square:.2f}" for square in forecast.aim.squares)
        console.print(
            f"Errors are for people like the pilot's, whose coefficients have mean squares {shares} "
            "by level."
        )
    if forecast.shuffled is not None:
        console.print(escape(_shuffling_sentence(forecast, forecast.shuffled)))
    if is_noise((row.read_tv if forecast.aims else row.predicted_tv) for row in forecast.rows):
        console.print(NOISE)
    for note in forecast.notes:
        console.print(escape(note))
    for reason in dict.fromkeys(forecast.skipped.values()):
        console.print(f"[dim]{escape(reason)}[/dim]")
    if chart is not None:
        console.print(f"The curves are in {escape(chart.name)}.")


def _aims_table(forecast: Plan) -> Table:
    """Return what surveys that are designed for each aim would do."""
    heads = ["aim", "error as read", "unbiased error", "Cramér's V found 4 times in 5"]
    body = [
        [row.aim, number(row.read_tv), number(row.predicted_tv), number(row.detectable_v, 3)]
        for row in forecast.aims
    ]
    own = [row.aim for row in forecast.aims].index(forecast.aim.goal)
    return table(heads, body, best=own)


def _plan_table(forecast: Plan, is_sure: bool) -> Table:
    target = forecast.target_error
    heads = ["mechanism", *(["as read"] if forecast.aims else []), "expected error"]
    heads += [f"{100 * forecast.probability:g}% sure below"] if is_sure else []
    heads += ["÷ bound", "bits", "reads", "draws"] + (["people for target"] if target else [])
    body = [
        [row.mechanism]
        + ([number(row.read_tv)] if forecast.aims else [])
        + [number(row.predicted_tv)]
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


def _shuffling_sentence(forecast: Plan, shuffling: Shuffling) -> str:
    """Return what shuffling adds, in one sentence that claims no more than is known."""
    name, crowd = shuffling.shuffler, f"{shuffling.crowd:,}"
    if shuffling.slots == SLOTS[0]:
        crowd_clause = (
            f"and every device draws its own slot, a report hides among all {crowd} people"
        )
    else:
        crowd_clause = (
            f"but slots are assigned, a report hides only among the people with the same slot, "
            f"{crowd} of {forecast.people:,} with {forecast.recommended} if slots are handed out evenly"
        )
    if shuffling.epsilon >= forecast.epsilon:
        gain = (
            f"which is too few to promise more than the epsilon {forecast.epsilon:g} of one report"
        )
    else:
        gain = (
            f"and the mixed reports have epsilon {up(shuffling.epsilon)} with delta "
            f"{shuffling.delta:g}; {name} itself still sees reports of epsilon {forecast.epsilon:g}"
        )
    return f"If {name}, independent of the collector, mixes the reports {crowd_clause}, {gain}."


def _enough(forecast: Plan) -> str:
    """Return what the people of a plan are enough for, if they were found by what they are to be."""
    target = forecast.target_error
    if target is not None and forecast.people == forecast.rows[0].people_needed:
        return f", as {forecast.recommended} needs for an error of {target:g}"
    for row in forecast.numbers:
        if row.people_needed == forecast.people:
            return f", as {forecast.recommended} needs for the mean of {row.attribute}"
    return ""


def _limit(forecast: Plan) -> str:
    if isnan(forecast.unbiased_bound_tv):
        return "Of a number, it is what a slope and a bend tell, and no lower limit is known."
    start = "Where nothing is known of people, no" if forecast.aim.squares else "No"
    limit = number(forecast.unbiased_bound_tv)
    return f"{start} unbiased protocol can expect less than {limit} (÷ bound: variance over that limit)."


Complete = Annotated[
    bool,
    about(
        "Declare that everybody has one of the values listed: a device that has none stays "
        "silent, and that shows.",
        "--complete",
    ),
]
Label = Annotated[
    list[str] | None,
    about(
        "A public label of every report, with its values, such as region=north,south; "
        "it is not protected. Can be given again."
    ),
]
Period = Annotated[
    list[str] | None,
    about(
        "The first day of a period, such as 2026-11-01; give it again for each, and the day "
        "on which the last one ends."
    ),
]


def new(
    data: option.Data,
    output: Annotated[Path, about("Where to write the survey.", "--output", "-o")],
    order: option.Order = 2,
    epsilon: option.Epsilon = 1.1,
    mechanism: Annotated[str, about("auto, or a name.")] = "auto",
    aim: option.Aim = "tables",
    people: Annotated[int, about("How many people are expected to answer.")] = 100_000,
    prior: option.Prior = None,
    workload: option.Workload = None,
    pilot: option.Pilot = None,
    columns: option.Columns = None,
    values: option.Values = None,
    ranges: option.Range = None,
    complete: Complete = False,
    label: Label = None,
    period: Period = None,
    as_json: option.Json = False,
) -> None:
    """Make a survey for some columns, and freeze it."""
    labels = {
        name: [value.strip() for value in text.split(",")]
        for name, text in labels_by_name(label, "region=north,south").items()
    }
    names = Labels.of(labels, period).names
    frame = load_frame(data, columns)
    not_asked = [name for name in frame.column_names if columns is None and name in names]
    attributes = frame.drop_columns(not_asked).drop_null()
    schema = schema_of(attributes, columns, values, complete=complete, ranges=ranges)
    schema.check_coverage()
    options: dict[str, Any] = {
        "workload": parse_workload(workload),
        "pilot": load_pilot(pilot),
        "prior": prior,
    }
    survey = Survey(
        schema,
        order,
        epsilon,
        mechanism,
        aim=aim,
        people=people,
        labels=labels,
        periods=period,
        **{name: value for name, value in options.items() if value is not None},
    )
    _write(survey, output)
    if as_json:
        form = {"id": survey.id, "mechanism": survey.mechanism, "slots": str(survey.slots)}
        print_json(form | ({"not_asked": not_asked} if not_asked else {}))
    else:
        _show_survey(survey, output, not_asked)


def _write(survey: Survey, path: Path) -> None:
    text = survey.to_json() + "\n"
    try:
        if path.exists() and not _holds(path, text):
            raise SurveyError(
                f"{str(path)!r} exists already; a survey is frozen, so choose a name."
            )
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SurveyError(f"{str(path)!r} cannot be written: {error.strerror}.") from None


def _holds(path: Path, text: str) -> bool:
    """Tell whether a file holds this text, and no more is read of it than that takes."""
    try:
        check_regular(path)
        return read_text(path, len(text.encode())) == text
    except (OSError, ValueError):
        return False


def _show_survey(survey: Survey, path: Path, not_asked: list[str]) -> None:
    console = stdout()
    questions = "one question" if survey.slots == 1 else f"{survey.slots:,} questions"
    console.print(
        f"Survey [bold]{survey.id[:16]}[/bold]: {attributes_of(survey.schema)}, "
        f"order {survey.order}, epsilon {survey.epsilon:g}, {survey.mechanism} with {questions}, "
        f"written to {escape(path.name)}."
    )
    if survey.labels:
        console.print(f"People are told: {escape(survey.labels.english())}")
    if not_asked:
        console.print(f"Labels, and so not asked about: {escape(', '.join(not_asked))}.")


def explain(
    survey: Annotated[Path, typer.Argument(help="A survey's JSON file.")],
    slot: Annotated[int | None, about("The question to explain; by default any.")] = None,
    full: Annotated[bool, about("Leave no value out.", "--full")] = False,
    as_json: option.Json = False,
) -> None:
    """Say in plain English what a device is asked."""
    frozen = Survey.load(survey)
    question = frozen.question(frozen.draw_slot(SystemSource()) if slot is None else slot)
    if not as_json:
        _show_question(frozen, question, full)
        return
    labels = frozen.labels
    print_json(
        question.to_json()
        | {
            "english": question.english(full=full),
            "epsilon": question.epsilon,
            "suspicion": odds(question.ratio),
            "attributes": list(question.attributes),
            "bits_per_report": bits_per_report(frozen),
        }
        | ({"labels": labels.values, "public": labels.english()} if labels.english() else {})
    )


def _show_question(survey: Survey, question: Question, full: bool) -> None:
    console, schema = stdout(), survey.schema
    console.print(
        f"Survey [bold]{survey.id[:16]}[/bold], question {question.slot} "
        f"(of 0 to {survey.slots - 1:,})\n"
    )
    text = question.english(full=full)
    console.print(Padding(f"[bold]{escape(text)}[/bold]", (0, 0, 1, 2), expand=False))
    attributes = (schema.attributes[schema.index(name)] for name in question.attributes)
    is_plain = " more" not in text and all(each.values == (False, True) for each in attributes)
    if text != question.english(full=True) and not is_plain:
        console.print("--full lists the values that are left out here.\n")
    scope = (
        "It concerns your whole record."
        if survey.whole_record
        else f"It concerns {len(question.attributes)} of your {len(schema)} attributes."
    )
    labels = survey.labels.english()
    console.print(
        f"{scope} The question was drawn without looking at anybody's data.\n"
        f"Its epsilon is {question.epsilon:.6g}, computed from the question itself: whoever sees your "
        f"report, a suspicion of 50% about you becomes at most {at_most(odds(question.ratio))}.\n"
        f"What leaves the device: the question's number and the answer, "
        f"{bits_per_report(survey):,} bits. Nothing else of your record.\n"
        f"{escape(labels)}{chr(10) if labels else ''}"
        "It does not hide that you took part, when, or which question you got; "
        "several surveys add up."
    )
