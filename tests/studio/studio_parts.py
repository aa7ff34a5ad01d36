"""A studio in this process, its page's requests, and questionnaires that are written there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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


GERMAN: dict[str, Any] = {
    "deniable": "questionnaire",
    "format": 1,
    "languages": ["de", "en"],
    "title": {"de": "Arbeit und Schlaf", "en": "Work and sleep"},
    "introduction": {"de": "Drei Fragen."},
    "design": {"order": 2, "epsilon": 1.1, "people": 2000},
    "attributes": [
        {"name": "nap", "wording": {"de": "Schlafen Sie im Dienst?", "en": "Do you sleep at work?"}},
        {
            "name": "place",
            "wording": {"de": "Wo?", "en": "Where?"},
            "values": [
                {"value": "desk", "label": {"de": "am Tisch", "en": "at my desk"}},
                {"value": "sofa", "label": {"de": "auf dem Sofa", "en": "on a sofa"}},
                {"value": "none", "label": {"de": "nirgends", "en": "nowhere"}},
            ],
            "missing": "none",
            "when": {"attribute": "nap", "is": True, "otherwise": "none"},
        },
        {"name": "hours", "wording": {"de": "Stunden Schlaf?", "en": "Hours of sleep?"},
         "low": 0, "high": 12, "step": 1, "unit": "h", "complete": True},
    ],
}  # fmt: skip

SMALL: dict[str, Any] = {
    "deniable": "questionnaire",
    "format": 1,
    "languages": ["en"],
    "title": "Small",
    "design": {"order": 1, "epsilon": 1.1, "people": 500},
    "attributes": [{"name": name, "wording": f"{name}?"} for name in ("one", "two", "three")],
}
