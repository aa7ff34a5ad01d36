"""Fixtures that every kind of test shares."""

from __future__ import annotations

import os
from pathlib import Path

# Two workers with as many threads each as there are cores would wait for each other most of the time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings

# The same examples in every run, so that a failure is one for everybody.
# HYPOTHESIS_PROFILE=explore looks for new ones, many of them.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data that stands beside the repository, and is no part of it."""
    folder = Path(os.environ.get("DENIABLE_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(
            "the shared real data is not beside this repository: put it in ../shared/data "
            "or name its folder in DENIABLE_SHARED_DATA"
        )
    return folder
