"""`deniable simulate`: fields, seeds, what is left out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
from cli_parts import NAMES, Run, spawn

from deniable.mechanisms.registry import MECHANISMS

RIVALS = ["CALM", "product of margins", "OUE", "OLH", "HR"]


def test_simulate_prints_its_fields_for_every_mechanism(run: Run, data: Path) -> None:
    ended = run("simulate", data, "--mechanism", "all", "--repeat", 2, "--people", 500, "--json")
    assert (ended.code, ended.err) == (0, "")
    rows = ended.document
    assert [row["mechanism"] for row in rows] == NAMES + RIVALS
    for row in rows:
        assert set(row) == {
            "mechanism", "attributes", "order", "epsilon", "people", "repeat", "mean_tv",
            "predicted_tv", "seconds", "reports_per_second", "consistency", "applied", "tables",
            "standard_error",
        }  # fmt: skip
        applied = "its own" if row["mechanism"] in RIVALS else "none"
        assert (row["consistency"], row["applied"], row["tables"]) == ("none", applied, 2)
        assert 0 <= row["standard_error"] <= row["mean_tv"]
        assert (row["attributes"], row["order"], row["epsilon"]) == (4, 2, 1.1)
        assert (row["people"], row["repeat"]) == (500, 2)
        assert (row["predicted_tv"] is None) == (row["mechanism"] in ("InpEM", *RIVALS))


def test_rivals_are_named_alone_and_leave_consistency_to_themselves(run: Run, data: Path) -> None:
    [row] = run("simulate", data, "--mechanism", "calm", "--seed", "x", "--json").document
    assert (row["mechanism"], row["standard_error"]) == ("CALM", None)
    both = ("simulate", data, "--mechanism", "product of margins, Subspace", "--seed", "x")
    rows = run(*both, "--consistency", "joint", "--json").document
    assert [row["applied"] for row in rows] == ["its own", "joint"]
    said = " ".join(run(*both, "--consistency", "joint").out.split())
    assert "Consistency joint. What processing makes" in said
    assert run("audit", "--mechanism", "CALM").code == 2  # they have no law to audit
    refused = run("simulate", data, "--mechanism", "CALM", "--estimator", "em")
    assert (refused.code, "CALM has no estimators" in refused.err) == (2, True)
    assert run("simulate", data, "--mechanism", "CALM", "--order", 9).code == 2


def test_an_aim_reaches_the_design_and_auto_says_what_it_was(run: Run, tmp_path: Path) -> None:
    cells = np.random.default_rng(0).integers(0, 5, (900, 3))
    pd.DataFrame(cells, columns=list("xyz")).to_csv(tmp_path / "five.csv", index=False)
    command = ("simulate", "five.csv", "--observed", "--mechanism", "Subspace", "--json")
    predicted = {
        aim: run(*command, "--aim", aim).document[0]["predicted_tv"]
        for aim in ("tables", "associations", "unbiased")
    }
    assert predicted["unbiased"] < predicted["tables"]
    assert predicted["unbiased"] < predicted["associations"]
    ended = run(*command, "--aim", "nothing")
    assert ended.code == 2
    assert "--aim must be 'tables', 'associations' or 'unbiased'" in ended.err
    [row] = run(*command, "--consistency", "auto").document
    assert row["consistency"] == "auto"
    assert row["applied"] in ("model", "joint")


def test_simulate_compares_larger_tables_by_a_model(run: Run, data: Path) -> None:
    larger = ("simulate", data, "--order", 2, "--tables", 3, "--seed", "x")
    [row] = run(*larger, "--consistency", "model", "--json").document
    assert (row["order"], row["tables"], row["applied"]) == (2, 3, "model")
    assert row["predicted_tv"] is None
    said = run(*larger, "--consistency", "model").out
    assert "all tables of 3 from surveys of order 2" in said
    assert "Consistency model." in said
    assert run(*larger).code == 2
    assert run("simulate", data, "--tables", 99).code == 2


def without_times(rows: list[dict]) -> list[dict]:
    timed = ("seconds", "reports_per_second")
    return [{k: v for k, v in row.items() if k not in timed} for row in rows]


def test_a_seed_makes_simulate_reproducible_in_any_process(run: Run, data: Path) -> None:
    command = ("simulate", data, "--mechanism", "all", "--people", 300, "--json")
    first = without_times(run(*command, "--seed", "x").document)
    assert without_times(run(*command, "--seed", "x").document) == first
    assert without_times(run(*command, "--seed", "y").document) != first
    assert without_times(run(*command).document) != without_times(run(*command).document)
    apart = spawn(*command, "--seed", "x", cwd=data.parent)
    assert without_times(json.loads(apart.stdout)) == first


def test_any_text_is_a_seed(run: Run, data: Path) -> None:
    for seed in ("", "ü", "\udcff", "5"):
        assert run("simulate", data, "--seed", seed, "--json").code == 0


def test_simulate_takes_every_row_once_unless_people_are_given(run: Run, data: Path) -> None:
    [row] = run("simulate", data, "--mechanism", "InpHT", "--json").document
    assert (row["people"], row["repeat"]) == (800, 1)
    ended = run("simulate", data, "--mechanism", "margrs, InpHT", "--columns", "c,a")
    assert ended.out.startswith("800 people, 2 attributes, all tables of 2, epsilon 1.1, 1 repeat")
    assert "MargRR" in ended.out
    assert "InpPS" not in ended.out


def test_a_simulation_without_any_error_can_be_shown(run: Run, tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text("a\ntrue\nfalse\n")
    for seed in range(6):
        ended = run("simulate", "two.csv", "--order", 1, "--mechanism", "InpHT", "--seed", seed)
        assert (ended.code, ended.err) == (0, "")


def test_mechanisms_that_do_not_fit_are_left_out_of_many_and_refused_alone(
    run: Run, tmp_path: Path
) -> None:
    wide = pd.DataFrame(np.ones((5, 30), bool), columns=[f"a{i}" for i in range(30)])
    wide.to_csv(tmp_path / "wide.csv", index=False)
    rows = run("simulate", "wide.csv", "--mechanism", "all", "--json").document
    ours = {*MECHANISMS, *RIVALS}  # others may be installed
    assert [row["mechanism"] for row in rows if row["mechanism"] in ours] == [
        *("InpHT", "MargRR", "MargPS", "MargHT", "InpEM", "InpES", "Subspace"),
        *RIVALS,
    ]
    assert "InpRR takes at most" in run("simulate", "wide.csv", "--mechanism", "all").out
    assert run("simulate", "wide.csv", "--mechanism", "InpRR").code == 2
    assert run("simulate", "wide.csv", "--mechanism", "InpRR,InpPS").code == 2


def test_a_simulation_of_noise_says_so(run: Run, tmp_path: Path) -> None:
    cells = np.random.default_rng(0).integers(0, 40, (500, 3))
    pd.DataFrame(cells, columns=list("xyz")).to_csv(tmp_path / "wide.csv", index=False)
    ended = run("simulate", "wide.csv", "--observed", "--mechanism", "Subspace")
    assert ended.out.startswith("500 people, 3 attributes of 40 values, all tables of 2, ")
    assert "above 1 nothing else" in " ".join(ended.out.split())


def test_values_beyond_the_ends_are_said_once(run: Run, tmp_path: Path) -> None:
    frame = pd.DataFrame({"earnings": np.arange(300) * 1000.0, "yes": [True, False, False] * 100})
    frame.to_csv(tmp_path / "e.csv", index=False)
    ended = run(
        "simulate", "e.csv", "--range", "earnings=0:200", "--mechanism", "InpHT,MargHT",
        "--repeat", 2, "--json",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert ended.err == (
        "deniable: 299 of 300 values of 'earnings' lie beyond its ends, 0 and 200, and count as "
        "these: its mean and all else is of numbers so limited.\n"
    )
