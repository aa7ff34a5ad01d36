"""What a review of Subspace and the planner found, and what must stay so."""

from __future__ import annotations

import decimal
import json
from math import inf, log
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from deniable import Schema, Survey, plan, simulate
from deniable.cli.inputs import parse_workload
from deniable.decoding.decoder import decoder_of, is_symmetric
from deniable.errors import DeniableError, SurveyError
from deniable.lab import audit as audits
from deniable.lab.audit import audit
from deniable.mechanisms.subspace import Subspace
from deniable.planning.error import guaranteed_tv, predicted_tv
from deniable.planning.shuffle import shuffled_epsilon
from deniable.questions.answers import Subset
from deniable.show.plans import plan_chart
from deniable.survey.format import canonical
from deniable.survey.template import ALL_WEIGHT


def names(*places: int) -> tuple[str, ...]:
    return tuple(f"a{i}" for i in places)


def schema(attributes: int) -> Schema:
    return Schema.binary(*names(*range(attributes)))


def uniform(people: int, attributes: int, seed: int = 1) -> pd.DataFrame:
    held = np.random.default_rng(seed).random((people, attributes)) < 0.5
    return pd.DataFrame(held, columns=names(*range(attributes)))


# 1. A design leaves out tables that it was asked for


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "workload"),
    [
        (2, {names(0, 1): 1e9, names(2, 3): 1.0}),
        (2, {names(0, 1): 1e9, names(2, 3): 1e-9}),
        (6, {names(0): 1e5, names(1, 2, 3, 4, 5, 6): 1.0}),
        (5, {names(0): 1e6, names(1, 2, 3, 4, 5): 1.0}),
    ],
)
def test_a_light_table_is_asked_for_all_the_same(order: int, workload: dict) -> None:
    made = plan(schema(9), order=order, epsilon=1.1, people=10**6, workload=workload)
    assert made.recommended in ("Subspace", "InpES"), "one yes/no answer may be all that matters"
    assert made.rows[0].variance_over_bound < 1.5


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "workload",
    [
        {names(0, 1): 1e308, names(0, 2): 1e308},
        {names(0, 1): 1e308, names(1, 0): 1e308, names(2): 1.0},
        {names(0, 1): 1e-308, names(2, 3): 1e308},
        {names(0, 1): 10**400},
    ],
)
def test_weights_at_the_end_of_the_floats_are_planned_or_refused(workload: dict) -> None:
    try:
        made = plan(schema(4), people=1000, workload=workload)
    except SurveyError:
        return
    assert made.recommended == "Subspace"
    assert np.isfinite(made.rows[0].predicted_tv)


# 2. Subspace takes any number of attributes that InpHT takes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attributes", "order", "epsilon"), [(2000, 2, 5.0), (10_000, 2, 6.0), (1000, 3, 6.0)]
)
def test_many_attributes_and_a_large_epsilon_fit(
    attributes: int, order: int, epsilon: float
) -> None:
    made = plan(schema(attributes), order=order, epsilon=epsilon, people=1000)
    assert made.recommended == "Subspace"
    assert Survey(schema(attributes), order, epsilon, "Subspace").slots < 1 << 63


# 3. A pilot's squares count noise


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "order", "people"),
    [("InpEM", 2, 2000), ("InpHT", 3, 300), ("InpHT", 3, 1000), ("MargPS", 3, 300)],
)
def test_a_pilot_of_uniform_people_promises_nothing(
    mechanism: str, order: int, people: int
) -> None:
    """All θ are 0, so plans after such pilots must not, on average, need a fifth fewer people.

    With θ² estimated as Σ(θ̂² − A)/A² ÷ Σ(1 − S)/A², A = 1/G, S = Σg²/G², it is 0.97 to 0.99.
    """
    survey = Survey(schema(16), order, 4.0, mechanism)
    before = plan(schema(16), order=order, epsilon=4.0, target_error=0.01).people
    after = []
    for turn in range(4):
        pilot = simulate(survey, uniform(people, 16, turn), seed=f"pilot {turn}")
        after.append(plan(schema(16), order=order, epsilon=4.0, target_error=0.01, pilot=pilot))
    assert np.mean([made.people for made in after]) > 0.88 * before


