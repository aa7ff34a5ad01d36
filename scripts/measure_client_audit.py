"""Audit pure-ldp's unary encoding by its reports: `python scripts/measure_client_audit.py`.

It audits the version that is installed: 1.1.2 has the fault of its issue 11, 1.2.0 has not.
"""

from __future__ import annotations

import json
import shlex
import sys
from importlib.metadata import version
from itertools import product

from deniable.lab.blackbox.audit import audit_command
from deniable.lab.blackbox.command import Command


def client(epsilon: float, values: int, is_optimised: bool) -> None:
    """Report on each line of standard input: the number of a value."""
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

    encoding = UEClient(epsilon, values, is_optimised, index_mapper=lambda value: value)
    for line in sys.stdin:
        print(json.dumps(encoding.privatise(json.loads(line)).tolist()))


def measure() -> None:
    print(f"pure-ldp {version('pure-ldp')}")
    for epsilon, values, way in product((0.5, 1.0), (4, 100), ("symmetric", "optimised")):
        words = (sys.executable, __file__, str(epsilon), str(values), way)
        found = audit_command(Command.of(shlex.join(words)), epsilon, records=(0, 1))
        verdict = "passed" if found.passed else "FAULT"
        point = f"ε = {epsilon}, {values:3} values, {way:9}"
        print(f"{point}: at least {found.epsilon_at_least:.2f}, {verdict}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        client(float(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "optimised")
    else:
        measure()
