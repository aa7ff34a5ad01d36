"""`deniable audit --command`: sound clients pass, faults are told, and nothing goes through a shell."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_parts import SECRET, Run

from deniable import Schema, Survey
from deniable.errors import DataError, ReportError
from deniable.lab.blackbox import audit as blackbox
from deniable.lab.blackbox.audit import least_epsilon, most_shown
from deniable.lab.blackbox.command import LONGEST_REPORT, Command
from deniable.lab.blackbox.leanings import by_law, parts_of
from deniable.lab.blackbox.pairs import telling_pair
from deniable.questions.entropy import SystemSource

EXAMPLES = Path(__file__).parents[2] / "examples" / "audit"
PYTHON = shlex.quote(sys.executable)

UNARY = """
import json, sys
from math import exp
from random import SystemRandom

# Unary encoding over so many values: symmetric, or optimised. `mend` sets the own bit to 0 before it is
# drawn; pure-ldp left that out until 1.2.0 (its issue 11), so the own bit was set twice as often.
epsilon, values, way, mend = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3], "mend" in sys.argv
own = exp(epsilon / 2) / (exp(epsilon / 2) + 1) if way == "sue" else 0.5
other = 1 - own if way == "sue" else 1 / (exp(epsilon) + 1)
chance = SystemRandom().random
for line in sys.stdin:
    bits = [int(chance() < other) for _ in range(values)]
    index = json.loads(line)
    if mend:
        bits[index] = 0
    if chance() < own:
        bits[index] = 1
    print(json.dumps(bits))
"""


@pytest.fixture
def unary(tmp_path: Path) -> str:
    """Return the command of a client of unary encoding, beside two records for it."""
    (tmp_path / "unary.py").write_text(UNARY)
    (tmp_path / "two.jsonl").write_text("0\n1\n")
    return f"{PYTHON} unary.py"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that writes a client which does this for each record."""

    monkeypatch.chdir(tmp_path)

    def write(body: str, before: str = "") -> str:
        loop = "for line in sys.stdin:\n    record = json.loads(line)\n"
        text = f"import json, random, sys\n{before}\n{loop}    {body}\n"
        (tmp_path / "client.py").write_text(text)
        (tmp_path / "two.jsonl").write_text(f'"{SECRET}"\n"nobody"\n')
        return f"{PYTHON} client.py"

    return write


PAIR = ("--records", "two.jsonl", "--json")


# The clients that are to pass, and the fault that is to be told


@pytest.mark.slow
@pytest.mark.parametrize(("way", "values"), [("sue", 4), ("oue", 4), ("oue", 30)])
def test_the_fault_of_unary_encoding_is_told(run: Run, unary: str, way: str, values: int) -> None:
    """At a false-alarm rate of 10⁻⁷; so its mended form fails to pass once in 10⁷ runs.

    The ε of the fault is 1.3 and more here, and what is shown of it 0.9 ± 0.06.
    """
    fast = ("--epsilon", 0.5, "--runs", 10_000, "--error-rate", 1e-7)
    told = run("audit", "--command", f"{unary} 0.5 {values} {way}", *fast, *PAIR)
    assert (told.code, told.err) == (1, "")
    assert told.document["epsilon_at_least"] > 0.5
    assert told.document["passed"] is False
    mended = run("audit", "--command", f"{unary} 0.5 {values} {way} mend", *fast, *PAIR)
    assert (mended.code, mended.err) == (0, "")
    assert mended.document["epsilon_at_least"] <= 0.5


@pytest.mark.slow
def test_a_client_above_what_it_states_is_told_by_its_survey(run: Run, data: Path) -> None:
    small = ("--columns", "a,b", "--order", 1, "--mechanism", "InpHT")
    assert run("new", data, *small, "--epsilon", 2, "-o", "weak.json").code == 0
    command = f"{PYTHON} {shlex.quote(str(EXAMPLES / 'client.py'))} {{survey}}"
    fast = ("--runs", 1200, "--epsilon", 0.1)
    ended = run("audit", "weak.json", "--command", command, *fast)
    assert (ended.code, ended.err) == (1, "")
    said = " ".join(ended.out.split())
    assert "It is above the 0.1 that it states." in said
    assert "with probability 1e-06 at most" in said


# Faults of other kinds


