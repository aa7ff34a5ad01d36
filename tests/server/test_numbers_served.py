"""Analysts ask for numbers: the same that a release tells, and problems for what makes no sense."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator
from server_parts import Service, problem

from deniable import Schema, Survey
from deniable.api.tally import Tally
from deniable.schema.attribute import Attribute
from deniable.server.openapi import document
from deniable.server.precision import half_width
from deniable.server.serve import Rules

SURVEY = Survey(
    Schema(
        [
            Attribute("income", low=0, high=100_000, step=5_000, unit="EUR", missing="?", other="?"),
            Attribute("day", low="2026-01-01", high="2026-01-31", missing="?", other="?"),
            Attribute("sex", ("f", "m"), complete=True),
            Attribute("town", tuple(f"t{i}" for i in range(250)), complete=True),
        ]
    ),
    2,
    3.0,
)  # fmt: skip
PEOPLE = 5000


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Any:
    random = np.random.default_rng(2)
    sex = random.choice(["f", "m"], PEOPLE)
    frame = pd.DataFrame(
        {
            "income": np.where(sex == "f", 20_000, 70_000) + random.normal(0, 5_000, PEOPLE),
            "day": [f"2026-01-{day:02}" for day in random.integers(1, 32, PEOPLE)],
            "sex": sex,
            "town": [f"t{i}" for i in random.integers(0, 250, PEOPLE)],
        }
    )
    url = f"sqlite:///{tmp_path_factory.mktemp('numbers') / 's.db'}"
    with Service(url, (SURVEY,), Rules("drawn")) as running:
        rows = SURVEY.randomize(frame, "served").to_arrow().to_pylist()
        reports = [{name: str(row[name]) for name in ("slot", "value")} for row in rows]
        assert running.send(reports).status_code == 200
        yield running


def test_a_number_is_what_the_release_tells(service: Service) -> None:
    release = Tally.of(service.tally()).release()
    form = service.get("/v1/release/number", attribute="income").json()
    mean, own = release.mean("income"), release.distribution("income")
    assert form["mean"]["estimate"] == pytest.approx(mean.estimate)
    assert form["mean"]["low"] == pytest.approx(mean.low)
    assert form["variance"]["estimate"] == pytest.approx(release.variance("income").estimate)
    assert [row["probability"] for row in form["quantiles"]] == [0.25, 0.5, 0.75]
    assert form["quantiles"][1]["estimate"] == release.quantile("income").estimate
    assert form["distribution"]["cumulative"] == pytest.approx(own.cumulative.tolist(), abs=1e-8)
    assert form["missing"] == pytest.approx(own.missing)
    assert (form["unit"], form["people"], form["level"]) == ("EUR", PEOPLE, 0.95)
    assert all(svg.startswith("<svg") for svg in form["drawing"].values())
    asked = service.get("/v1/release/number", attribute="day", probability=[0.1, 0.9], level=0.8)
    days = asked.json()
    assert [row["probability"] for row in days["quantiles"]] == [0.1, 0.9]
    assert days["mean"]["estimate"].startswith("2026-01-")
    assert days["level"] == 0.8


def test_means_by_group_and_correlations(service: Service) -> None:
    release = Tally.of(service.tally()).release()
    form = service.get("/v1/release/means", attribute="income", by="sex").json()
    means = release.mean("income", by="sex")
    assert [row["group"] for row in form["means"]] == [{"sex": "f"}, {"sex": "m"}]
    assert [row["estimate"] for row in form["means"]] == pytest.approx(means.estimate)
    assert [row["drawing"]["name"] for row in form["means"]] == ["f", "m"]
    assert form["p_value"] < 0.01
    form = service.get("/v1/release/correlation", attributes=["income", "day"]).json()
    own = release.correlation("income", "day")
    if np.isfinite(own.estimate):
        assert form["estimate"] == pytest.approx(own.estimate)
        assert (form["low"], form["high"]) == pytest.approx((own.low, own.high))


def test_numbers_count_in_widths_by_their_means(service: Service) -> None:
    """Their unbiased bins are noise, and would say that there are far too few people."""
    release = Tally.of(service.tally()).release()
    (row,) = service.get("/v1/release/history").json()["history"]
    errors = [release.marginal("sex", "town").standard_error.mean()]
    for name, span in (("income", 100_000), ("day", 30)):
        errors.append(release.mean(name).standard_error / span)
    assert row["half_width"] == pytest.approx(1.96 * np.mean(errors), rel=1e-4)
    assert release.marginal("income", "day").standard_error.mean() > 2 * np.mean(errors)


@pytest.mark.parametrize(("people", "is_known"), [(300, False), (20_000, True)])
def test_a_survey_of_numbers_alone_has_a_width(people: int, is_known: bool) -> None:
    survey = Survey(Schema.of(age=(18, 100), day=("2026-01-01", "2026-01-31")), 2, 3.0, "InpHT")
    frame = pd.DataFrame({"age": np.arange(people) % 80 + 18, "day": ["2026-01-09"] * people})
    reports = survey.randomize(frame, "alone")
    width = half_width(survey.tally(reports, simulation=True).release())
    assert (width is not None) == is_known
    assert not is_known or 0.02 < width < 0.2


def test_the_overview_names_numbers(service: Service) -> None:
    form = service.get("/v1/release").json()
    assert form["numbers"] == [{"name": "income", "unit": "EUR"}, {"name": "day", "unit": None}]
    assert form["categories"] == ["sex"], "towns are too many"


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("", {}),
        ("/number", {"attribute": "income"}),
        ("/number", {"attribute": "day", "probability": 0.1}),
        ("/means", {"attribute": "income", "by": "sex"}),
        ("/means", {"attribute": "day", "by": "sex", "level": 0.5}),
        ("/correlation", {"attributes": ["income", "day"]}),
    ],
)
def test_answers_are_as_documented(service: Service, path: str, query: dict[str, Any]) -> None:
    responses = document()["paths"][f"/v1/release{path}"]["get"]["responses"]
    schema = responses["200"]["content"]["application/json"]["schema"]
    response = service.get(f"/v1/release{path}", **query)
    assert response.status_code == 200
    Draft202012Validator(schema).validate(response.json())
    assert set(response.json()) == set(schema["properties"])


@pytest.mark.parametrize(
    ("path", "query", "name"),
    [
        ("number", {}, "malformed"),
        ("number", {"attribute": "nobody"}, "table-impossible"),
        ("number", {"attribute": "sex"}, "table-impossible"),
        ("number", {"attribute": "income", "probability": "x"}, "malformed"),
        ("number", {"attribute": "income", "probability": 1}, "table-impossible"),
        ("number", {"attribute": "income", "probability": "nan"}, "table-impossible"),
        ("number", {"attribute": "income", "level": 2}, "table-impossible"),
        ("number", {"attribute": ["income", "day"]}, "malformed"),
        ("number", {"attribute": "income", "by": "sex"}, "malformed"),
        ("means", {"attribute": "income"}, "malformed"),
        ("means", {"attribute": "income", "by": "income"}, "table-impossible"),
        ("means", {"attribute": "income", "by": "town"}, "table-impossible"),
        ("means", {"attribute": "income", "by": ["sex", "town"]}, "table-impossible"),
        ("means", {"attribute": "sex", "by": "income"}, "table-impossible"),
        ("correlation", {"attributes": "income"}, "malformed"),
        ("correlation", {"attributes": ["income", "income"]}, "table-impossible"),
        ("correlation", {"attributes": ["income", "sex"]}, "table-impossible"),
    ],
)
def test_bad_input_is_a_problem(
    service: Service, path: str, query: dict[str, Any], name: str
) -> None:
    response = service.get(f"/v1/release/{path}", **query)
    assert 400 <= response.status_code < 500
    assert problem(response, name), response.text


@pytest.mark.parametrize("path", ["number", "means", "correlation"])
def test_numbers_need_the_token(service: Service, path: str) -> None:
    response = service.client.get(f"/v1/release/{path}", params={"attribute": "income"})
    assert response.status_code == 401
    assert problem(response, "unauthorized")
