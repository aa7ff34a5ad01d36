"""Why our Hadamard response differs from pure-ldp's: the same law, other blocks (docs/simulations.md).

Seeds are fixed; a mean of 150 draws scatters by 1.2 %, so a bound of 6 % alarms less than once in 10⁶.
"""

from __future__ import annotations

import numpy as np
import pytest
from script_parts import load_script

from deniable.lab.rivals.hadamard import HadamardResponse


def test_hadamard_response_is_better_with_cells_dealt_to_blocks_in_turn() -> None:
    """Blocks of 31 cells and one, as pure-ldp fills them, cost what the law says."""
    script = load_script("measure_hadamard")
    response, cells = HadamardResponse(32, script.EPSILON), np.arange(32)
    shares = np.full(32, 1 / 32)
    in_turn = script.expected(response, cells % 2, shares)
    filled = script.expected(response, cells // 31, shares)
    assert (response.blocks, response.width) == (2, 32)
    assert filled / in_turn == pytest.approx(np.sqrt(0.667 / 0.5), rel=0.02)
    holders, random = np.full(32, 625), np.random.default_rng(1)
    for block_of, row_of, law in [
        (cells % 2, cells // 2 + 1, in_turn),
        (cells // 31, cells % 31 + 1, filled),
    ]:
        errors = [
            np.abs(script.drawn(response, block_of, row_of, holders, random) - shares).sum() / 2
            for _ in range(150)
        ]
        assert np.mean(errors) == pytest.approx(law, rel=0.06)
    assert abs(filled / in_turn - 1) > 0.12
