"""Regressions: without noise they are those of the records, and what cannot be told is refused."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
import pandas as pd
import pytest

from deniable import Attribute, Release, Schema, Survey, simulate
from deniable.analysis.regression import regress
from deniable.analysis.regression.moments import Moments
from deniable.errors import TableError

PEOPLE = 4_000


def people() -> pd.DataFrame:
    random = np.random.default_rng(3)
    age = random.integers(18, 81, PEOPLE)
    region = random.choice(["north", "east", "south"], PEOPLE, p=[0.5, 0.3, 0.2])
    smoker = random.random(PEOPLE) < 0.2 + 0.3 * (region == "south")
    score = age / 20 + 2 * smoker + (region == "east") + random.normal(0, 2, PEOPLE)
    ill = random.random(PEOPLE) < 1 / (1 + np.exp(2 - age / 40 - smoker))
    income = np.where(random.random(PEOPLE) < 0.1, None, (score * 3 + 10).round().clip(0, 40))
    frame = {"age": age, "region": region, "smoker": smoker, "ill": ill}
    return pd.DataFrame(frame | {"score": score.round().clip(-4, 12), "income": income})


SCHEMA = Schema.of(
    age=(18, 80),
    region=["north", "east", "south"],
    smoker=[False, True],
    ill=[False, True],
    score=Attribute("score", low=-4, high=12, step=1),
    income=Attribute("income", low=0, high=40, step=1, missing="not said"),
)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return people()


def release_of(frame: pd.DataFrame, order: int = 2, epsilon: float = 12.0) -> Release:
    return simulate(Survey(SCHEMA, order, epsilon, "Subspace"), frame, "regression")


@pytest.fixture(scope="module")
def release(frame) -> Release:
    return release_of(frame)


@pytest.fixture
def without_noise(frame, monkeypatch) -> None:
    """Give all mean products as they are among the records."""
    records = SCHEMA.encode_frame(frame)

    def mean(functions) -> float:
        own = [values[SCHEMA.codes(records, a)] for a, values in functions.items()]
        return float(np.prod([np.ones(len(records)), *own], axis=0).mean())

    class Known(Moments):
        @cached_property
        def values(self):
            return np.array([mean(functions) for functions in self._products])

        @cached_property
        def expected_covariance(self):
            return 1e-14 * np.eye(len(self.pairs))

        def covariance(self, sums):
            return 1e-14 * np.eye(len(sums))

    monkeypatch.setattr(regress, "Moments", Known)


def least_squares(columns: list[np.ndarray], outcome: np.ndarray) -> np.ndarray:
    x = np.column_stack([np.ones(len(outcome)), *columns]).astype(float)
    return np.linalg.lstsq(x, outcome.astype(float), rcond=None)[0]


def test_least_squares_are_those_of_numpy_on_the_records(frame, release, without_noise):
    fit = release.regress("score ~ age/10 + (age/10)^2 + region + smoker")
    age, region = frame["age"] / 10, frame["region"]
    columns = [age, age**2, region == "east", region == "south", frame["smoker"]]
    assert fit.labels[1:] == ("age/10", "(age/10)^2", "region[east]", "region[south]", "smoker")
    expected = least_squares(columns, frame["score"])
    assert fit.values == pytest.approx(expected, rel=1e-6)
    x = np.column_stack([np.ones(PEOPLE), *columns]).astype(float)
    rest = frame["score"] - x @ expected
    explained = 1 - rest.var() / frame["score"].var()
    assert fit.r_squared.estimate == pytest.approx(explained, rel=1e-6)
    assert fit.residual_variance == pytest.approx(rest.var(ddof=0), rel=1e-6)
    deviation = x.std(axis=0) / frame["score"].std(ddof=0)
    assert fit.standardised[1:] == pytest.approx((fit.values * deviation)[1:], rel=1e-6)


def test_whoever_lacks_a_number_has_a_column_of_its_own(frame, release, without_noise):
    fit = release.regress("score ~ income + smoker")
    lacks = frame["income"].isna()
    columns = [frame["income"].fillna(0), lacks, frame["smoker"]]
    assert fit.labels[1:] == ("income", "income[not said]", "smoker")
    assert fit.values == pytest.approx(least_squares(columns, frame["score"]), rel=1e-6)


def test_an_outcome_that_some_lack_is_fitted_among_the_others(frame, release, without_noise):
    fit = release.regress("income ~ age")
    some = frame[frame["income"].notna()]
    expected = least_squares([some["age"]], some["income"].astype(float))
    assert fit.values == pytest.approx(expected, rel=1e-6)
    assert fit.notes == ("Among the people who have income.",)
    with pytest.raises(TableError, match=r"^Not everybody has a value of the outcome, .* order 3;"):
        release.regress("income ~ age + smoker")


def test_an_interaction_takes_three_attributes_together(frame, without_noise):
    three = release_of(frame, order=3)
    fit = three.regress("score ~ age*smoker + region")
    age, smoker, region = frame["age"], frame["smoker"], frame["region"]
    columns = [age, smoker, age * smoker, region == "east", region == "south"]
    expected = dict(
        zip(
            ("(intercept)", "age", "smoker", "age:smoker", "region[east]", "region[south]"),
            least_squares(columns, frame["score"]),
            strict=True,
        )
    )
    assert dict(zip(fit.labels, fit.values, strict=True)) == pytest.approx(expected, rel=1e-5)


def odds(columns: list[np.ndarray], outcome: np.ndarray) -> np.ndarray:
    x = np.column_stack([np.ones(len(outcome)), *columns]).astype(float)
    slopes = np.zeros(x.shape[1])
    for _ in range(40):
        chance = 1 / (1 + np.exp(-x @ slopes))
        bend = (x * (chance * (1 - chance))[:, None]).T @ x
        slopes += np.linalg.solve(bend, x.T @ (outcome - chance))
    return slopes


def test_logistic_regression_is_that_of_the_records_where_pairs_say_all(
    frame, release, without_noise
):
    fit = release.regress("ill ~ region + smoker")  # their table has all that is to be known
    assert fit.kind == "logistic"
    columns = [frame["region"] == "east", frame["region"] == "south", frame["smoker"]]
    assert fit.values == pytest.approx(odds(columns, frame["ill"]), abs=1e-6)
    age = frame["age"] / 10
    number = release.regress("ill ~ age/10 + smoker")  # a margin is fitted: nearly all
    assert number.values == pytest.approx(odds([age, frame["smoker"]], frame["ill"]), abs=0.02)
    ratios = fit.to_frame()
    assert ratios["odds_ratio"].to_numpy() == pytest.approx(np.exp(fit.values))
    assert (ratios["odds_ratio_low"] < ratios["odds_ratio"]).all()


def test_states_that_are_drawn_do_as_well_as_those_that_are_listed(
    release, without_noise, monkeypatch
):
    formula = "ill ~ region + smoker + age/10"
    listed = release.regress(formula).values
    monkeypatch.setattr("deniable.analysis.regression.logistic._MOST_STATES", 1 << 8)
    drawn = release.regress(formula).values
    assert drawn == pytest.approx(listed, abs=0.02)


def test_estimates_are_within_their_errors_of_the_records(frame, release):
    fit = release.regress("score ~ age/10 + smoker")
    expected = least_squares([frame["age"] / 10, frame["smoker"]], frame["score"])
    assert (np.abs(fit.values - expected) < 4 * fit.standard_error).all()
    table = fit.to_frame()
    assert list(table)[:6] == ["term", "estimate", "standard_error", "low", "high", "p_value"]
    low, high = fit.interval()
    assert (table["low"].to_numpy() == low).all()
    assert high - fit.values == pytest.approx(1.959964 * fit.standard_error)
    assert fit.covariance == pytest.approx(fit.covariance.T)
    assert table.attrs["simulated"]
    assert "SIMULATED" in repr(fit)


def test_terms_are_tested_with_all_their_contrasts(release):
    fit = release.regress("score ~ region + smoker")
    tests = fit.tests().set_index("term")
    assert tests.loc["region", "df"] == 2
    assert tests.loc["all terms", "df"] == 3
    assert tests.loc["smoker", "p_value"] == pytest.approx(fit.p_value[-1])
    own, errors = fit.values[1:3], fit.covariance[1:3, 1:3]
    assert tests.loc["region", "statistic"] == pytest.approx(own @ np.linalg.solve(errors, own))


def test_tests_of_terms_do_not_depend_on_units(release):
    fit = release.regress("score ~ region + smoker")
    unit = np.array([1, 1, 1, 1e-12])  # as where a number is told in euros instead of billions
    other = replace(fit, values=fit.values * unit, covariance=fit.covariance * np.outer(unit, unit))
    expected = fit.tests()["statistic"].tolist()
    assert other.tests()["statistic"].tolist() == pytest.approx(expected, rel=1e-6)


def test_an_intercept_alone_is_the_mean(release):
    fit = release.regress("score ~ 1")
    assert fit.values[0] == pytest.approx(release.mean("score").estimate)
    assert fit.standard_error[0] == pytest.approx(release.mean("score").standard_error)
    assert len(fit.tests()) == 1


@pytest.mark.slow
def test_a_forest_plot_has_a_row_for_each_term(release):
    for formula in ("ill ~ region + smoker", "score ~ age + smoker", "score ~ smoker"):
        fit = release.regress(formula)
        text = fit.plot().to_json()
        assert all(label in text for label in fit.labels[1:])
        assert "SIMULATED" in text
    assert '"type": "log"' in release.regress("ill ~ smoker").plot().to_json()


@pytest.mark.slow
def test_a_notebook_shows_a_regression_and_its_plot(release):
    fit = release.regress("ill ~ smoker")
    markup = fit._repr_html_()
    assert "ill ~ smoker (logistic)" in markup
    assert "95% interval" in markup
    assert fit.plot()._repr_mimebundle_()["image/svg+xml"].startswith("<svg")


def test_a_report_tells_of_regressions(release, tmp_path):
    fits = [release.regress("ill ~ region + smoker"), release.regress("score ~ age")]
    release.report(tmp_path / "report.html", fits)
    text = (tmp_path / "report.html").read_text("utf-8")
    assert "ill ~ region + smoker" in text
    assert "odds ratio" in text
    release.report(tmp_path / "plain.html")
    assert 'id="regressions"' not in (tmp_path / "plain.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("formula", "options", "sentence"),
    [
        ("region ~ age", {}, "must be a number or have two values, and 'region' has 3"),
        ("score ~ height", {}, "names 'height', but the attributes are age, region"),
        ("score ~ region^2", {}, "Only numbers are divided or raised to a power"),
        ("score ~ age + age/10", {}, "age, age/10 are collinear"),
        ("score ~ age + smoker + smoker:age", {}, "so order 3; this survey collected order 2"),
        ("score ~ age", {"kind": "logistic"}, "explains one of two values"),
        ("score ~ age", {"kind": "probit"}, "'linear' or 'logistic', got 'probit'"),
        ("score ~ age", {"level": 1.5}, "level"),
        ("score", {}, "needs ~"),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_a_sentence(release, formula, options, sentence):
    with pytest.raises(TableError, match=r"^[^\n]*$") as caught:
        release.regress(formula, **options)
    assert sentence in str(caught.value)


@pytest.mark.slow
def test_noise_that_hides_everything_is_refused_with_a_number_of_people(frame):
    weak = release_of(frame, epsilon=0.5)
    with pytest.raises(TableError, match=r"needs about [\d,]+ people, and there are 4,000"):
        weak.regress("score ~ age + region + smoker")


def test_an_outcome_that_nobody_of_some_has_is_refused_for_odds_only():
    random = np.random.default_rng(0)
    a, b = random.random((2, 30_000)) < 0.5
    frame = pd.DataFrame({"a": a, "b": b, "y": a & (random.random(30_000) < 0.6)})
    release = simulate(Survey(Schema.binary("a", "b", "y"), 2, 4.0), frame, "nobody")
    with pytest.raises(TableError, match="Hardly anybody has y among people without a"):
        release.regress("y ~ a + b")
    fit = release.regress("y ~ a + b", "linear")
    assert fit.values[1] == pytest.approx(0.6, abs=5 * fit.standard_error[1])
