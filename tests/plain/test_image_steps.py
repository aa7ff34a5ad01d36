"""The image's steps, run one by one where nothing of this project is installed: `make package` does.

Nobody can build an image where these tests run. But what the Containerfile says is commands, files and
variables, and those are followed here to the letter, in a folder that stands for the image's root; then
its collector is started as its own user, asked how it is, and given a report.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from deniable import Schema, Survey

DIST = Path(__file__).parents[2] / "dist"
FOLDERS = ("/opt/deniable", "/var/lib/deniable", "/build")
"""Folders of the image, which are made below another root here."""

OUTSIDE = ("PIP_", "HTTP", "http", "NO_PROXY", "no_proxy", "SSL_", "REQUESTS_")
"""Variables by which pip finds where packages are: the only thing that is taken from this machine."""


def instructions(text: str) -> list[tuple[str, str]]:
    """Return a Containerfile's instructions."""
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    joined = re.sub(r"\\\n\s*", "", lines)
    return [tuple(line.split(" ", 1)) for line in joined.splitlines() if line.strip()]  # type: ignore[misc]


@dataclass
class Image:
    """What the steps make, below a root."""

    root: Path
    port: int
    workdir: str = "/"
    variables: dict[str, str] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    other_user: dict[str, Any] = field(default_factory=dict)
    """How a process is started as the image's user, where that can be done."""

    def here(self, text: str) -> str:
        for folder in FOLDERS:
            text = text.replace(folder, f"{self.root}{folder}")
        return text.replace("127.0.0.1:8000", f"127.0.0.1:{self.port}")

    def environment(self) -> dict[str, str]:
        path = f"{self.root}/usr/local/bin:/usr/bin:/bin"
        outer = {k: v for k, v in os.environ.items() if k.startswith(OUTSIDE)}
        own = {k: self.here(v).replace("$PATH", path) for k, v in self.variables.items()}
        return outer | {"PATH": path, "HOME": str(self.root)} | own

    def follow(self, name: str, rest: str) -> None:
        match name:
            case "ARG" | "EXPOSE" | "VOLUME" | "FROM":
                if name == "FROM":  # a new stage knows nothing of the last one's variables
                    self.variables, self.workdir = {}, "/"
            case "WORKDIR":
                self.workdir = rest
                Path(self.here(rest)).mkdir(parents=True)
            case "COPY" if rest.startswith("--from"):
                _, source, target = rest.split()
                assert source == target, "the environment knows its own path, and cannot be moved"
            case "COPY":
                pattern, target = rest.split()
                assert target == "./"
                files = list(DIST.glob(pattern))
                assert files, f"dist/ holds no {pattern}"
                for file in files:
                    shutil.copy(file, self.here(self.workdir))
            case "RUN":
                if os.getuid() != 0:
                    rest = re.sub(r" -[og] \d+", "", rest)
                folder = self.here(self.workdir) if self.workdir != "/" else self.root
                subprocess.run(
                    ["/bin/sh", "-c", self.here(rest)],
                    cwd=folder,
                    env=self.environment(),
                    check=True,
                )
            case "ENV":
                self.variables |= dict(part.split("=", 1) for part in rest.split())
            case "USER" | "ENTRYPOINT" | "CMD" | "HEALTHCHECK":
                self.said[name] = rest
            case _:
                raise AssertionError(f"these tests do not know what {name} does")

    def command(self, name: str) -> list[str]:
        return [self.here(part) for part in json.loads(re.search(r"\[.*\]", self.said[name])[0])]

    def change_user(self) -> None:
        """Be the image's user from now on, if we are root and that user may run our Python at all."""
        user, group = map(int, self.said["USER"].split(":"))
        as_other = {"user": user, "group": group, "extra_groups": []}
        python = self.here("/opt/deniable/bin/python")
        with suppress(PermissionError):
            subprocess.run([python, "-c", ""], cwd=self.root, check=True, **as_other)
            self.other_user = as_other
            return
        subprocess.run(["chown", "-R", "0:0", self.here("/var/lib/deniable")], check=False)

    def run(self, command: list[str], **rest: Any) -> subprocess.Popen[str]:
        """Start a command as the image's user, or as ours."""
        rest |= self.other_user
        return subprocess.Popen(
            command,
            cwd=self.root,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **rest,
        )


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    if not (DIST / "Containerfile").is_file():
        pytest.skip("dist/ is not built: run 'make package'")
    folder = Path(tempfile.mkdtemp()).resolve()
    try:
        folder.chmod(0o755)
        for part in ("usr/local/bin", "var/lib", "opt"):
            (folder / part).mkdir(parents=True)
        base = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
        (folder / "usr/local/bin/python").symlink_to(base)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        made = Image(folder, port)
        for name, rest in instructions((DIST / "Containerfile").read_text("utf-8")):
            made.follow(name, rest)
        made.change_user()
        yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def ask(port: int, path: str, form: Any = None, token: str = "") -> bytes:
    headers = {"Content-Type": "application/json"} | (
        {"Authorization": f"Bearer {token}"} if token else {}
    )
    body = None if form is None else json.dumps(form).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read()


def health(image: Image) -> int:
    check = image.run(image.command("HEALTHCHECK"))
    check.communicate(timeout=60)
    return check.returncode


def test_the_collector_of_the_image_takes_a_report_and_stops(image: Image) -> None:
    survey = image.root / "survey.json"
    survey.write_text(Survey(Schema.binary("a", "b"), 2, 1.1, "InpHT").to_json(), "utf-8")
    survey.chmod(0o644)
    assert health(image) != 0, "nothing runs yet"
    serve, *options = image.command("CMD")
    process = image.run(
        [*image.command("ENTRYPOINT"), serve, str(survey), *options, "--port", str(image.port)]
    )
    try:
        said = ""
        while "Collecting at" not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
        assert health(image) == 0
        for person in range(100):
            question = json.loads(ask(image.port, "/v1/questions", {"token": f"person {person}"}))
            report = {"ticket": question["ticket"], "value": str(person % 2)}
            assert json.loads(ask(image.port, "/v1/reports", report)) == {"accepted": 1}
        assert b"<html" in ask(image.port, "/")
        token = re.search(r"shown this once: (\S+)", said)[1]
        assert json.loads(ask(image.port, "/v1/release", token=token))["people"] == 100
        assert b"<table" in ask(image.port, "/v1/release/report", token=token)
    finally:
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode == 0
    store = Path(image.here("/var/lib/deniable/collector.db"))
    assert store.stat().st_mode & 0o777 == 0o600


def test_no_package_manager_stays_and_the_user_can_change_no_code(image: Image) -> None:
    assert not list(Path(image.here("/opt/deniable/bin")).glob("pip*"))
    if not image.other_user:
        pytest.skip("here the collector cannot be started as another user")
    touch = image.run(["/usr/bin/touch", image.here("/opt/deniable/bin/deniable")])
    touch.communicate(timeout=60)
    assert touch.returncode != 0
