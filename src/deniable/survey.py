"""The classes people hold: Survey → Tally → Release → Marginal.

Thin façades over the rooms: each reaches forward to the next, so that no room needs to.

>>> from deniable import Schema, Survey
>>> schema = Schema.binary("Comedy", "Crime")
>>> survey = Survey(schema, order=2, epsilon=1.0986122886681098, mechanism="InpHT")
>>> print(survey.question(2).english())
Is exactly one of Comedy and Crime true for you? With probability 1/4 your device reports the opposite.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np

from deniable.client.bulk import labels_of, randomize_batches, randomize_frame
from deniable.client.wire import ReportBatch
from deniable.collector.engines import Progress, count_groups
from deniable.collector.folders import load_folder, save_folder
from deniable.collector.groups import chosen
from deniable.collector.tally import Counts
from deniable.errors import GroupError, ReportError, SurveyError, TallyError
from deniable.mechanisms.base import Mechanism
from deniable.mechanisms.registry import mechanism_named, read_survey
from deniable.planning.aim import Aim
from deniable.planning.plan import choose
from deniable.questions.entropy import Key, Source
from deniable.questions.frames import is_spark, is_stream, to_arrow
from deniable.questions.labels import FEWEST, Labels
from deniable.questions.question import Question
from deniable.questions.schema import Schema
from deniable.reading import read_text
from deniable.release.combined import Combined
from deniable.release.marginal import Table
from deniable.release.release import Released

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from deniable.analysis.conditional import Conditional
    from deniable.analysis.difference import Difference
    from deniable.analysis.tree import Tree

__all__ = ["Marginal", "Release", "Releases", "Survey", "Tallies", "Tally"]


class Survey:
    """What is asked of people, frozen: its id names every detail of it.

    ``order`` is the largest number of attributes a table may have. ``mechanism="auto"`` takes the
    one with the smallest predicted error, once, now; it may be told a ``workload`` (the tables that
    matter) and a ``pilot`` (an earlier release), as `plan` may. With a mechanism's name, ``options``
    are its own (Subspace takes both of these, too).

    ``labels`` declares public facts that travel beside a report, such as ``{"region": ["north",
    "south"]}``: no ε protects them. ``periods`` are days (``["2026-11-01", "2026-12-01", "2027-01-01"]``
    are two months): a device draws by lot in which period it answers.
    """

    def __init__(
        self,
        schema: Schema,
        order: int = 2,
        epsilon: float = 1.1,
        mechanism: str = "auto",
        *,
        labels: Mapping[str, Iterable[str]] | None = None,
        periods: Iterable[str | date] | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(schema, Schema):
            raise SurveyError(f"A survey needs a Schema, got {type(schema).__name__}.")
        declared = Labels.of(labels, periods)
        declared.check(schema)
        if mechanism == "auto" and not set(options) - {"workload", "pilot"}:
            made = choose(schema, order, epsilon, **options)
        elif mechanism == "auto":
            raise SurveyError(
                "'auto' takes a workload and a pilot; other options go with a mechanism's name."
            )
        else:
            kind = mechanism_named(mechanism)
            if "pilot" in options and "squares" in kind.options:
                options["squares"] = Aim.of(schema, order, pilot=options.pop("pilot")).squares
            made = kind(schema, order, epsilon, **options)
        self.mechanism = made.labelled(declared)

    @classmethod
    def of(cls, mechanism: Mechanism) -> Survey:
        """Return the survey that a mechanism carries out."""
        made = cls.__new__(cls)
        made.mechanism = mechanism
        return made

    @property
    def id(self) -> str:
        """Return the SHA-256 of the survey's canonical JSON."""
        return self.mechanism.id

    @property
    def schema(self) -> Schema:
        """Return what a person holds."""
        return self.mechanism.schema

    @property
    def order(self) -> int:
        """Return the largest number of attributes a table may have."""
        return self.mechanism.order

    @property
    def epsilon(self) -> float:
        """Return the stated ε, which no question exceeds."""
        return self.mechanism.epsilon

    @property
    def touches(self) -> int:
        """Return the most attributes that one question touches."""
        return self.mechanism.touches

    @property
    def whole_record(self) -> bool:
        """Tell whether questions touch the whole record."""
        return self.mechanism.whole_record

    @property
    def slots(self) -> int:
        """Return the number of different questions."""
        return self.mechanism.slots

    @property
    def labels(self) -> Labels:
        """Return what reports say beside their answer, in public."""
        return self.mechanism.labels

    def question(self, slot: int) -> Question:
        """Return the question of a slot."""
        return self.mechanism.question(slot)

    def draw_slot(self, source: Source) -> int:
        """Draw a slot, without looking at any data."""
        return self.mechanism.draw_slot(source)

    def to_json(self) -> str:
        """Return the survey's canonical JSON text."""
        return self.mechanism.canonical()

    @classmethod
    def from_json(cls, text: str) -> Survey:
        """Read a survey's JSON text; nothing is computed anew."""
        return cls.of(read_survey(text))

    @overload
    def randomize(self, frame: DataFrame, seed: str | None = None) -> DataFrame: ...

    @overload
    def randomize(self, frame: Iterator[Any], seed: str | None = None) -> pa.RecordBatchReader: ...

    @overload
    def randomize(self, frame: Any, seed: str | None = None) -> ReportBatch: ...

    def randomize(
        self, frame: Any, seed: str | None = None
    ) -> ReportBatch | pa.RecordBatchReader | DataFrame:
        """Return the reports of every row of a frame, with fresh secret randomness.

        This runs where the raw data is, so it is not local privacy: it is for simulations, and for
        data that somebody holds already. A seed makes it reproducible and marks it SIMULATED. Labels
        are columns of the frame; where it has no column ``period``, periods are drawn.

        Record batches, from an Arrow reader, a dataset or an iterator, give a stream of reports, as
        `randomize_batches` does; a Spark frame gives a Spark frame, as `randomize_spark` does.
        """
        if is_spark(frame):
            return self.randomize_spark(frame, seed)
        if is_stream(frame):
            return self.randomize_batches(frame, seed)
        table, key = to_arrow(frame), Key.of(seed)
        places = labels_of(self.mechanism, table, key)
        labels = {
            name: np.array(values, object)[places[name]]
            for name, values in self.labels.values.items()
        }
        width = self.mechanism.packed_bytes
        slots = np.empty(table.num_rows, np.int64)
        values = np.empty((len(slots), width), np.uint8) if width else np.empty_like(slots)
        stop = 0
        for part in randomize_frame(self.mechanism, table, key):
            start, stop = stop, stop + len(part[0])
            slots[start:stop], values[start:stop] = part
        return ReportBatch(self.id, slots, values, seed is not None, labels)

    def randomize_batches(self, source: Any, seed: str | None = None) -> pa.RecordBatchReader:
        """Return the reports of a stream of records as a stream, in bounded memory.

        ``source`` is an Arrow reader or dataset, a lazy polars frame, a DuckDB relation, an iterable of
        record batches, or any frame. The reports are those of `randomize`, however the rows are cut.
        """
        key = Key.of(seed)
        return randomize_batches(self.mechanism, source, key, simulated=seed is not None)

    def randomize_spark(self, frame: DataFrame, seed: str | None = None) -> DataFrame:
        """Return the reports of a Spark frame as a Spark frame: its executors make them.

        A fresh job key travels to them inside the tasks; see `deniable.client.spark`.
        """
        from deniable.client.spark import randomize_spark

        key = Key.of(seed)
        return randomize_spark(self.mechanism, frame, key, simulated=seed is not None)

    @overload
    def tally(
        self,
        reports: Any,
        *,
        by: None = None,
        invalid: str = "refuse",
        simulation: bool = False,
        engine: str = "duckdb",
        progress: Progress | None = None,
    ) -> Tally: ...

    @overload
    def tally(
        self,
        reports: Any,
        *,
        by: str | Iterable[str],
        invalid: str = "refuse",
        simulation: bool = False,
        engine: str = "duckdb",
        progress: Progress | None = None,
    ) -> Tallies: ...

    def tally(
        self,
        reports: Any,
        *,
        by: str | Iterable[str] | None = None,
        invalid: str = "refuse",
        simulation: bool = False,
        engine: str = "duckdb",
        progress: Progress | None = None,
    ) -> Tally | Tallies:
        """Count reports where they lie; ``by`` a label, or several, into a tally for each group.

        ``reports`` is a batch, a list of `Report`, a frame (pandas, polars, Arrow, DuckDB, Spark), an
        Arrow stream or dataset, or the names of Parquet files, folders or patterns, which ``engine``
        (duckdb, polars or spark) reads. Reports that the survey cannot have got are refused with all
        others, unless ``invalid="drop"``: then `Tally.refused` says how many, and why. Simulated reports
        are refused unless ``simulation`` says that they are wanted.
        """
        by = list(by) if isinstance(by, Iterable) and not isinstance(by, str) else by
        labels = Labels() if by is None else chosen(self.labels, by)
        parts = count_groups(
            self.mechanism, reports, labels, invalid=invalid, engine=engine, progress=progress
        )
        if not simulation and any(part.simulated for part in parts):
            raise ReportError(
                "The reports are simulated, with reproducible randomness; "
                "tally(..., simulation=True) takes them."
            )
        if by is None:
            return Tally.total(self.mechanism, parts)
        return Tallies(self, by, parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Survey) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return (
            f"<Survey {self.id[:8]}: {len(self.schema)} attributes, order {self.order}, "
            f"epsilon {self.epsilon:g}, {self.mechanism.name}>"
        )


