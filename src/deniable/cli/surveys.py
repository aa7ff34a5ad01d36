"""The commands that make a survey, and explain what it asks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.padding import Padding

from deniable.api.survey import Survey
from deniable.cli import options as option
from deniable.cli.inputs import (
    labels_by_name,
    load_frame,
    load_pilot,
    parse_workload,
    schema_of,
)
from deniable.cli.options import about
from deniable.cli.output import attributes_of, print_json
from deniable.cli.questionnaires import questionnaire_in, survey_of, texts_path, write_survey
from deniable.planning.cost import bits_per_report
from deniable.questionnaire.questionnaire import Questionnaire
from deniable.questionnaire.texts import Texts
from deniable.questions.entropy import SystemSource
from deniable.questions.question import Question, odds
from deniable.schema.labels import Labels
from deniable.show.terminal import at_most, stdout

Complete = Annotated[
    bool,
    about(
        "Declare that everybody has one of the values listed: a device that has none stays "
        "silent, and that shows.",
        "--complete",
    ),
]
Label = Annotated[
    list[str] | None,
    about(
        "A public label of every report, with its values, such as region=north,south; "
        "it is not protected. Can be given again."
    ),
]
Period = Annotated[
    list[str] | None,
    about(
        "The first day of a period, such as 2026-11-01; give it again for each, and the day "
        "on which the last one ends."
    ),
]


def new(
    context: typer.Context,
    data: Annotated[
        str,
        typer.Argument(
            help="A questionnaire (.yaml, .toml or .json), or data: a .csv, .parquet or .feather file, "
            "or 'abortion', 'wages' or 'flights'."
        ),
    ],
    output: Annotated[Path, about("Where to write the survey.", "--output", "-o")],
    order: option.Order = 2,
    epsilon: option.Epsilon = 1.1,
    mechanism: option.Mechanism = "auto",
    aim: option.Aim = "tables",
    people: Annotated[int, about("How many people are expected to answer.")] = 100_000,
    prior: option.Prior = None,
    workload: option.Workload = None,
    pilot: option.Pilot = None,
    columns: option.Columns = None,
    values: option.Values = None,
    ranges: option.Range = None,
    complete: Complete = False,
    label: Label = None,
    period: Period = None,
    as_json: option.Json = False,
) -> None:
    """Make a survey of a questionnaire, or for some columns of data, and freeze it."""
    design: dict[str, Any] = {
        "order": order,
        "epsilon": epsilon,
        "mechanism": mechanism,
        "aim": aim,
        "people": people,
        "workload": parse_workload(workload),
        "pilot": load_pilot(pilot),
        "prior": prior,
    }
    design = {name: value for name, value in design.items() if value is not None}
    questionnaire = questionnaire_in(data)
    not_asked: list[str] = []
    if questionnaire is not None:
        survey = survey_of(questionnaire, context, design)
    else:
        public = _labels_of(label, period)
        frame = load_frame(data, columns)
        not_asked = [n for n in frame.column_names if columns is None and n in public.names]
        attributes = frame.drop_columns(not_asked).drop_null()
        schema = schema_of(attributes, columns, values, complete=complete, ranges=ranges)
        schema.check_coverage()
        labels = dict(public.declared)
        survey = Survey(schema, labels=labels, periods=public.periods or None, **design)
    files = write_survey(survey, questionnaire.texts if questionnaire else None, output)
    if as_json:
        form: dict[str, Any] = {"id": survey.id, "mechanism": survey.mechanism}
        form |= {"slots": str(survey.slots)} | ({"not_asked": not_asked} if not_asked else {})
        gaps = {} if questionnaire is None else {"untranslated": questionnaire.untranslated}
        print_json(form | gaps)
    else:
        _show_survey(survey, files, not_asked, questionnaire)


def _labels_of(labels: list[str] | None, periods: list[str] | None) -> Labels:
    """Return the labels and periods of the command line."""
    values = {
        name: [value.strip() for value in text.split(",")]
        for name, text in labels_by_name(labels, "region=north,south").items()
    }
    return Labels.of(values, periods)


def _show_survey(
    survey: Survey,
    files: list[Path],
    not_asked: list[str],
    questionnaire: Questionnaire | None,
) -> None:
    console = stdout()
    questions = "one question" if survey.slots == 1 else f"{survey.slots:,} questions"
    console.print(
        f"Survey [bold]{survey.id[:16]}[/bold]: {attributes_of(survey.schema)}, "
        f"order {survey.order}, epsilon {survey.epsilon:g}, {survey.mechanism} with {questions}, "
        f"written to {escape(' and '.join(path.name for path in files))}."
    )
    if questionnaire is not None:
        languages = f"{escape(questionnaire.title)}, in {', '.join(questionnaire.languages)}."
        console.print(f"Its id covers the texts, too: {languages}")
        for language, names in questionnaire.untranslated.items():
            some = f"{', '.join(names[:5])}{', …' if len(names) > 5 else ''}"
            console.print(
                f"Not translated into {language}, so shown in {questionnaire.languages[0]}: "
                f"{len(names)} texts ({escape(some)})."
            )
    if survey.labels:
        console.print(f"People are told: {escape(survey.labels.english())}")
    if not_asked:
        console.print(f"Labels, and so not asked about: {escape(', '.join(not_asked))}.")


def explain(
    survey: Annotated[Path, typer.Argument(help="A survey's JSON file.")],
    slot: Annotated[int | None, about("The question to explain; by default any.")] = None,
    full: Annotated[bool, about("Leave no value out.", "--full")] = False,
    as_json: option.Json = False,
) -> None:
    """Say in plain English what a device is asked."""
    frozen = Survey.load(survey)
    question = frozen.question(frozen.draw_slot(SystemSource()) if slot is None else slot)
    words = _own_words(survey, frozen, question)
    if not as_json:
        _show_question(frozen, question, words, full)
        return
    labels = frozen.labels
    print_json(
        question.to_json()
        | {
            "english": question.english(full=full),
            "epsilon": question.epsilon,
            "suspicion": odds(question.ratio),
            "attributes": list(question.attributes),
            "bits_per_report": bits_per_report(frozen),
        }
        | ({"wording": words} if words else {})
        | ({"labels": labels.values, "public": labels.english()} if labels.english() else {})
    )


def _own_words(path: Path, survey: Survey, question: Question) -> dict[str, str]:
    """Return how people are asked about its attributes, where texts lie beside the survey."""
    beside = texts_path(path)
    if survey.texts is None or not beside.exists():
        return {}
    texts = Texts.read(beside)
    texts.check(survey)
    words = texts.languages[texts.default]["attributes"]
    return {name: words[survey.schema.index(name)]["wording"] for name in question.attributes}


def _show_question(survey: Survey, question: Question, words: dict[str, str], full: bool) -> None:
    console, schema = stdout(), survey.schema
    console.print(
        f"Survey [bold]{survey.id[:16]}[/bold], question {question.slot} "
        f"(of 0 to {survey.slots - 1:,})\n"
    )
    text = question.english(full=full)
    console.print(Padding(f"[bold]{escape(text)}[/bold]", (0, 0, 1, 2), expand=False))
    if words:
        rows = (f"{escape(name)}: {escape(wording)}\n" for name, wording in words.items())
        console.print(f"How people are asked:\n{''.join(rows)}")
    attributes = (schema.attributes[schema.index(name)] for name in question.attributes)
    is_plain = " more" not in text and all(each.values == (False, True) for each in attributes)
    if text != question.english(full=True) and not is_plain:
        console.print("--full lists the values that are left out here.\n")
    scope = (
        "It concerns your whole record."
        if survey.whole_record
        else f"It concerns {len(question.attributes)} of your {len(schema)} attributes."
    )
    labels = survey.labels.english()
    console.print(
        f"{scope} The question was drawn without looking at anybody's data.\n"
        f"Its epsilon is {question.epsilon:.6g}, computed from the question itself: whoever sees your "
        f"report, a suspicion of 50% about you becomes at most {at_most(odds(question.ratio))}.\n"
        f"What leaves the device: the question's number and the answer, "
        f"{bits_per_report(survey):,} bits. Nothing else of your record.\n"
        f"{escape(labels)}{chr(10) if labels else ''}"
        "It does not hide that you took part, when, or which question you got; "
        "several surveys add up."
    )
