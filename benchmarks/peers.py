"""Beside pure-ldp, multi-freq-ldpy and OpenDP, in the same run.

The job: tables of all pairs of eight yes/no attributes at ε = ln 3, from a frame to estimates.
For the other libraries each person gets one random pair and reports its cell of four by generalised
randomized response, their fastest method that fits. Their interface takes one person per call;
everything around the call (who gets which pair, which cell that is) is done for them with numpy.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from importlib.metadata import version
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.measure import (
    EPSILON,
    REPEATS,
    People,
    Row,
    Section,
    best,
    million,
    progress,
    require,
)
from deniable import Schema, Survey, simulate
from deniable.lab.rivals.registry import RIVALS
from deniable.lab.simulate import trials
from deniable.planning.error import predicted_tv
from deniable.questions.entropy import SystemSource

ATTRIBUTES = 8
PAIRS = np.array(list(combinations(range(ATTRIBUTES), 2)))
OURS, THEIRS = 10_000_000, 200_000
AT_LEAST = 50
CALLS = 200_000
VALUES, ONE_WAY = 32, 20_000


def questions(frame: pa.Table) -> tuple[list[int], list[int]]:
    """Return each person's random pair and the cell of it that is true."""
    held = np.stack([column.to_numpy() for column in frame.columns]).astype(np.int64)
    pick = np.random.default_rng().integers(len(PAIRS), size=frame.num_rows)
    first, second = PAIRS[pick].T
    everyone = np.arange(frame.num_rows)
    return pick.tolist(), (2 * held[first, everyone] + held[second, everyone]).tolist()


def pure_ldp(frame: pa.Table) -> list[Any]:
    """pure-ldp: direct encoding, one server per pair."""
    from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer

    client = DEClient(EPSILON, 4, index_mapper=lambda cell: cell)
    servers = [DEServer(EPSILON, 4, index_mapper=lambda cell: cell) for _ in PAIRS]
    for pair, cell in zip(*questions(frame), strict=True):
        servers[pair].aggregate(client.privatise(cell))
    return [s.estimate_all(range(4), suppress_warnings=True) / s.n for s in servers]


def multi_freq_grr(frame: pa.Table) -> list[Any]:
    """multi-freq-ldpy: its GRR client, one list of reports per pair."""
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client

    reports: list[list[int]] = [[] for _ in PAIRS]
    for pair, cell in zip(*questions(frame), strict=True):
        reports[pair].append(GRR_Client(cell, 4, EPSILON))
    return [GRR_Aggregator_MI(part, 4, EPSILON) for part in reports]


def multi_freq_smp(frame: pa.Table) -> list[Any]:
    """multi-freq-ldpy: its own solution for several attributes, which draws the pair itself."""
    from multi_freq_ldpy.mdim_freq_est.SMP_solution import SMP_GRR_Aggregator_MI, SMP_GRR_Client

    held = np.stack([column.to_numpy() for column in frame.columns]).astype(np.int64)
    records = (2 * held[PAIRS[:, 0]] + held[PAIRS[:, 1]]).T.tolist()
    sizes, count = [4] * len(PAIRS), len(PAIRS)
    reports = [SMP_GRR_Client(record, sizes, count, EPSILON) for record in records]
    return list(SMP_GRR_Aggregator_MI(reports, sizes, count, EPSILON))


def check_theirs(what: str, people: People, estimates: list[Any]) -> None:
    """Their estimates must be right too, within six standard errors of a pair's reports."""
    keep = math.exp(EPSILON) / (math.exp(EPSILON) + 3)
    raised = (1 - keep) / 3
    names = people.frame.column_names
    for pair, found in zip(PAIRS, estimates, strict=True):
        truth = people.table([names[i] for i in pair]).ravel()
        said = raised + (keep - raised) * truth
        error = np.sqrt(said * (1 - said) / (people.count / len(PAIRS))) / (keep - raised)
        require(bool((np.abs(found - truth) < 6 * error).all()), f"{what} is wrong.")


