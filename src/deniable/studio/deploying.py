"""What a server needs to collect for a survey: a folder to copy there, and the commands."""

from __future__ import annotations

import re
import tempfile
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

from deniable import __version__, server
from deniable.api.survey import Survey
from deniable.errors import SurveyError
from deniable.formats.reading import check_regular, read_all
from deniable.questionnaire.texts import Texts
from deniable.server.serve import Rules, must_keep_reports, prepare
from deniable.server.stores import open_store
from deniable.studio.deeds import command
from deniable.studio.folder import Folder
from deniable.studio.freezing import FrozenFile

FOLDER = "deploy"
_ADDRESS = re.compile(r"https://[a-z0-9.-]{1,253}(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]{0,200})?")
_OPERATORS = "SERVERS.md"
"""What is told to operators, beside the commands for this survey."""

WHEEL = f"deniable-{__version__}-py3-none-any.whl"
"""What the server installs: `make package` builds it into dist/ of a clone."""
_MOST_BYTES = 1 << 26

_README = """\
# Collecting for survey {short}

Copy this folder to a server with Python 3.11 or newer, and a proxy with TLS (https) before it: without
https no browser answers, for it has no safe randomness there.

{wheel} Then, in this folder:

    python3 -m venv .venv
    .venv/bin/pip install --require-hashes --requirement requirements.lock
    .venv/bin/pip install --no-deps {name}
    .venv/bin/{issue}
    .venv/bin/{serve}

The collector listens on 127.0.0.1, port 8000. It prints the analysts' token once. Only a person to whom
an id was issued can answer, and once: links.txt has a personal link for each, to be kept as a secret.
Where everybody may answer, any number of times, give --participants open instead; that is for ever.

- The page for people is {link}
- Analysts look at {address}/dashboard
- Copy the store every day: .venv/bin/{backup}
- When the survey is over: .venv/bin/{tally}

The link names the survey by its id, and the device of whoever opens it checks that it gets this one:

    {id}

The other files here are for containers, systemd and a proxy: {operators} says how they are used.
"""
_HAS_WHEEL = "`{name}` is deniable itself."
_LACKS_WHEEL = """\
**Before you copy it:** deniable itself is missing here, and it is in no package index. `make package`
in a clone of deniable builds `dist/{name}`: put that file into this folder."""


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


def deploy(
    folder: Folder, survey: FrozenFile, address: str, wheel: Path | None = None
) -> list[str]:
    """Write what a server needs; return the names of the files.

    What `deniable serve` refuses is refused. ``wheel`` is deniable itself, as it is installed there.
    """
    names = [f"{survey.name}.json", *([f"{survey.name}.texts.json"] if survey.has_texts else [])]
    contents = [folder.read(name) or "" for name in names]
    design = Survey.from_json(contents[0])
    texts = {design.id: Texts.from_json(contents[1])} if survey.has_texts else {}
    _rehearse(design, texts)
    files: dict[str, str | bytes] = {
        f"{FOLDER}/surveys/{name}": each for name, each in zip(names, contents, strict=True)
    }
    if wheel is not None:
        files[f"{FOLDER}/{WHEEL}"] = _wheel(wheel)
    options = _options(design)
    for path in sorted((Path(server.__file__).parent / FOLDER).iterdir()):
        name = _OPERATORS if path.name == "README.md" else path.name
        if not folder.exists(f"{FOLDER}/{name}"):  # somebody may have changed it
            text = path.read_text("utf-8").replace("/survey.json", f"/{survey.name}.json")
            files[f"{FOLDER}/{name}"] = _with_options(text, options)
    is_there = wheel is not None or folder.exists(f"{FOLDER}/{WHEEL}")
    files[f"{FOLDER}/README.md"] = _readme(survey, address, options, has_wheel=is_there)
    for name, each in files.items():
        folder.write(name, each)
    return list(files)


def _rehearse(survey: Survey, texts: dict[str, Texts]) -> None:
    """Do with a store that nobody keeps what `deniable serve` does first, and refuse what it refuses."""
    rules = Rules(None, "issued", must_keep_reports(survey) or None)
    with (
        tempfile.TemporaryDirectory(prefix="deniable-") as place,
        open_store(f"sqlite:///{Path(place) / 'rehearsal.db'}") as store,
    ):
        prepare(store, [survey], rules, texts)


def _readme(survey: FrozenFile, address: str, options: list[str], *, has_wheel: bool) -> str:
    store = "sqlite:///collector.db"
    serve = ["serve", f"surveys/{survey.name}.json", "--store", store, *options]
    issue = ["issue", "--count", "1000", "--store", store, "--links", f"{address}/"]
    return _README.format(
        short=survey.id[:8],
        id=survey.id,
        name=WHEEL,
        wheel=(_HAS_WHEEL if has_wheel else _LACKS_WHEEL).format(name=WHEEL),
        issue=command(*issue, "--survey", survey.id, "-o", "links.txt"),
        serve=command(*serve),
        link=link_of(survey, address),
        address=address,
        backup=command("backup", store, "monday.db"),
        tally=command("tally", store, "-o", "survey.tally"),
        operators=_OPERATORS,
    )


def _options(survey: Survey) -> list[str]:
    """Return how a survey is collected: by invitation, whole reports where they must be kept."""
    return [
        *("--participants", "issued"), *(("--keep", "reports") if must_keep_reports(survey) else ())
    ]  # fmt: skip


def _with_options(text: str, options: list[str]) -> str:
    """Return a template with more options than that participants are issued."""
    more = options[2:]
    if not more:
        return text
    words = ", ".join(f'"{word}"' for word in more)
    text = text.replace('"--participants", "issued"', f'"--participants", "issued", {words}')
    return text.replace("OPTIONS=--participants issued", f"OPTIONS={' '.join(options)}")


def _wheel(path: Path) -> bytes:
    """Return the content of deniable's wheel; refuse another file, or another version's."""
    if path.name != WHEEL:
        raise SurveyError(
            f"The wheel of this version is {WHEEL}, got {path.name!r}: 'make package' in a clone of "
            "deniable builds it into dist/."
        )
    try:
        check_regular(path)
        with path.open("rb") as file:
            content = read_all(file, _MOST_BYTES)
        with zipfile.ZipFile(BytesIO(content)) as archive:
            archive.getinfo("deniable/__init__.py")
    except OSError as error:
        raise SurveyError(f"{str(path)!r} cannot be read: {error.strerror}.") from None
    except (zipfile.BadZipFile, KeyError):
        raise SurveyError(f"{str(path)!r} is no wheel of deniable.") from None
    return content


def deploy_words(survey: FrozenFile, address: str) -> list[str]:
    """Return the command that writes what a server needs."""
    return ["deploy", f"{survey.name}.json", address]


def qr_code(link: str) -> str | None:
    """Return a link as a picture for phones; None where what draws it is not installed."""
    try:
        import segno
    except ImportError:
        return None
    picture: Any = segno.make(link, error="m")
    uri: str = picture.svg_data_uri(scale=4, border=2, dark="#1b1f24", light="#fff")
    return uri
