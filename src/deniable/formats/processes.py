"""Starting Python again: a process of ours imports nothing from the folder that it works in.

Without ``-P``, ``python -m`` and ``python -c`` import from the folder they start in before all else, and
so would run the ``typer.py`` or ``json.py`` of a folder that somebody else made.
"""

from __future__ import annotations

import os
import sys


def python(*words: str) -> list[str]:
    """Return the command that starts the Python of this process with these arguments."""
    return [os.path.abspath(sys.executable), "-P", *words]


def python_environment() -> dict[str, str]:
    """Return this process's variables, with a PYTHONPATH that means the same in any folder.

    A relative entry is one of this process's folder; an empty one, which Python takes for the folder it
    starts in, is left out.
    """
    environment = dict(os.environ)
    entries = environment.pop("PYTHONPATH", "").split(os.pathsep)
    if paths := [os.path.abspath(entry) for entry in entries if entry]:
        environment["PYTHONPATH"] = os.pathsep.join(paths)
    return environment
