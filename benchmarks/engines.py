"""Beyond one frame: files counted by every engine, Spark end to end, a thousand million people.

``python -m benchmarks.engines spark|crowd`` prints the numbers of one job in a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
from scipy import stats

from benchmarks.measure import (
    EPSILON,
    People,
    Row,
    Section,
    best,
    memory,
    million,
    progress,
    require,
    seconds,
)
from deniable import ReportBatch, Schema, Survey
from deniable.client.bulk import write_batches
from deniable.lab.law import p_value
from deniable.lab.simulate import trials

REPORTS, ATTRIBUTES, ORDER = 20_000_000, 16, 2
PLAIN = "plain SQL in DuckDB"
TURNS = 15
"""A fifth of a second is soon disturbed, so the best is taken of more turns than elsewhere."""
MOST_OF_PLAIN = 1.5
SPARK_PEOPLE, SPARK_ATTRIBUTES, PARTITIONS = 10_000_000, 8, 16
FALSE_ALARM = 1e-6
CROWD, CROWD_ROWS = 1_000_000_000, 100_000
MOST_SECONDS, MOST_MEMORY = 60.0, 2_000_000_000


def survey_of(people: People) -> Survey:
    return Survey(Schema.from_frame(people.frame), ORDER, EPSILON, "InpHT")


def engines() -> Section:
    made = Section(
        "One file, every engine",
        f"{REPORTS:,} InpHT reports (d = {ATTRIBUTES}, k = {ORDER}) in one Parquet file, from the file "
        "to a tally, with validation, on one core, the best of many turns. Beside them the bare "
        "`SELECT slot, value, count(*) … GROUP BY slot, value` in DuckDB, without any check. All "
        "tallies are the same, bit by bit.",
        ("engine", "seconds", "reports/s", "of plain SQL's time"),
    )
    if not spark_runs():
        progress("Spark is left out: there is no Java")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "reports.parquet")
        progress(f"{REPORTS:,} reports to a file")
        people = People(REPORTS, ATTRIBUTES)
        survey = survey_of(people)
        write_batches(survey.randomize_batches(people.frame), path)
        expected = survey.tally(ReportBatch.from_arrow(pq.read_table(path), survey.id))
        people.check("the tally", expected.people, expected.release().marginals())

        def plain() -> None:
            query = "SELECT slot, value, count(*) FROM read_parquet(?) GROUP BY slot, value"
            with duckdb.connect() as connection:
                connection.execute(query, [str(path)]).fetchall()

        jobs = {
            PLAIN: plain,
            "DuckDB": lambda: survey.tally(path),
            "polars": lambda: survey.tally(path, engine="polars"),
            "numpy": lambda: survey.tally(ReportBatch.from_arrow(pq.read_table(path), survey.id)),
        }
        slow = {"Spark": lambda: survey.tally(path, engine="spark")} if spark_runs() else {}
        for name, job in (jobs | slow).items():
            progress(f"{name}: {REPORTS:,} reports")
            counted = job()  # also loads what is loaded on first use
            require(name == PLAIN or counted == expected, f"{name} counts otherwise.")
        took = best(jobs, TURNS) | best(slow)
    for name, time in took.items():
        ratio = time / took[PLAIN]
        cells = (name, f"{time:.2f}", million(REPORTS / time), f"{ratio:.2f} ×")
        if name == "DuckDB":
            made.rows.append(Row(cells, f"≤ {MOST_OF_PLAIN} ×", ratio <= MOST_OF_PLAIN))
        else:
            made.rows.append(Row(cells))
    return made


def spark_runs() -> bool:
    from shutil import which

    return which("java") is not None or "JAVA_HOME" in os.environ


def spark_and_crowd() -> Section:
    made = Section(
        "Beyond memory",
        f"Spark, end to end on this machine: {SPARK_PEOPLE:,} records in {PARTITIONS} Parquet files, "
        "randomized by its executors, written, counted, released; *p* is of χ² against the "
        "mechanism's law, and against the tally of the same records on one machine. Then `deniable "
        f"simulate` with {CROWD:,} people drawn from {CROWD_ROWS:,} rows, InpHT d = {ATTRIBUTES}, "
        f"k = {ORDER}. Each in a process of its own; the peak is of the whole (Java is not part of it).",
        ("job", "seconds", "reports/s", "peak memory", "p (law)", "p (one machine)"),
    )
    jobs = [("simulate", "crowd", CROWD)]
    if spark_runs():
        jobs.append(("Spark", "spark", SPARK_PEOPLE))
    for name, job, people in jobs:
        progress(f"{name}: {people:,} people")
        command = [sys.executable, "-m", "benchmarks.engines", job]
        said = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.split()
        took, peak = float(said[0]), float(said[1])
        cells = (name, f"{took:.1f}", million(people / took), f"{peak / 1e9:.2f} GB")
        if job == "crowd":
            target = f"< {MOST_SECONDS:g} s, < {MOST_MEMORY // 10**9} GB"
            met = took < MOST_SECONDS and peak < MOST_MEMORY
            made.rows.append(Row((*cells, "–", "–"), target, met))
        else:
            found = [float(p) for p in said[2:]]
            shown = tuple(f"{p:.2g}" for p in found)
            made.rows.append(
                Row((*cells, *shown), f"p > {FALSE_ALARM:g}", min(found) > FALSE_ALARM)
            )
    return made


def crowd() -> None:
    people = People(CROWD_ROWS, ATTRIBUTES)
    survey = survey_of(people)
    found = []
    took = seconds(lambda: found.extend(trials(survey, people.frame, people=CROWD)))
    require(found[-1].people == CROWD, "people were lost")
    ratio = found[-1].mean_tv / found[-1].predicted_tv
    require(0.5 < ratio < 2, f"the error is {ratio:.2f} of the predicted one")
    print(took, memory("VmHWM") or 0)


def spark() -> None:
    from deniable.client.spark import local_session

    people = People(SPARK_PEOPLE, SPARK_ATTRIBUTES)
    survey = survey_of(people)
    session = local_session()
    with tempfile.TemporaryDirectory() as folder:
        records, reports = Path(folder, "records"), Path(folder, "reports")
        records.mkdir()
        step = SPARK_PEOPLE // PARTITIONS
        for part in range(PARTITIONS):
            pq.write_table(people.frame.slice(part * step, step), records / f"{part}.parquet")
        kept = []

        def job() -> None:
            made = survey.randomize_spark(session.read.parquet(str(records)))
            made.write.parquet(str(reports))
            tally = survey.tally(session.read.parquet(str(reports)))
            kept.extend((tally, tally.release().marginals()))

        took = seconds(job)
    tally, marginals = kept
    people.check("Spark", tally.people, marginals)
    single = survey.tally(survey.randomize(people.frame))
    require(
        (tally.slot == single.slot).all() and (tally.value == single.value).all(), "rows differ"
    )
    both = stats.chi2_contingency([tally.count, single.count]).pvalue
    law = p_value(tally, survey.schema.encode_frame(people.frame))
    print(took, memory("VmHWM") or 0, law, both)


if __name__ == "__main__":
    {"spark": spark, "crowd": crowd}[sys.argv[1]]()
