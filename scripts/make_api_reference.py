"""Write docs/api.md from the docstrings of the public names: `python scripts/make_api_reference.py`."""

from __future__ import annotations

import inspect
import pkgutil
import re
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from make_architecture_page import rooms

import deniable
from deniable import errors

PAGE = Path(__file__).parent.parent / "docs" / "api.md"
HEAD = """# Python reference

Generated from the docstrings by `scripts/make_api_reference.py`. These are the names that `deniable`
exports, in the order in which data meets them; each is loaded when it is first asked for, so
`from deniable import Client` stays light.
"""
ROOMS = [room for room in rooms() if room not in ("errors", "__main__")]
"""In the order in which data walks through them."""


def prose(documented: Any) -> str:
    """Return a docstring as Markdown: doctests fenced, ``code`` in single backticks."""
    text = inspect.getdoc(documented) or ""
    parts = []
    for part in re.split(r"\n\n+", text):
        if part.startswith(">>>"):
            parts.append(f"```pycon\n{part}\n```")
        elif part.startswith("    ") or part == "::":
            parts.append(f"```text\n{inspect.cleandoc(part)}\n```" if part != "::" else "")
        else:
            parts.append(re.sub(r"``(.+?)``", r"`\1`", part))
    return "\n\n".join(filter(None, parts))


class Unquoted(str):
    """An annotation that is shown as it was written."""

    def __repr__(self) -> str:
        return str(self)


def signature(name: str, called: Any, *, bound: bool = False) -> str:
    """Return how something is called, a parameter a line where one line is too long."""
    found = inspect.signature(called)
    parameters = [
        each.replace(annotation=Unquoted(each.annotation))
        for each in list(found.parameters.values())[1 if bound else 0 :]
    ]
    returned = "" if found.return_annotation in ("None", found.empty) else found.return_annotation
    whole = str(found.replace(parameters=parameters, return_annotation=found.empty))
    ended = f" -> {returned}" if returned else ""
    if len(name + whole + ended) <= 96:
        return name + whole + ended
    shown = [str(each) for each in parameters]
    kinds = [each.kind for each in parameters]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        shown.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    return "\n".join([f"{name}(", *(f"    {each}," for each in shown), f"){ended}"])


def members(kind: type) -> list[tuple[str, Any]]:
    """Return the public members of a class with a docstring, in the order of their definition."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("deniable"):
            found |= {n: m for n, m in vars(base).items() if not n.startswith("_")}
    return [
        (name, member)
        for name, member in found.items()
        if not isinstance(member, type) and inspect.getdoc(unwrapped(member))
    ]


def unwrapped(member: Any) -> Any:
    """Return what carries the docstring of a member."""
    if isinstance(member, classmethod | staticmethod):
        return member.__func__
    if isinstance(member, cached_property):
        return member.func
    return member if callable(member) or isinstance(member, property) else None


def described(name: str, member: Any) -> str:
    """Return a member's signature and what it does."""
    inner = unwrapped(member)
    if isinstance(member, property | cached_property):
        return f"{prose(inner)}\n"
    head = signature(name, inner, bound=not isinstance(member, staticmethod))
    prefix = "@classmethod\n" if isinstance(member, classmethod) else ""
    return f"```py\n{prefix}{head}\n```\n\n{prose(inner)}\n"


def of_class(name: str, kind: type) -> str:
    """Return the section of a class."""
    parts = [f"## {name}\n"]
    if not any(each.startswith("_") for each in inspect.signature(kind).parameters):
        parts.append(f"```py\n{signature(name, kind)}\n```\n")
    parts.append(prose(kind) + "\n")
    for member_name, member in members(kind):
        parts.append(f"### {name}.{member_name}\n")
        parts.append(described(member_name, member))
    return "\n".join(parts)


def of_function(name: str, function: Any) -> str:
    """Return the section of a function."""
    return f"## {name}\n\n```py\n{signature(name, function)}\n```\n\n{prose(function)}\n"


def summary(module: ModuleType) -> str:
    """Return the first sentence of a module's docstring."""
    return re.sub(r"``(.+?)``", r"`\1`", (module.__doc__ or "").strip().split("\n\n")[0]).replace(
        "\n", " "
    )


def modules() -> str:
    """Return the modules, in the order in which data walks through them."""
    rows = [
        "## The rooms\n",
        "Each room imports only the rooms above it.\n",
        "| module | |",
        "|-|-|",
    ]
    for room in ROOMS:
        package = import_module(f"deniable.{room}")
        rows.append(f"| **{room}** | {summary(package)} |")
        for found in pkgutil.walk_packages(getattr(package, "__path__", ()), f"deniable.{room}."):
            module = import_module(found.name)
            rows.append(f"| {found.name.removeprefix('deniable.')} | {summary(module)} |")
    return "\n".join(rows) + "\n"


def place(name: str) -> tuple[int, str]:
    """Return where a public name stands on the page: by its room, errors last."""
    room = deniable._HOMES[name].split(".")[0]
    return (ROOMS.index(room) if room in ROOMS else len(ROOMS), name)


def page() -> str:
    """Return the whole page."""
    parts = [HEAD]
    for name in sorted(deniable.__all__, key=place):
        public = getattr(deniable, name)
        if name == "DeniableError":
            parts.append(f"## DeniableError\n\n{prose(errors)}\n")
        else:
            parts.append((of_class if isinstance(public, type) else of_function)(name, public))
    return "\n".join([*parts, modules()]).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
