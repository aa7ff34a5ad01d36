"""Every example in a docstring runs and prints what it says."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

import deniable

MODULES = [
    "deniable",
    *(
        m.name
        for m in pkgutil.walk_packages(deniable.__path__, "deniable.")
        if "__main__" not in m.name
    ),
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_hold(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = sum(
        len(test.examples) for name in MODULES for test in finder.find(import_module(name))
    )
    assert examples >= 4
