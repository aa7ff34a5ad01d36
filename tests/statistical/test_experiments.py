"""The experiments' measure: InpHT's error is where its closed form says, on taxi-like data."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from deniable.lab.experiments import EXPERIMENTS
from deniable.lab.experiments.bars import closed_form
from deniable.lab.experiments.errors import PAPER, crowd, errors
from deniable.lab.experiments.sources import DataFiles, obtain

SETTING = {"data": "taxi", "attributes": 8, "order": 3, "people": 1 << 18}
INPHT = [each for each in PAPER if each.label == "InpHT"]


def off(data, epsilon: float) -> float:
    """Return the mean error over 12 repeats, over the closed form at ε = ln 3, less 1."""
    points = [SETTING | {"epsilon": epsilon, "repeat": repeat} for repeat in range(12)]
    found = [errors(point, data, INPHT)[0]["tv"] for point in points]
    return float(np.mean(found)) / closed_form(8, 3, SETTING["people"]) - 1


def test_inpht_is_within_15_percent_of_its_closed_form_on_the_stand_in(tmp_path):
    data = obtain("taxi", DataFiles(derived=tmp_path), tmp_path)
    assert abs(off(data, log(3))) <= 0.15
    assert abs(off(data, 0.85)) > 0.15  # the planted bug: less ε than was said


def test_inpht_is_within_15_percent_of_its_closed_form_on_real_trips(shared_data, tmp_path):
    assert abs(off(obtain("taxi", DataFiles(derived=shared_data), tmp_path), log(3))) <= 0.15


def test_points_along_epsilon_are_about_the_same_people(tmp_path):
    data = obtain("movielens", DataFiles(derived=tmp_path), tmp_path)
    point = SETTING | {"people": 1000, "epsilon": 0.4, "repeat": 0}
    assert crowd(point, data).equals(crowd(point | {"epsilon": 1.4}, data))
    assert not crowd(point, data).equals(crowd(point | {"repeat": 1}, data))


@pytest.mark.parametrize("attributes", [3, 8, 11, 24])
def test_more_attributes_are_copies_of_columns(tmp_path, attributes):
    data = obtain("taxi", DataFiles(derived=tmp_path), tmp_path)
    people = crowd(SETTING | {"people": 500, "attributes": attributes, "repeat": 0}, data)
    assert people.num_columns == len(set(people.column_names)) == attributes
    if attributes > 8:
        assert people["CC_2"].equals(people["CC"])


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_measures_and_draws_all_its_kinds_of_points(name, tmp_path):
    experiment = EXPERIMENTS[name]
    points = experiment.grid(True)
    rows = {}
    for point in points:  # of each kind the first, whose rows stand for the others'
        kind = tuple(value for value in point.values() if isinstance(value, str))
        if kind not in rows:
            data = obtain(point["data"], DataFiles(derived=tmp_path), tmp_path)
            rows[kind] = experiment.measure(point | {"people": 1 << 14}, data)
        assert rows[kind]
    kinds = [tuple(v for v in point.values() if isinstance(v, str)) for point in points]
    frame = experiment.frame(points, [rows[kind] for kind in kinds])
    assert len(frame) == sum(len(rows[kind]) for kind in kinds)
    assert experiment.chart(frame).to_dict()
