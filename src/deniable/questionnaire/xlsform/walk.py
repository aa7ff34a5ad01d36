"""The walk through a form's rows: groups, pages, conditions, and what came of each row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from deniable.questionnaire.xlsform.answers import Answers, Codes, Question, all_of, wanted_by
from deniable.questionnaire.xlsform.expressions import Inexpressible, parsed
from deniable.questionnaire.xlsform.kinds import Item, is_metadata, parts_of
from deniable.questionnaire.xlsform.rows import Outcome, Refusal, Row
from deniable.questionnaire.xlsform.sheets import Line, Sheets, parts_of_type, type_meaning
from deniable.questionnaire.xlsform.words import Text, Words

_LEFT_OUT = {
    "default": "an answer that is there before anybody answered is left out",
    "media": "pictures and sounds are left out",
    "guidance_hint": "the guidance hint is left out",
    "trigger": "the trigger is left out",
}

_MOST_CHOICES = 1 << 16
"""The most choices of all rows together: a few cells may offer a long list again and again."""

_TITLE = 1000
"""The most letters of a page's title."""


@dataclass
class _Group:
    kind: str
    name: str
    row: int
    wanted: Codes
    refusal: str = ""


@dataclass
class _Page:
    title: Text | None = None
    row: Row | None = None
    notes: list[tuple[Text, Row]] = field(default_factory=list)
    attributes: list[str] = field(default_factory=list)


