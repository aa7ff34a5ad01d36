"""Measure what the fast suite catches: `python scripts/measure_mutants.py` (needs cosmic-ray).

A sample of small faults (a < for a <=, a + for a -, another number, a missing `not` …) is planted one
at a time in a copy of the repository, and the part of the fast suite that tests the changed module runs
until something fails. The score is the share of faults that are caught. Nobody could notice a fault in
an annotation, so none is planted there. The same seed plants the same faults.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent

# The modules in which faults are planted, and the tests that should notice.
TARGETS = {
    "answers": (
        ["src/deniable/questions/answers"],
        ["test_answers", "test_subsets", "test_entropy", "contract"],
    ),
    "slots": (
        ["src/deniable/survey/slots.py", "src/deniable/survey/template.py"],
        [
            "test_survey",
            "test_lists",
            "test_question",
            "test_subspace",
            "test_design",
            "test_mixed",
            "contract",
        ],
    ),
    "decoding": (
        ["src/deniable/decoding"],
        [
            "test_exact_moments",
            "test_cells",
            "test_lists",
            "test_mixed",
            "test_subspace",
            "test_release",
            "contract",
        ],
    ),
    "tally": (
        ["src/deniable/collector/tally.py", "src/deniable/collector/tally_file.py"],
        [
            "test_tally",
            "test_reading",
            "test_batches",
            "test_groups",
            "test_engines",
            "test_combined",
        ],
    ),
    "client": (
        ["src/deniable/client/client.py", "src/deniable/messages/report.py"],
        ["test_ledger_and_client", "test_wire", "test_batches", "test_labels", "test_periods"],
    ),
    "ledger": (["src/deniable/client/ledger.py"], ["test_ledger_and_client", "test_periods"]),
    "tickets": (
        ["src/deniable/server/tickets.py", "src/deniable/messages/ticket.py"],
        ["test_tickets"],
    ),
}


class Fault(NamedTuple):
    """A planted fault: what cosmic-ray calls it, and where it is."""

    module: str
    operator: str
    occurrence: int
    line: int
    column: int


def silent_ranges(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return where a change cannot be noticed: annotations, which nobody evaluates."""
    ranges = []
    for node in ast.walk(ast.parse(source)):
        annotations = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            annotations.append(node)
        for part in annotations:
            if isinstance(part, ast.AST):
                start, end = part.lineno, part.end_lineno  # type: ignore[attr-defined]
                ranges.append(
                    ((start, part.col_offset), (end, part.end_col_offset))  # type: ignore[attr-defined]
                )
    return ranges


def faults_of(copy: Path, modules: list[str], session: Path, tool: str) -> list[Fault]:
    """Let cosmic-ray list every fault of some modules."""
    paths = json.dumps([str(copy / module) for module in modules])
    config = session.with_suffix(".toml")
    config.write_text(
        f"[cosmic-ray]\nmodule-path = {paths}\ntimeout = 1.0\nexcluded-modules = []\n"
        "test-command = 'false'\n[cosmic-ray.distributor]\nname = 'local'\n"
    )
    subprocess.run([tool, "init", config, session], check=True, cwd=copy, capture_output=True)
    with sqlite3.connect(session) as store:
        rows = store.execute(
            "SELECT module_path, operator_name, occurrence, start_pos_row, start_pos_col"
            " FROM mutation_specs"
        ).fetchall()
    silent = {
        path: silent_ranges(Path(path).read_text("utf-8")) for path in {row[0] for row in rows}
    }
    return sorted(
        (
            fault
            for fault in (Fault(*row) for row in rows)
            if not any(
                start <= (fault.line, fault.column) < end for start, end in silent[fault.module]
            )
        ),
        key=lambda fault: (fault.module, fault.line, fault.column, fault.operator),
    )


def score(
    target: str, count: int, seed: str, copy: Path, tool: str, minutes: float
) -> dict[str, object]:
    """Plant the sampled faults of one target, one after the other, within its minutes."""
    modules, names = TARGETS[target]
    tests = [
        f"tests/unit/{name}.py" if name.startswith("test_") else f"tests/{name}" for name in names
    ]
    options = "-x -q -n0 -p no:cacheprovider -p no:schemathesis -m 'not slow'"
    command = (
        f"env PYTHONPATH={copy / 'src'} {sys.executable} -m pytest {options} {' '.join(tests)}"
    )
    session = copy.parent / f"{target}.sqlite"
    every = faults_of(copy, modules, session, tool)
    subprocess.run(command, shell=True, cwd=copy, check=True, stdout=subprocess.DEVNULL)
    sample = random.Random(f"{seed} {target}").sample(every, min(count, len(every)))
    survivors, caught, end = [], 0, time.monotonic() + 60 * minutes
    for fault in sample:
        if time.monotonic() > end:
            break
        original = Path(fault.module).read_text("utf-8")
        try:
            change = [tool, "apply", fault.module, fault.operator, str(fault.occurrence)]
            subprocess.run(change, check=True, cwd=copy, capture_output=True)
            changed = Path(fault.module).read_text("utf-8").splitlines()[fault.line - 1].strip()
            try:
                run = subprocess.run(
                    command, shell=True, cwd=copy, capture_output=True, timeout=300
                )
                noticed = run.returncode != 0
            except subprocess.TimeoutExpired:
                noticed = True
        finally:
            Path(fault.module).write_text(original, "utf-8")
        caught += noticed
        if not noticed:
            place = f"{Path(fault.module).relative_to(copy)}:{fault.line}"
            survivors.append(f"{place} {fault.operator.removeprefix('core/')}: {changed}")
        print(f"{target}: {caught} of {caught + len(survivors)}", file=sys.stderr, flush=True)
    return {
        "faults": len(every),
        "planted": caught + len(survivors),
        "caught": caught,
        "survivors": survivors,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=24, help="faults of each target")
    parser.add_argument("--seed", default="deniable")
    parser.add_argument("--minutes", type=float, default=30, help="for everything")
    parser.add_argument("--streams", type=int, default=2, help="copies that are tested at once")
    parser.add_argument("--only", nargs="*", default=list(TARGETS), choices=list(TARGETS))
    parser.add_argument("--tool", default="cosmic-ray", help="the command cosmic-ray")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copies = [Path(folder) / str(number) / "copy" for number in range(chosen.streams)]
        for copy in copies:
            shutil.copytree(
                ROOT, copy, ignore=shutil.ignore_patterns(".venv*", ".git", "node_modules")
            )
        minutes = chosen.minutes * len(copies) / len(chosen.only)

        def stream(number: int) -> dict[str, object]:
            return {
                target: score(
                    target, chosen.sample, chosen.seed, copies[number], chosen.tool, minutes
                )
                for target in chosen.only[number :: len(copies)]
            }

        with ThreadPoolExecutor(len(copies)) as threads:
            results = list(threads.map(stream, range(len(copies))))
    print(json.dumps({target: each for part in results for target, each in part.items()}, indent=1))


if __name__ == "__main__":
    main()
