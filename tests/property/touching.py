"""Everything public of what a tally gives, asked of it: whatever was counted, it answers or refuses.

`touch` walks from an object over all its public members, by introspection. What can be called without
arguments is called; what takes some stands in `CALLS`; what is in neither fails, so that a new method is
asked too.
"""

from __future__ import annotations

import inspect
import re
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from deniable import DeniableError, Release, Survey, Tallies, Tally
from deniable.release.marginal import Table
from deniable.release.numbers.estimates import Estimates, NumberDistribution, Quantiles

Calls = Callable[[Any], Iterable[Callable[[], Any]]]

ROOMS = (
    "deniable.api",
    "deniable.analysis",
    "deniable.show",
    "deniable.release.marginal",
    "deniable.release.numbers.estimates",
    "deniable.planning.shuffle",
    "deniable.release.judging",
    "deniable.release.population",
    "deniable.release.pooled",
)
"""Where what people hold is at home; all else is machinery."""

MACHINERY = {
    "Release": {"with_consistency", "generator", "estimate", "covariances", "variances", "asked"}
    | {
        "asks",
        "why_unknown",
        "check_asked",
        "needs_covariance",
        "interval_kind",
        "sampling",
        "shares_people",
    }
    | {"evidence", "exact_evidence", "reading_evidence", "decoder", "forms", "processing"}
    | {"tallies", "survey", "model", "number_fits", "wording", "merged_wording", "table_type"},
    "_CombinedRelease": {"parts", "releases", "unit", "weights"},
    "_PooledRelease": {"releases", "parts"},
    "Pooling": {"surveys"},
    "AdjustedRelease": {"unadjusted", "weighting", "adjustment"},
    "Tally": {"survey"},
    "Tallies": {"survey", "parts"},
    "Releases": {"tallies"},
    "Tree": {"schema"},
    "Marginal": {"errors", "attributes", "wording"},
    "Drawing": {"chart"},
}
"""Members that are no way to read a release."""

DERIVING = ("combine", "pool", "poststratify")
"""What makes a release of another: one of them at a turn, and of none made so."""

IN_TURN = ("synthesise", "export", "_repr_mimebundle_", "tree")
"""What takes long: one way to call it at a turn."""

MOST = 3
"""Objects of a class that are walked over, beside each other."""

NOT_A_NUMBER = re.compile(r"(?<![\w.])[-−+]?(nan|inf|NaN)(?!\w)")
SCRIPT = re.compile(r"<(script|style)\b.*?</\1>", re.DOTALL)


class Touch:
    """One walk over all that a release, or a tally, gives."""

    def __init__(self, folder: Path, turn: int = 0) -> None:
        self.folder, self.turn = folder, turn
        self._seen: Counter[str] = Counter()
        self.asked: set[str] = set()
        self.failures: list[str] = []
        self._path: list[str] = []

    def of(self, thing: Any) -> None:
        """Ask an object for everything public, and what that gives in turn."""
        kind = type(thing)
        self._seen[kind.__name__] += 1
        if self._seen[kind.__name__] > (1 if isinstance(thing, Release) else MOST):
            return
        for name in members(kind):
            calls = list(self._calls(thing, name))
            if name in IN_TURN and calls:
                calls = [calls[self.turn % len(calls)]]
            for call in calls:
                self.asked.add(f"{kind.__name__}.{name}")
                self._path.append(f"{kind.__name__}.{name}")
                try:
                    self.check(call())
                except DeniableError as error:
                    assert_text(str(error))
                except Exception as error:
                    where = traceback.extract_tb(error.__traceback__)[-1]
                    place = f"{Path(where.filename).name}:{where.lineno}"
                    self.failures.append(f"{' > '.join(self._path)}: {error!r} at {place}")
                finally:
                    self._path.pop()

    def _calls(self, thing: Any, name: str) -> Iterable[Callable[[], Any]]:
        is_derived = isinstance(thing, Release) and type(thing) is not Release
        if is_derived and name in (*DERIVING, "synthesise", "fidelity", "export"):
            return []
        if name in DERIVING and name != DERIVING[self.turn % len(DERIVING)]:
            return []
        for kind in type(thing).__mro__:
            if name in MACHINERY.get(kind.__name__, ()):
                return []
            if (kind.__name__, name) in CALLS:
                return CALLS[kind.__name__, name](thing, self.folder)
        member = inspect.getattr_static(type(thing), name)
        if not callable(member):
            return [lambda: getattr(thing, name)]
        if isinstance(member, staticmethod | classmethod):
            return []
        parameters = list(inspect.signature(member).parameters.values())[1:]
        assert all(
            p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
            for p in parameters
        ), f"{type(thing).__name__}.{name} takes arguments: say which in touching.CALLS"
        return [lambda: getattr(thing, name)()]

    def check(self, result: Any) -> None:
        """Look at what was answered, and walk on if it is an object of the house."""
        if isinstance(result, str):
            assert_text(result)
        elif isinstance(result, Path):
            if result.suffix in (".html", ".csv", ".json"):
                assert_text(result.read_text("utf-8"))
        elif isinstance(result, pd.DataFrame):
            assert_frame(result)
        elif isinstance(result, Mapping):
            if type(result).__module__.startswith(ROOMS):
                self.of(result)
            for value in islice(result.values(), MOST):
                self.check(value)
        elif isinstance(result, list | tuple | Iterator):
            for value in islice(result, 4):
                self.check(value)
        elif isinstance(result, np.ndarray | int | float | None):
            pass
        elif type(result).__module__.startswith(ROOMS):
            assert_inside(result)
            self.of(result)


