"""The public log of surveys as a file: its command, and how the file is written."""

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
from deniable.formats.writing import write_whole
from deniable.messages.survey_log import Head, SurveyLog

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
        write_whole(path, lambda draft: draft.write_text(log.text, encoding="ascii"), LogError)
    return len(log.entries) - len(before.entries)


def survey_log(
    file: Annotated[Path, typer.Argument(help="The file: a day and a survey's id on each line.")],
    source: Annotated[
        str | None, about("First add what a collector at this address has more.", "--from")
    ] = None,
    head: Annotated[
        list[str] | None,
        about("A head, such as 12:9f2c…, that the log must continue. Can be given again."),
    ] = None,
    allow_http: Annotated[
        bool, about("Let others on the network see and change what comes.", "--allow-http")
    ] = False,
    as_json: option.Json = False,
) -> None:
    """Verify a public log of surveys that is kept in a file."""
    heads = [Head.of(text) for text in head or ()]
    new = 0
    if source is not None:
        from deniable.client.remote import RemoteCollector

        new = mirror_log(file, RemoteCollector(source, allow_http=allow_http).log())
    elif not file.exists():
        raise LogError(f"There is no log {file.name}.")
    log = log_in(file)
    for each in heads:
        log.check_continues(each)
    form = {"surveys": len(log.entries), "new": new, "head": str(log.head)}
    conclude(
        as_json,
        form,
        f"{escape(file.name)} lists {len(log.entries):,} surveys"
        f"{f', {new:,} of them new' if source is not None else ''}. "
        f"Its head: {log.head}",
    )
