"""Legible: texts of somebody else's, so that one sees what they are and where they end."""

from __future__ import annotations

import re
from functools import cache

from deniable.formats.forms import letters_of

_SEEN = (
    # Joiners and spaces are parts of words; letters for private use show something.
    "(?![\u200c\u200d\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000])"
    "(?![\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd])"
    # Behind a sign, this tells whether it is a picture.
    "(?!(?<=[\u00a9\u00ae\u203c-\u2fff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff])[\ufe0e\ufe0f])"
    "(?!(?<=[0-9#*])\ufe0f\u20e3)"
)


def legible(text: str, pattern: str = "(?!)") -> str:
    """Return a text as it is, or in quotes where it is hard to see or matches a pattern."""
    is_clear = text and text == text.strip() and not _hidden().search(text)
    if is_clear and not re.search(pattern, text):
        return text
    escaped = text.replace("\\", r"\\").replace('"', r"\"")
    return f'"{unhidden(escaped)}"'


def unhidden(text: str) -> str:
    """Return a text with an escape for each letter that controls rather than shows, or shows nothing."""
    return _hidden().sub(lambda match: f"\\u{{{ord(match[0]):x}}}", text)


@cache
def _hidden() -> re.Pattern[str]:
    return re.compile(_SEEN + letters_of("hidden").pattern)
