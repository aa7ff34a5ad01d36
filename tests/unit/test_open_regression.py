"""Fits of private answers on open covariates: published numbers, input of every kind, refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import chi2

from deniable import OneQuestion, Report, Schema, Survey, regress
from deniable.errors import DataError, DeniableError, QuestionError, ReportError, TableError

DICE = OneQuestion.forced_response(yes="1/6", no="1/6")
PUBLISHED = "rr.q1 ~ asset.index + married + age/10 + (age/10)² + education + female"
SURVEY = Survey(
    Schema.of(legal=["no", "yes"], smoker=["no", "yes"], income=(0, 20)),
    2,
    3.0,
    labels={"region": ["north", "south", "east"]},
)


def people(count: int, seed: int = 1) -> pd.DataFrame:
    """Return made-up people: private attributes, an open age and sex, a label."""
    random = np.random.default_rng(seed)
    age, region = random.integers(18, 90, count), random.choice(["north", "south"], count)
    predictor = -2 + 0.04 * age + 0.6 * (region == "south")
    return pd.DataFrame(
        {
            "legal": np.where(random.random(count) < 1 / (1 + np.exp(-predictor)), "yes", "no"),
            "smoker": np.where(random.random(count) < 0.3, "yes", "no"),
            "income": np.clip(np.round(age / 10 + random.normal(0, 2, count) + 4), 0, 20),
            "region": region,
            "age": age,
            "sex": random.choice(["f", "m"], count),
        }
    )


EVERYBODY = people(20_000)
PRIVATE = ["legal", "smoker", "income", "region"]
BATCH = SURVEY.randomize(EVERYBODY[PRIVATE], seed="open")
OPEN = EVERYBODY[["age", "sex"]]


def fit(reports: Any = BATCH, formula: str = "legal ~ age/10 + sex", *more: Any, **options: Any):
    options = {"survey": SURVEY, "simulation": True} | options
    return regress(reports, formula, *more, **options)


# Published numbers


@pytest.fixture
def nigeria(shared_data: Path) -> pd.DataFrame:
    frame = pd.read_parquet(shared_data / "nigeria_forced_response.parquet")
    return frame.rename(columns=lambda name: name.removeprefix("cov."))


def test_blair_imai_and_zhou_is_repeated(nigeria: pd.DataFrame) -> None:
    """JASA 2015, Table 3, as RRreg 0.7.6 has it: three of its errors are off in the fourth digit.

    RRreg takes the curvature by differences with steps of 10⁻³, too long for the square of age.
    """
    found = regress(nigeria, PUBLISHED, design=DICE)
    assert (found.people, found.left_out) == (2423, 34)
    published = [-0.34018, 0.07896, -0.26742, -0.35282, 0.04099, -0.00691, -0.55438]
    np.testing.assert_allclose(found.values, published, atol=2e-5)
    assert found.log_likelihood == pytest.approx(-1540.118, abs=5e-4)
    exact = [0.49292, 0.04042, 0.24137, 0.26368, 0.02713, 0.04466, 0.16268]
    by_differences = [0.49354, 0.04042, 0.24138, 0.26423, 0.02721, 0.04466, 0.16268]
    np.testing.assert_allclose(found.standard_error, exact, atol=1e-5)
    np.testing.assert_allclose(found.standard_error, by_differences, rtol=3.1e-3)
    np.testing.assert_allclose(errors_by_differences(nigeria, found), by_differences, atol=1e-5)


def errors_by_differences(frame: pd.DataFrame, found: Any, step: float = 1e-3) -> np.ndarray:
    """Return standard errors as R's optim has them, from differences of differences of ℓ."""
    rows = frame[["rr.q1", *found.open_terms.formula.names]].dropna()
    terms = np.column_stack(
        [
            np.ones(len(rows)),
            *(rows[name] for name in ("asset.index", "married")),
            *((rows["age"] / 10) ** power for power in (1, 2)),
            *(rows[name] for name in ("education", "female")),
        ]
    )
    says_yes = rows["rr.q1"] == 1

    def likelihood(place: np.ndarray) -> float:
        chance = 1 / 6 + 2 / 3 / (1 + np.exp(-terms @ place))
        return float(np.log(np.where(says_yes, chance, 1 - chance)).sum())

    steps = step * np.eye(terms.shape[1])

    def slope(place: np.ndarray) -> np.ndarray:
        return np.array([likelihood(place + h) - likelihood(place - h) for h in steps]) / (2 * step)

    rises = [slope(found.values + h) - slope(found.values - h) for h in steps]
    curvature = np.array(rises) / (2 * step)
    return np.sqrt(np.linalg.inv(-(curvature + curvature.T) / 2).diagonal())


