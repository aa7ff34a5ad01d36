"""Attributes of any number of values, in every mechanism."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from math import log, prod

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from deniable import Client, Ledger, ReportBatch, Schema, Survey, Tally, plan, simulate
from deniable.collector.builder import TallyBuilder
from deniable.decoding import bits as bits_module
from deniable.decoding.decoder import decoder_of
from deniable.decoding.evidence import FEW_REPORTS, coefficients_of
from deniable.decoding.slot_evidence import Scores, SlotEvidence
from deniable.errors import RecordError, ReportError, SurveyError, TableError
from deniable.lab.audit import audit
from deniable.mechanisms.registry import MECHANISMS, known_mechanisms, mechanism_named
from deniable.planning.error import bound_tv, predicted_tv
from deniable.questions.answers import Subset
from deniable.questions.entropy import Key
from deniable.questions.lists import MOST_BITS, Balanced, Bits, Codes, question_list
from deniable.survey.coefficients import PerTable, Shared, all_tables

NAMES = [*MECHANISMS, "InpHTBits"]


def schema(*sizes: int) -> Schema:
    return Schema.of(**{f"a{i}": [f"v{j}" for j in range(size)] for i, size in enumerate(sizes)})


def people(sizes: tuple[int, ...], count: int, seed: int = 0) -> pd.DataFrame:
    """Return records in which later attributes depend on the first."""
    random = np.random.default_rng(seed)
    pull = random.random(count)
    columns = {}
    for i, size in enumerate(sizes):
        code = ((pull + random.random(count) * 0.7) / 1.7 * size).astype(int)
        columns[f"a{i}"] = np.array([f"v{j}" for j in range(size)])[code]
    return pd.DataFrame(columns)


def _cell(attributes: int, **rest) -> dict:
    answer = Subset.within(1.0, 1 << attributes).to_json()
    return {"attributes": attributes, "cell": True, "answer": answer, **rest}


def _parity(attributes: int, bits, **rest) -> dict:
    return {"attributes": attributes, "parities": [list(bits)], **rest}


# Lists of questions


@pytest.mark.slow
@pytest.mark.parametrize("listing", [Codes, Bits, Balanced])
def test_lists_are_tight_in_whole_numbers(listing) -> None:
    """Σ (P·h)(P·h)' = n·P, multiplied by r² so that nothing is rounded."""
    for size in (*range(2, 40), 42, 64, 100, 257):
        made = listing(size)
        signs = 1 - 2 * made.odd[1:].astype(np.int64)
        centred = size * signs - signs.sum(axis=1, keepdims=True)
        scaled = centred.T @ centred * made.norm.denominator
        expected = made.norm.numerator * (size**2 * np.eye(size, dtype=np.int64) - size)
        assert np.array_equal(scaled, expected), size
        assert not made.odd[0].any(), size
        assert made.synthesis @ made.analysis == pytest.approx(np.eye(size)), size


def test_balanced_questions_split_values_evenly() -> None:
    for size in range(2, 60):
        sums = np.abs((1 - 2 * Balanced(size).odd[1:].astype(int)).sum(axis=1))
        kappa = (
            Fraction((size - 1) ** 2, size)
            if size % 2 == 0
            else Fraction(size * (size - 1), size + 1)
        )
        error = Balanced(size).count * Fraction(size - 1) / Balanced(size).norm
        assert sums.max() > 1 or error == kappa, size
        assert kappa <= error <= kappa * Fraction(102, 100), size
        assert size > 12 or sums.max() <= 1, size


@pytest.mark.parametrize("width", range(1, MOST_BITS + 1))
def test_frames_hold_every_mask_equally_often(width: int) -> None:
    codes, masks = Codes(1 << width), np.arange(1, 1 << width)
    for part in {1, 2 % (1 << width) or 1, 3 % (1 << width) or 1, (1 << width) - 1}:
        assert np.array_equal(np.sort(codes.coefficients(masks - 1, codes.depth, part)), masks), (
            "a bijection"
        )
    for left, right in ((1, (1 << width) - 1), (1 << width - 1, 1)):
        both = codes.coefficients(masks - 1, codes.depth, left) ^ codes.coefficients(
            masks - 1, codes.depth, right
        )
        assert np.array_equal(codes.coefficients(masks - 1, codes.depth, left ^ right), both), (
            "sums are sums"
        )


