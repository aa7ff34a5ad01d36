"""A survey and its successor, real data: pooled tables have the pooled variance, and cover.

Seeds are fixed. Of 250 repeats, the mean squared error of cells over their stated variance scatters
by .03 and the coverage of 95 % intervals by .004, so bounds of .15 and .02 alarm less than
once in 10⁵ times (1,000 repeats: docs/evolving.md). What is stated needs no such room.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from script_parts import load_script

from deniable import Release, Schema, Survey, Tally
from deniable.messages.report import ReportBatch

pytestmark = pytest.mark.slow


def measured(shared_data: Path, **how: Any) -> Any:
    script = load_script("measure_pooling")
    return script.measure(script.SETTINGS[1], shared_data, **{"repeats": 250} | how)


def is_stated(result: Any) -> bool:
    return bool(abs(result.stated - 1) < 0.02)


def is_true(result: Any) -> bool:
    return 0.85 < result.observed < 1.15 and 0.93 <= result.shared <= 0.97


def test_shared_tables_have_the_pooled_variance_and_cover(shared_data: Path) -> None:
    result = measured(shared_data)
    assert is_stated(result)
    assert is_true(result)
    assert 0.92 <= result.added <= 0.98  # a quarter of the tables


def test_people_who_count_twice_are_noticed(shared_data: Path) -> None:
    def twice(both: list[Release]) -> Release:
        tally = both[1].tallies[0]
        return Release.pool([both[0], Tally.of(replace(tally, count=2 * tally.count)).release()])

    result = measured(shared_data, pool=twice, repeats=40)
    assert not is_stated(result)
    assert not is_true(result)


def test_a_release_that_leaves_one_survey_out_is_noticed(shared_data: Path) -> None:
    assert not is_stated(measured(shared_data, pool=lambda both: both[1], repeats=20))


def test_people_in_both_surveys_make_errors_too_small_by_the_shortfall() -> None:
    """All are in both surveys, so what lacks is what `shortfall` says; it scatters by .032."""
    surveys = [Survey(Schema.binary("a"), 1, epsilon, "InpHT") for epsilon in (4.0, 5.0)]
    people, repeats = 400, 500
    records = np.random.default_rng(3).random(people * repeats) < 0.5
    frame = pd.DataFrame({"a": records})
    batches = [own.randomize(frame, f"{own.epsilon}") for own in surveys]
    means, errors, shortfall = [], [], 0.0
    for start in range(0, len(frame), people):
        both = []
        for own, batch in zip(surveys, batches, strict=True):
            rows = slice(start, start + people)
            part = ReportBatch(own.id, batch.slots[rows], batch.values[rows], simulated=True)
            both.append(own.tally(part, simulation=True).release())
        pooled = Release.pool(both)
        assert pooled.pooling is not None
        shortfall, table = pooled.pooling.shortfall, pooled.marginal("a")
        means.append(table.values[1])
        errors.append(table.standard_error[1])
    assert 1 + shortfall == pytest.approx(np.std(means) / np.mean(errors), rel=0.16)
    assert shortfall > 0.3
