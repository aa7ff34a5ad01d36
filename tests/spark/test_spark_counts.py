"""Spark counts rows that say how many reports they stand for as it counts these reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable import Schema, Survey
from deniable.errors import ReportError

LABELS = {"region": ["north", "south"]}
SURVEYS = [
    Survey(Schema.binary("a", "b", "c"), 2, 1.1, "InpHT", labels=LABELS),
    Survey(Schema.binary(*"abcdefg"), 2, 1.1, "InpRR", labels=LABELS),
]


@pytest.mark.parametrize("survey", SURVEYS, ids=lambda survey: survey.mechanism)
def test_spark_counts_what_rows_stand_for(spark: Any, survey: Survey, tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    frame = pd.DataFrame(random.random((60, len(survey.schema))) < 0.4, columns=survey.schema.names)
    frame["region"] = random.choice(LABELS["region"], 60)
    single, counts = survey.randomize(frame).to_arrow(), random.integers(0, 7, 60)
    repeated = single.take(np.repeat(np.arange(60), counts))
    expected, groups = survey.tally(repeated), survey.tally(repeated, by="region")
    for kind in (pa.int64(), pa.int32(), pa.float64(), pa.decimal128(20, 0)):
        table = single.append_column("count", pa.array(counts).cast(kind))
        pq.write_table(table.replace_schema_metadata(None), tmp_path / "counted.parquet")
        counted = spark.read.parquet(str(tmp_path / "counted.parquet"))
        assert survey.tally(counted) == expected
        tallies = survey.tally(counted, by="region")
        assert all(tallies[name] == groups[name] for name in groups)
        assert survey.tally(tmp_path / "counted.parquet", engine="spark") == expected


@pytest.mark.parametrize("survey", SURVEYS, ids=lambda survey: survey.mechanism)
@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([1, -1], "does not in 1 rows"),
        ([1, None], "does not in 1 rows"),
        ([1.0, 0.5], "does not in 1 rows"),
        ([1.0, float("nan")], "does not in 1 rows"),
        ([1, 2**63 - 1], "does not in 1 rows"),
        ([2**53 - 1] * 1500, "2\\^53 reports or more"),
        (["1", "2"], "must hold numbers"),
        ([True, True], "must hold numbers"),
    ],
)
def test_spark_refuses_what_is_no_count(
    spark: Any, survey: Survey, counts: list[Any], words: str
) -> None:
    value = pa.array([bytes(16)] * len(counts)) if survey.packed_bytes else [0] * len(counts)
    table = pa.table({"slot": [0] * len(counts), "value": value, "count": counts})
    with pytest.raises(ReportError, match=words):
        survey.tally(spark.createDataFrame(table), invalid="drop")


@pytest.mark.parametrize("survey", SURVEYS, ids=lambda survey: survey.mechanism)
def test_spark_names_any_other_column(spark: Any, survey: Survey) -> None:
    value = pa.array([bytes(16)]) if survey.packed_bytes else [0]
    table = pa.table({"slot": [0], "value": value, "Count": [3]})
    with pytest.raises(ReportError, match="column 'Count'"):
        survey.tally(spark.createDataFrame(table))
