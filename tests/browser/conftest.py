"""A real browser, offline: Chromium over a pipe of its DevTools protocol, without any driver."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from page_parts import NavigatedError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 120.0
NAVIGATED = "Inspected target navigated or closed"

LAUNCH = """
import os, sys
for source, target in zip(sys.argv[1:3], (3, 4)):
    os.dup2(int(source), target)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""The protocol speaks through descriptors 3 and 4; a fork of this process, with its threads, may not."""


class Browser:
    """One page of a headless Chromium; it keeps all that the page logs and asks for."""

    def __init__(self, program: str, folder: Path) -> None:
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        flags = (
            *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            *("--no-first-run", "--disable-extensions", "--disable-background-networking"),
            *("--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={folder}"),
            "--disable-background-timer-throttling",  # of two tabs one is in the background
        )

        # Both are moved out of the way of 3 and 4 first, which is where the launcher puts them.
        pipes = [fcntl.fcntl(one, fcntl.F_DUPFD, 10) for one in (theirs_in, theirs_out)]
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, *map(str, pipes), program, *flags, "about:blank"],
            pass_fds=pipes,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for one in (theirs_in, theirs_out, *pipes):
            os.close(one)
        self._read, self._write, self._rest, self._last = ours_in, ours_out, b"", 0
        self.session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call(
            "Network.emulateNetworkConditions",
            offline=True, latency=0, downloadThroughput=0, uploadThroughput=0,
        )  # fmt: skip

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and wait for its result."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            came = self._next()
            if came.get("id") == self._last:
                if NAVIGATED in json.dumps(came.get("error")):
                    raise NavigatedError(came)
                assert "error" not in came, came
                return dict(came["result"])

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            part = os.read(self._read, 1 << 20) if ready else b""
            assert part, "Chromium does not answer"
            self._rest += part
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    def open(self, path: Path, width: int, height: int = 900) -> None:
        """Look at a file, in a window of this size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 500,
        )  # fmt: skip
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        while not any(one["method"] == "Page.loadEventFired" for one in self.events):
            self._next()
        self.run("new Promise((done) => setTimeout(done, 100))")

    def run(self, code: str) -> Any:
        """Run JavaScript in the page; a page's security policy does not bind the protocol."""
        made = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in made, made["exceptionDetails"]
        return made["result"].get("value")

    @property
    def complaints(self) -> list[dict[str, Any]]:
        """All that the page said to the console, and every error."""
        kinds = {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}
        return [one["params"] for one in self.events if one["method"] in kinds]

    @property
    def requests(self) -> list[str]:
        """What the page asked for, beside itself."""
        asked = [
            one["params"]["request"]["url"]
            for one in self.events
            if one["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in asked[1:] if not url.startswith("data:")]

    def picture(self, path: Path) -> None:
        """Write a picture of the whole page."""
        made = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(made["data"]))

    def close(self) -> None:
        """End the browser that was started here."""
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self._read)
        os.close(self._write)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        missing = pytest.fail if os.environ.get("CI") else pytest.skip
        missing("no Chromium is installed (apt-get install chromium)")
    made = Browser(program, tmp_path_factory.mktemp("chromium"))
    yield made
    made.close()
