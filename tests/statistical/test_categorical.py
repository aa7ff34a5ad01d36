"""Attributes with many values: simulated errors are the predicted ones, and intervals cover.

Seeds are fixed. On Adult the mean of 8 repeats scatters by 0.2 % (Subspace) to 1 % (InpHT) of itself
(of 96 runs with other seeds, 1.7 % was the furthest from the prediction), and the bound is 10 %.
"""

from __future__ import annotations

from functools import cache
from math import log, prod
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable import Attribute, Schema, Survey, plan, simulate
from deniable.decoding.cells import CellEvidence
from deniable.decoding.slot_evidence import SlotEvidence
from deniable.lab.simulate import trials
from deniable.survey.coefficients import Shared

EXACT = ["Subspace", "InpES", "InpHT", "MargHT", "MargPS", "MargRR"]
"""What fits Adult and has a formula. InpHTBits asks 48,842 people one useful question: see below."""


@cache
def people_of(folder: Path) -> tuple[pa.Table, Schema]:
    frame = pq.read_table(folder / "adult_categorical.parquet")
    return frame, Schema.from_frame(frame, values="observed")


@cache
def planned(folder: Path, epsilon: float):
    frame, schema = people_of(folder)
    return plan(schema, order=2, epsilon=epsilon, people=frame.num_rows, aim="unbiased")


@cache
def tried(folder: Path, name: str, epsilon: float):
    frame, schema = people_of(folder)
    survey = Survey(schema, 2, epsilon, name, aim="unbiased")
    return list(trials(survey, frame, repeat=8, seed="adult"))[-1]


def declared(sizes) -> Schema:
    return Schema(tuple(Attribute(f"a{i}", tuple(range(n))) for i, n in enumerate(sizes)))


def correlated(people: int, sizes, seed: int) -> pa.Table:
    """Return records with one hidden cause of three values behind every attribute."""
    random = np.random.default_rng(seed)
    cause = random.integers(0, 3, people)
    columns = {}
    for i, size in enumerate(sizes):
        reached = random.dirichlet(np.ones(size), 3).cumsum(axis=1)[:, :-1]
        columns[f"a{i}"] = (random.random(people)[:, None] > reached[cause]).sum(axis=1)
    return pa.table(columns)


@pytest.mark.parametrize("epsilon", [log(3), 2.0])
@pytest.mark.parametrize("name", EXACT)
def test_simulated_error_on_adult_is_within_ten_percent_of_the_prediction(
    shared_data, name, epsilon
):
    found = tried(shared_data, name, epsilon)
    assert found.mean_tv == pytest.approx(found.predicted_tv, rel=0.10)
    rows = {row.mechanism: row for row in planned(shared_data, epsilon).rows}
    assert rows[name].predicted_tv == pytest.approx(found.predicted_tv, rel=0.02)


@pytest.mark.parametrize("epsilon", [log(3), 2.0])
def test_auto_has_the_smallest_error_on_adult(shared_data, epsilon):
    """Of all mechanisms that fit and are unbiased; and hardly more than the least there can be."""
    best = tried(shared_data, "auto", epsilon)
    made = planned(shared_data, epsilon)
    assert best.mechanism == made.recommended
    assert 0.97 < best.mean_tv / made.unbiased_bound_tv < 1.06
    for name in EXACT:
        assert best.mean_tv <= tried(shared_data, name, epsilon).mean_tv * 1.01, name


@pytest.mark.parametrize(("epsilon", "gain"), [(log(3), 13), (2.0, 17)])
def test_the_papers_encoding_in_bits_is_many_times_worse(epsilon, gain):
    """Eight attributes of 4 to 6 values, 2¹⁸ people; three times is what the issue asks for."""
    sizes = (4, 5, 6, 4, 5, 6, 4, 5)
    frame, schema = correlated(1 << 18, sizes, 8), declared(sizes)
    ours, theirs = (
        list(trials(survey, frame, repeat=4, seed="bits"))[-1]
        for name in ("auto", "InpHTBits")
        for survey in [Survey(schema, 2, epsilon, name, aim="unbiased")]
    )
    assert theirs.mean_tv > 3 * ours.mean_tv
    assert theirs.mean_tv / ours.mean_tv == pytest.approx(gain, rel=0.15)
    assert theirs.mean_tv == pytest.approx(theirs.predicted_tv, rel=0.15)


# Intervals, on a mixed schema with a binary attribute and sizes that are no powers of two

SIZES = (2, 3, 5, 7, 12)
PEOPLE, TURNS = 20_000, 24


