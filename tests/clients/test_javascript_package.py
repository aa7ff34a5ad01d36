"""The npm package: its own tests, what is built from it, its types, and the examples of its page."""

from __future__ import annotations

import ast
import hashlib
import itertools
import json
import random
import re
import shutil
import subprocess
from math import prod
from pathlib import Path
from typing import Any

import pytest
from client_parts import ROOT, Driven, lacking
from fake_collector import FakeCollector

from deniable import Schema, Survey
from deniable.errors import SurveyError
from deniable.mechanisms.registry import MECHANISMS
from deniable.questions.answers import Bitwise, Subset, Unary
from deniable.questions.attribute import Attribute
from deniable.questions.entropy import WORD, Key
from deniable.questions.exact import exponential
from deniable.questions.question import Parities, Question, Term

PACKAGE = ROOT / "clients" / "js"
BUILT = ("deniable.min.js", "asking.min.js", "labels.min.js")
NAMES = (*MECHANISMS, "InpHTBits")


def example(page: Path, language: str) -> str:
    (text,) = re.findall(rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
    return str(text)


def filled(text: str, collector: FakeCollector) -> str:
    return text.replace("SURVEY_ID", collector.survey.id).replace(
        "https://collector.example", collector.url
    )


@pytest.mark.parametrize("name", sorted(path.name for path in PACKAGE.glob("test/*.test.js")))
def test_its_own_tests_pass(node: str, name: str) -> None:
    run = [node, "--test", str(PACKAGE / "test" / name)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "# fail 0" in done.stdout or "ℹ fail 0" in done.stdout


def test_what_is_built_is_up_to_date(node: str) -> None:
    digest = hashlib.sha256()
    for path in sorted((PACKAGE / "src").iterdir()):
        digest.update(f"{path.name}\n{path.read_text('utf-8')}".encode())
    for name in BUILT:
        built = (PACKAGE / "dist" / name).read_text("utf-8")
        banner = f"/* deniable {digest.hexdigest()[:16]} */\n"
        assert built.startswith(banner), f"run npm run build in {PACKAGE.name}: {name} is old"
    run = [node, str(PACKAGE / "build.js"), "--check"]
    assert subprocess.run(run, check=False).returncode == 0


def test_an_old_build_is_noticed(node: str, tmp_path: Path) -> None:
    copy = shutil.copytree(PACKAGE, tmp_path / "js", ignore=shutil.ignore_patterns("node_modules"))
    with (copy / "src" / "exact.js").open("a") as file:
        file.write("// changed\n")
    run = [node, str(copy / "build.js"), "--check"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "deniable.min.js is not up to date" in done.stderr


def test_a_build_gives_the_same_bytes(node: str, tmp_path: Path) -> None:
    copy = shutil.copytree(PACKAGE, tmp_path / "js", symlinks=True)
    for name in BUILT:
        (copy / "dist" / name).unlink()
    form = json.loads((PACKAGE / "package.json").read_text("utf-8"))
    installed(node, copy, "esbuild", form["devDependencies"]["esbuild"])
    subprocess.run([node, str(copy / "build.js")], check=True, capture_output=True)
    for name in BUILT:
        assert (copy / "dist" / name).read_bytes() == (PACKAGE / "dist" / name).read_bytes()


def test_the_built_client_is_small_and_needs_nothing() -> None:
    built = (PACKAGE / "dist" / "deniable.min.js").read_bytes()
    assert len(built) < 10_000
    for name in BUILT:
        text = (PACKAGE / "dist" / name).read_text("utf-8")
        assert not re.search(r"\bimport\b|\brequire\b|Math\.random", text)
    said = (ROOT / "docs" / "clients.md").read_text("utf-8")
    for name in BUILT:
        size = (PACKAGE / "dist" / name).stat().st_size
        assert f"`dist/{name}` ({size:,} bytes)" in said
    extra = [(PACKAGE / "dist" / name).stat().st_size / 1000 for name in BUILT[1:]]
    page = (PACKAGE / "README.md").read_text("utf-8")
    assert re.findall(r"another (\S+) kB", page) == [f"{size:.1f}" for size in extra]


def test_every_reason_to_refuse_is_explained() -> None:
    given = set[str]()
    for path in PACKAGE.glob("src/*.js"):
        given |= set(re.findall(r'(?:refuse|Refused)\("(\w+)"', path.read_text("utf-8")))
    beside = (PACKAGE / "index.d.ts").read_text("utf-8").partition("A stable word:")[2]
    assert {reason for reason in given if f"`{reason}`" not in beside} == set()
    for path in (ROOT / "src" / "deniable" / "client").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(ast.Name("RefusedError"), [_, ast.Constant(str(reason))]):
                    given.add(reason)
    table = (ROOT / "docs" / "clients.md").read_text("utf-8").partition("## Refusals")[2]
    told = re.findall(r"^\| (`.*?) \|", table, re.M)
    assert {"labels", "ticket"} <= given
    assert {reason for reason in given if f"`{reason}`" not in " ".join(told)} == set()


def test_the_package_holds_what_it_exports() -> None:
    form = json.loads((PACKAGE / "package.json").read_text("utf-8"))
    assert "dependencies" not in form
    for target in form["exports"].values():
        assert all((PACKAGE / path).is_file() for path in target.values())
    for path in PACKAGE.glob("src/*.js"):
        taken = re.findall(r'from "([^"]+)"', path.read_text("utf-8"))
        outside = [name for name in taken if not name.startswith("./")]
        assert outside == (["node:fs", "node:path"] if path.name == "file.js" else [])


def test_the_types_hold(node: str, tmp_path: Path) -> None:
    compiler = installed(node, tmp_path, "typescript", "5") / "bin" / "tsc"
    told = [node, str(compiler), "-p", str(PACKAGE / "test" / "tsconfig.json")]
    done = subprocess.run(told, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def installed(node: str, folder: Path, name: str, version: str) -> Path:
    """Return where a tool is: in the package's folder, or installed now into another one."""
    found = PACKAGE / "node_modules" / name
    if not found.is_dir():
        found = folder / "node_modules" / name
        told = [*npm(node), "install", "--no-save", "--no-package-lock", "--no-audit"]
        told += ["--prefix", str(folder), f"{name}@{version}"]
        subprocess.run(told, capture_output=True, check=False, timeout=600)
    if not found.is_dir():
        lacking(f"no {name} is installed (npm install --no-save {name}@{version} in clients/js)")
    return found


def npm(node: str) -> list[str]:
    """Return how npm is called: the installed one, or that of the package with Node."""
    installed = shutil.which("npm")
    inside = Path(node).parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return [installed] if installed else [node, str(inside)]


def test_the_example_for_node_runs(node: str, collector: FakeCollector, tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "deniable").symlink_to(PACKAGE, target_is_directory=True)
    script = tmp_path / "example.mjs"
    script.write_text(filled(example(PACKAGE / "README.md", "js"), collector), "utf-8")
    done = subprocess.run([node, script.name], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    (kept,) = collector.counted.values()
    text, sent = done.stdout.splitlines()
    assert text == collector.survey.question(int(kept["slot"])).english(full=True)
    assert sent == f"Sent: {['no', 'yes'][int(kept['value'])]}."


def test_the_example_for_python_runs(
    collector: FakeCollector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = filled(example(ROOT / "docs" / "clients.md", "py"), collector)
    exec(compile(text, "clients.md", "exec"), {})
    assert len(collector.counted) == 1


def test_english_and_limits_agree_on_questions_at_random(node: str) -> None:
    """Thresholds anywhere, near simple fractions, and at the edge of what an epsilon allows."""
    draw = random.Random(7)
    terms = [Term(name, (True,)) for name in ("a", "b", "c")]
    asks = Parities(tuple((term,) for term in terms))
    made = []
    for _ in range(1_500):
        denominator = draw.randrange(2, 14)
        near = WORD * draw.randrange(1, denominator) // denominator
        off = draw.choice((0, 1, -1, 2**33, -(2**33), 2**35)) * draw.randrange(2)
        t = draw.choice(
            (draw.randrange(1, WORD), near + off, WORD * draw.randrange(1, 10_000) // 10_000)
        )
        epsilon = draw.choice((draw.uniform(0.01, 3), draw.randrange(1, 30) / 10))
        answer = draw.choice(
            (
                Subset(8, draw.randrange(1, 8), t),
                Subset.within(epsilon, 8, draw.randrange(1, 8)),
                Unary(8, max(t, WORD - t), min(t, WORD - t)) if 2 * t != WORD else Subset(8, 1, 5),
                Bitwise.within(epsilon, 3),
            )
        )
        if answer.ratio > 1:
            made.append((Question("s", 0, asks, answer), epsilon))
    driven = Driven(node, "speak.mjs")
    rows = [{"question": q.to_json(), "limit": e} for q, e in made]
    told = driven.tell({"kind": "question", "told": rows})
    driven.close()
    for (question, epsilon), came in zip(made, told, strict=True):
        assert came["english"] == question.english(full=True)
        assert came["exceeds"] == (question.ratio > exponential(epsilon))
    assert {came["exceeds"] for came in told} == {False, True}


def test_questions_are_derived_alike_from_surveys_at_random(node: str) -> None:
    """Every mechanism, attributes of two to many values, workloads: slots at random, and both ends."""
    draw = random.Random(11)
    surveys: list[Survey] = []
    while len(surveys) < 120:
        count = draw.randrange(1, 6)
        most = draw.choice((2, 3, 12, 30))
        sizes = [draw.randrange(2, most + 1) for _ in range(count)]
        schema = Schema(tuple(Attribute(f"a{i}", tuple(range(r))) for i, r in enumerate(sizes)))
        name = draw.choice(NAMES)
        options = {}
        if name in {"Subspace", "InpES"} and draw.randrange(2):
            options["workload"] = [tuple(draw.sample(schema.names, min(2, count)))]
        try:
            surveys.append(
                Survey(schema, draw.randrange(1, min(3, count) + 1), 1.5, name, **options)
            )
        except SurveyError:
            continue  # too large for this mechanism
    rows, expected = [], []
    for turn, survey in enumerate(surveys):
        slots = {0, survey.slots - 1, *(draw.randrange(survey.slots) for _ in range(4))}
        source = Key.seeded(f"words {turn}").stream()
        words = [str(source.word()) for _ in range(40)]
        rows.append(
            {
                "survey": json.loads(survey.to_json()),
                "id": survey.id,
                "slots": [str(slot) for slot in slots],
                "words": words,
            }
        )
        expected.append(
            {
                "questions": [survey.question(slot).to_json() for slot in slots],
                "drawn": str(survey.draw_slot(Key.seeded(f"words {turn}").stream())),
            }
        )
    driven = Driven(node, "speak.mjs")
    told = driven.tell({"kind": "survey", "told": rows})
    driven.close()
    for row, one, other in zip(rows, told, expected, strict=True):
        assert one == other, row["survey"]["mechanism"]
    assert {survey.mechanism.name for survey in surveys} == set(NAMES)


def _hostile(draw: random.Random, sound: Question, schema: Schema) -> dict[str, Any]:
    """Return a question that a collector may have made up, some of them sound."""

    def term(whole: bool) -> dict[str, Any]:
        asked = draw.choice(schema.attributes)
        values = list(asked.values)
        if not whole or draw.random() < 0.2:
            values = draw.sample(values, draw.randrange(1, len(values) + 1))
            values = values if draw.random() < 0.2 else [v for v in asked.values if v in values]
        return {"attribute": asked.name, "values": values}

    form = sound.to_json()
    if draw.random() < 0.5:
        asks: dict[str, Any] = {"cell": [term(True) for _ in range(draw.randrange(1, 4))]}
        symbols = prod(len(each["values"]) for each in asks["cell"])
    else:
        bits = range(draw.randrange(1, 4))
        asks = {"parities": [[term(False) for _ in range(draw.randrange(1, 3))] for _ in bits]}
        symbols = 1 << len(bits)
    if draw.random() < 0.2:
        symbols = draw.choice((1, 2, symbols + 1, max(2, symbols - 1)))
    t = draw.choice((WORD // 2, WORD * 5 // 8, WORD - 1, WORD, 0, WORD // symbols, 2 * WORD, -5))
    t += draw.choice((0, 0, 1))
    way = draw.choice(
        (
            {"way": "subset", "symbols": symbols, "chosen": 1, "threshold": str(t)},
            {"way": "subset", "symbols": symbols, "chosen": draw.randrange(4), "threshold": str(t)},
            {"way": "unary", "symbols": symbols, "own": str(t), "other": str(WORD // 2 - 1)},
            {"way": "bitwise", "bits": symbols.bit_length() - 1, "threshold": str(WORD // 2 + 9)},
            {"way": "bitwise", "bits": symbols.bit_length() - 1, "threshold": str(t)},
        )
    )
    return form | {"asks": asks, "answer": way}


def test_what_is_taken_from_a_hostile_collector_is_safe(node: str) -> None:
    """Whatever question the client takes, without deriving it, is one that keeps its epsilon.

    Its ratio is bounded, and every record has a true answer among its symbols, Python's own.
    """
    draw = random.Random(13)
    schema = Schema.of(a=[False, True], b=["x", "y", "z"], c=[1, 2, 3, 4])
    survey = Survey(schema, 2, 1.0, "MargPS")
    codes = itertools.product(*(range(a.size) for a in schema.attributes))
    records = [schema.decode(each) for each in codes]
    posed = [_hostile(draw, survey.question(0), schema) for _ in range(4_000)]
    known = {"survey": json.loads(survey.to_json()), "id": survey.id, "limit": 1.0}
    driven = Driven(node, "speak.mjs")
    rows = [known | {"question": form, "records": records} for form in posed]
    told = driven.tell({"kind": "hostile", "told": rows})
    driven.close()
    taken = [(form, symbols) for form, symbols in zip(posed, told, strict=True) if symbols]
    for form, symbols in taken:
        question = Question.from_json(form)
        assert question.ratio <= exponential(1.0)
        assert len(question.attributes) <= 2
        assert [int(symbol) for symbol in symbols] == [question.asks.symbol(r) for r in records]
        assert all(0 <= int(symbol) < question.answer.symbols for symbol in symbols)
    assert 100 < len(taken) < 2_000
    assert {form["answer"]["way"] for form, _ in taken} == {"subset", "unary", "bitwise"}
    assert {next(iter(form["asks"])) for form, _ in taken} == {"cell", "parities"}
