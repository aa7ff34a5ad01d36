"""Joint tables: no negative cell, and all of them agree; nearest to the unbiased estimates."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

from deniable.release.consistency.method import Method, Request

if TYPE_CHECKING:
    from deniable.release.judging import Fit
    from deniable.release.processed import CoefficientTables, ProcessedTables, Random
    from deniable.release.projection import Measurements


def process(request: Request) -> ProcessedTables:
    """Return estimates made non-negative, and to agree with each other."""
    from deniable.decoding.evidence import CoefficientEvidence
    from deniable.release.projection import measure
    from deniable.survey.coefficients import Shared

    request.check_estimator("joint")
    survey, evidence = request.survey, request.evidence
    if not survey.schema.is_binary:
        return joint_of_any(request)
    assert isinstance(evidence, CoefficientEvidence)
    measurements = measure(evidence, Shared(len(survey.schema), survey.order))
    return joint_tables(measurements, request.random)


def joint_of_any(request: Request, fit: Fit | None = None) -> ProcessedTables:
    """Return joint tables of attributes of any sizes, and how a model did that was rejected."""
    from deniable.release.components import Components, joint_components
    from deniable.release.processed import ComponentTables

    sizes, order, evidence = request.survey.schema.sizes, request.survey.order, request.evidence
    vector = joint_components(evidence, sizes, order)
    return ComponentTables("joint", fit, None, Components(sizes, order), vector, evidence)


def joint_tables(
    measurements: Measurements, random: Random, fit: Fit | None = None
) -> CoefficientTables:
    """Return joint tables of attributes of two values, and how a model did that was rejected."""
    from deniable.release.bootstrap import affordable
    from deniable.release.processed import CoefficientTables, ErrorsToDraw, JointTables
    from deniable.release.projection import joint

    numbering = measurements.numbering

    def agree(other: Measurements) -> JointTables:
        return JointTables(numbering, joint(other.theta, numbering))

    cells = comb(numbering.attributes, numbering.order) << numbering.order
    draws, distribution = affordable(2 * cells), agree(measurements)
    errors = ErrorsToDraw(distribution, agree, draws, random) if draws else None
    return CoefficientTables("joint", fit, None, distribution, measurements, errors)


METHOD = Method(
    "joint",
    "joint",
    process,
    "joint: no cell below 0, all agree",
    "no cell below 0, and all of them agree",
)
