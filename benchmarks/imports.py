"""How long a device waits for the client: its import beside numpy's, which it needs."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.measure import Row, Section, best, progress

REPEATS = 7
MOST_SECONDS, MOST_OF_NUMPY = 0.3, 2
JOBS = {
    "Python alone": "pass",
    "import numpy": "import numpy",
    "import deniable.client": "import deniable.client",
    "from deniable import Survey": "from deniable import Survey",
    "import deniable.cli": "import deniable.cli",
}


def section() -> Section:
    """Measure each import in fresh processes, taking turns."""
    progress("Importing")
    run = {name: [sys.executable, "-c", code] for name, code in JOBS.items()}
    jobs = {name: lambda job=job: subprocess.run(job, check=True) for name, job in run.items()}
    times = best(jobs, REPEATS)
    start = times["Python alone"]
    beyond = {name: took - start for name, took in times.items()}
    rows = []
    for name in JOBS:
        took, ratio = beyond[name], beyond[name] / beyond["import numpy"]
        cells = (name, f"{took:.3f}", f"{ratio:.2f} ×")
        if name == "import deniable.client":
            target = f"≤ {MOST_OF_NUMPY} ×, < {MOST_SECONDS} s"
            rows.append(Row(cells, target, ratio <= MOST_OF_NUMPY and took < MOST_SECONDS))
        else:
            rows.append(Row(cells))
    return Section(
        "Importing the client",
        f"Seconds beyond the start of Python ({start:.3f} s), the best of {REPEATS} fresh processes, "
        "taking turns. The client needs numpy, and loads no frame, database, chart or server.",
        ("job", "seconds", "of numpy"),
        rows,
    )
