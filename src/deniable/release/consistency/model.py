"""A model of all attributes together that explains the reports; it also answers larger tables.

A model that errs significantly more than joint tables gives way to them (`deniable.release.judging`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable.errors import TableError
from deniable.release.consistency.joint import joint_of_any, joint_tables
from deniable.release.consistency.method import Method, Request

if TYPE_CHECKING:
    from deniable.decoding.evidence import Evidence
    from deniable.release.mixed.interactions import Interactions
    from deniable.release.processed import CoefficientTables, ProcessedTables
    from deniable.release.projection import Measurements

_MOST_JUDGED = 1 << 17
"""With more values than this in all interactions, there is no time to compare with joint tables."""


def process(request: Request) -> ProcessedTables:
    """Return tables of a model, or joint ones where it is rejected."""
    if request.tally is None:
        raise TableError(
            'Combined strata take the consistency "none" or "joint": a model would be judged by '
            "halves of one sample. Got 'model'."
        )
    request.check_estimator("model")
    if request.survey.schema.is_binary:
        return _yes_or_no(request)
    return _mixed(request)


def _yes_or_no(request: Request) -> CoefficientTables:
    """Return tables of attributes of two values."""
    from deniable.decoding.evidence import CoefficientEvidence
    from deniable.release.bootstrap import affordable
    from deniable.release.fit import fit
    from deniable.release.processed import CoefficientTables, ErrorsToDraw
    from deniable.release.projection import measure
    from deniable.survey.coefficients import Shared

    numbering = Shared(len(request.survey.schema), request.survey.order)

    def measured(evidence: Evidence) -> Measurements:
        assert isinstance(evidence, CoefficientEvidence)
        return measure(evidence, numbering)

    measurements, random = measured(request.evidence), request.random
    first, second = map(measured, request.halves())
    fitted = fit(measurements, first, second)
    if fitted.quality.rejected:
        return joint_tables(measurements, random, fitted.quality)
    errors = None
    if fitted.refit and fitted.stronger and (draws := affordable(1 << numbering.attributes)):
        errors = ErrorsToDraw(fitted.stronger, fitted.refit, draws, random)
    model = fitted.model
    return CoefficientTables("model", fitted.quality, model, model, measurements, errors)


def _mixed(request: Request) -> ProcessedTables:
    """Return tables of attributes of which some have more values."""
    from deniable.release.components import joint_components
    from deniable.release.mixed.fitting import MixedModel, fit_mixed
    from deniable.release.mixed.interactions import Sets, measure_interactions
    from deniable.release.numbers.tables import Bins, NumberModel, NumberTables
    from deniable.release.numbers.tally import by_moments, lists_of_moments
    from deniable.survey.checks import asked_attributes

    survey, fits = request.survey, request.numbers()
    sizes = tuple(each.size for each in lists_of_moments(survey, fits))
    sets = Sets(sizes, survey.order, {a: each.moments for a, each in fits.items()})

    def measure(evidence: Evidence) -> Interactions:
        return measure_interactions(by_moments(evidence, survey, fits), sets)

    measured = measure(request.evidence)
    for attribute in asked_attributes(survey):
        if not measured.measured[attribute]:
            raise TableError(
                f"A model needs the margin of every attribute, and nobody was asked about "
                f"{survey.schema.names[attribute]!r} alone."
            )

    first, second = halves = request.halves()
    joint = None
    if sets.size < _MOST_JUDGED and not fits:
        joint = [joint_components(half, sizes, survey.order) for half in halves]
    result = fit_mixed(measured, (measure(first), measure(second)), joint, request.random)
    if fits:
        assert isinstance(result.model, MixedModel)
        model = NumberModel(result.model, fits, Bins.default(survey))
        return NumberTables("model", result.fit, model, result, model)
    if result.fit is not None and result.fit.rejected:
        return joint_of_any(request, result.fit)
    return result


METHOD = Method(
    "model",
    "modelled",
    process,
    "a model: without most of the noise",
    "without most of the noise, and no cell below 0",
)
