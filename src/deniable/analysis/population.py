"""Known populations: a release whose tables have the margins that are known from elsewhere.

Where those who answered are no fair sample, and who answers depends on attributes whose shares in the
population are known, weighting by these repairs every table: P̃(y) = Σ_b known(b)·P̂(y | b). The weights
are `deniable.analysis.weighting`'s. Everything starts from unbiased estimates, and a table y adjusted by
attributes A is made of the table of y and A together. Where that has more attributes than the survey's
order, it is read from the model of the same reports, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import Literal, NoReturn, Self, get_args

import numpy as np
from numpy.typing import NDArray

from deniable.analysis.adjusting import Cells, Part, WeightedForms, WeightedTables, union_of, weigh
from deniable.analysis.margins import Margin
from deniable.analysis.weighting import check_weighable, rake
from deniable.decoding.evidence import MOST_COVARIED, Tables
from deniable.errors import TableError
from deniable.numeric.covariances import unknown_covariance, variances_of
from deniable.release.marginal import Chunk, Table
from deniable.release.numbers.forms import Forms
from deniable.release.pooled import Pooling
from deniable.release.population import Population
from deniable.release.processed import ProcessedTables
from deniable.release.release import ReleasedTables
from deniable.release.unknown import UNWEIGHTED
from deniable.schema.attribute import spoken
from deniable.survey.coefficients import Floats, Ints

ADJUSTED, THROUGH_MODEL = "adjusted", "adjusted through the model"
"""Kinds of tables."""

Method = Literal["raking", "linear"]


def _told(every: Sequence[Cells]) -> Tables:
    flags = np.array([each.known for each in every], np.bool_)
    return Tables(np.stack([each.values for each in every]), flags, {})


class AdjustedEvidence:
    """What unbiased estimates, weighted to a known population, tell of tables."""

    def __init__(self, source: WeightedTables | WeightedForms, release: ReleasedTables) -> None:
        self.source, self._release = source, release

    def tells(self, table: Sequence[int]) -> bool:
        """Tell whether the survey's order is enough for a table."""
        return self.source.tells(table)

    def tables(self, tables: Ints) -> Tables:
        """Return the adjusted cells of each table; those that the order is too low for are not known."""
        return _told([self.source.table(table) for table in tables.tolist()])

    def cell_covariances(self, tables: Ints, truth: Floats | None = None) -> Floats:
        """Return the covariance of each table's cells, by the delta method, at what is estimated."""
        every = [self.source.table(table, with_errors=True) for table in tables.tolist()]
        return np.stack([each.covariance for each in every])

    def cell_variances(self, tables: Ints, truth: Floats | None = None) -> Floats:
        """Return the variance of each cell of each table."""
        return variances_of(self.cell_covariances(tables))

    @property
    def plausible(self) -> bool:
        """Tell whether people can have given these reports."""
        return self._release.plausible


class ModelledPopulation:
    """Tables of a model of those who answered, raked to a known population."""

    def __init__(
        self, processing: ProcessedTables, margins: Sequence[Margin], sizes: Sequence[int]
    ):
        self._processing, self._margins, self._sizes = processing, tuple(margins), sizes
        self._known = [m.attribute for m in margins if m.attribute is not None]

    def tells(self, table: Sequence[int]) -> bool:
        """Tell that a model tells of all tables."""
        return True

    def interval_kind(self, table: Sequence[int]) -> str:
        """Return what the error bars of a table are: the model's own, or none."""
        kind = self._processing.interval_kind(len({*table, *self._known}))
        return "none" if kind == "unprocessed" else kind

    def table(self, table: Sequence[int], *, with_errors: bool = False) -> Cells:
        """Return the weighted cells of a table."""
        union = sorted({*table, *self._known})
        both = union_of(union, self._sizes, table, self._known)
        row = np.array([union])
        estimate = self._processing.tables(row)
        tops = both.by_combination(estimate.values[0])
        weights = weigh(tops.sum(axis=1)[None], [()], self._margins)
        covariance = unknown_covariance(both.cells)
        if with_errors and self.interval_kind(table) != "none":
            way = both.jacobian(weights.factors, weights.columns @ weights.slopes(tops))
            covariance = way @ self._processing.covariances(row)[0] @ way.T
        return Cells(weights.factors @ tops, bool(estimate.known[0]), covariance)


