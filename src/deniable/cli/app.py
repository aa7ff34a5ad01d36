"""The command line: thin commands over the library.

Every command prints for people, or one JSON document with ``--json``. Bad input ends with exit code
2 and one sentence on stderr.
"""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from functools import partial
from io import TextIOWrapper
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.padding import Padding

from deniable import __version__
from deniable.api.survey import Survey
from deniable.api.tally import Tally
from deniable.cli.output import print_json, progress
from deniable.cli.tables import NOISE, attributes_of, is_noise, show_audit, show_plan, trials_table
from deniable.cli.values import read_values, schema_of
from deniable.decoding.decoder import decoder_of
from deniable.errors import DataError, DeniableError, SurveyError
from deniable.formats.reading import check_regular, read_text
from deniable.mechanisms.registry import MECHANISMS, mechanism_named
from deniable.schema.attribute import Attribute
from deniable.schema.labels import Labels
from deniable.schema.schema import Schema
from deniable.show.terminal import at_most, stdout

__all__ = ["app", "main"]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

# Newer versions of typer carry a click of their own, so its base class is reached through typer's.
_UsageError: Any = typer.BadParameter.__bases__[0]


@app.callback(invoke_without_command=True)
def deniable(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Joint statistics from people without collecting their records."""
    if version:
        typer.echo(__version__)
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


_MOST_ATTRIBUTES = 10_000
_MOST_VALUES = 4096

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Order = Annotated[int, typer.Option(help="The largest number of attributes in a table.")]
Epsilon = Annotated[float, typer.Option(help="The privacy parameter of one report.")]
Columns = Annotated[
    str | None, typer.Option(help="The columns to use, separated by commas; by default all.")
]
Observed = Annotated[
    bool, typer.Option("--observed", help="Take the values that occur; for simulation only.")
]
Values = Annotated[
    Path | None,
    typer.Option(
        help="A JSON file that declares columns that are not true/false: "
        '{"school": ["low", "high"], "age": {"bins": [18, 65]}}.'
    ),
]
Sizes = Annotated[
    str | None, typer.Option(help="How many values each attribute has, such as 2,3,42.")
]
DropMissing = Annotated[
    bool, typer.Option("--drop-missing", help="Leave out rows with empty cells.")
]
Workload = Annotated[
    str | None,
    typer.Option(help="The tables that matter, with weights if you like: 'a,b; a,c=2'."),
]
Pilot = Annotated[
    Path | None, typer.Option(help="A tally of an earlier survey: plan for people like those.")
]
Data = Annotated[
    str, typer.Argument(help="A .csv, .parquet or .feather file, or 'abortion' or 'flights'.")
]


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may not know every letter
    try:
        code = app(standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except DeniableError as error:
        _stop(str(error))
    except _UsageError as error:
        _stop(error.format_message())
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(130)
    except MemoryError:
        _stop("This would need more memory than there is.")
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # whoever read the output has seen enough
            sys.exit(0)
        _stop(f"The output cannot be written: {error.strerror}.")
    sys.exit(code if isinstance(code, int) else 0)


def _stop(message: str) -> None:
    sentence = " ".join(message.split()).rstrip(".")
    end = "" if sentence.endswith("?") else "."  # as PostgreSQL asks
    print(f"deniable: {sentence}{end}", file=sys.stderr)  # noqa: T201
    sys.exit(2)


def _frame(data: str, columns: str | None, drop_missing: bool = False) -> Any:
    table = _table(data, columns)
    gaps = [name for name in table.column_names if table[name].null_count]
    if drop_missing:
        return table.drop_null()
    if gaps:
        raise DataError(
            f"Column {gaps[0]!r} has {table[gaps[0]].null_count:,} empty cells; "
            "--drop-missing leaves such rows out."
        )
    return table


def _table(data: str, columns: str | None) -> Any:
    import pyarrow as pa

    from deniable.lab.datasets import load

    chosen = None if columns is None else [name.strip() for name in columns.split(",")]
    return pa.Table.from_pandas(load(data, chosen), preserve_index=False)


def _schema(
    frame: Any,
    columns: str | None,
    values: Path | None = None,
    observed: bool = False,
    complete: bool = False,
) -> Schema:
    if observed and values is not None:
        raise SurveyError("Give --values or --observed, not both.")
    if observed:
        return Schema.from_frame(frame, values="observed")
    declared = {} if values is None else read_values(values)
    if columns is not None:  # the file may declare columns that this survey leaves out
        declared = {name: held for name, held in declared.items() if name in frame.column_names}
    return schema_of(frame, declared, complete=complete)


def _workload(text: str | None) -> dict[tuple[str, ...], float] | None:
    """Read tables and weights: 'a,b; a,c=2'."""
    if text is None:
        return None
    made: dict[tuple[str, ...], float] = {}
    for part in filter(str.strip, text.split(";")):
        names, _, weight = part.rpartition("=") if "=" in part else (part, "", "1")
        table = tuple(name.strip() for name in names.split(","))
        try:
            made[table] = made.get(table, 0.0) + float(weight)
        except ValueError:
            raise SurveyError(
                f"A table's weight must be a number, got {weight.strip()!r}."
            ) from None
    return made


def _holds(path: Path, text: str) -> bool:
    """Tell whether a file holds this text, and no more is read of it than that takes."""
    try:
        check_regular(path)
        return read_text(path, len(text.encode())) == text
    except (OSError, ValueError):
        return False


def _pilot(path: Path | None) -> Any:
    return None if path is None else Tally.load(path).release()


def _names(text: str) -> list[str]:
    if text == "all":
        return list(MECHANISMS)
    return [mechanism_named(name.strip()).name for name in text.split(",")]


@app.command()
def demo(
    people: Annotated[int, typer.Option(help="How many people answer.", min=1)] = 200_000,
    epsilon: Epsilon = 1.1,
    output: Annotated[Path, typer.Option("--output", help="Where to write the report.")] = Path(
        "deniable-report.html"
    ),
    as_json: Json = False,
) -> None:
    """Show the whole journey on real, sensitive data."""
    from deniable.cli.demo import show_demo
    from deniable.lab.demo import run
    from deniable.show.report import check_report

    check_report(output)
    with progress(len(MECHANISMS) + 1, "asking people") as advance:
        made = run(people, epsilon, lambda label: advance(f"asking people ({label})"))
    made.release.report(output)
    if as_json:
        print_json(made.to_json() | {"output": str(output)})
    else:
        show_demo(made, str(output))


@app.command()
def plan(
    order: Order = 2,
    epsilon: Epsilon = 1.1,
    people: Annotated[
        int | None,
        typer.Option(help="How many people will answer; default: as the target needs, or 100000."),
    ] = None,
    attributes: Annotated[int | None, typer.Option(help="How many binary attributes.")] = None,
    sizes: Sizes = None,
    data: Annotated[str | None, typer.Option(help="Take the attributes of this data.")] = None,
    columns: Columns = None,
    values: Values = None,
    target_error: Annotated[
        float | None, typer.Option(help="Say how many people bring the error down to this.")
    ] = None,
    probability: Annotated[float, typer.Option(help="Of the guaranteed error.")] = 0.95,
    shuffler: Annotated[
        str | None, typer.Option(help="Who, independent of you, would mix the reports.")
    ] = None,
    delta: Annotated[float, typer.Option(help="The delta of the mixed reports.")] = 1e-9,
    slots: Annotated[
        str, typer.Option(help="drawn by devices, or assigned to them: matters to a shuffler.")
    ] = "drawn",
    workload: Workload = None,
    pilot: Pilot = None,
    chart: Annotated[
        Path | None,
        typer.Option(help="Draw the error against epsilon and people: .html, .svg, .png or .json."),
    ] = None,
    observed: Observed = False,
    drop_missing: DropMissing = False,
    as_json: Json = False,
) -> None:
    """Predict errors, rank mechanisms, say how many people."""
    from deniable.planning.plan import plan as make_plan

    if [attributes, sizes, data].count(None) != 2:
        raise SurveyError("Give one of --attributes, --sizes and --data.")
    if values is not None and data is None:
        raise SurveyError("--values declares the columns of data; give --data.")
    if data is not None:
        schema = _schema(_frame(data, columns, drop_missing), columns, values, observed)
    else:
        schema = _numbered(attributes) if attributes is not None else _sized(sizes or "")
    if people is None and target_error is None:
        people = 100_000
    made = make_plan(
        schema,
        order=order,
        epsilon=epsilon,
        people=people,
        target_error=target_error,
        probability=probability,
        shuffler=shuffler,
        delta=delta,
        slots=slots,
        workload=_workload(workload),
        pilot=_pilot(pilot),
    )
    if chart is not None:
        from deniable.show.charts import save_chart
        from deniable.show.plans import plan_chart

        save_chart(plan_chart(made), chart)
    if as_json:
        print_json(made.to_json())
        return
    show_plan(made)
    if chart is not None:
        stdout().print(f"The curves are in {escape(chart.name)}.")


def _numbered(attributes: int) -> Schema:
    if not 1 <= attributes <= _MOST_ATTRIBUTES:
        raise SurveyError(
            f"The number of attributes must be 1 to {_MOST_ATTRIBUTES:,}, got {attributes}."
        )
    return Schema.binary(*(f"a{index + 1}" for index in range(attributes)))


def _sized(text: str) -> Schema:
    """Return a schema of attributes with so many values: '2,3,42'."""
    parts = [part.strip() for part in text.split(",")]
    sizes = [int(part) if part.isdecimal() and len(part) < 9 else 0 for part in parts]
    if not all(2 <= size <= _MOST_VALUES for size in sizes):
        raise SurveyError(
            f"--sizes needs numbers of values from 2 to {_MOST_VALUES:,}, such as 2,3,42."
        )
    named = _numbered(len(sizes)).attributes
    return Schema(
        tuple(
            one if size == 2 else Attribute(one.name, tuple(map(str, range(1, size + 1))))
            for one, size in zip(named, sizes, strict=True)
        )
    )


@app.command()
def simulate(
    data: Data,
    order: Order = 2,
    epsilon: Epsilon = 1.1,
    mechanism: Annotated[
        str, typer.Option(help="auto, all, or names separated by commas.")
    ] = "auto",
    people: Annotated[
        int | None, typer.Option(help="Draw this many with replacement; default: each row once.")
    ] = None,
    repeat: Annotated[int, typer.Option(help="How often to repeat.", min=1, max=1_000_000)] = 1,
    seed: Annotated[
        str | None, typer.Option(help="A text that makes the run reproducible.")
    ] = None,
    consistency: Annotated[
        str, typer.Option(help="What is done to the estimates: none, joint or model.")
    ] = "none",
    tables: Annotated[
        int | None,
        typer.Option(help="Compare tables of this many attributes; above the order by a model."),
    ] = None,
    estimator: Annotated[
        str | None, typer.Option(help="pooled, unpooled, em or inverse; default: the mechanism's.")
    ] = None,
    columns: Columns = None,
    values: Values = None,
    observed: Observed = False,
    drop_missing: DropMissing = False,
    as_json: Json = False,
) -> None:
    """Run the protocol on data; compare with the truth."""
    from deniable.lab.simulate import trials

    frame = _frame(data, columns, drop_missing)
    if people is not None and people < 1:
        raise SurveyError(f"people must be at least 1, got {people}.")
    schema = _schema(frame, columns, values, observed)
    names = ["auto"] if mechanism == "auto" else _names(mechanism)
    surveys, left_out = [], []
    for name in names:
        try:
            survey = Survey(schema, order, epsilon, name)
            decoder_of(survey).check_estimator(estimator)
            surveys.append(survey)
        except SurveyError as error:
            if len(names) == 1:
                raise
            left_out.append(str(error))
    if not surveys:
        raise SurveyError(left_out[0])
    rows = []
    count = frame.num_rows if people is None else people
    with progress(len(surveys) * repeat * count, "simulating") as advance:
        for survey in surveys:
            runs = trials(
                survey,
                frame,
                people=people,
                repeat=repeat,
                seed=seed,
                consistency=consistency,
                estimator=estimator,
                tables=tables,
                advance=partial(advance, survey.mechanism),
            )
            for turn, so_far in enumerate(runs, start=1):
                if turn == repeat:
                    rows.append(so_far)
    if as_json:
        print_json([asdict(row) for row in rows])
        return
    console = stdout()
    first = rows[0]
    console.print(
        f"{first.people:,} people, {attributes_of(schema.sizes)}, all tables of {first.tables}"
        f"{f' from surveys of order {first.order}' if first.tables != first.order else ''}, "
        f"epsilon {first.epsilon:g}, {repeat} {'repeat' if repeat == 1 else 'repeats'}"
        f"{', SIMULATED with a seed' if seed else ''}.\n"
    )
    console.print(trials_table(rows))
    predictions = [row.predicted_tv for row in rows if row.predicted_tv is not None]
    if is_noise(predictions or [row.mean_tv for row in rows]):
        console.print(f"\n{NOISE}")
    if consistency != "none":
        done = ", ".join(
            f"{row.mechanism} {row.applied}" for row in rows if row.applied != consistency
        )
        console.print(
            f"\nConsistency {consistency}{f', but applied was: {done}' if done else ''}. "
            "What processing makes of errors is not predicted; --consistency none is."
        )
    if left_out:
        console.print()
    for reason in left_out:
        console.print(f"[dim]{escape(reason)}[/dim]")


@app.command()
def audit(
    survey: Annotated[Path | None, typer.Argument(help="A survey's JSON file.")] = None,
    mechanism: Annotated[
        str | None, typer.Option(help="Names separated by commas, or all, the default.")
    ] = None,
    attributes: Annotated[int | None, typer.Option(help="By default 2, 3 and 4.")] = None,
    sizes: Sizes = None,
    order: Annotated[int | None, typer.Option(help="By default 1 to 3.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="By default 0.1, ln 3 and 4.")] = None,
    as_json: Json = False,
) -> None:
    """Compute the exact epsilon and bias of surveys."""
    from deniable.lab.audit import GRID_EPSILONS
    from deniable.lab.audit import audit as audit_one

    left_out: dict[str, None] = {}
    if survey is not None:
        if (mechanism, attributes, sizes, order, epsilon) != (None,) * 5:
            raise SurveyError("Give either a survey or what to audit, not both.")
        rows = [audit_one(Survey.load(survey))]
    else:
        if attributes is not None and sizes is not None:
            raise SurveyError("Give either --attributes or --sizes.")
        if sizes is not None:
            schemas = [_sized(sizes)]
        else:
            schemas = [_numbered(d) for d in ((2, 3, 4) if attributes is None else (attributes,))]
        points = [
            (schema, k, e)
            for schema in schemas
            for k in (range(1, min(3, len(schema)) + 1) if order is None else (order,))
            for e in (GRID_EPSILONS if epsilon is None else (epsilon,))
            if k <= len(schema)
        ]
        if not points:
            raise SurveyError(
                f"order must be at most the {len(schemas[-1])} attributes, got {order}."
            )
        names, rows = _names(mechanism or "all"), []
        with progress(len(names) * len(points), "auditing") as advance:
            for name, point in product(names, points):
                try:
                    rows.append(audit_one(mechanism_named(name).survey(*point)))
                except SurveyError as error:
                    if len(names) == 1:
                        raise
                    left_out[str(error)] = None
                advance(name)
        if not rows:
            raise SurveyError(next(iter(left_out)))
    if as_json:
        print_json([asdict(row) for row in rows])
    else:
        show_audit(rows)
        if left_out:
            stdout().print()
        for reason in left_out:
            stdout().print(f"[dim]{escape(reason)}[/dim]")
    if not all(row.passed for row in rows):
        raise typer.Exit(1)


def labels_given(given: list[str] | None, example: str) -> dict[str, str]:
    """Read what --label says, as often as it is given: 'name=…'."""
    made: dict[str, str] = {}
    for text in given or []:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise SurveyError(f"--label needs a name and what follows it, such as {example}.")
        if name in made:
            raise SurveyError(f"--label gives {name!r} twice.")
        made[name] = value
    return made


@app.command()
def explain(
    survey: Annotated[Path, typer.Argument(help="A survey's JSON file.")],
    slot: Annotated[
        int | None, typer.Option(help="The question to explain; by default any.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Leave no value out.")] = False,
    as_json: Json = False,
) -> None:
    """Say in plain English what a device is asked."""
    from deniable.planning.cost import bits_per_report
    from deniable.questions.entropy import SystemSource
    from deniable.questions.question import odds

    read = Survey.load(survey)
    beside = read.labels.english()
    question = read.question(read.draw_slot(SystemSource()) if slot is None else slot)
    if as_json:
        print_json(
            question.to_json()
            | {
                "english": question.english(full=full),
                "epsilon": question.epsilon,
                "suspicion": odds(question.ratio),
                "attributes": list(question.attributes),
                "bits_per_report": bits_per_report(read),
            }
            | ({"labels": read.labels.values, "public": read.labels.english()} if beside else {})
        )
        return
    console = stdout()
    console.print(
        f"Survey [bold]{read.id[:16]}[/bold], question {question.slot} (of 0 to {read.slots - 1:,})\n"
    )
    asked, whole = question.english(full=full), question.english(full=True)
    console.print(Padding(f"[bold]{escape(asked)}[/bold]", (0, 0, 1, 2), expand=False))
    held = (read.schema.attributes[read.schema.index(name)] for name in question.attributes)
    is_plain = " more" not in asked and all(one.values == (False, True) for one in held)
    if asked != whole and not is_plain:
        console.print("--full lists the values that are left out here.\n")
    scope = (
        "It concerns your whole record."
        if read.whole_record
        else f"It concerns {len(question.attributes)} of your {len(read.schema)} attributes."
    )
    console.print(
        f"{scope} The question was drawn without looking at anybody's data.\n"
        f"Its epsilon is {question.epsilon:.6g}, computed from the question itself: whoever sees your "
        f"report, a suspicion of 50% about you becomes at most {at_most(odds(question.ratio))}.\n"
        f"What leaves the device: the question's number and the answer, "
        f"{bits_per_report(read):,} bits. Nothing else of your record.\n"
        f"{escape(beside)}{chr(10) if beside else ''}"
        "It does not hide that you took part, when, or which question you got; "
        "several surveys add up."
    )


@app.command()
def new(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the survey.")],
    order: Order = 2,
    epsilon: Epsilon = 1.1,
    mechanism: Annotated[str, typer.Option(help="auto, or a name.")] = "auto",
    workload: Workload = None,
    pilot: Pilot = None,
    columns: Columns = None,
    values: Values = None,
    complete: Annotated[
        bool,
        typer.Option(
            "--complete",
            help="Declare that everybody has one of the values listed: a device that has none stays "
            "silent, and that shows.",
        ),
    ] = False,
    label: Annotated[
        list[str] | None,
        typer.Option(
            help="A public label of every report, with its values, such as region=north,south; "
            "it is not protected. Can be given again."
        ),
    ] = None,
    period: Annotated[
        list[str] | None,
        typer.Option(
            help="The first day of a period, such as 2026-11-01; give it again for each, and the day "
            "on which the last one ends."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a survey for some columns, and freeze it."""
    labels = {
        name: [value.strip() for value in text.split(",")]
        for name, text in labels_given(label, "region=north,south").items()
    }
    declared = Labels.of(labels, period)
    frame = _table(data, columns)
    beside = [name for name in frame.column_names if columns is None and name in declared.names]
    schema = _schema(frame.drop_columns(beside).drop_null(), columns, values, complete=complete)
    schema.check_coverage()
    aims = {"workload": _workload(workload), "pilot": _pilot(pilot)}
    options = {name: value for name, value in aims.items() if value is not None}
    survey = Survey(schema, order, epsilon, mechanism, labels=labels, periods=period, **options)
    text = survey.to_json() + "\n"
    try:
        if output.exists() and not _holds(output, text):
            raise SurveyError(
                f"{str(output)!r} exists already; a survey is frozen, so choose a name."
            )
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SurveyError(f"{str(output)!r} cannot be written: {error.strerror}.") from None
    if as_json:
        form = {"id": survey.id, "mechanism": survey.mechanism, "slots": str(survey.slots)}
        print_json(form | ({"not_asked": beside} if beside else {}))
        return
    questions = "one question" if survey.slots == 1 else f"{survey.slots:,} questions"
    stdout().print(
        f"Survey [bold]{survey.id[:16]}[/bold]: {attributes_of(survey.schema.sizes)}, order {order}, "
        f"epsilon {epsilon:g}, {survey.mechanism} with {questions}, "
        f"written to {escape(output.name)}."
    )
    if declared:
        stdout().print(f"People are told: {escape(declared.english())}")
    if beside:
        stdout().print(f"Labels, and so not asked about: {escape(', '.join(beside))}.")