def test_the_prevalence_of_blair_imai_and_zhou(nigeria: pd.DataFrame) -> None:
    share = regress(nigeria, "rr.q1 ~ 1", design=DICE).prevalence
    assert share.people == 2435
    assert share.estimate == pytest.approx(0.26191, abs=5e-6)
    assert share.standard_error == pytest.approx(0.01442, abs=1e-5)


# The likelihood


def test_without_noise_it_is_ordinary_logistic_regression() -> None:
    """A design that always tells the truth: the score equations of logistic regression hold."""
    frame = EVERYBODY.assign(said=EVERYBODY["legal"])
    for method in ("likelihood", "scores"):
        found = regress(frame, "said ~ age/10 + sex", design=OneQuestion(1, 0), method=method)
        terms = np.column_stack([np.ones(len(frame)), frame["age"] / 10, frame["sex"] == "m"])
        shares = 1 / (1 + np.exp(-terms @ found.values))
        residual = (frame["legal"] == "yes") - shares
        np.testing.assert_allclose(terms.T @ residual, 0, atol=1e-4)
        fisher = np.linalg.inv((terms * (shares * (1 - shares))[:, None]).T @ terms)
        covariance = found.covariance if method == "likelihood" else fisher
        np.testing.assert_allclose(covariance, fisher, rtol=1e-6)
        meat = (terms * residual.to_numpy()[:, None] ** 2).T @ terms
        by_law = 1e-4 if method == "likelihood" else 5e-3  # of scores, 30 people in 20,000 or so
        np.testing.assert_allclose(found.sandwich, fisher @ meat @ fisher, rtol=by_law)
    assert found.epsilon == float("inf")


def test_least_squares_without_noise_are_ordinary_ones() -> None:
    found = regress(EVERYBODY, "legal ~ age + sex", design=OneQuestion(1, 0), kind="linear")
    terms = np.column_stack([np.ones(20_000), EVERYBODY["age"], EVERYBODY["sex"] == "m"])
    expected = np.linalg.lstsq(terms, EVERYBODY["legal"] == "yes", rcond=None)[0]
    np.testing.assert_allclose(found.values, expected, atol=1e-9)
    assert found.log_likelihood is None


def test_reports_find_what_they_were_made_of() -> None:
    """Within four standard errors, of 4 coefficients: a false alarm in 4,000 seeds."""
    truth = [-2.0, 0.4, 0.0, 0.6]
    for method in ("likelihood", "scores"):
        found = fit(formula="legal ~ age/10 + sex + region", open=OPEN, method=method)
        assert found.labels == ("(intercept)", "age/10", "sex[m]", "region[south]")
        assert (np.abs(found.values - truth) < 4 * found.standard_error).all()
        assert found.people == 20_000
        assert 0.2 < found.answers / found.people < 1
        assert found.simulated
        assert found.epsilon == 3.0
        assert found.outcome == "legal[yes]"
    assert "SIMULATED" in repr(found)


