"""Commands that the studio starts: lists of arguments, in its folder, and no shell anywhere."""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Sequence
from typing import Any

from deniable.errors import StoreError, SurveyError
from deniable.formats.processes import python, python_environment
from deniable.server.dashboard_codes import is_open, new_code
from deniable.server.serve import new_token
from deniable.server.stores import open_store
from deniable.studio.folder import Folder
from deniable.studio.freezing import FrozenFile

PATIENCE = 600.0
_START, _END = 60.0, 35.0
_ADDRESS = re.compile(r"Collecting at (http://127\.0\.0\.1:[0-9]+)\s*$")

ANALYST = "studio"
"""As whom the studio looks at what its collectors have."""


def arguments(words: Sequence[str]) -> list[str]:
    """Return the arguments of a command of deniable, by the Python that runs this."""
    return python("-m", "deniable", *words)


def run(folder: Folder, words: Sequence[str]) -> None:
    """Run a command to its end; raise what it says if it fails."""
    try:
        result = subprocess.run(
            arguments(words),
            cwd=folder.root,
            env=python_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=PATIENCE,
            check=False,
            text=True,
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        raise SurveyError(f"deniable {words[0]} took longer than ten minutes.") from None
    if result.returncode:
        lines = result.stderr.strip().splitlines() or ["it does not say why"]
        why = lines[-1].removeprefix("deniable: ")
        raise SurveyError(why if result.returncode == 2 else f"deniable {words[0]} failed.")


def store_of(name: str) -> str:
    """Return the URL of a survey's store, as a command in the folder names it."""
    return f"sqlite:///{name}.db"


def serve_words(name: str, port: int) -> list[str]:
    """Return the command that collects for a survey on this machine."""
    return ["serve", f"{name}.json", "--store", store_of(name), "--port", str(port)]


class LocalCollector:
    """A collector on this machine, for as long as the studio runs: one at a time."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._child: subprocess.Popen[str] | None = None
        self._has_answered = threading.Event()
        self._listener = threading.Thread()
        self._lines: list[str] = []
        self._survey: FrozenFile | None = None
        self._address = self._code = ""
        self._lock = threading.Lock()

    def start(self, survey: FrozenFile, port: int = 0) -> None:
        """Start collecting; return when the collector answers."""
        with self._lock:
            if self._is_running():
                raise StoreError("A collector runs already: stop it first.")
            self._folder.path(f"{survey.name}.db")
            self._lines, self._survey = [], survey
            self._address = self._code = ""
            self._has_answered.clear()
            self._child = subprocess.Popen(
                arguments(serve_words(survey.name, port)),
                cwd=self._folder.root,
                env=python_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
            )
            self._listener = threading.Thread(target=self._listen, args=[self._child], daemon=True)
            self._listener.start()
            self._has_answered.wait(_START)
            if not self._address:
                self._end()
                why = self._lines[-1].removeprefix("deniable: ") if self._lines else "it is silent"
                raise StoreError(f"The collector did not start: {why}")
            with open_store(self._url(survey), create=False) as store:
                new_token(store, ANALYST)  # which nobody gets: what was opened before ends

    def _url(self, survey: FrozenFile) -> str:
        return f"sqlite:///{self._folder.path(f'{survey.name}.db')}"

    def _listen(self, child: subprocess.Popen[str]) -> None:
        """Hear what the collector says: its address, or why it ends."""
        assert child.stderr is not None
        for line in child.stderr:
            if address := _ADDRESS.search(line):
                self._address = address[1]
                self._has_answered.set()
            else:
                self._lines = [*self._lines[-9:], line.strip()]
        self._has_answered.set()

    def stop(self) -> None:
        """End the collector; what it acknowledged is in its store."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        child = self._child
        if child is None:
            return
        child.terminate()
        try:
            child.wait(_END)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        if child.stderr is not None:
            self._listener.join(_END)
            child.stderr.close()
        self._child = None

    def _is_running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def to_json(self) -> dict[str, Any] | None:
        """Return what the page shows while it collects; None while nothing is collected."""
        if not self._is_running() or self._survey is None or not self._address:
            return None
        return {
            "survey": self._survey.name,
            "id": self._survey.id,
            "address": self._address,
            "link": f"{self._address}/?survey={self._survey.id}",
            "dashboard": f"{self._address}/dashboard#code={self._open_code(self._survey)}",
            "people": people_of(self._folder, self._survey),
        }

    def _open_code(self, survey: FrozenFile) -> str:
        """Return a code that opens the dashboard: a new one when the last was used or is old."""
        with open_store(self._url(survey), create=False) as store:
            if not (self._code and is_open(store, self._code)):
                self._code = new_code(store, ANALYST)
        return self._code


def people_of(folder: Folder, survey: FrozenFile) -> int | None:
    """Return how many reports a survey's store holds; None where there is no store."""
    path = folder.path(f"{survey.name}.db")
    if not path.is_file():
        return None
    with open_store(f"sqlite:///{path}", create=False) as store:
        rows = [each for each in store.surveys() if each.survey.id == survey.id]
        return store.people(rows[0]) if rows else None
