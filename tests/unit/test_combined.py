"""Combined strata: a weighted mean that does all that a release does."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from deniable import Release, Schema, Survey
from deniable.errors import GroupError, TableError

REGIONS = ["north", "south", "west"]
BINARY = Survey(Schema.binary("a", "b", "c"), 2, 2.0, "InpHT", labels={"region": REGIONS})
MIXED = Survey(Schema.of(a=[*"xyz"], b=[False, True]), 2, 2.0, "MargPS", labels={"region": REGIONS})


def frame(counts: dict[str, int], binary: bool = True, seed: int = 1) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    parts = []
    for place, (region, count) in enumerate(counts.items()):
        held = random.random((count, 3)) < 0.2 + 0.2 * place
        own = pd.DataFrame(held, columns=list("abc")).assign(region=region)
        if not binary:
            own = own.assign(a=random.choice([*"xyz"], count)).drop(columns="c")
        parts.append(own)
    return pd.concat(parts, ignore_index=True)


def groups(survey: Survey, counts: dict[str, int], **how):
    batch = survey.randomize(frame(counts, survey is BINARY), "combined")
    return survey.tally(batch, by="region", simulation=True).release(**how)


COUNTS = {"north": 3000, "south": 800, "west": 500}
WEIGHTS = {"north": 2, "west": 5, "south": 3}


@pytest.mark.parametrize("survey", [BINARY, MIXED], ids=["binary", "mixed"])
def test_tables_are_the_weighted_mean_of_the_strata(survey: Survey) -> None:
    made = groups(survey, COUNTS)
    whole = made.combine(WEIGHTS)
    table = whole.marginal("b", "a")
    parts = {name: release.marginal("b", "a") for name, release in made.items()}
    mean = sum(WEIGHTS[name] / 10 * part.values for name, part in parts.items())
    spread = sum((WEIGHTS[name] / 10) ** 2 * part.covariance for name, part in parts.items())
    assert table.values == pytest.approx(mean)
    assert table.covariance == pytest.approx(spread)
    assert table.standard_error.ravel() == pytest.approx(np.sqrt(np.diag(spread)))
    assert (table.people, table.simulated, table.kind) == (4300, True, "unbiased")
    # Of exactly these people: what sampling adds is taken away stratum by stratum.
    sampling = sum(
        (WEIGHTS[name] / 10) ** 2 * (p := part.values.clip(0, 1)) * (1 - p) / part.people
        for name, part in parts.items()
    )
    low, high = table.interval(of="people")
    error = np.sqrt((table.standard_error**2 - sampling).clip(0, None))
    assert (high - low) / 2 == pytest.approx(1.959964 * error, rel=1e-6)
    assert whole.strata == {name: pytest.approx(WEIGHTS[name] / 10) for name in REGIONS}
    assert list(whole.strata) == REGIONS
    assert "3 strata combined" in repr(whole)
    assert whole.plausible


def test_one_stratum_is_the_release_itself() -> None:
    one = groups(BINARY, COUNTS)["south"]
    whole = Release.combine({"all": one}, {"all": 7})
    assert whole.strata == {"all": 1.0}
    assert whole.marginal("a", "b").values == pytest.approx(one.marginal("a", "b").values)
    pd.testing.assert_frame_equal(
        whole.associations().drop(columns="method"), one.associations().drop(columns="method")
    )
    assert whole.squares == pytest.approx(one.squares)


def test_weights_like_the_people_give_all_reports_together() -> None:
    survey = Survey(Schema.binary("a", "b"), 2, 20.0, "InpPS", labels={"region": REGIONS})
    batch = survey.randomize(frame(COUNTS)[["a", "b", "region"]], "together")
    tallies = survey.tally(batch, by="region", simulation=True)
    whole = tallies.release().combine(COUNTS)
    together = tallies.total.release()
    assert whole.marginal("a", "b").values == pytest.approx(together.marginal("a", "b").values)
    # Strata that differ are known better than a sample that does not know of them.
    assert whole.marginal("a").standard_error.max() < together.marginal("a").standard_error.max()


@pytest.mark.parametrize("survey", [BINARY, MIXED], ids=["binary", "mixed"])
def test_it_does_what_a_release_does(survey: Survey, tmp_path: Path) -> None:
    made = groups(survey, COUNTS)
    whole = made.combine(WEIGHTS, "joint")
    assert (whole.consistency, whole.applied) == ("joint", "joint")
    assert all(table.values.min() >= 0 for table in whole.marginals(2))
    assert whole.with_consistency("joint") is whole
    plain = whole.with_consistency("none")
    assert plain.strata == whole.strata
    assert plain.marginal("a").values == pytest.approx(made.combine(WEIGHTS).marginal("a").values)
    assert len(whole.associations()) == len(whole.marginals(2))
    assert len(whole.tree().edges) == len(survey.schema) - 1
    assert whole.conditional("a", given="b").values.sum(axis=-1) == pytest.approx([1, 1])
    assert len(whole.synthesise(20, seed="s")) == 20
    again = groups(survey, COUNTS).combine(WEIGHTS, "joint")
    low, high = whole.marginal("a", "b").interval()
    assert np.array_equal(again.marginal("a", "b").interval(), (low, high))
    for name in ("r.html", "r.json", "r.csv", "r.parquet"):
        whole.export(tmp_path / name)
    report = (tmp_path / "r.html").read_text("utf-8")
    assert "north 20\N{NO-BREAK SPACE}%" in report
    assert "Combined from 3 strata" in report
    assert "Before anybody was asked" not in report
    told = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert told["strata"] == {"north": 0.2, "south": 0.3, "west": 0.5}
    assert told["people"] == 4300


def test_combined_populations_are_compared() -> None:
    made = groups(BINARY, COUNTS)
    before = made.combine(WEIGHTS)
    later = BINARY.randomize(frame(COUNTS, seed=2), "later")
    after = BINARY.tally(later, by="region", simulation=True).release().combine(WEIGHTS)
    found = before.difference(after, "a", "b")
    assert found.covariance == pytest.approx(
        before.marginal("a", "b").covariance + after.marginal("a", "b").covariance
    )
    assert 0 < found.p_value <= 1
    with pytest.raises(TableError, match="hold the same people"):
        before.difference(made["north"], "a")


def test_what_no_stratum_was_asked_is_not_known() -> None:
    small = Survey(Schema.binary(*"abcdefgh"), 2, 1.1, "InpHT")
    random = np.random.default_rng(3)
    held = pd.DataFrame(random.random((5060, 8)) < 0.5, columns=list("abcdefgh"))
    many, few = (  # 60 people, 36 questions, three of them for a table
        small.tally(small.randomize(part, "known"), simulation=True).release()
        for part in (held[60:], held[:60])
    )
    whole = Release.combine({"many": many, "few": few}, {"many": 1, "few": 1})
    unknown = [table for table in whole.marginals() if not table.known]
    assert 0 < len(unknown) < 28
    assert all(math.isinf(table.standard_error.max()) for table in unknown)
    assert all(few.marginal(*table.names).known is False for table in unknown)
    assert {"unknown", "bootstrap"} == set(whole.associations()["method"])


def one(survey: Survey = BINARY, **how) -> Release:
    return groups(survey, {"north": 300}, **how)["north"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Release.combine({}, {}), "nothing to combine"),
        (lambda: Release.combine([one()], [1]), "two mappings"),
        (lambda: Release.combine({"n": one()}, {}), "'n' needs a weight"),
        (lambda: Release.combine({"n": one()}, {"n": 1, "s": 1}), "'s' is of no stratum"),
        (lambda: Release.combine({"n": one()}, {"n": 0}), "must be a positive number"),
        (lambda: Release.combine({"n": one()}, {"n": -1}), "must be a positive number"),
        (lambda: Release.combine({"n": one()}, {"n": 10**400}), "must be a positive number"),
        (lambda: groups(BINARY, {"north": 200, "west": 20}).combine(None), "two mappings"),
        (lambda: Release.combine({"n": one()}, {"n": math.inf}), "must be a positive number"),
        (lambda: Release.combine({"n": one()}, {"n": True}), "must be a positive number"),
        (lambda: Release.combine({"n": one()}, {"n": "1"}), "must be a positive number"),
        (lambda: Release.combine({"n": one()}, {"n": 1}, "model"), '"none" or "joint"'),
        (lambda: Release.combine({"n": (r := one()), "m": r}, {"n": 1, "m": 1}), "count twice"),
        (
            lambda: Release.combine({"n": one(), "m": one(MIXED)}, {"n": 1, "m": 1}),
            "groups of one survey",
        ),
        (
            lambda: Release.combine(
                {"n": one(MIXED), "m": one(MIXED, estimator="unpooled")}, {"n": 1, "m": 1}
            ),
            "estimated alike",
        ),
    ],
)
def test_what_cannot_be_combined_gets_one_sentence(call, words: str) -> None:
    with pytest.raises(TableError, match=words):
        call()


def test_a_stratum_that_is_too_small_must_be_put_together_with_another() -> None:
    tallies = BINARY.tally(
        BINARY.randomize(frame(COUNTS | {"west": 60}), "small"), by="region", simulation=True
    )
    made = tallies.release()
    assert made.small == ("west",)
    with pytest.raises(GroupError, match="'west' has under 100 reports and is no stratum"):
        made.combine(WEIGHTS)
    assert list(made.combine({"north": 1, "south": 1}).strata) == ["north", "south"]
    both = (tallies["south"] + tallies["west"]).release()
    whole = Release.combine({"north": made["north"], "rest": both}, {"north": 2, "rest": 8})
    assert whole.people == 3860
