"""What a server needs to collect for a survey: a folder to copy there, and the commands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from deniable import server
from deniable.errors import SurveyError
from deniable.studio.deeds import command
from deniable.studio.folder import Folder
from deniable.studio.freezing import FrozenFile

FOLDER = "deploy"
_ADDRESS = re.compile(r"https://[a-z0-9.-]{1,253}(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]{0,200})?")
_OPERATORS = "SERVERS.md"
"""What is told to operators, beside the commands for this survey."""

_README = """\
# Collecting for survey {short}

Copy this folder to a server with Python 3.11 or newer, and a proxy with TLS (https) before it: without
https no browser answers, for it has no safe randomness there.

    pip install 'deniable[server]'
    {serve}

The collector listens on 127.0.0.1, port 8000. It prints the analysts' token once.

- People answer at {link}
- Analysts look at {address}/dashboard
- Copy the store every day: {backup}
- When the survey is over: {tally}

The link names the survey by its id, and the device of whoever opens it checks that it gets this one:

    {id}

The other files here are for containers, systemd and a proxy: {operators} says how they are used.
"""


def check_address(address: object) -> str:
    """Return the public address of a collector, without a slash at its end."""
    if not isinstance(address, str) or not _ADDRESS.fullmatch(address.strip()):
        raise SurveyError(
            "A server's address is https:// and its name, such as https://survey.example.org."
        )
    return address.strip().rstrip("/")


def link_of(survey: FrozenFile, address: str) -> str:
    """Return the link that people get: it names the survey, so that their devices can check it."""
    return f"{address}/?survey={survey.id}"


def deploy(folder: Folder, survey: FrozenFile, address: str) -> list[str]:
    """Write what a server needs; return the names of the files."""
    texts = f"{survey.name}.texts.json"
    files = {f"{FOLDER}/surveys/{survey.name}.json": folder.read(f"{survey.name}.json")}
    if survey.has_texts:
        files[f"{FOLDER}/surveys/{texts}"] = folder.read(texts)
    templates = sorted((Path(server.__file__).parent / FOLDER).iterdir())
    for path in templates:
        text = path.read_text("utf-8").replace("/survey.json", f"/{survey.name}.json")
        name = _OPERATORS if path.name == "README.md" else path.name
        if not folder.exists(f"{FOLDER}/{name}"):  # somebody may have changed it
            files[f"{FOLDER}/{name}"] = text
    store = "sqlite:///collector.db"
    files[f"{FOLDER}/README.md"] = _README.format(
        short=survey.id[:8],
        id=survey.id,
        serve=command(*serve_words(survey)),
        link=link_of(survey, address),
        address=address,
        backup=command("backup", store, "monday.db"),
        tally=command("tally", store, "-o", "survey.tally"),
        operators=_OPERATORS,
    )
    for name, content in files.items():
        folder.write(name, content or "")
    return list(files)


def deploy_words(survey: FrozenFile, address: str) -> list[str]:
    """Return the command that writes what a server needs."""
    return ["deploy", f"{survey.name}.json", address]


def serve_words(survey: FrozenFile) -> list[str]:
    """Return the command that a server runs."""
    return ["serve", f"surveys/{survey.name}.json", "--store", "sqlite:///collector.db"]


def qr_code(link: str) -> str | None:
    """Return a link as a picture for phones; None where what draws it is not installed."""
    try:
        import segno
    except ImportError:
        return None
    picture: Any = segno.make(link, error="m")
    uri: str = picture.svg_data_uri(scale=4, border=2, dark="#1b1f24", light="#fff")
    return uri
