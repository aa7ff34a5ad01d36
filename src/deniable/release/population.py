"""What a release was adjusted to: a population of which some shares are known from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

REPAIRS = (
    "It repairs who answered, as far as that depends on these alone. It does not repair non-response "
    "that depends on the answers themselves, nor lies."
)
"""What adjusting to a known population can do, and what not."""

SOURCE = "source given by the user"


@dataclass(frozen=True, eq=False)
class Population:
    """Known shares of a population by the name of an attribute or label, and how they were used.

    ``margins`` are the shares by value, which add up to 1. ``method`` says how people were weighted:
    "raking" (a factor for each value) or "linear" (something to be added for each value).
    """

    margins: Mapping[str, Mapping[Any, float]]
    method: str

    @property
    def names(self) -> str:
        """Return what it was adjusted by."""
        return ", ".join(self.margins)

    def __str__(self) -> str:
        way = "" if self.method == "raking" else f", by {self.method} weights"
        return f"adjusted to a known population: {self.names} ({SOURCE}{way})"

    @property
    def sentence(self) -> str:
        """Return what a reader must know: what was adjusted, what that repairs, and what not."""
        words = str(self)
        return f"{words[0].upper()}{words[1:]}. {REPAIRS}"

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        from deniable.schema.attribute import spoken

        margins = {
            name: {spoken(value): share for value, share in shares.items()}
            for name, shares in self.margins.items()
        }
        return {"margins": margins, "method": self.method, "source": SOURCE, "note": REPAIRS}
