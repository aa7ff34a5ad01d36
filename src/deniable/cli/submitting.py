"""The command of a person: submit."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from deniable.api.survey import Survey
from deniable.cli.app import Json, app, labels_given
from deniable.cli.output import print_json
from deniable.client.client import LIFETIME_LIMIT, LIMIT, Contract
from deniable.errors import RecordError, RefusedError, SurveyError
from deniable.formats.reading import parse, read_all, read_text
from deniable.questions.question import odds
from deniable.show.terminal import at_most, stdout

if TYPE_CHECKING:
    from deniable.client.http import HTTPClient

__all__ = ["submit"]


@app.command()
def submit(
    record: Annotated[str, typer.Argument(help="Your record: a JSON file, or - for stdin.")],
    to: Annotated[str, typer.Option("--to", help="The collector's address.")],
    survey: Annotated[
        str | None,
        typer.Option(
            help="The survey that you know: its id, or its JSON file; without it the collector's."
        ),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(help="The participant id that you were given; without it one is made up."),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            help="A label that the survey declares, such as region=north: sent as it is, not "
            "protected. Can be given again."
        ),
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(help="Your ledger; by default one in your own settings.")
    ] = None,
    limit: Annotated[float, typer.Option(help="The largest epsilon of one survey.")] = LIMIT,
    lifetime_limit: Annotated[
        float, typer.Option(help="The largest epsilon of all surveys in the ledger.")
    ] = LIFETIME_LIMIT,
    allow_http: Annotated[
        bool, typer.Option("--allow-http", help="Let others on the network see token and answer.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Agree now; needed where nobody can be asked.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Answer a survey, once, and send the answer to its collector."""
    from deniable.client.http import HTTPClient
    from deniable.client.ledger import Ledger

    is_drawn = False

    def say_waiting() -> None:
        kept = "your answer is kept" if is_drawn else "nothing is drawn"
        typer.echo(
            "deniable: The collector cannot be reached; trying again, which may take a minute or "
            f"more. Ctrl-C gives up, and {kept}.",
            err=True,
        )

    held, labels = _read(record), labels_given(label, "region=north")
    client = HTTPClient(
        to,
        _known(survey),
        ledger=Ledger(_place() if ledger is None else ledger),
        token=token,
        limit=limit,
        lifetime_limit=lifetime_limit,
        allow_http=allow_http,
        waiting=say_waiting,
    )
    if survey is not None and client.entry() is None:
        client.check(held, labels)  # with the survey's file, before anybody is contacted
    known, console = _survey_of(client, survey is not None), stdout()
    before = client.entry()
    is_drawn = before is not None
    if before is None:
        client.check(held, labels)
    question = client.question(held)
    if not as_json:
        given = "" if survey else ", which is the collector's word"
        console.print(f"Survey [bold]{known.id[:16]}[/bold]{given}.")
        console.print(f"[bold]{escape(question.english(full=True))}[/bold]")
        console.print(
            f"Its epsilon is {question.epsilon:.6g}: a suspicion of 50% about you becomes at most "
            f"{at_most(odds(question.ratio))}."
        )
        if known.labels:
            console.print(escape(known.labels.english()))
    if before is None and not yes:
        if as_json or record == "-" or not sys.stdin.isatty():
            raise RefusedError(
                "Nobody can be asked here, so nothing was drawn; --yes says that you agree.",
                "consent",
            )
        typer.confirm("Shall your device answer, once and for ever?", abort=True)
    answered = client.answer(held, labels)
    is_drawn = True
    sent = before is not None and before.sending is not None and before.sending.state == "sent"
    client.submit()
    if as_json:
        print_json(
            {
                "survey": known.id,
                "question": question.to_json(),
                "english": question.english(full=True),
                "epsilon": question.epsilon,
                "report": answered.to_json(),
                "again": before is not None,
            }
        )
        return
    again = "was sent before; nothing was sent now" if sent else "is counted"
    said = ", ".join(f"{name} {value}" for name, value in answered.labels.items())
    beside = f"; beside it went: {escape(said)}" if said else ""
    console.print(
        f"Your answer, value {answered.value} to question {answered.slot}, {again}. "
        f"Nothing else of your record left this device{beside}."
    )


def _read(record: str) -> Any:
    """Read a record; an error never repeats any of it."""
    if record.lstrip().startswith("{"):
        raise RecordError(
            "A record is a file, or - for stdin: others can see what stands on a command line."
        )
    try:
        held = parse(read_all(sys.stdin) if record == "-" else read_text(record))
    except OSError as error:
        raise RecordError(f"The record cannot be read: {error.strerror}.") from None
    except ValueError:
        raise RecordError("The record is not JSON.") from None
    if not isinstance(held, dict):
        raise RecordError("A record is a JSON object that maps attributes to values.")
    return held


def _known(survey: str | None) -> str | Survey | None:
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


def _survey_of(client: HTTPClient, is_named: bool) -> Contract:
    """Fetch the survey; where none was named and there are several, say which."""
    try:
        return client.survey
    except RefusedError as error:
        held = [] if is_named or error.reason != "survey-unknown" else client.collector.surveys()
        if not held:
            raise
        raise RefusedError(
            f"The collector holds several surveys; name one with --survey: {', '.join(held)}.",
            error.reason,
        ) from None


def _place() -> Path:
    """Return where a person's own ledger is, by default."""
    folder = Path(typer.get_app_dir("deniable"))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise RefusedError(f"The ledger cannot be kept at {folder}: {error.strerror}.") from None
    return folder / "ledger.json"
