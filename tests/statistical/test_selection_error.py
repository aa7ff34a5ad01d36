"""What is picked from many holds on average over what is picked; null surveys find nothing; test and
interval agree; mutual information is not biased up where noise dominates.

Seeds are fixed. Pairs of one survey are not quite independent of each other; bounds leave room for
three standard errors of the surveys' own scatter. `scripts/measure_selection.py` measures more of it.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from script_parts import load_script

from deniable.decoding.slot_evidence import SlotEvidence
from deniable.release.dependence import selection
from deniable.release.dependence.selection import Effects, Prior, drawn, misses

script = cache(partial(load_script, "measure_selection"))


@cache
def surveys() -> pd.DataFrame:
    """Return 25 surveys of thirty attributes that hardly depend on each other."""
    frame = script().made_up(30, people=20_000, weakest=0.1)
    return pd.concat(script().associations(frame, 250_000, 2.0, 25))


@pytest.mark.slow
def test_intervals_of_shown_pairs_hold_and_estimates_are_not_too_large():
    rates = script().summary(surveys())
    assert rates["shown"] > 3
    assert rates["missed"] <= 0.07
    assert rates["first"] <= 0.07
    assert 0.7 <= rates["v"] <= 1.25
    # The planted bug: intervals that hold for each pair by itself miss far more of what was picked.
    assert rates["plain"] > 0.1
    assert rates["first_plain"] > 0.1


@pytest.mark.slow
def test_an_interval_begins_above_0_where_the_test_finds_something():
    binary, own = surveys(), script()
    random = np.random.default_rng(1)
    kinds = {f"a{i}": random.choice([*"abcd"][: 2 + i % 3], 5_000) for i in range(6)}
    kinds["a6"] = np.where(random.random(5_000) < 0.15, kinds["a5"], kinds["a2"])
    mixed = pd.concat(own.associations(pd.DataFrame(kinds), 4_000, 4.0, 12))
    for found in (binary, mixed):
        assert own.summary(found)["disagree"] == 0
        agreed = (found["cramers_v_low"] > 0) == (found["p_value"] < 1 - found["interval_level"])
        assert agreed.all()
        inside = found["cramers_v"].between(found["cramers_v_low"], found["cramers_v_high"])
        assert inside.all()
        nats = found["mutual_information"]
        ends = found["mutual_information_low"] - 1e-12, found["mutual_information_high"] + 1e-12
        assert nats.between(*ends).all()
    # The planted bug: an interval at the level of another row disagrees.
    assert ((binary["low"] > 0) != (binary["p_value"] < 1 - binary["interval_level"])).any()


@pytest.mark.slow
def test_mutual_information_is_not_biased_up_where_noise_dominates():
    found = surveys()
    noisy = found[found["q_value"] > 0.5]
    assert noisy["mutual_information"].mean() <= 1.2 * noisy["nats"].mean()
    # The planted bug: what is below 0 counts as 0, and nothing is drawn towards it.
    plain = (noisy["statistic"] - 1).clip(0, None) * noisy["detectable_v"] ** 2 / 7.85 / 2
    assert plain.mean() > 2 * noisy["nats"].mean()


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["auto", "InpHT"])
def test_null_surveys_hardly_have_a_discovery(mechanism: str) -> None:
    frame = script().made_up(10, people=20_000, weakest=0.1)
    found = script().null_tests(frame, 500, 4.0, 80, mechanism)
    assert script().discoveries(found) <= 0.10 + 3 * np.sqrt(0.1 * 0.9 / 80)
    assert (found["p_value"] < 1e-4).mean() <= 1e-3
    assert 0.03 <= (found["p_value"] < 0.05).mean() <= 0.065


@pytest.mark.slow
def test_a_covariance_at_the_estimate_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: the noise of the estimate, which is small where the estimate is far off."""
    sound = SlotEvidence.cell_covariances

    def at_estimates(self: Any, tables: Any, truth: Any = None) -> Any:
        return sound(self, tables)

    monkeypatch.setattr(SlotEvidence, "cell_covariances", at_estimates)
    frame = script().made_up(10, people=20_000, weakest=0.1)
    found = script().null_tests(frame, 500, 4.0, 40, "InpHT")
    assert script().discoveries(found) > 0.25
    assert (found["p_value"] < 1e-4).mean() > 2e-3


@pytest.mark.slow
def test_intervals_of_shown_differences_hold():
    rows = script().differences(40_000, 4.0, 40)
    shown = rows[rows["q_value"] <= script().SHOWN]
    assert len(shown) >= 60
    assert script().misses(shown, "low", "high", "true") <= 0.07
    # The planted bugs: intervals of one table by itself, and differences as they were measured.
    assert script().misses(shown, "plain_low", "plain_high", "true") > 0.1
    true = shown["true"].abs().sum()
    assert 0.75 <= shown["difference"].abs().sum() / true <= 1.25
    assert shown["measured"].abs().sum() / true > 1.25


def test_the_first_rows_have_the_widest_intervals():
    p = np.array([0.2, 0.001, np.nan, 0.03])
    alpha = misses(p, -p, 0.95)
    assert alpha == pytest.approx([0.05, 0.05 / 3, 0.05, 0.1 / 3])
    chosen = misses(p, -p, 0.95, select=0.05)
    assert chosen == pytest.approx([0.05, 0.1 / 3, 0.05, 0.1 / 3])
    assert misses(p, -p, 0.95, select=1) == pytest.approx([0.05] * 4)


def test_effects_are_drawn_as_far_as_all_of_them_say(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(2)
    truth = np.where(random.random(20_000) < 0.1, random.normal(0, 3, 20_000), 0)
    values, errors = truth + random.normal(size=20_000), np.ones(20_000)

    def bias() -> float:
        """Return how many times too large the five hundred largest are."""
        top = np.argsort(-np.abs(values))[:500]
        return float((drawn(values, errors)[top] / np.sign(values[top])).sum() / (
            truth[top] * np.sign(values[top])).sum())  # fmt: skip

    assert bias() == pytest.approx(1, abs=0.03)
    assert np.abs(drawn(values, errors)).mean() < np.abs(values).mean() / 2
    length = Prior.of(Effects.of_numbers(values, errors)).length(Effects.of_numbers(values, errors))
    # Some of what is nothing cannot be told from little; measured values are four times as long.
    assert 0.9 <= length.mean() / np.abs(truth).mean() <= 1.5
    assert np.abs(values).mean() / np.abs(truth).mean() > 3
    assert drawn(np.array([3.0]), np.ones(1)) == pytest.approx([3.0]), "one alone was not picked"
    # The planted bug: a prior without nothing in it draws too little off.
    monkeypatch.setattr(selection, "_fit", lambda likelihood: np.eye(likelihood.shape[1])[-1])
    assert bias() > 1.03
