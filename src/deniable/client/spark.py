"""Spark: reports made by its executors, each from the partition of records that it holds.

The driver draws one job key, which travels to the executors inside the tasks and is kept nowhere
else. Each part of a partition gets a key of its own, derived from the job key, the number of the
partition and the digest of the records in it: no two partitions share randomness, and a task that runs
again yields the same reports. If it runs again on other records (Spark may deal rows out anew), the
digest makes its randomness new, because the same randomness on two records would give away where
they differ.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from deniable.client.bulk import columns_of, in_parts, labels_of, randomize_records, with_labels
from deniable.errors import ReportError
from deniable.formats.extras import lacking
from deniable.messages.report import Provenance, ReportBatch
from deniable.questions.entropy import Key
from deniable.survey.format import read_survey
from deniable.survey.frozen import FrozenSurvey

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MISSING = f"{lacking('Frames of Spark need Java 17 or newer, and', 'spark')}."


def randomize_spark(
    survey: FrozenSurvey, frame: DataFrame, key: Key, *, simulated: bool
) -> DataFrame:
    """Return the reports of a Spark frame's rows as a Spark frame: columns slot, value and labels.

    It is lazy, as all frames of Spark: write it once, and count what is written.
    """
    try:
        from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType
    except ImportError:
        raise ReportError(_MISSING) from None
    names = columns_of(survey, frame.columns)
    text = survey.canonical()
    provenance = Provenance(survey.id, simulated).metadata
    value = BinaryType() if survey.packed_bytes else LongType()
    schema = StructType(
        [
            StructField(
                "slot", LongType(), True, {k.decode(): v.decode() for k, v in provenance.items()}
            ),
            StructField("value", value),
            *(StructField(name, StringType()) for name in survey.labels.names),
        ]
    )

    def randomize(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        own_survey, context = read_survey(text), TaskContext.get()
        assert context is not None
        value = pa.binary() if own_survey.packed_bytes else pa.int64()
        form = pa.schema({"slot": pa.int64(), "value": value})
        first = 0
        for part in in_parts(own_survey, (batch.rename_columns(names) for batch in batches)):
            records = own_survey.schema.encode_frame(part)
            digest = hashlib.sha256(records.words.tobytes()).hexdigest()
            own = key.derive("partition", context.partitionId(), digest)
            labels, start = labels_of(own_survey, part, own, first), 0
            for slots, values in randomize_records(own_survey, records, own, first):
                table = ReportBatch(own_survey.id, slots, values).to_arrow().cast(form)
                stop = start + len(slots)
                these = {name: codes[start:stop] for name, codes in labels.items()}
                yield from with_labels(table, own_survey, these).to_batches()
                start = stop
            first += len(records)

    # mapInArrow takes a dot in a name for a path, so columns go by number.
    column_names = (f"`{name.replace('`', '``')}`" for name in names)
    columns_by_number = frame.selectExpr(
        *(f"{name} AS c{i}" for i, name in enumerate(column_names))
    )
    return columns_by_number.mapInArrow(randomize, schema)


def local_session() -> SparkSession:
    """Return the session of Spark that runs already, or a new one on this machine."""
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise ReportError(_MISSING) from None
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.config("spark.log.level", "ERROR")
    builder = builder.config("spark.ui.enabled", False)
    try:
        return builder.config("spark.ui.showConsoleProgress", sys.stderr.isatty()).getOrCreate()
    except PySparkException:
        raise ReportError("Spark does not start: it needs Java 17 or newer.") from None
