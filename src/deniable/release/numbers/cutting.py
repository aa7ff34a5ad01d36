"""Tables whose numbers are cut into bins of the reader's choice, after everything was collected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.decoding.evidence import refuse_covariance
from deniable.errors import SchemaError, TableError
from deniable.questions.thresholds import Thresholds
from deniable.release.numbers.tables import Bins, NumberTables
from deniable.schema.attribute import Attribute
from deniable.schema.bins import bin_names
from deniable.survey.coefficients import Floats, Ints

if TYPE_CHECKING:
    from deniable.questionnaire.wording import Wording
    from deniable.release.release import ReleasedTables


class CutErrors:
    """The error model of such a table; see `deniable.release.marginal.Errors`."""

    def __init__(self, release: ReleasedTables, covariance: Any, kind: str, axes: Ints) -> None:
        self._release, self._covariance, self.kind, self._axes = release, covariance, kind, axes
        self.centre = None

    @cached_property
    def _matrix(self) -> Floats:
        matrix: Floats = self._covariance()
        return matrix

    def covariance(self) -> Floats:
        """Return the covariance of the cells in C order."""
        numbers = self._axes.ravel()
        return self._matrix[np.ix_(numbers, numbers)]

    def variance(self) -> Floats:
        """Return the variance of each cell."""
        return np.diagonal(self._matrix)[self._axes]

    def sampling(self) -> Floats:
        """Return the part of each cell's variance that comes from who was asked."""
        raise TableError("Intervals of the people are there for tables in their own bins.")

    @property
    def plausible(self) -> bool:
        """Tell whether people can have given the reports behind the whole release."""
        return self._release.plausible

    @property
    def wording(self) -> Wording | None:
        """Return the survey's words, where the release has them."""
        return self._release.wording


def cut_attribute(attribute: Attribute, edges: Sequence[object]) -> tuple[Attribute, Floats]:
    """Return an attribute with these bins, and which of its codes are in which."""
    if attribute.scale is None:
        raise TableError(f"{attribute.name!r} is no number: bins cut numbers and days.")
    try:
        cuts = attribute.cuts(list(edges))
    except SchemaError as error:
        raise TableError(str(error)) from None
    except TypeError:
        raise TableError(f"The bins of {attribute.name!r} are a list of edges.") from None
    if not cuts:
        raise TableError(f"The bins of {attribute.name!r} need an edge above its lower end.")
    names: list[Any] = bin_names(attribute.scale, cuts)
    own = Thresholds(attribute.levels, attribute.missing is not None, cuts)
    stand_in = () if attribute.missing is None else (attribute.missing,)
    return Attribute(attribute.name, (*names, *stand_in)), own.members


def cut_table(
    release: ReleasedTables, attributes: Sequence[int], bins: Mapping[str, Sequence[object]]
) -> dict[str, Any]:
    """Return the parts of a table of attributes, in this order, with numbers cut into these bins."""
    schema = release.survey.schema
    own = [schema.attributes[a] for a in attributes]
    for name in bins:
        if name not in [attribute.name for attribute in own]:
            raise TableError(f"There are bins for {name!r}, which is not in the table.")
    matrices, labels = {}, []
    for a, attribute in zip(attributes, own, strict=True):
        if attribute.name in bins:
            attribute, matrices[a] = cut_attribute(attribute, bins[attribute.name])
        else:
            matrices[a] = attribute.members
        labels.append(attribute)
    ascending = sorted(attributes)
    table = np.array([ascending])
    sizes = [len(matrices[a]) for a in ascending]
    order = [ascending.index(a) for a in attributes]
    axes = np.arange(prod(sizes)).reshape(sizes).transpose(order)
    refuse_covariance(prod(sizes))
    processing = release.processing
    if isinstance(processing, NumberTables):
        own_bins = Bins({**processing.numbers.bins.matrices, **matrices})
        estimates = processing.cut(table, own_bins)
        errors = CutErrors(
            release,
            lambda: processing.covariances_of(table, own_bins)[0],
            processing.interval_kind(len(ascending)),
            axes,
        )
        values, is_known = estimates.values[0], bool(estimates.known[0])
    elif processing is None:
        forms = release.forms
        every = forms.cells({a: matrices[a] for a in ascending})
        values = forms.values(every)
        is_known = forms.knows(every)
        errors = CutErrors(release, lambda: forms.covariance(every), "normal", axes)
    else:
        raise TableError(
            "Other bins are read from a model or from estimates as they are, not from "
            f'{release.applied} tables: take the consistency "auto" or "none".'
        )
    return {
        "attributes": tuple(labels),
        "values": values[axes],
        "errors": errors,
        "known": is_known,
    }
