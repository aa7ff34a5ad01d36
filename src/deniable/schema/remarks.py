"""What becomes of values that are not as declared: how many there are, and never which.

Such counts say something of true answers. They are for those who hold the data: warned of where the data
is, and shown in reports of simulations, they go into no batch and no tally.
"""

from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

from deniable.errors import DeniableWarning
from deniable.schema.scale import spoken_point

if TYPE_CHECKING:
    from deniable.schema.attribute import Attribute
    from deniable.schema.schema import Schema


class Remarks:
    """Counts, part by part, values that pass for another: undeclared ones, and those beyond ends."""

    def __init__(self, schema: Schema) -> None:
        self.schema, self.rows = schema, 0
        self.undeclared, self.beyond = Counter[str](), Counter[str]()

    @classmethod
    def of(cls, schema: Schema, table: Any) -> Remarks:
        """Return what there is to say of an Arrow table."""
        remarks = cls(schema)
        remarks.look(table)
        return remarks

    def look(self, table: Any) -> None:
        """Count the values of an Arrow table that has all columns."""
        from deniable.schema.columns import count_beyond, count_undeclared

        self.rows += table.num_rows
        for attribute in self.schema.attributes:
            column = table.column(attribute.name)
            if attribute.other is not None:
                self.undeclared[attribute.name] += count_undeclared(attribute, column)
            if not attribute.strict:  # else they are refused, or undeclared
                self.beyond[attribute.name] += count_beyond(attribute, column)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return what there is to say of each attribute."""
        sentences = []
        for attribute in self.schema.attributes:
            if many := self.undeclared[attribute.name]:
                sentences.append(
                    f"{self._of(many, attribute)} are not declared, and count as {attribute.other!r}."
                )
            if many := self.beyond[attribute.name]:
                sentences.append(
                    f"{self._of(many, attribute)} lie beyond its ends, {_ends(attribute)}, and count as "
                    "these: its mean and all else is of numbers so limited."
                )
        return tuple(sentences)

    def _of(self, many: int, attribute: Attribute) -> str:
        return f"{many:,} of {self.rows:,} values of {attribute.name!r}"

    def warn(self, stacklevel: int = 2) -> None:
        """Warn of what there is to say, each in a sentence."""
        for sentence in self.sentences:
            warnings.warn(sentence, DeniableWarning, stacklevel=stacklevel + 1)


def _ends(attribute: Attribute) -> str:
    scale = attribute.scale
    assert scale is not None
    ends = " and ".join(spoken_point(scale.point(level)) for level in (0, scale.levels - 1))
    return ends if attribute.unit is None else f"{ends} {attribute.unit}"
