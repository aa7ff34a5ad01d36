"""Languages as people name them in a form's headers, and as a questionnaire does: German (de) is de."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

_TAG = re.compile(r"([A-Za-z]{2,3})(?:[-_]([A-Za-z]{4}))?(?:[-_]([A-Za-z]{2}|[0-9]{3}))?")
_IN_PARENTHESES = re.compile(r"\(([^()]{1,20})\)\s*")

NO_ANSWER = {
    "ar": "لا إجابة",
    "de": "keine Angabe",
    "en": "no answer",
    "es": "sin respuesta",
    "fr": "sans réponse",
    "pt": "sem resposta",
}
"""How no answer is worded, where a form has no words for it."""


def language_code(name: str) -> str | None:
    """Return the code of a language that a header names; None if nobody could know.

    >>> [language_code(name) for name in ("German (de)", "fr", "pt_br", "Español", "Klingonese")]
    ['de', 'fr', 'pt-BR', 'es', None]
    """
    match = _IN_PARENTHESES.search(name)
    if match is not None and (code := _code(match[1].strip())):
        return code
    whole = name.strip()
    code = _code(whole)
    if code is not None and code.partition("-")[0] in _english_names().values():
        return code
    words = _plain(_IN_PARENTHESES.sub("", whole))
    return _english_names().get(words) or _own_names().get(words)


def _code(text: str) -> str | None:
    """Return a tag such as pt-BR in its usual letters."""
    match = _TAG.fullmatch(text)
    if match is None:
        return None
    language, script, region = match.groups()
    parts = [language.lower(), script and script.title(), region and region.upper()]
    return "-".join(part for part in parts if part)


def _plain(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name.strip().casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


@cache
def _english_names() -> dict[str, str]:
    from babel import Locale

    names = Locale("en").languages
    return {_plain(names[code]): code for code in sorted(names) if _TAG.fullmatch(code)}


@cache
def _own_names() -> dict[str, str]:
    """Return languages by what they call themselves."""
    from babel import Locale, localedata

    codes = sorted(code for code in localedata.locale_identifiers() if len(code) == 2)
    return {_plain(name): code for code in codes if (name := Locale(code).get_language_name(code))}