# Numbers


@pytest.mark.parametrize("counts", [(1, 3, 7), (3, 1, 1, 2), (5, 5, 5)])
@pytest.mark.parametrize("kind", [Shared, PerTable])
def test_questions_and_tables_number_coefficients_alike(kind, counts: tuple[int, ...]) -> None:
    order = 2
    numbering = kind(len(counts), order, counts)
    seen = set()
    for table in all_tables(len(counts), order):
        numbers = numbering.of_tables(table[None, :])[0]
        every = list(product(*(range(counts[a] + 1) for a in table)))[1:]
        for number, digits in zip(numbers.tolist(), every, strict=True):
            digit = np.array([digits])
            mask = sum(1 << i for i, d in enumerate(digit[0]) if d)
            assert numbering.of_question(table[None, :], mask, digit)[0] == number
            seen.add((number, tuple(table[digit[0] > 0]), tuple(digit[0][digit[0] > 0])))
    assert len({number for number, *_ in seen}) == len(seen)
    assert max(number for number, *_ in seen) < numbering.size
    components = numbering.components
    for number, touched, _ in seen:
        same = {t for n, t, _ in seen if components[n] == components[number]}
        assert same == {touched}


# What must be exact


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "order", "epsilon"),
    [((2, 3), 1, 0.1), ((2, 3), 2, 4.0), ((3, 4), 2, 0.1), ((2, 3, 5), 3, 4.0)],
)
@pytest.mark.parametrize("name", NAMES)
def test_every_survey_passes_the_exact_audit(name, sizes, order, epsilon) -> None:
    """The smallest and the largest ε and order; the contract looks at those between."""
    found = audit(mechanism_named(name).survey(schema(*sizes), order, epsilon))
    assert found.passed, found
    assert found.realised_epsilon > epsilon - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        *product([n for n in NAMES if n not in ("InpRR", "InpEM", "MargRR")], [(3, 4), (2, 3, 5)]),
        *product(["MargRR"], [(3, 4), (2, 5)]),  # a report has 2^cells values, all decoded here
    ],
)
def test_the_mean_over_questions_and_answers_is_the_record_itself(name, sizes) -> None:
    """For every record, Σ chance·law·decoded over all slots and values is its own table.

    Nothing but the questions and the decoder is used. A report is decoded on its own, and counts for
    as much as its slot is asked; what it does not tell counts as uniform.
    """
    survey = mechanism_named(name).survey(schema(*sizes), 2, 1.1)
    tables = [row[None, :] for level in (1, 2) for row in all_tables(len(sizes), level)]
    shares = [[0.0] * len(tables) for _ in range(prod(sizes))]
    totals = [[np.zeros(prod(sizes[a] for a in t[0])) for t in tables] for _ in shares]
    records = [survey.schema.decode(codes) for codes in product(*map(range, sizes))]
    for index in range(len(survey.templates)):
        chances = np.broadcast_to(survey.index.chances(index), survey.index.templates[index].count)
        for place, chance in enumerate(chances.tolist()):
            question = survey.question(survey.index.starts[index] + place)
            symbols = [question.asks.symbol(record) for record in records]
            laws = np.array([question.answer.law(s) for s in range(question.asks.symbols)], float)
            laws /= question.answer.law_total
            decoded = [_decoded(survey, question.slot, v) for v in range(question.answer.outcomes)]
            for value, found in enumerate(decoded):
                cells = [_interaction(found.tables(t).values[0], t[0], sizes) for t in tables]
                for row, symbol in enumerate(symbols):
                    for at, cell in enumerate(cells):
                        totals[row][at] += chance * laws[symbol, value] * cell
            for at, table in enumerate(tables):
                if set(table[0]) <= _known(survey, question) and _hold(decoded, table[0], sizes):
                    for row in range(len(records)):
                        shares[row][at] += chance
    for row, codes in enumerate(product(*map(range, sizes))):
        for at, table in enumerate(tables):
            own = np.zeros(tuple(sizes[a] for a in table[0]))
            own[tuple(codes[a] for a in table[0])] = 1
            expected = _interaction(own.ravel(), table[0], sizes)
            assert totals[row][at] / shares[row][at] == pytest.approx(expected, abs=1e-9)


