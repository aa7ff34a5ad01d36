"""A differential fuzzer: whatever an enemy writes, both clients take it alike, and ε holds in both.

A case is one thing given to both clients: a survey, or (of a survey that both take) a slot, words to
draw a slot from, a question, a record, labels, texts and a record to complete by them, or a record to
answer for with given words. Both must
accept or both refuse; what they derive must agree to the letter: ids, questions, symbols, values, and
how many words they took. The law of each way of answering in an accepted survey is enumerated from its
integers where it is small; its ε must not exceed the survey's. `make fuzz` runs a million cases; `make
test` some of them.
"""

from __future__ import annotations

import argparse
import json
import select
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import hostile
import hostile_texts

from deniable import Client, Ledger
from deniable.errors import DeniableError, SurveyError
from deniable.formats.forms import check_form, parse_json
from deniable.messages.report import Report
from deniable.questionnaire import Texts
from deniable.questions.exact import exponential
from deniable.questions.question import Question
from deniable.survey.digests import TextDigests
from deniable.survey.format import survey_of
from deniable.survey.frozen import FrozenSurvey

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "clients" / "js" / "src"
BATCH = 100
PATIENCE = 60.0
"""The seconds that a batch may take: a survey that takes longer hangs a client."""

_ENUMERATED = 1 << 12
_MOST_WORDS = 300


class DisagreementError(AssertionError):
    """Two clients made different things of one case, or one of them broke ε."""


@dataclass
class Words:
    """A source of agreed words."""

    left: list[int]

    def word(self) -> int:
        return self.left.pop(0)


@dataclass
class Case:
    """A survey's text, what is probed of it, and what Python makes of both; None where it is refused."""

    text: str
    probes: list[tuple[str, Any]] = field(default_factory=list)
    expected: Any = None


def refused(work: Any) -> Any:
    """Return what work gives, or None if it is refused for a reason; any other error is a fault."""
    try:
        return work()
    except DeniableError:
        return None


def check_law(survey: FrozenSurvey) -> None:
    """Refuse a survey of which some answer tells more than its ε, by enumerating its law."""
    most = exponential(survey.epsilon)
    for answer in {family.answer for family in survey.families}:
        if answer.symbols <= 64 and answer.symbols * answer.outcomes <= _ENUMERATED:
            laws = [answer.law(symbol) for symbol in range(answer.symbols)]
            columns = list(zip(*laws, strict=True))
            if any(sum(law) != answer.law_total for law in laws) or min(map(min, columns)) <= 0:
                raise DisagreementError(f"{answer} is no law")
            realised = max(Fraction(max(column), min(column)) for column in columns)
        else:
            realised = answer.ratio
        if realised > most:
            raise DisagreementError(f"{answer} exceeds epsilon {survey.epsilon}")


@dataclass
class Batch:
    """Cases that are given to the JavaScript client together, and how many there are of each kind."""

    cases: list[Case]
    counts: Counter[str]


class Cases:
    """Cases from a seed, and what Python makes of them; kept, where others are given the same."""

    def __init__(self, seed: str, *, keep: bool = True) -> None:
        self.random, self.counts = Random(seed), Counter[str]()
        self.kept: list[Batch] | None = [] if keep else None
        self.unseen = hostile.unseen()
        """Surveys that are asked about first, in every run."""

    def batch(self, number: int) -> Batch:
        """Return a batch by its number, or the next one if none is kept."""
        if self.kept is None:
            return self._next()
        while len(self.kept) <= number:
            self.kept.append(self._next())
        return self.kept[number]

    def _next(self) -> Batch:
        self.counts = Counter()
        if self.unseen:
            cases = [self._probed(Case(text)) for text in self.unseen]
            self.unseen = []
            return Batch(cases, self.counts)
        return Batch([self._case() for _ in range(BATCH)], self.counts)

    def _case(self) -> Case:
        """Make a survey up, and what is probed of it if Python takes it."""
        text = hostile.survey(self.random)
        covers = self.random.random() < 0.1
        return self._probed(Case(hostile_texts.covering(self.random, text) if covers else text))

    def _probed(self, case: Case) -> Case:
        """Return a case with what is probed of its survey, if Python takes it."""
        try:
            survey = survey_of(parse_json(case.text, from_wire=True))
        except (DeniableError, ValueError):
            self.counts["refused survey"] += 1
            return case
        if survey.schema.observed:  # both read it, and neither answers it
            self.counts["refused survey"] += 1
            return case
        self.counts["survey"] += 1
        check_law(survey)
        said = []
        for kind, told, expected in self._probes(survey):
            self.counts[f"refused {kind}" if expected is None else kind] += 1
            case.probes.append((kind, told))
            said.append(expected)
        case.expected = [survey.id, repr(survey.epsilon), survey.touches, said]
        return case

    def _probes(self, survey: FrozenSurvey) -> Iterator[tuple[str, Any, Any]]:
        """Yield what is asked of an accepted survey, what is told, and what Python makes of it."""
        random, slots = self.random, survey.slots
        words = hostile.words(random, None, 40)
        source = Words([*map(int, words)])
        with suppress(IndexError):  # all of them were rejected
            yield "draw", words, [str(survey.draw_slot(source)), len(source.left)]
        for slot in ("-1", str(slots), str(slots - 1), "01"):
            sound = slot == str(slots - 1)
            yield "slot", slot, survey.question(int(slot)).to_json() if sound else None
        for _ in range(3):
            slot = random.randrange(slots)
            question = survey.question(slot)
            form = question.to_json()
            yield "slot", str(slot), form
            tampered = hostile.changed(random, form, (form,), random.choice((0, 1, 1, 2)))
            limit = random.choice((survey.epsilon, 20, survey.epsilon * 0.99))
            yield "verify", [tampered, limit], self._verdict(survey, tampered, limit)
            record = hostile.record(random, survey.schema)
            held = refused(lambda r=record: survey.schema.decode(survey.schema.encode(r)))
            yield "record", record, None if held is None else [list(each) for each in held.items()]
            if held is not None and question.answer.words <= _MOST_WORDS:
                yield from self._answered(question, record, held)
        yield from self._worded(survey)
        given = hostile.labels(random, survey.labels.declared)
        yield "labels", given, refused(lambda: survey.labels.given(given))

    def _worded(self, survey: FrozenSurvey) -> Iterator[tuple[str, Any, Any]]:
        """Yield texts for an accepted survey that covers them, and a record to complete by them."""
        form = hostile_texts.texts(self.random, survey)
        covered, record = hostile_texts.digests(form), hostile.record(self.random, survey.schema)
        if covered is not None and self.random.random() < 0.02:
            covered["layout"] = covered["layout"][::-1]

        def read() -> Texts:
            texts = Texts.from_json(json.dumps(form))
            check_form("text_digests", covered, SurveyError)
            texts.check(survey.worded(TextDigests.of_form(covered)))
            return texts

        texts, held = refused(read), None
        if texts is not None and isinstance(record, dict):
            whole = texts.completed(record, survey.schema)
            held = refused(lambda: survey.schema.decode(survey.schema.encode(whole)))
            held = held and [list(each) for each in held.items()]
        yield "texts", [form, covered, record], None if texts is None else [held]

    def _answered(
        self, question: Question, record: Any, held: Any
    ) -> Iterator[tuple[str, Any, Any]]:
        answer = question.answer
        words = hostile.words(self.random, answer.to_json(), answer.words + 40)
        source, symbol = Words([*map(int, words)]), question.asks.symbol(held)
        try:
            value = question.reply(held, source)
        except IndexError:
            return  # all of them were rejected
        if not (0 <= symbol < answer.symbols and 0 <= value < answer.outcomes):
            raise DisagreementError("Python answers what cannot be answered")
        sent = Report(question.slot, value).to_json()
        del sent["slot"]
        yield (
            "answer",
            [str(question.slot), record, words],
            [str(symbol), sent, len(source.left)],
        )

    @staticmethod
    def _verdict(survey: FrozenSurvey, form: Any, limit: float) -> bool | None:
        client = Client(survey, ledger=Ledger.in_memory(), limit=limit)

        def check() -> bool:
            client.check(Question.from_json(parse_json(json.dumps(form), from_wire=True)))
            return True

        return refused(check)


