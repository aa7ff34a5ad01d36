"""The studio is an attack surface: who is refused, and what nobody can make it write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from studio_parts import GERMAN, HERE, PORT, STAGE, Page

from deniable.errors import SurveyError
from deniable.studio import guard
from deniable.studio.app import Studio
from deniable.studio.folder import Folder

READINGS = ("state", "collecting")
WORKS = ("draft", "import", "plan", "needs", "preview", "trial", "trial/report", "freeze", "collect",
         "collect/stop", "deploy", "read")  # fmt: skip


def is_problem(response: Any, name: str) -> bool:
    form = response.json()
    return bool(
        response.headers["content-type"] == "application/problem+json"
        and form["type"].endswith(f"/studio-{name}")
        and form["status"] == response.status_code
    )


def files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_all_that_can_be_asked_is_tested_here(page: Page) -> None:
    routes = [route for route in page.studio._routes().routes if hasattr(route, "methods")]
    names = {route.path.removeprefix("/api/") for route in routes if "/api/" in route.path}
    assert names == {*READINGS, *WORKS, "session"}


@pytest.mark.parametrize(
    "host",
    [f"localhost:{PORT}", f"127.0.0.1:{PORT + 1}", "127.0.0.1", f"evil.example:{PORT}",
     f"127.0.0.1.evil.example:{PORT}", f"127.0.0.1:{PORT}.", f"[::1]:{PORT}", ""],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/", "/static/studio.js", "/api/state", "/nothing"])
def test_another_host_is_refused_whatever_is_asked(page: Page, host: str, path: str) -> None:
    answer = page.client.get(path, headers=page.headers(host=host, origin=None))
    assert is_problem(answer, "host-foreign")


@pytest.mark.parametrize(
    "origin",
    [None, "null", "http://localhost:7001", f"https://127.0.0.1:{PORT}", "http://127.0.0.1",
     f"http://127.0.0.1:{STAGE}", "https://evil.example", HERE + "/", f"{HERE}, {HERE}"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["session", "draft", "freeze", "collect"])
def test_nothing_is_done_without_the_studios_own_origin(
    page: Page, name: str, origin: str | None
) -> None:
    before = files(page.folder)
    assert is_problem(page.post(name, {}, origin=origin), "origin-foreign")
    assert files(page.folder) == before


def test_a_foreign_page_reads_nothing_either(page: Page) -> None:
    assert is_problem(page.get("state", origin="https://evil.example"), "origin-foreign")
    for site in ("cross-site", "same-site"):
        assert is_problem(page.get("state", sec_fetch_site=site), "origin-foreign")
    answer = page.get("state")
    assert answer.status_code == 200
    assert not any(name.startswith("access-control") for name in answer.headers)
    preflight = page.client.options(
        "/api/draft",
        headers={"origin": "https://evil.example", "access-control-request-method": "POST"},
    )
    assert preflight.status_code == 403
    assert not any(name.startswith("access-control") for name in preflight.headers)


@pytest.mark.parametrize(
    "key", [None, "", "Bearer ", "Bearer wrong", "Basic {}", "{}", "bearer {}"]
)
@pytest.mark.parametrize("name", [*READINGS, *WORKS])
def test_without_the_key_nothing_is_told_or_done(page: Page, name: str, key: str | None) -> None:
    header = None if key is None else key.format(page.key)
    answer = (page.get if name in READINGS else page.post)(name, authorization=header)
    assert is_problem(answer, "session-unknown")


def test_the_key_counts_in_the_header_alone(page: Page) -> None:
    for where in (f"/api/state?key={page.key}", f"/api/state?token={page.token}"):
        assert is_problem(page.client.get(where), "session-unknown")
    cookie = {"cookie": f"key={page.key}; Authorization=Bearer {page.key}"}
    assert is_problem(page.client.get("/api/state", headers=cookie), "session-unknown")


def test_the_token_opens_the_studio_once(page: Page) -> None:
    for token in (page.token, "wrong", "", None, 7, ["a"]):
        answer = page.post("session", {"token": token}, authorization=None)
        assert is_problem(answer, "token-spent")
    assert page.get("state").status_code == 200  # and who had opened it goes on


def test_before_the_token_is_exchanged_no_key_is_good(tmp_path: Path) -> None:
    other = Page(tmp_path)
    assert is_problem(
        other.get("state", authorization=f"Bearer {other.studio.session._key}"), "session-unknown"
    )


def test_reading_does_nothing(page: Page) -> None:
    before = files(page.folder)
    for name in (*WORKS, "session"):
        for method in ("GET", "HEAD", "PUT", "DELETE", "PATCH"):
            answer = page.client.request(method, f"/api/{name}", headers=page.headers())
            assert answer.status_code == 405, (method, name)
    for name in READINGS:
        assert page.get(name).status_code == 200
    assert files(page.folder) == before


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "text/plain; a=application/json", "application/x-www-form-urlencoded", "", None],
)
def test_only_json_is_taken_which_other_sites_cannot_send(page: Page, kind: str | None) -> None:
    headers = page.headers(content_type=kind)
    answer = page.client.post("/api/draft", content=b'{"text": "a"}', headers=headers)
    assert is_problem(answer, "unsupported-media-type")
    assert files(page.folder) == {}


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"a": NaN}', b"[" * 5000, b"\xff", b'{"a": "\\ud800"}', b'"text"']
)
def test_what_is_no_object_is_refused(page: Page, body: bytes) -> None:
    assert is_problem(page.post("draft", body), "malformed")


def test_large_requests_are_refused_as_soon_as_they_are_too_large(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "MOST_BYTES", 1000)
    assert is_problem(page.post("draft", b" " * 1001), "too-large")

    headers = page.headers(content_type="application/json")
    headers |= {"content-length": str(1 << 40)}
    assert is_problem(page.client.post("/api/draft", content=b"{}", headers=headers), "too-large")
    headers = page.headers(content_type="application/json")
    some = iter([b" " * 900, b" " * 900])
    assert is_problem(page.client.post("/api/draft", content=some, headers=headers), "too-large")


def test_every_answer_forbids_to_frame_to_sniff_and_to_keep(page: Page) -> None:
    for path in ("/", "/static/studio.js", "/static/dom.js", "/api/state", "/nothing"):
        answer = page.client.get(path, headers=page.headers(origin=None))
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert f"frame-src http://127.0.0.1:{STAGE};" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "set-cookie" not in answer.headers


# Files

OUTSIDE = ["../x", "/etc/passwd", "..", ".", "", "a/../../x", "a//b", ".hidden", "x\0y", "a\\b",
           "C:/x", "a/b/c/d", "x\n", "~", "$(id)", "a b"]  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_no_name_leads_out_of_the_folder(page: Page, name: str) -> None:
    folder = Folder(page.folder)
    for act in (
        folder.read,
        folder.path,
        lambda n: folder.write(n, "x"),
        lambda n: folder.create(n, "x"),
    ):
        with pytest.raises(SurveyError):
            act(name)
    page.save(GERMAN)
    before = files(page.folder.parent)
    for work, field in (
        ("freeze", "name"),
        ("collect", "survey"),
        ("deploy", "survey"),
        ("read", "survey"),
    ):
        assert is_problem(page.post(work, {field: name}), "impossible")
    assert files(page.folder.parent) == before


@pytest.mark.parametrize("name", ["survey.yaml", "survey.draft.yaml"])
def test_a_link_is_not_followed_out_of_the_folder(page: Page, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "precious"
    outside.write_text("keep")
    (page.folder / name).symlink_to(outside)
    assert is_problem(page.get("state"), "impossible")
    assert is_problem(page.post("draft", {"form": GERMAN, "revision": ""}), "impossible")
    assert outside.read_text() == "keep"
    (page.folder / name).unlink()
    (tmp_path / "elsewhere").mkdir()
    (page.folder / "trial").symlink_to(tmp_path / "elsewhere")
    page.save(GERMAN)
    assert is_problem(page.post("trial", {"people": 100}), "impossible")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_link_put_where_a_draft_is_written_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "precious"
    outside.write_text("keep")
    folder = Folder(tmp_path / "own")
    monkeypatch.setattr("secrets.token_hex", lambda _: "known")
    (folder.root / ".known.part").symlink_to(outside)
    with pytest.raises(SurveyError):
        folder.write("survey.yaml", "other")
    assert outside.read_text() == "keep"


def test_what_is_frozen_is_never_written_again(page: Page) -> None:
    page.save(GERMAN)
    assert page.post("freeze", {"name": "survey"}).status_code == 200
    before = files(page.folder)
    assert page.post("freeze", {"name": "survey"}).status_code == 200  # the same again is no change
    other = GERMAN | {"title": "Something else"}
    page.save(other)
    assert is_problem(page.post("freeze", {"name": "survey"}), "impossible")
    after = files(page.folder)
    for name in ("survey.json", "survey.texts.json"):
        assert after[name] == before[name]
    assert not [name for name in after if name.endswith(".part")]


def test_a_file_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Folder(tmp_path)
    folder.write("a.txt", "before")

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(SurveyError, match="No space left"):
        folder.write("a.txt", "after")
    assert files(tmp_path) == {"a.txt": b"before"}


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


def test_a_small_text_cannot_become_a_large_questionnaire(page: Page) -> None:
    answer = page.save(BOMB).json()
    assert "stands for more" in answer["flaw"]
    assert (page.folder / "survey.draft.yaml").read_text() == BOMB
    assert "stands for more" in page.get("state").json()["draft"]["flaw"]


def test_yaml_runs_nothing(page: Page, tmp_path: Path) -> None:
    answer = page.save(f"title: !!python/object/apply:os.mkdir ['{tmp_path}/run']").json()
    assert "tags" in answer["flaw"]
    assert not (tmp_path / "run").exists()


# The stage


def test_the_stage_answers_only_whoever_knows_its_address(page: Page) -> None:
    page.save(GERMAN)
    page.post("preview")
    assert page.stage("/page/").status_code == 200
    client, root = page.client, f"http://127.0.0.1:{STAGE}"
    for path in (
        "/",
        "/page/",
        "/x/page/",
        f"/{page.key}/page/",
        f"/{page.token}/page/",
        "/api/state",
    ):
        assert client.get(root + path).status_code == 404
    assert is_problem(
        page.stage("/page/", headers={"host": f"evil.example:{STAGE}"}), "host-foreign"
    )
    assert page.stage("/page/dashboard").status_code == 404
    assert page.stage("/api/state", headers=page.headers()).status_code == 404
    # And at the studio's own address there is no stage.
    assert client.get(f"/{page.studio.session.stage}/page/").status_code == 404


def test_the_stage_can_do_nothing_in_the_studio(page: Page) -> None:
    origin = f"http://127.0.0.1:{STAGE}"
    assert is_problem(page.post("draft", {}, origin=origin), "origin-foreign")
    assert is_problem(page.get("state", origin=origin), "origin-foreign")
    page.save(GERMAN)
    page.post("preview")
    policy = page.stage("/page/").headers["content-security-policy"]
    assert f"frame-ancestors {HERE}" in policy
    assert "connect-src 'self'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    "name",
    [
        "survey.yaml",
        "survey.json",
        "../x.html",
        "trial/../x.html",
        "trial/../survey.yaml",
        "deploy/x.html",
        "trial/answers.csv",
        "/etc/passwd",
    ],
)
def test_the_stage_shows_reports_and_no_other_files(page: Page, name: str) -> None:
    page.save(GERMAN)
    page.post("freeze", {})
    page.post("trial", {"people": 50})
    assert page.stage(f"/report/{name}").status_code in (404, 422)


def test_a_report_runs_as_if_from_nowhere(page: Page) -> None:
    (page.folder / "trial").mkdir()
    (page.folder / "trial" / "report.html").write_text("<p>report</p>")
    answer = page.stage("/report/trial/report.html")
    assert answer.text == "<p>report</p>"
    policy = answer.headers["content-security-policy"]
    assert "sandbox allow-scripts" in policy
    assert "allow-same-origin" not in policy
    assert f"frame-ancestors {HERE}" in policy
    assert "x-frame-options" not in answer.headers


def test_a_mistake_tells_no_path_and_no_words(
    page: Page, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("secret words in /secret/path")

    monkeypatch.setattr(type(page.studio.desk.drafts), "current", fail)
    assert is_problem(page.get("state"), "internal")
    told = "".join(capfd.readouterr())
    assert "RuntimeError" in told
    assert "secret" not in told


def test_it_listens_on_this_machine_alone() -> None:
    from deniable.studio import serve

    assert serve.LOOPBACK == "127.0.0.1"
    names = serve.run.__code__.co_varnames[: serve.run.__code__.co_argcount]
    assert "host" not in names


def test_a_studio_of_its_own_token_each(tmp_path: Path) -> None:
    studios = [Studio(Folder(tmp_path), PORT, STAGE) for _ in range(2)]
    secrets = {
        value
        for one in studios
        for value in (one.session.token, one.session.stage, one.session._key)
    }
    assert len(secrets) == 6
    assert min(map(len, secrets)) >= 43
    with TestClient(studios[0], base_url=HERE) as client:
        answer = client.post(
            "/api/session", json={"token": studios[1].session.token}, headers={"origin": HERE}
        )
        assert is_problem(answer, "token-spent")
