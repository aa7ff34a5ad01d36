"""Both clients take what an enemy wrote alike, and ε holds in both; known faults are found again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fuzzing import SOURCES, Cases, DisagreementError, Fuzzer

CASES = 30_000
SECONDS = 30.0
SEED = "the same cases in every run"


@pytest.fixture(scope="module")
def cases() -> Cases:
    """The same cases for every JavaScript client: Python is asked about each of them once."""
    return Cases(SEED)


def test_both_clients_take_the_same(node: str, cases: Cases) -> None:
    fuzzer = Fuzzer(node, cases)
    try:
        fuzzer.run(CASES, SECONDS)
        kinds = {"survey", "draw", "slot", "verify", "record", "labels", "answer", "texts"}
        for kind in kinds:
            assert fuzzer.counts[kind] > 100, "the cases are not all refused"
        for kind in kinds - {"draw", "answer"}:
            assert fuzzer.counts[f"refused {kind}"] > 100, "nor all sound"
    finally:
        fuzzer.close()


PLANTED = {
    # Found by an attacker in 0.1: with these, a survey of any stated epsilon read a record exactly.
    "stand-ins that are no values": (
        "attribute.js",
        "canonical(all) === canonical(values) &&",
        "true &&",
    ),
    "more edges than buckets": ("attribute.js", "edges ? buckets(edges) : values", "values"),
    "slots below 0": ("slots.js", 'if (!fits("slot", `${slot}`)) return undefined;', ""),
    "sets without an end": ("survey.js", "rowsListed <= limits.listed &&", "true &&"),
    # Found by a reviewer: it hangs, and how long tells whether the true symbol is in the set.
    "sets of nearly all symbols": ("question.js", "w <= DEFINITION.limits.chosen", "true"),
    # And some more.
    "any field": (
        "forms.js",
        "Object.hasOwn(fields, name) || Object.hasOwn(fields, `${name}?`)",
        "true",
    ),
    "more than its epsilon": (
        "survey.js",
        "!exceeds(readAnswer(template.answer).ratio, +epsilon)",
        "true",
    ),
    "a question that is not the survey's": (
        *(
            "survey.js",
            "canonical(own.question(slot) ?? null) !== canonical(question)",
            "!own.question(slot)",
        ),
    ),
    "weights that do not add up": ("survey.js", "sum(weights) === limits.weight", "true"),
    "dependent parities": (
        "survey.js",
        "return mask && basis.push(mask);",
        "return basis.push(mask);",
    ),
    "numbers in another form": ("forms.js", "e < -4 || e >= most", "e < -6 || e >= most"),
    "values that are confused": ("attribute.js", "isDistinct(values.map(String)) &&", "true &&"),
    "an attribute that is a label": (
        "labels.js",
        "names.includes(foldCase(one))",
        "names.includes(one.name)",
    ),
    "a comparison turned round": (
        "question.js",
        "const keep = word() < t;",
        "const keep = word() <= t;",
    ),
    "one word more": (
        "question.js",
        "const keep = word() < t;",
        "word(); const keep = word() < t;",
    ),
    "a question list that is too short": (
        "survey.js",
        'demand(form.lists.length === attributes.length, "a question list for each attribute");',
        "",
    ),
    "entries from another place": (
        "lists.js",
        "multiply(depth, entry + 1, part)",
        "multiply(depth, entry + 1, part * 2)",
    ),
    "more questions than a list has": ("survey.js", "lists[a].depth >= most", "true"),
    "bits of other lists": ("survey.js", "isParity && entries === 1", "isParity"),
    "what a question touches": (
        "survey.js",
        "touches > order ? touches : undefined",
        "form.touches",
    ),
    "a list for a record": ("survey.js", "|| Array.isArray(record)", ""),
    # About values in order.
    "two questions about an order, not in full": (
        "survey.js",
        "isFit && (isWhole ||",
        "isFit && (true ||",
    ),
    "cells of an order": ("survey.js", "!lists[a].isOrdered && values[a] ===", "values[a] ==="),
    "another list than thresholds": (
        "survey.js",
        '!orderOf(one) === (form.lists[i].list !== "thresholds")',
        "true",
    ),
    "a cut that is off by one": ("lists.js", "[[1 + (entry % most)]", "[[2 + (entry % most)]"),
    "missing past the wrong half": ("lists.js", ", entry >= most]", ", entry < most]"),
    "a point that is above itself": ("question.js", "value > above", "value >= above"),
    "halves downwards": ("order.js", "/ step + 0.5)", "/ step + 0.4999)"),
    "a number that stands for missing": ("attribute.js", "!isPoint(missing, point(0)) &&", ""),
    "edges between points": ("attribute.js", "point(level(edge)) === +edge", "true"),
    # About texts.
    "texts that the id does not cover": (
        "texts.js",
        "survey.texts && canonical(await digestsOf(form)) === canonical(survey.texts)",
        "survey.texts && (await digestsOf(form))",
    ),
    "digests of fewer attributes": (
        "survey.js",
        "each.attributes.length === attributes.length",
        "true",
    ),
    "a default language that is none": ("survey.js", "Object.hasOwn(languages, language) &&", ""),
    "a question mark in a field's name": ("forms.js", "!/\\?/.test(name) &&", ""),
    "a line's end behind a pattern": (
        "forms.js",
        "RegExp(`^(${matches})$`)",
        "RegExp(`^(${matches})`)",
    ),
    "letters that turn others round": ("forms.js", "UNWRITTEN.test(text) ||", ""),
    "words that nobody sees": ("forms.js", "|| UNSEEN.test(text)", ""),
    "letters that nobody sees in labels": ("forms.js", "!(seen && HIDDEN.test(text)) &&", ""),
    "labels that look alike": ("labels.js", "values.map(look)", "values"),
    "labels of other values": ("texts.js", "values.length === one.values.length", "true"),
    "a missing value that is none": ("texts.js", "one.missing !== undefined", "true"),
    "a unit that is none": ("texts.js", "one.unit !== undefined", "true"),
    "other pages": ("texts.js", "(survey.pages ?? pages).length === pages.length", "true"),
    "an attribute on two pages": ("texts.js", "order.length === attributes.length &&", ""),
    "a condition on what comes later": (
        "texts.js",
        "turns.get(on) < turns.get(attribute)",
        "turns.has(on)",
    ),
    "conditions in any order": (
        "texts.js",
        "!(attribute <= conditions[i - 1]?.attribute)",
        "true",
    ),
    "runs that touch": ("texts.js", "codes[j - 1]?.[1] + 1", "codes[j - 1]?.[1]"),
    "a value of what is skipped that is none": (
        "texts.js",
        "otherwise < sizeOf",
        "otherwise <= sizeOf",
    ),
    "conditions that are followed in the survey's order": (
        "texts.js",
        "turns.get(a.attribute) - turns.get(b.attribute)",
        "0",
    ),
    "a run without its end": ("texts.js", "code <= last", "code < last"),
    "any clause": ("texts.js", "all.every(holds)", "all.some(holds)"),
    "what is skipped as it was given": (
        "texts.js",
        "record.set(own.name,",
        "record.has(own.name) || record.set(own.name,",
    ),
    "sets in another order": (
        "slots.js",
        "within * factor + rest",
        "within * factor + (factor - 1n - rest)",
    ),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(node: str, cases: Cases, fault: str, tmp_path: Path) -> None:
    file, sound, planted = PLANTED[fault]
    folder = shutil.copytree(SOURCES, tmp_path / "src")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    text = (folder / file).read_text("utf-8")
    assert text.count(sound) == 1
    (folder / file).write_text(text.replace(sound, planted), "utf-8")
    fuzzer = Fuzzer(node, cases, folder)
    try:
        with pytest.raises(DisagreementError):
            fuzzer.run(CASES)
    finally:
        fuzzer.close()


@pytest.mark.parametrize(
    ("where", "planted", "said"),
    [
        ("deniable.schema.labels.Labels.check", lambda self, schema: None, "only Python takes it"),
        ("deniable.survey.checks.exponential", lambda epsilon: 10**30, "exceeds epsilon"),
        ("deniable.questions.question.Cell.symbol", lambda self, record: 1, '"answer"'),
        ("deniable.questionnaire.layout._check_codes", lambda own, runs, on: None, '"texts"'),
        ("deniable.survey.digests.TextDigests.check", lambda self, d: None, "only Python takes it"),
    ],
    ids=[
        "labels unchecked",
        "epsilon unchecked",
        "one answer for everybody",
        "conditions unchecked",
        "digests unchecked",
    ],
)
def test_a_fault_planted_in_python_is_found(
    node: str, monkeypatch: pytest.MonkeyPatch, where: str, planted: object, said: str
) -> None:
    monkeypatch.setattr(where, planted)
    fuzzer = Fuzzer(node, Cases(SEED))
    try:
        with pytest.raises(DisagreementError, match=said):
            fuzzer.run(CASES)
    finally:
        fuzzer.close()