class Fuzzer:
    """Cases given to Python and to the JavaScript client in Node."""

    def __init__(self, node: str, cases: Cases, sources: Path = SOURCES) -> None:
        self.cases, self.batches, self.counts = cases, 0, Counter[str]()
        script = str(Path(__file__).with_name("fuzz.mjs"))
        self.process = subprocess.Popen(
            [node, script, str(sources)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()

    def run(self, cases: int = 0, seconds: float = 0.0) -> int:
        """Give cases to both, until there were so many and so many seconds are over; return how many."""
        until = time.monotonic() + seconds
        while self.total < cases or time.monotonic() < until:
            batch = self.cases.batch(self.batches)
            self.batches += 1
            self.counts += batch.counts
            self._compare(batch.cases)
        return self.total

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def _compare(self, cases: list[Case]) -> None:
        """Let the JavaScript client say what it makes of the cases."""
        process = self.process
        assert process.stdin
        assert process.stdout
        told = [{"text": case.text, "probes": case.probes} for case in cases]
        process.stdin.write(json.dumps(told) + "\n")
        process.stdin.flush()
        if not select.select([process.stdout], [], [], PATIENCE)[0]:
            raise DisagreementError(
                f"the JavaScript client hangs, at one of {[c.text for c in cases]}"
            )
        line = process.stdout.readline()
        if not line:
            raise DisagreementError("the JavaScript client takes more words, or died")
        for case, said in zip(cases, json.loads(line), strict=True):
            if _text(said) != _text(case.expected):
                raise DisagreementError(_difference(case, said))


def _text(form: Any) -> str:
    return json.dumps(form, sort_keys=True)


def _difference(case: Case, said: Any) -> str:
    """Say what is different, with all that is needed to see it again."""
    ours, survey = case.expected, f"of the survey {case.text}"
    if said is None or ours is None:
        takes = "Python" if said is None else "the JavaScript client"
        return f"only {takes} takes it: {survey}"
    for probe, mine, theirs in zip(case.probes, ours[3], said[3], strict=True):
        if _text(mine) != _text(theirs):
            return (
                f"{_text(probe)}: {_text(mine)} in Python, {_text(theirs)} in JavaScript, {survey}"
            )
    return f"{_text(ours[:3])} in Python, {_text(said[:3])} in JavaScript, {survey}"


def main() -> int:
    """Run so many cases, and say how it goes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000_000)
    parser.add_argument("--seed", default=str(time.time_ns()))
    parser.add_argument("--node", default="node")
    told = parser.parse_args()
    fuzzer, begun = Fuzzer(told.node, Cases(told.seed, keep=False)), time.monotonic()
    print(f"seed {told.seed}")
    try:
        for share in range(1, 21):
            fuzzer.run(told.cases * share // 20)
            spent = time.monotonic() - begun
            print(f"{fuzzer.total:>9,} cases, no disagreement, {spent:,.0f} s", flush=True)
    except DisagreementError as found:
        print(f"{fuzzer.total:,} cases, then: {found}")
        return 1
    finally:
        fuzzer.close()
    for kind, count in sorted(fuzzer.counts.items()):
        print(f"{count:>9,} {kind}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
