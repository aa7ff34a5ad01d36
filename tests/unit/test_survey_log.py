"""The log of surveys: its tree by RFC 9162, its proofs against brute force, its file."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest

from deniable.errors import LogError
from deniable.messages import survey_log
from deniable.messages.survey_log import Entry, Head, SurveyLog

ENTRIES = [Entry(f"2026-11-{i % 30 + 1:02}", f"{i:064x}") for i in range(40)]

# The leaves and roots by which implementations of RFC 6962 and 9162 test themselves.
LEAVES = [
    "-",
    "00",
    "10",
    "2021",
    "3031",
    "40414243",
    "5051525354555657",
    "606162636465666768696a6b6c6d6e6f",
]
ROOTS = """e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
    6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d
    fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125
    aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77
    d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7
    4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4
    76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef
    ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c
    5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"""


class Leaf:
    """An entry of any bytes."""

    def __init__(self, content: bytes) -> None:
        self.leaf = sha256(b"\0" + content).digest()


def test_the_tree_is_that_of_rfc_9162() -> None:
    leaves: list[Any] = [Leaf(bytes.fromhex(each.strip("-"))) for each in LEAVES]
    assert [SurveyLog(leaves[:n]).head.root for n in range(9)] == ROOTS.split()


def naive(leaves: list[bytes]) -> bytes:
    """The root, by the definition."""
    if len(leaves) < 2:
        return leaves[0] if leaves else sha256().digest()
    middle = 1
    while 2 * middle < len(leaves):
        middle *= 2
    return sha256(b"\1" + naive(leaves[:middle]) + naive(leaves[middle:])).digest()


def test_every_proof_holds_and_no_other() -> None:
    for size in range(1, 35):
        log = SurveyLog(ENTRIES[:size])
        assert log.head.root == naive([entry.leaf for entry in log.entries]).hex()
        other = SurveyLog([*ENTRIES[: size - 1], ENTRIES[39]])
        for index, entry in enumerate(log.entries):
            proof = log.inclusion(index)
            log.head.check_inclusion(entry, index, proof)
            for wrong in {0, size - 1, index - 1, index + 1} - {index}:
                with pytest.raises(LogError, match="The survey is not in the log"):
                    log.head.check_inclusion(entry, wrong, proof)
        for earlier in range(size + 1):
            head, proof = Head.of_log(ENTRIES[:earlier]), log.consistency(earlier)
            log.head.check_follows(head, proof)
            if earlier < size:
                with pytest.raises(LogError, match="shorter than the one"):
                    head.check_follows(log.head, proof)
            if earlier:
                changed = Head.of_log([ENTRIES[39], *ENTRIES[1:earlier]])
                with pytest.raises(LogError, match="does not continue"):
                    log.head.check_follows(changed, proof)
        with pytest.raises(LogError, match="does not continue"):
            other.head.check_follows(log.head, [])


def test_a_log_is_a_file() -> None:
    log = SurveyLog(ENTRIES[:3])
    assert SurveyLog.of_text(log.text).head == log.head
    assert SurveyLog.of_text("").head == Head(0, sha256().hexdigest())
    assert log.begins(SurveyLog(ENTRIES))
    assert not SurveyLog(ENTRIES).begins(log)
    assert (log.index(ENTRIES[2].survey), log.index(ENTRIES[3].survey)) == (2, None)


LINE = ENTRIES[0].line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LINE, "last line is cut short"),
        (f"{LINE}\n{LINE[:-1]}\n", "Line 2 of the log is not a day"),
        (f"{LINE}\n\n", "Line 2 of the log"),
        (f" {LINE}\n", "Line 1 of the log"),
        (f"{LINE} \n", "Line 1 of the log"),
        (f"{LINE}\r\n", "Line 1 of the log"),
        (f"{LINE.upper()[:-1]}A\n", "Line 1 of the log"),
        (f"{LINE}\n{LINE}\n", "has a survey twice"),
    ],
)
def test_what_is_no_log_is_refused(text: str, message: str) -> None:
    with pytest.raises(LogError, match=message):
        SurveyLog.of_text(text)


PLANTED = {
    "leaves that could be nodes": ("_node", lambda left, right: sha256(left + right).digest()),
    "a tree cut elsewhere": ("_below", lambda size: (size + 1) // 2),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey_log, *PLANTED[fault])
    with pytest.raises(AssertionError):
        test_the_tree_is_that_of_rfc_9162()
