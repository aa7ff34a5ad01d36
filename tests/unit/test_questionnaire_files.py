"""A questionnaire's file as an enemy writes it, or somebody in a hurry: YAML, TOML and JSON."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from deniable.errors import QuestionnaireError
from deniable.questionnaire import Questionnaire
from deniable.questionnaire.reading import read_form

HEAD = "deniable: questionnaire\nformat: 1\nlanguages: [no]\ntitle: T\nattributes:\n"
BOMB = "a: &a [" + ", ".join(["lol"] * 9) + "]\n" + "".join(
    f"{after}: &{after} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, after in zip("abcdefghi", "bcdefghij", strict=True)
)  # fmt: skip


def read(folder: Path, text: str | bytes, ending: str = "yaml") -> Any:
    path = folder / f"f.{ending}"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_form(path)


def test_yaml_is_read_as_its_core_of_today(tmp_path: Path) -> None:
    text = """
        no: [yes, no, on, off, y, true, False, 1_000, 0o7, 012, 12:30, 2026-11-01, 1e3, .5, -7, '1']
        x: &x {a: 1, b: [*y]}
    """.replace("*y", "2")
    assert read(tmp_path, text + "\n        again: *x\n") == {
        "no": [
            *(
                "yes",
                "no",
                "on",
                "off",
                "y",
                True,
                False,
                "1_000",
                "0o7",
                12,
                "12:30",
                "2026-11-01",
            ),
            *(1000.0, 0.5, -7, "1"),
        ],
        "x": {"a": 1, "b": [2]},
        "again": {"a": 1, "b": [2]},
    }


def test_toml_and_json_say_the_same(tmp_path: Path) -> None:
    form = {"deniable": "questionnaire", "low": "2026-11-01", "list": [{"a": 1}, {"a": 2.5}]}
    toml = 'deniable = "questionnaire"\nlow = 2026-11-01\n[[list]]\na = 1\n[[list]]\na = 2.5\n'
    read_toml = read(tmp_path, toml, "toml")
    assert read_toml | {"low": str(read_toml["low"])} == form
    text = '{"deniable": "questionnaire", "low": "2026-11-01", "list": [{"a": 1}, {"a": 2.5}]}'
    assert read(tmp_path, text, "json") == form
    questionnaire = (
        'deniable="questionnaire"\nformat=1\nlanguages=["en"]\ntitle="T"\n[[attributes]]\n'
    )
    questionnaire += 'name="day"\nwording="When?"\nlow=2026-01-01\nhigh=2026-01-08\ncomplete=true\n'
    (tmp_path / "q.toml").write_text(questionnaire)
    assert Questionnaire.read(tmp_path / "q.toml").schema.attributes[0].levels == 8


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'f.yaml', line 1: there is nothing."),
        ("a: 1\n---\nb: 2\n", "there is more than one document"),
        ("a: 1\na: 2\n", "'f.yaml', line 2: the field 'a' is there twice."),
        ("1: a\n", "line 1: a field's name is a text: put it in quotes"),
        ("[a]: b\n", "a field's name is a text"),
        ("a: !!python/object/apply:os.system ['true']\n", "line 1: tags are not taken"),
        ("a: !!str 1\n", "tags are not taken"),
        ("a: *b\n", "there is no &b before *b"),
        ("a: &a [*a]\n", "there is no &a before *a"),
        ("a: &a {b: *a}\n", "there is no &a before *a"),
        ("a: .nan\n", "numbers are finite"),
        ("a: [1\n", "'f.yaml' is not YAML, line 2: "),
        ("a: 1\nb: \x07\n", "'f.yaml' is not YAML, line 2: it has a control sign."),
        (BOMB, "it stands for more than a questionnaire may hold"),
        ("a: &a " + "x" * 5_000_000 + "\nb: [" + "*a, " * 10 + "1]\n", "stands for more than"),
        ("[" * 10_000 + "]" * 10_000, "it is nested more than 32 deep"),
        ("{a: " * 40 + "1" + "}" * 40, "it is nested more than 32 deep"),
        ("- " * 5_000 + "a", "it is nested more than 32 deep"),
        (b"a: \xff\n", "it is not UTF-8"),
        (b"a" * (9 << 20), "it is larger than 8 MB"),
    ],
)
def test_yaml_that_goes_too_far_is_refused(tmp_path: Path, text: Any, message: str) -> None:
    begin = time.process_time()
    with pytest.raises(QuestionnaireError) as refusal:
        read(tmp_path, text)
    assert message in str(refusal.value)
    assert len(str(refusal.value)) < 300
    assert time.process_time() - begin < 5


@pytest.mark.parametrize(
    ("ending", "text", "message"),
    [
        ("json", '{\n"a": 1\n"b": 2}', "'f.json' is not JSON, line 3: Expecting ',' delimiter."),
        ("json", '{"a": 1, "a": 2}', "'f.json' is not JSON (a field is named twice)."),
        ("json", "[" * 100_000, "'f.json' is not JSON"),
        ("toml", "a = ", "'f.toml' is not TOML: "),
        ("toml", "a = 1\na = 2", "'f.toml' is not TOML: "),
        ("toml", "a = " + "[" * 100_000, "'f.toml' is not TOML: "),
        ("toml", "a = " + "9" * 100_000, "'f.toml' is not TOML: "),
        ("toml", "b = 1\n[" + "a." * 1_000_000 + "b]", "line 2: it is nested more than 32 deep."),
        ("toml", "'a' . \"b\"." * 400_000 + "c = 1", "line 1: it is nested more than 32 deep."),
        ("toml", "a" * 4_000_000 + "\"'" * 1_000_000, "'f.toml' is not TOML: "),
        ("csv", "a,b", "A questionnaire's file ends in .yaml, .yml, .toml, .json, got 'f.csv'."),
    ],
)
def test_other_files_are_refused(tmp_path: Path, ending: str, text: str, message: str) -> None:
    with pytest.raises(QuestionnaireError) as refusal:
        read(tmp_path, text, ending)
    assert message in str(refusal.value)
    assert len(str(refusal.value)) < 300


@pytest.mark.parametrize(
    ("ending", "text"), [("yaml", "a: ä"), ("toml", 'a = "ä"'), ("json", '{"a": "ä"}')]
)
def test_a_byte_order_mark_is_no_text(tmp_path: Path, ending: str, text: str) -> None:
    assert read(tmp_path, f"\ufeff{text}\r\n", ending) == {"a": "ä"}


def test_there_may_be_no_file(tmp_path: Path) -> None:
    with pytest.raises(QuestionnaireError, match=r"There is no questionnaire 'none.yaml'"):
        read_form(tmp_path / "none.yaml")
    (tmp_path / "d.yaml").mkdir()
    with pytest.raises(QuestionnaireError, match="cannot be read"):
        read_form(tmp_path / "d.yaml")


def test_an_alias_that_fits_is_taken_and_stays_small(tmp_path: Path) -> None:
    """A scale of answers is written once; what many aliases stand for counts, and is refused early."""
    scale = "values: &scale [never, often]"
    items = f"  - {{name: a, wording: A?, {scale}, complete: true}}\n" + "".join(
        f"  - {{name: a{i}, wording: A?, values: *scale, complete: true}}\n" for i in range(200)
    )
    (tmp_path / "q.yaml").write_text(HEAD + items)
    questionnaire = Questionnaire.read(tmp_path / "q.yaml")
    assert questionnaire.languages == ("no",)
    assert {each.values for each in questionnaire.schema.attributes} == {("never", "often")}
    (tmp_path / "bomb.yaml").write_text(BOMB)
    tracemalloc.start()
    with pytest.raises(QuestionnaireError):
        read_form(tmp_path / "bomb.yaml")
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


def test_forms_from_programs_are_read_as_strictly() -> None:
    loop: list[Any] = []
    loop.append(loop)
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    for form, message in (
        (loop, "nested at most 32 deep"),
        (deep, "nested at most 32 deep"),
        ({"a": [{"name": "b", 1: 2}]}, "The questionnaire: a, 'b': the name of a field is a text"),
        ({"a": {1}}, "The questionnaire: a must be a text, a number, true or false, a day"),
        ({"a": b"x"}, "a must be a text"),
        ({"a": [1, float("nan")]}, "The questionnaire: a, 2 must be a finite number"),
        (
            {"a": [{"name": "b", "wording": {"de": None}}]},
            "a, 'b': wording: de is empty: fill it in",
        ),
        (7, "must be a mapping of fields"),
        ("x", "must be a mapping of fields"),
    ):
        with pytest.raises(QuestionnaireError, match=message):
            Questionnaire.of(form)