class AdjustedTables(ReleasedTables):
    """A release whose tables are weighted to a known population; ``unadjusted`` is what it was.

    It starts from unbiased estimates, whatever was done to the tables of what it was made of.
    """

    def __init__(
        self,
        release: ReleasedTables,
        parts: Sequence[Part],
        margins: Sequence[Margin],
        method: Method | None = None,
    ) -> None:
        _check_release(release)
        self.unadjusted = release
        self.survey, self.group = release.survey, release.group
        self.people, self.simulated = release.people, release.simulated
        self.tallies, self.estimator = release.tallies, release.estimator
        self.wording = release.wording
        self.consistency, self._processing = "none", None
        self._parts, self._margins = tuple(parts), tuple(margins)
        _check_margins(self._parts, self._margins, release.people)
        self._forms: WeightedForms | None = None
        own = method or _method_for(release, self._margins, len(parts))
        self.population = Population({each.name: each.told() for each in margins}, own)
        if len(parts) == 1 and has_forms(release):
            self._forms = WeightedForms(release, margins, own)
        by_forms = own == "linear" or not all(each.is_own for each in margins)
        if by_forms and self._forms is None:
            raise TableError(
                "Linear weights, and numbers cut into other bins than the survey's, take estimates of "
                "coefficients of one sample: a release of Subspace, InpHT or InpES."
            )
        source = self._forms if by_forms and self._forms else WeightedTables(parts, margins)
        self.evidence: AdjustedEvidence = AdjustedEvidence(source, release)

    @property
    def strata(self) -> Mapping[str, float]:
        """Return the weights of the strata that were combined before."""
        return self.unadjusted.strata

    @property
    def pooling(self) -> Pooling | None:
        """Return which surveys were pooled before."""
        return self.unadjusted.pooling

    def check_asked(self, attributes: Sequence[int]) -> None:
        """Refuse what no survey asked for together."""
        self.unadjusted.check_asked(attributes)

    def asks(self, tables: Ints) -> NDArray[np.bool_]:
        """Tell of each table whether its survey asks for all that it needs."""
        return self.unadjusted.asks(tables)

    def why_unknown(self, table: Ints) -> str:
        """Say why a table is not known: of the people who answered, or of the population only."""
        is_known = self.unadjusted.unprocessed.estimate(table[None, :]).known[0]
        return UNWEIGHTED if is_known else self.unadjusted.why_unknown(table)

    @property
    def table_kind(self) -> str:
        """Return what the tables are that need no model."""
        return ADJUSTED

    def with_consistency(self, consistency: str) -> Self:
        """Return this release: "auto" is "none" here, and nothing else is on offer."""
        if consistency not in ("none", "auto"):
            self._refuse(f'The consistency "{consistency}"')
        return self

    def _refuse(self, what: str) -> NoReturn:
        raise TableError(
            f"{what} is not on offer for tables that are adjusted to a known population; the release "
            "before it was adjusted (release.unadjusted) has it."
        )

    def needs_covariance(self, what: str) -> None:
        """Refuse tests, whose law nobody has worked out for adjusted tables."""
        self._refuse(what)

    @property
    def exact_evidence(self) -> NoReturn:
        """Refuse what takes unbiased estimates of coefficients."""
        self._refuse("What takes unbiased coefficients, such as a regression,")

    @property
    def reading_evidence(self) -> NoReturn:
        """Refuse what tells how strongly attributes depend on each other."""
        self._refuse("The dependence of attributes")

    @property
    def number_fits(self) -> NoReturn:
        """Refuse what is fitted to all answers about a number alone."""
        self._refuse("A fitted distribution, with its quantiles,")

    @property
    def forms(self) -> Forms:
        """Return what makes linear forms of the population."""
        if self._forms is None:
            self._refuse("A mean of groups by label together, or of answers about cells,")
        return self._forms

    @cached_property
    def _modelled(self) -> ModelledPopulation | None:
        """Return the population by the model of those who answered, where there is one."""
        release, margins = self.unadjusted, self._margins
        if len(self._parts) > 1 or release.strata or not all(each.is_own for each in margins):
            return None
        try:
            model = release.with_consistency("model")
        except TableError:
            return None
        if model.model is None or model.processing is None:
            return None
        return ModelledPopulation(model.processing, margins, self.survey.schema.sizes)

    def _source(self, table: Sequence[int]) -> WeightedTables | WeightedForms | ModelledPopulation:
        """Return what tells of a table: the estimates, or else a model."""
        if self.evidence.tells(table) or self._modelled is None:
            return self.evidence.source
        return self._modelled

    def _interval_kind_of(self, table: Sequence[int]) -> str:
        """Return what the error bars of a table are; very large tables have none."""
        others = [m.attribute for m in self._margins if m.attribute is not None]
        cells = prod(self.survey.schema.sizes[a] for a in {*table, *others})
        source = self._source(table)
        if cells > MOST_COVARIED:
            return "none"
        if isinstance(source, ModelledPopulation):
            return source.interval_kind(table)
        return "delta" if source.tells(table) else "none"

    def interval_kind(self, size: int) -> str:
        """Return what the error bars of tables that need no model are."""
        return "delta"

    def estimate(self, tables: Ints) -> Tables:
        """Return the cells of several tables of the same sizes."""
        self._check_size(tables.shape[1])
        return _told([self._source(table).table(table) for table in tables.tolist()])

    def covariances(self, tables: Ints) -> Floats:
        """Return the covariance of the cells of each table; not a number where none is known."""
        every = []
        for table in tables.tolist():
            if self._interval_kind_of(table) != "none":
                every.append(self._source(table).table(table, with_errors=True).covariance)
                continue
            every.append(unknown_covariance(prod(self.survey.schema.sizes[a] for a in table)))
        return np.stack(every)

    def variances(self, tables: Ints) -> Floats:
        """Return the variance of each cell of each table; infinite where none is known."""
        return variances_of(self.covariances(tables))

    def check_tells(self, *names: str) -> None:
        """Refuse a table that neither the survey's order nor a model is enough for."""
        table = [self.survey.schema.index(name) for name in names]
        if not self._source(table).tells(table):
            by = ", ".join(margin.name for margin in self._margins)
            raise TableError(
                f"Adjusted by {by}, the table of {', '.join(names)} takes tables of "
                f"more attributes than the survey's order, {self.survey.order}, and there is no model "
                "of these reports, on these bins, to read them from."
            )

    def _table(self, chunk: Chunk, row: int, order: Sequence[int]) -> Table:
        table, own = super()._table(chunk, row, order), chunk.tables[row].tolist()
        if table.known:
            table.errors.kind = self._interval_kind_of(own)
        is_modelled = isinstance(self._source(own), ModelledPopulation)
        return replace(table, kind=THROUGH_MODEL) if is_modelled else table


