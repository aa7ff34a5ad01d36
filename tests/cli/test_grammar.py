"""One grammar for all commands: data comes first, choices are known, and no message misleads."""

from __future__ import annotations

import ast
import dis
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest
from cli_parts import NAMES, Run, commands, foreign_options, options_of

import deniable
from deniable.analysis.regression.kinds import Kind, Method
from deniable.cli.app import main
from deniable.cli.links import FORMATS
from deniable.decoding.decoder import ESTIMATORS
from deniable.design.reading import GOALS
from deniable.lab.rivals.registry import RIVALS
from deniable.messages import modes
from deniable.planning.shuffle import SLOTS
from deniable.release.consistency import CONSISTENCY

FIRST = {
    **dict.fromkeys(("plan", "simulate", "new", "randomize"), "data"),
    **dict.fromkeys(("release", "compare"), "tallies"),
    **dict.fromkeys(("explain", "audit", "deploy"), "survey"),
    **dict.fromkeys(
        ("reports", "backup", "migrate", "advance", "issued", "close", "reopen"), "store"
    ),
    "tally": "reports",
    "check": "url",
    "serve": "surveys",
    "restore": "file",
    "regress": "reports",
    "submit": "record",
    "reproduce": "names",
    "cite": "source",
    "studio": "folder",
    **dict.fromkeys(("analysts add", "analysts link", "analysts revoke"), "name"),
    **dict.fromkeys(("audit-log show", "audit-log verify"), "file"),
    **dict.fromkeys(("survey-log mirror", "survey-log verify"), "file"),
    "keys rotate": "kinds",
    "keys retire": "kind",
}
"""What each command is about, which comes first; the others are about nothing that is there."""


def test_what_a_command_is_about_is_its_first_argument() -> None:
    for name, command in commands().items():
        arguments = [each.name for each in command.params if each.param_type_name == "argument"]
        assert (arguments or [None])[0] == FIRST.get(name), name
        assert name == "reproduce" or "--data" not in options_of(name)
    assert commands().keys() - FIRST.keys() == {
        *("demo", "issue", "keys list", "analysts list", "audit-log export")
    }


# Choices

MODES = {
    ("plan", "--aim"): GOALS,
    ("simulate", "--aim"): GOALS,
    ("new", "--aim"): GOALS,
    ("plan", "--slots"): SLOTS,
    ("serve", "--slots"): modes.choices(modes.Slots),
    ("serve", "--participants"): modes.choices(modes.Participants),
    ("serve", "--keep"): modes.choices(modes.Keep),
    ("issue", "--format"): FORMATS,
    ("tally", "--invalid"): modes.choices(modes.Invalid),
    ("tally", "--engine"): modes.choices(modes.Engine),
    ("simulate", "--estimator"): ESTIMATORS,
    ("simulate", "--consistency"): CONSISTENCY,
    ("release", "--consistency"): CONSISTENCY,
    ("regress", "--kind"): modes.choices(Kind),
    ("regress", "--method"): modes.choices(Method),
}
MECHANISMS = {
    ("new", "--mechanism"): ("auto", *NAMES),
    ("simulate", "--mechanism"): ("auto", "all", *NAMES, *RIVALS),
    ("audit", "--mechanism"): ("all", *NAMES),
}
Complete = Callable[..., list[str]]


