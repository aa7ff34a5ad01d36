"""What the docs say is run: Python blocks, commands, links, and the generated pages."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(page.read_text("utf-8")) if kind == language]


def pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, language)]


@pytest.mark.parametrize("page", pages_with("python"), ids=lambda page: page.name)
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch, capsys, request):
    if "pyspark" in page.read_text("utf-8"):
        request.getfixturevalue("spark")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "docs"}
    for block in blocks(page, "python"):
        exec(compile(block, page.name, "exec"), names)
    capsys.readouterr()


@pytest.mark.parametrize("page", pages_with("console"), ids=lambda page: page.name)
def test_the_commands_of_a_page_run(page, tmp_path):
    for block in blocks(page, "console"):
        for line in block.splitlines():
            assert line.startswith("$ "), f"{page.name}: commands start with a dollar sign"
            program, *arguments = shlex.split(line[2:])
            if program == "make":
                assert f"\n{arguments[0]}:" in (ROOT / "Makefile").read_text("utf-8")
                continue
            assert program == "deniable"
            run = [sys.executable, "-c", "from deniable.cli import main; main()", *arguments]
            done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{line}\n{done.stderr}"
            assert done.stdout.strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def script(name: str):
    """Return a script as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_command_line_reference_is_up_to_date():
    module = script("make_cli_reference")
    assert module.PAGE.read_text("utf-8") == module.page(), "run scripts/make_cli_reference.py"


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
        *(".ci", ".gitignore", "CHANGELOG.md", "LICENSE", "Makefile", "README.md"),
        *(
            "benchmarks",
            "clients",
            "docs",
            "pyproject.toml",
            "requirements.lock",
            "scripts",
            "src",
            "tests",
        ),
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