def has_forms(release: ReleasedTables) -> bool:
    """Tell whether a release tells about linear forms across its tables."""
    try:
        return release.forms is not None
    except TableError:
        return False


def _method_for(release: ReleasedTables, margins: Sequence[Margin], groups: int) -> Method:
    """Return raking where the order is enough for it, else linear weights where these can be."""
    private = sum(margin.attribute is not None for margin in margins)
    can_add = groups == 1 and has_forms(release)
    return "linear" if private >= release.survey.order and private > 1 and can_add else "raking"


def _check_margins(parts: Sequence[Part], margins: Sequence[Margin], people: int) -> None:
    """Refuse known shares that the reports cannot be weighted to."""
    first = parts[0].release
    for margin in margins:
        if margin.attribute is None:
            continue
        if first.survey.order < 2:
            raise TableError(
                "Tables are adjusted by an attribute by way of their tables with it; this survey "
                "collected order 1."
            )
        shares, errors = _margin_of(parts, margin)
        check_weighable(
            margin.name, [spoken(v) for v in margin.values], margin.shares, shares, errors, people
        )


def _margin_of(parts: Sequence[Part], margin: Margin) -> tuple[Floats, Floats]:
    """Return the shares among those who answered, and their standard errors."""
    assert margin.attribute is not None
    if margin.is_own:
        row = np.array([[margin.attribute]])
        of = [(part.share, part.release.evidence) for part in parts]
        shares = sum(share * each.tables(row).values[0] for share, each in of)
        square = sum(share**2 * each.cell_variances(row)[0] for share, each in of)
    else:
        forms = Forms(parts[0].release)
        cells = forms.cells({margin.attribute: margin.matrix})
        shares, square = forms.values(cells), np.diagonal(forms.covariance(cells))
    return np.asarray(shares), np.sqrt(np.asarray(square).clip(0, None))


def check_method(method: object) -> None:
    """Refuse what is no way of weighting."""
    if method not in (None, *get_args(Method)):
        raise TableError(f"The method must be 'raking' or 'linear', got {method!r}.")


def _check_release(release: ReleasedTables) -> None:
    """Refuse estimates that cannot be weighted, with errors, to a known population."""
    release.needs_covariance("Adjusting to a known population")
    if release.estimator == "unpooled":
        raise TableError(
            "Adjusting to a known population takes estimates that agree with each other: use the "
            'estimator "pooled", not "unpooled".'
        )


def weigh_groups(groups: Sequence[Part], labels: Sequence[Margin]) -> Floats:
    """Return the shares that groups have of a population of which these labels' shares are known."""
    grid = np.zeros([len(label.values) for label in labels])
    for part in groups:
        grid[part.place] += part.share
    factors = rake(grid, [label.shares for label in labels])
    if not np.isfinite(factors).all():
        names = " and ".join(repr(label.name) for label in labels)
        raise TableError(
            f"The known shares of {names} contradict each other: no weights of the groups that answered "
            "meet all of them."
        )
    return np.array([part.share * factors[part.place] for part in groups])
