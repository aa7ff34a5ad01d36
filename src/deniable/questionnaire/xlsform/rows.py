"""What came of each row of a form: taken, left out or refused, with the reason and the column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Outcome = Literal["imported", "left out", "refused"]


@dataclass
class Row:
    """A row of the sheet survey, and what came of it; row 1 are the headers.

    ``says`` is what it became, or why it became nothing; ``column`` is where the reason stands.
    """

    row: int
    name: str
    type: str
    outcome: Outcome
    says: str
    column: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        form = {
            "row": self.row,
            "name": self.name,
            "type": self.type,
            "outcome": self.outcome,
            "says": self.says,
        }
        return form | ({"column": self.column} if self.column else {})

    def sentence(self) -> str:
        """Return its refusal as a sentence that names row and column."""
        name = f" ({self.name})" if self.name else ""
        return f"Row {self.row}{name}, column {self.column}: {self.says}"


class Refusal(ValueError):  # noqa: N818 - what becomes of a row, not an error of ours
    """Why a row is refused, and the column that says what cannot be."""

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(reason)
        self.column = column
