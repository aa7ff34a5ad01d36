"""The command that says what a device is asked: explain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.padding import Padding

from deniable.api.survey import Survey
from deniable.cli import options as option
from deniable.cli.output import print_json
from deniable.planning.cost import bits_per_report
from deniable.questions.entropy import SystemSource
from deniable.questions.question import Question, odds
from deniable.show.terminal import at_most, stdout


def explain(
    survey: Annotated[Path, typer.Argument(help="A survey's JSON file.")],
    slot: Annotated[
        int | None, typer.Option(help="The question to explain; by default any.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Leave no value out.")] = False,
    as_json: option.Json = False,
) -> None:
    """Say in plain English what a device is asked."""
    frozen = Survey.load(survey)
    question = frozen.question(frozen.draw_slot(SystemSource()) if slot is None else slot)
    if not as_json:
        _show_question(frozen, question, full)
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
        | ({"labels": labels.values, "public": labels.english()} if labels.english() else {})
    )


def _show_question(survey: Survey, question: Question, full: bool) -> None:
    console, schema = stdout(), survey.schema
    console.print(
        f"Survey [bold]{survey.id[:16]}[/bold], question {question.slot} "
        f"(of 0 to {survey.slots - 1:,})\n"
    )
    text = question.english(full=full)
    console.print(Padding(f"[bold]{escape(text)}[/bold]", (0, 0, 1, 2), expand=False))
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
