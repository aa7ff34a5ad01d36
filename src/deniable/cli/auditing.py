"""The command that proves epsilon: audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.api.survey import Survey
from deniable.cli import options as option
from deniable.cli.inputs import binary_schema, mechanism_names, sized_schema
from deniable.cli.output import print_json, progress
from deniable.cli.tables import show_left_out
from deniable.errors import SurveyError
from deniable.mechanisms.registry import mechanism_named
from deniable.schema.schema import Schema
from deniable.show.terminal import stdout, table

if TYPE_CHECKING:
    from deniable.lab.audit import Audit


def audit(
    survey: Annotated[Path | None, typer.Argument(help="A survey's JSON file.")] = None,
    mechanism: Annotated[
        str | None, typer.Option(help="Names separated by commas, or all, the default.")
    ] = None,
    attributes: Annotated[int | None, typer.Option(help="By default 2, 3 and 4.")] = None,
    sizes: option.Sizes = None,
    order: Annotated[int | None, typer.Option(help="By default 1 to 3.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="By default 0.1, ln 3 and 4.")] = None,
    as_json: option.Json = False,
) -> None:
    """Compute the exact epsilon and bias of surveys."""
    from deniable.lab.audit import audit as audit_one

    left_out: list[str] = []
    if survey is None:
        points = _points(attributes, sizes, order, epsilon)
        rows, left_out = _audits(mechanism_names(mechanism or "all"), points)
    elif (mechanism, attributes, sizes, order, epsilon) == (None,) * 5:
        rows = [audit_one(Survey.load(survey))]
    else:
        raise SurveyError("Give either a survey or what to audit, not both.")
    if as_json:
        print_json([asdict(row) for row in rows])
    else:
        _show_audits(rows)
        show_left_out(left_out)
    if not all(row.passed for row in rows):
        raise typer.Exit(1)


Point = tuple[Schema, int, float]


def _points(
    attributes: int | None, sizes: str | None, order: int | None, epsilon: float | None
) -> list[Point]:
    """Return the schemas, orders and epsilons to audit."""
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
                if len(names) == 1:
                    raise
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
        exceeded = any(row.realised_epsilon > row.stated_epsilon for row in mine)
        body.append(
            [name, len(mine), f"{gap:.1e}", "YES" if exceeded else "never",
             "yes" if all(r.exact for r in mine) else "NO",
             "yes" if all(r.unbiased for r in mine) else "NO"]
        )  # fmt: skip
    heads = ["mechanism", "surveys", "largest gap", "epsilon exceeded", "exact", "unbiased"]
    console.print(table(heads, body))
    console.print(
        "\nEvery law was computed in integers: enumerated, or factor by factor where there are too "
        "many values. --json lists every survey."
    )
