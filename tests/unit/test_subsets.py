"""Sets are numbered in colexicographic order, one by one and in arrays, up to the largest numbers."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest

from deniable.questions.subsets import rank, ranks, unrank, unranks


def colex(ground: int, size: int) -> list[tuple[int, ...]]:
    """Return all sets in colex order: by their largest member, then the next, and so on."""
    return sorted(combinations(range(ground), size), key=lambda members: members[::-1])


@pytest.mark.parametrize("ground", range(9))
@pytest.mark.parametrize("size", range(6))
def test_numbers_follow_the_colex_order(ground: int, size: int) -> None:
    sets = colex(ground, size)
    numbers = np.arange(len(sets))
    assert [rank(members) for members in sets] == numbers.tolist()
    assert [unrank(number, size) for number in range(len(sets))] == sets
    rows = np.array(sets, np.int64).reshape(len(sets), size)
    assert np.array_equal(ranks(rows, ground), numbers)
    assert np.array_equal(unranks(numbers, size, ground), rows)


@pytest.mark.parametrize(
    ("ground", "size"), [(200, 2), (1000, 6), (66, 33), (64, 31), (1 << 24, 2), (5_000_000, 2)]
)
def test_the_first_and_last_sets_keep_their_numbers(ground: int, size: int) -> None:
    last = comb(ground, size) - 1
    assert last < 1 << 63
    for number in (0, 1, last // 2, last - 1, last):
        members = unrank(number, size)
        assert members == tuple(sorted(set(members)))
        assert len(members) == size
        assert members[-1] < ground
        assert rank(members) == number
    if ground <= 10_000:
        numbers = np.array([0, 1, last // 2, last - 1, last])
        rows = unranks(numbers, size, ground)
        assert rows.tolist() == [list(unrank(number, size)) for number in numbers.tolist()]
        assert np.array_equal(ranks(rows, ground), numbers)


@pytest.mark.slow
def test_a_single_set_may_be_of_any_size() -> None:
    members = tuple(range(0, 3000, 3))
    assert unrank(rank(members), len(members)) == members


def test_numbers_do_not_depend_on_how_many_things_there_are() -> None:
    rows = unranks(np.arange(comb(8, 3)), 3, 8)
    assert np.array_equal(ranks(rows, 8), ranks(rows, 500))
    assert np.array_equal(unranks(np.arange(comb(8, 3)), 3, 500), rows)
