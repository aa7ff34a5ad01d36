"""Groups are called as people were asked, where the survey has words for its labels."""

from __future__ import annotations

import pandas as pd

from deniable import Release, Survey
from deniable.questionnaire import Questionnaire

FORM = {
    "deniable": "questionnaire",
    "format": 1,
    "languages": ["de", "en"],
    "title": {"de": "Arbeit", "en": "Work"},
    "introduction": "Zwei Fragen.",
    "who": "Institut",
    "attributes": [{"name": "late", "wording": "Late?"}, {"name": "ill", "wording": "Ill?"}],
    "labels": [
        {
            "name": "region",
            "values": [
                {"value": "n", "label": {"de": "Norden", "en": "the north"}},
                {"value": "s", "label": {"de": "Süden"}},
                "w",
            ],
        }
    ],
    "design": {"order": 2, "epsilon": 2.0, "mechanism": "InpHT"},
}


def of_group(region: str, language: str | None) -> Release:
    questionnaire = Questionnaire.of(FORM)
    survey = Survey.from_questionnaire(questionnaire)
    frame = pd.DataFrame({"late": [True, False] * 150, "ill": [False, True] * 150})
    frame["region"] = region
    reports = survey.randomize(frame, seed="g")
    release = survey.tally(reports, by="region", simulation=True)[region].release()
    return release if language is None else release.worded(questionnaire.texts, language)


def test_a_report_of_a_group_names_it_in_its_language(tmp_path):
    texts = {}
    for region, language in (("n", "de"), ("n", "en"), ("s", "en"), ("w", "de"), ("n", None)):
        release = of_group(region, language)
        release.report(tmp_path / "r.html")
        said = release.said_group["region"]
        texts[region, language] = said
        for text in (release.methods(), (tmp_path / "r.html").read_text("utf-8")):
            assert f"(region: {said})" in text
        assert release.group == {"region": region}, "programs read the code"
    assert list(texts.values()) == ["Norden", "the north", "Süden", "w", "n"]
