"""Numbering sets is a bijection, whichever way it is computed."""

from __future__ import annotations

from math import comb

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from deniable.questions.subsets import rank, ranks, unrank, unranks
from deniable.survey.coefficients import PerTable, Shared, all_tables


@given(st.sets(st.integers(0, 10**6), max_size=12))
def test_a_set_is_found_again_by_its_number(members: set[int]) -> None:
    ordered = tuple(sorted(members))
    assert unrank(rank(ordered), len(ordered)) == ordered


@given(st.integers(0, 2**63 - 1), st.integers(1, 40))
def test_a_number_is_found_again_by_its_set(number: int, size: int) -> None:
    members = unrank(number, size)
    assert rank(members) == number
    assert members == tuple(sorted(set(members)))


@given(st.integers(1, 300), st.integers(1, 12), st.data())
def test_arrays_are_numbered_as_single_sets_are(
    ground: int, size: int, data: st.DataObject
) -> None:
    total = comb(ground, size)
    assume(1 <= total < 2**63)
    numbers = data.draw(st.lists(st.integers(0, total - 1), max_size=10))
    rows = unranks(np.array(numbers, np.int64), size, ground)
    assert [tuple(row) for row in rows.tolist()] == [unrank(n, size) for n in numbers]
    assert ranks(rows, ground).tolist() == numbers


@given(st.integers(1, 9), st.integers(1, 4), st.integers(1, 4))
def test_coefficients_are_numbered_without_gaps_and_alike_by_questions_and_tables(
    attributes: int, order: int, size: int
) -> None:
    assume(size <= order <= attributes)
    for numbering in (Shared(attributes, order), PerTable(attributes, order)):
        by_tables = numbering.of_tables(all_tables(attributes, size))
        assert by_tables.max() < numbering.size
        if size < order:
            continue
        questions = all_tables(attributes, order)
        # In C order the last attribute is the lowest bit of a table's masks.
        masks = [int(f"{mask:0{order}b}"[::-1], 2) for mask in range(1, 1 << order)]
        by_questions = [numbering.of_question(questions, mask) for mask in masks]
        assert np.array_equal(np.stack(by_questions, axis=1), by_tables)
        distinct = len(np.unique(by_tables))
        apart = isinstance(numbering, PerTable)
        assert distinct == (by_tables.size if apart else numbering.size)
