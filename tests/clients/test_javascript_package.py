"""The npm package: its own tests, what is built from it, its types, and the examples of its page."""

from __future__ import annotations

import ast
import hashlib
import json
import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from client_parts import ROOT, Driven, lacking
from fake_collector import FakeCollector

from deniable import Schema, Survey
from deniable.errors import SurveyError
from deniable.formats.forms import definition
from deniable.mechanisms.registry import MECHANISMS
from deniable.questions.answers import Bitwise, Subset, Unary
from deniable.questions.entropy import WORD, Key
from deniable.questions.exact import exponential
from deniable.questions.lists import LISTS
from deniable.questions.question import Parities, Question, Term
from deniable.schema.attribute import Attribute

PACKAGE = ROOT / "clients" / "js"
PAGES = ROOT / "src" / "deniable" / "server" / "pages"
BUILT = "deniable.min.js"
BUILT_WORDS = "explain.min.js"
PIECES = ("a", "or", "Or", " or ", ",", "?", '"', "“", "»", "\\", " ", "\n", "\u00a0", "\u202e",
          "\u200b", "\x1c", "\x85", "\ufeff", " – ", "é", "ش", "😀\ufe0f", "{n}", "2")  # fmt: skip
"""What names and values may be made of."""
BUILT_PAGE = ("participant.min.js", "participant.min.css")
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
    own = sorted((PACKAGE / "src").iterdir())
    page = [*own, *sorted((PACKAGE / "page").iterdir()), PAGES / "dom.js", PAGES / "page.css"]
    built = [(PACKAGE / "dist" / name, own) for name in (BUILT, BUILT_WORDS)]
    built.append((PAGES / BUILT, own))
    built += [(PAGES / name, page) for name in BUILT_PAGE]
    for path, sources in built:
        digest = hashlib.sha256()
        for source in sources:
            digest.update(f"{source.name}\n{source.read_text('utf-8')}".encode())
        banner = f"/* deniable {digest.hexdigest()[:16]} */\n"
        text = path.read_text("utf-8")
        assert text.startswith(banner), f"run npm run build in {PACKAGE.name}: {path.name} is old"
    run = [node, str(PACKAGE / "build.js"), "--check"]
    assert subprocess.run(run, check=False).returncode == 0


def copied(folder: Path) -> Path:
    """Return a copy of the package, beside what it is built from and where else it is written."""
    pages = "src/deniable/server/pages"
    (folder / pages).mkdir(parents=True)
    for shared in ("formats/forms.json", "languages/catalogues/en.json"):
        path = Path("src", "deniable", shared)
        (folder / path).parent.mkdir(parents=True)
        shutil.copy(ROOT / path, folder / path)
    for name in (BUILT, *BUILT_PAGE, "dom.js", "page.css"):
        shutil.copy(PAGES / name, folder / pages)
    without = shutil.ignore_patterns("node_modules")
    return shutil.copytree(PACKAGE, folder / "clients" / "js", ignore=without)