def pairs() -> Section:
    """All tables of pairs, ours and theirs."""
    made = Section(
        "All pairs of eight attributes, beside other libraries",
        f"From an Arrow table to 28 tables of pairs, d = 8, ε = ln 3, on one core: {OURS:,} people "
        f"for deniable (`simulate(survey, table).marginals()` with standard errors), {THEIRS:,} for "
        "the others, whose interface takes one person per call. They get their pairs and cells from "
        "numpy, in one go; compilation is warmed up. MargPS asks the same question as they do, and "
        "pools its answers; InpHT makes the same tables of one bit per person, Subspace of two. The "
        "error is the predicted mean total variation distance at one million people: smaller is better.",
        ("ours", "reports/s", "error", "theirs", "reports/s", "error", "faster by"),
    )
    theirs: dict[str, Callable[[pa.Table], list[Any]]] = {
        f"pure-ldp {version('pure-ldp')}, DE": pure_ldp,
        f"multi-freq-ldpy {version('multi-freq-ldpy')}, GRR": multi_freq_grr,
        f"multi-freq-ldpy {version('multi-freq-ldpy')}, SMP[GRR]": multi_freq_smp,
    }
    few, many = People(THEIRS, ATTRIBUTES), People(OURS, ATTRIBUTES)
    jobs: dict[str, Callable[[], Any]] = {}
    for name, job in theirs.items():
        progress(f"{name}: checking")
        check_theirs(name, few, job(few.frame))
        jobs[name] = lambda job=job: job(few.frame)
    surveys = {
        name: Survey(Schema.from_frame(many.frame), 2, EPSILON, name)
        for name in ("MargPS", "InpHT", "Subspace")
    }
    for name, survey in surveys.items():
        release = simulate(survey, many.frame)
        many.check(name, release.people, release.marginals())
        jobs[name] = lambda survey=survey: [
            table.standard_error for table in simulate(survey, many.frame).marginals()
        ]
    progress("tables of pairs, ours and theirs in turns")
    took = best(jobs)
    rates = {name: (OURS if name in surveys else THEIRS) / took[name] for name in jobs}
    unpooled = predicted_tv(surveys["MargPS"], 10**6, "unpooled")
    for ours, survey in surveys.items():
        error = predicted_tv(survey, 10**6)
        for name in theirs:
            faster = rates[ours] / rates[name]
            us = (f"deniable {ours}", million(rates[ours]), f"{error:.4f}")
            them = (name, million(rates[name]), f"{unpooled:.4f}")
            cells = (*us, *them, f"{faster:.0f} ×")
            # Subspace is there for its error; its speed has its target beside bare numpy.
            is_race = ours != "Subspace"
            target, met = (f"≥ {AT_LEAST} ×", faster >= AT_LEAST) if is_race else ("–", None)
            made.rows.append(Row(cells, target, met))
    return made


