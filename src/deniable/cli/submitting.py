"""The command of a person: submit."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from deniable.api.survey import Survey
from deniable.cli import options as option
from deniable.cli.inputs import labels_by_name
from deniable.cli.options import about
from deniable.cli.output import print_json
from deniable.cli.questionnaires import (
    asked_wordings,
    show_wordings,
    spoken_question,
    texts_path,
)
from deniable.client.client import LIFETIME_LIMIT, LIMIT
from deniable.errors import RecordError, RefusedError, SurveyError
from deniable.formats.reading import parse, read_all, read_text
from deniable.questionnaire.texts import Texts
from deniable.questions.question import Question, odds
from deniable.show.terminal import at_most, stdout

if TYPE_CHECKING:
    from deniable.client.http import HTTPClient
    from deniable.client.ledger import Ledger
    from deniable.messages.report import Report
    from deniable.messages.survey_log import Head
    from deniable.survey.frozen import FrozenSurvey

SurveyOption = Annotated[
    str | None,
    about("The survey that you know: its id, or its JSON file; without it the collector's."),
]
Token = Annotated[
    str | None, about("The participant id that you were given; without it one is made up.")
]
Label = Annotated[
    list[str] | None,
    about(
        "A label that the survey declares, such as region=north: sent as it is, not "
        "protected. Can be given again."
    ),
]
LedgerFile = Annotated[Path | None, about("Your ledger; by default one in your own settings.")]
LifetimeLimit = Annotated[float, about("The largest epsilon of all surveys in the ledger.")]
Again = Annotated[
    bool,
    about("Answer although your ledger has answered the survey that this replaces.", "--again"),
]
AnotherPerson = Annotated[
    bool,
    about(
        "Answer although your ledger holds an answer to this survey under another id, because that was "
        "another person.",
        "--another-person",
    ),
]
LogHead = Annotated[
    str | None,
    about(
        "The head of the collector's log of surveys that you know: answer only if the log that is "
        "there continues it, and holds the survey."
    ),
]
Language = Annotated[
    str | None,
    about(
        "Say the question in this language, such as de, in the survey's own words.", "--language"
    ),
]
AllowHTTP = Annotated[
    bool, about("Let others on the network see token and answer.", "--allow-http")
]
Yes = Annotated[bool, about("Agree now; needed where nobody can be asked.", "--yes")]


def submit(
    record: Annotated[str, typer.Argument(help="Your record: a JSON file, or - for stdin.")],
    to: Annotated[str, about("The collector's address.", "--to")],
    survey: SurveyOption = None,
    token: Token = None,
    label: Label = None,
    ledger: LedgerFile = None,
    limit: Annotated[float, about("The largest epsilon of one survey.")] = LIMIT,
    lifetime_limit: LifetimeLimit = LIFETIME_LIMIT,
    again: Again = False,
    another_person: AnotherPerson = False,
    log_head: LogHead = None,
    allow_http: AllowHTTP = False,
    tag: Language = None,
    yes: Yes = False,
    as_json: option.Json = False,
) -> None:
    """Answer a survey, once, and send the answer to its collector."""
    from deniable.client.http import HTTPClient

    own, labels = _read_record(record), labels_by_name(label, "region=north")
    waiting, own_survey = _Waiting(), _known_survey(survey)
    client = HTTPClient(
        to,
        own_survey,
        texts=_texts_beside(survey, own_survey),
        ledger=_ledger(ledger),
        token=token,
        limit=limit,
        lifetime_limit=lifetime_limit,
        again=again,
        another=another_person,
        log_head=log_head,
        allow_http=allow_http,
        waiting=waiting.say,
    )
    if survey is not None and client.entry() is None:
        client.check(own, labels)  # with the survey's file, before anybody is contacted
    contract = _contract(client, survey is not None)
    if client.entry() is not None:
        waiting.is_drawn = True
        _send_again(client, contract, as_json=as_json)
        return
    client.check(own, labels)
    question = client.question(own)
    own_words = _own_words(question, client, tag)
    if not as_json:
        _show_question(contract, question, survey is not None, own_words)
    _confirm(yes, can_ask=not as_json and record != "-" and sys.stdin.isatty())
    report = client.answer(own, labels)
    waiting.is_drawn = True
    if client.receipt() is None:  # but another command drew one, meanwhile
        _send_again(client, contract, as_json=as_json)
        return
    client.submit()
    client.forget()
    if as_json:
        print_json(_form(contract, question, report, client.log_head) | own_words)
    else:
        _show_report(report, client.log_head)


def _send_again(client: HTTPClient, contract: FrozenSurvey, *, as_json: bool) -> None:
    """Send what was drawn before, and say no more of it: another person may ask for it now."""
    entry = client.entry()
    is_counted = entry is not None and entry.sending is not None and entry.sending.state == "sent"
    if not is_counted:
        client.submit()
    client.forget()
    if as_json:
        print_json({"survey": contract.id, "again": True})
        return
    state = (
        "was sent before; nothing was sent now" if is_counted else "was drawn before; it is counted"
    )
    stdout().print(
        f"Your answer to survey [bold]{contract.id[:16]}[/bold] {state}. What it says is shown "
        "only when it is drawn."
    )


class _Waiting:
    """What is said while the collector is away: whether the answer is drawn."""

    is_drawn = False

    def say(self) -> None:
        outcome = "your answer is kept" if self.is_drawn else "nothing is drawn"
        typer.echo(
            "deniable: The collector cannot be reached; trying again, which may take a minute or "
            f"more. Ctrl-C gives up, and {outcome}.",
            err=True,
        )


def _confirm(is_agreed: bool, *, can_ask: bool) -> None:
    if is_agreed:
        return
    if not can_ask:
        raise RefusedError(
            "Nobody can be asked here, so nothing was drawn; --yes says that you agree.", "consent"
        )
    typer.confirm("Shall your device answer, once and for ever?", abort=True)


def _form(
    contract: FrozenSurvey, question: Question, report: Report, head: Head | None
) -> dict[str, Any]:
    form = {
        "survey": contract.id,
        "question": question.to_json(),
        "english": question.english(full=True),
        "epsilon": question.epsilon,
        "report": report.to_json(),
        "again": False,
    }
    return form if head is None else form | {"log_head": str(head)}


def _own_words(question: Question, client: HTTPClient, tag: str | None) -> dict[str, Any]:
    """Return a question as the survey words it, and as a language says it, if there is such."""
    wording = asked_wordings(client.survey, question, client.texts)
    words = {"wording": wording} if wording else dict[str, Any]()
    if tag is None:
        return words
    return words | {"words": spoken_question(client.survey, question, tag, client.texts)}


def _show_question(
    contract: FrozenSurvey,
    question: Question,
    is_named: bool,
    own_words: dict[str, Any],
) -> None:
    """Print what is asked, also as people are asked, or in the words of a language alone."""
    console = stdout()
    origin = "" if is_named else ", which is the collector's word"
    console.print(f"Survey [bold]{contract.id[:16]}[/bold]{origin}.")
    if "words" in own_words:
        console.print(escape(own_words["words"]), soft_wrap=True)
    else:
        console.print(f"[bold]{escape(question.english(full=True))}[/bold]")
        show_wordings(own_words.get("wording", {}))
    console.print(
        f"Its epsilon is {question.epsilon:.6g}: a suspicion of 50% about you becomes at most "
        f"{at_most(odds(question.ratio))}."
    )
    if contract.labels:
        console.print(escape(contract.labels.english()))


def _show_report(report: Report, log_head: Head | None) -> None:
    """Print what was sent, and the head of the log that is to be remembered, if any is."""
    labels = ", ".join(f"{name} {value}" for name, value in report.labels.items())
    beside = f"; beside it went: {escape(labels)}" if labels else ""
    stdout().print(
        f"Your answer, value {report.value} to question {report.slot}, is counted. "
        f"Nothing else of your record left this device{beside}."
    )
    if log_head is not None:
        stdout().print(f"The head of the log of surveys to remember: {log_head}")


def _read_record(record: str) -> Any:
    """Read a record; an error never repeats any of it."""
    if record.lstrip().startswith("{"):
        raise RecordError(
            "A record is a file, or - for stdin: others can see what stands on a command line."
        )
    try:
        content = parse(read_all(sys.stdin) if record == "-" else read_text(record))
    except OSError as error:
        raise RecordError(f"The record cannot be read: {error.strerror}.") from None
    except ValueError:
        raise RecordError("The record is not JSON.") from None
    if not isinstance(content, dict):
        raise RecordError("A record is a JSON object that maps attributes to values.")
    return content


def _known_survey(survey: str | None) -> str | Survey | None:
    """Return the survey that the person knows: its id, or what its file holds."""
    from deniable.messages.token import is_survey_id

    if survey is None or is_survey_id(survey):
        return survey
    with contextlib.suppress(OSError):  # of a name that is too long for a file's
        if Path(survey).exists():
            return Survey.load(survey)
    raise SurveyError(
        f"There is no survey {Path(survey).name}: that is neither a file nor an id of 64 "
        "hexadecimal digits."
    )


def _texts_beside(survey: str | None, own_survey: str | Survey | None) -> Texts | None:
    """Return the texts that lie beside the survey's file, where its id covers any."""
    if survey is None or not isinstance(own_survey, Survey) or own_survey.texts is None:
        return None
    beside = texts_path(Path(survey))
    return Texts.read(beside) if beside.exists() else None


def _contract(client: HTTPClient, is_named: bool) -> FrozenSurvey:
    """Fetch the survey; where none was named and there are several, say which."""
    try:
        return client.survey
    except RefusedError as error:
        is_unknown = not is_named and error.reason == "survey-unknown"
        ids = client.collector.surveys() if is_unknown else []
        if not ids:
            raise
        raise RefusedError(
            f"The collector holds several surveys; name one with --survey: {', '.join(ids)}.",
            error.reason,
        ) from None


def _ledger(path: Path | None) -> Ledger:
    """Return the ledger in a file, by default one in the owner's own settings."""
    from deniable.client.ledger import Ledger

    if path is not None:
        return Ledger(path)
    folder = Path(typer.get_app_dir("deniable"))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise RefusedError(f"The ledger cannot be kept at {folder}: {error.strerror}.") from None
    return Ledger(folder / "ledger.json")
