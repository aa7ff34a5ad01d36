"""Survey: what is asked of people, as people hold it.

>>> from deniable import Schema, Survey
>>> schema = Schema.binary("Comedy", "Crime")
>>> survey = Survey(schema, order=2, epsilon=1.0986122886681098, mechanism="InpHT")
>>> print(survey.question(2).english())
Is exactly one of these two true for you?
• Comedy – yes
• Crime – yes
Your device reports the opposite with probability 1/4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from deniable.errors import ReportError, SurveyError
from deniable.formats.reading import read_text
from deniable.messages.report import ReportBatch
from deniable.questions.entropy import Key
from deniable.schema.frames import is_spark, is_stream, to_arrow
from deniable.schema.labels import Labels
from deniable.schema.schema import Schema
from deniable.survey.format import read_survey
from deniable.survey.frozen import FrozenSurvey

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from deniable.api.tally import Tallies, Tally
    from deniable.collector.engines import Progress
    from deniable.questionnaire.questionnaire import Questionnaire
    from deniable.questionnaire.texts import Texts


class Survey(FrozenSurvey):
    """What is asked of people, frozen: its id names every detail of it.

    ``order`` is the largest number of attributes a table may have. ``mechanism="auto"`` takes the
    one with the smallest predicted error, once, now; it may be told a ``workload`` (the tables that
    matter) and a ``pilot`` (an earlier release), as `plan` may. With a mechanism's name, ``options``
    are its own (Subspace takes both of these, too). ``aim`` is what the design is good at where
    attributes have more than two values: "tables" as they are read, finding "associations", or
    "unbiased" tables; ``people`` is how many are expected, and shapes the design, as does ``prior``, the
    mean square contingency that is expected of a pair (0.05), where there is no pilot.

    ``labels`` declares public facts that travel beside a report, such as ``{"region": ["north",
    "south"]}``: no ε protects them. ``periods`` are days (``["2026-11-01", "2026-12-01", "2027-01-01"]``
    are two months): a device draws by lot in which period it answers. ``texts`` are the words in which
    people are asked, in all languages (`Survey.from_questionnaire` brings them); the survey holds their
    digests. ``follows`` is the id of a survey that this one replaces: whoever answered that one does not
    answer again by itself.
    """

    def __init__(
        self,
        schema: Schema,
        order: int = 2,
        epsilon: float = 1.1,
        mechanism: str = "auto",
        *,
        aim: str = "tables",
        people: int = 100_000,
        labels: Mapping[str, Iterable[str]] | None = None,
        periods: Iterable[str | date] | None = None,
        texts: Texts | None = None,
        follows: str | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(schema, Schema):
            raise SurveyError(f"A survey needs a Schema, got {type(schema).__name__}.")
        public = Labels.of(labels, periods)
        public.check(schema)
        from deniable.design.reading import check_goal, check_people
        from deniable.mechanisms.registry import mechanism_named
        from deniable.planning.aim import Aim
        from deniable.planning.plan import choose

        goal = check_goal(aim)
        check_people(people)
        if mechanism == "auto" and not set(options) - {"workload", "pilot", "prior"}:
            survey = choose(schema, order, epsilon, aim=goal, people=people, **options)
        elif mechanism == "auto":
            raise SurveyError(
                "'auto' takes a workload, a pilot or a prior; other options go with a mechanism's "
                "name."
            )
        else:
            kind = mechanism_named(mechanism)
            if "aim" in kind.options:
                rest = {name: options.pop(name, None) for name in ("pilot", "prior")}
                what = Aim.of(schema, order, goal=goal, people=people, **rest)
                options = {"strengths": what.strengths} | options
                options |= {"aim": goal, "people": people}
                options |= {"squares": what.squares} if rest["pilot"] is not None else {}
            survey = kind.survey(schema, order, epsilon, **options)
        if texts is not None:
            texts.fit(schema, public)
        digests = None if texts is None else texts.digests
        self.__dict__ |= survey.labelled(public).worded(digests, follows).__dict__

    @classmethod
    def from_questionnaire(cls, questionnaire: Questionnaire, **options: Any) -> Survey:
        """Return the survey that a questionnaire describes; options stand above its design."""
        own = {"labels": dict(questionnaire.labels.declared)} | questionnaire.design | options
        return cls(
            questionnaire.schema,
            periods=questionnaire.labels.periods or None,
            texts=questionnaire.texts,
            follows=questionnaire.follows,
            **own,
        )

    def to_json(self) -> str:
        """Return the survey's canonical JSON text."""
        return self.canonical()

    @classmethod
    def from_json(cls, text: str) -> Survey:
        """Read a survey's JSON text; nothing is computed anew."""
        return cls.of(read_survey(text))

    @classmethod
    def load(cls, path: str | Path) -> Survey:
        """Read a survey from a file."""
        name = Path(path).name
        try:
            text = read_text(path)
        except FileNotFoundError:
            raise SurveyError(f"There is no survey {name}.") from None
        except OSError as error:
            raise SurveyError(f"{name} cannot be read as a survey: {error.strerror}.") from None
        except ValueError:
            raise SurveyError(f"{name} cannot be read as a survey: it is no text.") from None
        return cls.from_json(text)

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
        are columns of the frame; where it has no column ``period``, periods are drawn. A
        `DeniableWarning` says how many values passed for another; no report tells that.

        Record batches, from an Arrow reader, a dataset or an iterator, give a stream of reports, as
        `randomize_batches` does; a Spark frame gives a Spark frame, as `randomize_spark` does.
        """
        from deniable.client.bulk import labels_of, randomize_frame

        if is_spark(frame):
            return self.randomize_spark(frame, seed)
        if is_stream(frame):
            return self.randomize_batches(frame, seed)
        table, key = to_arrow(frame), Key.of(seed)
        codes = labels_of(self, table, key)
        labels = {
            name: np.array(values, object)[codes[name]]
            for name, values in self.labels.values.items()
        }
        width = self.packed_bytes
        slots = np.empty(table.num_rows, np.int64)
        values = np.empty((len(slots), width), np.uint8) if width else np.empty_like(slots)
        stop = 0
        for part in randomize_frame(self, table, key):
            start, stop = stop, stop + len(part[0])
            slots[start:stop], values[start:stop] = part
        return ReportBatch(self.id, slots, values, seed is not None, labels)

    def randomize_batches(self, source: Any, seed: str | None = None) -> pa.RecordBatchReader:
        """Return the reports of a stream of records as a stream, in bounded memory.

        ``source`` is an Arrow reader or dataset, a lazy polars frame, a DuckDB relation, an iterable of
        record batches, or any frame. The reports are those of `randomize`, however the rows are cut.
        """
        from deniable.client.bulk import randomize_batches

        key = Key.of(seed)
        return randomize_batches(self, source, key, simulated=seed is not None)

    def randomize_spark(self, frame: DataFrame, seed: str | None = None) -> DataFrame:
        """Return the reports of a Spark frame as a Spark frame: its executors make them.

        A fresh job key travels to them inside the tasks; see `deniable.client.spark`.
        """
        from deniable.client.spark import randomize_spark

        key = Key.of(seed)
        return randomize_spark(self, frame, key, simulated=seed is not None)

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
        (duckdb, polars or spark) reads. A column ``count`` says how many reports a row stands for; other
        columns than those of reports are refused. Reports that the survey cannot have got are refused
        with all others, unless ``invalid="drop"``: then `Tally.refused` says how many, and why.
        Simulated reports are refused unless ``simulation`` says that they are wanted.
        """
        from deniable.api.tally import Tallies, Tally
        from deniable.collector.builder import labels_for
        from deniable.collector.engines import count_groups

        by = list(by) if isinstance(by, Iterable) and not isinstance(by, str) else by
        labels = Labels() if by is None else labels_for(self.labels, by)
        parts = count_groups(
            self, reports, labels, invalid=invalid, engine=engine, progress=progress
        )
        if not simulation and any(part.simulated for part in parts):
            raise ReportError(
                "The reports are simulated, with reproducible randomness; "
                "tally(..., simulation=True) takes them."
            )
        if by is None:
            return Tally.total(self, parts)
        return Tallies(self, by, parts)
