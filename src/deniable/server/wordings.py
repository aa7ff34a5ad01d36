"""Wordings: tables for analysts in the survey's own words, and in the language that they choose."""

from __future__ import annotations

from typing import Any

from deniable.api.release import Release
from deniable.questionnaire.texts import Texts
from deniable.questionnaire.wording import Phrase, Wording, direction
from deniable.schema.labels import Labels
from deniable.server.problems import ProblemError
from deniable.server.store import Store
from deniable.server.work import StoredSurvey
from deniable.show.words import cards, own_name


class Wordings:
    """The words of a store's surveys; what an id covers is read once."""

    def __init__(self) -> None:
        self._texts: dict[str, Texts | None] = {}

    def texts(self, store: Store, stored_survey: StoredSurvey) -> Texts | None:
        """Return the texts that a survey's id covers, if it covers some."""
        survey = stored_survey.survey
        if survey.id not in self._texts:
            form = None if survey.texts is None else store.texts().get(survey.id)
            self._texts[survey.id] = None if form is None else Texts.from_json(form)
        return self._texts[survey.id]

    def languages(self, store: Store, surveys: list[StoredSurvey]) -> list[str]:
        """Return the languages in which all of these surveys have words, the first one's own first."""
        texts = [self.texts(store, each) for each in surveys]
        tags = [[] if each is None else list(each.languages) for each in texts]
        own = texts[0].default if texts[0] is not None else ""
        every = [tag for tag in tags[0] if all(tag in others for others in tags)]
        return sorted(every, key=lambda tag: tag != own)

    def of(self, store: Store, surveys: list[StoredSurvey], language: str) -> list[Wording | None]:
        """Return the words of surveys in a language, the first one's by default, if all have some."""
        tags = self.languages(store, surveys)
        if language and language not in tags:
            here = f"there are {', '.join(tags)}" if tags else "there are none"
            raise ProblemError("malformed", f"There are no texts in {language[:40]!r}; {here}.")
        if not tags:
            return [None] * len(surveys)
        words = [(each.survey.schema, self.texts(store, each)) for each in surveys]
        return [
            None if texts is None else Wording.of(texts, schema, language or tags[0])
            for schema, texts in words
        ]

    def labels(
        self, store: Store, surveys: list[StoredSurvey], language: str, labels: Labels
    ) -> list[dict[str, Any]]:
        """Return labels, and the words of their values, where the first survey has some."""
        wording = self.of(store, surveys, language)[0]
        words = {} if wording is None else wording.label_values(labels)
        return [
            {"name": name, "values": values, "words": [*words.get(name, {}).values()] or values}
            for name, values in labels.values.items()
        ]

    def form(
        self, store: Store, surveys: list[StoredSurvey], release: Release | None
    ) -> dict[str, Any] | None:
        """Return what the analysts' page says of attributes on demand, and in which languages it can."""
        wording = None if release is None else release.wording
        if release is None or wording is None:
            return None
        return {
            "title": _phrase(wording.survey["title"]),
            "language": wording.language,
            "languages": [
                {"tag": tag, "name": own_name(tag)} for tag in self.languages(store, surveys)
            ],
            "attributes": [_card(card) for card in cards(release.survey.schema, wording)],
        }


def _card(card: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": card["name"],
        "wording": _phrase(card["wording"]),
        "help": _phrase(card["help"]),
        "values": [
            {"value": each["value"], "label": _phrase(each["label"])} for each in card["values"]
        ],
        "more": card["more"],
    }


def _phrase(phrase: Phrase | None) -> dict[str, str] | None:
    if phrase is None:
        return None
    return {
        "text": phrase.text,
        "language": phrase.language,
        "direction": direction(phrase.language),
    }
