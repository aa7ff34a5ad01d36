"""Put beside a built wheel what operators check and run: SBOM, checksums, deployment files.

    python scripts/make_release_files.py [FOLDER]        (`make package` does, for dist/)

The SBOM is CycloneDX 1.6: every package of the server's lock with the digests that may be installed, and
who needs whom. It says what the lock says, on any machine; the wheel's own line has its digest.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tomllib
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "src" / "deniable" / "server" / "deploy"
LOCK = DEPLOY / "requirements.lock"
CHECKSUMS = "SHA256SUMS"

_PIN = re.compile(r"([a-z0-9.-]+)==([^ ]+)(?: ; (.+?))? \\")


class Package(NamedTuple):
    """A package of a lock."""

    name: str
    version: str
    marker: str | None
    digests: tuple[str, ...]
    needed_by: tuple[str, ...]

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"


def packages(lock: str) -> list[Package]:
    """Return what a lock of uv holds."""
    rows = []
    for block in re.split(r"\n(?=[a-z])", lock)[1:]:
        pin = _PIN.match(block)
        if pin is None:
            raise SystemExit(f"The lock has a line that is not understood: {block.splitlines()[0]}")
        name, version, marker = pin.groups()
        digests = re.findall(r"--hash=sha256:([0-9a-f]{64})", block)
        via = block.partition("# via")[2]
        needed_by = re.findall(r"^(?:    #  )? ([a-z0-9.-]+)(?: \(pyproject\.toml\))?$", via, re.M)
        rows.append(Package(name, version, marker, tuple(digests), tuple(needed_by)))
    return rows


def sbom(lock: str, wheel: Path) -> dict[str, Any]:
    """Return the bill of materials of a wheel that is installed by a lock."""
    rows = packages(lock)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    own = f"pkg:pypi/deniable@{project['version']}"
    depends: dict[str, set[str]] = {own: set()} | {row.purl: set() for row in rows}
    purls: dict[str, list[str]] = {"deniable": [own]}
    for row in rows:
        purls.setdefault(row.name, []).append(row.purl)
    for row in rows:
        for name in row.needed_by:
            for purl in purls[name]:
                depends[purl].add(row.purl)
    content = lock.encode() + wheel.read_bytes()
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, sha256(content).hexdigest())}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": "deniable",
                "version": project["version"],
                "description": project["description"],
                "licenses": [{"license": {"id": project["license"]}}],
                "purl": own,
                "hashes": [_digest(sha256(wheel.read_bytes()).hexdigest())],
            }
        },
        "components": [_component(row) for row in rows],
        "dependencies": [
            {"ref": purl, "dependsOn": sorted(others)} for purl, others in sorted(depends.items())
        ],
    }


def _digest(text: str) -> dict[str, str]:
    return {"alg": "SHA-256", "content": text}


def _component(row: Package) -> dict[str, Any]:
    """Return one package; the digests are those of all its files that may be installed."""
    form: dict[str, Any] = {
        "type": "library",
        "bom-ref": row.purl,
        "name": row.name,
        "version": row.version,
        "purl": row.purl,
        "hashes": [_digest(each) for each in row.digests],
    }
    if row.marker:
        form["properties"] = [{"name": "deniable:marker", "value": row.marker}]
    return form


def checksums(folder: Path) -> str:
    """Return the SHA-256 of every file of a folder, as `sha256sum --check` reads it."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != CHECKSUMS)
    return "".join(f"{sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)


def main(folder: Path) -> None:
    """Write all of it into a folder with one wheel."""
    (wheel,) = folder.glob("deniable-*.whl")
    for path in sorted(DEPLOY.iterdir()):
        if path.is_file():
            shutil.copyfile(path, folder / path.name)
    form = sbom(LOCK.read_text("utf-8"), wheel)
    (folder / "sbom.cdx.json").write_text(json.dumps(form, indent=1) + "\n", "utf-8")
    (folder / CHECKSUMS).write_text(checksums(folder), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist")
