"""Reading what was collected: a tally of the store, and its report; both by commands, in the folder."""

from __future__ import annotations

from typing import Any

from deniable.errors import SurveyError
from deniable.studio import children, trials
from deniable.studio.deeds import command
from deniable.studio.folder import Folder
from deniable.studio.freezing import FrozenFile

RESULTS = "results"


def _free(folder: Folder, survey: FrozenFile) -> str:
    """Return a name that no tally has: each is of another moment."""
    numbers = range(1, 10_000)
    names = (f"{RESULTS}/{survey.name}-{number}" for number in numbers)
    return next(name for name in names if not folder.exists(f"{name}.tally"))


def release(folder: Folder, survey: FrozenFile) -> dict[str, Any]:
    """Tally a survey's store, and write report and tables; return what was written, and how."""
    if not folder.exists(f"{survey.name}.db"):
        raise SurveyError(f"Nothing was collected here for survey {survey.name!r} yet.")
    if not children.people_of(folder, survey):
        raise SurveyError(f"Nobody has answered survey {survey.name!r} yet.")
    name = _free(folder, survey)
    folder.make(RESULTS)
    files = [f"{name}.tally", f"{name}.html", f"{name}.csv"]
    store = children.store_of(survey.name)
    commands = [
        ["tally", store, "--survey", f"{survey.name}.json", "-o", files[0]],
        ["release", files[0], "-o", files[1]],
        ["release", files[0], "-o", files[2]],
    ]
    result = _done(folder, files, commands)
    return result | {"commands": [f"mkdir -p {RESULTS}", *result["commands"]]}


def report_trial(folder: Folder) -> dict[str, Any]:
    """Make the whole report of the last trial."""
    if not folder.exists(trials.TALLY):
        raise SurveyError("Nothing was tried yet.")
    return _done(folder, [trials.REPORT], [["release", trials.TALLY, "-o", trials.REPORT]])


def _done(folder: Folder, files: list[str], commands: list[list[str]]) -> dict[str, Any]:
    for name in files:
        folder.path(name)  # no link that leads out
    for words in commands:
        children.run(folder, words)
    report = next(name for name in files if name.endswith(".html"))
    return {"report": report, "files": files, "commands": [command(*each) for each in commands]}
