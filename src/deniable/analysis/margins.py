"""Known shares of a population, as people give them: read, and refused where they do not make sense."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, isfinite
from numbers import Real
from typing import Any

import numpy as np

from deniable.errors import TableError
from deniable.release.numbers.cutting import cut_attribute
from deniable.schema.attribute import spoken
from deniable.survey.coefficients import Floats
from deniable.survey.frozen import FrozenSurvey

TOLERANCE = 0.005
"""Published shares are rounded: so far from 1 their sum may be, and they are divided by it."""

_FORM = "{'sex': {'f': 0.51, 'm': 0.49}}, or {'age': {'bins': [30, 50], 'shares': [0.2, 0.5, 0.3]}}"


@dataclass(frozen=True, eq=False)
class Margin:
    """The known shares of an attribute's values, of the bins of a number, or of a label's values.

    ``attribute`` is its position, None for a label. ``matrix`` says which of its codes have which value
    (rows); ``is_own`` whether these are the values that tables have.
    """

    name: str
    attribute: int | None
    values: tuple[Any, ...]
    shares: Floats
    matrix: Floats
    is_own: bool = True

    def told(self) -> dict[Any, float]:
        """Return the shares by value."""
        return dict(zip(self.values, self.shares.tolist(), strict=True))


def read_margins(survey: FrozenSurvey, margins: object) -> list[Margin]:
    """Return known shares, in their order, or say in one sentence what is wrong with them."""
    if not isinstance(margins, Mapping) or not margins:
        raise TableError(f"A known population maps names to the shares of their values: {_FORM}.")
    labels, schema = survey.labels, survey.schema
    every = []
    for name, form in margins.items():
        if name in labels.names:
            values = labels.values[name]
            every.append(Margin(name, None, values, _shares(name, values, form), np.eye(0)))
            continue
        index = schema.index(name)
        attribute = schema.attributes[index]
        is_cut = isinstance(form, Mapping) and set(form) == {"bins", "shares"}
        if is_cut and not (attribute.scale is None and "bins" in attribute.values):
            edges, form = form["bins"], form["shares"]
            if isinstance(edges, str) or not isinstance(edges, Sequence):
                raise TableError(f"The bins of {name!r} are a list of edges.")
            attribute, matrix = cut_attribute(attribute, edges)
        else:
            is_cut = False
            matrix = attribute.members
        shares = _shares(name, attribute.values, form)
        every.append(Margin(name, index, attribute.values, shares, matrix, is_own=not is_cut))
    return every


def _shares(name: str, values: Sequence[Any], form: object) -> Floats:
    """Return the share of each value; they add up to 1."""
    if isinstance(form, Sequence) and not isinstance(form, str):
        if len(form) != len(values):
            raise TableError(
                f"{name!r} has {len(values)} values here ({_listed(values)}), so it takes as many "
                f"shares; got {len(form)}."
            )
        form = dict(zip(values, form, strict=True))
    if not isinstance(form, Mapping):
        raise TableError(f"The known shares of {name!r} are a mapping of values: {_FORM}.")
    by_text = {spoken(value): place for place, value in enumerate(values)}
    shares = np.full(len(values), np.nan)
    for value, share in form.items():
        place = by_text.get(spoken(value))
        if place is None:
            raise TableError(
                f"{name!r} has no value {spoken(value)!r}; its values are {_listed(values)}."
            )
        if not _is_share(share):
            raise TableError(
                f"A known share must be a number from 0 to 1; that of {spoken(value)!r} in {name!r} "
                f"is {share!r}."
            )
        if not np.isnan(shares[place]):
            raise TableError(f"{name!r} has two shares of {spoken(value)!r}.")
        shares[place] = float(share)
    for value, share in zip(values, shares, strict=True):
        if np.isnan(share):
            raise TableError(
                f"The known shares of {name!r} lack {spoken(value)!r}: every value needs one."
            )
    total = fsum(shares)
    if abs(total - 1) > TOLERANCE:
        raise TableError(
            f"The known shares of {name!r} must add up to 1 (to within {TOLERANCE:g}, for rounding); "
            f"they add up to {total:.6g}."
        )
    return shares / total


def _is_share(share: Any) -> bool:
    is_number = isinstance(share, Real) and not isinstance(share, bool)
    return is_number and isfinite(share) and 0 <= float(share) <= 1


def _listed(values: Sequence[Any]) -> str:
    texts = [repr(spoken(value)) for value in values[:10]]
    return ", ".join(texts) + (", …" if len(values) > 10 else "")
