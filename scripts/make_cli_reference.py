"""Write docs/cli.md from the commands' own help: `python scripts/make_cli_reference.py`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "cli.md"
HEAD = """# Command line

Generated from the commands' own help by `scripts/make_cli_reference.py`.

Every command prints for people, or one JSON document with `--json` and nothing else on stdout.
A long run shows a progress bar on a terminal's stderr. Bad input ends with exit code 2 and one
sentence on stderr; a failed audit with 1.
"""


def help_of(*command: str) -> str:
    """Return the help of a command, at a fixed width."""
    environment = os.environ | {"COLUMNS": "100", "TERMINAL_WIDTH": "100", "NO_COLOR": "1"}
    run = [sys.executable, "-c", "from deniable.cli import main; main()", *command, "--help"]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
    lines = [
        line.rstrip() for line in done.stdout.replace("Usage: -c", "Usage: deniable").splitlines()
    ]
    return "\n".join(lines).strip()


def page() -> str:
    """Return the whole page."""
    from deniable.cli import app

    parts = [HEAD]
    for command in app.registered_commands:
        name = command.name or command.callback.__name__
        parts.append(f"## deniable {name}\n\n```text\n{help_of(name)}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