def test_a_mean_square_is_at_most_one() -> None:
    pilot = simulate(Survey(schema(16), 3, 4.0, "InpEM"), uniform(300, 16), seed="pilot")
    assert max(pilot.squares) <= 1


@pytest.mark.slow
def test_thin_pilots_are_unbiased() -> None:
    """131,072 people on 166,750 coefficients: a report or two for each triple."""
    pilot = simulate(Survey(schema(100), 3, 1.1), uniform(1 << 17, 100), seed="thin")
    assert pilot.squares[2] < 0.1


# 4. Surveys that ask for nothing of their order


def survey_of(attributes: int, order: int, *asked: tuple[int, list[list[int]], int]) -> str:
    form = json.loads(Survey(schema(attributes), order, 1.1, "Subspace").to_json())
    form["templates"] = [
        {
            "attributes": touched,
            "answer": Subset.within(1.1, 1 << len(parities)).to_json(),
            "parities": parities,
            "weight": weight,
        }
        for touched, parities, weight in asked
    ]
    form.pop("touches", None)
    touches = max(touched for touched, _, _ in asked)
    form |= {"touches": touches} if touches > order else {}
    return canonical(form)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("order", "asked"),
    [
        (1, [(2, [[0, 1]], ALL_WEIGHT)]),
        (2, [(1, [[0]], ALL_WEIGHT)]),
        (2, [(1, [[0]], ALL_WEIGHT - 1), (3, [[0, 1, 2]], 1)]),
    ],
)
def test_what_is_never_asked_is_unknown(order: int, asked: list) -> None:
    survey = Survey.from_json(survey_of(4, order, *asked))
    assert audit(survey).passed
    release = simulate(survey, uniform(300, 4), seed="1")
    assert not any(table.known for table in release.marginals())
    assert predicted_tv(survey, 100) == inf
    assert guaranteed_tv(survey, 100) in (None, inf)
    decoder_of(survey).expected(100.0).covariance(np.array([list(range(order))]))


def test_a_type_asked_in_one_orientation_only_is_not_predicted_as_if_in_all() -> None:
    """{a, bc} without {b, ac} and {c, ab}: the pair of the first two is never asked for."""
    survey = Survey.from_json(survey_of(4, 2, (3, [[0], [1, 2]], ALL_WEIGHT)))
    assert not is_symmetric(survey)
    release = simulate(survey, uniform(10_000, 4), seed="1")
    assert not release.marginal(*names(0, 1)).known
    assert predicted_tv(survey, 100) == inf
    assert guaranteed_tv(survey, 100) in (None, inf)


# 5. Time and memory


