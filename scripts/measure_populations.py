"""What known populations and borrowing repair: `python scripts/measure_populations.py [adult.parquet]`.

The numbers in docs/populations.md are from here. A survey draws people from real data, but not all
alike: who answers depends on some attributes (or, to show what cannot be repaired, on the answer). What
is counted is how often 95 % intervals hold the share of the whole data. A file that is named is UCI
Adult with categorical columns, for groups by country; `groups` leaves known populations out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from deniable import Release, Schema, Survey
from deniable.lab.datasets import declared_schema, load

REPEATS = 500
EPSILONS = (1.1, 2.0, 4.0)


@dataclass(frozen=True)
class Setting:
    """Data, who answers how readily (a factor for each value), and what surveys ask."""

    name: str
    data: Callable[[], pd.DataFrame]
    columns: tuple[str, ...]
    answering: Mapping[str, Mapping[Any, float]]
    tables: tuple[tuple[str, ...], ...]
    people: int = 50_000
    order: int = 2
    by: tuple[str, ...] = ()
    """What is known of the population; by default, what answering depends on."""
    labels: tuple[str, ...] = ()
    mean: str | None = None
    mechanism: str = "auto"


FLIGHTS = ("departed_late", "arrived_late", "far", "united", "evening", "winter")
OPINIONS = ("college", "female", "legal_if_no_more", "legal_if_single", "legal_if_rape", "democrat")
WORKERS = ("schooling", "gender", "marriage", "income")
LATE = {"departed_late": {True: 0.9, False: 0.3}}
LEARNED = {"college": {True: 0.8, False: 0.3}}
BOTH = LEARNED | {"female": {True: 0.7, False: 0.35}}
SCHOOLED = {
    "schooling": dict(
        zip(
            ("less than high school", "high school", "junior college", "bachelor", "graduate"),
            (0.2, 0.3, 0.5, 0.7, 0.9),
            strict=True,
        )
    )
}

SETTINGS = (
    Setting("one attribute", lambda: load("flights"), FLIGHTS, LATE,
            (("arrived_late",), ("evening",), ("departed_late", "arrived_late"))),
    Setting("one attribute, pairs of an order 3", lambda: load("abortion"), OPINIONS, LEARNED,
            (("legal_if_no_more",), ("democrat",), ("legal_if_no_more", "democrat")), order=3),
    Setting("two attributes, linear", lambda: load("abortion"), OPINIONS, BOTH,
            (("legal_if_no_more",), ("democrat",))),
    Setting("two attributes, raked", lambda: load("abortion"), OPINIONS, BOTH,
            (("legal_if_no_more",), ("democrat",), ("college", "legal_if_single")), order=3),
    Setting("five values, and a number", lambda: load("wages"), WORKERS, SCHOOLED,
            (("gender",), ("marriage",), ("schooling", "gender")), people=200_000, mean="income"),
    Setting("a label and an attribute", lambda: load("wages"), WORKERS,
            SCHOOLED | {"gender": {"female": 0.8, "male": 0.4}},
            (("marriage",),), labels=("gender",)),
    Setting("through the model", lambda: load("abortion"), OPINIONS, LEARNED,
            (("legal_if_no_more", "democrat"), ("legal_if_no_more", "legal_if_rape"))),
    Setting("answers that decide themselves", lambda: load("abortion"), OPINIONS,
            {"legal_if_no_more": {True: 0.8, False: 0.4}}, (("legal_if_no_more",),),
            by=("college",)),
)  # fmt: skip


def survey_of(setting: Setting, frame: pd.DataFrame, epsilon: float) -> Survey:
    """Return the survey of a setting."""
    own = [name for name in setting.columns if name not in setting.labels]
    source = "wages" if "schooling" in setting.columns else ""
    schema = declared_schema(source, own) or Schema.from_frame(frame[own])
    labels = {name: sorted(map(str, frame[name].unique())) for name in setting.labels}
    return Survey(schema, setting.order, epsilon, setting.mechanism, labels=labels or None)


def known(frame: pd.DataFrame, names: tuple[str, ...]) -> dict[str, dict[Any, float]]:
    """Return the shares of the whole data."""
    return {name: frame[name].value_counts(normalize=True).to_dict() for name in names}


def releases(
    setting: Setting, frame: pd.DataFrame, epsilon: float, repeats: int
) -> Iterator[tuple[Release, Release]]:
    """Yield what surveys tell of those who answered, and of the population."""
    survey, random = survey_of(setting, frame, epsilon), np.random.default_rng(19)
    chance = np.ones(len(frame))
    for name, factors in setting.answering.items():
        chance *= frame[name].map(dict(factors)).to_numpy(float)
    margins = known(frame, setting.by or tuple(setting.answering))
    for turn in range(repeats):
        rows = random.choice(len(frame), setting.people, p=chance / chance.sum())
        sample = frame.iloc[rows].reset_index(drop=True)
        batch = survey.randomize(sample, f"{setting.name} {epsilon} {turn}")
        if setting.labels:
            tallies = survey.tally(batch, by=list(setting.labels), simulation=True)
            yield tallies.total.release(), tallies.release().poststratify(margins)
        else:
            raw = survey.tally(batch, simulation=True).release()
            yield raw, raw.poststratify(margins)


def coverage(setting: Setting, epsilon: float, repeats: int = REPEATS) -> dict[str, float]:
    """Print and return how often intervals hold the truth, before and after."""
    frame = setting.data()[list(setting.columns)]
    hits: dict[str, list[float]] = {"raw": [], "adjusted": [], "mean": []}
    misses, last, shown = [], setting.tables[0], []
    for raw, adjusted in releases(setting, frame, epsilon, repeats):
        for names in setting.tables:
            table = adjusted.marginal(*names)
            truth = true_table(frame, names, table)
            is_free = table.standard_error > 1e-9  # a known margin has no error
            for kind, each in (("raw", raw), ("adjusted", adjusted)):
                if kind == "raw" and len(names) > raw.survey.order:
                    continue
                low, high = each.marginal(*names).interval()
                hits[kind].append(float(((low <= truth) & (truth <= high))[is_free].mean()))
            if names == last:
                misses.append((table.values - truth) / np.where(is_free, table.standard_error, 1))
                shown.append((raw.marginal(*names).values.ravel()[-1], table.values.ravel()[-1]))
        if setting.mean is not None:
            low, high = adjusted.mean(setting.mean).interval()
            hits["mean"].append(float(low <= frame[setting.mean].clip(upper=80_000).mean() <= high))
    before, after = np.mean(shown, axis=0)
    result = {kind: float(np.mean(each)) for kind, each in hits.items() if each}
    result |= {"bias": float(np.mean(misses, axis=0).ravel()[-1])}
    words = ", ".join(f"{kind} {value:.3f}" for kind, value in result.items())
    share = float(true_table(frame, last, adjusted.marginal(*last)).ravel()[-1])
    method, kind = adjusted.population.method, adjusted.marginal(*last).kind
    print(
        f"{setting.name}, ε {epsilon:g} ({method}; {kind}): {' × '.join(last)} is {share:.3f}, raw "
        f"{before:.3f}, adjusted {after:.3f}; {words}",
        flush=True,
    )
    return result


def true_table(frame: pd.DataFrame, names: tuple[str, ...], table: Any) -> Any:
    """Return the shares of the whole data, in the order of a table's cells."""
    codes = [
        frame[name].map({value: place for place, value in enumerate(one.values)}).to_numpy(int)
        for name, one in zip(names, table.attributes, strict=True)
    ]
    counts = np.zeros(table.values.shape)
    np.add.at(counts, tuple(codes), 1)
    return counts / len(frame)


