"""What `release` and `compare` say of populations: known shares from a file, and small groups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.markup import escape

from deniable.analysis.population import AdjustedTables
from deniable.cli.options import about
from deniable.errors import TableError
from deniable.formats.reading import parse, read_text
from deniable.schema.attribute import spoken
from deniable.schema.labels import FEWEST
from deniable.schema.scale import spoken_point
from deniable.show.terminal import percent, stdout, table

if TYPE_CHECKING:
    from deniable.api.release import Release, Releases

Poststratify = Annotated[
    Path | None,
    about(
        "A JSON file of known shares of the population, which everything is adjusted to: "
        '{"sex": {"f": 0.51, "m": 0.49}, "age": {"bins": [30, 50], "shares": [0.2, 0.4, 0.4]}}.',
        "--poststratify",
    ),
]
Borrow = Annotated[
    str | None,
    about(
        "Every group's shares of an attribute, or mean of a number, small groups included: groups "
        "borrow from each other what they lack.",
        "--borrow",
    ),
]


def read_shares(path: Path | None) -> Any:
    """Return the known shares that a file holds; a name that stands twice in an object is refused."""
    assert path is not None

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise TableError(f"{path.name} has {twice!r} twice in one place.")
        return dict(pairs)

    try:
        return parse(read_text(path), unique)
    except OSError as error:
        raise TableError(f"Cannot read {path.name}: {error.strerror}.") from None
    except ValueError:
        raise TableError(f"{path.name} is not a JSON file of known shares.") from None


def told(release: Release) -> dict[str, Any]:
    """Return what was adjusted, and the shares of every attribute then, for JSON; else nothing."""
    if release.population is None:
        return {}
    return {"population": release.population.to_json(), "shares": _shares(release)}


def _shares(release: Release) -> list[dict[str, Any]]:
    """Return the share of each value of each attribute, before and after."""
    before = release.unadjusted if isinstance(release, AdjustedTables) else None
    rows = []
    for name in release.survey.schema.names:
        own = None if before is None else before.marginal(name).values
        try:
            each = release.marginal(name)
        except TableError:
            continue
        low, high = each.interval()
        for place, value in enumerate(each.attributes[0].values):
            row: dict[str, Any] = {"attribute": name, "value": value}
            row |= {} if own is None else {"answered": float(own[place])}
            row |= {"estimate": float(each.values[place]), "low": float(low[place])}
            rows.append(row | {"high": float(high[place]), "kind": each.kind})
    return rows


def show_shares(release: Release) -> None:
    """Print what was adjusted, what that repairs, and the shares of every attribute then."""
    if release.population is None:
        return
    stdout().print(escape(release.population.sentence))
    rows = _shares(release)
    body = [
        [
            row["attribute"],
            spoken(row["value"]),
            percent(row["answered"]) if "answered" in row else "–",
            percent(row["estimate"]),
            f"{percent(row['low'])} to {percent(row['high'])}",
        ]
        for row in rows[:_MOST_ROWS]
    ]
    heads = ["attribute", "value", "of those who answered", "of the population", "95 % interval"]
    stdout().print(table(heads, body), "")
    if len(rows) > _MOST_ROWS:
        stdout().print(f"{_MOST_ROWS} of {len(rows):,} values are listed; --json has all.")


_MOST_ROWS = 40
"""The most values that are listed."""


def borrowed_form(groups: Releases, name: str) -> dict[str, Any]:
    """Return every group's borrowed estimates for JSON."""
    frame = groups.borrowed(name)
    facts = {key: frame.attrs[key] for key in ("what", "unit", "level", "method")}
    return {"attribute": name, **facts, "rows": frame.to_dict("records")}


def show_borrowed(groups: Releases, name: str, only: Sequence[str] | None = None) -> None:
    """Print every group's borrowed estimates, or those of some groups."""
    frame = groups.borrowed(name)
    keys, is_share = list(groups.tallies.by), "value" in frame.columns
    rows = []
    for row in frame.to_dict("records"):
        group = ", ".join(row[key] for key in keys)
        if only is not None and group not in only:
            continue
        number = percent if is_share else _number
        ends = f"{number(row['low'])} to {number(row['high'])}"
        people = f"{row['people']:,}" if row["people"] >= FEWEST else f"under {FEWEST}"
        value = [spoken(row["value"])] if is_share else []
        numbers = [number(row["estimate"]), ends, f"{row['own_weight']:.0%}", people]
        rows.append([group, *value, *numbers])
    unit = f", in {frame.attrs['unit']}" if frame.attrs["unit"] else ""
    stdout().print(
        f"[bold]{escape(frame.attrs['what'].capitalize())}[/bold]{escape(unit)}, borrowed: each "
        "group's own reports and the mean of all groups, as far as either tells"
    )
    heads = [", ".join(keys), *(["value"] if is_share else []), "estimate", "95 % interval"]
    stdout().print(table([*heads, "own reports count", "people"], rows), "")


def _number(value: float) -> str:
    return spoken_point(float(f"{value:.4g}"))
