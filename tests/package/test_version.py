"""The version stands in several files, and is one."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import deniable
from deniable.server.migrations import FORMAT, FORMAT_OF

ROOT = Path(__file__).parents[2]


RELEASE, _, IN_THE_MAKING = deniable.__version__.partition(".dev")
"""This version without its mark; while it is being made, the one before it is what is dated."""


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def test_every_file_says_the_same_version() -> None:
    version = deniable.__version__
    assert tomllib.loads(text("pyproject.toml"))["project"]["version"] == version
    own = f"{RELEASE}-dev.{IN_THE_MAKING}" if IN_THE_MAKING else RELEASE
    assert json.loads(text("clients/js/package.json"))["version"] == own


def test_the_changelog_has_a_dated_section_and_the_citation_its_date() -> None:
    heads = re.findall(
        r"^## \[(.+)\](?: - (\d{4}-\d\d-\d\d))?$", text("CHANGELOG.md"), re.MULTILINE
    )
    is_open = heads[0] == ("Unreleased", "")
    assert is_open or not IN_THE_MAKING
    version, date = heads[is_open]
    assert (version == RELEASE) is not bool(IN_THE_MAKING)
    assert f"\nversion: {version}\ndate-released: {date}\n" in text("CITATION.cff")


def test_each_version_has_the_format_of_its_stores() -> None:
    newest, form = list(FORMAT_OF.items())[-1]
    assert (newest, form) == (RELEASE, FORMAT), (
        "tables changed: a new version, with a line of its own"
    )


def test_versions_with_fixes_are_told() -> None:
    minor = RELEASE.rpartition(".")[0]
    assert f"| {minor}.x | yes |" in text("SECURITY.md")


def test_what_citations_say_is_what_the_citation_file_says() -> None:
    from deniable.show import citing

    cff = text("CITATION.cff")
    assert f'\ntitle: "{citing.SOFTWARE}"\n' in cff
    assert f"  - name: {citing.AUTHORS}\n" in cff
    assert f"\ndate-released: {citing.RELEASED.isoformat()}\n" in cff
    assert cff.rpartition("doi: ")[2].strip() in citing.PAPER
