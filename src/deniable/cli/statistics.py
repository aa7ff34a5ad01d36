"""What `release` tells of numbers: means, variances, quantiles, distributions and correlations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from rich.markup import escape

from deniable.cli.options import about
from deniable.errors import TableError
from deniable.formats.markup import number_text
from deniable.schema.attribute import spoken
from deniable.schema.scale import Days, spoken_day, spoken_point
from deniable.show.terminal import stdout, table

if TYPE_CHECKING:
    from deniable.analysis.regression.fit import Regression
    from deniable.api.regression import PlottedRegression
    from deniable.api.release import Release
    from deniable.questionnaire.wording import Wording
    from deniable.schema.attribute import Attribute

_QUARTERS = (0.25, 0.5, 0.75)
_MOST_POINTS = 20
"""The most points of a distribution function that a terminal shows."""

Means = Annotated[list[str] | None, about("The mean of a number; can be given again.", "--mean")]
By = Annotated[
    str | None, about("Means of groups by these attributes' values, separated by commas.", "--by")
]
Variances = Annotated[
    list[str] | None, about("The variance of a number; can be given again.", "--variance")
]
QuantileOption = Annotated[
    list[str] | None,
    about(
        "Quantiles of a number, such as income, or income=.1,.5,.9; can be given again.",
        "--quantiles",
    ),
]
Distributions = Annotated[
    list[str] | None,
    about("The distribution function of a number; can be given again.", "--distribution"),
]
Correlations = Annotated[
    list[str] | None,
    about(
        "The correlation of two numbers, such as age,income; can be given again.", "--correlation"
    ),
]

Regressions = Annotated[
    list[str] | None,
    about(
        "A regression, such as 'income ~ age + sex'; can be given again. Of one of two values it is "
        "logistic.",
        "--regress",
    ),
]
Least = Annotated[
    bool, about("Fit least squares to an outcome of two values, too.", "--least-squares")
]

Row = dict[str, Any]


class Statistic(NamedTuple):
    """What is told of one number, or of two: rows of keys, an estimate, its error and both ends."""

    name: str
    attributes: tuple[str, ...]
    unit: str | None
    rows: list[Row]
    more: Row
    """What else is to be known, such as the share of people without a number."""

    def to_json(self) -> Row:
        """Return the JSON form."""
        own = {"statistic": self.name, "attributes": list(self.attributes), "unit": self.unit}
        return own | self.more | {"rows": self.rows}


class Question(NamedTuple):
    """What is to be told: of a release, a statistic."""

    name: str
    attributes: tuple[str, ...]
    tell: Callable[[Release], tuple[list[Row], Row]]


def questions(
    means: list[str] | None,
    by: str | None,
    variances: list[str] | None,
    quantiles: list[str] | None,
    distributions: list[str] | None,
    correlations: list[str] | None,
) -> list[Question]:
    """Return what the options ask for, in their order; refuse what they do not say clearly."""
    groups = None if by is None else _names(by)
    if groups and not means:
        raise TableError("--by is of means: give --mean, too.")
    every = [Question("mean", (name,), _mean(name, groups)) for name in means or ()]
    every += [Question("variance", (name,), _variance(name)) for name in variances or ()]
    for text in quantiles or ():
        name, shares = _shares(text)
        every.append(Question("quantiles", (name,), _quantiles(name, shares)))
    every += [Question("distribution", (n,), _distribution(n)) for n in distributions or ()]
    for text in correlations or ():
        names = _names(text)
        if len(names) != 2:
            raise TableError("--correlation needs two numbers, such as age,income.")
        every.append(Question("correlation", names, _correlation(*names)))
    return every


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


def _shares(text: str) -> tuple[str, tuple[float, ...]]:
    """Return a number's name and the shares of its quantiles, quarters by default."""
    name, equals, shares = text.rpartition("=")
    if not equals:
        return text.strip(), _QUARTERS
    try:
        return name.strip(), tuple(float(share) for share in shares.split(","))
    except ValueError:
        raise TableError(
            "--quantiles needs shares between 0 and 1, such as income=.1,.5,.9."
        ) from None


def _mean(name: str, by: tuple[str, ...] | None) -> Callable[[Release], tuple[list[Row], Row]]:
    return lambda release: (_rows(release.mean(name, by).to_frame()), {})


def _variance(name: str) -> Callable[[Release], tuple[list[Row], Row]]:
    return lambda release: (_rows(release.variance(name).to_frame()), {})


