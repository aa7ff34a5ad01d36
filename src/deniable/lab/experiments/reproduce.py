"""Run experiments and write what came out: data, charts, checked claims, and a page about all."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from deniable import __version__
from deniable.errors import DataError
from deniable.formats.reading import parse, read_text
from deniable.formats.spreadsheets import frame_text
from deniable.formats.writing import write_text, write_whole
from deniable.lab.experiments import EXPERIMENTS
from deniable.lab.experiments.experiment import Claim, Experiment
from deniable.lab.experiments.figures import finished
from deniable.lab.experiments.running import PointStore, measure_all
from deniable.lab.experiments.sources import Data, DataFiles, obtain
from deniable.lab.experiments.verdicts import repeats_that_decide
from deniable.show.charts import save_chart

CLAIMS = "claims.json"
CLAIMS_OF = ".claims.json"
PAGE = "results.md"


def chosen(names: Sequence[str]) -> list[Experiment]:
    """Return experiments by name, in the order of the paper; "all" or nothing means every one."""
    unknown = [repr(name) for name in names if name not in (*EXPERIMENTS, "all")]
    if unknown:
        raise DataError(
            f"There is no experiment {', '.join(unknown)}; there are {', '.join(EXPERIMENTS)}."
        )
    every = not names or "all" in names
    return [each for name, each in EXPERIMENTS.items() if every or name in names]


@dataclass(frozen=True)
class Result:
    """What came out of one experiment."""

    experiment: Experiment
    frame: pd.DataFrame
    claims: list[Claim]
    data: list[Data]
    points: int
    measured: int
    """How many of the points were measured now; the others were kept from before."""
    quick: bool

    @property
    def origin(self) -> str:
        """Say which data was used."""
        origins = [each.origin for each in self.data if each.kind != "synthetic"]
        return "; ".join(
            [*origins, "synthetic records"] if len(origins) < len(self.data) else origins
        )

    def write(self, folder: Path) -> None:
        """Write the rows, the chart and the claims."""
        stem = str(folder / self.experiment.name)
        write_text(f"{stem}.csv", frame_text(self.frame), DataError)
        write_whole(f"{stem}.parquet", lambda draft: self.frame.to_parquet(draft), DataError)
        lines = [self.experiment.note, f"Data: {self.origin}"]
        chart = finished(self.experiment.chart(self.frame), self.experiment.title, lines)
        for ending in (".svg", ".png"):
            save_chart(chart, stem + ending)
        _write_json(Path(stem + CLAIMS_OF), self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return the experiment's claims, with the data that they were checked on."""
        return {
            "experiment": self.experiment.name,
            "title": self.experiment.title,
            "shows": self.experiment.shows,
            "quick": self.quick,
            "version": __version__,
            "points": self.points,
            "data": [{"name": d.name, "kind": d.kind, "origin": d.origin} for d in self.data],
            "claims": [claim.to_json() for claim in self.claims],
        }


