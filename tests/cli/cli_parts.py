"""What tests of commands share."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import typer

from deniable.cli.app import app
from deniable.mechanisms.registry import known_mechanisms

NAMES = list(known_mechanisms())
SECRET = "Rumpelstiltskin"

Run = Callable[..., Any]


def spawn(*arguments: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a process of its own."""
    command = [sys.executable, "-c", "from deniable.cli import main; main()", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, cwd=cwd, env=os.environ | environment, timeout=600
    )


@cache
def commands() -> dict[str, Any]:
    """Return every command by its name, as typer makes them; those of a group by both names."""
    group: Any = typer.main.get_command(app)
    every = {}
    for name, command in group.commands.items():
        inner = getattr(command, "commands", None)
        every |= {f"{name} {n}": each for n, each in inner.items()} if inner else {name: command}
    return every


@cache
def options_of(command: str) -> frozenset[str]:
    """Return the options of a command, and those of all."""
    own = (name for parameter in commands()[command].params for name in parameter.opts)
    return frozenset({"--help", "--version", *own})


def foreign_options(command: str, text: str, said: Iterable[object] = ()) -> set[str]:
    """Return the options that a text recommends, and that neither its command nor one it names has.

    What the person ``said`` may be repeated.
    """
    named = {
        command,
        *re.findall(r"(?:deniable |`)(?!deniable )([a-z]+)", text),
    } & commands().keys()
    known = frozenset().union(*map(options_of, named), map(str, said))
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*\b", text)) - known
