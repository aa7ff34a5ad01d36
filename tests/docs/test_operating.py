"""What operators sign names tests that exist, every mode, every check, and real commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer
from docs_parts import DOCS, ROOT

from deniable.cli.app import app
from deniable.messages import modes

OPERATING = DOCS / "operating"
PAGES = sorted(OPERATING.glob("*.md"))
THREATS = (OPERATING / "threat-model.md").read_text("utf-8")


def rows(text: str, heading: str) -> list[list[str]]:
    """Return the cells of the table under a heading."""
    part = text.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def missing_tests(text: str) -> list[str]:
    return [name for name in re.findall(r"`(tests/[^`]+)`", text) if not (ROOT / name).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_test_that_is_named_exists(page: Path) -> None:
    assert missing_tests(page.read_text("utf-8")) == []
    assert missing_tests("`tests/none.py`") == ["tests/none.py"]


def untested(table: list[list[str]]) -> list[str]:
    """Return the rows that name neither a test nor that there is none."""
    return [row[0] for row in table if not re.search(r"`tests/|\*not tested\*", row[-1])]


@pytest.mark.parametrize("heading", ["Who learns what", "Against the service"])
def test_every_row_says_what_is_tested(heading: str) -> None:
    table = rows(THREATS, heading)
    assert len(table) > 6
    assert len({len(row) for row in table}) == 1
    assert untested(table) == []
    assert untested([*table, ["new", "", "", ""]]) == ["new"]


def test_every_mode_has_a_row() -> None:
    from deniable.server.access import ROLES

    first = [row[0] for row in rows(THREATS, "Who learns what")]
    for name, choices in (
        ("participants", modes.choices(modes.Participants)),
        ("slots", modes.choices(modes.Slots)),
        ("keep", modes.choices(modes.Keep)),
        ("analyst, role", ROLES),
    ):
        for choice in choices:
            assert f"{name} `{choice}`" in first


def test_every_check_is_told() -> None:
    source = "".join(
        path.read_text("utf-8") for path in (ROOT / "src/deniable/server/checking").glob("*.py")
    )
    names = set(re.findall(r"(?:judge|wrong|well|unseen)\(\s*\"([a-z-]+)\"", source))
    names |= set(re.findall(r"\(\"([a-z-]+)\", _[A-Z]+,", source))
    text = (OPERATING / "packaging.md").read_text("utf-8")
    table = rows(text, "Is it set up well?")
    told = {name for row in table for name in re.findall(r"`([a-z-]+)`", row[0])}
    assert {name for name in told if not name.startswith("--")} == names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_and_option_exists(page: Path) -> None:
    commands = typer.main.get_command(app).commands
    for words in re.findall(r"\bdeniable ([a-z-]+[^`\n]*)", page.read_text("utf-8")):
        name, *rest = words.split()
        if name not in commands:
            assert not re.search(rf"`deniable {name}|^deniable {name}", page.read_text("utf-8")), (
                words
            )
            continue
        options = set(re.findall(r"(?<!\S)--[a-z-]+", " ".join(rest)))
        known = {option for each in _leaves(commands[name]) for option in each}
        assert options <= known, words


def _leaves(command: typer.core.TyperCommand) -> list[set[str]]:
    """Return the options of a command, or of each command below it."""
    below = getattr(command, "commands", {})
    if below:
        return [options for each in below.values() for options in _leaves(each)]
    return [{option for each in command.params for option in each.opts}]
