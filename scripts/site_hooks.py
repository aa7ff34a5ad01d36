"""What the documentation site needs beyond docs/: pages that live elsewhere in the repository."""

from __future__ import annotations

from pathlib import Path
from posixpath import dirname, normpath, relpath
from re import Match, compile, split
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
ELSEWHERE = {
    "clients/js/README.md": "javascript.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
SAME = {"README.md": "index.md", "examples/README.md": "examples.md"}
RAISED = compile(r"\^(?:\(((?:[^()]|\([^()]*\))*)\)|(\|[^|]*\||[−-]?[\w⌈⌉]+))")
LOWERED = compile(
    r"_\{([^{}]*)\}|_([α-ω]'?)|(?<=θ)_(\w+)"
    r"|(?<=(?<![A-Za-z_])[A-Za-zΣκρûχ])_([A-Za-z])(?!\w)"
)
LINK = compile(r"(\]\()(?!\w+:)([^)#\s]+)")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that live elsewhere."""
    for source, page in ELSEWHERE.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text("utf-8")))
    files.append(File.generated(config, "examples.md", content=examples()))
    return files


def examples() -> str:
    """Return the page about the examples, with the examples themselves."""
    text = (ROOT / "examples" / "README.md").read_text("utf-8")
    text = text.replace("(../clients/js/README.md)", "(javascript.md)")
    for path in sorted((ROOT / "examples").glob("*.py")):
        text = text.replace(f"]({path.name})", f"](#{path.name.replace('.', '')})")
        text += f"\n## {path.name}\n\n```python\n{path.read_text('utf-8')}```\n"
    return text


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Make links between docs/ and the rest of the repository links within the site."""
    sources = {made: source for source, made in ELSEWHERE.items()}
    place = sources.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    return LINK.sub(lambda link: link[1] + within_site(link, place, page.file.src_uri), markdown)


def within_site(link: Match[str], place: str, page: str) -> str:
    """Return where a link leads, seen from the page as the site has it."""
    target = normpath(f"{dirname(place)}/{link[2]}".lstrip("/"))
    known = (ELSEWHERE | SAME).get(target)
    if known is None and not target.startswith("docs/"):
        return link[2]  # not on the site; the strict build says so
    return relpath(known or target.removeprefix("docs/"), dirname(page) or ".")


def on_page_content(html: str, **_: Any) -> str:
    """Set the plain formulas of the text, such as 2^d and θ_α, with raised and lowered letters."""
    parts, code = split(r"(<[^>]*>)", html), 0
    for number, part in enumerate(parts):
        if part.startswith(("<code", "<pre")):
            code += 1
        elif part.startswith(("</code", "</pre")):
            code -= 1
        elif not code and not part.startswith("<"):
            parts[number] = formula(part)
    return "".join(parts)


def formula(text: str) -> str:
    """Return a text with its powers and indices set."""
    text = LOWERED.sub(lambda m: f"<sub>{next(filter(None, m.groups()))}</sub>", text)
    return RAISED.sub(lambda m: f"<sup>{m[1] or m[2]}</sup>", text)
