"""Tallies form a commutative monoid, and tables do not depend on how they are asked for."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import ReportBatch, Schema, Survey, Tally
from deniable.decoding.decoder import decoder_of
from deniable.mechanisms.registry import MECHANISMS

SURVEYS = [Survey(Schema.binary(*"abcd"), 3, 1.1, name) for name in MECHANISMS]
WIDE = Survey(Schema.binary(*"abcdef"), 2, 1.1, "InpRR")


@st.composite
def batches(draw: st.DrawFn, surveys: list[Survey], count: int) -> tuple[Survey, list[ReportBatch]]:
    """Return a survey and some batches of possible reports, not necessarily likely ones."""
    survey = draw(st.sampled_from(surveys))
    made = []
    for _ in range(count):
        slots = draw(st.lists(st.integers(0, survey.slots - 1), max_size=12))
        values = [draw(st.integers(0, survey.question(s).answer.outcomes - 1)) for s in slots]
        if survey is WIDE:
            packed = b"".join(value.to_bytes(8, "little") for value in values)
            array = np.frombuffer(packed, np.uint8).reshape(len(slots), 8)
        else:
            array = np.array(values, np.int64)
        made.append(ReportBatch(survey.id, np.array(slots, np.int64), array))
    return survey, made


def joined(survey: Survey, parts: list[ReportBatch]) -> ReportBatch:
    slots = np.concatenate([part.slots for part in parts])
    return ReportBatch(survey.id, slots, np.concatenate([part.values for part in parts]))


@given(batches([*SURVEYS, WIDE], 3), st.permutations(range(3)))
def test_merging_is_counting_everything_together_in_any_order(
    drawn: tuple[Survey, list[ReportBatch]], order: list[int]
) -> None:
    survey, parts = drawn
    a, b, c = (survey.tally(part) for part in parts)
    whole = survey.tally(joined(survey, parts))
    assert (a + b) + c == a + (b + c) == whole
    x, y, z = ((a, b, c)[i] for i in order)
    assert x + y + z == whole
    assert whole.people == sum(len(part) for part in parts) == a.people + b.people + c.people
    assert survey.tally(joined(survey, [parts[i] for i in order])) == whole


@given(batches([*SURVEYS, WIDE], 1))
def test_the_empty_tally_is_neutral_and_counts_are_sorted_and_positive(
    drawn: tuple[Survey, list[ReportBatch]],
) -> None:
    survey, [part] = drawn
    tally = survey.tally(part)
    nothing = ReportBatch(survey.id, part.slots[:0], part.values[:0])
    empty = survey.tally(nothing)
    assert tally + empty == empty + tally == tally
    rows = list(zip(tally.slot.tolist(), tally.value.tolist(), strict=True))
    assert rows == sorted(set(rows))
    assert (tally.count > 0).all()
    slots, people = tally.people_by_slot()
    assert dict(zip(slots.tolist(), people.tolist(), strict=True)) == {
        slot: part.slots.tolist().count(slot) for slot in set(part.slots.tolist())
    }


@given(drawn=batches([*SURVEYS, WIDE], 2))
def test_a_tally_survives_its_file(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[Survey, list[ReportBatch]]
) -> None:
    survey, parts = drawn
    path = tmp_path_factory.mktemp("tally") / "x.tally"
    tally = survey.tally(parts[0])
    tally.save(path)
    assert Tally.load(path) == tally
    assert Tally.load(path) + survey.tally(parts[1]) == survey.tally(joined(survey, parts))


@given(batches(SURVEYS, 1), st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True))
def test_tables_come_in_any_order_and_smaller_ones_are_sums(
    drawn: tuple[Survey, list[ReportBatch]], names: list[str]
) -> None:
    survey, [part] = drawn
    if not len(part):
        return
    for estimator in decoder_of(survey).estimators:
        release = survey.tally(part).release(estimator=estimator)
        table = release.marginal(*names)
        assert table.values.shape == (2,) * len(names)
        assert table.values.sum() == pytest.approx(1)
        for order in permutations(range(len(names))):
            turned = release.marginal(*(names[i] for i in order))
            assert np.array_equal(turned.values, table.values.transpose(order))
            assert turned.known == table.known
        if estimator in ("pooled", "inverse"):
            for axis in range(len(names) - 1):
                rest = [name for i, name in enumerate(names) if i != axis]
                smaller = release.marginal(*rest)
                assert smaller.values == pytest.approx(table.values.sum(axis=axis))
                assert smaller.known or not table.known
        listed = {t.names: t for t in release.marginals(len(names))}
        near = 1e-4 if estimator == "em" else 1e-12  # EM may stop a step earlier or later
        among = listed[tuple(sorted(names))].values
        assert among == pytest.approx(release.marginal(*sorted(names)).values, abs=near)