class Tally(Counts):
    """Exact counts of reports: ``tally + tally`` merges, in any order."""

    @classmethod
    def of(cls, counts: Counts) -> Tally:
        """Return counts as a tally."""
        return cls(**{field.name: getattr(counts, field.name) for field in fields(Counts)})

    @property
    def survey(self) -> Survey:
        """Return the survey that was answered."""
        return Survey.of(self.mechanism)

    def release(self, consistency: str = "none", *, estimator: str | None = None) -> Release:
        """Return every table of up to k attributes, with error bars.

        ``consistency`` is "none" (unbiased), "joint" (non-negative tables that agree) or "model"
        (the flattest joint distribution, which also answers larger tables). A group under 100 reports
        is not displayed.
        """
        if self.group and self.people < FEWEST:
            raise GroupError(_too_small(", ".join(self.group.values()), self.people))
        return Release(self, consistency, estimator)


def _too_small(name: str, people: int) -> str:
    return f"{name!r} has {people:,} reports; groups under {FEWEST} are not displayed."


class Tallies(Mapping[str, Tally]):
    """A tally for each group of reports, by the group's name: "north", or "north, 2026-11-01".

    Groups stand in the order in which the survey declares labels and their values; those without
    reports are left out. ``parts`` are tallies of these or of smaller groups, which add up; what is of
    no group counts for the ``total`` only, and so do reports that were refused: ``rest`` is a tally of
    these.
    """

    def __init__(self, survey: Survey, by: str | Iterable[str], parts: Iterable[Counts]) -> None:
        labels = chosen(survey.labels, by)
        self.survey, self.by = survey, labels.names
        every = list(parts)
        alike: dict[int, list[Counts]] = {}
        others: list[Counts] = []
        for part in every:
            if part.group.keys() >= labels.values.keys() and len(part.count):
                alike.setdefault(labels.number(part.group), []).append(part)
            else:
                others.append(part)
        self._held: dict[str, Tally] = {}
        for number in sorted(alike):
            made = Tally.total(survey.mechanism, alike[number])
            name = ", ".join(made.group[label] for label in labels.names)
            if name in self._held:
                raise TallyError(f"Two groups are called {name!r}; count by one label at a time.")
            self._held[name] = replace(made, group=labels.group(number))
        self.rest = replace(Tally.total(survey.mechanism, others), group={})
        self.total = Tally.total(survey.mechanism, every)

    def __getitem__(self, name: str) -> Tally:
        if name not in self._held:
            raise GroupError(f"There are no reports of a group {name!r} by {', '.join(self.by)}.")
        return self._held[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __repr__(self) -> str:
        return (
            f"<Tallies of survey {self.survey.id[:8]} by {', '.join(self.by)}: {len(self)} groups, "
            f"{self.total.people:,} people>"
        )

    def save(self, folder: str | Path) -> None:
        """Write a folder with a tally for each group, all of them or none; it replaces such a folder."""
        noted = len(self.rest.count) or self.rest.refused
        save_folder(self._held, Path(folder), self.rest if noted and self._held else None)

    @classmethod
    def load(cls, folder: str | Path) -> Tallies:
        """Read a folder of tallies, each of one group by the same labels."""
        name, parts = Path(folder).name, load_folder(Path(folder))
        if not parts:
            raise TallyError(f"The folder {name} holds no tallies.")
        by = max((list(part.group) for part in parts), key=len)
        if not by or any(part.group and part.group.keys() != set(by) for part in parts):
            raise TallyError(f"The tallies in {name} are not of groups by the same labels.")
        return cls(Survey.of(parts[0].mechanism), by, parts)

    def release(self, consistency: str = "none", *, estimator: str | None = None) -> Releases:
        """Return a release of each group that has at least 100 reports, as `Tally.release` does."""
        return Releases(self, consistency, estimator)


class Releases(Mapping[str, "Release"]):
    """A release for each group of ``tallies``, by the group's name; made when it is first asked for.

    Groups under 100 reports are not displayed: ``small`` names them.
    """

    def __init__(
        self, tallies: Tallies, consistency: str = "none", estimator: str | None = None
    ) -> None:
        self.tallies, self.consistency, self.estimator = tallies, consistency, estimator
        self.small = tuple(name for name, one in tallies.items() if one.people < FEWEST)
        self._made: dict[str, Release] = {}

    def __getitem__(self, name: str) -> Release:
        if name not in self._made:
            made = self.tallies[name].release(self.consistency, estimator=self.estimator)
            self._made[name] = made
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self.tallies and name not in self.small

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.tallies if name not in self.small)

    def __len__(self) -> int:
        return len(self.tallies) - len(self.small)

    def __repr__(self) -> str:
        small = f", {len(self.small)} too small" if self.small else ""
        return (
            f"<Releases of survey {self.tallies.survey.id[:8]} by {', '.join(self.tallies.by)}: "
            f"{len(self)} groups{small}>"
        )

    def differences(self, order: int | None = None, *, level: float = 0.95) -> pd.DataFrame:
        """Return a test of each table for any difference between the groups.

        A pandas frame, the surest difference first; see `deniable.analysis.difference`.
        """
        from deniable.analysis.difference import group_differences

        return group_differences(self, order, level=level)

    def combine(self, weights: Mapping[str, float], consistency: str = "none") -> Release:
        """Return the release of a population of which the groups are strata with these shares."""
        for name in self.small if isinstance(weights, Mapping) else ():
            if name in weights:
                raise GroupError(
                    f"{name!r} has under {FEWEST} reports and is no stratum of its own; put it together "
                    "with another one, or leave it out of the population that you speak of."
                )
        return Release.combine(dict(self), weights, consistency)

    def plot(self, *names: str, level: float = 0.95) -> Any:
        """Return a chart of the groups' tables of these attributes, cell by cell, with intervals.

        Groups by period are drawn as lines over time, others as points below each other.
        """
        from deniable.show.comparing import comparison_chart

        groups = {name: self.tallies[name].group for name in self}
        return comparison_chart(self, *names, groups=groups, small=len(self.small), level=level)


