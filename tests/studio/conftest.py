"""A studio in this process, and its page's requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from deniable.studio.app import Studio
from deniable.studio.folder import Folder

PORT, STAGE = 7001, 7002
HERE = f"http://127.0.0.1:{PORT}"


class Page:
    """The studio's page: it sends what a browser would, and its key."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.studio = Studio(Folder(folder), PORT, STAGE)
        self.client = TestClient(self.studio, base_url=HERE, raise_server_exceptions=False)
        self.key = ""

    @property
    def token(self) -> str:
        return self.studio.session.token

    def open(self) -> None:
        response = self.post("session", {"token": self.token}, authorization="")
        self.key = response.json()["key"]

    def headers(self, **changes: str | None) -> dict[str, str]:
        own = {"origin": HERE, "authorization": f"Bearer {self.key}"} | changes
        return {name.replace("_", "-"): value for name, value in own.items() if value is not None}

    def post(self, name: str, body: Any = None, **changes: str | None) -> Any:
        headers = self.headers(**changes)
        if isinstance(body, bytes):
            headers.setdefault("content-type", "application/json")
            return self.client.post(f"/api/{name}", content=body, headers=headers)
        return self.client.post(f"/api/{name}", json=body or {}, headers=headers)

    def get(self, name: str, **changes: str | None) -> Any:
        headers = self.headers(**({"origin": None} | changes))
        return self.client.get(f"/api/{name}", headers=headers)

    def save(self, form: Any) -> Any:
        """Save a questionnaire, made from what is there."""
        revision = self.get("state").json()["draft"]["revision"]
        key = "text" if isinstance(form, str) else "form"
        return self.post("draft", {key: form, "revision": revision})

    def stage(self, path: str = "", method: str = "GET", **more: Any) -> Any:
        """Ask at the second address."""
        url = f"http://127.0.0.1:{STAGE}/{self.studio.session.stage}{path}"
        return self.client.request(method, url, **more)


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    """A studio in a new folder, whose page is open."""
    made = Page(tmp_path / "survey")
    with made.client:
        made.open()
        yield made
