"""The public names are there, sorted, loaded when asked for, and work as the design shows."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import deniable

HEAVY = (
    *("pandas", "pyarrow", "duckdb", "altair", "scipy", "typer", "rich", "polars", "narwhals"),
    *("starlette", "uvicorn", "msgspec", "psycopg", "babel", "mbi"),
)


def loaded_after(code: str) -> set[str]:
    """Return the modules that a fresh Python has loaded after some code."""
    show = f"{code}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout))


def test_all_is_sorted_and_every_name_is_there() -> None:
    assert deniable.__all__ == sorted(deniable.__all__)
    assert len(set(deniable.__all__)) == len(deniable.__all__)
    assert set(deniable._HOMES) == set(deniable.__all__)
    for name in deniable.__all__:
        assert getattr(deniable, name).__name__ == name
        assert name in dir(deniable)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        deniable.nonsense  # noqa: B018


def test_names_that_the_design_promises_are_public() -> None:
    promised = {"Schema", "Survey", "Client", "Ledger", "Tally", "Release", "plan", "simulate"}
    assert promised <= set(deniable.__all__)


def test_importing_deniable_loads_nothing_and_a_name_only_its_room() -> None:
    mine = {m for m in loaded_after("import deniable") if m.startswith("deniable")}
    assert mine == {"deniable"}
    after = loaded_after("from deniable import Schema")
    assert not after & {"deniable.survey", "deniable.collector", *HEAVY}


@pytest.mark.parametrize(
    "code",
    [
        "import deniable.client",
        "from deniable.client import *",
        "from deniable import Client, Ledger",
    ],
)
def test_the_client_is_light(code: str) -> None:
    late = {*HEAVY, "cryptography", "deniable.survey", "deniable.collector"}
    assert not loaded_after(code) & late


def test_a_collector_starts_without_what_only_analysts_need() -> None:
    late = {"pandas", "pyarrow", "duckdb", "altair", "scipy", "polars", "narwhals", "mbi"}
    assert not loaded_after("import deniable.cli, deniable.server.serve") & late


def test_a_device_answers_without_loading_a_dataframe(tmp_path: Path) -> None:
    survey = deniable.Survey(deniable.Schema.binary("a", "b"), mechanism="InpHT")
    (tmp_path / "survey.json").write_text(survey.to_json())
    code = f"""
from pathlib import Path
from deniable import Client, Ledger, Survey
survey = Survey.from_json(Path({str(tmp_path / "survey.json")!r}).read_text())
Client(survey, ledger=Ledger({str(tmp_path / "me.json")!r})).report({{"a": True, "b": False}})
"""
    assert not loaded_after(code) & set(HEAVY)


@pytest.mark.parametrize(
    ("call", "parameters"),
    [
        (deniable.Survey, ["schema", "order", "epsilon", "mechanism"]),
        (deniable.Survey.randomize, ["self", "frame", "seed"]),
        (deniable.Survey.tally, ["self", "reports"]),
        (deniable.Survey.question, ["self", "slot"]),
        (deniable.Tally.release, ["self", "consistency"]),
        (deniable.Release.marginals, ["self", "order"]),
        (deniable.Marginal.interval, ["self", "level"]),
        (deniable.plan, ["schema", "order", "epsilon", "people"]),
        (deniable.simulate, ["survey", "frame", "seed"]),
        (deniable.Client, ["survey", "ledger", "limit", "lifetime_limit"]),
        (deniable.Client.report, ["self", "record"]),
    ],
)
def test_signatures_are_those_of_the_design(call: object, parameters: list[str]) -> None:
    names = list(inspect.signature(call).parameters)
    assert [name for name in names if name in parameters] == parameters
    assert names[: len(parameters)] == parameters


def test_the_example_of_the_design_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from deniable import Client, Ledger, Schema, Survey, Tally, plan, simulate

    monkeypatch.chdir(tmp_path)
    assert Schema.of(sex=["f", "m"], income=["low", "mid", "high"]).sizes == (2, 3)
    schema = Schema.binary("Action", "Romance", "Comedy", "Crime")
    frame = pd.DataFrame(np.random.default_rng(0).random((5000, 4)) < 0.4, columns=schema.names)
    assert Schema.from_frame(frame) == schema
    survey = Survey(schema, order=2, epsilon=1.1, mechanism="auto")
    assert Survey.from_json(survey.to_json()).id == survey.id
    assert survey.question(0).survey == survey.id
    record = {"Action": True, "Romance": False, "Comedy": True, "Crime": False}
    report = Client(survey, ledger=Ledger("me.json")).report(record)
    assert (type(report.slot), type(report.value)) == (int, int)
    batch = survey.randomize(frame, seed=None)
    assert batch.to_arrow().column_names == ["slot", "value"]
    batch.to_parquet("reports.parquet")
    tally = survey.tally(batch)
    assert tally == survey.tally(batch.to_arrow()) == survey.tally("reports.parquet")
    assert (tally + tally).people == 2 * tally.people == 10_000
    tally.save("day.tally")
    assert Tally.load("day.tally") == tally
    release = tally.release(consistency="none")
    m = release.marginal("Action", "Comedy")
    assert (m.values.shape, m.covariance.shape, m.interval(0.95).shape) == (
        (2, 2),
        (4, 4),
        (2, 2, 2),
    )
    assert len(m.to_frame()) == 4
    assert m.plot().to_dict()
    assert m.known
    assert len(release.marginals(order=2)) == 6
    made = plan(schema, order=2, epsilon=1.1, people=262_144)
    assert made.rows[0].predicted_tv > made.unbiased_bound_tv
    assert simulate(survey, frame, seed=None).people == 5000


def test_errors_form_one_tree() -> None:
    from deniable import errors

    kinds = [getattr(errors, name) for name in errors.__all__]
    assert errors.__all__ == sorted(errors.__all__)
    bases = (deniable.DeniableError, errors.DeniableWarning)
    assert all(issubclass(kind, bases) for kind in kinds)
    drawn = errors.__doc__ or ""
    assert all(kind.__name__ in drawn for kind in kinds), "the docstring draws every error"


def test_to_hold_a_survey_loads_no_decoder() -> None:
    """What a device or a form needs of a survey is light: no decoder, planner, collector or design."""
    loaded = loaded_after("from deniable import Survey")
    ours = {name for name in loaded if name.startswith("deniable.")}
    rooms = {"api", "errors", "formats", "messages", "numeric", "questions", "schema", "survey"}
    assert {name.split(".")[1] for name in ours} == rooms
    mathematics = {name for name in ours if name.startswith("deniable.numeric.")}
    assert mathematics == {"deniable.numeric.bins"}, "and what needs scipy stays away"
    assert {name for name in ours if name.startswith("deniable.api.")} == {"deniable.api.survey"}


def test_the_command_line_loads_what_a_command_needs_when_it_needs_it() -> None:
    late = {*HEAVY} - {"typer", "rich"}
    assert not loaded_after("import deniable.cli") & late, "every command would wait for it"