def members(kind: type) -> list[str]:
    """Return the public members of a class, and how it shows itself."""
    shown = [
        name for name in ("__repr__", "_repr_html_", "_repr_mimebundle_") if hasattr(kind, name)
    ]
    names = {name for name in dir(kind) if not name.startswith("_")}
    return sorted(names) + shown


def assert_text(text: str) -> None:
    """What people read says "not known", never that something is not a number."""
    plain = SCRIPT.sub("", text)
    match = NOT_A_NUMBER.search(plain)
    assert match is None, plain[max(0, match.start() - 300) : match.end() + 100]


def assert_frame(frame: pd.DataFrame) -> None:
    """Estimates lie inside their intervals, are possible, or are not known at all."""
    if not {"estimate", "low", "high"} <= set(frame.columns):
        return
    numbers = frame[["estimate", "low", "high"]]
    if any(dtype.kind not in "fiu" for dtype in numbers.dtypes):
        numbers = numbers.map(float) if frame.attrs.get("what", "").startswith("mean") else None
    if numbers is None:
        return
    estimate, low, high = numbers.to_numpy(float).T
    is_known = ~np.isnan(estimate)
    assert not np.isinf(estimate).any()
    assert not (np.isnan(low) ^ np.isnan(high)).any()
    with np.errstate(invalid="ignore"):
        assert not ((low > estimate) | (estimate > high))[is_known].any(), numbers


def assert_inside(thing: Any) -> None:
    """Estimates are what there can be, and inside their intervals, at every level."""
    if isinstance(thing, Table):
        assert np.isfinite(thing.values).all()
        frame = thing.to_frame()
        assert frame["estimate"].between(0, 1).all()
        assert np.allclose(frame["raw"], thing.values.ravel())
    if isinstance(thing, Estimates):
        for level in (0.5, 0.95):
            at = np.atleast_1d(thing.estimate)
            low, high = map(np.atleast_1d, thing.interval(level))
            assert not np.isnan([low, high]).any()
            is_known = np.isfinite(at)
            assert (np.isinf(np.atleast_1d(thing.standard_error)) | is_known).all()
            assert ((low <= at) & (at <= high))[is_known].all(), repr(thing)
            assert ((thing.bounds[0] <= at) & (at <= thing.bounds[1]))[is_known].all()
    if isinstance(thing, NumberDistribution):
        assert np.isfinite([thing.shares, thing.cumulative, thing.low, thing.high]).all()
        assert (thing.low <= thing.cumulative).all()
        assert (thing.cumulative <= thing.high).all()
        assert ((thing.shares >= 0) & (thing.shares <= 1)).all()
    if isinstance(thing, Quantiles):
        rows = zip(thing.low_points, thing.points, thing.high_points, strict=True)
        assert all(_rank(low) <= _rank(at) <= _rank(high) for low, at, high in rows)


def _rank(point: Any) -> Any:
    return 0 if isinstance(point, str) else point


def _numbers(release: Release) -> list[str]:
    return [each.name for each in release.survey.schema.attributes if each.is_ordered]


