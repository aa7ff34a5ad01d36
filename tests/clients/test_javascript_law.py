"""What the JavaScript client sends follows the question's exact law; bugs planted in it are caught.

Its randomness is the operating system's, so a sound client fails a check once in 10⁹ runs of it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from client_parts import ROOT, Driven
from scipy.stats import chisquare

from deniable import Schema, Survey
from deniable.questions.answers import Bitwise, Subset, Unary
from deniable.questions.question import Cell, Parities, Question, Term

FALSE_ALARM = 1e-9
SOURCES = ROOT / "clients" / "js" / "src"
NAMES = ("a", "b", "c")
RECORD = {"a": True, "b": False, "c": True}

TRUE = [Term(name, (True,)) for name in NAMES]
BITS = Parities(tuple((term,) for term in TRUE))
TABLE = Cell(tuple(Term(name, (False, True)) for name in NAMES[:2]))
WAYS = {
    "randomized response": Question("s", 0, Parities((tuple(TRUE[:2]),)), Subset.within(1.0, 2)),
    "one of four": Question("s", 0, TABLE, Subset.within(1.0, 4)),
    "three of eight": Question("s", 0, BITS, Subset.within(1.0, 8, 3)),
    "unary": Question("s", 0, TABLE, Unary.within(1.0, 4, optimised=True)),
    "bitwise": Question("s", 0, BITS, Bitwise.within(2.0, 3)),
}

Counted = Callable[..., dict[str, int]]


@pytest.fixture(scope="module")
def counted(node: str) -> Iterator[Counted]:
    driven = Driven(node, "laws.mjs")
    yield lambda **told: driven.tell({"folder": str(SOURCES), "record": RECORD} | told)
    driven.close()


def p_value(question: Question, counts: dict[str, int]) -> float:
    """Return how likely counts this far from the law are; 0 if a value cannot be reported at all."""
    answer, symbol = question.answer, question.asks.symbol(RECORD)
    law = np.array([chance / answer.law_total for chance in answer.law(symbol)])
    seen = np.array([counts.get(str(value), 0) for value in range(answer.outcomes)])
    if seen.sum() < sum(counts.values()):
        return 0.0
    return float(chisquare(seen, law * seen.sum()).pvalue)


@pytest.mark.parametrize("way", WAYS)
def test_answers_follow_the_law(counted: Counted, way: str) -> None:
    counts = counted(question=WAYS[way].to_json(), count=20_000)
    assert p_value(WAYS[way], counts) > FALSE_ALARM


def test_what_a_client_sends_follows_the_law(counted: Counted) -> None:
    survey = Survey(Schema.binary(*NAMES), 2, 1.0, "MargPS")
    question = survey.question(1)
    counts = counted(
        survey=json.loads(survey.to_json()),
        id=survey.id,
        question=question.to_json(),
        ticket="ticket",
        count=3_000,
        whole=True,
    )
    assert p_value(question, counts) > FALSE_ALARM


PLANTED = {
    "a comparison turned round": (
        *("question.js", "const keep = word() < t;", "const keep = word() > t;"),
        "three of eight",
    ),
    "a bit's comparison turned round": (
        *("question.js", "if (word() >= t) value", "if (word() <= t) value"),
        "bitwise",
    ),
    "words that lack a bit": (
        *("exact.js", "new BigUint64Array(1))[0]", "new BigUint64Array(1))[0] >> 1n"),
        "unary",
    ),
    "words of a generator of 53 bits": (
        "exact.js",
        "crypto.getRandomValues(new BigUint64Array(1))[0]",
        "BigInt(Math.floor(Math.random() * 2 ** 53))",
        "randomized response",
    ),
    "a remainder instead of a rejection": (
        *("exact.js", "if (number < bound) return number;", "return number % bound;"),
        "three of eight",
    ),
    "others that hold the true one": (
        *(
            "question.js",
            "other < value ? other : other + 1n",
            "other <= value ? other : other + 1n",
        ),
        "one of four",
    ),
    "the true answer, always": (
        *("question.js", "const keep = word() < t;", "const keep = word() < t || true;"),
        "one of four",
    ),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_caught(counted: Counted, bug: str, tmp_path: Path) -> None:
    file, sound, planted, way = PLANTED[bug]
    folder = shutil.copytree(SOURCES, tmp_path / "src")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    text = (folder / file).read_text("utf-8")
    assert text.count(sound) == 1
    (folder / file).write_text(text.replace(sound, planted), "utf-8")
    counts = counted(folder=str(folder), question=WAYS[way].to_json(), count=20_000)
    assert p_value(WAYS[way], counts) < FALSE_ALARM
