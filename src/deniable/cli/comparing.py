"""The command that compares groups: compare."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import combinations, product
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from deniable.api.release import Release
from deniable.api.tally import Tallies, Tally
from deniable.cli.app import Json, app
from deniable.cli.output import print_json
from deniable.errors import TableError, TallyError
from deniable.schema.labels import FEWEST
from deniable.show.terminal import percent, stdout, table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["compare"]

_MOST_ROWS = 15
"""The most tables that are listed."""


@app.command()
def compare(
    tallies: Annotated[
        list[Path],
        typer.Argument(help="Two tallies or more, of different people; or a folder of groups."),
    ],
    about: Annotated[
        str | None,
        typer.Option("--table", help="The attributes of one table, separated by commas."),
    ] = None,
    order: Annotated[
        int | None, typer.Option(help="How many attributes the tables have that are tested.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Draw the table, or the one that differs most surely: .html, .svg, .png or .json.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Test whether groups differ, and draw how."""
    from deniable.analysis.difference import group_differences
    from deniable.show.charts import check_chart, save_chart
    from deniable.show.comparing import comparison_chart

    if about is not None and order is not None:
        raise TableError("--order is of all tables, and --table is one: give one of them.")
    if output is not None:
        check_chart(output)
    held = _named(tallies)
    small = [name for name, tally in held.items() if tally.people < FEWEST]
    releases = {name: tally.release() for name, tally in held.items() if name not in small}
    if len(releases) < 2:
        raise TallyError(f"It takes two groups of at least {FEWEST} reports to compare.")
    shared = _shared({name: held[name] for name in releases})
    names = None if about is None else [name.strip() for name in about.split(",")]
    found = group_differences(releases, order) if names is None else None
    if names is None and found is not None:
        first = found.iloc[0]
        names = [first[column] for column in found.columns if column.startswith("attribute_")]
    assert names is not None
    document = {
        "groups": [
            {"name": name, "labels": dict(held[name].group), "people": release.people}
            for name, release in releases.items()
        ],
        "not_displayed": small,
        "overlap": shared is not None,
        "simulated": any(release.simulated for release in releases.values()),
    }
    told = _told_tables(found) if found is not None else _told_table(releases, names)
    if shared is not None:
        sentence = "may count the same reports; tests are of different people."
        print(f"deniable: {shared[0]} and {shared[1]} {sentence}", file=sys.stderr)  # noqa: T201
    if as_json:
        print_json(document | told | ({} if output is None else {"output": str(output)}))
    else:
        if found is not None:
            _show_tables(told, len(releases))
        else:
            _show_table(told, list(releases))
        if small:
            named = escape("; ".join(small))
            stdout().print(f"Under {FEWEST} reports, and so not displayed: {named}.")
        if document["simulated"]:
            stdout().print("[bold]SIMULATED[/bold]: the reports protect nobody.")
    if output is not None:  # last: there may be nothing to draw
        groups = {name: held[name].group for name in releases}
        save_chart(comparison_chart(releases, *names, groups=groups, small=len(small)), output)
        if not as_json:
            stdout().print(f"{escape(' × '.join(names))} is drawn in {escape(output.name)}.")


def _named(paths: list[Path]) -> dict[str, Tally]:
    """Return tallies by the names of their groups, or of their files where those are no names."""
    held: list[tuple[str, Tally]] = []
    for path in paths:
        if path.is_dir():
            held += Tallies.load(path).items()
        else:
            tally = Tally.load(path)
            held.append((", ".join(tally.group.values()) or path.stem, tally))
    names = [name for name, _ in held]
    if len(set(names)) < len(names):
        if any(path.is_dir() for path in paths) or len({p.stem for p in paths}) < len(paths):
            raise TallyError("Two of these groups have the same name, and could not be told apart.")
        return {path.stem: tally for path, (_, tally) in zip(paths, held, strict=True)}
    return dict(held)


