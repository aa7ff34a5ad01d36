"""The options and arguments that several commands share, each declared once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.decoding.decoder import ESTIMATORS
from deniable.design.reading import GOALS
from deniable.errors import SurveyError
from deniable.mechanisms.registry import known_mechanisms, mechanism_named
from deniable.messages import modes
from deniable.messages.modes import choices, in_words
from deniable.planning.shuffle import SLOTS
from deniable.release.consistency import CONSISTENCY


def about(sentence: str, *names: str, **limits: Any) -> Any:
    """Return an option that says this of itself; it is named as its parameter, or by these names."""
    return typer.Option(*names, help=sentence, **limits)


def choice(name: str, names: Sequence[str], sentence: str) -> Any:
    """Return an option with one of these values: the parser refuses others, shells complete it."""

    def parse(text: str) -> str:
        if text not in names:
            raise SurveyError(f"{name} must be {in_words([*map(repr, names)])}, got {text!r}.")
        return text

    def complete(incomplete: str) -> list[str]:
        return [each for each in names if each.startswith(incomplete)]

    return about(sentence, name, parser=parse, autocompletion=complete, metavar="|".join(names))


def names_option(
    sentence: str, check: Callable[[str], object], names: Callable[[], Sequence[str]]
) -> Any:
    """Return --mechanism: what ``check`` lets pass; shells complete each of several after a comma.

    What there is to choose from may be in other packages, so it is not asked for before it is needed.
    """

    def parse(text: str) -> str:
        check(text)
        return text

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        start = before + comma
        return [start + each for each in names() if each.startswith(last)]

    return about(sentence, "--mechanism", parser=parse, autocompletion=complete, metavar="<name>")


Json = Annotated[bool, about("Print one JSON document instead of text.", "--json")]

# What a survey is.
Order = Annotated[int, about("The largest number of attributes in a table.")]
Epsilon = Annotated[float, about("The privacy parameter of one report.")]
Sizes = Annotated[str | None, about("How many values each attribute has, such as 2,3,42.")]
Aim = Annotated[str, choice("--aim", GOALS, "What the design is good at.")]
Mechanism = Annotated[
    str,
    names_option(
        "auto, or a name.",
        lambda text: text == "auto" or mechanism_named(text),
        lambda: ["auto", *known_mechanisms()],
    ),
]
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
    typer.Argument(
        help="A .csv, .parquet, .feather, .xlsx (book.xlsx#SHEET names a sheet), .sav or .dta file, or "
        "'abortion', 'wages' or 'flights'."
    ),
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
    choice(
        "--slots",
        choices(modes.Slots),
        f"Who chooses questions: {_ASSIGNED} (default), {_HASHED}, or {_DRAWN} by devices.",
    ),
]
ShuffledSlots = Annotated[
    str,
    choice(
        "--slots", SLOTS, f"{SLOTS[0]} by devices, or {SLOTS[1]} to them: matters to a shuffler."
    ),
]
Participants = Annotated[
    str | None,
    choice(
        "--participants",
        choices(modes.Participants),
        f"Who may take part: {_OPEN} (anybody, by default; each browser remembers that it answered, but "
        f"whoever wants to can answer again) or {_ISSUED} (with an id, which counts once).",
    ),
]
Keep = Annotated[
    str | None,
    choice(
        "--keep",
        choices(modes.Keep),
        f"What is kept: {_COUNTS} (default), or {_REPORTS} (in no order).",
    ),
]
Invalid = Annotated[
    str,
    choice(
        "--invalid",
        choices(modes.Invalid),
        f"Reports that the survey cannot have got: {INVALID!r} all, or {_DROP!r} and count them.",
    ),
]
Engine = Annotated[str, choice("--engine", choices(modes.Engine), "What reads the files.")]
Estimator = Annotated[
    str | None,
    choice("--estimator", ESTIMATORS, "How tables are decoded; default: the mechanism's."),
]
Consistency = Annotated[str, choice("--consistency", CONSISTENCY, "What is done to the estimates.")]
