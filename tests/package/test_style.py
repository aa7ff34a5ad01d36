"""Rules of CONTRIBUTING.md that no linter knows: lengths, and names that say what they hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "deniable"
FILES = sorted(SOURCE.rglob("*.py"))
MOST_LINES, MOST_LINES_OF_A_FUNCTION = 450, 60

PARTICIPLES = {
    *("added", "answered", "asked", "checked", "chosen", "counted", "done", "drawn", "found"),
    *("given", "held", "kept", "known", "left", "listed", "made", "named", "opened", "packed"),
    *("refused", "said", "seen", "sent", "shown", "stored", "taken", "told", "touched", "used"),
    "wanted",
}
"""What was done to something does not say what it is."""

FOREIGN = {"frames", "marks", "places", "readings", "spread", "targets"}
"""Words that the glossary gave up, because they had two meanings."""

ALLOWED = {("conditional", "given"), ("within", "chosen")}
"""The public name of an argument, P(target | given), and a field of the format."""


def flaws(text: str) -> Iterator[str]:
    """Yield what breaks a rule in a file."""
    if (lines := text.count("\n")) > MOST_LINES:
        yield f"{lines} lines"
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if (lines := function.end_lineno - function.lineno + 1) > MOST_LINES_OF_A_FUNCTION:
            yield f"{function.name} has {lines} lines"
        names = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)} | {
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        if {"left", "right"} <= names:  # the two sides of something
            names.discard("left")
        for name in sorted(names & (PARTICIPLES | FOREIGN)):
            if (function.name, name) not in ALLOWED:
                yield f"{function.name} calls something {name!r}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_lengths_and_names(path: Path) -> None:
    assert list(flaws(path.read_text("utf-8"))) == []


@pytest.mark.parametrize(
    "text",
    [
        "#\n" * 451,
        "def long():\n" + "    pass\n" * 60,
        "def count(rows):\n    found = len(rows)\n    return found\n",
        "async def ask(held):\n    return held\n",
        "def parts():\n    for left in (1, 2):\n        yield left\n",
    ],
)
def test_a_broken_rule_is_noticed(text: str) -> None:
    assert len(list(flaws(text))) == 1
