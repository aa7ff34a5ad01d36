"""The commands that read tallies: release, compare."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, product
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from deniable.api.tally import Tallies, Tally
from deniable.cli import groups, pooling, populations, statistics, wording
from deniable.cli import options as option
from deniable.cli.options import about
from deniable.cli.output import SIMULATED, print_json, progress, say, show_small
from deniable.errors import TableError, TallyError
from deniable.release.consistency import READABLE
from deniable.schema.labels import FEWEST
from deniable.show.terminal import percent, stdout, table

if TYPE_CHECKING:
    from deniable.api.release import Release


ReleaseFile = Annotated[
    Path | None,
    about(
        "A report (.html), or all tables (.json, .csv, .parquet, .xlsx or .sav); of a folder of groups, "
        "a folder of reports, or a name with {group} in it, such as tables/{group}.csv.",
        "--output",
        "-o",
    ),
]


TallyFiles = Annotated[
    list[Path],
    typer.Argument(
        help="Tallies of one survey; they add up. Or a folder of groups; or of surveys to --pool."
    ),
]


def release(
    tallies: TallyFiles,
    output: ReleaseFile = None,
    texts: wording.TextsFile = None,
    language: wording.Language = None,
    methods: wording.Methods = False,
    mean: statistics.Means = None,
    by: statistics.By = None,
    variance: statistics.Variances = None,
    quantiles: statistics.QuantileOption = None,
    distribution: statistics.Distributions = None,
    correlation: statistics.Correlations = None,
    regress: statistics.Regressions = None,
    least_squares: statistics.Least = False,
    poststratify: populations.Poststratify = None,
    weights: groups.Weights = None,
    borrow: populations.Borrow = None,
    pool: pooling.Pool = False,
    overlap: pooling.Overlap = None,
    apart: pooling.Apart = None,
    consistency: option.Consistency = READABLE,
    again: option.Again = False,
    as_json: option.Json = False,
) -> None:
    """Turn tallies into tables with error bars, as they are best read, and tell of numbers.

    The survey's own words are taken from its texts, where they lie beside a tally.
    """
    from deniable.show.export import check_ending

    words = wording.Words(texts, language, tallies)
    questions = statistics.questions(mean, by, variance, quantiles, distribution, correlation)
    is_folder = any(path.is_dir() for path in tallies)
    groups.check_options(is_folder, poststratify, weights, borrow)
    surveys = pooling.surveys_to_pool(pool, is_folder, overlap, apart)
    is_of_groups = is_folder and poststratify is None and weights is None
    statistics.check_regressions(regress, least_squares, is_of_groups)
    if is_of_groups:
        groups.refuse_paragraph(methods)
        groups.release_groups(tallies, output, questions, borrow, consistency, as_json, words)
        return
    if output is not None:
        check_ending(output)
    with progress(None, "reading the tally"):
        own = _population(tallies, poststratify, weights, again, surveys, words)
    fits = statistics.fits_of(own, regress, least_squares)
    facts = statistics.facts_of(own, questions, fits)
    is_told = methods or own.population is not None or own.pooling is not None
    if output is None and not (is_told or any(facts.values())):
        raise TableError(
            "Missing option '--output' / '-o': a survey without numbers has tables only."
        )
    is_needed = methods or output is not None
    tables = _tables(own, consistency, output, fits) if is_needed else None
    paragraph = tables.methods() if tables is not None and methods else None
    if as_json:
        print_json(_form(own, tables, output, paragraph) | statistics.form_of(facts))
    else:
        statistics.show_facts(facts)
        _show(own, tables, output, paragraph)


def _tables(own: Release, consistency: str, output: Path | None, fits: Any) -> Release:
    """Return the release as it is to be read, and write its file if there is to be one."""
    from deniable.show.export import write_export

    with progress(None, "making tables as they are read"):
        tables = own.with_consistency(consistency)
    if output is not None:
        with progress(_count(tables), "writing tables") as advance:
            write_export(tables, output, advance, fits)
    return tables


def _form(
    own: Release, tables: Release | None, output: Path | None, paragraph: str | None
) -> dict[str, Any]:
    """Return what was made of tallies, for JSON."""
    from deniable.show.export import summary

    if tables is None:
        return groups.document(own) | populations.told(own) | _shuffling(own)
    file = {} if output is None else {"output": str(output)}
    words = {} if paragraph is None else {"methods": paragraph}
    return summary(tables) | {"tables": _count(tables)} | file | words | _shuffling(tables)


def _shuffling(own: Release) -> dict[str, Any]:
    """Return what mixing the reports would give, however their slots were chosen."""
    from deniable.planning.shuffle import SLOTS

    return {"shuffling": [own.shuffling(slots=slots).to_json() for slots in SLOTS]}


def _show(own: Release, tables: Release | None, output: Path | None, paragraph: str | None) -> None:
    """Print what was made of tallies."""
    groups.show_strata(own)
    pooling.show_pooling(own)
    if output is None:
        populations.show_shares(own)
    if tables is not None and output is not None:
        _show_release(tables, _count(tables), output)
    elif own.simulated and paragraph is None:
        stdout().print(f"{own.people:,} reports.{SIMULATED}")
    if paragraph is not None:
        wording.show_paragraph(paragraph)


def _count(tables: Release) -> int:
    from deniable.show.export import count_tables

    return count_tables(tables)


def _population(
    paths: list[Path],
    margins: Path | None,
    weights: str | None,
    again: bool,
    surveys: pooling.Surveys | None,
    words: wording.Words,
) -> Release:
    """Return the release of everybody, in words, adjusted to known shares where there are some."""
    if weights is not None:
        return words.of(groups.combine(paths, weights))
    if any(path.is_dir() for path in paths):
        several = groups.load_groups(paths)
        return words.of(several.release().poststratify(populations.read_shares(margins)))
    parts = _load(paths, again)
    if surveys is not None:
        own = surveys.release([words.of(each.release()) for each in parts])
    else:
        pooling.check_one_survey(parts)
        own = words.of(Tally.total(parts[0].survey, parts).release())
    return own if margins is None else own.poststratify(populations.read_shares(margins))


def _load(paths: list[Path], again: bool) -> list[Tally]:
    """Return tallies, and refuse those whose reports would count twice."""
    tallies: list[Tally] = []
    for path in paths:
        tally = Tally.load(path)
        if not again and (paths.count(path) > 1 or any(map(tally.overlaps, tallies))):
            raise TallyError(
                f"{path.name} is named twice, or counts reports that another tally counts, of the same "
                "file or the same store; --again lets it."
            )
        tallies.append(tally)
    return tallies


def _show_release(tables: Release, count: int, output: Path) -> None:
    from deniable.release.marginal import IMPLAUSIBLE
    from deniable.release.population import REPAIRS
    from deniable.show.reading import reading_words

    group = "".join(
        f", {escape(name)} {escape(value)}" for name, value in tables.said_group.items()
    )
    is_pooled = tables.pooling is not None
    name = tables.surveys if is_pooled else f"survey [bold]{tables.survey.id[:16]}[/bold]"
    stdout().print(
        f"{count:,} tables of {tables.people:,} people{group}, "
        f"{name}, "
        f"are in {escape(output.name)}.{SIMULATED if tables.simulated else ''}"
    )
    other = (
        "; --consistency none shows the unbiased estimates"
        if tables.applied != "none"
        else ""
        if tables.population is not None
        else "; nothing else can be made of these estimates"
        if tables.consistency == READABLE
        else ""
    )
    stdout().print(f"Tables are {reading_words(tables)}{other}.")
    if tables.population is not None:
        stdout().print(REPAIRS)
    if not tables.plausible:
        stdout().print(f"[bold]{IMPLAUSIBLE}[/bold]")


_MOST_ROWS = 15
"""The most tables that are listed."""


TableOption = Annotated[
    str | None, about("The attributes of one table, separated by commas.", "--table")
]
Chart = Annotated[
    Path | None,
    about(
        "Draw the table, or the one that differs most surely: .html, .svg, .pdf, .png or .json.",
        "--output",
        "-o",
    ),
]


def compare(
    tallies: Annotated[
        list[Path],
        typer.Argument(help="Two tallies or more, of different people; or a folder of groups."),
    ],
    about: TableOption = None,
    order: Annotated[
        int | None, about("How many attributes the tables have that are tested.")
    ] = None,
    output: Chart = None,
    as_json: option.Json = False,
) -> None:
    """Test whether groups differ, and draw how."""
    from deniable.show.charts import check_chart, save_chart
    from deniable.show.comparing import comparison_chart

    if about is not None and order is not None:
        raise TableError("--order is of all tables, and --table is one: give one of them.")
    if output is not None:
        check_chart(output)
    every = _tallies_by_name(tallies)
    small = [name for name, tally in every.items() if tally.people < FEWEST]
    large = {name: tally for name, tally in every.items() if name not in small}
    releases = {name: tally.release() for name, tally in large.items()}
    if len(releases) < 2:
        raise TallyError(f"It takes two groups of at least {FEWEST} reports to compare.")
    if about is None:
        tests = _test_tables(releases, order)
        names = tests["tables"][0]["attributes"]
    else:
        names = [name.strip() for name in about.split(",")]
        tests = _test_table(releases, names)
    overlap = _overlap(large)
    if overlap is not None:
        sentence = "may count the same reports; tests are of different people."
        say(f"deniable: {overlap[0]} and {overlap[1]} {sentence}")
    borrowed = None if about is None else populations.borrowed_by_small(tallies, names)
    if as_json:
        document = _groups(large, small, overlap is not None) | tests
        if borrowed is not None:
            document["borrowed"] = populations.borrowed_form(borrowed)
        print_json(document | ({} if output is None else {"output": str(output)}))
    else:
        _show_tests(tests, large, small)
        if borrowed is not None:
            populations.show_borrowed(borrowed)
    if output is not None:  # last: there may be nothing to draw
        labels = {name: tally.group for name, tally in large.items()}
        save_chart(comparison_chart(releases, *names, groups=labels, small=len(small)), output)
        if not as_json:
            stdout().print(f"{escape(' × '.join(names))} is drawn in {escape(output.name)}.")


def _groups(large: Mapping[str, Tally], small: list[str], is_overlap: bool) -> dict[str, Any]:
    return {
        "groups": [
            {"name": name, "labels": dict(tally.group), "people": tally.people}
            for name, tally in large.items()
        ],
        "not_displayed": small,
        "overlap": is_overlap,
        "simulated": any(tally.simulated for tally in large.values()),
    }


def _show_tests(tests: dict[str, Any], large: Mapping[str, Tally], small: list[str]) -> None:
    if "tables" in tests:
        _show_tables(tests, len(large))
    else:
        _show_table(tests, list(large))
    show_small(small)
    if any(tally.simulated for tally in large.values()):
        stdout().print("[bold]SIMULATED[/bold]: the reports protect nobody.")


def _tallies_by_name(paths: list[Path]) -> dict[str, Tally]:
    """Return tallies by the names of their groups, or of their files where those are no names."""
    tallies: list[tuple[str, Tally]] = []
    for path in paths:
        if path.is_dir():
            tallies += Tallies.load(path).items()
        else:
            tally = Tally.load(path)
            tallies.append((", ".join(tally.group.values()) or path.stem, tally))
    names = [name for name, _ in tallies]
    if len(set(names)) < len(names):
        if any(path.is_dir() for path in paths) or len({p.stem for p in paths}) < len(paths):
            raise TallyError("Two of these groups have the same name, and could not be told apart.")
        return {path.stem: tally for path, (_, tally) in zip(paths, tallies, strict=True)}
    return dict(tallies)


def _overlap(tallies: Mapping[str, Tally]) -> tuple[str, str] | None:
    """Return two groups that may hold the same people: their files are the same, or their counts."""
    for (one, a), (other, b) in combinations(tallies.items(), 2):
        if a.overlaps(b) or (dict(a.group) == dict(b.group) and a == b):
            return one, other
    return None


def _test_tables(releases: Mapping[str, Release], order: int | None) -> dict[str, Any]:
    """Return the tests of all tables, the surest difference first."""
    from deniable.analysis.difference import group_differences

    frame = group_differences(releases, order)
    numbers = range(1, 1 + sum(column.startswith("attribute_") for column in frame.columns))
    rows = []
    for row in frame.to_dict("records"):
        rows.append(
            {
                "attributes": [row[f"attribute_{number}"] for number in numbers],
                "cell": [row[f"value_{number}"] for number in numbers],
                **{name: row[name] for name in ("higher", "lower", "difference", "low", "high")},
                **{name: row[name] for name in ("statistic", "df", "p_value", "q_value", "method")},
                "interval_level": row["interval_level"],
            }
        )
    return {"level": frame.attrs["level"], "tables": rows}


def _test_table(releases: Mapping[str, Release], names: list[str]) -> dict[str, Any]:
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
        for at, cell in enumerate(product(*(each.values for each in first.attributes)))
    ]
    return {"level": 0.95, "attributes": names, **test._asdict(), "cells": cells}


def _show_tables(tests: dict[str, Any], groups: int) -> None:
    from deniable.show.charts import cell_name
    from deniable.show.numbers import q_value

    rows = tests["tables"]
    sure = [row for row in rows if row["q_value"] <= 0.05]
    stdout().print(
        f"{len(sure):,} of {len(rows):,} tables differ between the {groups} groups more than chance "
        "explains (q-value up to 0.05)."
    )
    body = [
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
    heads = ["table", "q-value", "cell", "in", "against", "points of percentage"]
    stdout().print(table(heads, body))
    stdout().print(
        "Cells were picked, so differences are drawn towards 0, and intervals are so wide that 95 % "
        "hold on average over the first tables, however many are looked at."
    )
    if len(rows) > _MOST_ROWS:
        stdout().print(f"The {_MOST_ROWS} surest of {len(rows):,} are listed; --json has all.")


def _show_table(tests: dict[str, Any], groups: list[str]) -> None:
    from deniable.show.charts import cell_name
    from deniable.show.comparing import p_words

    rows = [
        [
            ", ".join(map(cell_name, tests["attributes"], cell["cell"])),
            *(
                f"{percent(each['estimate'])} ± {100 * (each['high'] - each['low']) / 2:.1f}"
                if isfinite(each["standard_error"])
                else "not known"
                for each in cell["groups"].values()
            ),
        ]
        for cell in tests["cells"]
    ]
    stdout().print(table([" × ".join(tests["attributes"]), *groups], rows))
    stdout().print(
        f"Any difference between groups: {p_words(tests['p_value'])}; intervals of 95 %."
    )
