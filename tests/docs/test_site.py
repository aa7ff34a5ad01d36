"""The documentation site builds without a warning, holds every page, and loads nothing from outside."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from docs_parts import DOCS, ROOT, script

pytest.importorskip("material", reason="the extra 'docs' is not installed")

LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}


def build(config: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Build the site as `make docs` does (with --quiet it would not see warnings, nor fail)."""
    command = ["build", "--strict", "--config-file", config, "--site-dir", folder]
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", *map(str, command)],
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT / "mkdocs.yml", folder)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


class Loads(HTMLParser):
    """What a page loads when it is opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        address = dict(attrs).get(LOADED.get(tag, ""))
        if address:
            self.found.append(address)


def from_elsewhere(text: str) -> list[str]:
    return [address for address in Loads(text).found if re.match(r"\w+:|//", address)]


def test_every_page_is_there_and_can_be_searched(site: Path) -> None:
    pages = {page.relative_to(DOCS).with_suffix(".html").as_posix() for page in DOCS.rglob("*.md")}
    assert len(pages) > 25
    assert all((site / page).is_file() for page in pages)
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    assert pages <= {entry["location"].split("#")[0] or "index.html" for entry in index["docs"]}


def test_a_page_loads_nothing_from_elsewhere(site: Path) -> None:
    built = list(site.rglob("*.html"))
    assert [page.name for page in built if from_elsewhere(page.read_text("utf-8"))] == []
    assert len(Loads((site / "index.html").read_text("utf-8")).found) > 5
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(\s*[\"']?(https?:)?//", sheet.read_text("utf-8")), sheet.name


def test_that_check_sees_what_is_loaded() -> None:
    assert from_elsewhere('<script src="https://cdn.example/x.js"></script>')
    assert from_elsewhere('<link rel="stylesheet" href="//fonts.example/css">')
    assert not from_elsewhere('<a href="https://example.org">a link is no load</a>')


@pytest.mark.parametrize(
    ("plain", "shown"),
    [
        ("2^d·v", "2<sup>d</sup>·v"),
        ("e^(ε/2) and 4^−k", "e<sup>ε/2</sup> and 4<sup>−k</sup>"),
        ("g^|α| − θ_{α⊕α'}", "g<sup>|α|</sup> − θ<sub>α⊕α'</sub>"),
        ("θ_α·θ_α' / N_β", "θ<sub>α</sub>·θ<sub>α'</sub> / N<sub>β</sub>"),
        ("P_j, θ_α², c²p_s", "P<sub>j</sub>, θ<sub>α</sub>², c²p<sub>s</sub>"),
        ("(e^(ε/c))^c", "(e<sup>ε/c</sup>)<sup>c</sup>"),
        ("N·E‖û_S − u_S‖², ρ_S", "N·E‖û<sub>S</sub> − u<sub>S</sub>‖², ρ<sub>S</sub>"),
        ("θ_Comedy and θ_{a,b}", "θ<sub>Comedy</sub> and θ<sub>a,b</sub>"),
        ("predicted_tv, is_binary, a_b_c", "predicted_tv, is_binary, a_b_c"),
    ],
)
def test_formulas_are_set(plain: str, shown: str) -> None:
    hooks = script("site_hooks")
    assert hooks.formula(plain) == shown
    kept = f"<p>{shown}</p><pre><code>{plain}</code></pre>"
    assert hooks.on_page_content(f"<p>{plain}</p><pre><code>{plain}</code></pre>") == kept


def test_a_broken_site_is_not_built(tmp_path: Path) -> None:
    """Each of three planted faults is a warning of its own, and so an error."""
    shutil.copytree(DOCS, tmp_path / "docs")
    with (tmp_path / "docs" / "index.md").open("a", encoding="utf-8") as page:
        page.write("\n[nowhere](nowhere.md) [no such part](privacy.md#no-such-part)\n")
    (tmp_path / "docs" / "orphan.md").write_text("# A page that no one can reach\n")
    config = tmp_path / "mkdocs.yml"
    hooks = json.dumps([str(ROOT / "scripts" / "site_hooks.py")])
    config.write_text(f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: docs\nhooks: {hooks}\n")
    done = build(config, tmp_path / "site")
    assert done.returncode != 0
    warnings = [line for line in (done.stdout + done.stderr).splitlines() if "WARNING" in line]
    for said in ("nowhere.md", "no-such-part"):
        assert any(said in line for line in warnings), said
    assert "orphan.md" in done.stdout + done.stderr  # in the list below its warning
    assert "in strict mode" in done.stdout + done.stderr


def test_the_overview_is_whole_on_a_phone() -> None:
    """It was cut off at 390 pixels; now a narrow one, made of the same parts, is shown there."""
    wide, narrow = (
        (DOCS / "images" / f"overview{kind}.svg").read_text("utf-8") for kind in ("", "-narrow")
    )
    assert narrow == script("make_pictures").narrow_overview(wide), (
        "python scripts/make_pictures.py"
    )
    width = float(re.search(r'viewBox="0 0 (\d+) ', narrow)[1])  # type: ignore[index]
    smallest = min(map(float, re.findall(r"font-size: ([\d.]+)px", narrow)))
    assert smallest * (390 - 32) / width >= 9, "its letters can be read"
    page = (DOCS / "index.md").read_text("utf-8")
    assert 'media="(max-width: 45em)" srcset="images/overview-narrow.svg"' in page
    style = (DOCS / "site" / "site.css").read_text("utf-8")
    assert "max-width: none" not in style, "no picture is wider than the page"
