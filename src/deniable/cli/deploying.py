"""The command that writes what a server needs to collect."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from deniable.api.survey import Survey
from deniable.cli import options as option
from deniable.cli.output import print_json
from deniable.cli.serving import needing_extra
from deniable.show.terminal import stdout


def deploy(
    survey: Annotated[Path, typer.Argument(help="A survey's JSON file; its texts lie beside it.")],
    address: Annotated[
        str, typer.Argument(help="The server's address, such as https://survey.example.org.")
    ],
    wheel: Annotated[
        Path | None,
        option.about(
            "Deniable's wheel, which the server installs: 'make package' in a clone builds it in dist/.",
            "--wheel",
        ),
    ] = None,
    as_json: option.Json = False,
) -> None:
    """Write a folder deploy/ beside a survey: what a server needs to collect for it."""
    with needing_extra():
        from deniable.studio import deploying
        from deniable.studio.folder import Folder
        from deniable.studio.freezing import FrozenSurveys

    Survey.load(survey)  # or say what it is instead
    folder = Folder(survey.parent)
    frozen = FrozenSurveys(folder).named(survey.name.removesuffix(".json"))
    public = deploying.check_address(address)
    files = deploying.deploy(folder, frozen, public, wheel)
    link = deploying.link_of(frozen, public)
    if as_json:
        print_json({"survey": frozen.id, "link": link, "files": files})
        return
    stdout().print(
        f"{len(files)} files are in {escape(str(survey.parent / deploying.FOLDER))}: copy them to the "
        "server, where README.md has the commands. Only people to whom an id is issued can answer, each "
        f"once, at\n{escape(link)}",
        soft_wrap=True,
    )
    if not folder.exists(f"{deploying.FOLDER}/{deploying.WHEEL}"):
        stdout().print(
            f"[bold]Deniable itself is missing there[/bold]: 'make package' in a clone builds "
            f"dist/{deploying.WHEEL}; copy it into that folder, or name it with --wheel.",
            soft_wrap=True,
        )
