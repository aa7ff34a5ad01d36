"""Both of our clients pass the audit of their reports alone, of surveys with each way of answering."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from client_parts import ROOT

from deniable import Schema, Survey
from deniable.lab.blackbox.audit import audit_command
from deniable.lab.blackbox.command import Command

CLIENTS = ROOT / "examples" / "audit"
PAIR = Schema.binary("a", "b")
SURVEYS = {
    "subsets": Survey(PAIR, 1, 2.0, "InpHT"),
    "unary": Survey(PAIR, 2, 2.0, "MargRR"),
    "bit by bit": Survey(PAIR, 2, 2.0, "InpEM"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["client.py", "client.mjs"])
@pytest.mark.parametrize("way", SURVEYS)
def test_our_clients_pass(node: str, tmp_path: Path, way: str, name: str) -> None:
    """A sound client fails once in 10⁷ runs of it, for the operating system's randomness is new."""
    path = tmp_path / "survey.json"
    path.write_text(SURVEYS[way].to_json())
    program = sys.executable if name == "client.py" else node
    command = Command.of(
        f"{shlex.quote(program)} {shlex.quote(str(CLIENTS / name))} {{survey}}", path
    )
    passed = audit_command(command, 2.0, survey=SURVEYS[way], runs=2400, error_rate=1e-7)
    assert passed.passed
    assert passed.likely[0] > 2 * passed.unlikely[0]  # most of e²
