"""The version stands in several files, and is one."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import deniable

ROOT = Path(__file__).parents[2]


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def test_every_file_says_the_same_version() -> None:
    version = deniable.__version__
    assert tomllib.loads(text("pyproject.toml"))["project"]["version"] == version
    assert json.loads(text("clients/js/package.json"))["version"] == version
    assert re.findall(r"^version: (.+)$", text("CITATION.cff"), re.MULTILINE) == [version]


def test_the_changelog_has_a_dated_section_and_the_citation_its_date() -> None:
    (date,) = re.findall(
        rf"^## \[{re.escape(deniable.__version__)}\] - (\d{{4}}-\d\d-\d\d)$",
        text("CHANGELOG.md"),
        re.MULTILINE,
    )
    assert f"\ndate-released: {date}\n" in text("CITATION.cff")


def test_versions_with_fixes_are_told() -> None:
    minor = deniable.__version__.rpartition(".")[0]
    assert f"| {minor}.x | yes |" in text("SECURITY.md")


def test_what_citations_say_is_what_the_citation_file_says() -> None:
    from deniable.show import citing

    cff = text("CITATION.cff")
    assert f'\ntitle: "{citing.SOFTWARE}"\n' in cff
    assert f"  - name: {citing.AUTHORS}\n" in cff
    assert f"\ndate-released: {citing.RELEASED.isoformat()}\n" in cff
    assert cff.rpartition("doi: ")[2].strip() in citing.PAPER
