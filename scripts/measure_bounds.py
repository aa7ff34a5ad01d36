"""Measure what hostile or large inputs cost: `python scripts/measure_bounds.py [NAME ...]`.

Each case runs in a process of its own, with at most 16 GB and ten minutes; the rows say how it ended,
its peak memory, and its processor seconds, which other programs on the machine do not change much.
To measure other code, such as an earlier version, put it first: `PYTHONPATH=other/src python ...`.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from deniable import Schema, Survey
from deniable.mechanisms.inprr import InpRR
from deniable.questions.answers import Unary
from deniable.survey.frozen import FrozenSurvey
from deniable.survey.template import Template

MOST_MEMORY, MOST_SECONDS = 16 << 30, 600
COMMAND = "from deniable.cli import main; main()"
DRAW = (
    "import sys; from deniable.questions.answers import Unary; "
    "from deniable.questions.entropy import Key; "
    "Unary.within(1.0, int(sys.argv[1])).answer(3, Key.seeded('x').stream('y'))"
)


def bomb(folder: Path) -> list[str]:
    """300 million equal rows in a few hundred kilobytes, in a tally of a survey of three attributes."""
    survey = Survey(Schema.binary("a", "b", "c"), 2, 1.0, "InpHT")
    schema = pa.schema([(name, pa.int64()) for name in ("slot", "value", "count")])
    schema = schema.with_metadata({b"deniable.tally": survey.to_json().encode()})
    part = pa.table([pa.array(np.ones(10_000_000, np.int64))] * 3, schema=schema)
    with pq.ParquetWriter(folder / "bomb.tally", schema, compression="zstd") as file:
        for _ in range(30):
            file.write_table(part)
    return [COMMAND, "release", "bomb.tally", "-o", "x.csv"]


def inprr(folder: Path) -> list[str]:
    """A survey of a few kilobytes whose answers have 2^24 bits."""
    schema = Schema.binary(*(f"a{i}" for i in range(24)))
    asked = Template.table(24, Unary.within(1.0, 1 << 24))
    survey = FrozenSurvey(schema, 2, 1.0, (asked,), InpRR.lists(schema), mechanism="InpRR")
    (folder / "survey.json").write_text(survey.canonical())
    return [COMMAND, "audit", "survey.json"]


def marght(folder: Path) -> list[str]:
    """Twelve attributes of 64 values each, in threes: 58 million coefficients."""
    schema = Schema.of(**{f"a{i}": [str(value) for value in range(64)] for i in range(12)})
    (folder / "survey.json").write_text(Survey(schema, 3, 1.0, "MargHT").to_json())
    return [COMMAND, "audit", "survey.json"]


def zero(folder: Path) -> list[str]:
    """A file without an end in place of a survey."""
    return [COMMAND, "explain", "/dev/zero"]


CASES: dict[str, Callable[[Path], list[str]]] = {
    "tally of 300 M rows": bomb,
    "audit of InpRR, 24 attributes": inprr,
    "audit of MargHT, 12 x 64, order 3": marght,
    "unary answer of 2^18 bits": lambda _: [DRAW, str(1 << 18)],
    "unary answer of 2^20 bits": lambda _: [DRAW, str(1 << 20)],
    "survey from /dev/zero": zero,
}


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def measure(make: Callable[[Path], list[str]]) -> tuple[str, int, float]:
    """Run a case; return how it ended, its peak memory in MB and its processor seconds."""
    with tempfile.TemporaryDirectory() as name:
        told = [sys.executable, "-c", *make(Path(name))]
        # A process between here and the command has only that one child to account for.
        account = (
            "import resource, subprocess, sys\n"
            "try:\n"
            f"    done = subprocess.run(sys.argv[1:], timeout={MOST_SECONDS}, capture_output=True)\n"
            "    ended = f'exit code {done.returncode}'\n"
            "except subprocess.TimeoutExpired:\n"
            f"    ended = 'stopped after {MOST_SECONDS} s'\n"
            "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
            "print(ended, used.ru_maxrss >> 10, used.ru_utime + used.ru_stime, sep='|')\n"
        )
        said = subprocess.run(
            [sys.executable, "-c", account, *told],
            cwd=name,
            preexec_fn=limit,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        ended, memory, seconds = said.strip().split("|")
        return ended, int(memory), float(seconds)


def main() -> None:
    wanted = [name for name in CASES if not sys.argv[1:] or any(w in name for w in sys.argv[1:])]
    print(f"{'case':36}{'ended':>22}{'peak MB':>10}{'seconds':>10}")
    for name in wanted:
        ended, memory, seconds = measure(CASES[name])
        print(f"{name:36}{ended:>22}{memory:>10,}{seconds:>10.1f}", flush=True)


if __name__ == "__main__":
    main()