@dataclass(frozen=True)
class Run:
    """A run of some experiments into a folder."""

    experiments: list[Experiment]
    folder: Path
    quick: bool = False
    data_files: DataFiles = field(default_factory=DataFiles)
    workers: int = os.cpu_count() or 1

    @property
    def points(self) -> int:
        """Return how many points there are in all."""
        return sum(len(each.grid(self.quick)) for each in self.experiments)

    def results(self, advance: Callable[[str, int], None]) -> Iterator[Result]:
        """Run the experiments one after another, and yield each when its files are written.

        ``advance`` is told the experiment's name and how many points are done now.
        """
        try:
            (self.folder / "points").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"Nothing can be written to {self.folder}: {error.strerror}.") from None
        data_sets: dict[str, Data] = {}
        for experiment in self.experiments:
            result = self._result(experiment, data_sets, partial(advance, experiment.name))
            result.write(self.folder)
            yield result
        about = self.summary()
        _write_json(self.folder / CLAIMS, about)
        page = _page(about)
        write_text(self.folder / PAGE, page, DataError)

    def _result(
        self, experiment: Experiment, data_sets: dict[str, Data], advance: Callable[[int], None]
    ) -> Result:
        """Measure what is not kept of an experiment; data is kept in ``data_sets``."""
        points = experiment.grid(self.quick)
        for name in dict.fromkeys(point["data"] for point in points):
            if name not in data_sets:
                data_sets[name] = obtain(name, self.data_files, self.folder / "data")
        data = {point["data"]: data_sets[point["data"]] for point in points}
        store = PointStore(self.folder / "points" / f"{experiment.name}.jsonl")
        ready = store.count(experiment.name, points, data)
        advance(ready)
        rows = measure_all(experiment, points, data, store, self.workers, partial(advance, 1))
        frame = experiment.frame(points, rows)
        claims = experiment.claims(frame)
        sources = list(data.values())
        return Result(
            experiment, frame, claims, sources, len(points), len(points) - ready, self.quick
        )

    def summary(self) -> dict[str, Any]:
        """Return the claims of all experiments in the folder that were run like this one.

        The paper's come first, in their order, and then those that go beyond it.
        """
        runs = []
        for name in EXPERIMENTS:
            about = {}
            with suppress(OSError, ValueError):  # not run yet, or cut off
                about = parse(read_text(self.folder / f"{name}{CLAIMS_OF}"))
            if about.get("quick") == self.quick and about.get("version") == __version__:
                runs.append(about)
        claims = [
            claim | {"experiment": about["experiment"]}
            for about in runs
            for claim in about["claims"]
        ]
        names = [about["experiment"] for about in runs]
        return {
            "command": self._command(names),
            "quick": self.quick,
            "version": __version__,
            "machine": machine(),
            "data": list({d["name"]: d for about in runs for d in about["data"]}.values()),
            "claims": sorted(claims, key=lambda claim: claim["number"] or 99),
            "experiments": [
                {key: about[key] for key in ("experiment", "title", "shows", "points")}
                for about in runs
            ],
        }

    def _command(self, names: Sequence[str]) -> str:
        parts = ["deniable reproduce", *(["all"] if len(names) == len(EXPERIMENTS) else names)]
        options = {"--movielens": self.data_files.movielens, "--taxi": self.data_files.taxi}
        parts += [f"{name} {path.name}" for name, path in options.items() if path is not None]
        return " ".join([*parts, "--quick"] if self.quick else parts)


def _page(about: dict[str, Any]) -> str:
    """Return a page (Markdown) with the verdicts and the charts."""
    lines = [
        "# The paper, reproduced",
        "",
        f"Made by `{about['command']}` (deniable {about['version']}) on {about['machine']}.",
        "",
        *verdicts(about["claims"]),
        "",
        *(f"- {d['name']}: {d['origin']} ({d['kind']})" for d in about["data"]),
    ]
    for each in about["experiments"]:
        name = each["experiment"]
        lines += [
            "",
            f"## {each['title']}",
            "",
            each["shows"],
            "",
            f"![{each['title']}]({name}.svg)",
        ]
        lines += ["", f"{each['points']:,} points: `{name}.csv`, `{name}.parquet`."]
    return "\n".join(lines) + "\n"


def verdicts(claims: Sequence[dict[str, Any]]) -> list[str]:
    """Return a Markdown table of claims."""
    lines = ["| | the paper says | what was checked | measured | verdict |", "|-|-|-|-|-|"]
    for claim in claims:
        cells = [str(claim["number"] or ""), claim["paper"], claim["statement"], claim["measured"]]
        row = " | ".join(cell.replace("|", "\\|") for cell in cells)
        more = repeats_that_decide(claim.get("repeats_needed"))
        lines.append(f"| {row} | **{claim['verdict']}**{more} |")
    return lines


def machine() -> str:
    """Describe this machine: processor, cores, memory, system and Python."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        models = [
            line.split(":", 1)[1].strip()
            for line in info.read_text().splitlines()
            if "model name" in line
        ]
        name = models[0] if models else name
    parts = [f"{os.cpu_count()} cores ({name})"]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        parts.append(f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB")
    return ", ".join([*parts, platform.system(), f"Python {platform.python_version()}"])


def _write_json(path: Path, document: Any) -> None:
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_text(path, text, DataError)
