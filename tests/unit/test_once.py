"""What takes long is done once: a merge of counts, a decoding of each half, a fit of each number."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from deniable import Schema, Survey
from deniable.collector import tally as tallies
from deniable.decoding.decoder import InclusionDecoder
from deniable.release.numbers.likelihood import Climb
from deniable.schema.attribute import Attribute

PEOPLE = 3_000


@pytest.fixture
def calls(monkeypatch) -> Counter[str]:
    """Count what is called where it does its work."""
    counter: Counter[str] = Counter()

    def count(owner: object, name: str) -> None:
        function = getattr(owner, name)

        def counting(*arguments: object, **options: object) -> object:
            counter[name] += 1
            return function(*arguments, **options)

        monkeypatch.setattr(owner, name, counting)

    count(tallies.np, "lexsort")
    count(InclusionDecoder, "decode")
    count(Climb, "__init__")
    return counter


def people(*numbers: str) -> pd.DataFrame:
    random = np.random.default_rng(3)
    trait = random.random(PEOPLE) < 0.5
    frame = pd.DataFrame(
        {name: random.random(PEOPLE) < 0.3 + 0.3 * trait for name in ("ill", "old", "poor")}
    )
    frame["job"] = np.array(list("abc"))[random.integers(0, 3, PEOPLE)]
    for name in numbers:
        frame[name] = random.integers(0, 20, PEOPLE) + 10 * trait
    return frame


def mixed(*numbers: str) -> Survey:
    attributes = [*map(Attribute, ("ill", "old", "poor")), Attribute("job", tuple("abc"))]
    attributes += [Attribute(name, low=0, high=29, step=1) for name in numbers]
    return Survey(Schema(attributes), 2, 2.0)


def test_a_table_a_quantile_and_a_distribution_share_their_work(calls) -> None:
    survey = mixed("age")
    tally = survey.tally(survey.randomize(people("age"), seed="once"), simulation=True)
    assert calls["lexsort"] <= 1
    release = tally.release("auto")
    release.marginal("job", "age").to_frame()
    release.marginal("age", "ill", bins={"age": [10]}).to_frame()
    release.quantile("age", [0.1, 0.5])
    release.distribution("age")
    release.mean("age", by="job").to_frame()
    assert release.applied == "model"
    assert calls["decode"] == 3  # the whole, and two halves
    assert calls["__init__"] == 1


def test_a_model_of_categories_is_compared_with_joint_tables_of_the_same_halves(calls) -> None:
    survey = mixed()
    release = survey.tally(survey.randomize(people(), seed="once"), simulation=True).release("auto")
    assert release.fit.joint is not None
    assert calls["decode"] == 3
    assert calls["lexsort"] <= 1


def test_reports_to_rows_are_merged_once(calls) -> None:
    """Where no counters are held for all that can be reported, rows are sorted, once a block."""
    frame = pd.DataFrame({f"a{i}": np.arange(PEOPLE) % (i + 2) == 0 for i in range(40)})
    batch = (survey := Survey(Schema.binary(*frame), 5, 2.0, "MargPS")).randomize(
        frame, seed="once"
    )
    calls.clear()
    survey.tally(batch, simulation=True)
    assert calls["lexsort"] == 1


def test_a_release_processed_in_another_way_fits_no_number_again(calls) -> None:
    survey = mixed("age")
    tally = survey.tally(survey.randomize(people("age"), seed="once"), simulation=True)
    release = tally.release("none")
    assert not calls["__init__"]
    other = release.with_consistency("auto")
    np.testing.assert_array_equal(
        other.distribution("age").to_frame(), release.distribution("age").to_frame()
    )
    release.quantile("age", 0.5)
    assert calls["__init__"] == 1