FAULTS = {
    "the record itself": ("print(json.dumps({'id': random.random(), 'said': record}))", ""),
    "its length": ("print('x' * len(record))", ""),
    "a letter within a text": (
        "print(''.join(random.choice('ab') for _ in range(9)) + record[0])",
        "",
    ),
    "a bit within an integer": ("print(random.getrandbits(40) << 1 | (record[0] == 'n'))", ""),
    "silence about one record": ("print('null' if record == 'nobody' else random.random())", ""),
    "the same generator every time": (
        "print(min(random.random(), .5 + .5 * (record == 'nobody')))",
        "random.seed(0)",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_any_kind_is_told(run: Run, script, fault: str) -> None:
    ended = run("audit", "--command", script(*FAULTS[fault]), "--epsilon", 1, "--runs", 2000, *PAIR)
    assert (ended.code, ended.err) == (1, "")
    assert ended.document["epsilon_at_least"] > 1
    assert SECRET not in ended.out


def test_a_client_that_tells_nothing_passes(run: Run, script) -> None:
    """What goes in turn from line to line says nothing about records, whose order is drawn."""
    command = script("turn = turn % 2 + 1; print(turn)", "turn = 1")
    ended = run("audit", "--command", command, "--epsilon", 0.1, "--runs", 2000, *PAIR)
    assert (ended.code, ended.document["epsilon_at_least"]) == (0, 0)
    said = " ".join(run("audit", "--command", command, "--epsilon", 0.1, *PAIR[:-1]).out.split())
    assert "Nothing shows it above the 0.1 that it states." in said
    assert "may be left" in said


def test_one_process_may_make_one_report(script) -> None:
    """A client that starts its generator alike each time is seen to."""
    client = script("print(random.getrandbits(60))", "random.seed('always')")
    together, apart = (
        Command.of(client, one_by_one=alone).reports([1] * 3) for alone in (False, True)
    )
    assert len(set(together)) == 3
    assert apart == together[:1] * 3


# The bound


def test_the_bound_is_that_of_clopper_and_pearson() -> None:
    """They are the limits at which so many, or more, would be as rare as half of the error rate."""
    from scipy.stats import binom

    count, rate, chances = 500, 1e-3, np.linspace(0, 1, 20_001)
    for likely, unlikely in ((400, 20), (37, 2), (500, 0)):
        low = chances[np.argmax(binom.sf(likely - 1, count, chances) >= rate / 2)]
        high = chances[np.argmax(binom.cdf(unlikely, count, chances) <= rate / 2)]
        expected = max(0.0, np.log(low / high))
        assert least_epsilon(likely, unlikely, count, rate) == pytest.approx(expected, abs=5e-3)
    assert least_epsilon(0, 0, count, rate) == 0
    assert least_epsilon(3, 500, count, rate) == 0


@pytest.mark.slow
def test_a_sound_client_is_accused_no_more_often_than_stated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 200 audits at an error rate of 0.2 of a client that is exactly at its ε.

    They accuse it 40 times at most on average; more than 72 times would happen once in 10⁷. An audit
    that judges the very reports from which it chose, which is the bug planted here, does so.
    """
    random = np.random.default_rng(5)
    keep = np.e / (np.e + 199)

    class Sound:
        def reports(self, records, advance):
            others = (np.array(records) + random.integers(1, 200, len(records))) % 200
            kept = random.random(len(records)) < keep
            return [str(value) for value in np.where(kept, records, others)]

    def accusations() -> int:
        options = {"records": (0, 1), "runs": 400, "error_rate": 0.2}
        audits = (blackbox.audit_command(Sound(), 1.0, **options) for _ in range(200))
        return sum(not each.passed for each in audits)

    assert accusations() <= 72
    sound, batches = blackbox._reports, []

    def same(command, pair, count, advance):
        if len(batches) % 3 == 0:
            batches.append(sound(command, pair, 100, advance))
        else:
            batches.append(batches[-1])
        return tuple(reports[:count] for reports in batches[-1])

    monkeypatch.setattr(blackbox, "_reports", same)
    assert accusations() > 72


# What is asked


@pytest.mark.parametrize("mechanism", ["InpHT", "MargRR", "InpEM", "InpPS", "Subspace"])
def test_the_pair_is_told_apart_and_the_law_says_by_what(mechanism: str) -> None:
    schema = Schema.of(
        sex=["f", "m"], age=(18, 90), job=list("abcde"), moved=("2020-01-01", "2020-12-31")
    )
    survey = Survey(
        schema if mechanism == "Subspace" else Schema.binary(*"abcde"), 2, 2.0, mechanism
    )
    first, second = telling_pair(survey)
    assert json.loads(json.dumps([first, second])) == [first, second]
    assert telling_pair(survey) == (first, second)
    leaning, source = by_law(survey, first, second), SystemSource()
    means = []
    for record in (first, second):
        values = survey.schema.decode(survey.schema.encode(record))
        total = 0.0
        for _ in range(1500):
            question = survey.question(survey.draw_slot(source))
            value = question.reply(values, source)
            total += leaning.of(json.dumps({"slot": str(question.slot), "value": str(value)}))
        means.append(total / 1500)
    # Leanings are -5 to 5, so a mean is off by 0.03 or so; these are apart by 0.3 at least.
    assert means[0] - means[1] > 0.15


def test_reports_that_no_survey_has_are_refused() -> None:
    survey = Survey(Schema.binary(*"abc"), 2, 1.0, "InpHT")
    leaning = by_law(survey, *telling_pair(survey))
    for report in ("1", '{"slot": 1, "value": 1}', '{"slot": "99", "value": "1"}', "no JSON",
                   '{"slot": "1", "value": "2"}', "[" * 100_000):  # fmt: skip
        with pytest.raises(ReportError) as refused:
            leaning.of(report)
        assert str(refused.value).count(".") >= 1


def test_parts_of_reports() -> None:
    assert parts_of('{"a": [true, 5], "b": "xy"}') == [
        (("a", 0), "True"), (("a", 1), "5"), (("a", 1), "bit", 0), (("a", 1), "bit", 2),
        (("b",), "'xy'"), (("b",), 0, "x"), (("b",), 1, "y"),
    ]  # fmt: skip
    assert parts_of("no JSON")[0] == ((), "'no JSON'")
    assert parts_of("[" * 100_000)


# What is refused


REFUSED = {
    "needs a line for each record": "pass",
    "printed more lines than records": "print(1); print(2)",
    "ended with exit code 3": "sys.exit(3)",
    "a megabyte": f"print('x' * {LONGEST_REPORT + 9})",
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_a_client_that_breaks_the_protocol_is_refused(run: Run, script, sentence: str) -> None:
    command = script(REFUSED[sentence])
    ended = run("audit", "--command", command, "--epsilon", 1, "--runs", 400, *PAIR)
    assert (ended.code, ended.out) == (2, "")
    assert sentence in ended.err
    assert SECRET not in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--command", "client"), "give a survey, or --epsilon"),
        (("--command", "client", "--epsilon", 1), "Give two records"),
        (("--command", "no-such-client", "--epsilon", 1, *PAIR), "cannot be started"),
        (("--command", "'", "--epsilon", 1, *PAIR), "never closed"),
        (("--command", " ", "--epsilon", 1, *PAIR), "is empty"),
        (("--command", "client {survey}", "--epsilon", 1, *PAIR), "no survey is given"),
        (("--command", "client", "--epsilon", 0, *PAIR), "positive finite number"),
        (("--command", "client", "--epsilon", 1, "--runs", 4, *PAIR), "runs must be 80 to"),
        (("--command", "client", "--epsilon", 9, *PAIR), "take more runs"),
        (("--command", "client", "--epsilon", 1, "--error-rate", 2, *PAIR), "error rate must be"),
        (("--command", "client", "--mechanism", "InpHT"), "is audited on a survey"),
        (("--runs", 5), "need a --command"),
        (("--records", "two.jsonl"), "need a --command"),
        (("--command", "client", "--epsilon", 1, "--records", "one.jsonl"), "two different records"),
        (("--command", "client", "--epsilon", 1, "--records", "none.jsonl"), "cannot be read"),
        (("--command", "client", "--epsilon", 1, "--records", "bad.jsonl"), "as JSON on each line"),
        (("a.json", "--survey", "b.json", "--command", "client"), "Give the survey once"),
    ],
)  # fmt: skip
def test_what_cannot_be_audited_is_refused(
    run: Run, tmp_path: Path, arguments: tuple[object, ...], sentence: str
) -> None:
    (tmp_path / "two.jsonl").write_text("0\n1\n")
    (tmp_path / "one.jsonl").write_text("0\n0\n")
    (tmp_path / "bad.jsonl").write_text(f"{SECRET}\n1\n")
    ended = run("audit", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert sentence in ended.err
    assert SECRET not in ended.err


def test_a_record_that_the_survey_does_not_have_is_refused(run: Run, survey: Path) -> None:
    Path("two.jsonl").write_text(f'{{"a": "{SECRET}"}}\n{{"a": true}}\n')
    ended = run("audit", survey, "--command", "client", *PAIR)
    assert (ended.code, ended.out) == (2, "")
    assert SECRET not in ended.err


def test_a_command_is_no_shell_text(run: Run, tmp_path: Path) -> None:
    (tmp_path / "two.jsonl").write_text("0\n1\n")
    command = f"{PYTHON} -c 'print(1)' ; touch planted $(touch planted) `touch planted` > planted"
    run("audit", "--command", command, "--epsilon", 1, *PAIR)
    assert not (tmp_path / "planted").exists()
    assert Command.of(command).arguments[3:5] == (";", "touch")
    with pytest.raises(DataError, match="more runs"):
        blackbox.check_numbers(most_shown(1000, 1e-6), 1000, 1e-6)