def one_way() -> Section:
    """One table of one attribute with many values: other libraries' frequency oracles, and ours."""
    section = Section(
        f"One attribute of {VALUES} values, beside other frequency oracles",
        f"ε = ln 3, {ONE_WAY:,} people, from values to shares. pure-ldp's interface takes one person "
        "per call; OUE, OLH and HR of deniable are the rivals in `deniable simulate`, drawn from the "
        "exact law of their counts, so their speed is no client's, and is left out. The error is the "
        "total variation distance, the mean of three runs.",
        ("what", "reports/s", "error"),
    )
    random = np.random.default_rng(2018)
    weights = 1 / np.arange(1, VALUES + 1)
    values = random.choice(VALUES, ONE_WAY, p=weights / weights.sum())
    truth = np.bincount(values, minlength=VALUES) / ONE_WAY
    frame = pa.table({"value": values})
    schema = Schema.of(value=range(VALUES))
    for name, pair in pure_oracles().items():
        progress(f"pure-ldp {name}")
        errors, began = [], time.perf_counter()
        for _ in range(REPEATS):
            client, server = pair()
            for value in values.tolist():
                server.aggregate(client.privatise(value))
            shares = np.array(server.estimate_all(range(VALUES), suppress_warnings=True)) / ONE_WAY
            errors.append(np.abs(shares - truth).sum() / 2)
        rate = REPEATS * ONE_WAY / (time.perf_counter() - began)
        cells = (
            f"pure-ldp {version('pure-ldp')}, {name}",
            f"{rate:,.0f}",
            f"{np.mean(errors):.4f}",
        )
        section.rows.append(Row(cells))
    ours = [RIVALS[name](schema, 1, EPSILON) for name in ("OUE", "OLH", "HR")]
    for each in (*ours, *(Survey(schema, 1, EPSILON, name) for name in ("MargPS", "Subspace"))):
        progress(f"deniable {each.mechanism}")
        *_, last = trials(each, frame, repeat=REPEATS)
        rate = "–" if each in ours else f"{last.reports_per_second:,.0f}"
        cells = (f"deniable {each.mechanism}", rate, f"{last.mean_tv:.4f}")
        section.rows.append(Row(cells))
    return section


def pure_oracles() -> dict[str, Callable[[], tuple[Any, Any]]]:
    """Return what makes a client and a server of each of pure-ldp's oracles."""
    from pure_ldp.frequency_oracles import hadamard_response, local_hashing, unary_encoding

    def same(value: int) -> int:
        return value

    def unary() -> tuple[Any, Any]:
        kinds = unary_encoding.UEClient, unary_encoding.UEServer
        client, server = (kind(EPSILON, VALUES, use_oue=True, index_mapper=same) for kind in kinds)
        return client, server

    def hashing() -> tuple[Any, Any]:
        kinds = local_hashing.LHClient, local_hashing.LHServer
        client, server = (kind(EPSILON, VALUES, use_olh=True, index_mapper=same) for kind in kinds)
        return client, server

    def hadamard() -> tuple[Any, Any]:
        server = hadamard_response.HadamardResponseServer(EPSILON, VALUES, index_mapper=same)
        functions = server.get_hash_funcs()
        kind = hadamard_response.HadamardResponseClient
        return kind(EPSILON, VALUES, functions, index_mapper=same), server

    return {"OUE": unary, "OLH": hashing, "HR": hadamard}


def one_bit() -> Section:
    """One person's yes or no, on one person's device."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    made = Section(
        "One yes or no on one device",
        "Randomized response with probability 3/4 of the truth, one call per report, words from the "
        "operating system: `question.reply(record, SystemSource())` beside OpenDP's "
        "`make_randomized_response_bool(0.75)`.",
        ("job", "reports/s", "of OpenDP"),
    )
    progress("one bit on one device")
    question = Survey(Schema.binary("yes"), 1, EPSILON, "InpHT").question(0)
    theirs, source, record = dp.m.make_randomized_response_bool(0.75), SystemSource(), {"yes": True}
    answers: dict[str, Callable[[], int]] = {
        "deniable": lambda: question.reply(record, source),
        f"OpenDP {version('opendp')}": lambda: theirs(True),
    }
    jobs: dict[str, Callable[[], Any]] = {}
    for name, answer in answers.items():
        calls = CALLS if name == "deniable" else CALLS // 10
        share = sum(answer() for _ in range(calls)) / calls
        require(abs(share - 0.75) < 6 * math.sqrt(3 / 16 / calls), f"{name} is biased: {share}.")

        def job(answer=answer, calls=calls) -> None:
            for _ in range(calls):
                answer()

        jobs[name] = job
    took = best(jobs)
    ours, other = CALLS / took["deniable"], CALLS // 10 / took[f"OpenDP {version('opendp')}"]
    made.rows.append(Row(("deniable", f"{ours:,.0f}", f"{ours / other:.0f} ×")))
    made.rows.append(Row((f"OpenDP {version('opendp')}", f"{other:,.0f}", "1 ×")))
    return made
