"""Compare the power that `plan` predicts with that of simulated surveys.

    python scripts/measure_power.py [--surveys 400] [--only NAME]

A row is one survey design, repeated with other people each time. *predicted* is `plan(...).targets`,
*found* how often `release.associations()`, or a difference of two releases, is surer than the 5 % level.
For pairs, attributes are put into couples, others in each survey, that depend by the V asked for: values
of one, in random order, are moved towards those of the other. For differences, one value's share is so
many points larger in one group.

The table in docs/planning.md is from here.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from deniable import Release, Schema, Survey, plan
from deniable.messages.report import ReportBatch
from deniable.schema.attribute import Attribute

SAMPLE = 100_000
NUMBER = -1
"""What stands for a number of 0 to 40, evenly distributed, among the sizes of attributes."""
LEVELS = 41


@dataclass(frozen=True)
class Setting:
    """A survey, who answers it, and what is looked for."""

    name: str
    epsilon: float
    people: int
    sizes: tuple[int, ...]
    detect: dict[str, float]
    most: tuple[float, ...] | None = None
    """The share of each attribute's first value; even shares if there are none."""
    groups: tuple[float, float] | str | None = None
    mechanism: str = "auto"

    @property
    def schema(self) -> Schema:
        attributes = [
            Attribute(f"a{i}", low=0, high=LEVELS - 1)
            if size == NUMBER
            else Attribute(f"a{i}", tuple(f"v{j}" for j in range(size)))
            for i, size in enumerate(self.sizes)
        ]
        return Schema(tuple(attributes))

    @property
    def shares(self) -> list[np.ndarray]:
        every = []
        for i, size in enumerate(self.sizes):
            if size == NUMBER:
                every.append(np.full(LEVELS, 1 / LEVELS))
            elif self.most is None:
                every.append(np.full(size, 1 / size))
            else:
                rest = np.arange(1, size, dtype=float)
                every.append(np.append(self.most[i], (1 - self.most[i]) * rest / rest.sum()))
        return every

    @property
    def sample(self) -> pd.DataFrame | None:
        """Return people like those who answer, if they are not what a plan takes them for."""
        if self.most is None:
            return None
        random = np.random.default_rng(1)
        codes = [random.choice(len(each), SAMPLE, p=each) for each in self.shares]
        return self.frame(codes)

    def frame(self, codes: list[np.ndarray]) -> pd.DataFrame:
        columns = {}
        for i, (size, own) in enumerate(zip(self.sizes, codes, strict=True)):
            values = (
                np.arange(LEVELS) if size == NUMBER else np.array([f"v{j}" for j in range(size)])
            )
            columns[f"a{i}"] = values[own]
        return pd.DataFrame(columns)

    def plan(self, **more: Any) -> Any:
        given = {"order": 2, "epsilon": self.epsilon, "people": self.people}
        given |= {"sample": self.sample, "groups": self.groups, "detect": self.detect}
        return plan(self.schema, **(given | more))

    @property
    def survey(self) -> Survey:
        return Survey(self.schema, 2, self.epsilon, self.mechanism, people=self.people)