# Small groups


def borrowing(
    name: str,
    frame: pd.DataFrame,
    label: str,
    asked: str,
    schema: Schema,
    *,
    epsilon: float,
    people: int,
    repeats: int = 200,
) -> dict[str, float]:
    """Print and return how often intervals of groups hold the truth, and what borrowing gains."""
    random = np.random.default_rng(20)
    survey = Survey(schema, 2, epsilon, labels={label: sorted(frame[label].unique())})
    one = schema.attributes[schema.index(asked)]
    is_mean = one.scale is not None
    outcome = frame[asked] if is_mean else frame[asked] == one.values[-1]
    truth = outcome.groupby(frame[label]).mean()
    hits, small, own, gained, best, claimed = [], [], [], [], [], []
    for turn in range(repeats):
        sample = frame.iloc[random.integers(len(frame), size=people)].reset_index(drop=True)
        batch = survey.randomize(sample, f"{name} {epsilon} {turn}")
        rows = survey.tally(batch, by=label, simulation=True).release().borrowed(asked)
        if not is_mean:
            rows = rows[rows["value"] == one.values[-1]]
        at = truth[rows[label]].to_numpy()
        hit = (rows["low"] <= at) & (at <= rows["high"])
        hits.append(hit.mean())
        few = (rows["people"] < 100).to_numpy()
        small.append(hit[few].mean() if few.any() else np.nan)
        square, told = (rows["estimate"] - at) ** 2, rows["direct"].notna()
        own.append(((rows["direct"] - at) ** 2)[told].mean())
        gained.append(square[told].mean())
        best.append(square.mean())
        claimed.append(np.mean(rows["root_mean_squared_error"] ** 2))
    result = {
        "coverage": float(np.mean(hits)),
        "coverage below 100 people": float(np.nanmean(small)),
        "error": float(np.sqrt(np.mean(best))),
        "claimed": float(np.sqrt(np.mean(claimed))),
        "over that of own reports, where these tell": float(
            np.sqrt(np.mean(gained) / np.mean(own))
        ),
    }
    words = ", ".join(f"{kind} {value:.4g}" for kind, value in result.items())
    print(f"{name}, {len(truth)} groups, {people:,} people, ε {epsilon:g}: {words}", flush=True)
    return result


def workers() -> pd.DataFrame:
    """Return the wages, with groups by schooling and marriage."""
    frame = load("wages").assign(income=lambda each: each["income"].clip(upper=80_000))
    return frame.assign(group=frame["schooling"] + ", " + frame["marriage"])


def small_groups(adult: str | None = None, repeats: int = 200) -> None:
    """Print how borrowing does on groups of real people."""
    frame = workers()
    schema = declared_schema("wages", ["gender", "income", "children"])
    assert schema is not None
    for epsilon in EPSILONS:
        for asked in ("gender", "income"):
            borrowing(f"{asked} by schooling and marriage", frame, "group", asked, schema,
                      epsilon=epsilon, people=10_000, repeats=repeats)  # fmt: skip
    if adult is not None:
        frame = pd.read_parquet(adult).astype(str)
        names = ["income", "sex", "education"]
        schema = Schema.of(**{name: sorted(frame[name].unique()) for name in names})
        for epsilon in EPSILONS:
            for asked in ("income", "sex"):
                borrowing(f"{asked} by country", frame, "native_country", asked, schema,
                          epsilon=epsilon, people=len(frame), repeats=repeats)  # fmt: skip


if __name__ == "__main__":
    given = [word for word in sys.argv[1:] if Path(word).suffix]
    if "groups" not in sys.argv:
        for setting in SETTINGS:
            for epsilon in EPSILONS:
                coverage(setting, epsilon)
    small_groups(given[0] if given else None)