def _pairs(release: Release) -> list[tuple[str, str]]:
    """Some pairs of attributes: each with the one after it."""
    names = release.survey.schema.names
    return list(pairwise(names))


def _tables(release: Release, _: Path) -> Iterator[Callable[[], Any]]:
    names, order = release.survey.schema.names, release.survey.order
    for size in range(1, min(order + 1, len(names)) + 1):
        yield lambda size=size: release.marginal(*names[:size])
    for name in _numbers(release):
        cuts = [each.numbers[len(each.numbers) // 2] for each in release.survey.schema.attributes
                if each.name == name and each.scale is not None]  # fmt: skip
        yield lambda name=name, cuts=cuts: release.marginal(name, bins={name: cuts})


def _regressions(release: Release, _: Path) -> Iterator[Callable[[], Any]]:
    for a, b in _pairs(release):
        for kind in (None, "linear", "logistic"):
            yield lambda a=a, b=b, kind=kind: release.regress(f"{a} ~ {b}", kind)


def _pools(release: Release, _: Path) -> Iterator[Callable[[], Any]]:
    """Another survey, of one report to every other slot."""
    survey = release.survey
    other = Survey(survey.schema, survey.order, 1 + survey.epsilon)
    slots = np.arange(0, other.slots, 2)
    zeros = np.zeros_like(slots)
    few = Tally(other, slots, zeros, zeros + 1)
    yield lambda: Release.pool([release, few.release()], overlap=False)


def _combinations(release: Release, _: Path) -> Iterator[Callable[[], Any]]:
    yield lambda: Release.combine({"all": release}, {"all": 1.0})


def _populations(release: Release, _: Path) -> Iterator[Callable[[], Any]]:
    attribute = release.survey.schema.attributes[0]
    even = dict.fromkeys(attribute.values, 1 / attribute.size)
    for method in ("raking", "linear"):
        yield lambda method=method: release.poststratify({attribute.name: even}, method)


def _numbered(method: str, *more: Any) -> Callable[[Any, Path], Iterator[Callable[[], Any]]]:
    def calls(release: Release, _: Path) -> Iterator[Callable[[], Any]]:
        for name in _numbers(release):
            yield lambda name=name: getattr(release, method)(name, *more)

    return calls


def _means(release: Release, _: Path) -> Iterator[Callable[[], Any]]:
    names = release.survey.schema.names
    for name in _numbers(release):
        others = [other for other in names if other != name]
        for by in (None, *others[:2], *([others[:2]] if release.survey.order > 2 else [])):
            yield lambda name=name, by=by: release.mean(name, by)


def _correlations(release: Release, _: Path) -> Iterator[Callable[[], Any]]:
    numbers = _numbers(release)
    for a, b in pairwise(numbers):
        yield lambda a=a, b=b: release.correlation(a, b)


def _covariances(release: Release, _: Path) -> Iterator[Callable[[], Any]]:
    attributes = release.survey.schema.attributes
    yield lambda: release.covariance([{each.name: each.values[0]} for each in attributes])
    yield lambda: release.covariance([*_numbers(release)])


def _exports(release: Release, folder: Path) -> Iterator[Callable[[], Any]]:
    for ending in ("csv", "json", "parquet", "xlsx", "sav", "html"):
        path = folder / f"release.{ending}"

        def call(path: Path = path) -> Path:
            release.export(path)
            return path

        yield call


def _of_pairs(method: str) -> Callable[[Any, Path], Iterator[Callable[[], Any]]]:
    def calls(release: Release, _: Path) -> Iterator[Callable[[], Any]]:
        for a, b in _pairs(release)[:2]:
            yield lambda a=a, b=b: getattr(release, method)(a, b)

    return calls


def _one(call: Callable[[Any], Any]) -> Callable[[Any, Path], list[Callable[[], Any]]]:
    """A member that is asked once."""
    return lambda thing, _: [lambda: call(thing)]


def _saved(method: str, name: str) -> Callable[[Any, Path], list[Callable[[], Any]]]:
    def save(thing: Any, folder: Path) -> Path:
        getattr(thing, method)(folder / name)
        return folder / name

    return lambda thing, folder: [lambda: save(thing, folder)]


def _levels(release: Release, _: Path) -> Iterator[Callable[[], Any]]:
    for size in range(1, release.survey.order + 2):
        yield lambda size=size: release.marginals(size)


def _within(table: Any, _: Path) -> Iterator[Callable[[], Any]]:
    for name in (None, *table.names):
        yield lambda name=name: table.percentages(name)


def _groups(tallies: Tallies, _: Path) -> Iterator[Callable[[], Any]]:
    for consistency in ("none", "auto"):
        yield lambda consistency=consistency: tallies.release(consistency)


def _of_groups(method: str) -> Callable[[Any, Path], Iterator[Callable[[], Any]]]:
    def calls(releases: Any, _: Path) -> Iterator[Callable[[], Any]]:
        for name in releases.tallies.survey.schema.names:
            yield lambda name=name: getattr(releases, method)(name)

    return calls


def _even(releases: Any) -> Any:
    return releases.combine(dict.fromkeys(releases, 1.0))


def _known(releases: Any) -> Any:
    by = releases.tallies.by[0]
    values = releases.tallies.survey.labels.values[by]
    return releases.poststratify({by: dict.fromkeys(values, 1 / len(values))})


CALLS: dict[tuple[str, str], Callable[[Any, Path], Iterable[Callable[[], Any]]]] = {
    ("Release", "marginal"): _tables,
    ("Release", "marginals"): _levels,
    ("Release", "each_marginal"): _one(lambda release: release.each_marginal()),
    ("Release", "tree"): lambda release, _: [
        release.tree,
        lambda: release.tree(significant=True),
        lambda: release.tree(root=release.survey.schema.names[0]),
    ],
    ("Release", "associations"): lambda release, _: [
        release.associations,
        lambda: release.associations(select=1),
    ],
    ("Release", "synthesise"): lambda release, _: [
        lambda: release.synthesise(20, seed="any"),
        lambda: release.synthesise(20, method="model", seed="any"),
    ],
    ("Release", "fidelity"): _one(
        lambda release: release.fidelity(release.synthesise(20, seed="any"))
    ),
    ("Release", "mean"): _means,
    ("Release", "variance"): _numbered("variance"),
    ("Release", "quantile"): _numbered("quantile", [0.1, 0.5, 0.9]),
    ("Release", "distribution"): _numbered("distribution"),
    ("Release", "correlation"): _correlations,
    ("Release", "covariance"): _covariances,
    ("Release", "regress"): _regressions,
    ("Release", "conditional"): _of_pairs("conditional"),
    ("Release", "difference"): _one(
        lambda release: release.difference(release, *release.survey.schema.names[:1])
    ),
    ("Release", "differences"): _one(lambda release: release.differences(release)),
    ("Release", "combine"): _combinations,
    ("Release", "pool"): _pools,
    ("Release", "poststratify"): _populations,
    ("Release", "report"): _saved("report", "release.html"),
    ("Release", "export"): _exports,
    ("Release", "worded"): lambda release, folder: [],  # takes texts that the survey has not
    ("Marginal", "percentages"): _within,
    ("Table", "shown_values"): _one(lambda table: table.shown_values(False)),
    ("Estimates", "name"): _one(lambda estimates: estimates.name(0)),
    ("Drawing", "save"): _saved("save", "drawing.svg"),
    ("Tally", "save"): _saved("save", "one.tally"),
    ("Tally", "overlaps"): _one(lambda tally: tally.overlaps(tally)),
    ("Tally", "copies"): _one(lambda tally: tally.copies(tally)),
    ("Tallies", "save"): _saved("save", "groups"),
    ("Tallies", "release"): _groups,
    ("Tallies", "get"): lambda tallies, _: [],
    ("Releases", "get"): lambda releases, _: [],
    ("Releases", "mean"): _of_groups("mean"),
    ("Releases", "borrowed"): _of_groups("borrowed"),
    ("Releases", "plot"): _of_groups("plot"),
    ("Releases", "combine"): _one(_even),
    ("Releases", "poststratify"): _one(_known),
    ("Tree", "log_likelihood"): _one(lambda tree: tree.log_likelihood(tree.sample(9, seed="any"))),
    ("Tree", "total_mutual_information"): _one(
        lambda tree: tree.total_mutual_information(tree.sample(9, seed="any"))
    ),
    ("Tree", "sample"): _one(lambda tree: tree.sample(9, seed="any")),
}
"""How members that take arguments are called, by the class that has them and their name."""
