"""Languages: what people are told, in one catalogue per language, for Python and JavaScript alike.

A language is one file in `catalogues`: whoever adds one adds that file. Messages are in a subset of
ICU's format: named placeholders, and plurals by CLDR's categories.

>>> from deniable.languages import language
>>> language("de").say("things", n=2_500)
'2.500 Punkte'
>>> language("ar").say("things", n=2)
'أمران'
"""

from __future__ import annotations

from deniable.languages.catalogue import Catalogue
from deniable.languages.language import DEFAULT, Language, language, spoken, tags

__all__ = ["DEFAULT", "Catalogue", "Language", "language", "spoken", "tags"]
