"""Run experiments and write what came out: data, charts, checked claims, and a page about all."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from deniable import __version__
from deniable.client.wire import write_whole
from deniable.errors import ChartError, DataError
from deniable.lab.experiments import EXPERIMENTS
from deniable.lab.experiments.experiment import Claim, Experiment
from deniable.lab.experiments.figures import finished
from deniable.lab.experiments.running import Kept, measure_all
from deniable.lab.experiments.sources import Data, Places, obtain
from deniable.show.charts import save_chart

__all__ = ["CLAIMS", "Result", "Run", "chosen"]

CLAIMS = "claims.json"
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
    seconds: float

    @property
    def origin(self) -> str:
        """Say which data was used."""
        said = [each.origin for each in self.data if each.kind != "synthetic"]
        return "; ".join([*said, "made up"] if len(said) < len(self.data) else said)

    def write(self, folder: Path) -> None:
        """Write the rows, the chart and the claims."""
        stem = str(folder / self.experiment.name)
        write_whole(f"{stem}.csv", lambda draft: self.frame.to_csv(draft, index=False), DataError)
        write_whole(f"{stem}.parquet", lambda draft: self.frame.to_parquet(draft), DataError)
        lines = [self.experiment.note, f"Data: {self.origin}"]
        chart = finished(self.experiment.chart(self.frame), self.experiment.title, lines)
        for ending in (".svg", ".png"):
            save_chart(chart, stem + ending)
        _write_json(Path(f"{stem}.claims.json"), self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return the experiment's claims, with the data that they were checked on."""
        return {
            "experiment": self.experiment.name,
            "title": self.experiment.title,
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
    places: Places = field(default_factory=Places)
    workers: int = os.cpu_count() or 1

    @property
    def points(self) -> int:
        """Return how many points there are in all."""
        return sum(len(each.grid(self.quick)) for each in self.experiments)

    def results(self, advance: Callable[[str, int], None]) -> Iterator[Result]:
        """Run the experiments one after another, and yield each when its files are written.

        ``advance`` is told the experiment's name and how many points are done now.
        """
        if find_spec("vl_convert") is None:
            raise ChartError(
                "Drawing the charts needs vl-convert: run 'pip install vl-convert-python'."
            )
        try:
            (self.folder / "points").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(
                f"Nothing can be written to {self.folder.name}: {error.strerror}."
            ) from None
        found: dict[str, Data] = {}
        done = []
        for experiment in self.experiments:
            done.append(self._result(experiment, found, partial(advance, experiment.name)))
            done[-1].write(self.folder)
            yield done[-1]
        _write_json(self.folder / CLAIMS, self.to_json(done))
        page = self.page(done)
        write_whole(
            self.folder / PAGE, lambda draft: draft.write_text(page, encoding="utf-8"), DataError
        )

    def _result(
        self, experiment: Experiment, found: dict[str, Data], advance: Callable[[int], None]
    ) -> Result:
        """Measure what is not kept of an experiment; data is kept in ``found``."""
        began = time.perf_counter()
        points = experiment.grid(self.quick)
        for name in dict.fromkeys(point["data"] for point in points):
            if name not in found:
                found[name] = obtain(name, self.places, self.folder / "data")
        data = {point["data"]: found[point["data"]] for point in points}
        kept = Kept(self.folder / "points" / f"{experiment.name}.jsonl")
        known = kept.count(experiment.name, points, data)
        advance(known)
        rows = measure_all(experiment, points, data, kept, self.workers, partial(advance, 1))
        frame = experiment.frame(points, rows)
        return Result(
            experiment,
            frame,
            experiment.claims(frame),
            list(data.values()),
            len(points),
            len(points) - known,
            time.perf_counter() - began,
        )

    @property
    def command(self) -> str:
        """Return the command that runs this."""
        every = len(self.experiments) == len(EXPERIMENTS)
        names = "all" if every else " ".join(each.name for each in self.experiments)
        return f"deniable reproduce {names}{' --quick' if self.quick else ''}"

    def to_json(self, results: Sequence[Result]) -> dict[str, Any]:
        """Return all claims, the paper's in their order first, and how they were checked."""
        claims = [
            claim.to_json() | {"experiment": result.experiment.name}
            for result in results
            for claim in result.claims
        ]
        data = {each.name: each for result in results for each in result.data}
        return {
            "command": self.command,
            "quick": self.quick,
            "version": __version__,
            "machine": machine(),
            "data": [{"name": d.name, "kind": d.kind, "origin": d.origin} for d in data.values()],
            "claims": sorted(claims, key=lambda claim: claim["number"] or 99),
        }

    def page(self, results: Sequence[Result]) -> str:
        """Return a page (Markdown) with the verdicts and the charts."""
        about = self.to_json(results)
        lines = [
            "# The paper, reproduced",
            "",
            f"Made by `{self.command}` (deniable {__version__}) on {about['machine']}.",
            "",
            *verdicts(about["claims"]),
            "",
            *(f"- {d['name']}: {d['origin']} ({d['kind']})" for d in about["data"]),
        ]
        for result in results:
            name, experiment = result.experiment.name, result.experiment
            lines += ["", f"## {experiment.title}", "", experiment.shows, ""]
            lines += [f"![{experiment.title}]({name}.svg)", ""]
            lines += [
                f"{result.points:,} points: `{name}.csv`, `{name}.parquet`, `{name}.claims.json`."
            ]
        return "\n".join(lines) + "\n"


def verdicts(claims: Sequence[dict[str, Any]]) -> list[str]:
    """Return a Markdown table of claims."""
    lines = ["| | the paper says | what was checked | measured | verdict |", "|-|-|-|-|-|"]
    for claim in claims:
        cells = [str(claim["number"] or ""), claim["paper"], claim["statement"], claim["measured"]]
        said = " | ".join(cell.replace("|", "\\|") for cell in cells)
        lines.append(f"| {said} | **{claim['verdict']}** |")
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
    write_whole(path, lambda draft: draft.write_text(text, encoding="utf-8"), DataError)
