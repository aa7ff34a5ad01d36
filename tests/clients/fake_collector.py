"""A small collector that does as it is told, well or badly, and notes all that it is sent."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import NameOID

from deniable import Survey
from deniable.messages.survey_log import Entry, SurveyLog
from deniable.questions.entropy import HashedSource

PROBLEM = "https://deniable.invalid/problems/"


@dataclass(frozen=True)
class Seen:
    """One request, as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def form(self) -> Any:
        return json.loads(self.body)


@dataclass
class Faults:
    """What goes wrong at an address, in this order: names of faults, one for each request."""

    survey: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    reports: list[str] = field(default_factory=list)


class TLSPort:
    """A port of this machine behind TLS, with a certificate that it signed itself."""

    def __init__(self, folder: Path) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
        day = datetime.now(UTC)
        host = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
        certificate = (
            x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
            .not_valid_before(day - timedelta(1))
            .not_valid_after(day + timedelta(1))
            .add_extension(host, critical=False)
            .sign(key, SHA256())
        )
        pem = serialization.Encoding.PEM
        way = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        path = folder / "self-signed.pem"
        path.write_bytes(key.private_bytes(pem, *way) + certificate.public_bytes(pem))
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(path)
        self._socket = socket.create_server(("127.0.0.1", 0))

    def __enter__(self) -> int:
        threading.Thread(target=self._shake_hands, daemon=True).start()
        return int(self._socket.getsockname()[1])

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def _shake_hands(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self._socket.accept()
                with peer, contextlib.suppress(OSError):
                    self._context.wrap_socket(peer, server_side=True).close()


class FakeCollector:
    """A collector on loopback; ``with`` starts and stops it."""

    def __init__(self, survey: Survey, slots: str = "assigned") -> None:
        self.survey, self.slots = survey, slots
        self.shown = json.loads(survey.to_json())
        self.faults, self.seen = Faults(), list[Seen]()
        self.tamper: Callable[[dict[str, Any]], dict[str, Any]] = lambda question: question
        self.slot: int | None = None
        self.issued: set[str] | None = None
        self.hour, self.lasts = 490_000, 24
        self.stale = "ticket-expired"
        """What a ticket of an earlier hour is told."""
        self.counted: dict[str, dict[str, str]] = {}
        self.accepted = 0
        self.files: dict[str, tuple[str, bytes]] = {}
        self.others: list[str] = []
        self.texts: Any = None
        self.logged: list[Entry] = []
        self._lock = threading.Lock()

    def __enter__(self) -> FakeCollector:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                collector._handle(self, b"")

            def do_POST(self) -> None:
                collector._handle(self, self.rfile.read(int(self.headers["Content-Length"])))

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def sent(self, name: str) -> list[Seen]:
        """Return the requests to an address."""
        return [one for one in self.seen if one.path.startswith(f"/v1/{name}")]

    def slot_of(self, token: str) -> int:
        if self.slot is not None:
            return self.slot
        digest = hashlib.sha256(token.encode()).digest()
        return int.from_bytes(digest[:8], "big") % self.survey.slots

    def ticket(self, token: str, slot: int) -> str:
        serial = hashlib.sha256(token.encode()).digest()[:8]
        raw = bytes([1]) + bytes.fromhex(self.survey.id)[:8] + serial
        raw += slot.to_bytes(8, "big") + (self.hour + self.lasts).to_bytes(4, "big") + bytes(16)
        return base64.urlsafe_b64encode(raw).decode()

    def _handle(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        path = urlsplit(request.path)
        name = path.path.rpartition("/")[2]
        if path.path in self.files:
            kind, content = self.files[path.path]
            self._send(request, 200, content, kind)
            return
        with self._lock:
            self.seen.append(Seen(request.command, request.path, dict(request.headers), body))
            planned = getattr(self.faults, name, [])
            fault = planned.pop(0) if planned else ""
            if fault.startswith("before "):
                self._fail(request, fault.removeprefix("before "))
                return
            if body and request.headers["Content-Type"] != "application/json":
                status, form = self._problem(415, "not-json")
            else:
                status, form = getattr(self, f"_{name}")(path, json.loads(body) if body else None)
            if fault:
                self._fail(request, fault)
            else:
                kind = "application/json" if status == 200 else "application/problem+json"
                self._send(request, status, json.dumps(form, ensure_ascii=False).encode(), kind)

    def _fail(self, request: BaseHTTPRequestHandler, fault: str) -> None:
        """Answer badly: a status and perhaps its Retry-After, "drop", "html", "deep" …"""
        if fault == "drop":
            request.close_connection = True
            request.connection.shutdown(socket.SHUT_RDWR)
        elif fault == "json":
            self._send(request, 200, b'{"login": "please"}', "application/json")
        elif fault == "deep":
            inside = '{"a":' * 980 + "1" + "}" * 980
            names = ("survey", "question", "accepted")
            fields = "".join(f'"{name}":{inside},' for name in names)
            answer = f'{{{fields}"ticket":"x","slots":"assigned"}}'
            self._send(request, 200, answer.encode(), "application/json")
        elif fault == "answered":
            problem = json.dumps(self._problem(409, fault)[1]).encode()
            self._send(request, 409, problem, "application/problem+json")
        elif fault == "drip":
            request.send_response(200)
            request.send_header("Content-Length", "600")
            request.end_headers()
            with contextlib.suppress(OSError):
                for _ in range(600):
                    request.wfile.write(b" ")
                    time.sleep(0.1)
        elif fault == "html":
            self._send(request, 200, b"<p>Welcome to our Wi-Fi", "text/html")
        elif fault == "redirect":
            self._send(request, 307, b"", "text/plain", Location="/elsewhere")
        else:
            status, _, after = fault.partition(" ")
            extra = {"Retry-After": after} if after else {}
            problem = json.dumps({"type": PROBLEM + "unavailable"}).encode()
            self._send(request, int(status), problem, "application/problem+json", **extra)

    @staticmethod
    def _send(
        request: BaseHTTPRequestHandler, status: int, content: bytes, kind: str, **extra: str
    ) -> None:
        request.send_response(status)
        headers = {"Content-Type": kind, "Content-Length": str(len(content))} | extra
        for name, value in headers.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(content)

    @staticmethod
    def _problem(status: int, name: str) -> tuple[int, dict[str, Any]]:
        return status, {"type": PROBLEM + name, "title": name, "status": status}

    def _survey(self, path: Any, _form: Any) -> tuple[int, dict[str, Any]]:
        named = parse_qs(path.query).get("survey", [])
        if self.others and not named:
            status, form = self._problem(404, "survey-unknown")
            return status, form | {"detail": "This collector holds several surveys: name one."}
        wanted = named or [self.survey.id]
        if wanted != [self.survey.id] and self.shown["order"] == self.survey.order:
            return self._problem(404, "survey-unknown")
        rest = {"slots": self.slots, "participants": "open", "poisoning": "There is no bound."}
        return 200, {"id": self.survey.id, "survey": self.shown, **rest}

    def _texts(self, _path: Any, _form: Any) -> tuple[int, dict[str, Any]]:
        return self._problem(404, "no-texts") if self.texts is None else (200, self.texts)

    def _proof(self, path: Any, _form: Any) -> tuple[int, dict[str, Any]]:
        """Prove of its log whatever is asked, as an honest collector with that log would."""
        query, log = parse_qs(path.query), SurveyLog(self.logged)
        size, index = int(query["size"][0]), log.index(query["survey"][0])
        if size > len(self.logged) or index is None:
            return self._problem(
                404, "head-unknown" if size > len(self.logged) else "survey-unknown"
            )
        form: dict[str, Any] = {"head": log.head._asdict(), "consistency": log.consistency(size)}
        entry = log.entries[index]._asdict()
        return 200, form | {"entry": entry, "index": index, "inclusion": log.inclusion(index)}

    def _surveys(self, _path: Any, _form: Any) -> tuple[int, dict[str, Any]]:
        return 200, {"surveys": [{"id": each} for each in (self.survey.id, *self.others)]}

    def _questions(self, _path: Any, form: Any) -> tuple[int, dict[str, Any]]:
        token = form["token"]
        slot = self.slot_of(token)
        if self.slots != "assigned":
            return self._problem(409, "no-tickets")
        if any(known["token"] == token for known in self.counted.values()):
            return self._problem(409, "answered")
        ticket = self.ticket(token, slot)
        self._tokens = {**getattr(self, "_tokens", {}), ticket: token}
        question = self.tamper(self.survey.question(slot).to_json())
        return 200, {"ticket": ticket, "question": question, "expires": "2026-01-01T00:00:00Z"}

    def _reports(self, _path: Any, form: Any) -> tuple[int, dict[str, Any]]:
        value = form.get("value", form.get("packed"))
        if self.slots == "assigned":
            raw = base64.urlsafe_b64decode(form["ticket"])
            name, token = raw[9:17].hex(), self._tokens[form["ticket"]]
            if int.from_bytes(raw[25:29], "big") < self.hour:
                return self._problem(410, self.stale)
            slot = int.from_bytes(raw[17:25], "big")
        elif self.slots == "hashed":
            name = token = form["id"]
            if self.issued is not None and token not in self.issued:
                return self._problem(401, "participant-unknown")
            text = f"deniable.slot{self.survey.id}{token}".encode()
            slot = self.survey.draw_slot(HashedSource(text))
        else:
            name, token, slot = self.seen[-1].headers["Idempotency-Key"], "", int(form["slot"])
        kept = self.counted.setdefault(name, {"token": token, "slot": str(slot), "value": value})
        if kept["value"] != value:
            return self._problem(409, "conflict")
        self.accepted += 1
        return 200, {"accepted": 1}


def static(folder: Path, names: list[str]) -> dict[str, tuple[str, bytes]]:
    """Return files to be served as modules."""
    return {f"/{name}": ("text/javascript", (folder / name).read_bytes()) for name in names}
