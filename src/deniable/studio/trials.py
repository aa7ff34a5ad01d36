"""Trying a questionnaire on people who do not exist: made-up answers, and what would be read of them."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from deniable.api.release import Release
from deniable.api.survey import Survey
from deniable.api.tally import Tally
from deniable.client.bulk import write_batches
from deniable.collector.files import digest
from deniable.errors import SurveyError
from deniable.lab.datasets import stream
from deniable.lab.simulate import true_values
from deniable.questionnaire.layout import Layout
from deniable.questionnaire.questionnaire import Questionnaire
from deniable.release.consistency import READABLE
from deniable.schema.attribute import Attribute
from deniable.schema.labels import Labels
from deniable.studio.folder import Folder

TRIAL = "trial"
ANSWERS, SURVEY, TEXTS = (
    f"{TRIAL}/{name}" for name in ("answers.csv", "survey.json", "survey.texts.json")
)
MADE_UP = ANSWERS, SURVEY, TEXTS
REPORTS, TALLY, REPORT = (
    f"{TRIAL}/{name}" for name in ("reports.parquet", "trial.tally", "report.html")
)
MOST_PEOPLE = 50_000
_TOGETHER = 0.9
"""How strongly answers lean with what people have in common."""
_PAIRS, _MOST_ROWS = 5, 12

Codes = NDArray[np.int64]


def made_up(questionnaire: Questionnaire, people: int, seed: int = 1) -> pd.DataFrame:
    """Return plausible answers of people who do not exist: uneven shares, and some that go together."""
    schema, random = questionnaire.schema, np.random.default_rng(seed)
    trait = random.standard_normal(people)
    codes = np.stack([_codes(own, trait, random) for own in schema.attributes], axis=1)
    _skip(codes, questionnaire.texts.layout)
    columns = {
        own.name: [own.record_value(code) for code in codes[:, index].tolist()]
        for index, own in enumerate(schema.attributes)
    }
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})


def _codes(own: Attribute, trait: NDArray[np.float64], random: np.random.Generator) -> Codes:
    """Return everybody's code of one attribute, by weights that lean with the trait."""
    count, lean = own.codes, random.normal(0, _TOGETHER)
    place = np.linspace(-1, 1, count) if count > 1 else np.zeros(1)
    if own.scale is None:
        weights = random.normal(0, 0.8, count)
    else:
        weights = -((place - random.uniform(-0.4, 0.4)) ** 2) * 3
    if own.missing is not None and own.value_of(count - 1) == own.missing:
        weights[-1] = np.log(np.exp(weights).sum() * 0.05)
    # Gumbel's trick: the largest of log weights plus such noise is a draw by the weights.
    drawn_codes = np.empty(len(trait), np.int64)
    for start in range(0, len(trait), 1024):
        part = trait[start : start + 1024, None]
        noise = random.gumbel(size=(len(part), count))
        drawn_codes[start : start + 1024] = (weights + lean * part * place + noise).argmax(axis=1)
    return drawn_codes


def _skip(codes: Codes, layout: Layout) -> None:
    """Give who is not asked the value that the questionnaire declares."""
    turns = {attribute: turn for turn, attribute in enumerate(layout.order)}
    for condition in sorted(layout.conditions, key=lambda each: turns[each.attribute]):
        is_asked = np.ones(len(codes), bool)
        for clause in condition.clauses:
            own = codes[:, clause.on]
            is_asked &= np.any([(own >= low) & (own <= high) for low, high in clause.codes], axis=0)
        codes[~is_asked, condition.attribute] = condition.otherwise


def csv_text(frame: pd.DataFrame, labels: Labels) -> str:
    """Return answers, with made-up labels, as a .csv file that `deniable randomize` reads."""
    for name, values in labels.declared:
        frame = frame.assign(**{name: [values[row % len(values)] for row in range(len(frame))]})
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(frame.columns)
    for row in frame.itertuples(index=False):
        writer.writerow([str(v).lower() if isinstance(v, bool) else v for v in row])
    return file.getvalue()


def commands(seed: str) -> list[list[str]]:
    """Return the commands that ask the people of the answers' file, and count what they report."""
    return [
        ["randomize", ANSWERS, "--survey", SURVEY, "--seed", seed, "-o", REPORTS],
        ["tally", REPORTS, "--survey", SURVEY, "--simulation", "-o", TALLY],
    ]


