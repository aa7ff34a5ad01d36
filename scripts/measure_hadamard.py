"""Compare our Hadamard response with pure-ldp's: the same law, another distribution of cells to blocks.

    python scripts/measure_hadamard.py [--runs 1000]

One attribute of 32 values (Zipf), 20,000 people, ε = ln 3, as in `make bench`. Both have two blocks of
32 places. A cell's estimate is (Z/s)/(e^ε − 1) times a mean of −1, 0 and +1, of which the part
F = (b + q·s·(e^ε − 1))/Z is not 0, where q is the share of people in its block; so its error grows
with the people who share its block. Ours deals cells out in turn, pure-ldp fills one block after the
other (31 cells and one). Where pure-ldp is installed (by `make bench`), its own code is drawn too.

The numbers in docs/simulations.md are from here.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from math import exp, log, pi, sqrt
from typing import Any

import numpy as np

from deniable.lab.rivals.hadamard import HadamardResponse
from deniable.survey.coefficients import hadamard

VALUES, PEOPLE, EPSILON = 32, 20_000, log(3)


def expected(response: HadamardResponse, block_of: Any, shares: Any) -> float:
    """Return the expected distance, in total variation, if cells are in these blocks."""
    half, gain = response.width // 2, exp(response.epsilon) - 1
    in_block = np.bincount(block_of, shares, response.blocks)[block_of]
    spread = (response.width + in_block * half * gain) / response.total
    errors = response.total / half / gain * np.sqrt(spread / PEOPLE)
    return float(0.5 * sqrt(2 / pi) * errors.sum())


def drawn(response: HadamardResponse, block_of: Any, row_of: Any, holders: Any, random: Any) -> Any:
    """Return estimated shares, if cells are in these blocks and rows."""
    half, counts = response.width // 2, np.zeros((response.blocks, response.width))
    for cell, people in enumerate(holders.tolist()):
        own = np.bitwise_count(np.arange(response.width) & row_of[cell]) % 2 == 0
        law = np.ones((response.blocks, response.width))
        law[block_of[cell], own] = exp(response.epsilon)
        counts += random.multinomial(people, (law / law.sum()).ravel()).reshape(counts.shape)
    coefficients = hadamard(counts)[block_of, row_of] / holders.sum()
    return coefficients * response.total / (half * (exp(response.epsilon) - 1))


def theirs(values: Any) -> Any:
    """Return shares by pure-ldp's own client and server."""
    from pure_ldp.frequency_oracles.hadamard_response import (
        HadamardResponseClient,
        HadamardResponseServer,
    )

    server = HadamardResponseServer(EPSILON, VALUES, index_mapper=lambda value: value)
    client = HadamardResponseClient(
        EPSILON, VALUES, server.get_hash_funcs(), index_mapper=lambda value: value
    )
    for value in values.tolist():
        server.aggregate(client.privatise(value))
    return np.array(server.estimate_all(range(VALUES), suppress_warnings=True)) / PEOPLE


def main() -> None:
    """Print expected and drawn errors."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    random = np.random.default_rng(2018)
    weights = 1 / np.arange(1, VALUES + 1)
    values = random.choice(VALUES, PEOPLE, p=weights / weights.sum())
    holders = np.bincount(values, minlength=VALUES)
    truth = holders / PEOPLE
    response, cells = HadamardResponse(VALUES, EPSILON), np.arange(VALUES)
    most = response.width - 1
    in_turn = cells % response.blocks, cells // response.blocks + 1
    filled = cells // most, cells % most + 1
    for name, (block_of, row_of) in {"in turn": in_turn, "one after the other": filled}.items():
        errors, laws = [], []
        for _ in range(runs):
            order = random.permutation(VALUES)  # as pure-ldp does; in turn it makes no difference
            places = block_of[order], row_of[order]
            laws.append(expected(response, places[0], truth))
            shares = drawn(response, *places, holders, random)
            errors.append(np.abs(shares - truth).sum() / 2)
        print(f"{name}: expected {np.mean(laws):.4f}, drawn {_mean(errors)}")
    if find_spec("pure_ldp"):
        errors = [np.abs(theirs(values) - truth).sum() / 2 for _ in range(runs)]
        print(f"pure-ldp: drawn {_mean(errors)}")


def _mean(errors: list[float]) -> str:
    return f"{np.mean(errors):.4f} ± {np.std(errors) / sqrt(len(errors)):.4f}"


if __name__ == "__main__":
    main()