@pytest.mark.slow
def test_a_survey_of_high_order_is_audited_with_few_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores are sums over the support, so a few reports show what all do."""
    survey, probed = Subspace.survey(schema(8), 5, 0.5), []
    sound = audits.decoded_scores
    monkeypatch.setattr(audits, "decoded_scores", lambda *a: probed.append(a[1:]) or sound(*a))
    assert audit(survey).passed
    assert 2 * len(survey.families) <= len(probed) < 3000


@pytest.mark.slow
def test_one_table_of_very_many_attributes_can_be_planned_and_released() -> None:
    """All C(1000, 3) coefficients are too many; the seven that are asked for are not."""
    wide = schema(1000)
    made = plan(wide, order=3, epsilon=1.1, people=1000, workload=[names(0, 1, 2)])
    assert made.rows[0].variance_over_bound < 1.1
    survey = Survey(wide, 3, 1.1, workload=[names(0, 1, 2)])
    release = simulate(survey, uniform(2000, 1000), seed="wide")
    assert release.marginal(*names(0, 1, 2)).known


@pytest.mark.slow
def test_two_large_tables_have_a_design_of_their_own() -> None:
    tables = [names(*range(8)), names(*range(8, 16))]
    made = plan(schema(16), order=8, epsilon=1.1, people=1000, workload=tables)
    assert made.recommended == "Subspace"
    assert made.rows[0].variance_over_bound < 3


def test_a_name_that_is_declared_twice_among_very_many_is_found() -> None:
    with pytest.raises(DeniableError, match="'a0' is declared twice"):
        Schema.binary(*names(*range(15_000)), "a0")


# 6. Bad input


@pytest.mark.parametrize(
    "make",
    [
        lambda: Survey(schema(4), "2", 1.1, "Subspace", workload=[names(0, 1)]),
        lambda: Survey(schema(4), None, 1.1, "Subspace", workload=[names(0, 1)]),
        lambda: Survey(schema(4), 2, 1.1, "Subspace", squares=5),
        lambda: Survey(schema(4), 2, 1.1, "Subspace", squares="ab"),
        lambda: Survey(schema(4), 2, 1.1, "Subspace", squares=(None, 0.1)),
        lambda: plan(schema(4), target_error="small"),
        lambda: plan(schema(4), people=10, probability="high"),
        lambda: plan(schema(4), people=10, pilot=type("P", (), {"squares": ("a", "b")})()),
        lambda: plan(schema(4), people=10, pilot=type("P", (), {"squares": (-1.0, 0.1)})()),
        lambda: plan(schema(4), people=10, pilot=type("P", (), {"squares": (float("nan"),)})()),
        lambda: plan("a schema", people=10),
    ],
)
def test_bad_input_is_refused_in_a_sentence(make) -> None:
    with pytest.raises(SurveyError):
        make()


@pytest.mark.parametrize(
    "options",
    [
        {"squares": np.array([0.1, 0.2])},
        {"squares": [0.1, 0.2]},
        {"squares": None},
        {"workload": np.array([["a0", "a1"], ["a2", "a3"]])},
    ],
)
def test_arrays_and_lists_are_taken(options: dict) -> None:
    assert Survey(schema(4), 2, 1.1, "Subspace", **options).slots > 0


def test_a_table_named_twice_on_the_command_line_counts_twice() -> None:
    """As in Python, and as 'a,b; b,a' does."""
    read = parse_workload("a0,a1; a0,a1; a2")
    made = plan(schema(3), people=10, workload=read)
    assert made.aim.workload == {(0, 1): 2.0, (2,): 1.0}


# 7. What is said


def test_a_shuffled_epsilon_does_not_depend_on_the_callers_arithmetic() -> None:
    expected = shuffled_epsilon(log(3), 1 << 18, 1e-9)
    with decimal.localcontext(prec=3):
        assert shuffled_epsilon(log(3), 1 << 18, 1e-9) == expected


@pytest.mark.slow
def test_the_chart_of_a_workload_does_not_speak_of_all_tables() -> None:
    made = plan(schema(8), people=1000, workload=[names(0, 1)])
    assert "over all tables" not in json.dumps(plan_chart(made).to_dict(), default=str)


def test_the_guaranteed_error_of_subspace_is_kept() -> None:
    survey, frame = Survey(schema(5), 2, 2.0, "Subspace"), uniform(2000, 5)
    limit = guaranteed_tv(survey, len(frame))
    for turn in range(20):
        release = simulate(survey, frame, seed=f"{turn}")
        for table in release.marginals():
            truth = frame.groupby(list(table.names)).size().to_numpy() / len(frame)
            assert np.abs(table.values.ravel() - truth).sum() / 2 < limit


def test_no_question_touches_more_than_the_page_says() -> None:
    """docs/subspace.md says nine; of order 10 it is ten."""
    touched = Subspace.survey(schema(10), 10, 12.0).touches
    page = Path(__file__).parents[2].joinpath("docs", "subspace.md").read_text(encoding="utf-8")
    assert touched <= 9 or "at most nine)" not in page
