"""The command line: thin commands over the library.

Every command prints for people, or one JSON document with ``--json``. Bad input ends with exit code
2 and one sentence on stderr.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from deniable import __version__
from deniable.cli.auditing import audit
from deniable.cli.checking import check
from deniable.cli.citing import cite
from deniable.cli.closing import close, reopen
from deniable.cli.demo import demo
from deniable.cli.deploying import deploy
from deniable.cli.experiments import reproduce, simulate
from deniable.cli.operating import groups
from deniable.cli.options import about
from deniable.cli.output import warnings_said
from deniable.cli.planning import plan
from deniable.cli.regressing import regress
from deniable.cli.releasing import compare, release
from deniable.cli.serving import advance, backup, issue, migrate, reports, restore, serve
from deniable.cli.studio import studio
from deniable.cli.submitting import submit
from deniable.cli.survey_logs import survey_log
from deniable.cli.surveys import explain, new
from deniable.cli.tallying import randomize, tally
from deniable.cli.turnout import issued
from deniable.errors import DeniableError
from deniable.questions.legible import unhidden

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)

_COMMANDS: tuple[Callable[..., None], ...] = (
    *(demo, plan, simulate, audit, explain, new),
    *(randomize, tally, release, regress, compare, cite, reproduce),
    *(
        studio,
        deploy,
        serve,
        check,
        issue,
        issued,
        close,
        reopen,
        reports,
        backup,
        restore,
        advance,
        migrate,
    ),
    submit,
)
for _command in _COMMANDS:
    app.command()(_command)
for _name, _group in (*groups(), ("survey-log", survey_log)):
    app.add_typer(_group, name=_name)

# Newer versions of typer carry a click of their own, so its base class is reached through typer's.
_UsageError: Any = typer.BadParameter.__bases__[0]


@app.callback(invoke_without_command=True)
def deniable(
    context: typer.Context,
    version: Annotated[bool, about("Print the version.", "--version")] = False,
) -> None:
    """Joint statistics from people without collecting their records."""
    if version:
        typer.echo(__version__)
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


@cache
def _command_line() -> Callable[..., Any]:
    """Return all commands as they are run; typer would make them anew for each."""
    return typer.main.get_command(app)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may not know every letter
    try:
        with warnings_said():
            code = _command_line()(prog_name="deniable", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except DeniableError as error:
        _stop(str(error))
    except _UsageError as error:
        _stop(error.format_message())
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(130)
    except MemoryError:
        _stop("This would need more memory than there is.")
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # whoever read the output has seen enough
            sys.exit(0)
        _stop(f"The output cannot be written: {error.strerror}.")
    sys.exit(code if isinstance(code, int) else 0)


def _stop(message: str) -> None:
    letters = " ".join(message.split()).rstrip(".")
    sentence = unhidden(letters)
    end = "" if sentence.endswith("?") else "."  # as PostgreSQL asks
    print(f"deniable: {sentence}{end}", file=sys.stderr)  # noqa: T201
    sys.exit(2)