class Walk:
    """Goes through the rows once, from the first to the last."""

    def __init__(self, sheets: Sheets, words: Words) -> None:
        self.sheets, self.words = sheets, words
        self.rows: list[Row] = []
        self.attributes: list[dict[str, Any]] = []
        self.pages: list[_Page] = []
        self.page: _Page = _Page()
        self._groups: list[_Group] = []
        self._choices = 0
        self._questions: dict[str, Question] = {}
        self._answers: dict[str, Answers] = {}
        self._whys: dict[str, str] = {}
        self._rows_of = {
            str(line.cells.get("name")): line.number for line in reversed(sheets.survey)
        }
        for line in sheets.survey:
            self._take(line)
        for group in self._groups:
            self._add(
                Line(group.row, {}), group.kind, "refused", "it has no end", "type", group.name
            )
        self._turn(_Page())

    def _take(self, line: Line) -> None:
        type_name = str(line.cells.get("type", "")).strip()
        if str(line.cells.get("disabled", "")).strip().lower() in ("yes", "true", "true()"):
            self._add(line, type_name, "left out", "it is disabled")
            return
        if not type_name:
            if "name" in line.cells or "label" in line.cells:
                self._add(line, "", "refused", "it has no type", "type")
            else:
                self._add(line, "", "left out", "it is a remark")
            return
        select = list(parts_of_type(type_name))
        try:
            if select[:1] == ["begin"]:
                self._begin(line, type_name, select[1])
            elif select[:1] == ["end"]:
                self._end(line, type_name, select[1])
            elif is_metadata(type_name):
                self._know(line, "is left out")
                says = "what a device knows of itself is not collected"
                self._add(line, type_name, "left out", says)
            elif _is_note(type_name, select):
                self._note(line, type_name)
            else:
                self._ask(line, type_name, select)
        except Refusal as refusal:
            self._know(line, "is refused")
            self._add(line, type_name, "refused", str(refusal), refusal.column)

    def _begin(self, line: Line, type_name: str, kind: str) -> None:
        name = str(line.cells.get("name", ""))
        group = _Group(kind, name, line.number, {})
        self._groups.append(group)
        around = self.page
        self._turn(_Page())
        outer = next((each for each in self._groups[:-1] if each.refusal), None)
        try:
            if outer is not None:
                raise Refusal("type", outer.refusal)
            if kind != "group":
                raise Refusal("type", "what is repeated cannot be asked: a person has one record")
            group.wanted = self._wanted(line)
            self.page.title = self.words.of(line.cells, "label", _TITLE)
        except Refusal:
            self.page.title = None
            group.refusal = f"it is in {kind} {name!r} of row {line.number}, which is refused"
            if outer is not None:
                group.refusal = outer.refusal
            raise
        says = "a page" if self.page.title else "a page without a title"
        self.page.row = self._add(line, type_name, "imported", says, notes=_extras(line))
        self._lead(around)

    def _lead(self, around: _Page) -> None:
        """Begin the title of a page with that of the group around it, if this is the first in there."""
        if around.title is None or around.attributes or around.row is None:
            return
        own = self.page.title
        title = around.title if own is None else self.words.joined(around.title, own, " – ")
        if max(map(len, [title] if isinstance(title, str) else title.values())) <= _TITLE:
            self.page.title = title
            around.row.says = "its title leads that of the page after it."

    def _end(self, line: Line, type_name: str, kind: str) -> None:
        if not self._groups or self._groups[-1].kind != kind:
            raise Refusal("type", f"no {kind} is open that it could end")
        group = self._groups.pop()
        if group.wanted and not self.page.attributes:
            for _, row in self.page.notes:
                row.outcome, row.column = "refused", "type"
                row.says = "nothing is asked after it in its group, which has a condition."
            self.page.notes = []
        self._turn(_Page())
        says = "the end of its page" if not group.refusal else "its group is refused"
        self._add(line, type_name, "imported" if not group.refusal else "refused", says, "type")

    def _note(self, line: Line, type_name: str) -> None:
        self._check_group()
        if _condition_of(line) is not None:
            raise Refusal(
                "relevant", "a text that is shown only to some cannot be a page's introduction"
            )
        text = self.words.of(line.cells, "label", 20_000)
        hint = self.words.of(line.cells, "hint", 20_000)
        if text is None:
            raise Refusal("label", "it has no text")
        if hint is not None:
            text = self.words.joined(text, hint, "\n")
        self.words.check("label", introduction=text)
        if self.page.attributes:
            self._turn(_Page())
        self._know(line, "is a note")
        row = self._add(line, type_name, "imported", "a page's introduction", notes=_extras(line))
        self.page.notes.append((text, row))

    def _ask(self, line: Line, type_name: str, select: list[str]) -> None:
        self._check_group()
        name = str(line.cells.get("name", "")).strip()
        if not name:
            raise Refusal("name", "it has no name")
        if name in self._questions:
            raise Refusal("name", f"{name!r} is the name of a row before it")
        bind = _bind(line)
        if _is_yes(bind.get("readonly")) and type_name != "calculate":
            raise Refusal("readonly", "what is read only is answered by nobody")
        if "calculate" in bind and type_name != "calculate":
            raise Refusal("calculation", "what is calculated of answers is not asked")
        self.words.check("name", attributes=[{"name": name, "wording": "w"}])
        has_condition = _condition_of(line) is not None or any(g.wanted for g in self._groups)
        is_complete = _is_yes(bind.get("required")) and not has_condition
        self._choices += sum(len(self.sheets.choices.get(each, ())) for each in select[1:2])
        if self._choices > _MOST_CHOICES:
            reason = f"with its list, rows offer more than {_MOST_CHOICES:,} choices in all"
            raise Refusal("type", reason)
        item = Item(line, type_name, name, self.words, is_complete)
        parts = parts_of(item, select, self.sheets.choices)
        for own in parts.attributes:
            if own["name"] in self._answers:
                raise Refusal("name", f"{own['name']!r} is an attribute already")
        self.words.check("type", attributes=parts.attributes)
        codes = self._wanted(line)
        try:
            when = self._when(codes, parts.attributes)
        except Inexpressible as error:
            raise Refusal("relevant", str(error)) from None
        notes = [*parts.notes, *_extras(line)]
        if "constraint" in bind and select:
            notes.append("its constraint is not checked")
        self._questions[name] = parts.question
        self._answers |= {each.attribute: each for each in parts.question.all}
        self.attributes += when
        self.page.attributes += [own["name"] for own in when]
        says = f"{parts.says}{', asked under a condition' if codes else ''}"
        self._add(line, type_name, "imported", says, notes=notes)

    def _check_group(self) -> None:
        for group in self._groups:
            if group.refusal:
                raise Refusal("type", group.refusal)

    def _wanted(self, line: Line) -> Codes:
        """Return which earlier answers a row and its groups want; refuse what cannot be said so."""
        text = _condition_of(line)
        own: Codes = {}
        try:
            if text is not None:
                own = wanted_by(parsed(text), lambda name: self._earlier(name, line))
            whole = all_of([*(group.wanted for group in self._groups), own])
            if not all(whole.values()):
                raise Inexpressible("it can never hold")
        except Inexpressible as error:
            raise Refusal("relevant", str(error)) from None
        return {name: codes for name, codes in whole.items() if codes != self._answers[name].every}

    def _earlier(self, name: str, line: Line) -> Question:
        if name in self._questions:
            return self._questions[name]
        if name == line.cells.get("name"):
            raise Inexpressible("it looks at its own answer")
        if name in self._whys:
            raise Inexpressible(f"it looks at {name!r}, which {self._whys[name]}")
        if self._rows_of.get(name, 0) > line.number:
            raise Inexpressible(
                f"it looks at {name!r}, which is asked after it, in row {self._rows_of[name]}"
            )
        raise Inexpressible(f"it looks at {name[:40]!r}, and there is no such row")

    def _when(self, codes: Codes, attributes: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if not codes:
            return attributes
        clauses = [self._answers[name].condition(several) for name, several in codes.items()]
        whole: dict[str, Any] = clauses[0] if len(clauses) == 1 else {"all": clauses}
        return [
            own | {"when": whole | {"otherwise": own.get("missing", False)}} for own in attributes
        ]

    def _turn(self, page: _Page) -> None:
        """Go on to the next page; texts that nothing was asked under come along."""
        if self.page.attributes:
            self.pages.append(self.page)
        else:
            page.notes = [*self.page.notes, *page.notes]
            if self.page.row is not None:
                title = " and its title is left out" if self.page.title else ""
                self.page.row.says = f"no page: nothing is asked there{title}."
        self.page = page

    def _know(self, line: Line, why: str) -> None:
        name = str(line.cells.get("name", ""))
        if name not in self._questions:
            self._whys[name] = why

    def _add(
        self,
        line: Line,
        type_name: str,
        outcome: Outcome,
        says: str,
        column: str = "",
        name: str | None = None,
        notes: list[str] | None = None,
    ) -> Row:
        own = str(line.cells.get("name", "")) if name is None else name
        whole = "; ".join([says, *(notes or [])])
        where = column if outcome == "refused" else ""
        self.rows.append(Row(line.number, own[:100], type_name[:100], outcome, f"{whole}.", where))
        return self.rows[-1]


def _is_note(type_name: str, select: list[str]) -> bool:
    bind = type_meaning(type_name).get("bind", {})
    return not select and type_name.lower() not in ("calculate",) and "readonly" in bind


def _bind(line: Line) -> Mapping[str, Any]:
    bind = line.cells.get("bind")
    return bind if isinstance(bind, dict) else {}


def _condition_of(line: Line) -> str | None:
    text = _bind(line).get("relevant")
    if isinstance(text, dict):
        raise Refusal("relevant", "a condition is no text of a language: name its column relevant")
    return text if isinstance(text, str) and text.strip() not in ("", "true()", "1") else None


def _is_yes(text: Any) -> bool:
    return str(text).strip().lower() in ("yes", "true", "true()", "1")


def _extras(line: Line) -> list[str]:
    return [says for column, says in _LEFT_OUT.items() if column in line.cells]
