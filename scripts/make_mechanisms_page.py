"""Write each mechanism's docstring into docs/mechanisms.md: `python scripts/make_mechanisms_page.py`."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

from deniable.mechanisms.registry import MECHANISMS, mechanism_named

PAGE = Path(__file__).parent.parent / "docs" / "mechanisms.md"
MARKS = ("<!-- begin: scripts/make_mechanisms_page.py -->", "<!-- end -->")
NAMES = (*MECHANISMS, "InpHTBits")
PARTS = ("Idea", "Privacy", "Estimator", "Variance", "Source")


def described(name: str) -> str:
    """Return what the docstring of a mechanism's module says, as a section."""
    module = sys.modules[mechanism_named(name).__module__]
    title, *parts = re.split(r"\n\n+", inspect.getdoc(module) or "")
    missing = [part for part in PARTS if not any(each.startswith(f"*{part}") for each in parts)]
    if missing:
        raise ValueError(f"The docstring of {name} does not tell: {', '.join(missing)}.")
    summary = title.removeprefix(f"{name}: ").replace("\n", " ")
    lines = [f"### {name}", summary[0].upper() + summary[1:]]
    # Bold heads; names of modules as files, where a reader finds them.
    for part in parts:
        text = re.sub(r"^\*([^*]+)\*", r"**\1**", part)
        text = re.sub(r"`deniable\.(\w+)\.(\w+)`", r"`\1/\2.py`", text)
        lines.append(re.sub(r"``(.+?)``", r"`\1`", text))
    return "\n\n".join(lines)


def page(text: str) -> str:
    """Return the page with its sections written anew."""
    before, rest = text.split(MARKS[0])
    _, after = rest.split(MARKS[1])
    sections = "\n\n".join(described(name) for name in NAMES)
    return f"{before}{MARKS[0]}\n\n{sections}\n\n{MARKS[1]}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), encoding="utf-8")
