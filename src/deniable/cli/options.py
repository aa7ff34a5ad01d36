"""The options and arguments that several commands share, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.decoding.decoder import ESTIMATORS
from deniable.design.reading import GOALS
from deniable.messages import modes
from deniable.messages.modes import choices, in_words
from deniable.planning.shuffle import SLOTS
from deniable.release.consistency import CONSISTENCY


def about(sentence: str, *names: str, **limits: Any) -> Any:
    """Return an option that says this of itself; it is named as its parameter, or by these names."""
    return typer.Option(*names, help=sentence, **limits)


Json = Annotated[bool, about("Print one JSON document instead of text.", "--json")]

# What a survey is.
Order = Annotated[int, about("The largest number of attributes in a table.")]
Epsilon = Annotated[float, about("The privacy parameter of one report.")]
Sizes = Annotated[str | None, about("How many values each attribute has, such as 2,3,42.")]
Aim = Annotated[str, about(f"What the design is good at: {in_words(GOALS)}.")]
Prior = Annotated[
    float | None, about("The mean square contingency that is expected of a pair; 0.05 by default.")
]
Workload = Annotated[
    str | None, about("The tables that matter, with weights if you like: 'a,b; a,c=2'.")
]
Pilot = Annotated[Path | None, about("A tally of an earlier survey: plan for people like those.")]

# What data is read, and how.
Data = Annotated[
    str,
    typer.Argument(help="A .csv, .parquet or .feather file, or 'abortion', 'wages' or 'flights'."),
]
Columns = Annotated[str | None, about("The columns to use, separated by commas; by default all.")]
Values = Annotated[
    Path | None,
    about(
        "A JSON file that declares columns that are not true/false: "
        '{"school": ["low", "high"], "income": {"low": 0, "high": 200000, "step": 1000, "unit": "EUR"}}.'
    ),
]
Range = Annotated[
    list[str] | None,
    about(
        "A column of numbers or days, where it begins and ends, and its step, such as age=18:100:1; can "
        "be given again.",
        "--range",
    ),
]
Observed = Annotated[bool, about("Take the values that occur; for simulation only.", "--observed")]
DropMissing = Annotated[bool, about("Leave out rows with empty cells.", "--drop-missing")]

# How reports are collected and counted.
ReportsFile = Annotated[
    Path, about("Where to write the reports: a .parquet file.", "--output", "-o")
]
Again = Annotated[bool, about("Count a file of reports although it is counted already.", "--again")]
Store = Annotated[
    str, about("Where reports are kept: sqlite:///FILE or postgresql://….", "--store")
]
SurveyId = Annotated[
    str | None,
    about("Which survey of a store, by the beginning of its id; needed where there are several."),
]
DEFAULT_STORE = "sqlite:///deniable.db"
StoreArgument = Annotated[
    str, typer.Argument(metavar="STORE", help="The store: sqlite:///FILE or postgresql://….")
]

# Modes: what can be chosen is declared in the library.
_ASSIGNED, _HASHED, _DRAWN = choices(modes.Slots)
_OPEN, _ISSUED = choices(modes.Participants)
_COUNTS, _REPORTS = choices(modes.Keep)
INVALID, _DROP = choices(modes.Invalid)
ENGINE = choices(modes.Engine)[0]

Slots = Annotated[
    str | None,
    about(f"Who chooses questions: {_ASSIGNED} (default), {_HASHED}, or {_DRAWN} by devices."),
]
ShuffledSlots = Annotated[
    str, about(f"{SLOTS[0]} by devices, or {SLOTS[1]} to them: matters to a shuffler.")
]
Participants = Annotated[
    str | None,
    about(f"Who may take part: {_OPEN} (anybody, by default) or {_ISSUED} (with an id)."),
]
Keep = Annotated[
    str | None, about(f"What is kept: {_COUNTS} (default), or {_REPORTS} (in no order).")
]
Invalid = Annotated[
    str,
    about(
        f"Reports that the survey cannot have got: {INVALID!r} all, or {_DROP!r} and count them."
    ),
]
Engine = Annotated[str, about(f"What reads the files: {in_words(choices(modes.Engine))}.")]
Estimator = Annotated[str | None, about(f"{in_words(ESTIMATORS)}; default: the mechanism's.")]
Consistency = Annotated[str, about(f"What is done to the estimates: {in_words(CONSISTENCY)}.")]
