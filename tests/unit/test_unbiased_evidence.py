"""Whatever consistency a release has, what is tested, compared and pooled is unbiased."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from deniable import Release, Schema, Survey
from deniable.analysis.difference import any_difference, group_differences

PROCESSED = ["joint", "model", "auto"]


@pytest.fixture(scope="module", params=["mixed", "binary"])
def tallies(request: pytest.FixtureRequest) -> list[Any]:
    """Tallies of two samples of different people, who are not alike."""
    values = {"b": [0, 1, 2], "c": [0, 1, 2, 3]} if request.param == "mixed" else {}
    frames = []
    for seed in (1, 2):
        random = np.random.default_rng(seed)
        a = random.random(2000) < 0.2 + 0.1 * seed
        b, c = (random.integers(0, len(values.get(name, "??")), 2000) for name in "bc")
        c = np.where(a, 0, c)
        plain = {"b": b, "c": c} if values else {"b": b > 0, "c": c > 0}
        frames.append(pd.DataFrame({"a": a, **plain}))
    survey = Survey(Schema.from_frame(frames[0], values=values), 2, 2.0)
    return [
        survey.tally(survey.randomize(frame, seed=f"{n}"), simulation=True)
        for n, frame in enumerate(frames)
    ]


@pytest.mark.parametrize("consistency", PROCESSED)
def test_tests_are_of_the_unbiased_estimates(tallies: list[Any], consistency: str) -> None:
    plain, release = tallies[0].release(), tallies[0].release(consistency)
    assert release.applied != "none"
    tables = [each.marginal("a", "c").values for each in (release, plain)]
    assert not np.allclose(*tables), "something was done"
    pd.testing.assert_frame_equal(release.associations(), plain.associations())
    pd.testing.assert_frame_equal(release.paper_chi_square(), plain.paper_chi_square())
    edges = [each.tree(significant=True).edges for each in (release, plain)]
    columns = ["mutual_information", "standard_error", "q_value"]
    both = [each.set_index(["a", "b"])[columns].sort_index() for each in edges]
    common = both[0].index.intersection(both[1].index)
    assert len(common)
    pd.testing.assert_frame_equal(both[0].loc[common], both[1].loc[common])
    pd.testing.assert_frame_equal(release.unprocessed.tree().edges, plain.tree().edges)


@pytest.mark.parametrize("consistency", PROCESSED)
def test_differences_are_of_the_unbiased_estimates(tallies: list[Any], consistency: str) -> None:
    plain = [tally.release() for tally in tallies]
    releases = [tally.release(consistency) for tally in tallies]
    one, other = (
        releases[0].difference(releases[1], "a", "c"),
        plain[0].difference(plain[1], "a", "c"),
    )
    pd.testing.assert_frame_equal(one.to_frame(), other.to_frame())
    assert one.p_value == other.p_value
    pd.testing.assert_frame_equal(
        releases[0].differences(releases[1]), plain[0].differences(plain[1])
    )
    groups, plain_groups = (dict(zip("xy", each, strict=True)) for each in (releases, plain))
    assert any_difference(groups, "a", "c") == any_difference(plain_groups, "a", "c")
    pd.testing.assert_frame_equal(group_differences(groups), group_differences(plain_groups))


@pytest.mark.parametrize("consistency", PROCESSED)
def test_strata_are_combined_from_the_unbiased_estimates(
    tallies: list[Any], consistency: str
) -> None:
    weights = {"x": 2.0, "y": 1.0}
    both = [
        Release.combine(
            {name: tally.release(own) for name, tally in zip("xy", tallies, strict=True)}, weights
        ).marginal("a", "c")
        for own in ("none", consistency)
    ]
    np.testing.assert_array_equal(both[0].values, both[1].values)
    np.testing.assert_array_equal(both[0].covariance, both[1].covariance)
