"""Personal links: participant ids as addresses, as text, as a table, or as sheets of QR codes.

An id stands in the fragment of a link, behind the #, which browsers keep to themselves: no request, and
so no log of a server or a proxy, holds it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from deniable.cli.options import about, choice
from deniable.errors import StoreError
from deniable.formats.spreadsheets import csv_text
from deniable.messages.token import SURVEY_ID
from deniable.show.link_sheets import write_link_sheets

if TYPE_CHECKING:
    from deniable.server.store import Store

FORMATS = ("text", "csv", "qr-pdf")
"""How ids and links are written."""

MOST_CARDS = 20_000
"""The most cards of one PDF."""

MOST_LETTERS = 200
"""The most letters of a link before its id that fit on a card."""

Format = Annotated[
    str,
    choice("--format", FORMATS, "A line each, a table, or sheets of QR codes to cut up."),
]
Links = Annotated[
    str | None,
    about(
        "Write personal links instead of ids: the address of the participants' page, such as "
        "https://survey.example.org/. The id stands behind the #, where no server sees it.",
        "--links",
    ),
]

_HOST = re.compile(r"[a-z0-9.-]+|\[[0-9a-f:]+\]")
_LOCAL = ("127.0.0.1", "localhost", "[::1]")


LinkSurvey = Annotated[
    str | None,
    about("The id of the survey that links lead to, where the collector has several.", "--survey"),
]
BatchName = Annotated[
    str,
    about(
        "A name for these ids, such as a region or a day, by which 'deniable issued' counts.",
        "--batch",
    ),
]


def _page_at(address: str) -> str | None:
    """Return the address of a page for people, with a slash at its end; None if it is none."""
    parts = urlsplit(address.strip())
    host = parts.netloc.rpartition(":")[0] if re.search(r":\d+$", parts.netloc) else parts.netloc
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and host in _LOCAL)
    is_plain = not (parts.query or parts.fragment or "#" in address or "?" in address)
    if not (is_safe and is_plain and _HOST.fullmatch(host) and re.fullmatch(r"[!-~]*", address)):
        return None
    path = parts.path if parts.path.endswith("/") else f"{parts.path}/"
    return f"{parts.scheme}://{parts.netloc}{path}"


def link_base(address: str, survey: str | None) -> str:
    """Return what all links begin with; refuse an address that is none of a page for people."""
    page = _page_at(address)
    if survey is not None and not SURVEY_ID.fullmatch(survey):
        raise StoreError(
            "--survey needs the whole id of a survey, 64 letters, since links hold it."
        )
    if page is None:
        raise StoreError(
            "--links needs the address of the participants' page, with https:// and nothing behind its "
            f"path, such as https://survey.example.org/; got {address[:100]!r}."
        )
    return f"{page}{'' if survey is None else f'?survey={survey}'}#token="


def dashboard_link(address: str, code: str) -> str:
    """Return the address that opens the dashboard once, beside the participants' page."""
    page = _page_at(address)
    if page is None:
        raise StoreError(
            "--page needs the address of the collector's page, with https:// and nothing behind its "
            f"path, such as https://survey.example.org/; got {address[:100]!r}."
        )
    return f"{page}dashboard#code={code}"


def text_of(ids: list[str], base: str | None, kind: str) -> str:
    """Return ids, or links, as lines of a text or as a table."""
    if kind == "csv":
        head = ["id"] if base is None else ["id", "link"]
        return csv_text(
            [head, *([each] if base is None else [each, f"{base}{each}"] for each in ids)]
        )
    return "".join(f"{base or ''}{each}\n" for each in ids)


def write_ids(draft: Path, ids: list[str], base: str | None, kind: str) -> None:
    """Write ids, or links, into a file."""
    if kind == "qr-pdf":
        write_link_sheets([f"{base}{each}" for each in ids], draft)
    else:
        draft.write_text(text_of(ids, base, kind), encoding="utf-8", newline="")


def note_ids(source: Store, batch: str, ids: list[str]) -> None:
    """Remember under which name ids were issued."""
    from deniable.server.turnout import note_batch

    first = source.seal().participant(ids[0])
    assert isinstance(first, int)
    note_batch(source, batch, first, len(ids))


def check_format(kind: str, count: int, base: str | None, output: Path | None) -> None:
    """Refuse sheets without links, without a file, or of too many cards: before any id is taken."""
    if kind != "qr-pdf":
        return
    if base is None or output is None or output.suffix.lower() != ".pdf":
        raise StoreError(
            "--format qr-pdf needs --links, and --output with a name that ends in .pdf."
        )
    if len(base) > MOST_LETTERS:
        raise StoreError(
            f"--format qr-pdf takes addresses of at most {MOST_LETTERS} letters, which fit on a card."
        )
    if count > MOST_CARDS:
        raise StoreError(
            f"--format qr-pdf takes at most {MOST_CARDS:,} ids at a time, got {count:,}."
        )