def _decoded(survey, slot: int, value: int):
    builder = TallyBuilder(survey)
    builder.add(np.array([slot]), np.array([value]))
    counts = builder.tally()
    return decoder_of(survey).decode(counts.slot, counts.value, counts.count)


def _interaction(cells: np.ndarray, table: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    made = cells.reshape([sizes[a] for a in table])
    for axis in range(made.ndim):
        made = made - made.mean(axis=axis, keepdims=True)
    return made.ravel()


def _known(survey, question) -> set[int]:
    return {survey.schema.index(name) for name in question.attributes}


def _hold(decoded, table: np.ndarray, sizes: tuple[int, ...]) -> bool:
    """Tell whether some of the reports to a question tell about these attributes' interaction."""
    cells = (found.tables(table[None, :]).values[0] for found in decoded)
    return any(np.abs(_interaction(each, table, sizes)).max() > 1e-12 for each in cells)


# Releases


@pytest.mark.parametrize("name", ["Subspace", "InpES", "InpHT", "MargPS", "MargRR"])
def test_tables_agree_and_are_sums_of_interactions(name: str) -> None:
    sizes = (3, 2, 5, 4)
    release = simulate(Survey(schema(*sizes), 3, 2.0, name), people(sizes, 20_000), seed="agree")
    table = release.marginal("a2", "a0", "a3")
    assert table.values.shape == (5, 3, 4)
    assert table.values.sum() == pytest.approx(1)
    assert table.values.sum(axis=1) == pytest.approx(release.marginal("a2", "a3").values)
    total = np.full((5, 3, 4), 1 / 60)
    for kept in product((0, 1), repeat=3):
        names = [n for n, k in zip(("a2", "a0", "a3"), kept, strict=True) if k]
        if names:
            own = release.marginal(*names).interaction
            for axis, k in enumerate(kept):
                assert not k or np.abs(own.sum(axis=sum(kept[:axis]))).max() < 1e-12
            shape = [s if k else 1 for s, k in zip((5, 3, 4), kept, strict=True)]
            total = total + own.reshape(shape) * prod(shape) / 60
    assert total == pytest.approx(table.values)
    assert table.covariance.shape == (60, 60)
    assert table.standard_error.ravel() ** 2 == pytest.approx(np.diag(table.covariance))
    assert np.abs(table.covariance.sum(axis=0)).max() < 1e-12
    assert list(table.to_frame().columns[:3]) == ["a2", "a0", "a3"]


def test_marginals_come_in_order_whatever_their_sizes() -> None:
    sizes = (5, 2, 3, 2, 5)
    release = simulate(Survey(schema(*sizes), 2, 2.0), people(sizes, 5_000), seed="order")
    names = [table.names for table in release.marginals()]
    assert names == [tuple(f"a{i}" for i in row) for row in all_tables(5, 2).tolist()]
    for table in release.marginals():
        same = release.marginal(*table.names)
        assert np.array_equal(same.values, table.values)
        assert same.standard_error == pytest.approx(table.standard_error)


def test_a_category_that_nobody_has_is_estimated_near_zero() -> None:
    declared = Schema.of(a=["x", "y", "nobody"], b=[False, True])
    frame = pd.DataFrame({"a": ["x", "y"] * 20_000, "b": [True, True, False, False] * 10_000})
    for name in ("Subspace", "InpES", "MargPS", "InpHT"):
        release = simulate(Survey(declared, 2, 2.0, name), frame, seed="nobody")
        table = release.marginal("a", "b")
        low, high = table.interval(0.9999)
        assert (low[2] <= 0).all()
        assert (high[2] >= 0).all()
        assert release.plausible


def test_few_reports_per_coefficient_are_shared_out() -> None:
    """Some coefficients of the pair were never asked; its component is known all the same."""
    sizes = (30, 40)
    survey = Survey(schema(*sizes), 2, 2.0, "InpHT")
    assert survey.slots == 31 + 63 + 31 * 63
    frame = people(sizes, 2_000)
    release = simulate(survey, frame, seed="few")
    found = release.evidence.overview
    assert 0 < np.median(found.people) < FEW_REPORTS
    table = release.marginal("a0", "a1")
    assert table.known
    assert np.isfinite(table.standard_error).all()
    # A slot of the pair has one coefficient; 2,000 reports leave many of 1,953 without any.
    level = release.evidence.numbering.level(2)
    assert (found.theta[level] == 0).sum() > 300


def test_a_set_that_nobody_was_asked_about_is_not_known() -> None:
    survey = Survey(schema(3, 3, 3), 2, 1.1, "InpHT")
    slots = [s for s in range(survey.slots) if len(survey.question(s).attributes) == 1]
    tally = Tally(
        survey,
        np.array(slots),
        np.zeros(len(slots), np.int64),
        np.full(len(slots), 100),
    )
    table = tally.release().marginal("a0", "a1")
    assert not table.known
    assert np.isinf(table.standard_error).all()
    assert tally.release().marginal("a0").known


def test_large_tables_have_standard_errors_and_small_ones_a_covariance() -> None:
    survey = Survey(schema(70, 60), 2, 1.1)
    table = simulate(survey, people((70, 60), 3_000), seed="large").marginal("a0", "a1")
    assert table.standard_error.shape == (70, 60)
    with pytest.raises(TableError, match=r"4,200 cells has a covariance of 17,640,000 numbers"):
        _ = table.covariance


# Variances without covariances


@pytest.mark.parametrize("name", ["Subspace", "InpES", "InpHT", "MargHT", "MargPS", "MargRR"])
@pytest.mark.parametrize("estimator", [None, "unpooled"])
def test_variances_are_the_diagonal_of_covariances(name: str, estimator: str | None) -> None:
    sizes = (3, 2, 6, 5)
    survey = Survey(schema(*sizes), 2, 2.5, name)
    if estimator and estimator not in decoder_of(survey).estimators:
        return
    tally = survey.tally(survey.randomize(people(sizes, 30_000), seed="both"), simulation=True)
    evidence = tally.release(estimator=estimator).evidence
    for table in all_tables(4, 2):
        both = evidence.cell_covariances(table[None, :])[0]
        assert evidence.cell_variances(table[None, :])[0] == pytest.approx(np.diag(both), rel=1e-6)


def test_the_errors_of_a_table_do_not_depend_on_those_asked_for_before() -> None:
    sizes, tables = (3, 4, 3), all_tables(3, 2)
    survey = Survey(schema(*sizes), 2, 2.5, "Subspace")
    tally = survey.tally(survey.randomize(people(sizes, 5_000), seed="again"), simulation=True)
    used = tally.release().evidence
    for table in tables:
        used.cell_variances(table[None, :])
    for table in tables:
        fresh = tally.release().evidence
        both = (each.cell_covariances(table[None, :]) for each in (used, fresh))
        assert np.array_equal(*both)


# Plans


def test_a_plan_ranks_all_that_fit_and_auto_takes_the_first() -> None:
    mixed = schema(6, 9, 16, 2, 5, 2)
    made = plan(mixed, order=2, epsilon=log(3), people=50_000)
    assert made.recommended == "Subspace"
    assert {row.mechanism for row in made.rows} | set(made.skipped) == set(known_mechanisms())
    assert Survey(mixed, 2, log(3)).mechanism == "Subspace"
    for row in made.rows:
        if row.predicted_tv is not None:
            assert row.variance_over_bound > 1
    exact = plan(mixed, order=2, epsilon=log(3), people=50_000, aim="unbiased")
    assert exact.rows[0].variance_over_bound < 1.1


def test_the_bound_for_mixed_schemas_is_that_for_binary_ones_where_all_are_binary() -> None:
    binary = Schema.binary(*"abcdef")
    tables = dict.fromkeys([("a", "b"), ("c", "d"), ("e", "f")], 1.0)
    every = [(a, b) for i, a in enumerate("abcdef") for b in "abcdef"[i + 1 :]]
    alike = plan(binary, order=2, epsilon=1.1, people=1000)
    named = plan(binary, order=2, epsilon=1.1, people=1000, workload=every)
    assert named.unbiased_bound_tv == pytest.approx(alike.unbiased_bound_tv, rel=1e-6)
    few = plan(binary, order=2, epsilon=1.1, people=1000, workload=tables)
    assert few.unbiased_bound_tv < alike.unbiased_bound_tv
    mixed = Schema.of(a=[0, 1], b=[0, 1, 2])
    assert bound_tv(mixed, 2, 1.1, 100) > bound_tv(Schema.binary("a", "b"), 2, 1.1, 100)


def test_predictions_at_uniform_people_are_those_of_the_evidence() -> None:
    for name in ("Subspace", "InpES", "InpHT", "MargHT", "MargPS", "MargRR", "InpPS"):
        survey = mechanism_named(name).survey(schema(4, 3, 2, 8), 2, 1.5)
        evidence = decoder_of(survey).expected(1e6)
        expected = []
        for table in all_tables(4, 2):
            cells = prod(survey.schema.sizes[a] for a in table)
            variances = evidence.cell_variances(table[None, :], np.full((1, cells), 1 / cells))
            expected.append(np.sqrt(variances).sum())
        kappa = np.sqrt(1 / (2 * np.pi))
        found = predicted_tv(survey, 1e6)
        # Cells of codes that are no power of two do not all have the same variance.
        assert found == pytest.approx(kappa * np.mean(expected), rel=0.01), name


def test_a_workload_and_a_pilot_plan_mixed_surveys() -> None:
    mixed, sizes = schema(6, 4, 9, 2), (6, 4, 9, 2)
    tables = {("a0", "a1"): 3.0, ("a2",): 1.0}
    made = plan(mixed, order=2, epsilon=1.1, people=10_000, workload=tables)
    assert made.recommended == "Subspace"
    alike = plan(mixed, order=2, epsilon=1.1, people=10_000)
    assert made.rows[0].predicted_tv < alike.rows[0].predicted_tv
    pilot = simulate(Survey(mixed, 2, 1.1), people(sizes, 20_000), seed="pilot")
    assert all(0 <= square < 1 for square in pilot.squares)
    piloted = plan(mixed, order=2, epsilon=1.1, people=10_000, pilot=pilot)
    assert piloted.rows[0].predicted_tv < alike.rows[0].predicted_tv
    with pytest.raises(TableError, match="take a release of Subspace"):
        _ = simulate(Survey(mixed, 2, 1.1, "MargPS"), people(sizes, 100), seed="p").squares


# Consistency


def test_joint_tables_have_no_negative_cell_and_agree() -> None:
    sizes = (6, 4, 9, 2)
    frame = people(sizes, 5_000)
    survey = Survey(schema(*sizes), 2, 1.1)
    raw = simulate(survey, frame, seed="joint")
    joint = simulate(survey, frame, seed="joint", consistency="joint")
    assert raw.marginal("a0", "a2").values.min() < 0
    better = worse = 0.0
    for table in joint.marginals():
        assert table.kind == "joint"
        assert table.interval_kind == "unprocessed"
        assert table.values.min() >= 0
        assert table.values.sum() == pytest.approx(1)
        first, second = table.names
        assert table.values.sum(axis=1) == pytest.approx(joint.marginal(first).values)
        truth = pd.crosstab(frame[first], frame[second], normalize=True).to_numpy()
        better += ((table.values - truth) ** 2).sum()
        worse += ((raw.marginal(first, second).values - truth) ** 2).sum()
    assert better < 0.7 * worse, "much of the noise lies in negative cells"


def test_joint_tables_of_exact_shares_stay_as_they_are() -> None:
    sizes = (5, 3, 2)
    frame = people(sizes, 3_000)
    exact = Survey(schema(*sizes), 2, 20.0, "InpPS")
    raw, joint = (simulate(exact, frame, seed="x", consistency=c) for c in ("none", "joint"))
    for one, other in zip(raw.marginals(), joint.marginals(), strict=True):
        assert other.values == pytest.approx(one.values.clip(0), abs=1e-3)


# Devices, and what is read


def test_a_device_answers_as_the_vectorised_sampler_does() -> None:
    survey = Survey(schema(5, 3, 42), 2, 1.5, "Subspace")
    frame = people((5, 3, 42), 300)
    records = survey.schema.encode_frame(frame)
    slots = survey.index.draw_many(Key.seeded("slots").stream(), len(frame))
    for index, family in enumerate(survey.families):
        rows = np.flatnonzero((slots >= family.start) & (slots < family.stop))
        symbols = survey.symbols.of(index, records.words[rows], slots[rows])
        one_by_one = survey.symbols._one_by_one(index, records.words[rows], slots[rows])
        assert np.array_equal(symbols, one_by_one)
        for row, symbol in zip(rows.tolist(), symbols.tolist(), strict=True):
            question = survey.question(int(slots[row]))
            assert question.asks.symbol(frame.iloc[row].to_dict()) == symbol


def test_a_client_takes_a_mixed_survey(tmp_path) -> None:
    survey = Survey(Schema.of(sex=["f", "m"], income=["low", "mid", "high"]), 2, 1.1)
    ledger = Ledger(tmp_path / "me.json")
    report = Client(survey, ledger=ledger).report({"sex": "f", "income": "mid"})
    assert 0 <= report.slot < survey.slots
    other = Client(survey, ledger=Ledger(tmp_path / "other.json"))
    with pytest.raises(RecordError, match="no such value") as caught:
        other.report({"sex": "f", "income": "secret"})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f["templates"][-1].update(questions=[13, 13]), "from 1 to 12"),
        (lambda f: f["templates"][-1].update(questions=[4, 2]), "."),
        (lambda f: f["templates"][-1].update(questions=[2]), "one number for each"),
        (lambda f: f["templates"][-1].update(questions="2"), "must be a list"),
        (lambda f: f["templates"][-1].update(sizes=[3, 4]), "cannot have sizes without cell"),
        (lambda f: f["templates"][-1].update(weights=[]), "weights must be a list"),
        (lambda f: f["templates"][-1].update(sets=[[0, 9]], weights=[1]), "."),
        (lambda f: f["schema"]["attributes"][1].update(values=["v0", "v1"]), "does not fit"),
    ],
)
def test_a_survey_that_asks_more_than_attributes_have_is_refused(change, message) -> None:
    form = json.loads(Survey(schema(3, 4), 2, 2.0, "Subspace").to_json())
    assert form["templates"][-1]["questions"] == [2, 2]
    change(form)
    with pytest.raises(SurveyError, match=message):
        Survey.from_json(json.dumps(form))