def _count(folder: Folder, survey: Survey, seed: str) -> Tally:
    """Do what these commands do, here, where all is imported."""
    names = [*survey.schema.names, *dict(survey.labels.declared)]
    reports, tally_path = folder.path(REPORTS), folder.path(TALLY)
    batches, _ = stream(str(folder.path(ANSWERS)), names, texts=survey.labels.names)
    write_batches(survey.randomize_batches(batches, seed), reports)
    tally = survey.tally([reports], simulation=True)
    tally = replace(tally, sources=frozenset({digest(reports)}))
    tally.save(tally_path)
    return tally


def trial(
    folder: Folder, questionnaire: Questionnaire, people: int, seed: int = 1
) -> tuple[dict[str, Any], list[list[str]]]:
    """Ask people who do not exist; return what would be read of them, and the commands for it.

    What is shown is what a report of the same tally shows.
    """
    if not 10 <= people <= MOST_PEOPLE:
        raise SurveyError(f"A trial has 10 to {MOST_PEOPLE:,} made-up people, got {people:,}.")
    survey = Survey.from_questionnaire(questionnaire)
    frame = made_up(questionnaire, people, seed)
    folder.write(ANSWERS, csv_text(frame, survey.labels))
    folder.write(SURVEY, survey.to_json() + "\n")
    folder.write(TEXTS, questionnaire.texts.to_json() + "\n")
    release = _count(folder, survey, f"trial {seed}").release(READABLE)
    records = survey.schema.encode_frame(frame)
    truths = [true_values(survey.schema, records, index) for index in range(len(survey.schema))]
    result = {
        "people": people,
        "simulated": True,
        "questions": [
            _question(release, questionnaire, index, truths[index])
            for index in range(len(survey.schema))
        ],
        "pairs": _pairs(release, truths) if survey.order > 1 else [],
    }
    return result, commands(f"trial {seed}")


def _question(
    release: Release, questionnaire: Questionnaire, index: int, truth: Codes
) -> dict[str, Any]:
    """Return the shares of one question's values: of the made-up people, and as they are read."""
    own = questionnaire.schema.attributes[index]
    words = questionnaire.texts.languages[questionnaire.texts.default]["attributes"][index]
    table = release.marginal(own.name)
    is_known = table.known
    ends = table.interval()
    shares = np.bincount(truth, minlength=own.size) / len(truth)
    labels = words.get("values") or [None] * own.size
    rows = []
    for code, value in enumerate(own.values):
        low, high = (float(end) for end in ends[..., code])
        row: dict[str, Any] = {"value": labels[code] or str(value), "share": float(shares[code])}
        if is_known:
            row |= {"read": float(table.values[code]), "low": low, "high": high}
        rows.append(row)
    rows = rows[1:] if own.values == (False, True) else rows
    return {"name": own.name, "wording": words["wording"], "rows": rows[:_MOST_ROWS]}


def _pairs(release: Release, truths: list[Codes]) -> list[dict[str, Any]]:
    """Return the pairs that depend on each other most, and whether that would be found."""
    frame = release.associations()
    names = release.survey.schema.names
    rows = []
    for row in frame.to_dict("records"):
        first, second = names.index(row["a"]), names.index(row["b"])
        q, strength = float(row["q_value"]), float(row["cramers_v"])
        rows.append(
            {
                "a": row["a"],
                "b": row["b"],
                "strength": cramers_v(truths[first], truths[second]),
                "read": strength if np.isfinite(strength) else None,
                "is_found": bool(q < 0.05),
            }
        )
    rows.sort(key=lambda each: -float(each["strength"]))
    return rows[:_PAIRS]


def cramers_v(first: Codes, second: Codes) -> float:
    """Return Cramér's V of two columns of codes."""
    width = int(second.max()) + 1
    size = (int(first.max()) + 1) * width
    table = np.bincount(first * width + second, minlength=size).reshape(-1, width) / len(first)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    used_cells = expected > 0
    squares = (((table - expected) ** 2)[used_cells] / expected[used_cells]).sum()
    levels = min((table.sum(axis=1) > 0).sum(), (table.sum(axis=0) > 0).sum()) - 1
    return sqrt(float(squares) / levels) if levels > 0 else 0.0
