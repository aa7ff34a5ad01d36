"""What `release` and `compare` say of populations: known shares from a file, and small groups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.markup import escape

from deniable.api.tally import Tallies
from deniable.cli.options import about
from deniable.errors import TableError
from deniable.formats.reading import parse, read_text
from deniable.schema.attribute import spoken
from deniable.schema.labels import FEWEST
from deniable.show.terminal import percent, stdout, table

if TYPE_CHECKING:
    import pandas as pd

    from deniable.api.release import Release

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
    """Return the strata, or what was adjusted and the shares of every attribute then, for JSON."""
    pooled = {} if release.pooling is None else {"pooled": release.pooling.to_json()}
    if release.population is None:
        return pooled | ({"strata": dict(release.strata)} if release.strata else {})
    return pooled | {"population": release.population.to_json(), "shares": _shares(release)}


def _shares(release: Release) -> list[dict[str, Any]]:
    """Return the share of each value of each attribute, before and after; of numbers, means tell."""
    from deniable.analysis.population import AdjustedTables

    before = release.unadjusted if isinstance(release, AdjustedTables) else None
    rows = []
    for name in (each.name for each in release.survey.schema.attributes if each.scale is None):
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


def borrowed_form(frame: pd.DataFrame) -> dict[str, Any]:
    """Return groups' borrowed estimates for JSON, without the number of people in small ones."""
    rows = [
        row | {"people": row["people"] if row["people"] >= FEWEST else None}
        for row in frame.to_dict("records")
    ]
    facts = {key: frame.attrs[key] for key in ("what", "unit", "level", "method")}
    return {**facts, "rows": rows}


def borrowed_by_small(paths: Sequence[Path], names: Sequence[str]) -> pd.DataFrame | None:
    """Return what groups of a folder that are too small borrow, of one attribute; None if nothing."""
    if len(paths) > 1 or not paths[0].is_dir() or len(names) > 1:
        return None
    releases = Tallies.load(paths[0]).release()
    if not releases.small:
        return None
    try:
        frame = releases.borrowed(names[0])
    except TableError:  # too few groups to borrow from
        return None
    return frame[frame["people"] < FEWEST]


def show_borrowed(frame: pd.DataFrame) -> None:
    """Print groups' borrowed estimates."""
    is_share, by = "value" in frame.columns, frame.attrs["by"]
    number = percent if is_share else _number
    rows = [
        [
            ", ".join(row[label] for label in by),
            *([spoken(row["value"])] if is_share else []),
            number(row["estimate"]),
            f"{number(row['low'])} to {number(row['high'])}",
            f"{row['own_weight']:.0%}",
            f"{row['people']:,}" if row["people"] >= FEWEST else f"under {FEWEST}",
        ]
        for row in frame.to_dict("records")
    ]
    unit = f", in {frame.attrs['unit']}" if frame.attrs["unit"] else ""
    stdout().print(
        f"[bold]{escape(frame.attrs['what'].capitalize())}[/bold]{escape(unit)}, borrowed: from each "
        "group's own reports and from all groups, as far as either tells"
    )
    heads = [", ".join(by), *(["value"] if is_share else []), "estimate", "95 % interval"]
    stdout().print(table([*heads, "own reports count", "people"], rows), "")


def _number(value: float) -> str:
    return f"{float(f'{value:.3g}'):,g}" if abs(value) < 1000 else f"{float(f'{value:.3g}'):,.0f}"