def _shared(tallies: Mapping[str, Tally]) -> tuple[str, str] | None:
    """Return two groups that may hold the same people: their files are the same, or their counts."""
    for (one, a), (other, b) in combinations(tallies.items(), 2):
        if a.overlaps(b) or (dict(a.group) == dict(b.group) and a == b):
            return one, other
    return None


def _told_tables(found: pd.DataFrame) -> dict[str, Any]:
    """Return the tests of all tables."""
    size = sum(column.startswith("attribute_") for column in found.columns)
    rows = []
    for row in found.to_dict("records"):
        places = range(1, size + 1)
        rows.append(
            {
                "attributes": [row[f"attribute_{place}"] for place in places],
                "cell": [row[f"value_{place}"] for place in places],
                **{name: row[name] for name in ("higher", "lower", "difference", "low", "high")},
                **{name: row[name] for name in ("statistic", "df", "p_value", "q_value", "method")},
            }
        )
    return {"level": found.attrs["level"], "tables": rows}


def _told_table(releases: Mapping[str, Release], names: list[str]) -> dict[str, Any]:
    """Return one table of every group, and the test of it."""
    from deniable.analysis.difference import any_difference

    test = any_difference(releases, *names)
    tables = {name: release.marginal(*names) for name, release in releases.items()}
    first = next(iter(tables.values()))
    numbers = {
        name: {
            "estimate": each.values.ravel().tolist(),
            "standard_error": each.standard_error.ravel().tolist(),
            **dict(zip(("low", "high"), each.interval().reshape(2, -1).tolist(), strict=True)),
        }
        for name, each in tables.items()
    }
    cells = [
        {
            "cell": list(cell),
            "groups": {
                name: {number: column[at] for number, column in columns.items()}
                for name, columns in numbers.items()
            },
        }
        for at, cell in enumerate(product(*(one.values for one in first.attributes)))
    ]
    return {"level": 0.95, "attributes": names, **test._asdict(), "cells": cells}


def _show_tables(told: dict[str, Any], groups: int) -> None:
    from deniable.show.charts import cell_name
    from deniable.show.numbers import q_value

    rows = told["tables"]
    sure = [row for row in rows if row["q_value"] <= 0.05]
    stdout().print(
        f"{len(sure):,} of {len(rows):,} tables differ between the {groups} groups more than chance "
        "explains (q-value up to 0.05)."
    )
    listed = [
        [
            " × ".join(row["attributes"]),
            q_value(row["q_value"]) if isfinite(row["q_value"]) else None,
            ", ".join(map(cell_name, row["attributes"], row["cell"])) if row["higher"] else None,
            row["higher"],
            row["lower"],
            f"{100 * row['difference']:+.1f} ({100 * row['low']:+.1f} to {100 * row['high']:+.1f})"
            if isfinite(row["difference"])
            else "not known",
        ]
        for row in rows[:_MOST_ROWS]
    ]
    heads = ["table", "q-value", "cell", "in", "against", "points of percentage (95 %)"]
    stdout().print(table(heads, listed))
    if len(rows) > _MOST_ROWS:
        stdout().print(f"The {_MOST_ROWS} surest of {len(rows):,} are listed; --json has all.")


def _show_table(told: dict[str, Any], groups: list[str]) -> None:
    from deniable.show.charts import cell_name
    from deniable.show.comparing import said_p

    rows = [
        [
            ", ".join(map(cell_name, told["attributes"], cell["cell"])),
            *(
                f"{percent(each['estimate'])} ± {100 * (each['high'] - each['low']) / 2:.1f}"
                if isfinite(each["standard_error"])
                else "not known"
                for each in cell["groups"].values()
            ),
        ]
        for cell in told["cells"]
    ]
    stdout().print(table([" × ".join(told["attributes"]), *groups], rows))
    stdout().print(f"Any difference between groups: {said_p(told['p_value'])}; intervals of 95 %.")
