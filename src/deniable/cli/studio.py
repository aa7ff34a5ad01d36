"""The command that opens the studio."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.options import about
from deniable.cli.output import say
from deniable.cli.serving import needing_extra


def studio(
    folder: Annotated[
        Path, typer.Argument(help="Where the survey's files are; made if it is not there.")
    ] = Path(),
    port: Annotated[int, about("Where to listen; 0 takes any that is free.")] = 0,
    no_browser: Annotated[
        bool, about("Print the address, and open no browser.", "--no-browser")
    ] = False,
) -> None:
    """Write, design, try, collect and read a survey in the browser, on this machine."""
    with needing_extra():
        from deniable.studio.serve import run

    def announce(address: str) -> None:
        say(f"The studio is at {address}")
        say("The address opens it once, and for this machine only. Ctrl-C ends it.")

    run(folder, port, announce, opens_browser=not no_browser)