class Marginal(Table):
    """A table with error bars."""

    def plot(self) -> Any:
        """Return a chart of the table with its intervals."""
        from deniable.show.charts import marginal_chart

        return marginal_chart(self)


class Release(Released):
    """Every table of up to k attributes that a tally supports."""

    table_type = Marginal

    def marginal(self, *names: str) -> Marginal:
        """Return the table of these attributes, its axes in the order asked for."""
        return cast("Marginal", super().marginal(*names))

    def tree(self, *, significant: bool = False, root: str | None = None) -> Tree:
        """Return the tree of Chow and Liu over the attributes, or only its significant edges."""
        from deniable.analysis.tree import tree

        return tree(self, significant=significant, root=root)

    def synthesise(
        self, people: int, *, method: str = "tree", seed: str | None = None
    ) -> pd.DataFrame:
        """Return synthetic records, drawn from the tree or from a model of the whole."""
        from deniable.analysis.synthesis import synthesise

        return synthesise(self, people, method=method, seed=seed)

    def fidelity(self, frame: Any) -> pd.DataFrame:
        """Return how far each pair's table of (synthetic) records is from the release's."""
        from deniable.analysis.synthesis import fidelity

        return fidelity(self, frame)

    def associations(self, *, level: float = 0.95) -> pd.DataFrame:
        """Return a test of independence, and the strength, of each pair of attributes.

        A pandas frame, the surest dependence first; see `deniable.analysis.association`.
        """
        from deniable.analysis.association import associations

        return associations(self, level=level)

    def paper_chi_square(self) -> pd.DataFrame:
        """Return the paper's χ² tests, which know nothing of the noise, for comparison only."""
        from deniable.analysis.association import paper_chi_square

        return paper_chi_square(self)

    def conditional(self, target: str, given: str | Sequence[str]) -> Conditional:
        """Return the distribution of one attribute for every combination of values of others."""
        from deniable.analysis.conditional import conditional

        return conditional(self, target, given)

    def difference(self, other: Released, *names: str) -> Difference:
        """Return how the table of these attributes differs from that of another release's people."""
        from deniable.analysis.difference import difference

        return difference(self, other, *names)

    def differences(
        self, other: Released, order: int | None = None, *, level: float = 0.95
    ) -> pd.DataFrame:
        """Return a test of each table for a difference from another release of other people.

        A pandas frame, the surest difference first; see `deniable.analysis.difference`.
        """
        from deniable.analysis.difference import differences

        return differences(self, other, order, level=level)

    @staticmethod
    def combine(
        strata: Mapping[str, Release], weights: Mapping[str, float], consistency: str = "none"
    ) -> Release:
        """Return the release of a population, from those of its strata.

        ``weights`` are the strata's shares of the population, which must be known from elsewhere;
        they are divided by their sum. Strata are groups of one survey, of different people.
        """
        return _CombinedRelease(strata, weights, consistency)

    def report(self, path: str | Path) -> None:
        """Write one self-contained .html file that tells all of it, and works offline."""
        from deniable.show.report import write_report

        write_report(self, path)

    def export(self, path: str | Path) -> None:
        """Write every table up to the survey's order: .csv, .parquet, .json, or the .html report."""
        from deniable.show.export import write_export

        write_export(self, path)

    def __repr__(self) -> str:
        mark = "" if self.plausible else ", IMPLAUSIBLE"
        mark += ", SIMULATED" if self.simulated else ""
        mark = f", {len(self.strata)} strata combined{mark}" if self.strata else mark
        applied = f" ({self.applied} applied)" if self.applied != self.consistency else ""
        return (
            f"<Release of survey {self.mechanism.id[:8]}: {self.people:,} people, "
            f"order {self.mechanism.order}, consistency {self.consistency}{applied}{mark}>"
        )


class _CombinedRelease(Combined, Release):
    """A release of several strata, which answers as one of a single tally does."""


def load_survey(path: str | Path) -> Survey:
    """Read a survey from a file."""
    try:
        text = read_text(path)
    except FileNotFoundError:
        raise SurveyError(f"There is no survey {Path(path).name}.") from None
    except OSError as error:
        raise SurveyError(
            f"{Path(path).name} cannot be read as a survey: {error.strerror}."
        ) from None
    except ValueError:
        raise SurveyError(f"{Path(path).name} cannot be read as a survey: it is no text.") from None
    return Survey.from_json(text)
