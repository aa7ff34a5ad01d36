"""Executors of a real Spark take labels from columns, and draw periods as one machine does."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from deniable import Schema, Survey
from deniable.errors import RecordError

MONTHS = ["2026-11-01", "2026-12-01", "2027-01-01", "2027-02-01"]
LABELS = {"the region": ["north", "south"], "a-b": ["1", "2"]}
FALSE_ALARM = 1e-6


def survey(mechanism: str = "InpHT") -> Survey:
    names = "cdefghi" if mechanism == "InpRR" else "cde"
    return Survey(Schema.binary(*names), 2, 1.1, mechanism, labels=LABELS, periods=MONTHS)


def people(spark: Any, folder: Path, count: int, files: int, **more: str) -> Any:
    """Write records to several files; who holds c lives in the north."""
    random = np.random.default_rng(8)
    frame = pd.DataFrame({name: random.random(count) < 0.4 for name in "cdefghi"})
    frame["the region"] = np.where(frame["c"], "north", "south")
    frame["a-b"] = random.integers(1, 3, count)
    frame = frame.assign(**more)
    folder.mkdir()
    for index, part in enumerate(np.array_split(np.arange(count), files)):
        frame.iloc[part].to_parquet(folder / f"{index}.parquet", index=False)
    return frame, spark.read.parquet(str(folder))


@pytest.mark.parametrize("mechanism", ["InpHT", "InpRR"])
def test_labels_stay_with_their_rows_and_periods_are_drawn(
    mechanism: str, spark: Any, tmp_path: Path
) -> None:
    asked = survey(mechanism)
    held, frame = people(spark, tmp_path / "records", 150_000, 2)
    reports = asked.randomize_spark(frame, seed="x").toArrow().to_pandas()
    assert list(reports.columns) == ["slot", "value", "the region", "a-b", "period"]
    assert reports["the region"].tolist() == held["the region"].tolist()
    assert reports["a-b"].tolist() == held["a-b"].astype(str).tolist()
    counts = Counter(reports["period"])
    assert stats.chisquare([counts[month] for month in MONTHS[:-1]]).pvalue > FALSE_ALARM
    first, second = np.array_split(reports["period"].to_numpy(), 2)
    assert 0.3 < np.mean(first == second) < 0.37, "partitions draw apart"
    if mechanism == "InpHT":  # the report of a row is about that row
        about_c = [slot for slot in range(asked.slots) if asked.question(slot).attributes == ("c",)]
        told = reports[reports["slot"].isin(about_c)].groupby("the region")["value"].mean()
        assert abs(told["north"] - told["south"]) > 0.3


def test_a_column_of_periods_is_taken(spark: Any, tmp_path: Path) -> None:
    _, frame = people(spark, tmp_path / "records", 500, 2, period="2027-01-01")
    reports = survey().randomize_spark(frame).toArrow().to_pandas()
    assert set(reports["period"]) == {"2027-01-01"}


def test_a_label_that_is_not_declared_names_its_column_and_never_its_value(
    spark: Any, tmp_path: Path
) -> None:
    _, frame = people(spark, tmp_path / "absent", 50, 1)
    with pytest.raises(RecordError, match="no column 'the region'"):
        survey().randomize_spark(frame.drop("the region"))
    _, frame = people(spark, tmp_path / "wrong", 50, 1, period="Rumpel")
    with pytest.raises(Exception, match="Column 'period' has labels that are missing") as caught:
        survey().randomize_spark(frame).toArrow().to_pandas()
    assert "Rumpel" not in str(caught.value)
