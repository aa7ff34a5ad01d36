"""The commands that make a survey, and explain what it asks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.padding import Padding

from deniable.api.survey import Survey
from deniable.cli import options as option
from deniable.cli.forms import rows_form, show_rows, write_questionnaire
from deniable.cli.inputs import (
    labels_by_name,
    load_frame,
    load_pilot,
    parse_workload,
    schema_of,
)
from deniable.cli.options import about
from deniable.cli.output import attributes_of, print_json
from deniable.cli.questionnaires import (
    asked_wordings,
    questionnaire_in,
    show_wordings,
    spoken_question,
    survey_of,
    texts_beside,
    write_survey,
)
from deniable.errors import SurveyError
from deniable.planning.cost import bits_per_report
from deniable.questionnaire.questionnaire import Questionnaire
from deniable.questions.entropy import SystemSource
from deniable.questions.question import Question, odds
from deniable.schema.labels import Labels
from deniable.schema.remarks import Remarks
from deniable.schema.schema import Schema
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
QuestionnaireFile = Annotated[
    Path | None,
    about(
        "Also write the questionnaire, as YAML to go on with; without --output, only that.",
        "--questionnaire",
    ),
]
SkipRefused = Annotated[
    bool,
    about(
        "Leave out the rows of an XLSForm that cannot be asked, instead of stopping at the first.",
        "--skip-refused",
    ),
]


def new(
    context: typer.Context,
    data: Annotated[
        str,
        typer.Argument(
            help="A questionnaire (.yaml, .toml or .json), an XLSForm (.xlsx), or data: a .csv, "
            ".parquet, .feather, .xlsx, .sav or .dta file, or 'abortion', 'wages' or 'flights'."
        ),
    ],
    output: Annotated[Path | None, about("Where to write the survey.", "--output", "-o")] = None,
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
    questionnaire_file: QuestionnaireFile = None,
    skip_refused: SkipRefused = False,
    as_json: option.Json = False,
) -> None:
    """Make a survey of a questionnaire, or for some columns of data, and freeze it."""
    if output is None and questionnaire_file is None:
        raise SurveyError("Give --output, where to write the survey.")
    design: dict[str, Any] = {"order": order, "epsilon": epsilon, "mechanism": mechanism}
    design |= {"aim": aim, "people": people, "prior": prior, "pilot": load_pilot(pilot)}
    design |= {"workload": parse_workload(workload)}
    design = {name: value for name, value in design.items() if value is not None}
    questionnaire, rows = questionnaire_in(data, skip_refused, as_json)
    if rows and not as_json:
        show_rows(rows)
    form: dict[str, Any] = {"rows": rows_form(rows)} if rows else {}
    _keep(questionnaire, questionnaire_file, as_json)
    if output is None:
        if as_json:
            print_json(form)
        return
    not_asked: list[str] = []
    if questionnaire is not None:
        survey = survey_of(questionnaire, context, design)
        form = {"untranslated": questionnaire.untranslated} | form
    else:
        public = _labels_of(label, period)
        frame, not_asked = _without_labels(load_frame(data, columns), columns, public)
        schema = schema_of(frame, columns, values, complete=complete, ranges=ranges)
        Remarks.of(schema, frame).warn()
        survey = _survey_of_data(schema, public, design)
        form = {"not_asked": not_asked} if not_asked else {}
    files = write_survey(survey, questionnaire.texts if questionnaire else None, output)
    if as_json:
        print_json(_form_of(survey) | form)
    else:
        _show_survey(survey, files, not_asked, questionnaire)


def _form_of(survey: Survey) -> dict[str, Any]:
    return {"id": survey.id, "mechanism": survey.mechanism, "slots": str(survey.slots)}


def _survey_of_data(schema: Schema, public: Labels, design: dict[str, Any]) -> Survey:
    """Return the survey of columns of data, which everybody can answer."""
    schema.check_coverage()
    labels, periods = dict(public.declared), public.periods or None
    return Survey(schema, labels=labels, periods=periods, **design)


def _keep(questionnaire: Questionnaire | None, path: Path | None, as_json: bool) -> None:
    """Write a questionnaire as YAML, if that is wanted, and say so."""
    if path is None:
        return
    if questionnaire is None:
        raise SurveyError("--questionnaire is for questionnaires and forms; this is data.")
    write_questionnaire(questionnaire, path)
    if not as_json:
        count = len(questionnaire.schema)
        stdout().print(f"Questionnaire of {count:,} attributes, written to {escape(path.name)}.")


def _without_labels(frame: Any, columns: str | None, public: Labels) -> tuple[Any, list[str]]:
    """Return data without its labels and without rows that have gaps, and what was left out."""
    not_asked = [n for n in frame.column_names if columns is None and n in public.names]
    return frame.drop_columns(not_asked).drop_null(), not_asked


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
            more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
            some = f"{', '.join(names[:5])}{more}"
            console.print(
                f"Not translated into {language}, so shown as in {questionnaire.languages[0]}: "
                f"{escape(some)}."
            )
    if survey.labels:
        console.print(f"People are told: {escape(survey.labels.english())}")
    if not_asked:
        console.print(f"Labels, and so not asked about: {escape(', '.join(not_asked))}.")


def explain(
    survey: Annotated[Path, typer.Argument(help="A survey's JSON file.")],
    slot: Annotated[int | None, about("The question to explain; by default any.")] = None,
    full: Annotated[bool, about("Leave no value out.", "--full")] = False,
    tag: Annotated[
        str | None,
        about(
            "Say it as people read it, in this language, such as de, in the words of texts that lie "
            "beside the survey.",
            "--language",
        ),
    ] = None,
    as_json: option.Json = False,
) -> None:
    """Say in plain words what a device is asked."""
    frozen = Survey.load(survey)
    question = frozen.question(frozen.draw_slot(SystemSource()) if slot is None else slot)
    texts = texts_beside(survey, frozen)
    spoken = {} if tag is None else {"words": spoken_question(frozen, question, tag, texts)}
    if spoken and not as_json:
        stdout().print(escape(spoken["words"]), soft_wrap=True)
        return
    words = asked_wordings(frozen, question, texts)
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
        | spoken
        | ({"labels": labels.values, "public": labels.english()} if labels.english() else {})
    )


def _show_question(survey: Survey, question: Question, words: dict[str, str], full: bool) -> None:
    console = stdout()
    console.print(
        f"Survey [bold]{survey.id[:16]}[/bold], question {question.slot} "
        f"(of 0 to {survey.slots - 1:,})\n"
    )
    text = question.english(full=full)
    console.print(Padding(f"[bold]{escape(text)}[/bold]", (0, 0, 1, 2), expand=False))
    show_wordings(words)
    if text != question.english(full=True):
        console.print("--full lists the values that are left out here.\n")
    scope = (
        "It concerns your whole record."
        if survey.whole_record
        else f"It concerns {len(question.attributes)} of your {len(survey.schema)} attributes."
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
