"""The options and arguments that several commands share, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deniable.decoding.decoder import ESTIMATORS
from deniable.messages import modes
from deniable.messages.modes import choices, in_words
from deniable.planning.shuffle import SLOTS
from deniable.release.consistency import CONSISTENCY

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]

# What a survey is.
Order = Annotated[int, typer.Option(help="The largest number of attributes in a table.")]
Epsilon = Annotated[float, typer.Option(help="The privacy parameter of one report.")]
Sizes = Annotated[
    str | None, typer.Option(help="How many values each attribute has, such as 2,3,42.")
]
Workload = Annotated[
    str | None,
    typer.Option(help="The tables that matter, with weights if you like: 'a,b; a,c=2'."),
]
Pilot = Annotated[
    Path | None, typer.Option(help="A tally of an earlier survey: plan for people like those.")
]

# What data is read, and how.
Data = Annotated[
    str, typer.Argument(help="A .csv, .parquet or .feather file, or 'abortion' or 'flights'.")
]
Columns = Annotated[
    str | None, typer.Option(help="The columns to use, separated by commas; by default all.")
]
Values = Annotated[
    Path | None,
    typer.Option(
        help="A JSON file that declares columns that are not true/false: "
        '{"school": ["low", "high"], "age": {"bins": [18, 65]}}.'
    ),
]
Observed = Annotated[
    bool, typer.Option("--observed", help="Take the values that occur; for simulation only.")
]
DropMissing = Annotated[
    bool, typer.Option("--drop-missing", help="Leave out rows with empty cells.")
]

# How reports are collected and counted.
ReportsFile = Annotated[
    Path, typer.Option("--output", "-o", help="Where to write the reports: a .parquet file.")
]
Again = Annotated[
    bool, typer.Option("--again", help="Count a file of reports although it is counted already.")
]
Store = Annotated[
    str, typer.Option("--store", help="Where reports are kept: sqlite:///FILE or postgresql://….")
]
SurveyId = Annotated[
    str | None,
    typer.Option(
        help="Which survey of a store, by the beginning of its id; needed where there are several."
    ),
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
    typer.Option(
        help=f"Who chooses questions: {_ASSIGNED} (default), {_HASHED}, or {_DRAWN} by devices."
    ),
]
ShuffledSlots = Annotated[
    str,
    typer.Option(help=f"{SLOTS[0]} by devices, or {SLOTS[1]} to them: matters to a shuffler."),
]
Participants = Annotated[
    str | None,
    typer.Option(
        help=f"Who may take part: {_OPEN} (anybody, by default) or {_ISSUED} (with an id)."
    ),
]
Keep = Annotated[
    str | None,
    typer.Option(help=f"What is kept: {_COUNTS} (default), or {_REPORTS} (in no order)."),
]
Invalid = Annotated[
    str,
    typer.Option(
        help=f"Reports that the survey cannot have got: {INVALID!r} all, or {_DROP!r} and count them."
    ),
]
Engine = Annotated[
    str, typer.Option(help=f"What reads the files: {in_words(choices(modes.Engine))}.")
]
Estimator = Annotated[
    str | None, typer.Option(help=f"{in_words(ESTIMATORS)}; default: the mechanism's.")
]
Consistency = Annotated[
    str, typer.Option(help=f"What is done to the estimates: {in_words(CONSISTENCY)}.")
]
