"""The texts of a form in its languages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from deniable.errors import QuestionnaireError
from deniable.formats.forms import check_form
from deniable.questionnaire.questionnaire import Questionnaire
from deniable.questionnaire.reading import plain
from deniable.questionnaire.xlsform.languages import NO_ANSWER, language_code
from deniable.questionnaire.xlsform.rows import Refusal, Row
from deniable.questionnaire.xlsform.sheets import Sheets

Text = str | dict[str, str]

_PLAIN = "default"
"""The language that pyxform gives to what stands under a header without one."""


def _spoken(sheets: Sheets) -> set[str]:
    """Return the languages of which there is a text, by their names in headers."""
    lines = (*sheets.survey, *(line for lines in sheets.choices.values() for line in lines))
    cells = [line.cells.get(column) for line in lines for column in ("label", "hint")]
    return {name for cell in cells if isinstance(cell, dict) for name in cell if name != _PLAIN}


class Words:
    """The languages of a form, the default one first, and its texts in them."""

    def __init__(self, sheets: Sheets) -> None:
        self.codes: dict[str, str] = {}
        self.flaws: list[Row] = []
        default = sheets.settings.get("default_language", "")
        code = None if default in ("", _PLAIN) else language_code(default)
        if code is None and default not in ("", _PLAIN):
            says = f"nobody knows which language {default[:40]!r} is: write it as Name (code)."
            place = "default_language"
            self.flaws.append(Row(2, place, "setting", "refused", says, place))
        spoken = _spoken(sheets)
        codes = {}
        for name, header in sheets.languages.items():
            if name in spoken:
                codes[name] = language_code(name)
            elif name != _PLAIN:
                says = "it holds no text, so it adds no language."
                self.flaws.append(Row(1, header[:100], "column", "left out", says))
        if code is None:
            code = next((each for each in codes.values() if each), None) or "en"
        for name, each in codes.items():
            if each is None:
                header = sheets.languages[name]
                says = (
                    f"nobody knows which language {name[:40]!r} is: write it as "
                    f"{header.partition('::')[0]}::Name (code)."
                )
                self.flaws.append(Row(1, header[:100], "column", "refused", says, header[:100]))
            else:
                self.codes[name] = each
        self.default = code
        self.codes[_PLAIN] = code
        self.languages = [code, *(c for c in dict.fromkeys(self.codes.values()) if c != code)]

    def of(self, cells: Mapping[str, Any], column: str, most: int) -> Text | None:
        """Return the text of a column in its languages; refuse one that lacks the default language."""
        cell = cells.get(column)
        by_name = cell if isinstance(cell, dict) else {_PLAIN: cell}
        texts: dict[str, str] = {}
        for name in (*(each for each in by_name if each != _PLAIN), _PLAIN):
            text = by_name.get(name)
            if name in self.codes and isinstance(text, str) and text.strip():
                texts.setdefault(self.codes[name], plain(text.strip()))
        if not texts:
            return None
        for text in texts.values():
            if "${" in text:
                raise Refusal(column, "it repeats an answer, ${…}, and a survey's texts are frozen")
            if len(text) > most:
                raise Refusal(column, f"it has more than {most:,} letters")
            try:
                check_form("prose", text, QuestionnaireError)
            except QuestionnaireError as error:
                flaw = str(error).removeprefix("The prose ").removesuffix(".")
                raise Refusal(column, f"it {flaw}") from None
        if self.default not in texts:
            raise Refusal(column, f"it has no text in {self.default}, the default language")
        return texts[self.default] if [*texts] == [self.default] else texts

    def no_answer(self) -> Text | None:
        """Return how no answer is worded; None if nobody here knows in the default language."""
        texts = {code: NO_ANSWER[code] for code in self.languages if code in NO_ANSWER}
        if self.default not in texts:
            return None
        return texts[self.default] if len(texts) == 1 else texts

    def joined(self, first: Text, second: Text, between: str) -> Text:
        """Return two texts as one, in the languages that both have."""
        one, other = ({self.default: t} if isinstance(t, str) else t for t in (first, second))
        texts = {code: f"{one[code]}{between}{other[code]}" for code in one if code in other}
        return texts[self.default] if [*texts] == [self.default] else texts

    def check(self, column: str, **fields: Any) -> None:
        """Refuse parts of a questionnaire that would be refused there, in its own words."""
        attributes = fields.pop("attributes", [{"name": "a", "wording": "b"}])
        form = {
            "deniable": "questionnaire",
            "format": 1,
            "languages": self.languages,
            "title": dict.fromkeys(self.languages, "t"),
            "attributes": attributes,
        }
        try:
            Questionnaire.of(form | fields)
        except QuestionnaireError as error:
            flaw = re.sub(r"^The questionnaire: .*: name must", "it must", str(error))
            raise Refusal(column, flaw.removesuffix(".")) from None
