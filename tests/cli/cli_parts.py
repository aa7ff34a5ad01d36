"""What tests of commands share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
