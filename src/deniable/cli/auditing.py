"""The audit of surveys, which is exact, and of foreign clients, which is told from what they report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from deniable.api.survey import Survey
from deniable.cli import options as option
from deniable.cli.inputs import binary_schema, mechanism_names, sized_schema
from deniable.cli.options import about
from deniable.cli.output import print_json, progress, show_left_out
from deniable.errors import SurveyError
from deniable.mechanisms.registry import known_mechanisms, mechanism_named
from deniable.schema.schema import Schema
from deniable.show.terminal import stdout, table

if TYPE_CHECKING:
    from deniable.lab.audit import Audit
    from deniable.lab.blackbox.audit import BlackBoxAudit

Point = tuple[Schema, int, float]
"""What a mechanism designs a survey for: schema, order and ε."""


Mechanism = Annotated[
    str | None,
    option.names_option(
        "Names separated by commas, or all, the default.",
        mechanism_names,
        lambda: ["all", *known_mechanisms()],
    ),
]
Command = Annotated[
    str | None,
    about(
        "A client to audit by its reports: it reads a record a line as JSON and prints a report a "
        "line; {survey} in it stands for the survey's file. No shell is used."
    ),
]
SurveyFile = Annotated[
    Path | None, about("The survey that --command answers, as the argument is.", "--survey")
]
PairFile = Annotated[
    Path | None,
    about(
        "Two records for --command, a line of JSON each; default: two that the survey tells apart."
    ),
]
Runs = Annotated[int | None, about("How many reports --command is asked for; default 40,000.")]
ErrorRate = Annotated[
    float | None,
    about("How often, at most, a sound --command is said to be at fault; default 1e-6."),
]
OneByOne = Annotated[bool, about("Start --command anew for each report.", "--one-by-one")]


def audit(
    survey: Annotated[Path | None, typer.Argument(help="A survey's JSON file.")] = None,
    mechanism: Mechanism = None,
    attributes: Annotated[int | None, about("By default 2, 3 and 4.")] = None,
    sizes: option.Sizes = None,
    order: Annotated[int | None, about("By default 1 to 3.")] = None,
    epsilon: Annotated[
        float | None, about("By default 0.1, ln 3 and 4; of --command, what it states.")
    ] = None,
    command: Command = None,
    survey_file: SurveyFile = None,
    records: PairFile = None,
    runs: Runs = None,
    error_rate: ErrorRate = None,
    one_by_one: OneByOne = False,
    as_json: option.Json = False,
) -> None:
    """Compute the exact epsilon and bias of surveys; or bound the epsilon of any client from below."""
    if survey is not None and survey_file is not None:
        raise SurveyError("Give the survey once.")
    survey = survey or survey_file
    if command is None:
        if (records, runs, error_rate) != (None,) * 3 or one_by_one:
            raise SurveyError("--records, --runs, --error-rate and --one-by-one need a --command.")
        has_passed = _audit_surveys(survey, mechanism, attributes, sizes, order, epsilon, as_json)
    else:
        if (mechanism, attributes, sizes, order) != (None,) * 4:
            raise SurveyError("A --command is audited on a survey, or on --records and --epsilon.")
        client = _client_audit(command, survey, epsilon, records, runs, error_rate, one_by_one)
        has_passed = client.passed
        if as_json:
            print_json(asdict(client) | {"passed": has_passed})
        else:
            _show_client(client)
    if not has_passed:
        raise typer.Exit(1)


def _client_audit(
    command: str,
    path: Path | None,
    epsilon: float | None,
    records: Path | None,
    runs: int | None,
    error_rate: float | None,
    one_by_one: bool,
) -> BlackBoxAudit:
    """Audit a client by its reports; a survey says what it states, unless that is given."""
    from deniable.lab.blackbox import audit as blackbox
    from deniable.lab.blackbox.command import Command
    from deniable.lab.blackbox.pairs import read_pair

    survey = None if path is None else Survey.load(path)
    if epsilon is None and survey is None:
        raise SurveyError("Say what the --command states: give a survey, or --epsilon.")
    count = blackbox.RUNS if runs is None else runs
    with progress(count, "asking the client") as advance:
        return blackbox.audit_command(
            Command.of(command, path, one_by_one),
            survey.epsilon if epsilon is None and survey is not None else epsilon,  # type: ignore[arg-type]
            survey=survey,
            records=None if records is None else read_pair(records),
            runs=count,
            error_rate=blackbox.ERROR_RATE if error_rate is None else error_rate,
            advance=advance,
        )


def _show_client(audit: BlackBoxAudit) -> None:
    """Print what a client's reports show, and no more than they show."""
    console = stdout()
    (often, of), (seldom, _) = audit.likely, audit.unlikely
    stated, least = f"{audit.stated_epsilon:.4g}", f"{audit.epsilon_at_least:.4g}"
    verdict = (
        f"[bold green]Nothing shows it above the {stated} that it states.[/bold green]"
        if audit.passed
        else f"[bold red]It is above the {stated} that it states.[/bold red]"
    )
    console.print(f"The client's epsilon is at least [bold]{least}[/bold]. {verdict}\n")
    console.print(
        f"{audit.runs:,} reports on two records. A first half chose an event ({escape(audit.event)}); "
        f"in the second half it was true of {often:,} of {of:,} reports on one record, and of "
        f"{seldom:,} of {of:,} on the other. Such a bound is above a client's epsilon with probability "
        f"{audit.error_rate:g} at most."
    )
    if audit.passed:
        console.print("A fault that shows on other records, or in rarer reports, may be left.")