def closest(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the joint shares whose values, in order, go together as far as shares allow."""
    both = np.minimum(a.cumsum()[:, None], b.cumsum()[None, :])
    return np.diff(np.diff(both, axis=0, prepend=0), axis=1, prepend=0).clip(0, None)


def couple(
    a: np.ndarray, b: np.ndarray, v: float, random: np.random.Generator, ordered: bool
) -> Any:
    """Return joint shares with this V; in another order if shares leave no room for it."""
    alone = np.outer(a, b)
    if ordered:  # along slopes; V counts a slope and a bend
        at = np.sqrt(3) * np.linspace(-1, 1, LEVELS)
        return alone * (1 + np.sqrt(2) * v * np.outer(at, at) / (at**2).mean())
    while True:
        rows, columns = random.permutation(len(a)), random.permutation(len(b))
        joint = np.empty_like(alone)
        joint[np.ix_(rows, columns)] = closest(a[rows], b[columns])
        most = ((joint - alone) ** 2 / alone).sum() / (min(alone.shape) - 1)
        if v**2 <= most:
            return alone + v / np.sqrt(most) * (joint - alone)


def couples(setting: Setting, random: np.random.Generator) -> tuple[pd.DataFrame, list[Any]]:
    """Return people of one survey, and which attributes are couples."""
    order, shares = random.permutation(len(setting.sizes)), setting.shares
    codes: list[Any] = [random.choice(len(each), setting.people, p=each) for each in shares]
    pairs = []
    for one, other in zip(order[::2], order[1::2], strict=False):
        numbers = [setting.sizes[i] == NUMBER for i in (one, other)]
        if numbers[0] != numbers[1]:
            continue
        joint = couple(shares[one], shares[other], setting.detect["v"], random, all(numbers))
        cells = random.choice(joint.size, setting.people, p=joint.ravel() / joint.sum())
        codes[one], codes[other] = np.divmod(cells, joint.shape[1])
        pairs.append({f"a{one}", f"a{other}"})
    return setting.frame(codes), pairs


def releases(
    survey: Survey, draw: Callable[[], tuple[list[pd.DataFrame], Any]], surveys: int, seed: str
) -> Iterator[tuple[list[Release], Any]]:
    """Yield the releases of each survey's groups, and what is to be found in them."""
    together = 20
    for start in range(0, surveys, together):
        drawn = [draw() for _ in range(min(together, surveys - start))]
        parts = [part for groups, _ in drawn for part in groups]
        batch = survey.randomize(pd.concat(parts, ignore_index=True), f"{seed} {start}")
        ends = np.cumsum([0, *map(len, parts)]).tolist()
        every = []
        for low, high in pairwise(ends):
            part = ReportBatch(
                survey.id, batch.slots[low:high], batch.values[low:high], simulated=True
            )
            every.append(survey.tally(part, simulation=True).release())
        own = iter(every)
        for groups, truth in drawn:
            yield [next(own) for _ in groups], truth


def of_pairs(setting: Setting, surveys: int) -> list[bool]:
    random = np.random.default_rng(5)

    def draw() -> tuple[list[pd.DataFrame], Any]:
        frame, pairs = couples(setting, random)
        return [frame], pairs

    hits = []
    for (release,), pairs in releases(setting.survey, draw, surveys, setting.name):
        frame = release.associations()
        sure = dict(
            zip(map(frozenset, frame[["a", "b"]].to_numpy()), frame["p_value"], strict=True)
        )
        hits += [sure[frozenset(pair)] < 0.05 for pair in pairs]
    return hits


def apart(shares: np.ndarray, points: float, value: int) -> np.ndarray:
    """Return what one value gains and the others lose."""
    is_value = np.arange(len(shares)) == value
    return points / 100 * (is_value - np.where(is_value, 0, shares / (1 - shares[value])))


def of_labels(setting: Setting, surveys: int) -> list[bool]:
    """Compare two releases; in each survey, every attribute differs by one of its values."""
    random, weights = np.random.default_rng(6), setting.groups or (0.5, 0.5)
    counts = [round(each * setting.people) for each in weights]

    def draw() -> tuple[list[pd.DataFrame], Any]:
        columns: list[list[np.ndarray]] = [[], []]
        for shares in setting.shares:
            change = apart(shares, setting.detect["difference"], int(random.integers(len(shares))))
            if (shares - max(weights) * change).min() < 0:
                change = -change
            for group, part in ((0, weights[1]), (1, -weights[0])):
                own = shares + part * change
                columns[group].append(random.choice(len(own), counts[group], p=own / own.sum()))
        return [setting.frame(each) for each in columns], None

    hits = []
    for (first, second), _ in releases(setting.survey, draw, surveys, setting.name):
        for name in setting.schema.names:
            hits.append(first.difference(second, name).p_value < 0.05)
    return hits


def of_private_groups(setting: Setting, surveys: int) -> list[bool]:
    """Test pairs with a0; in each survey, every other attribute differs by one of its values."""
    random = np.random.default_rng(7)
    own = setting.shares[0]

    def draw() -> tuple[list[pd.DataFrame], Any]:
        group = random.choice(len(own), setting.people, p=own)
        codes = [group]
        for shares in setting.shares[1:]:
            value, part = int(random.integers(len(shares))), int(random.integers(len(own)))
            change = apart(shares, setting.detect["difference"], value)
            inside = np.outer(group == part, change) - own[part] * change
            ends = (shares + inside).cumsum(axis=1)
            codes.append((random.random((setting.people, 1)) > ends[:, :-1]).sum(axis=1))
        return [setting.frame(codes)], None

    hits = []
    for (release,), _ in releases(setting.survey, draw, surveys, setting.name):
        frame = release.associations()
        hits += (frame.loc[(frame["a"] == "a0") | (frame["b"] == "a0"), "p_value"] < 0.05).tolist()
    return hits


MIXED = (2, 3, 4, 5, 3, 2)
SKEWED = (0.1, 0.6, 0.5, 0.4, 0.7, 0.25)
SETTINGS = (
    Setting("yes/no", 1.1, 20_000, (2,) * 8, {"v": 0.22}),
    Setting("yes/no, little told", 0.4, 200_000, (2,) * 8, {"v": 0.2}),
    Setting("yes/no, much told", 4.0, 1_500, (2,) * 8, {"v": 0.1}),
    Setting("yes/no, rare", 1.1, 100_000, (2,) * 6, {"v": 0.25}, (0.05, 0.1, 0.15, 0.2, 0.3, 0.1)),
    Setting("yes/no, rare, much told", 4.0, 2_000, (2,) * 6, {"v": 0.15},
            (0.05, 0.1, 0.15, 0.2, 0.3, 0.1)),
    Setting("2 to 5 values", 1.1, 60_000, MIXED, {"v": 0.2}),
    Setting("2 to 5 values, skewed", 2.0, 20_000, MIXED, {"v": 0.2}, SKEWED),
    Setting("8 to 12 values", 4.0, 4_000, (8, 12, 9, 10), {"v": 0.2}),
    Setting("numbers", 2.0, 20_000, (NUMBER,) * 4, {"v": 0.15}),
    Setting("two halves, yes/no", 1.1, 60_000, (2,) * 8, {"difference": 8}),
    Setting("labels of 20 % and 80 %, 2 to 5 values", 2.0, 30_000, MIXED, {"difference": 6}, SKEWED,
            (0.2, 0.8)),
    Setting("by a private attribute, yes/no", 2.0, 30_000, (2,) * 6, {"difference": 8},
            (0.3, 0.5, 0.4, 0.6, 0.3, 0.5), "a0"),
    Setting("by one of three values", 4.0, 8_000, (3, 2, 4, 2), {"difference": 8},
            (0.5, 0.4, 0.3, 0.5), "a0"),
)  # fmt: skip


def measure(setting: Setting, surveys: int) -> tuple[float, float, int]:
    """Return the predicted power, how often it was found, and in how many tests."""
    (target,) = setting.plan().targets
    if "v" in setting.detect:
        hits = of_pairs(setting, surveys)
    elif isinstance(setting.groups, str):
        hits = of_private_groups(setting, surveys)
    else:
        hits = of_labels(setting, surveys)
    return target.power, float(np.mean(hits)), len(hits)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--surveys", type=int, default=400)
    options.add_argument("--only", default=None)
    asked = options.parse_args()
    print("| attributes | looked for | ε | people | predicted | found | tests |")
    print("|-|-|-|-|-|-|-|")
    for setting in SETTINGS:
        if asked.only not in (None, setting.name):
            continue
        predicted, found, tests = measure(setting, asked.surveys)
        ((what, value),) = setting.detect.items()
        size = f"V = {value:g}" if what == "v" else f"{value:g} points"
        print(
            f"| {setting.name} | {size} | {setting.epsilon:g} | {setting.people:,} "
            f"| {predicted:.3f} | {found:.3f} | {tests:,} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