def test_an_old_build_is_noticed(node: str, tmp_path: Path) -> None:
    copy = copied(tmp_path)
    with (copy / "src" / "exact.js").open("a") as file:
        file.write("// changed\n")
    run = [node, str(copy / "build.js"), "--check"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    for name in (BUILT, BUILT_WORDS, *BUILT_PAGE):
        assert f"{name} is not up to date" in done.stderr


def test_a_build_gives_the_same_bytes(node: str, tmp_path: Path) -> None:
    copy = copied(tmp_path)
    (copy / "dist" / BUILT).unlink()
    if (PACKAGE / "node_modules").is_dir():
        (copy / "node_modules").symlink_to(PACKAGE / "node_modules")
    form = json.loads((PACKAGE / "package.json").read_text("utf-8"))
    installed(node, copy, "esbuild", form["devDependencies"]["esbuild"])
    subprocess.run([node, str(copy / "build.js")], check=True, capture_output=True)
    for name in (BUILT, BUILT_WORDS):
        assert (copy / "dist" / name).read_bytes() == (PACKAGE / "dist" / name).read_bytes()
    pages = tmp_path / "src" / "deniable" / "server" / "pages"
    for name in BUILT_PAGE:
        assert (pages / name).read_bytes() == (PAGES / name).read_bytes()


def test_the_built_client_is_small_and_needs_nothing() -> None:
    said = (ROOT / "docs" / "clients.md").read_text("utf-8")
    for name, most in ((BUILT, 34_000), (BUILT_WORDS, 16_000)):
        built = (PACKAGE / "dist" / name).read_bytes()
        assert len(built) < most
        assert not re.search(r"\bimport\b|\brequire\b|Math\.random", built.decode())
        assert f"`dist/{name}` ({len(built):,} bytes)" in said
    assert b"fetch" not in built, "words are never asked for"


def _unsaid(rule: Any) -> Any:
    """Return a definition without what its rules say to people, which only Python does."""
    if isinstance(rule, dict):
        return {name: _unsaid(each) for name, each in rule.items() if name != "says"}
    return [_unsaid(each) for each in rule] if isinstance(rule, list) else rule


def test_both_clients_carry_the_same_definition(node: str) -> None:
    show = f"import {{ DEFINITION }} from '{(PACKAGE / 'src' / 'definition.js').as_uri()}';"
    show += "console.log(JSON.stringify(DEFINITION))"
    told = [node, "--input-type=module", "-e", show]
    said = subprocess.run(told, capture_output=True, text=True, check=True).stdout
    assert json.loads(said) == _unsaid(definition())
    assert set(definition()["rules"]["questions"]["fields"]["list"]["in"]) == {*LISTS, "thresholds"}


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
    assert {"survey", "ticket"} <= given
    assert {reason for reason in given if f"`{reason}`" not in " ".join(told)} == set()


def test_the_package_holds_what_it_exports() -> None:
    form = json.loads((PACKAGE / "package.json").read_text("utf-8"))
    assert "dependencies" not in form
    for target in form["exports"].values():
        assert all((PACKAGE / path).is_file() for path in target.values())
    for_node = {
        "file.js": ["node:fs", "node:path"],
        "lock.js": ["node:crypto", "node:fs", "node:os", "node:path"],
    }
    for path in PACKAGE.glob("src/*.js"):
        taken = re.findall(r'from "([^"]+)"', path.read_text("utf-8"))
        outside = [name for name in taken if not name.startswith("./")]
        assert outside == for_node.get(path.name, [])


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
    *lines, sent = done.stdout.splitlines()
    assert "\n".join(lines) == collector.survey.question(int(kept["slot"])).english(full=True)
    assert sent == f"Sent: {['no', 'yes'][int(kept['value'])]}."


def test_the_example_for_python_runs(
    collector: FakeCollector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = filled(example(ROOT / "docs" / "clients.md", "py"), collector)
    exec(compile(text, "clients.md", "exec"), {})
    assert len(collector.counted) == 1


def test_words_and_limits_agree_on_questions_at_random(node: str) -> None:
    """Thresholds anywhere, near simple fractions, and at the edge of what an epsilon allows."""
    draw = random.Random(7)

    def texts() -> list[str]:
        pieces = [draw.choices(PIECES, k=draw.randrange(5)) for _ in range(12)]
        return [*dict.fromkeys(map("".join, pieces), None)]

    made = []
    for _ in range(1_500):
        names = draw.sample(["a", "b", "c", *texts()], 3)
        terms = [Term(name, tuple(texts()[: draw.randrange(1, 4)])) for name in names]
        asks = Parities(tuple((term,) for term in terms))
        denominator = draw.randrange(2, 14)
        near = WORD * draw.randrange(1, denominator) // denominator
        off = draw.choice((0, 1, -1, 2**33, -(2**33), 2**35)) * draw.randrange(2)
        t = draw.choice(
            (draw.randrange(1, WORD), near + off, WORD * draw.randrange(1, 10_000) // 10_000)
        )
        epsilon = draw.choice((draw.uniform(0.01, 3), draw.randrange(1, 30) / 10))
        answer = draw.choice(
            (
                Subset(8, draw.randrange(1, 8), t | 1),
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
    assert {survey.mechanism for survey in surveys} == set(NAMES)
