"""What is told of each number: its mean, quartiles and distribution, or why they are not known."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from deniable.errors import TableError
from deniable.release.numbers.estimates import Estimates, NumberDistribution, Quantiles
from deniable.release.numbers.statistics import distribution, mean, quantiles
from deniable.release.release import ReleasedTables
from deniable.schema.attribute import Attribute
from deniable.schema.scale import Days, spoken_day

LEVEL = 0.95
QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class NumberSummary:
    """A number with what is told of it; where something is not, ``absent`` says why."""

    attribute: Attribute
    mean: Estimates | None = None
    quartiles: Quantiles | None = None
    distribution: NumberDistribution | None = None
    absent: str = field(default="", compare=False)

    @classmethod
    def of(
        cls, release: ReleasedTables, attribute: Attribute, level: float = LEVEL
    ) -> NumberSummary:
        """Return what a release tells of a number."""
        parts: dict[str, Any] = {}
        reasons: dict[str, None] = {}
        for name, tell in (
            ("mean", lambda: mean(release, attribute.name)),
            ("quartiles", lambda: quantiles(release, attribute.name, QUARTILES, level)),
            ("distribution", lambda: distribution(release, attribute.name, level)),
        ):
            try:
                parts[name] = tell()
            except TableError as error:
                reasons[str(error)] = None
        return cls(attribute, **parts, absent=" ".join(reasons))

    def form(self, level: float = LEVEL) -> dict[str, Any]:
        """Return it for JSON, without the numbers that JSON does not have."""
        form: dict[str, Any] = {"attribute": self.attribute.name, "unit": self.attribute.unit}
        form["mean"] = (
            None if self.mean is None else estimate_form(self.attribute, self.mean, level)
        )
        rows = [] if self.quartiles is None else quantile_forms(self.quartiles)
        form["median"] = next((row for row in rows if row["probability"] == 0.5), None)
        form["quartiles"] = rows
        own = self.distribution
        form["missing"] = None if own is None else own.missing
        form["distribution"] = None if own is None else distribution_form(own)
        return form | ({"absent": self.absent} if self.absent else {})


def numbers_of(release: ReleasedTables) -> list[Attribute]:
    """Return the attributes that have an order: numbers, days and ordered words."""
    return [each for each in release.survey.schema.attributes if each.is_ordered]


def estimate_form(
    attribute: Attribute | None, estimates: Estimates, level: float = LEVEL
) -> dict[str, Any]:
    """Return one estimate for JSON: of days, as days."""
    (row,) = estimate_rows(attribute, estimates, level)
    return row


def estimate_rows(
    attribute: Attribute | None, estimates: Estimates, level: float = LEVEL
) -> list[dict[str, Any]]:
    """Return estimates for JSON, each with its keys, if it has some."""
    rows = []
    is_day = attribute is not None and isinstance(attribute.scale, Days)
    for key, row in zip(estimates.keys, estimates.to_frame(level).to_dict("records"), strict=True):
        is_known = isfinite(row["estimate"]) and isfinite(row["standard_error"])
        error = float(row["standard_error"]) if is_known else None
        ends: dict[str, Any] = {
            end: float(row[end]) if is_known else None for end in ("estimate", "low", "high", "raw")
        }
        if is_day and is_known:
            ends = {name: spoken_day(end) for name, end in ends.items()}
        rows.append(({"group": dict(key)} if key else {}) | ends | {"standard_error": error})
    return rows


def quantile_forms(own: Quantiles) -> list[dict[str, Any]]:
    """Return quantiles for JSON."""
    rows: list[dict[str, Any]] = own.to_frame().to_dict("records")  # type: ignore[assignment]
    return rows


def distribution_form(own: NumberDistribution) -> dict[str, list[Any]]:
    """Return a distribution for JSON, a list for each column."""
    columns = {"share": own.shares, "cumulative": own.cumulative, "low": own.low, "high": own.high}
    return {"point": list(own.points)} | {
        name: [float(f"{value:.9g}") for value in column] for name, column in columns.items()
    }
