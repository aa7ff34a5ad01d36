"""What tests of the docs share: the pages, their blocks, and how a block is run."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from deniable.cli import main
from deniable.mechanisms import registry

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SCRIPTS = ROOT / "scripts"
TUTORIAL = [DOCS / "tutorial" / f"{act}.md" for act in ("plan", "run", "read", "numbers")]
FRONT = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
PAGES = [*FRONT, *sorted(DOCS.rglob("*.md"))]
LOCAL = "http://127.0.0.1:8000"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix().removeprefix("docs/")


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text("utf-8"))


def script(name: str):
    """Return a script as a module."""
    if str(SCRIPTS) not in sys.path:
        sys.path.append(str(SCRIPTS))
    return importlib.import_module(name)


_COMMANDS_WITHOUT_FILES: set[str] = set()
"""Commands that ran well, reading and writing no file: they do the same on another page."""


class Reader:
    """Somebody who follows a page in a folder of their own, block by block.

    Commands are run in this process, where all is imported, but for what the shell works out, for
    collectors, and for `reproduce`, whose workers start as their parent did. ``captured`` is pytest's
    capfd.
    """

    def __init__(self, folder: Path, captured: Any) -> None:
        self.folder, self.captured = folder, captured
        self.names: dict[str, object] = {"__name__": "docs"}
        self.collector: subprocess.Popen[str] | None = None
        self.address = LOCAL

    def __enter__(self) -> Reader:
        self.others = dict(registry._OTHERS)
        return self

    def __exit__(self, *_: Any) -> None:
        registry._OTHERS.clear()  # what a page registers is its own
        registry._OTHERS.update(self.others)
        if self.collector is not None:
            self.collector.terminate()
            self.collector.communicate(timeout=300)

    def python(self, block: str, page: Path) -> None:
        exec(compile(block.replace(LOCAL, self.address), page.name, "exec"), self.names)

    def console(self, block: str, page: Path) -> None:
        for line in block.splitlines():
            assert line.startswith("$ "), f"{page.name}: commands start with a dollar sign"
            command = line[2:].replace(LOCAL, self.address)
            # One shows that the command runs; tests/statistical/test_experiments.py has them all.
            command = command.replace("reproduce all", "reproduce trees")
            if command.startswith("make "):
                assert f"\n{command.split()[1]}:" in (ROOT / "Makefile").read_text("utf-8")
            elif command.endswith(" &"):
                self.serve(command.removesuffix(" &"))
            elif "$(" in command or " reproduce " in command:
                done = subprocess.run(**self.started(command), check=False)
                assert done.returncode == 0, f"{line}\n{done.stderr}"
                assert done.stdout.strip(), line
            else:
                self.here(command)

    def here(self, command: str) -> None:
        """Run a command in this process; once for all pages if it has to do with no file."""
        files = sorted(self.folder.iterdir())
        reads = any((self.folder / word).exists() for word in shlex.split(command))
        if not reads and command in _COMMANDS_WITHOUT_FILES:
            return
        self._run(command)
        if not reads and sorted(self.folder.iterdir()) == files:
            _COMMANDS_WITHOUT_FILES.add(command)

    def _run(self, command: str) -> None:
        self.captured.readouterr()
        before, sys.argv = sys.argv, shlex.split(command)
        try:
            main()
            code: object = 0
        except SystemExit as ended:
            code = ended.code or 0
        finally:
            sys.argv = before
        out, err = self.captured.readouterr()
        assert code == 0, f"{command}\n{err}"
        assert out.strip(), command

    def started(self, command: str) -> dict[str, Any]:
        """Return how a command is started: by the shell only where it has something to work out."""
        program, *arguments = shlex.split(command)
        assert program == "deniable", command
        run = [sys.executable, "-c", "from deniable.cli import main; main()"]
        line = f"{shlex.join(run)} {command.removeprefix('deniable ')}"
        how: dict[str, Any] = {"cwd": self.folder, "text": True, "env": dict(os.environ)}
        how |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return how | (
            {"args": line, "shell": True} if "$(" in command else {"args": run + arguments}
        )

    def serve(self, command: str) -> None:
        """Start a collector, on any port that is free."""
        self.collector = subprocess.Popen(**self.started(f"{command} --port 0"))
        for line in self.collector.stderr:
            if found := re.match(r"Collecting at (\S+)", line):
                self.address = found[1].rstrip("/")
                return
        raise AssertionError(f"{command} did not start")
