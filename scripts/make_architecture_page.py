"""Write rooms and imports into docs/architecture.md: `python scripts/make_architecture_page.py`.

It also names every path on the page that leads nowhere, and files of that name elsewhere.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import grimp

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "deniable"
PAGE = ROOT / "docs" / "architecture.md"
END = "<!-- end -->"
SUFFIXES = "cff|cjs|css|csv|html|js|json|lock|md|mjs|py|svg|toml|ts|yaml|yml"
NAMED = re.compile(rf"`((?!/)[\w.*-]+(?:/[\w.*-]+)*/?)`(?<=/`)|`((?!/)[\w./*-]+\.(?:{SUFFIXES}))`")


def begin(part: str) -> str:
    """Return the mark before a generated part."""
    return f"<!-- begin: scripts/make_architecture_page.py, {part} -->"


def rooms() -> list[str]:
    """Return the rooms as import-linter knows them, those that import nothing first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (layers,) = (
        contract["layers"]
        for contract in project["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers" and contract["containers"] == ["deniable"]
    )
    return [layer for layer in reversed(layers) if not layer.startswith("(")]


def home(room: str) -> str:
    """Return a room's path within the package: a folder, or a file."""
    return f"{room}/" if (PACKAGE / room).is_dir() else f"{room}.py"


def sentence(room: str) -> str:
    """Return what a room says about itself first."""
    path = PACKAGE / home(room)
    text = (path / "__init__.py" if path.is_dir() else path).read_text("utf-8")
    words = (ast.get_docstring(ast.parse(text)) or "").split("\n\n")[0]
    return re.sub(r"``(.+?)``", r"`\1`", words.replace("\n", " "))


def imports() -> dict[str, set[str]]:
    """Return which rooms each room imports, wherever in a file that stands."""
    graph = grimp.build_graph("deniable", cache_dir=None)
    edges: dict[str, set[str]] = {room: set() for room in rooms()}
    for module in graph.modules - {"deniable"}:
        room = module.split(".")[1]
        for imported in graph.find_modules_directly_imported_by(module) - {"deniable"}:
            edges.setdefault(room, set()).add(imported.split(".")[1])
    return {room: others - {room} for room, others in edges.items()}


def rooms_part() -> str:
    """Return the table of rooms."""
    lines = ["| room | what it holds |", "|-|-|"]
    return "\n".join(lines + [f"| `{home(room)}` | {sentence(room)} |" for room in rooms()])


def graph_part() -> str:
    """Return the import graph, a line for each room."""
    order, edges = rooms(), imports()
    width = max(map(len, order))
    lines = [
        f"{room:<{width}} → {' '.join(other for other in order if other in edges[room]) or '–'}"
        for room in order
    ]
    return "\n".join(["```text", *lines, "```"])


PARTS = {"rooms": rooms_part, "imports": graph_part}


def page(text: str) -> str:
    """Return the page with its generated parts written anew."""
    for name, part in PARTS.items():
        before, rest = text.split(begin(name))
        _, after = rest.split(END, 1)
        text = f"{before}{begin(name)}\n\n{part()}\n\n{END}{after}"
    return text


def paths(text: str) -> list[str]:
    """Return the paths that a text names: whatever stands in backticks and looks like one."""
    return [folder or file for folder, file in NAMED.findall(text)]


def missing(text: str) -> list[str]:
    """Return the named paths that are neither in the repository nor in the package."""
    return sorted(
        {path for path in paths(text) if not any(any(at.glob(path)) for at in (ROOT, PACKAGE))}
    )


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), encoding="utf-8")
    for path in missing(PAGE.read_text("utf-8")):
        alike = [str(file.relative_to(PACKAGE)) for file in PACKAGE.rglob(Path(path).name)]
        print(f"No such path: {path}; of that name: {', '.join(alike) or 'none'}", file=sys.stderr)
