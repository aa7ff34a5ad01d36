"""`deniable deploy` writes what a server can start from, and refuses what no collector collects."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from deniable import Attribute, Schema, Survey, __version__

pytest.importorskip("msgspec", reason="the extra 'server' is not installed")

ADDRESS = "https://survey.example.org"
WHEEL = f"deniable-{__version__}-py3-none-any.whl"
SURVEY = Survey(Schema.binary("a", "b"), 2, 1.0, "InpHT")


def saved(survey: Survey, folder: Path) -> Path:
    path = folder / "survey.json"
    path.write_text(survey.to_json(), "utf-8")
    return path


def wheel(folder: Path, name: str = WHEEL, inside: str = "deniable/__init__.py") -> Path:
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / name, "w") as archive:
        archive.writestr(inside, "")
    return folder / name


def refused() -> dict[str, Survey]:
    """Surveys that a collector does not collect, each for another reason."""
    learned = json.loads(SURVEY.to_json())
    learned["schema"]["observed"] = True
    covering = json.loads(SURVEY.to_json())
    covering["texts"] = {
        "default": "en",
        "layout": "0" * 64,
        "languages": {"en": {"survey": "0" * 64, "attributes": ["0" * 64] * 2}},
    }
    return {
        "learned": Survey.from_json(json.dumps(learned)),
        "incomplete": Survey(Schema((Attribute("job", ("a", "b", "c")),)), 1, 1.0),
        "without texts": Survey.from_json(json.dumps(covering)),
    }


@pytest.mark.parametrize("why", ["learned", "incomplete", "without texts"])
def test_what_serve_refuses_is_refused(why: str, run, tmp_path: Path) -> None:
    """In the same sentence, and no file is written."""
    saved(refused()[why], tmp_path)
    served = run("serve", "survey.json", "--store", "sqlite:///c.db", "--port", "0")
    assert served.code == 2
    ended = run("deploy", "survey.json", ADDRESS)
    assert ended.code == 2
    assert ended.err == served.err
    assert not (tmp_path / "deploy").exists()


def test_participants_are_issued_everywhere(run, tmp_path: Path) -> None:
    saved(SURVEY, tmp_path)
    ended = run("deploy", "survey.json", ADDRESS)
    assert ended.code == 0, ended.err
    deploy = tmp_path / "deploy"
    readme = (deploy / "README.md").read_text("utf-8")
    (serve,) = re.findall(r"^ +\.venv/bin/(deniable serve .*)$", readme, re.M)
    collector = yaml.safe_load((deploy / "compose.yaml").read_text())["services"]["collector"]
    service = (deploy / "deniable.service").read_text()
    for words in (shlex.split(serve), collector["command"]):
        assert words[words.index("--participants") + 1] == "issued"
    assert 'Environment="OPTIONS=--participants issued"' in service
    assert "/surveys/survey.json" in collector["command"]


def test_reports_are_kept_where_they_must_be(run, tmp_path: Path) -> None:
    saved(Survey(Schema.binary(*(f"a{i}" for i in range(17))), 2, 1.0, "InpRR"), tmp_path)
    assert run("deploy", "survey.json", ADDRESS).code == 0
    deploy = tmp_path / "deploy"
    collector = yaml.safe_load((deploy / "compose.yaml").read_text())["services"]["collector"]
    assert collector["command"][-4:] == ["--participants", "issued", "--keep", "reports"]
    for name in ("README.md", "deniable.service"):
        assert "--participants issued --keep reports" in (deploy / name).read_text()


def test_the_wheel_is_put_where_it_is_copied_from(run, tmp_path: Path) -> None:
    saved(SURVEY, tmp_path)
    ended = run("deploy", "survey.json", ADDRESS)
    readme = (tmp_path / "deploy" / "README.md").read_text("utf-8")
    assert "Deniable itself is missing there: 'make package' in a clone" in ended.out
    assert f"`dist/{WHEEL}`" in readme
    ended = run("deploy", "survey.json", ADDRESS, "--wheel", wheel(tmp_path / "dist"))
    assert ended.code == 0, ended.err
    deploy = tmp_path / "deploy"
    assert "missing" not in ended.out + (deploy / "README.md").read_text("utf-8")
    copied = re.findall(r"^COPY (?!--from)(\S+)", (deploy / "Containerfile").read_text(), re.M)
    assert all(list(deploy.glob(pattern)) for pattern in copied), copied
    assert (deploy / WHEEL).read_bytes() == (tmp_path / "dist" / WHEEL).read_bytes()
    again = run("deploy", "survey.json", ADDRESS)  # what is there already is not missed
    assert "missing" not in again.out


@pytest.mark.parametrize(
    ("name", "inside", "flaw"),
    [
        ("deniable-0.0.1-py3-none-any.whl", "deniable/__init__.py", "The wheel of this version is"),
        (WHEEL, "other/__init__.py", "is no wheel of deniable"),
    ],
)
def test_another_wheel_is_refused(run, tmp_path: Path, name: str, inside: str, flaw: str) -> None:
    saved(SURVEY, tmp_path)
    ended = run("deploy", "survey.json", ADDRESS, "--wheel", wheel(tmp_path / "d", name, inside))
    assert ended.code == 2
    assert flaw in ended.err
    assert not (tmp_path / "deploy").exists()
    for other in ("absent.whl", ".", WHEEL):
        assert run("deploy", "survey.json", ADDRESS, "--wheel", other).code == 2


@pytest.mark.slow
def test_the_commands_of_the_folder_do_what_they_say(run, tmp_path: Path) -> None:
    """All but what installs: an environment that has deniable already stands for the new one."""
    saved(SURVEY, tmp_path)
    assert run("deploy", "survey.json", ADDRESS).code == 0
    deploy = shutil.copytree(tmp_path / "deploy", tmp_path / "server")
    readme = (deploy / "README.md").read_text("utf-8")
    (issue,) = re.findall(r"^ +\.venv/bin/deniable (issue .*)$", readme, re.M)
    (serve,) = re.findall(r"^ +\.venv/bin/deniable (serve .*)$", readme, re.M)
    program = [sys.executable, "-P", "-m", "deniable"]
    subprocess.run([*program, *shlex.split(issue)], cwd=deploy, check=True, capture_output=True)
    links = (deploy / "links.txt").read_text().split()
    assert len(links) == 1000
    assert links[0].startswith(f"{ADDRESS}/?survey={SURVEY.id}#token=")
    served = [*program, *shlex.split(serve), "--port", "0"]
    with subprocess.Popen(served, cwd=deploy, stderr=subprocess.PIPE, text=True) as process:
        said = ""
        while "Collecting at" not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
        process.terminate()
    assert "participants issued" in said