@pytest.fixture
def complete(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Complete:
    """Return what a shell offers in place of the last word: it runs the command with a variable."""

    def offer(*words: str) -> list[str]:
        monkeypatch.setattr(sys, "argv", ["deniable"])
        monkeypatch.setenv("_DENIABLE_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", " ".join(("deniable", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        with pytest.raises(SystemExit):
            main()
        return list(filter(None, capfd.readouterr().out.splitlines()))

    return offer


@pytest.mark.parametrize(("command", "option"), [*MODES, *MECHANISMS])
def test_a_shell_completes_every_choice(complete: Complete, command: str, option: str) -> None:
    names = (MODES | MECHANISMS)[command, option]
    assert complete(command, "x", option, "") == list(names)
    start = names[-1][:3]
    assert complete(command, "x", option, start) == [n for n in names if n.startswith(start)]
    assert complete(command, "x", option, "nonsense") == []


def test_a_shell_completes_commands_options_and_names_behind_a_comma(complete: Complete) -> None:
    assert sorted(complete("re")) == [
        *("regress", "release", "reopen", "reports", "reproduce", "restore")
    ]
    assert complete("release", "--wei") == ["--weights"]
    assert complete("audit", "--mechanism", "InpHT,Sub") == ["InpHT,Subspace"]


@pytest.mark.parametrize(("command", "option"), [*MODES, *MECHANISMS])
def test_a_choice_is_checked_before_anything_is_read(run: Run, command: str, option: str) -> None:
    needed = {
        "new": ("-o", "s.json"),
        "release": ("-o", "x.csv"),
        "tally": ("-o", "x.tally"),
        "regress": ("a ~ b",),
    }
    for wrong in ("nonsense", "", "TABLES"):
        first = () if command == "audit" else ("nowhere",)
        ended = run(command, *first, *needed.get(command, ()), option, wrong)
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        if (command, option) in MODES:
            several = modes.in_words([*map(repr, MODES[command, option])])
            assert ended.err == f"deniable: {option} must be {several}, got {wrong!r}.\n"
        else:
            assert ended.err.startswith(f"deniable: There is no mechanism {wrong!r}; there are")
            assert all(name in ended.err for name in NAMES)


def test_a_mechanism_is_taken_in_any_case(run: Run, data: Path) -> None:
    for command in (("new", "-o", "s.json"), ("simulate",)):
        assert run(command[0], data, *command[1:], "--mechanism", "inpht").code == 0


def test_every_option_with_choices_is_known_here() -> None:
    for name, command in commands().items():
        for parameter in command.params:
            if parameter.param_type_name == "option" and "|" in (parameter.metavar or ""):
                assert parameter.metavar == "|".join(MODES[name, parameter.opts[0]])


# Messages


def _uses(source: CodeType, scope: dict[str, Any]) -> Iterator[Any]:
    """Yield what a function names beyond itself: globals, what is in modules, and its constants."""
    module = None
    for step in dis.get_instructions(source):
        if step.opname == "LOAD_GLOBAL":
            each = scope.get(step.argval)
            module = each if isinstance(each, ModuleType) else None
            yield each
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and module is not None:
            yield getattr(module, step.argval, None)
            module = None
    for each in source.co_consts:
        if isinstance(each, CodeType):
            yield from _uses(each, scope)
        else:
            yield each


def _texts(start: FunctionType) -> Iterator[str]:
    """Yield the texts of a command, and of all in the command line that it may come to."""
    waiting: list[Any] = [start]
    seen: set[int] = set()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, str):
            yield each
        elif isinstance(each, type) and each.__module__.startswith("deniable.cli."):
            waiting += [part for part in vars(each).values() if isinstance(part, FunctionType)]
        elif isinstance(each, FunctionType) and each.__module__.startswith("deniable.cli."):
            inner: Any = getattr(each, "__wrapped__", each)
            waiting += inner.__defaults__ or ()
            uses = _uses(inner.__code__, inner.__globals__)
            waiting += [use for use in uses if not isinstance(use, str) or use != inner.__doc__]


def test_no_text_of_a_command_names_an_option_that_it_lacks() -> None:
    wrong = {}
    for name, command in commands().items():
        callback = getattr(command.callback, "__wrapped__", command.callback)
        texts = list(_texts(callback))
        assert len(texts) > 3, name
        wrong[name] = {text for text in texts if foreign_options(name, text)}
    assert not any(wrong.values()), wrong


def test_the_search_of_texts_finds_a_misleading_one() -> None:
    def misled() -> None:
        raise ValueError("Column 'x' is not true/false; --observed takes the values that occur.")

    misled.__module__ = "deniable.cli.planted"
    (text,) = (text for text in _texts(misled) if "--" in text)
    assert foreign_options("new", text) == {"--observed"}
    assert not foreign_options("plan", text)
    assert not foreign_options("new", "`deniable simulate` has --observed for that.")
    assert foreign_options("new", "No such option --obs.", said=("--obs",)) == set()


def test_every_option_in_a_refusal_of_the_library_exists() -> None:
    every = frozenset().union(*map(options_of, commands()))
    found = 0
    for path in sorted(Path(deniable.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            for part in ast.walk(node) if isinstance(node, ast.Raise) else ():
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    found += "--" in part.value
                    assert not foreign_options("demo", part.value, said=every), path
    assert found > 20


@pytest.mark.parametrize(
    ("command", "is_offered"), [("new", False), ("plan", True), ("simulate", True)]
)
def test_only_commands_that_take_observed_values_offer_it(
    run: Run, tmp_path: Path, command: str, is_offered: bool
) -> None:
    (tmp_path / "text.csv").write_text("name,other\nx,true\ny,false\n")
    output = ("-o", "s.json") if command == "new" else ()
    ended = run(command, "text.csv", *output)
    assert ended.code == 2
    assert "declare what it may hold with --values" in ended.err
    assert ("--observed" in ended.err) == is_offered
    assert (run(command, "text.csv", *output, "--observed").code == 0) == is_offered


@pytest.mark.slow
def test_a_completion_loads_nothing_heavy(tmp_path: Path) -> None:
    from cli_parts import spawn

    words = {"COMP_WORDS": "deniable plan --aim ", "COMP_CWORD": "3"}
    variables = words | {"_DENIABLE_COMPLETE": "complete_bash", "PYTHONPROFILEIMPORTTIME": "1"}
    ended = spawn("x", cwd=tmp_path, **variables, PATH=os.environ["PATH"])
    loaded = {line.rpartition(b"|")[2].strip() for line in ended.stderr.splitlines()}
    assert b"deniable.cli.app" in loaded
    assert not loaded & {b"scipy", b"pandas", b"duckdb", b"altair"}
