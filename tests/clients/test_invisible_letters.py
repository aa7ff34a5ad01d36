"""Letters that show nothing: both clients refuse them in labels, and name them elsewhere."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from deniable import Schema, Survey
from deniable.errors import DeniableError, SurveyError
from deniable.formats.forms import check_form
from deniable.questions.legible import legible
from deniable.schema.labels import Labels

SOURCES = Path(__file__).parents[2] / "clients" / "js" / "src"
VECTORS = json.loads(Path(__file__).parents[1].joinpath("vectors", "letters.json").read_bytes())
PROGRAM = """
const {{ fits }} = await import({forms!r});
const {{ legible }} = await import({legible!r});
const {{ checkLabels }} = await import({labels!r});
const each = function* () {{ for (let c = 0; c < 0x110000; c++) yield String.fromCodePoint(c); }};
const codes = (is) => [...each()].filter(is).map((letter) => letter.codePointAt());
const refuses = (values) => {{
  const labels = [{{ name: "region", values }}];
  if (!labels.every((label) => fits("label", label))) return true;
  try {{ checkLabels({{ schema: {{ attributes: [] }}, labels }}); }} catch {{ return true; }}
  return false;
}};
const {{ labels, shown }} = JSON.parse(process.argv[1]);
console.log(JSON.stringify({{
  ignorable: codes((letter) => /\\p{{DI}}/u.test(letter)),
  seen: codes((letter) => fits("unit", `a${{letter}}a`)),
  words: codes((letter) => fits("line", letter)),
  prose: codes((letter) => fits("prose", `a${{letter}}a`)),
  legible: codes((letter) => legible(`a${{letter}}a`) === `a${{letter}}a`),
  refused: labels.map(({{ values }}) => refuses(values)),
  shown: shown.map(({{ text }}) => legible(text)),
}}));
"""
BLANK = {0x2800, 0x115F, 0x1160, 0x3164, 0xFFA0}


@pytest.fixture(scope="module")
def told(node: str) -> dict[str, Any]:
    """What the JavaScript client makes of every letter there is, and of the vectors."""
    urls = {name: (SOURCES / f"{name}.js").as_uri() for name in ("forms", "legible", "labels")}
    command = [node, "--input-type=module", "-e", PROGRAM.format(**urls), json.dumps(VECTORS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    form: dict[str, Any] = json.loads(done.stdout)
    return form


def fits(rule: str, form: str) -> bool:
    try:
        check_form(rule, form, SurveyError)
    except SurveyError:
        return False
    return True


LETTERS = [chr(code) for code in range(0x110000)]


@pytest.mark.slow
def test_no_label_has_a_letter_that_unicode_ignores(told: dict[str, Any]) -> None:
    """As the JavaScript engine knows them: Default_Ignorable_Code_Point."""
    ignorable = {*told["ignorable"], *BLANK}
    assert len(ignorable) > 4_000
    assert not ignorable & set(told["seen"])
    assert not ignorable & set(told["words"])


@pytest.mark.slow
def test_both_clients_judge_every_letter_alike(told: dict[str, Any]) -> None:
    for name, python in {
        "seen": lambda letter: fits("unit", f"a{letter}a"),
        "words": lambda letter: fits("line", letter),
        "prose": lambda letter: fits("prose", f"a{letter}a"),
        "legible": lambda letter: legible(f"a{letter}a") == f"a{letter}a",
    }.items():
        assert [ord(letter) for letter in LETTERS if python(letter)] == told[name], name


def test_the_vectors_are_kept_by_both_clients(told: dict[str, Any]) -> None:
    for case, other in zip(VECTORS["labels"], told["refused"], strict=True):
        try:
            Labels.of({"region": case["values"]})
            is_refused = False
        except SurveyError:
            is_refused = True
        assert is_refused == case["refused"] == other, case
    for case, other in zip(VECTORS["shown"], told["shown"], strict=True):
        assert legible(case["text"]) == case["shown"] == other, case


@pytest.mark.parametrize(
    "letter", "\u034f\u115f\u1160\u200b\u2060\u2800\u3164\ufe0f\uffa0\U000e0100"
)
def test_a_letter_that_shows_nothing_is_refused_or_shown(letter: str) -> None:
    schema = Schema.binary("a", "b")
    for labels in (
        {"region": ["x", f"x{letter}"]},
        {"region": [letter]},
        {f"re{letter}gion": ["x"]},
    ):
        with pytest.raises(DeniableError, match="can all be seen"):
            Survey(schema, 2, 1.0, labels=labels)
    assert legible(f"x{letter}") == f'"x\\u{{{ord(letter):x}}}"'
    assert not fits("line", letter)


@pytest.mark.parametrize(
    ("values", "flaw"),
    [
        (["Z\u00fcrich", "Zu\u0308rich"], "two values that look alike"),
        (["a b", "a  b"], "two values that look alike"),
        (["a b", "a\u00a0b"], "can all be seen"),
    ],
)
def test_no_two_labels_look_alike(values: list[str], flaw: str) -> None:
    with pytest.raises(SurveyError, match=flaw):
        Labels.of({"region": values})
    with pytest.raises(SurveyError, match="two labels"):
        Labels.of({"Gr\u00f6\u00dfe": ["x"], "Gro\u0308\u00dfe": ["x"]})
