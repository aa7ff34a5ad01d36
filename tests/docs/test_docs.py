"""What the docs say is run: Python blocks, commands, links, and the generated pages."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from docs_parts import PAGES, ROOT, TUTORIAL, Reader, blocks, name_of, script

RUN = ("python", "console")


def pages_that_run() -> list[Path]:
    alone = [page for page in PAGES if page not in TUTORIAL]
    return [page for page in alone if any(kind in RUN for kind, _ in blocks(page))]


@pytest.mark.parametrize("page", pages_that_run(), ids=name_of)
def test_what_a_page_says_runs_from_top_to_bottom(page, tmp_path, monkeypatch, capfd, request):
    if "pyspark" in page.read_text("utf-8"):
        request.getfixturevalue("spark")
    monkeypatch.chdir(tmp_path)
    with Reader(tmp_path, capfd) as reader:
        for kind, block in blocks(page):
            if kind in RUN:
                getattr(reader, kind)(block, page)
    capfd.readouterr()


def test_the_tutorial_runs_from_the_first_act_to_the_last(tmp_path, monkeypatch, capfd):
    """Its collector, and who submits to it, have processes of their own, as a reader's have."""
    monkeypatch.chdir(tmp_path)
    with Reader(tmp_path, capfd) as reader:
        for page in TUTORIAL:
            reader.names = {"__name__": "docs"}  # an act can be read on another day
            for kind, block in blocks(page):
                if kind in RUN:
                    getattr(reader, kind)(block, page)
    assert "39,023" in (tmp_path / "report.html").read_text("utf-8")
    capfd.readouterr()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_to_files_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_command_line_reference_is_up_to_date():
    module = script("make_cli_reference")
    assert module.PAGE.read_text("utf-8") == module.page(), "run scripts/make_cli_reference.py"


def test_the_python_reference_is_up_to_date():
    module = script("make_api_reference")
    assert module.PAGE.read_text("utf-8") == module.page(), "run scripts/make_api_reference.py"


def test_every_mechanism_is_told_with_its_privacy_variance_and_source():
    module = script("make_mechanisms_page")
    text = module.PAGE.read_text("utf-8")
    assert text == module.page(text), "run scripts/make_mechanisms_page.py"
    for name in module.NAMES:
        section = text.split(f"\n### {name}\n")[1].split("\n### ")[0]
        assert all(f"**{part}" in section for part in module.PARTS), name


def test_the_page_about_the_paper_shows_the_claims_of_a_full_run():
    module = script("make_paper_page")
    about = json.loads((module.IMAGES / "claims.json").read_text("utf-8"))
    assert not about["quick"]
    assert about["command"] == "deniable reproduce all"
    assert {claim["number"] for claim in about["claims"]} >= set(range(1, 11))
    text = module.PAGE.read_text("utf-8")
    assert text == module.page(text, about), "run scripts/make_paper_page.py"


def test_ci_runs_what_a_newcomer_runs():
    assert "make test" in (ROOT / ".ci" / "run").read_text("utf-8")
    assert "$ make test" in (ROOT / "README.md").read_text("utf-8")


def test_the_root_holds_only_what_belongs_there():
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.splitlines()
    assert {name.split("/")[0] for name in tracked} <= {
        *(".ci", ".github", ".gitignore", ".pre-commit-config.yaml"),
        *("CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md"),
        *(
            "Makefile",
            "mkdocs.yml",
            "pyproject.toml",
            "requirements-demo.lock",
            "requirements.lock",
        ),
        *("benchmarks", "clients", "docs", "examples", "scripts", "src", "tests"),
    }


def test_no_page_names_a_machine():
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.splitlines()
    for name in tracked:
        path = ROOT / name
        if path.suffix in {".md", ".py", ".toml", ".lock"} and path.is_file():
            text = path.read_text("utf-8")
            assert not re.search(r"(?<![\w.])/(work|root|home)/", text), name