def _quantiles(name: str, shares: tuple[float, ...]) -> Callable[[Release], tuple[list[Row], Row]]:
    return lambda release: (_rows(release.quantile(name, shares).to_frame()), {})


def _correlation(first: str, second: str) -> Callable[[Release], tuple[list[Row], Row]]:
    return lambda release: (_rows(release.correlation(first, second).to_frame()), {})


def _distribution(name: str) -> Callable[[Release], tuple[list[Row], Row]]:
    def tell(release: Release) -> tuple[list[Row], Row]:
        distribution = release.distribution(name)
        frame = distribution.to_frame().rename(columns={"cumulative": "estimate"})
        return _rows(frame), {"missing": distribution.missing}

    return tell


def _rows(frame: Any) -> list[Row]:
    rows: list[Row] = frame.to_dict("records")
    return rows


def tell(
    every: Iterable[Question], releases: Mapping[str, Release], key: str | None = None
) -> Iterator[Statistic]:
    """Yield the statistics of a release, or of each group: ``key`` is what groups are by."""
    first = next(iter(releases.values()))
    schema = first.survey.schema
    for name, attributes, ask in every:
        rows: list[Row] = []
        more: Row = {}
        for group, release in releases.items():
            own, rest = ask(release)
            rows += own if key is None else [{key: group, **row} for row in own]
            if rest:
                more = (
                    rest
                    if key is None
                    else {"missing": more.get("missing", {}) | {group: rest["missing"]}}
                )
        number = schema.attributes[schema.index(attributes[0])]
        if name == "mean" and isinstance(number.scale, Days):
            rows = [
                row | {end: spoken_day(row[end]) for end in ("estimate", "low", "high", "raw")}
                for row in rows
            ]
        yield Statistic(name, attributes, _unit(name, number, first.wording), rows, more)


def _unit(name: str, attribute: Attribute, wording: Wording | None) -> str | None:
    from deniable.show.words import unit_of

    unit = "days" if isinstance(attribute.scale, Days) else unit_of(attribute, wording)
    if name == "correlation" or unit is None:
        return None
    return f"{unit}²" if name == "variance" else unit


def numbers_of(release: Release) -> list[Row]:
    """Return the mean and the median of every number; none where these cannot be told."""
    rows = []
    for attribute in release.survey.schema.attributes:
        if attribute.is_ordered:
            each = {
                "mean": _mean(attribute.name, None),
                "median": _quantiles(attribute.name, (0.5,)),
            }
            own = {name: _told(name, attribute.name, ask, release) for name, ask in each.items()}
            unit = _unit("mean", attribute, release.wording)
            rows.append({"attribute": attribute.name, "unit": unit, **own})
    return rows


def _told(name: str, attribute: str, ask: Any, release: Release) -> Row | None:
    try:
        (statistic,) = tell([Question(name, (attribute,), ask)], {"": release})
    except TableError:
        return None
    return {key: value for key, value in statistic.rows[0].items() if key != "probability"}


def check_regressions(formulas: list[str] | None, least_squares: bool, is_of_groups: bool) -> None:
    """Refuse what options about regressions do not say clearly."""
    if least_squares and not formulas:
        raise TableError("--least-squares is of a regression: give --regress, too.")
    if formulas and is_of_groups:
        raise TableError("--regress is of one release: name the tally of one group in the folder.")


def fits_of(
    release: Release, formulas: list[str] | None, least_squares: bool
) -> list[PlottedRegression]:
    """Return the regressions that are asked for."""
    kind: Literal["linear"] | None = "linear" if least_squares else None
    return [release.regress(formula, kind) for formula in formulas or ()]


def facts_of(
    release: Release, questions: list[Question], fits: Sequence[Regression]
) -> dict[str, Any]:
    """Return what was asked for, or else the mean and the median of every number."""
    facts: dict[str, Any] = {"regressions": fits} if fits else {}
    if questions:
        return facts | {"statistics": list(tell(questions, {"": release}))}
    return facts or {"numbers": numbers_of(release)}


def form_of(facts: Mapping[str, Any]) -> Row:
    """Return the JSON form of what was asked for."""
    form: Row = {}
    if "statistics" in facts:
        form["statistics"] = [each.to_json() for each in facts["statistics"]]
    if "regressions" in facts:
        form["regressions"] = [fit.form() for fit in facts["regressions"]]
    if facts.get("numbers"):
        form["numbers"] = facts["numbers"]
    return form


# What a terminal shows


