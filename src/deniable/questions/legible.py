"""Legible: texts of somebody else's, so that one sees what they are and where they end."""

from __future__ import annotations

import re
from unicodedata import category


def legible(text: str, pattern: str = "(?!)") -> str:
    """Return a text as it is, or in quotes where it is hard to see or matches a pattern."""
    is_clear = text and text == text.strip() and not any(map(is_hidden, text))
    if is_clear and not re.search(pattern, text):
        return text
    escaped = text.replace("\\", r"\\").replace('"', r"\"")
    letters = [f"\\u{{{ord(c):x}}}" if is_hidden(c) else c for c in escaped]
    return f'"{"".join(letters)}"'


def is_hidden(letter: str) -> bool:
    """Tell whether a letter controls rather than shows; joiners are part of words."""
    return category(letter) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and letter not in "\u200c\u200d"
