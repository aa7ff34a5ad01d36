"""The architecture page names paths that exist, the rooms that there are, and the real import graph."""

from __future__ import annotations

import re

import pytest
from docs_parts import DOCS, ROOT, script

architecture = script("make_architecture_page")
TEXT = architecture.PAGE.read_text("utf-8")


def rooms_on(text: str) -> list[str]:
    """Return the rooms in the page's table, in its order."""
    part = text.split(architecture.begin("rooms"))[1].split(architecture.END)[0]
    return [name.removesuffix(".py").rstrip("/") for name in re.findall(r"^\| `(\S+)`", part, re.M)]


def graph_on(text: str) -> dict[str, set[str]]:
    """Return what each room imports, as the page says."""
    part = text.split(architecture.begin("imports"))[1].split(architecture.END)[0]
    lines = re.findall(r"^(\w+) +→ (.+)$", part, re.MULTILINE)
    return {room: set(others.split()) - {"–"} for room, others in lines}


def changes_on(text: str) -> list[str]:
    """Return the typical changes."""
    part = text.split("## Where ten typical changes go")[1]
    return re.findall(r"^\d+\. (\*\*.+?)(?=^\d+\. |^\S)", part, re.MULTILINE | re.DOTALL)


def test_every_path_on_the_page_exists() -> None:
    assert len(architecture.paths(TEXT)) > 60
    assert architecture.missing(TEXT) == []


@pytest.mark.parametrize(
    "page",
    [DOCS / "data-flow.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"],
    ids=lambda p: p.name,
)
def test_pages_beside_it_name_paths_that_exist(page) -> None:
    text = page.read_text("utf-8")
    assert architecture.paths(text)
    assert architecture.missing(text) == []


def test_the_rooms_are_those_of_import_linter_and_of_the_package() -> None:
    assert rooms_on(TEXT) == architecture.rooms()
    inside = [
        path for path in architecture.PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"
    ]
    assert {*rooms_on(TEXT)} == {path.stem for path in inside} - {"__init__", "__pycache__"}
    assert all(architecture.sentence(room).endswith(".") for room in architecture.rooms())


def test_the_import_graph_is_the_real_one() -> None:
    assert graph_on(TEXT) == architecture.imports(), "run scripts/make_architecture_page.py"


def test_the_generated_parts_are_up_to_date() -> None:
    assert architecture.page(TEXT) == TEXT, "run scripts/make_architecture_page.py"


def test_ten_changes_each_name_their_files() -> None:
    changes = changes_on(TEXT)
    assert len(changes) == 10
    assert all(len(architecture.paths(change)) >= 3 for change in changes)


@pytest.mark.parametrize("path", ["release/nowhere.py", "nowhere/", "tests/unit/test_no.py"])
def test_a_path_that_leads_nowhere_is_seen(path: str) -> None:
    assert architecture.missing(f"{TEXT}\nSee `{path}`.") == [path]
    assert architecture.missing(f"`{path}x y`, `/v1/openapi.json`, `.csv`, `make lint`") == []


def test_another_room_or_another_import_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    real = architecture.imports()
    assert graph_on(re.sub(r"^(formats +→ errors)$", r"\1 cli", TEXT, flags=re.M)) != real
    assert graph_on(re.sub(r"^cli +→.*\n", "", TEXT, flags=re.MULTILINE)) != real
    assert rooms_on(re.sub(r"^\| `lab/.*\n", "", TEXT, flags=re.MULTILINE)) != architecture.rooms()
    monkeypatch.setattr(architecture, "imports", lambda: real | {"client": {"server"}})
    assert architecture.page(TEXT) != TEXT
