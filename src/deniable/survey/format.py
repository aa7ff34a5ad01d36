"""Format 2: a survey as JSON, written in one canonical way and read strictly.

Reading never computes a design again, and asks nobody who made it: the name of a mechanism is for
people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deniable.errors import DeniableError, SurveyError
from deniable.formats.forms import check_form, limit, parse_json
from deniable.questions.about import list_of_form
from deniable.schema.labels import Labels
from deniable.schema.schema import Schema
from deniable.survey.digests import TextDigests, canonical
from deniable.survey.template import Template

if TYPE_CHECKING:
    from deniable.survey.frozen import FrozenSurvey

FORMAT = 2
"""The version of the survey JSON."""


def to_form(survey: FrozenSurvey) -> dict[str, Any]:
    """Return the JSON form of a survey."""
    form = {
        "deniable": "survey",
        "format": FORMAT,
        "schema": survey.schema.to_json(),
        "order": survey.order,
        "epsilon": repr(survey.epsilon),
        "mechanism": survey.mechanism,
        "lists": [each.to_json() for each in survey.lists],
        "templates": [template.to_json() for template in survey.templates],
    }
    if survey.touches > survey.order:
        form["touches"] = survey.touches
    if survey.texts is not None:
        form["texts"] = survey.texts.to_json()
    if survey.follows is not None:
        form["follows"] = survey.follows
    return form | survey.labels.to_json()


def read_survey(text: str) -> FrozenSurvey:
    """Read a survey's JSON; refuse what is not exactly one."""
    if isinstance(text, str) and len(text) > limit("letters"):
        raise SurveyError(f"A survey has at most {limit('letters'):,} letters, got {len(text):,}.")
    try:
        form = parse_json(text)
    except (TypeError, ValueError):
        raise SurveyError("A survey must be a JSON text, and this is not one.") from None
    return survey_of(form)


def survey_of(form: Any) -> FrozenSurvey:
    """Return the survey that a JSON form describes; refuse what is not exactly one."""
    from deniable.survey.frozen import FrozenSurvey

    match form:
        case {"deniable": "survey", "format": int(version)} if version != FORMAT:
            raise SurveyError(
                f"The survey has format {version}; this version of deniable reads format {FORMAT}."
            )
    check_form("survey", form, SurveyError)
    try:
        schema = Schema.of_form(form["schema"])
        if len(form["lists"]) != len(schema):
            raise SurveyError(
                f"A survey has one question list for each of its {len(schema)} attributes, got "
                f"{len(form['lists'])}."
            )
        survey = FrozenSurvey(
            schema,
            form["order"],
            float(form["epsilon"]),
            tuple(map(Template.of_form, form["templates"])),
            tuple(map(list_of_form, form["lists"], schema.attributes)),
            mechanism=form["mechanism"],
            labels=Labels.of_form(form),
            texts=TextDigests.of_form(form["texts"]) if "texts" in form else None,
            follows=form.get("follows"),
        )
    except SurveyError:
        raise
    except DeniableError as error:
        raise SurveyError(f"The survey is broken: {error}") from error
    if form.get("touches", survey.order) != max(survey.touches, survey.order):
        says = (
            f"touches {survey.touches}" if survey.touches > survey.order else "nothing of touches"
        )
        raise SurveyError(
            f"The survey's questions touch up to {survey.touches} attributes, and its order is "
            f"{survey.order}, so it must say {says}."
        )
    if survey.canonical() != canonical(form):
        raise SurveyError("The survey is not in its canonical form.")
    return survey
