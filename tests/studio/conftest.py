"""A studio in a new folder, whose page is open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from studio_parts import Page


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    """A studio in a new folder, whose page is open."""
    made = Page(tmp_path / "survey")
    with made.client:
        made.open()
        yield made