def test_swapped_probabilities_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same check, of a likelihood that takes yes for no, and of one that forgets the noise."""
    from deniable.analysis.open_answers import estimation

    honest = estimation.AnswerLikelihood.__init__

    def planted(change: Any) -> np.ndarray:
        def init(self: Any, matrix: Any, person: Any, answers: Any) -> None:
            honest(self, matrix, person, change(answers))

        monkeypatch.setattr(estimation.AnswerLikelihood, "__init__", init)
        found = fit(formula="legal ~ age/10 + sex + region", open=OPEN)
        return np.abs(found.values - [-2.0, 0.4, 0.0, 0.6]) / found.standard_error

    assert planted(lambda a: replace(a, if_yes=a.if_no, if_no=a.if_yes)).max() > 10
    assert planted(lambda a: replace(a, if_yes=a.if_yes**2, if_no=a.if_no**2)).max() > 5


def test_a_number_is_explained_by_its_scores() -> None:
    """Income rises by 1 every ten years, to within four standard errors (and what the ends cut off)."""
    found = fit(formula="income ~ age/10", open=OPEN, kind="linear")
    assert found.values == pytest.approx([4.0, 1.0], abs=0.05 + 4 * found.standard_error.max())
    share = found.prevalence
    assert abs(share.estimate - EVERYBODY["income"].mean()) < 4 * share.standard_error
    assert list(found.to_frame()) == [
        *("term", "estimate", "standard_error", "low", "high", "p_value", "standardised"),
        "sandwich_error",
    ]


def test_grouping_changes_nothing() -> None:
    """Rows that are all different, by a column of tiny size, give the fit of rows put together."""
    jitter = OPEN.assign(noise=np.random.default_rng(2).normal(size=len(OPEN)))
    plain = fit(formula="legal ~ age/10", open=jitter)
    fine = fit(formula="legal ~ age/10 + noise", open=jitter)
    assert len(plain.patterns.matrix) == 72
    assert len(fine.patterns.matrix) == 20_000
    np.testing.assert_allclose(plain.values, fine.values[:2], atol=0.02)
    assert fine.log_likelihood >= plain.log_likelihood


def test_a_curve_that_does_not_fit_is_said_not_to() -> None:
    """A true curve has a p-value above .01 in 99 of 100 seeds; one that bends far less has not."""
    straight = fit(formula="legal ~ age/10 + region", open=OPEN)
    assert straight.misfit > 0.01
    assert not straight.notes
    random = np.random.default_rng(12)
    age = random.integers(18, 90, 20_000)
    says = random.random(20_000) < np.where(np.abs(age - 54) > 25, 0.75, 0.05)
    said = says ^ (random.random(20_000) < 0.1)
    frame = pd.DataFrame({"said": said, "age": age, "late": age > 54})
    bent = regress(frame, "said ~ age*late", design=OneQuestion.warner(0.9))
    assert bent.misfit < 1e-3
    assert "does not fit" in repr(bent)
    scores = regress(frame, "said ~ age*late", design=OneQuestion.warner(0.9), method="scores")
    openly = regress(frame, "said ~ age*late", design=OneQuestion(1, 0))
    assert np.isnan(scores.misfit)
    assert np.isnan(openly.misfit), "without noise the two are one"
    assert np.isnan(regress(frame, "said ~ 1", design=DICE).misfit)


# Every kind of input


def test_reports_are_taken_in_every_form(tmp_path: Path) -> None:
    whole = fit(open=OPEN).values
    reports = [
        Report(s, v, {"region": r})
        for s, v, r in zip(
            BATCH.slots.tolist(), BATCH.values.tolist(), BATCH.labels["region"], strict=True
        )
    ]
    table = BATCH.to_arrow()
    own_rows = table
    for name in OPEN:
        own_rows = own_rows.append_column(name, pa.array(OPEN[name]))
    halves = []
    for half, part in enumerate((own_rows.slice(0, 9_000), own_rows.slice(9_000))):
        halves.append(tmp_path / f"reports {half}.parquet")
        pq.write_table(part, halves[-1])
    BATCH.to_parquet(tmp_path / "bare.parquet")
    for taken, more in (
        (reports, (OPEN,)),
        (table, (OPEN,)),
        (table.to_pandas(), (OPEN,)),
        (table, (pa.Table.from_pandas(OPEN),)),
        (own_rows, ()),
        (own_rows.to_pandas(), ()),
        (halves, ()),
        (str(tmp_path / "bare.parquet"), (OPEN,)),
    ):
        np.testing.assert_allclose(fit(taken, "legal ~ age/10 + sex", *more).values, whole)


def test_a_simulated_file_stays_simulated(tmp_path: Path) -> None:
    BATCH.to_parquet(tmp_path / "bare.parquet")
    for reports in (BATCH, BATCH.to_arrow(), tmp_path / "bare.parquet"):
        with pytest.raises(ReportError, match="simulation=True"):
            fit(reports, "legal ~ region", simulation=False)


def test_rows_with_empty_cells_are_left_out_and_counted() -> None:
    gaps = OPEN.assign(age=OPEN["age"].where(np.arange(20_000) % 10 > 0))
    gaps.loc[5, "sex"] = None
    found = fit(open=gaps)
    assert (found.people, found.left_out) == (17_999, 2_001)
    assert "2,001 with empty cells left out" in repr(found)
    rows = np.flatnonzero(gaps.notna().all(axis=1))
    part = BATCH.to_arrow().take(pa.array(rows))
    same = fit(part, "legal ~ age/10 + sex", OPEN.iloc[rows])
    np.testing.assert_allclose(found.values, same.values)


@pytest.mark.parametrize(
    "said", [[True, False], [1, 0], [1.0, 0.0], ["yes", "no"], ["Yes", "NO"], ["true", "false"]]
)
def test_what_was_reported_may_be_written_in_several_ways(said: list[Any]) -> None:
    column = np.where(EVERYBODY["legal"] == "yes", *said) if isinstance(said[0], str) else None
    if column is None:
        column = (EVERYBODY["legal"] == "yes").to_numpy().astype(type(said[0]))
    frame = EVERYBODY.assign(said=column)
    share = regress(frame, "said ~ 1", design=OneQuestion.warner(0.8)).prevalence
    assert share.estimate == pytest.approx(((EVERYBODY["legal"] == "yes").mean() - 0.2) / 0.6)


# What is predicted


def test_predictions_have_the_error_of_the_delta_method() -> None:
    found = fit(formula="legal ~ age/10 + sex", open=OPEN)
    rows = pd.DataFrame({"age": [20, 60, np.nan], "sex": ["m", "f", "f"]}, index=[7, 8, 9])
    predicted = found.predict(rows)
    assert predicted.index.tolist() == [7, 8, 9]
    assert predicted.loc[9].isna().all()
    terms = np.array([[1, 2.0, 1], [1, 6.0, 0]])
    share = 1 / (1 + np.exp(-terms @ found.values))
    error = np.sqrt(np.einsum("ij,jk,ik->i", terms, found.covariance, terms))
    np.testing.assert_allclose(predicted["estimate"][:2], share)
    np.testing.assert_allclose(predicted["standard_error"][:2], share * (1 - share) * error)
    assert (predicted["low"][:2] < share).all()
    wider = found.predict(rows, level=0.99)
    assert (wider["low"][:2] < predicted["low"][:2]).all()
    with pytest.raises(
        DataError, match="'sex' has a value that is not among the 2 known ones in 1"
    ):
        found.predict(pd.DataFrame({"age": [1], "sex": ["x"]}))
    with pytest.raises(DataError, match="'age' must hold numbers, as in the fit, got texts"):
        found.predict(pd.DataFrame({"age": ["20"], "sex": ["f"]}))
    with pytest.raises(DataError, match="'sex' must hold texts, got int64"):
        found.predict(pd.DataFrame({"age": [20], "sex": [1]}))
    with pytest.raises(TableError, match="no open column 'sex'"):
        found.predict(pd.DataFrame({"age": [1]}))


def test_a_frame_of_the_fit_has_odds_and_both_errors() -> None:
    found = fit(open=OPEN)
    frame = found.to_frame(0.9)
    assert frame.attrs["level"] == 0.9
    row = frame.iloc[1]
    assert row["odds_ratio"] == pytest.approx(np.exp(row["estimate"]))
    assert (row["high"] - row["low"]) / row["standard_error"] == pytest.approx(2 * 1.6449, rel=0.01)
    assert row["sandwich_error"] == pytest.approx(row["standard_error"], rel=0.1)
    assert 0 <= row["p_value"] <= 1


def test_it_is_drawn_and_tested_as_other_regressions_are() -> None:
    found = fit(formula="legal ~ age/10 + region + sex", open=OPEN)
    assert found.plot().to_dict()
    tests = found.tests()
    assert tests["term"].tolist() == ["age/10", "region", "sex", "all terms"]
    assert tests["p_value"][1] < 1e-4


# Refusals

ROWS = OPEN[:-1]
BAD: list[tuple[type[DeniableError], str, Any]] = [
    (TableError, "either the survey .* got neither", lambda: fit(survey=None)),
    (TableError, "got both", lambda: fit(design=DICE)),
    (TableError, "kind must be 'linear' or 'logistic'", lambda: fit(kind="probit")),
    (TableError, "method must be", lambda: fit(method="guess")),
    (TableError, "level must lie", lambda: fit(level=95)),
    (TableError, "needs ~", lambda: fit(formula="legal")),
    (
        TableError,
        "names 'age', but the attributes are legal",
        lambda: fit(formula="age ~ sex", open=OPEN),
    ),
    (TableError, "no open column 'zz'", lambda: fit(formula="legal ~ zz", open=OPEN)),
    (TableError, "columns are: none|columns are: 'region'", lambda: fit(formula="legal ~ age")),
    (
        TableError,
        "'smoker' is an attribute of the survey, asked in private",
        lambda: fit(formula="legal ~ smoker", open=OPEN),
    ),
    (
        DataError,
        "'Smoker' is an attribute of the survey, which is asked in private",
        lambda: fit(open=OPEN.assign(Smoker=1)),
    ),
    (
        DataError,
        "got 19,999 rows for 20,000 reports",
        lambda: fit(open=ROWS),
    ),
    (
        DataError,
        "'region' is there twice",
        lambda: fit(formula="legal ~ region", open=OPEN.assign(region=1)),
    ),
    (
        TableError,
        "'income' is a number: kind='linear'",
        lambda: fit(formula="income ~ age", open=OPEN, kind="logistic"),
    ),
    (
        TableError,
        "'twice' follows from those before it",
        lambda: fit(formula="legal ~ age + twice", open=OPEN.assign(twice=2 * OPEN["age"] + 1)),
    ),
    (
        TableError,
        "'one', or a contrast of it, is the same for everybody",
        lambda: fit(formula="legal ~ one", open=OPEN.assign(one=3)),
    ),
    (
        TableError,
        "'one' holds the same text for everybody",
        lambda: fit(formula="legal ~ one", open=OPEN.assign(one="x")),
    ),
    (
        TableError,
        "'sex' holds texts, which are not divided",
        lambda: fit(formula="legal ~ sex^2", open=OPEN),
    ),
    (
        DataError,
        "no finite number in 20,000 rows",
        lambda: fit(formula="legal ~ age", open=OPEN.assign(age=np.inf)),
    ),
    (
        DataError,
        "must hold numbers, truth values or texts",
        lambda: fit(formula="legal ~ age", open=OPEN.assign(age=pd.Timestamp("2026-01-01"))),
    ),
    (
        DataError,
        "No row has all the columns",
        lambda: fit(formula="legal ~ age", open=OPEN.assign(age=np.nan)),
    ),
    (
        TableError,
        "has 20,000 values; contrasts are made of at most 1,000",
        lambda: fit(formula="legal ~ t", open=OPEN.assign(t=[f"x{i}" for i in range(20_000)])),
    ),
    (
        ReportError,
        "belong to another survey",
        lambda: fit(survey=Survey(SURVEY.schema, 2, 1.0, labels={"region": ["a", "b"]})),
    ),
    (
        ReportError,
        "2 of 3 reports cannot have come from the survey",
        lambda: fit(pa.table({"slot": [0, -1, 1 << 60], "value": [0, 0, 0]}), "legal ~ 1"),
    ),
    (ReportError, "columns slot and value", lambda: fit(OPEN, "legal ~ 1")),
    (
        TableError,
        "The frame has no column 'said'",
        lambda: regress(EVERYBODY, "said ~ age", design=DICE),
    ),
    (
        DataError,
        "'sex' must hold what was reported as yes or no",
        lambda: regress(EVERYBODY, "sex ~ age", design=DICE),
    ),
    (
        DataError,
        "'age' must hold what was reported as yes or no",
        lambda: regress(EVERYBODY, "age ~ sex", design=DICE),
    ),
]


@pytest.mark.parametrize(("kind", "sentence", "call"), BAD, ids=[bad[1] for bad in BAD])
def test_bad_input_is_one_sentence(kind: type[DeniableError], sentence: str, call: Any) -> None:
    with pytest.raises(kind, match=sentence) as caught:
        call()
    assert type(caught.value) is kind
    assert len(str(caught.value)) < 260
    assert "\n" not in str(caught.value)


# Few people

VILLAGE = pd.DataFrame({"village": ["big"] * 299 + ["tiny"], "age": np.arange(300) % 60 + 20})


def of_few(method: str = "likelihood", seed: str = "few", formula: str = "y ~ village") -> Any:
    survey = Survey(Schema.of(y=["no", "yes"]), 1, 2.0)
    says = np.where(np.arange(300) % 3 == 0, "yes", "no")
    batch = survey.randomize(pd.DataFrame({"y": says}), seed=seed)
    return regress(batch, formula, VILLAGE, survey=survey, simulation=True, method=method)


@pytest.mark.parametrize("method", ["likelihood", "scores"])
def test_nothing_is_certain_of_one_person(method: str) -> None:
    """Their log odds are infinite, and so are an end and the error; no p-value tells of them."""
    signs = set()
    for seed in map(str, range(8)):
        found = of_few(method, seed)
        row = found.to_frame().set_index("term").loc["village[tiny]"]
        signs.add(float(row["estimate"]))
        assert row["standard_error"] == row["sandwich_error"] == np.inf
        assert np.isinf(row["low"]) or np.isinf(row["high"])
        assert row["low"] < 0 < row["high"]
        assert 0.05 < row["p_value"] <= 1
        assert found.tests()["p_value"].between(0.05, 1).all()
        assert "Noise hides" in " ".join(found.notes)
        assert np.isfinite(found.to_frame().iloc[0, :6].drop("term").astype(float)).all()
        form = found.form()
        assert form["coefficients"][1]["estimate"] is None
        assert "NaN" not in json.dumps(form, allow_nan=False)
        told = found.predict(VILLAGE.iloc[[0, 299]])
        assert told["high"].iloc[1] - told["low"].iloc[1] > 0.7
        assert told["high"].iloc[0] - told["low"].iloc[0] < 0.3
        assert np.isfinite(found.prevalence.standard_error)
        assert found.plot().to_dict()
    assert signs == {-np.inf, np.inf}


@pytest.mark.parametrize("method", ["likelihood", "scores"])
def test_no_answers_are_refused(method: str) -> None:
    """Sixty people say what they can: whatever was drawn, there is a fit, without what is no number."""
    few = people(60, seed=5)
    survey = Survey(SURVEY.schema, 2, 1.0)
    for seed in map(str, range(6)):
        reports = survey.randomize(few[PRIVATE[:3]], seed=seed)
        found = fit(
            reports, "legal ~ age/10 + sex", few[["age", "sex"]], survey=survey, method=method
        )
        frame = found.to_frame().drop(columns=["term", "standardised"])
        assert not frame.isna().any(axis=None)
        assert (frame["low"] <= frame["estimate"]).all()
        assert (frame["estimate"] <= frame["high"]).all()
        told = found.predict(few[["age", "sex"]].head(3))
        assert np.isfinite(told).all(axis=None)
        assert ((told["low"] <= told["estimate"]) & (told["estimate"] <= told["high"])).all()


def test_ends_are_where_the_likelihood_has_fallen_enough() -> None:
    """Against another optimiser, of answers to a design that are few, with an age beside the village."""
    from scipy.optimize import minimize

    random = np.random.default_rng(4)
    frame = VILLAGE.iloc[220:].assign(said=random.random(80) < 0.35)
    frame["village"] = np.where(np.arange(80) < 74, "big", "small")
    found = regress(frame, "said ~ village + age/10", design=OneQuestion.warner(0.9))
    terms = np.column_stack([np.ones(80), frame["village"] == "small", frame["age"] / 10])

    def fall(place: np.ndarray) -> float:
        chance = 0.1 + 0.8 / (1 + np.exp(-terms @ place))
        return -2 * float(np.log(np.where(frame["said"], chance, 1 - chance)).sum())

    least = minimize(fall, np.zeros(3), tol=1e-10).fun
    others = [0, 2]

    def profiled(village: float) -> float:
        def held(some: np.ndarray) -> float:
            return fall(np.insert(some, 1, village))

        return minimize(held, found.place[others], tol=1e-10).fun - least

    inverse = np.linalg.inv(terms.T @ terms)
    parts = (terms @ inverse)[:, 1]
    few = 1 + (parts**4).sum() / (parts**2).sum() ** 2  # six people are few
    assert 1.1 < few < 1.2
    ends = found.interval(0.9)[:, 1]
    for end in ends[np.isfinite(ends)]:
        assert profiled(end) / few == pytest.approx(2.7055, abs=0.01)
    assert np.isfinite(ends).any()
    assert found.p_value[1] == pytest.approx(chi2.sf(profiled(0.0) / few, 1), abs=1e-4)


def test_a_term_is_tested_by_the_fit_without_it() -> None:
    whole, part = fit(open=OPEN), fit(formula="legal ~ age/10", open=OPEN)
    statistic = 2 * (whole.log_likelihood - part.log_likelihood)
    row = whole.tests().set_index("term").loc["sex"]
    assert row["statistic"] == pytest.approx(statistic, rel=1e-3)
    assert row["p_value"] == pytest.approx(whole.p_value[2])


def test_questions_about_exactly_one_of_two_are_no_answers() -> None:
    survey = Survey(Schema.binary("y", "a"), 2, 1.0, "InpHT")
    reports = pa.table({"slot": [2, 2, 1], "value": [0, 1, 1]})
    with pytest.raises(TableError, match="None of the reports tells of the outcome alone"):
        regress(reports, "y ~ 1", survey=survey)


# Classical designs


@pytest.mark.parametrize(
    ("design", "probabilities", "ratio"),
    [
        (DICE, ("5/6", "1/6"), "5"),
        (OneQuestion.warner("3/4"), ("3/4", "1/4"), "3"),
        (OneQuestion.warner("1/4"), ("1/4", "3/4"), "3"),
        (OneQuestion.crosswise(Fraction(1, 4)), ("1/4", "3/4"), "3"),
        (OneQuestion.unrelated(ask="1/2", prevalence="1/2"), ("3/4", "1/4"), "3"),
        (OneQuestion.forced_response(yes="1/2", no=0), ("1", "1/2"), None),
        (OneQuestion("3/5", "1/5"), ("3/5", "1/5"), "3"),
    ],
)
def test_a_design_knows_its_probabilities_and_its_epsilon(
    design: OneQuestion, probabilities: tuple[str, str], ratio: str | None
) -> None:
    assert (design.yes_if_yes, design.yes_if_no) == tuple(map(Fraction, probabilities))
    if ratio is None:
        assert design.ratio is None
        assert design.epsilon == float("inf")
        return
    assert design.ratio == Fraction(ratio)
    assert (
        np.log(float(Fraction(ratio))) - 1e-15 <= design.epsilon <= np.log(float(Fraction(ratio)))
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: OneQuestion.warner("1/2"),
        lambda: OneQuestion.warner(1.5),
        lambda: OneQuestion.warner("x"),
        lambda: OneQuestion.warner("1/0"),
        lambda: OneQuestion.warner(float("nan")),
        lambda: OneQuestion.warner(True),
        lambda: OneQuestion.warner(None),
        lambda: OneQuestion.forced_response(yes="1/2", no="1/2"),
        lambda: OneQuestion.unrelated(ask=0, prevalence=0.5),
        lambda: OneQuestion(0.3, 0.3),
        lambda: OneQuestion("9" * 100, 0),
    ],
)
def test_a_design_that_tells_nothing_or_is_none_is_refused(make: Any) -> None:
    with pytest.raises(QuestionError) as caught:
        make()
    assert len(str(caught.value)) < 200