@cache
def population() -> np.ndarray:
    """Return a population of records: three kinds of people, each with independent attributes."""
    random = np.random.default_rng(21)
    made = np.zeros(SIZES)
    for share in random.dirichlet(np.ones(3)):
        parts = [random.dirichlet(np.full(size, 2.0)) for size in SIZES]
        made += share * np.einsum("a,b,c,d,e->abcde", *parts)
    return made


def crowds(name: str, epsilon: float):
    """Yield releases, and the joint shares of the people behind each."""
    survey = Survey(declared(SIZES), 2, epsilon, name)
    random = np.random.default_rng(22)
    for turn in range(TURNS):
        held = random.choice(prod(SIZES), PEOPLE, p=population().ravel())
        codes = np.unravel_index(held, SIZES)
        frame = pa.table({f"a{i}": column for i, column in enumerate(codes)})
        shares = np.bincount(held, minlength=prod(SIZES)).reshape(SIZES) / PEOPLE
        yield simulate(survey, frame, f"cover {turn}"), shares


def covered(name: str, epsilon: float, of: str) -> float:
    """Return the share of the cells of all pairs that 95 % intervals cover: 275 in each crowd.

    Over 36 runs with other seeds it was 94.3 to 95.5 %.
    """
    inside = []
    for release, shares in crowds(name, epsilon):
        exact = population() if of == "population" else shares
        for table in release.marginals():
            others = tuple(i for i in range(len(SIZES)) if f"a{i}" not in table.names)
            low, high = table.interval(0.95, of=of)
            true = exact.sum(axis=others)
            inside.append(((low <= true) & (true <= high)).ravel())
    return float(np.concatenate(inside).mean())


@pytest.mark.parametrize("of", ["population", "people"])
@pytest.mark.parametrize("epsilon", [log(3), 4.0])
@pytest.mark.parametrize("name", ["Subspace", "InpES", "MargPS"])
def test_intervals_cover(name, epsilon, of):
    assert 0.93 <= covered(name, epsilon, of) <= 0.97


def test_intervals_of_the_people_are_shorter():
    release, _ = next(crowds("Subspace", 4.0))
    for table in release.marginals():
        (low, high), (inner_low, inner_high) = table.interval(), table.interval(of="people")
        shorter = inner_high - inner_low < high - low
        assert shorter[table.values > 0].all()  # an estimate below 0 is taken for a share of 0


@pytest.mark.parametrize(
    ("evidence", "name"), [(SlotEvidence, "Subspace"), (CellEvidence, "MargPS")]
)
def test_halved_variances_are_noticed(monkeypatch, evidence, name):
    whole = evidence.cell_variances
    monkeypatch.setattr(evidence, "cell_variances", lambda *given: whole(*given) / 2)
    assert covered(name, log(3), "population") < 0.90


def test_a_dropped_component_is_noticed(monkeypatch):
    """A decoder that leaves out the interactions of pairs no longer covers."""
    before = SlotEvidence.coefficients

    def without_pairs(self, tables):
        theta, people = before(self, tables)
        assert isinstance(self.numbering, Shared)
        pairs = self.numbering.level(2)
        numbers = self.numbering.of_tables(tables)
        return np.where((numbers >= pairs.start) & (numbers < pairs.stop), 0, theta), people

    monkeypatch.setattr(SlotEvidence, "coefficients", without_pairs)
    assert not 0.93 <= covered("InpES", 4.0, "population") <= 0.97


def test_thin_components_are_unbiased_and_covered():
    """Few reports per coefficient: they are divided by the component's mean number of reports."""
    sizes = (30, 40)
    schema = declared(sizes)
    survey = Survey(schema, 2, 2.0, "Subspace")
    random = np.random.default_rng(23)
    chances = [random.dirichlet(np.ones(size)) for size in sizes]
    truth = np.outer(*chances)
    total, inside, turns = np.zeros(sizes), [], 60
    for turn in range(turns):
        columns = [random.choice(size, 3000, p=p) for size, p in zip(sizes, chances, strict=True)]
        frame = pa.table({f"a{i}": column for i, column in enumerate(columns)})
        release = simulate(survey, frame, f"thin {turn}")
        overview = release.evidence.overview
        assert overview.people.min() < 32
        table = release.marginal("a0", "a1")
        total += table.values
        spread = table.standard_error
        inside.append((np.abs(table.values - truth) <= 1.96 * spread).mean())
    assert np.mean(inside) == pytest.approx(0.95, abs=0.02)
    off = (total / turns - truth) / (spread / np.sqrt(turns))
    assert np.abs(off).max() < 5
    assert off.std() == pytest.approx(1, abs=0.1)
