"""Spark counts groups as every other engine does, packed reports included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from deniable import Schema, Survey, Tallies
from deniable.errors import ReportError

LABELS = {"region": ["south", "north", "None"], "Größe 2-x": ["L", "l"]}
MONTHS = ["2026-11-01", "2026-12-01", "2027-01-01"]


def labelled(mechanism: str, names: str) -> Survey:
    schema = Schema.binary(*names)
    return Survey(schema, 2, 1.1, mechanism, labels=LABELS, periods=MONTHS)


def alike(made: Tallies, expected: Tallies) -> None:
    assert list(made.items()) == list(expected.items())
    assert [one.group for one in made.values()] == [one.group for one in expected.values()]
    assert (made.total, made.total.refused) == (expected.total, expected.total.refused)


@pytest.mark.parametrize(("mechanism", "names"), [("InpHT", "abc"), ("InpRR", "abcdefg")])
def test_spark_counts_groups_as_others_do(
    spark: Any, tmp_path: Path, mechanism: str, names: str
) -> None:
    survey = labelled(mechanism, names)
    random = np.random.default_rng(8)
    people = 600
    frame = pd.DataFrame(random.random((people, len(names))) < 0.4, columns=list(names))
    for name, values in survey.labels.values.items():
        frame[name] = random.choice(values, people)
    batch = survey.randomize(frame)
    batch.to_parquet(tmp_path / "sound.parquet")
    table = batch.to_arrow()
    for name in survey.labels.names:
        texts = np.array(table[name].to_pylist(), object)
        texts[random.choice(people, 30)] = None
        texts[random.choice(people, 30)] = "NORTH"
        table = table.set_column(table.column_names.index(name), name, pa.array(texts))
    reports = spark.createDataFrame(table).repartition(3)
    alike(
        survey.tally(tmp_path / "sound.parquet", by="period", engine="spark"),
        survey.tally(batch, by="period"),
    )
    for by in ("region", list(survey.labels.names)):
        expected = survey.tally(table, by=by, invalid="drop")
        assert expected.total.refused["unknown label"] > 100
        alike(survey.tally(reports, by=by, invalid="drop"), expected)
    together = survey.tally(reports, invalid="drop")
    assert (together, together.refused) == (expected.total, expected.total.refused)
    with pytest.raises(ReportError, match="To be counted by region"):
        survey.tally(reports.drop("region"), by="region")
    with pytest.raises(ReportError, match="The column region must hold texts"):
        survey.tally(reports.withColumn("region", reports["slot"]), by="region")
