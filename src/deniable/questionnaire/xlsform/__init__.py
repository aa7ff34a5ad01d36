"""Questionnaires from XLSForm, the spreadsheets of ODK and KoBo, with what came of each row.

>>> from deniable.questionnaire.xlsform import Row
>>> print(Row(7, "home", "geopoint", "refused", "places cannot be asked.", "type").sentence())
Row 7 (home), column type: places cannot be asked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deniable.questionnaire.xlsform.rows import Refusal, Row
from deniable.questionnaire.xlsform.sheets import Sheets, is_xlsform, read_sheets
from deniable.questionnaire.xlsform.walk import Walk
from deniable.questionnaire.xlsform.words import Words

__all__ = ["Row", "is_xlsform", "read_xlsform"]


def read_xlsform(path: str | Path) -> tuple[dict[str, Any], list[Row]]:
    """Return the form of a questionnaire that an XLSForm holds, and what came of each of its rows.

    The form has no attributes where every row is refused; otherwise `Questionnaire.of` takes it. A file
    that is no XLSForm is refused in one sentence.
    """
    sheets = read_sheets(Path(path))
    words = Words(sheets)
    walk = Walk(sheets, words)
    form: dict[str, Any] = {
        "deniable": "questionnaire",
        "format": 1,
        "languages": words.languages,
        "title": _title(sheets, words),
        "attributes": walk.attributes,
    }
    pages = [_page(page, words) for page in walk.pages]
    if len(pages) > 1 or any(len(page) > 1 for page in pages):
        form["pages"] = pages
    if walk.page.notes:
        form["thanks"] = _introduction([text for text, _ in walk.page.notes], words)
        for _, row in walk.page.notes:
            row.says = row.says.replace("a page's introduction", "part of the thanks", 1)
    return form, [*words.flaws, *walk.rows]


def _title(sheets: Sheets, words: Words) -> str:
    """Return the title, or the next best name where nobody could read it."""
    for column, name in (("form_title", "title"), ("form_id", "id_string")):
        title = sheets.settings.get(name, "").strip()
        try:
            if title:
                words.check(column, title=dict.fromkeys(words.languages, title))
                return title
        except Refusal as refusal:
            words.flaws.append(Row(2, column, "setting", "refused", f"{refusal}.", column))
    return sheets.name if sheets.name.isprintable() else "Survey"


def _page(page: Any, words: Words) -> dict[str, Any]:
    form: dict[str, Any] = {} if page.title is None else {"title": page.title}
    if page.notes:
        form["introduction"] = _introduction([text for text, _ in page.notes], words)
    return form | {"attributes": page.attributes}


def _introduction(texts: list[Any], words: Words) -> Any:
    whole = texts[0]
    for text in texts[1:]:
        whole = words.joined(whole, text, "\n\n")
    return whole
