"""Personal links, sheets of QR codes, and how many have answered."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("msgspec", reason="the extra 'server' is not installed")

from deniable import Schema, Survey
from deniable.schema.labels import FEWEST
from deniable.server.intake import Intake
from deniable.server.serve import Rules, prepare
from deniable.server.stores import open_store
from deniable.server.turnout import Batch, _parts, note_batch

Run = Callable[..., Any]
PAGE = "https://survey.example.org/panel/"


def test_links_hold_the_id_behind_the_hash_only(run: Run, tmp_path: Path) -> None:
    ended = run("issue", "--count", 3, "--store", "s.db", "--links", PAGE)
    links = ended.out.split()
    assert len(set(links)) == 3
    for link in links:
        address, _, token = link.partition("#token=")
        assert address == PAGE
        assert len(token) == 32
    given = run("issue", "--count", 2, "--store", "s.db", "--links", PAGE, "--json").document
    assert given["links"] == [f"{PAGE}#token={each}" for each in given["ids"]]
    survey = "a" * 64
    one = run("issue", "--count", 1, "--store", "s.db", "--links", PAGE[:-1], "--survey", survey)
    assert one.out.startswith(f"{PAGE}?survey={survey}#token=")


def test_a_table_of_links_is_private_and_whole(run: Run, tmp_path: Path) -> None:
    ended = run(
        "issue", "--count", 5, "--store", "s.db", "--links", PAGE, "--format", "csv", "-o", "l.csv"
    )
    assert ended.code == 0
    assert "5 personal links are in l.csv." in ended.out
    assert Path("l.csv").stat().st_mode & 0o077 == 0
    with Path("l.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["link"] for row in rows] == [f"{PAGE}#token={row['id']}" for row in rows]
    assert len(rows) == 5


@pytest.mark.parametrize(
    "address",
    [
        "http://survey.example.org/",
        "https://me:secret@survey.example.org/",
        "https://survey.example.org/?id=1",
        "https://survey.example.org/#a",
        "ftp://survey.example.org",
        "survey.example.org",
        "https:///page",
        "https://übung.example/",
        "javascript:alert(1)",
    ],
)
def test_an_address_that_is_none_of_a_page_is_refused(
    run: Run, tmp_path: Path, address: str
) -> None:
    refused = run("issue", "--count", 1, "--store", "s.db", "--links", address)
    assert refused.code == 2
    assert "--links needs the address of the participants' page, with https://" in refused.err
    assert not Path("s.db").exists(), "no id is taken"


def pictures(path: Path) -> list[Any]:
    """Return the pages of a PDF with their filled rectangles drawn, two pixels for each point."""
    pypdf = pytest.importorskip("pypdf")
    pages = []
    for page in pypdf.PdfReader(path).pages:
        picture = np.full(
            (int(2 * page.mediabox.height), int(2 * page.mediabox.width)), 255, np.uint8
        )
        text = page.get_contents().get_data().decode("ascii")
        for rectangle in re.findall(
            r"^([\d.]+) ([\d.]+) ([\d.]+) ([\d.]+) re$", text, re.MULTILINE
        ):
            x, y, wide, high = (2 * float(number) for number in rectangle)
            top = picture.shape[0] - round(y + high)
            picture[top : picture.shape[0] - round(y), round(x) : round(x + wide)] = 0
        pages.append(picture)
    return pages


def test_qr_sheets_are_read_back(run: Run, tmp_path: Path) -> None:
    zxingcpp = pytest.importorskip("zxingcpp")
    for words in (("-o", "l.txt"), ()):
        refused = run(
            "issue", "--count", 1, "--store", "s.db", "--links", PAGE, "--format", "qr-pdf", *words
        )
        assert "needs --links, and --output with a name that ends in .pdf" in refused.err
    most = run("issue", "--count", 20_001, "--links", PAGE, "--format", "qr-pdf", "-o", "l.pdf")
    assert "takes at most 20,000 ids at a time" in most.err
    ended = run(
        "issue",
        "--count",
        14,
        "--store",
        "s.db",
        "--links",
        PAGE,
        "--format",
        "qr-pdf",
        "-o",
        "l.pdf",
    )
    assert ended.code == 0, ended.err
    codes = [
        [code.text for code in zxingcpp.read_barcodes(page)] for page in pictures(Path("l.pdf"))
    ]
    assert [len(texts) for texts in codes] == [12, 2]
    links = {text for texts in codes for text in texts}
    assert len(links) == 14
    with open_store("sqlite:///s.db", create=False) as store:
        seal = store.seal()
        serials = {seal.participant(link.removeprefix(f"{PAGE}#token=")) for link in links}
    assert serials == set(range(14))


def answer(url: str, survey: Survey, serials: list[int], hour: int = 0) -> None:
    """Let issued participants answer."""
    with open_store(url) as store:
        seal = store.seal()
        (stored,) = store.surveys()
        intake = Intake(seal, store.surveys(), lambda: hour)
        forms = [{"survey": survey.id, "id": seal.issue(serial), "value": 0} for serial in serials]
        body = json.dumps(forms).encode()
        sent, _ = intake.read(body, None)
        work, _ = intake.reports(sent, body, None)
        store.commit([work])
        assert store.people(stored) >= len(serials)


def test_turnout_is_counted_by_batch_and_of_small_ones_together(run: Run, tmp_path: Path) -> None:
    survey = Survey(Schema.binary(*"abcd"), 2, 1.1, "InpHT")
    url = "sqlite:///s.db"
    with open_store(url) as store:
        prepare(store, [survey], Rules("hashed", "issued", False))
        store.issue(30)  # before batches were noted
        batches = ("north", 140), ("south", 65), ("one house", 3), ("north", 10), ("south", 60)
        for name, count in batches:
            serials = store.issue(count)
            note_batch(store, name, serials[0], count)
    answer(url, survey, [0, 1, 29, *range(30, 65), 170, 172, 235, *range(248, 300)])
    ended = run("issued", "s.db", "--json").document
    # Before, south's first 65 and the house are enough with north's last 10; south's last 60 are few.
    assert ended["batches"] == [
        {"batch": "north", "issued": 140, "answered": 30, "open": 110},
        {"batch": "", "issued": 108, "answered": 0, "open": 108},
    ]
    assert ended["issued"] + ended["withheld"] == 308
    assert ended["open"] == ended["issued"] - ended["answered"]
    assert (ended["closed"], ended["ends"]) == (False, None)
    said = run("issued", "s.db").out
    assert "one house" not in said
    assert "remind everybody" in " ".join(said.split())
    # What has expired is a bit; it counts as before.
    with open_store(url) as store:
        while store.forget(10_000):
            pass
        assert not store.run("SELECT * FROM spent")
    assert run("issued", "s.db", "--json").document == ended


def test_no_turnout_tells_of_few(tmp_path: Path) -> None:
    """Batches grow as they will: what is counted under a name grows by 100, and loses nothing."""
    random, serial = np.random.default_rng(3), 0
    batches, counted = list[Batch](), dict[str, set[int]]()
    for _ in range(300):
        name = str(random.choice(["", "a", "b", "c"]))
        batches.append(Batch(name, serial, int(random.choice([1, 3, 40, 70, 200]))))
        serial += batches[-1].size
        parts, pending = _parts(batches, serial)
        ids = {
            n: {i for b in part for i in range(b.first, b.first + b.size)}
            for n, part in parts.items()
        }
        for key, before in counted.items():
            assert before <= ids[key]
        for key, after in ids.items():
            grown = len(after - counted.get(key, set()))
            assert grown == 0 or grown >= FEWEST
        assert sum(map(len, ids.values())) + sum(each.size for each in pending) == serial
        assert sum(each.size for each in pending) < FEWEST
        counted = ids


def test_a_turnout_of_nobody_and_of_everybody_is_not_told(run: Run, tmp_path: Path) -> None:
    survey = Survey(Schema.binary(*"abcd"), 2, 1.1, "InpHT")
    url = "sqlite:///s.db"
    with open_store(url) as store:
        prepare(store, [survey], Rules("hashed", "issued", False))
        store.issue(99)
    answer(url, survey, list(range(99)))
    few = run("issued", "s.db", "--json").document
    assert (few["issued"], few["answered"], few["withheld"], few["batches"]) == (0, 0, 99, [])
    with open_store(url) as store:
        store.issue(1)
    for serials, answered in (([], 90), ([99], 90)):
        if serials:
            answer(url, survey, serials)
        (row,) = run("issued", "s.db", "--json").document["batches"]
        assert (row["issued"], row["answered"], row["open"]) == (100, answered, 10)
