"""Joint tables and models of any measurements: non-negative, in agreement, summing to one."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.release.model import Path
from deniable.release.processed import JointTables
from deniable.release.projection import Measurements, joint
from deniable.survey.coefficients import Shared, all_tables


@st.composite
def measurements(draw: st.DrawFn) -> Measurements:
    attributes = draw(st.integers(1, 5))
    numbering = Shared(attributes, draw(st.integers(1, attributes)))
    numbers = st.lists(
        st.floats(-1e6, 1e6) | st.floats(-1, 1), min_size=numbering.size, max_size=numbering.size
    )
    spread = st.lists(st.floats(1e-12, 1e6), min_size=numbering.size, max_size=numbering.size)
    asked = st.lists(st.booleans(), min_size=numbering.size, max_size=numbering.size)
    people = np.array(draw(asked), float)
    theta = np.where(people > 0, np.array(draw(numbers)), 0)
    return Measurements(numbering, theta, np.where(people > 0, draw(spread), np.inf), people)


def assert_tables(found, numbering: Shared, largest: int) -> None:
    for size in range(1, largest + 1):
        tables = all_tables(numbering.attributes, size)
        cells = found.tables(tables)
        assert np.isfinite(cells).all()
        assert cells.min() >= -1e-9
        assert np.abs(cells.sum(axis=1) - 1).max() < 1e-6
        if size > 1:  # the first attribute summed out is the table of the others
            smaller = found.tables(tables[:, 1:])
            half = cells.shape[1] // 2
            assert np.abs(cells[:, :half] + cells[:, half:] - smaller).max() < 1e-6


@given(measurements())
def test_joint_tables_agree_and_are_distributions(measured):
    found = joint(measured.theta, measured.numbering)
    assert_tables(
        JointTables(measured.numbering, found), measured.numbering, measured.numbering.order
    )


@given(measurements())
def test_to_make_consistent_twice_is_to_do_it_once(measured):
    once = joint(measured.theta, measured.numbering)
    assert np.abs(joint(once, measured.numbering) - once).max() < 1e-6


@given(measurements())
@settings(max_examples=40)
def test_names_of_values_do_not_matter(measured):
    """Who calls an attribute's false true gets the same tables, turned."""
    numbering = measured.numbering
    sets = (all_tables(numbering.attributes, size) for size in range(1, numbering.order + 1))
    flip = np.concatenate([1 - 2 * (members == 0).any(axis=1) for members in sets])
    turned = joint(measured.theta * flip, numbering) * flip
    assert np.abs(turned - joint(measured.theta, numbering)).max() < 1e-3


@given(measurements(), st.integers(0, 40))
@settings(max_examples=60)
def test_models_agree_and_are_distributions(measured, stops):
    path = Path(measured)
    for _ in range(stops):
        path.advance()
    assert_tables(path.distribution, measured.numbering, measured.numbering.attributes)