def show_facts(facts: Mapping[str, Any]) -> None:
    """Print what was asked for."""
    for each in facts.get("statistics", ()):
        show_statistic(each)
    for fit in facts.get("regressions", ()):
        show_regression(fit)
    if facts.get("numbers"):
        show_numbers({"": facts["numbers"]})


def show_numbers(by_group: Mapping[str, list[Row]], key: str | None = None) -> None:
    """Print the mean and the median of every number, of everybody or of each group."""
    body = [
        [
            *([group] if key is not None else []),
            row["attribute"],
            *(_between(row[name], row["unit"]) for name in ("mean", "median")),
        ]
        for group, rows in by_group.items()
        for row in rows
    ]
    heads = [*([key] if key is not None else []), "number", "mean (95 %)", "median (95 %)"]
    stdout().print(table(heads, body), "")


def _between(row: Row | None, unit: str | None) -> str:
    if row is None or not _is_told(row):
        return "not known"
    figures = _figures(row)
    unit = "" if unit in (None, "days") else f" {unit}"
    return f"{figures['estimate']}{unit} ({figures['low']} to {figures['high']})"


def _is_told(row: Row) -> bool:
    return row["estimate"] is not None and (
        isinstance(row["estimate"], str) or isfinite(row["estimate"])
    )


def _figures(row: Row) -> dict[str, str]:
    """Return an estimate, its error and its ends as texts, with as many digits as the error has."""
    error = row.get("standard_error")
    ends = {name: row[name] for name in ("estimate", "low", "high")}
    if error is None or not isfinite(error):
        return {name: _text(value, 3) for name, value in ends.items()} | {"standard_error": "–"}
    digits = 3 if not error else max(0, 1 - int(f"{error:e}".partition("e")[2]))
    texts = {name: _text(value, min(digits, 6)) for name, value in ends.items()}
    return texts | {"standard_error": _text(error, min(digits, 6))}


def _text(value: Any, digits: int) -> str:
    if isinstance(value, str) or value is None:
        return "–" if value is None else value
    if isinstance(value, int):
        return spoken_point(value)
    return number_text(float(value), f",.{digits}f")


def show_statistic(statistic: Statistic) -> None:
    """Print a statistic as a table."""
    unit = "" if statistic.unit is None else f", in {statistic.unit}"
    names = " and ".join(statistic.attributes)
    stdout().print(
        f"[bold]{escape(statistic.name.capitalize())} of {escape(names)}[/bold]{escape(unit)}"
    )
    fields = ("estimate", "standard_error", "low", "high")
    keys = [key for key in statistic.rows[0] if key not in (*fields, "raw", "share")]
    rows = statistic.rows
    if len(rows) > _MOST_POINTS and statistic.name == "distribution":
        rows = rows[:: -(-len(rows) // _MOST_POINTS)]
    is_band = statistic.name == "distribution"
    heads = [*keys, "share up to it" if is_band else "estimate"]
    heads += ["95 % band" if is_band else "standard error"] + ([] if is_band else ["95 % interval"])
    body = []
    for row in rows:
        figures = _figures(row) if _is_told(row) else dict.fromkeys(fields, "–")
        ends = f"{figures['low']} to {figures['high']}" if _is_told(row) else "not known"
        error = [] if is_band else [figures["standard_error"]]
        body.append([*(_key(row[key]) for key in keys), figures["estimate"], *error, ends])
    stdout().print(table(heads, body), "")
    if len(rows) < len(statistic.rows):
        stdout().print(f"{len(rows)} of {len(statistic.rows):,} points; --json has all.\n")


def show_regression(fit: Regression) -> None:
    """Print a regression: its coefficients, and what is to be said of it as a whole."""
    from deniable.show.forest import rows_of, sentences

    stdout().print(f"[bold]{escape(fit.formula)}[/bold] ({fit.kind})")
    is_odds = fit.kind == "logistic"
    heads = ["term", "log odds" if is_odds else "estimate", "standard error", "95 % interval"]
    heads += [*(["odds ratio (95 %)"] if is_odds else []), "p-value"]
    body = [
        [
            row.label,
            row.estimate,
            row.error,
            row.interval,
            *([row.odds] if is_odds else []),
            row.p_value,
        ]
        for row in rows_of(fit)
    ]
    stdout().print(table(heads, body))
    stdout().print(f"{' '.join(sentences(fit))}\n")


def _key(value: Any) -> str:
    """Return a group's value, a share or a point as people read it."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return spoken_point(value) if is_number else spoken(value)
