"""Bayesian networks in the Interchange Format (BIF), which other tools read.

Names in BIF are words of letters, digits and underscores. Whatever else a name or value holds, and a
digit that it begins with, is written as ``_x`` + its code point in hexadecimal + ``_``; an underscore
before an x is written that way too, so that `name_of` gives every name back. A comment beside each
variable says its name and values as JSON.

>>> word("Sci-Fi"), name_of("Sci_x2D_Fi")
('Sci_x2D_Fi', 'Sci-Fi')
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from deniable.schema.schema import Schema
from deniable.survey.coefficients import Floats

_FOREIGN = re.compile(r"[^A-Za-z0-9_]|_(?=x)|^[0-9]")
_ESCAPE = re.compile(r"_x([0-9A-F]+)_")


def word(text: str) -> str:
    """Return a name as a word of BIF; an empty name is a single escape of nothing."""
    return _FOREIGN.sub(lambda match: f"_x{ord(match[0]):X}_", text) or "_x_"


def name_of(word: str) -> str:
    """Return the name that a word stands for."""
    if word == "_x_":
        return ""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), word)


def bif(
    schema: Schema,
    parents: Mapping[str, str | None],
    cpts: Mapping[str, Floats],
    name: str = "tree",
) -> str:
    """Return the text of a network in which each attribute has one parent at most."""
    return "\n".join(_lines(schema, parents, cpts, name)) + "\n"


def _lines(
    schema: Schema, parents: Mapping[str, str | None], cpts: Mapping[str, Floats], name: str
) -> Iterator[str]:
    values = {a.name: [word(str(value)) for value in a.values] for a in schema.attributes}
    yield f"network {word(name)} {{"
    yield "}"
    for attribute in schema.attributes:
        own = values[attribute.name]
        yield f"// {json.dumps({attribute.name: list(attribute.values)})}"
        yield f"variable {word(attribute.name)} {{"
        yield f"  type discrete [ {len(own)} ] {{ {', '.join(own)} }};"
        yield "}"
    for child, parent in parents.items():
        if parent is None:
            yield f"probability ( {word(child)} ) {{"
            yield f"  table {_numbers(cpts[child])};"
        else:
            yield f"probability ( {word(child)} | {word(parent)} ) {{"
            for value, shares in zip(values[parent], cpts[child], strict=True):
                yield f"  ({value}) {_numbers(shares)};"
        yield "}"


def _numbers(shares: Floats) -> str:
    return ", ".join(map(repr, shares.tolist()))
