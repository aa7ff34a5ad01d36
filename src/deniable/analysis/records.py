"""Records as codes and back: frames of declared values, exact tables of a frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.errors import RecordError
from deniable.numeric.shares import draw, proportions
from deniable.questions.entropy import Key
from deniable.schema.attribute import Attribute
from deniable.schema.frames import to_arrow
from deniable.schema.schema import Schema
from deniable.survey.coefficients import Floats, Ints

if TYPE_CHECKING:
    import pandas as pd


def generator(seed: str | None) -> np.random.Generator:
    """Return random numbers for synthetic records; nobody's privacy depends on them."""
    return np.random.Generator(np.random.Philox(Key.of(seed).stream("synthesis").words(2)))


def check_people(people: object) -> int:
    """Return a number of records to make, if it is one."""
    if isinstance(people, bool) or not isinstance(people, int | np.integer) or people < 0:
        raise RecordError(f"The number of records must be a whole number from 0, got {people!r}.")
    return int(people)


def frame_of(schema: Schema, codes: Sequence[Ints]) -> pd.DataFrame:
    """Return records as a pandas frame of declared values, a column of codes per attribute.

    Numbers are points, days are texts, and where one is missing there is none, whatever stands for it.
    """
    import pandas as pd

    columns = {
        attribute.name: pd.Series(_points(attribute)).take(column).array
        for attribute, column in zip(schema.attributes, codes, strict=True)
    }
    return pd.DataFrame(columns)


def _points(attribute: Attribute) -> list[Any]:
    """Return what a frame holds for each code."""
    if attribute.scale is None:
        return list(attribute.values)
    lack = [None] * (attribute.codes - attribute.levels)
    return [*map(attribute.value_of, range(attribute.levels)), *lack]


def codes_of(schema: Schema, frame: Any) -> list[Ints]:
    """Return the codes of each attribute in a frame of records: of numbers, all points have one.

    An attribute in bins may be given as numbers, or by the names of its bins, as synthetic records
    have them.
    """
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        frame = to_arrow(frame).to_pandas()
    if not frame.columns.is_unique:
        raise RecordError("The frame has two columns of the same name; rename one.")
    for name in schema.names:
        if name not in frame.columns:
            raise RecordError(f"The frame has no column {name!r}.")
    if not len(frame):
        raise RecordError("The frame has no rows.")
    return [_encode(attribute, frame[[attribute.name]]) for attribute in schema.attributes]


def _encode(attribute: Attribute, frame: Any) -> Ints:
    import pandas as pd

    column = frame[attribute.name]
    if not pd.api.types.is_string_dtype(column) and not pd.api.types.is_object_dtype(column):
        return attribute.encode_column(to_arrow(frame).column(attribute.name)).astype(np.int64)
    at, values = pd.factorize(column, use_na_sentinel=False)
    by_name = replace(attribute, edges=()) if attribute.edges else attribute
    codes = [(by_name if isinstance(value, str) else attribute).encode(value) for value in values]
    own: Ints = np.array(codes, np.int64)[at]
    return own


def values_of(schema: Schema, frame: Any) -> list[Ints]:
    """Return the values of each attribute in a frame of records, as tables count them: in bins."""
    codes = codes_of(schema, frame)
    return [each.bins[own] for each, own in zip(schema.attributes, codes, strict=True)]


def levels_within(shares: Floats, bins: Ints, values: Ints, random: np.random.Generator) -> Ints:
    """Draw a code for each value of a number: in its bin, by the shares of codes."""
    within = np.where(np.equal.outer(np.arange(bins.max() + 1), bins), shares, 0.0).clip(0, None)
    empty = within.sum(axis=1) <= 0
    within[empty] = np.equal.outer(np.flatnonzero(empty), bins)
    return draw(proportions(within), values, random)


def true_pairs(values: Sequence[Ints], sizes: Sequence[int], pairs: Ints) -> Iterator[Floats]:
    """Yield the exact table of each pair of attributes, of which people have these values."""
    people = len(values[0])
    for a, b in pairs.tolist():
        cell = values[a] * sizes[b] + values[b]
        table = np.bincount(cell, minlength=sizes[a] * sizes[b])
        yield table.reshape(sizes[a], sizes[b]) / people
