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


# RFC 9162, 2.1.1, 2.1.3.1 and 2.1.4.1, as they are written there: d is the list of leaves' hashes.


def split(n: int) -> int:
    return max(2**i for i in range(n) if 2**i < n)


def mth(d: list[bytes]) -> bytes:
    if len(d) < 2:
        return d[0] if d else sha256().digest()
    k = split(len(d))
    return sha256(b"\1" + mth(d[:k]) + mth(d[k:])).digest()


def path(m: int, d: list[bytes]) -> list[bytes]:
    if len(d) == 1:
        return []
    k = split(len(d))
    return [*path(m, d[:k]), mth(d[k:])] if m < k else [*path(m - k, d[k:]), mth(d[:k])]


def subproof(m: int, d: list[bytes], is_whole: bool) -> list[bytes]:
    if m == len(d):
        return [] if is_whole else [mth(d)]
    k = split(len(d))
    if m <= k:
        return [*subproof(m, d[:k], is_whole), mth(d[k:])]
    return [*subproof(m - k, d[k:], False), mth(d[:k])]


def test_every_proof_is_that_of_the_rfc() -> None:
    for size in range(1, 35):
        log = SurveyLog(ENTRIES[:size])
        leaves = [entry.leaf for entry in log.entries]
        assert log.head.root == mth(leaves).hex()
        for index in range(size):
            assert log.inclusion(index) == [each.hex() for each in path(index, leaves)]
        for earlier in range(1, size + 1):
            proof = [each.hex() for each in subproof(earlier, leaves, True)]
            assert log.consistency(earlier) == proof


def harmed(proof: list[str], others: list[str]) -> list[list[str]]:
    """A proof with one hash left out, doubled, moved, added or replaced."""
    places = range(len(proof))
    return [
        *([*proof[:i], *proof[i + 1 :]] for i in places),
        *([*proof[:i], proof[i], *proof[i:]] for i in places),
        *([*proof[:i], proof[i + 1], proof[i], *proof[i + 2 :]] for i in places[:-1]),
        *([*proof[:i], other, *proof[i + 1 :]] for i in places for other in others),
        *([*proof[:i], other, *proof[i:]] for i in (*places, len(proof)) for other in others),
    ]


def test_no_harmed_proof_holds() -> None:
    for size in range(1, 18):
        log = SurveyLog(ENTRIES[:size])
        others = ["0" * 64, log.head.root, ENTRIES[0].leaf.hex(), ENTRIES[size - 1].leaf.hex()]
        for index, entry in enumerate(log.entries):
            proof = log.inclusion(index)
            for wrong in harmed(proof, others):
                if wrong != proof:
                    with pytest.raises(LogError):
                        log.head.check_inclusion(entry, index, wrong)
        for earlier in range(1, size + 1):
            head, proof = Head.of_log(ENTRIES[:earlier]), log.consistency(earlier)
            for wrong in harmed(proof, others):
                if wrong != proof:
                    with pytest.raises(LogError):
                        log.head.check_follows(head, wrong)


def test_every_proof_holds_and_no_other() -> None:
    for size in range(1, 35):
        log = SurveyLog(ENTRIES[:size])
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
