"""The wheel holds all that is needed, and works where only its declared dependencies are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
HEAVY = {"altair", "duckdb", "narwhals", "pandas", "pyarrow", "rich", "scipy", "starlette", "typer"}


def run(*command: object, cwd: Path, **variables: str) -> str:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=kept | {"HOME": str(cwd)} | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def build(kind: str, source: Path, folder: Path) -> Path:
    run(sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", folder, cwd=source)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def files(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def of_the_package(wheel: Path) -> set[str]:
    return {name for name in files(wheel) if name.startswith("deniable/")}


def test_the_wheel_holds_the_whole_package_and_nothing_else(wheel: Path) -> None:
    there = {path for path in (SOURCE / "deniable").rglob("*") if path.is_file()}
    wanted = {p.relative_to(SOURCE).as_posix() for p in there if "__pycache__" not in p.parts}
    assert of_the_package(wheel) == wanted
    assert wanted >= {
        *("deniable/py.typed", "deniable/lab/data/abortion.csv", "deniable/lab/data/wages.parquet"),
        *("deniable/show/page/report.html", "deniable/server/pages/index.html"),
        *("deniable/server/pages/deniable.min.js", "deniable/server/pages/dashboard.css"),
    }
    others = files(wheel) - of_the_package(wheel)
    assert {name.split("/")[0].split("-")[0] for name in others} == {"deniable"}
    assert any(name.endswith("licenses/LICENSE") for name in others)


def test_the_source_distribution_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    sdist = build("sdist", ROOT, tmp_path / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    for name in ("README.md", "Makefile", "mkdocs.yml", "requirements.lock", "examples", "tests"):
        assert (source / name).exists(), name
    assert files(build("wheel", source, tmp_path / "wheel")) == files(wheel)


def needed(declared: list[str], extras: set[str], found: set[str]) -> set[str]:
    """Return the distributions that requirements need here, and all that those need in turn."""
    for requirement in map(Requirement, declared):
        marker = requirement.marker
        wanted = marker is None or any(marker.evaluate({"extra": e}) for e in extras | {""})
        if wanted and (requirement.name not in found or requirement.extras):
            found.add(requirement.name)
            inner = distribution(requirement.name).requires or []
            needed(inner, requirement.extras, found)
    return found


@pytest.fixture(scope="module")
def empty(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and what it declares, as `pip install` makes one in a minute.

    The dependencies are links to those that are installed here; nothing else can be seen from it.
    """
    folder = tmp_path_factory.mktemp("empty")
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    python = folder / "bin" / "python"
    (packages,) = folder.glob("lib/python*/site-packages")
    run(
        *(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps"),
        *("--no-index", "--disable-pip-version-check", wheel),
        cwd=folder,
    )
    (metadata,) = packages.glob("deniable-*.dist-info/METADATA")
    declared = Parser().parsestr(metadata.read_text("utf-8")).get_all("Requires-Dist")
    for name in needed(declared, set(), set()):
        held = distribution(name)
        for top in {file.parts[0] for file in held.files or ()} - {"..", "__pycache__"}:
            if not (packages / top).exists():
                (packages / top).symlink_to(held.locate_file(top))
    return folder


def test_the_command_runs_where_only_the_wheel_and_its_dependencies_are(
    empty: Path, tmp_path: Path
) -> None:
    python, command = empty / "bin" / "python", empty / "bin" / "deniable"
    where = run(python, "-c", "import deniable; print(deniable.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(empty)
    unseen = "import importlib.util as u; print(u.find_spec('pytest'), u.find_spec('starlette'))"
    assert run(python, "-c", unseen, cwd=tmp_path).split() == ["None", "None"]
    version = run(command, "--version", cwd=tmp_path)
    assert version.strip().endswith(distribution("deniable").version)
    run(command, "demo", "--people", 20_000, "--output", "x.html", cwd=tmp_path)
    assert "20,000" in (tmp_path / "x.html").read_text("utf-8")


def test_the_installed_client_is_light(empty: Path, tmp_path: Path) -> None:
    show = "import deniable.client, sys, json; print(json.dumps(sorted(sys.modules)))"
    loaded = set(json.loads(run(empty / "bin" / "python", "-c", show, cwd=tmp_path)))
    assert "deniable.client.client" in loaded
    assert not loaded & HEAVY
    heavy = show.replace("deniable.client", "deniable.cli")
    assert set(json.loads(run(empty / "bin" / "python", "-c", heavy, cwd=tmp_path))) & HEAVY
