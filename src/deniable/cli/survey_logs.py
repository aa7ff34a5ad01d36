"""The public log of surveys as a file: its commands, and how the file is written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from deniable.cli import options as option
from deniable.cli.options import about
from deniable.cli.output import conclude
from deniable.errors import LogError
from deniable.formats.reading import check_regular, read_text
from deniable.formats.writing import write_text
from deniable.messages.survey_log import Head, SurveyLog

survey_log = typer.Typer(help="Mirror and verify public logs of surveys.", rich_markup_mode=None)

_MOST_BYTES = 1 << 27


def log_in(path: Path | None) -> SurveyLog:
    """Return the log that a file holds; an empty one where there is none yet."""
    if path is None or not path.exists():
        return SurveyLog(())
    try:
        check_regular(path)
        return SurveyLog.of_text(read_text(path, _MOST_BYTES))
    except OSError as error:
        raise LogError(f"{str(path)!r} cannot be read as a log: {error.strerror}.") from None
    except ValueError:
        raise LogError(f"{str(path)!r} cannot be read as a log: it is no text.") from None


def mirror_log(path: Path, log: SurveyLog) -> int:
    """Write a log to a file that may only be added to; return how many entries are new."""
    before = log_in(path)
    if not before.begins(log):
        raise LogError(
            f"The log does not continue the one in {path.name}: surveys were taken out of it, "
            "changed, or put into another order. The file stays as it is."
        )
    if len(log.entries) > len(before.entries):
        write_text(path, log.text, LogError)
    return len(log.entries) - len(before.entries)


LogFile = Annotated[Path, typer.Argument(help="The file: a day and a survey's id on each line.")]
Heads = Annotated[
    list[str] | None,
    about("A head, such as 12:9f2c…, that the log must continue. Can be given again."),
]


@survey_log.command()
def verify(file: LogFile, head: Heads = None, as_json: option.Json = False) -> None:
    """Check a log of surveys in a file, and print its head."""
    if not file.exists():
        raise LogError(f"There is no log {file.name}.")
    log = log_in(file)
    _check(log, head)
    _conclude(file, log, as_json, {}, "")


@survey_log.command()
def mirror(
    file: LogFile,
    source: Annotated[str, about("The collector's address.", "--from")],
    head: Heads = None,
    allow_http: Annotated[
        bool, about("Let others on the network see and change what comes.", "--allow-http")
    ] = False,
    as_json: option.Json = False,
) -> None:
    """Add to a file what a collector's log has more; refuse a log that does not continue it."""
    from deniable.client.remote import RemoteCollector

    log = RemoteCollector(source, allow_http=allow_http).log()
    _check(log, head)  # before it is in the file, where it would be taken for the known one
    new = mirror_log(file, log)
    _conclude(file, log, as_json, {"new": new}, f", {new:,} of them new")


def _check(log: SurveyLog, heads: list[str] | None) -> None:
    """Refuse a log that does not continue those of some heads."""
    for text in heads or ():
        log.check_continues(Head.of(text))


def _conclude(file: Path, log: SurveyLog, as_json: bool, more: dict[str, int], clause: str) -> None:
    """Say what a file's log is now."""
    surveys = "survey" if len(log.entries) == 1 else "surveys"
    form = {"surveys": len(log.entries)} | more | {"head": str(log.head)}
    conclude(
        as_json,
        form,
        f"{escape(file.name)} lists {len(log.entries):,} {surveys}{clause}. Note its head; it finds out "
        f"later whether the log was cut short or rewritten:\n{log.head}",
    )