def _audit_surveys(
    path: Path | None,
    mechanism: str | None,
    attributes: int | None,
    sizes: str | None,
    order: int | None,
    epsilon: float | None,
    as_json: bool,
) -> bool:
    """Audit one survey, or those of mechanisms, exactly; print that, and tell whether all is well."""
    from deniable.lab.audit import audit as audit_one

    left_out: list[str] = []
    if path is None:
        points = _points(attributes, sizes, order, epsilon)
        rows, left_out = _audits(mechanism_names(mechanism or "all"), points)
    elif (mechanism, attributes, sizes, order, epsilon) == (None,) * 5:
        rows = [audit_one(Survey.load(path))]
    else:
        raise SurveyError("Give either a survey or what to audit, not both.")
    if as_json:
        print_json([asdict(row) for row in rows])
    else:
        _show_audits(rows)
        show_left_out(left_out)
    return all(row.passed for row in rows)


def _points(
    attributes: int | None, sizes: str | None, order: int | None, epsilon: float | None
) -> list[Point]:
    from deniable.lab.audit import GRID_EPSILONS

    if attributes is not None and sizes is not None:
        raise SurveyError("Give either --attributes or --sizes.")
    if sizes is not None:
        schemas = [sized_schema(sizes)]
    else:
        schemas = [binary_schema(d) for d in ((2, 3, 4) if attributes is None else (attributes,))]
    points = [
        (schema, k, e)
        for schema in schemas
        for k in (range(1, min(3, len(schema)) + 1) if order is None else (order,))
        for e in (GRID_EPSILONS if epsilon is None else (epsilon,))
        if k <= len(schema)
    ]
    if not points:
        raise SurveyError(f"order must be at most the {len(schemas[-1])} attributes, got {order}.")
    return points


def _audits(names: list[str], points: list[Point]) -> tuple[list[Audit], list[str]]:
    """Return the audits of mechanisms, and why some are left out, each reason once."""
    from deniable.lab.audit import audit as audit_one

    rows: list[Audit] = []
    left_out: dict[str, None] = {}
    with progress(len(names) * len(points), "auditing") as advance:
        for name, point in product(names, points):
            try:
                rows.append(audit_one(mechanism_named(name).survey(*point)))
            except SurveyError as error:
                left_out[str(error)] = None
            advance(name)
    if not rows:
        raise SurveyError(next(iter(left_out)))
    return rows, list(left_out)


def _show_audits(rows: Sequence[Audit]) -> None:
    """Print audits, one by one if they are few, else by mechanism."""
    console = stdout()
    if len(rows) <= 12:
        body = [
            [r.mechanism, r.attributes, r.order, f"{r.stated_epsilon!r}", f"{r.realised_epsilon!r}",
             "yes" if r.exact else "NO", "yes" if r.unbiased else "NO"]
            for r in rows
        ]  # fmt: skip
        heads = ["mechanism", "attributes", "order", "stated epsilon", "realised"]
        console.print(table([*heads, "exact", "unbiased"], body))
        return
    body = []
    for name in dict.fromkeys(row.mechanism for row in rows):
        mine = [row for row in rows if row.mechanism == name]
        gap = max(row.stated_epsilon - row.realised_epsilon for row in mine)
        is_exceeded = any(row.realised_epsilon > row.stated_epsilon for row in mine)
        body.append(
            [name, len(mine), f"{gap:.1e}", "YES" if is_exceeded else "never",
             "yes" if all(r.exact for r in mine) else "NO",
             "yes" if all(r.unbiased for r in mine) else "NO"]
        )  # fmt: skip
    heads = ["mechanism", "surveys", "largest gap", "epsilon exceeded", "exact", "unbiased"]
    console.print(table(heads, body))
    console.print(
        "\nEvery law was computed in integers: enumerated, or factor by factor where there are too "
        "many values. --json lists every survey."
    )