RR = Subset.within(1.0, 2).to_json()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "sizes", "templates", "message"),
    [
        # What would list more sets of attributes than any memory holds.
        ("InpPS", [2] * 60 + [3], [_cell(20)], "coefficients"),
        ("InpHT", [2] * 40 + [3], [_parity(10, range(10))], "lower the order"),
        ("InpHT", [2] * 23 + [3], [_parity(10, range(10))] * 12, "lower the order"),
        ("InpHT", [3, 3], [_parity(1, [0])] * 2, "different things"),
        # What would take a device for ever.
        ("Subspace", [4096], [_parity(1, [0], questions=[12])], "more questions"),
        ("Subspace", [4096] * 6, [_parity(6, [63], questions=[12] * 6)], "more questions"),
        # More slots than numbers.
        ("InpHT", [4096] * 12, [_parity(5, range(5))], "too many|2\\^63"),
        ("Subspace", [2, 2, 3], [_parity(2, [0, 1], among=[0, 3])], "does not have"),
        ("Subspace", [2, 2, 3], [_parity(2, [0, 1], among=[1])], "at least as many"),
        ("Subspace", [2, 2, 3], [_parity(2, [0, 1], among=[1, 0])], "ascending"),
        ("Subspace", [2, 2, 3], [_cell(2, among=[0, 2])], "does not fit"),
    ],
)
def test_a_hostile_survey_is_refused_at_once(name, sizes, templates, message) -> None:
    form = json.loads(Survey(schema(*sizes), 1, 1.0, "InpHT").to_json())
    weighted = {"weight": (1 << 32) // len(templates)} if name == "Subspace" else {}
    answered = [{"answer": RR, **weighted, **each} for each in templates]
    form |= {"mechanism": name, "order": min(10, len(sizes)), "templates": answered}
    form |= {"touches": 20} if name == "InpPS" else {}
    with pytest.raises(SurveyError, match=message):
        Survey.from_json(json.dumps(form))


@pytest.mark.slow
def test_a_category_among_many_yes_no_attributes_costs_little() -> None:
    for order, epsilon in ((2, 4.0), (3, 1.1)):
        binary = MECHANISMS["Subspace"].survey(schema(*[2] * 30), order, epsilon)
        mixed = MECHANISMS["Subspace"].survey(schema(*[2] * 29, 3), order, epsilon, aim="unbiased")
        assert predicted_tv(mixed, 1) < 1.2 * predicted_tv(binary, 1)
        assert any(each.among for each in mixed.templates)


def test_chances_of_sets_are_those_of_their_slots() -> None:
    for name in NAMES:
        survey = mechanism_named(name).survey(schema(2, 3, 50, 2), 2, 1.1)
        for index, places in enumerate(survey.index.templates):
            each = np.broadcast_to(survey.index.chances(index), places.count)
            by_set = np.add.reduceat(each, np.cumsum(places.by_set) - places.by_set)
            assert survey.index.set_chances(index) == pytest.approx(by_set), name


def test_reports_without_noise_are_not_plausible() -> None:
    """Everybody has the same record, and tells the truth: few reports per coefficient show it."""
    sizes = (50, 50)
    frame = people(sizes, 1).iloc[[0] * 60_000]
    for name in ("InpHT", "InpES", "Subspace"):
        survey = Survey(schema(*sizes), 2, 1.1, name)
        assert simulate(survey, frame, seed="honest").plausible
        slots = survey.index.draw_many(Key.seeded("forged").stream(), len(frame))
        records, values = survey.schema.encode_frame(frame).words, np.zeros_like(slots)
        for index, family in enumerate(survey.families):
            rows = np.flatnonzero((slots >= family.start) & (slots < family.stop))
            values[rows] = survey.symbols.of(index, records[rows], slots[rows])
        forged = survey.tally(ReportBatch(survey.id, slots, values, True), simulation=True)
        assert not forged.release().plausible


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_cell_may_be_as_far_out_as_chance_takes_it(sign: int) -> None:
    """Seven standard errors, and what single reports do to a rare cell, by Bernstein's inequality."""
    numbering, reports, second, largest = Shared(1, 1, (3,)), 5.0, 4.0, 3.0
    values = question_list("codes", 3).synthesis
    variance = second / reports * (values[:, 1:] ** 2).sum(axis=1) * 3  # a report holds three
    jump = second / reports * np.abs(values[:, 1:]).max() * largest / second * 3
    room = 7 * np.sqrt(variance) + 49 / 6 * jump
    for far, expected in ((0.999, True), (1.001, False)):
        cells = np.full(3, 1 / 3)
        cells[1] = far * (1 + room[1]) if sign > 0 else far * -room[1]
        cells[[0, 2]] = (1 - cells[1]) / 2
        theta = coefficients_of(cells[None, :], [question_list("codes", 3)])
        sums, people_asked = theta * reports, np.array([reports])
        members, sets = np.arange(3)[None, :], np.ones(3, int)
        scores = Scores(members, sets, people_asked, sums, second, 1.0, largest)
        evidence = SlotEvidence(numbering, [scores], [question_list("codes", 3)])
        assert evidence.tables(np.array([[0]])).values[0] == pytest.approx(cells)
        assert evidence.plausible is expected


def test_one_matrix_for_all_codes_and_one_for_each_attribute_lead_to_the_same_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = (3, 4)
    survey = Survey(schema(*sizes), 2, 3.0, "InpEM")
    tally = survey.tally(survey.randomize(people(sizes, 2_000), seed="both"), simulation=True)
    tables = []
    for few in (0, 1 << 10):
        monkeypatch.setattr(bits_module, "_FEW_CODES", few)
        tables.append(tally.release(estimator="em").evidence.tables(np.array([[0, 1]])))
    assert tables[0].values == pytest.approx(tables[1].values)
    assert (tables[0].notes["steps"] == tables[1].notes["steps"]).all()
    assert tables[0].notes["converged"].all()


@pytest.mark.slow
def test_tables_whose_codes_are_many_have_a_covariance() -> None:
    sizes = (17, 9, 9)
    table = simulate(Survey(schema(*sizes), 3, 2.0), people(sizes, 5_000), seed="codes")
    found = table.marginal("a0", "a1", "a2")
    assert np.diag(found.covariance) == pytest.approx(found.standard_error.ravel() ** 2)


def test_the_inverse_of_bits_has_standard_errors_for_all() -> None:
    survey = MECHANISMS["InpEM"].survey(schema(5, 3, 4), 2, 4.0)
    evidence, table = decoder_of(survey).expected(1000, "inverse"), np.array([[0, 2]])
    truth = np.random.default_rng(5).dirichlet(np.ones(20))[None, :]
    diagonal = np.diag(evidence.cell_covariances(table, truth)[0])
    assert evidence.cell_variances(table, truth)[0] == pytest.approx(diagonal)
    large = simulate(
        Survey(schema(90, 80), 2, 8.0, "InpEM"), people((90, 80), 100), estimator="inverse"
    )
    assert np.isfinite(large.marginal("a0", "a1").standard_error).all()


@pytest.mark.slow
def test_joint_tables_keep_what_is_known_of_single_attributes() -> None:
    sizes = (200, 200, 3)
    frame, survey = people(sizes, 50_000), Survey(schema(*sizes), 2, 4.0)
    raw, joint = (simulate(survey, frame, seed="x", consistency=c) for c in ("none", "joint"))
    assert joint.marginal("a2").values == pytest.approx(raw.marginal("a2").values, abs=2e-3)


def test_a_table_of_other_sizes_than_the_schema_s_is_refused() -> None:
    form = json.loads(Survey(schema(3, 4), 2, 2.0, "MargPS").to_json())
    form["schema"]["attributes"][0]["values"] = ["v0", "v1", "v2", "v3"]
    with pytest.raises(SurveyError, match="does not fit the attributes"):
        Survey.from_json(json.dumps(form))


def test_more_values_than_codes_have_are_refused() -> None:
    with pytest.raises(SurveyError, match="put some of them together"):
        Survey(schema((1 << MOST_BITS) + 1), 1, 1.1)
    with pytest.raises(SurveyError, match=r"17,179,869,183 coefficients .* put values together"):
        Survey(schema(2000, 2400, 1700), 3, 1.1, "Subspace")
    with pytest.raises(SurveyError, match="GB of counters"):
        Survey(schema(2000, 2400, 1700), 3, 1.1, "MargPS")
    wide = Survey(schema(300, 200), 2, 1.1)
    assert wide.question(wide.slots - 1).epsilon <= 1.1


def test_reports_of_several_lengths_are_packed_alike() -> None:
    """MargRR asks for tables of 4 to 80 cells: reports have the bytes that the longest needs."""
    sizes = (2, 2, 40)
    survey = Survey(schema(*sizes), 2, 2.0, "MargRR")
    assert [f.answer.symbols for f in survey.families] == [4, 80]
    batch = survey.randomize(people(sizes, 2_000), seed="packed")
    assert batch.values.shape == (2_000, 10)
    tally = survey.tally(batch, simulation=True)
    assert tally.people == 2_000
    broken = batch.values.copy()
    short = batch.slots < survey.families[0].stop
    assert stats.binomtest(int(short.sum()), len(short), 1 / 3).pvalue > 1e-6  # of three tables
    broken[short, 0] |= 0x80  # a fifth cell
    said = rf"{short.sum()} of 2,000 .*impossible value: {short.sum()}"
    with pytest.raises(ReportError, match=said):
        survey.tally(ReportBatch(survey.id, batch.slots, broken, True), simulation=True)
