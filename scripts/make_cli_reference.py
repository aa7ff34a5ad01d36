"""Write docs/cli.md from the commands' own help: `python scripts/make_cli_reference.py`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "cli.md"
HEAD = """# Command line

Generated from the commands' own help by `scripts/make_cli_reference.py`.

Every command prints for people, or one JSON document with `--json` and nothing else on stdout.
A long run shows a progress bar on a terminal's stderr. Bad input ends with exit code 2 and one
sentence on stderr; a failed audit with 1. What a command is about (data, reports, tallies, a survey,
a store) is its first argument. `deniable --install-completion` lets your shell complete commands,
options, and the values of those that have a choice.
"""


ALL = """
import sys
from deniable.cli import main
for name in sys.argv[1:]:
    sys.argv = ["deniable", *name.split(), "--help"]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, name
    print(end="\\0", flush=True)
"""


def helps(names: list[str]) -> list[str]:
    """Return the help of each command, at a fixed width."""
    environment = os.environ | {"COLUMNS": "100", "TERMINAL_WIDTH": "100", "NO_COLOR": "1"}
    run = [sys.executable, "-c", ALL, *names]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
    texts = done.stdout.split("\0")[:-1]
    return ["\n".join(map(str.rstrip, text.splitlines())).strip() for text in texts]


def _name(command: Any) -> str:
    name: str = command.name or command.callback.__name__.replace("_", "-")
    return name


def page() -> str:
    """Return the whole page."""
    from deniable.cli import app

    names = [_name(each) for each in app.registered_commands]
    for group in app.registered_groups:
        names += [
            f"{group.name} {_name(each)}" for each in group.typer_instance.registered_commands
        ]
    parts = [
        f"## deniable {name}\n\n```text\n{text}\n```\n"
        for name, text in zip(names, helps(names), strict=True)
    ]
    return "\n".join([HEAD, *parts])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
