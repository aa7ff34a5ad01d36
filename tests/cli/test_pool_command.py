"""Tallies of several surveys on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from deniable import Schema, Survey

Run = Callable[..., Any]


@pytest.fixture
def tallies(run: Run, data: Path) -> tuple[Path, Path]:
    """A survey's tally and its successor's, which asks about one attribute more."""
    frame, follows, paths = pd.read_csv(data), None, []
    for number, columns in enumerate([frame.columns[:3], frame.columns]):
        survey = Survey(Schema.binary(*columns), 2, 1.0 + number, "InpHT", follows=follows)
        follows = survey.id
        paths.append(data.with_name(f"{number}.tally"))
        survey.tally(survey.randomize(frame.astype(bool))).save(paths[-1])
    return paths[0], paths[1]


def test_tallies_are_pooled(run: Run, tallies: tuple[Path, Path]) -> None:
    ended = run("release", *tallies, "--pool", "-o", "out.json", "--json")
    assert (ended.code, ended.err) == (0, "")
    told = json.loads(ended.out)
    assert (told["people"], told["tables"]) == (1600, 10)
    assert told["pooled"]["errors"] == "exact"
    assert [each["people"] for each in told["pooled"]["surveys"]] == [800, 800]
    assert [each["slots"] for each in told["shuffling"]] == ["drawn", "assigned"]
    assert all(each["epsilon"] <= each["local_epsilon"] for each in told["shuffling"])
    form = json.loads(tallies[0].with_name("out.json").read_text("utf-8"))
    assert form["pooled"] == told["pooled"]
    text = run("release", *tallies, "--pool", "--overlap", "-o", "out.html").out
    assert "errors are not exact" in " ".join(text.split())
    assert "1600" in text.replace(",", "")


def test_what_is_pooled_can_be_said_without_a_file(run: Run, tallies: tuple[Path, Path]) -> None:
    ended = run("release", *tallies, "--pool", "--no-overlap", "--json")
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out)["pooled"]["shortfall"] == 0


def test_pooling_that_makes_no_sense_is_refused(
    run: Run, tallies: tuple[Path, Path], data: Path
) -> None:
    out = ("-o", "out.json")
    for arguments, reason in [
        ((*tallies,), "--pool pools what they ask alike"),
        ((tallies[0], "--overlap"), "add --pool"),
        ((tallies[0], "--pool"), "at least two"),
        ((tallies[0], tallies[0], "--pool"), "named twice"),
        ((*tallies, "--pool", "--apart", "nothing"), "No survey has an attribute 'nothing'"),
        ((data.parent, "--pool"), "a folder of groups is of one survey"),
    ]:
        ended = run("release", *arguments, *out)
        assert ended.code == 2
        assert reason in " ".join(ended.err.split())
