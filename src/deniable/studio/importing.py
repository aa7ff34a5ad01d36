"""Questionnaires that people have already: YAML, TOML, JSON, or an XLSForm."""

from __future__ import annotations

import base64
import binascii
import re
import tempfile
from pathlib import Path
from typing import Any

from deniable.errors import QuestionnaireError
from deniable.questionnaire.reading import MOST_BYTES, PARSERS
from deniable.studio.deeds import command
from deniable.studio.drafts import FILE
from deniable.studio.problems import StudioProblem

XLSFORMS = (".xlsx", ".xlsm", ".xls")
"""How files end that may be XLSForms."""


def content_of(body: dict[str, Any]) -> tuple[str, bytes]:
    """Return the name and the bytes of a file that the page sent."""
    name, content = body.get("name"), body.get("content")
    if not isinstance(name, str) or not isinstance(content, str) or len(name) > 300:
        raise StudioProblem("malformed", "A file has a name and its content in base64.")
    try:
        data = base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise StudioProblem("malformed", "A file's content comes in base64.") from None
    if len(data) > MOST_BYTES:
        raise StudioProblem("too-large", f"A questionnaire has at most {MOST_BYTES >> 20} MB.")
    # Of the name only the last part is used, in sentences, and its ending.
    return name.replace("\\", "/").rpartition("/")[2] or "file", data


def importing_command(name: str) -> str:
    """Return the command that makes the same questionnaire of a file."""
    path = f"./{name}" if name.startswith("-") else name
    skipping = ["--skip-refused"] if Path(name).suffix.lower() in XLSFORMS else []
    return command("new", path, *skipping, "--questionnaire", FILE)


def form_of(name: str, data: bytes) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the form of a questionnaire that somebody has, and what was changed or left out of it."""
    ending = Path(name).suffix.lower()
    if ending in XLSFORMS:
        return _xlsform(name, data)
    parse = PARSERS.get(ending)
    if parse is None:
        raise QuestionnaireError(
            f"A questionnaire's file ends in {', '.join(PARSERS)} or {XLSFORMS[0]}, got {name!r}."
        )
    try:
        form = parse(data.decode(), name)
    except UnicodeDecodeError:
        raise QuestionnaireError(f"{name!r} cannot be read: it is not UTF-8.") from None
    if not isinstance(form, dict):
        raise QuestionnaireError(f"{name!r} is no questionnaire: it has no fields.")
    return form, []


def _xlsform(name: str, data: bytes) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    from deniable.questionnaire.xlsform import read_xlsform

    with tempfile.TemporaryDirectory(prefix="deniable-") as place:
        stem = re.sub(r"[^\w. -]", "_", Path(name).stem)[:80]  # the title, where a form has none
        path = Path(place) / f"{stem}{Path(name).suffix.lower()}"
        path.write_bytes(data)
        form, rows = read_xlsform(path)
    return form, [row.to_json() for row in rows]
