"""Joint tables: no negative cell, and all of them agree; nearest to the unbiased estimates."""

from __future__ import annotations

from math import comb

from deniable.decoding.evidence import CoefficientEvidence
from deniable.release.bootstrap import affordable
from deniable.release.consistency.method import Method, Request
from deniable.release.fit import Fit
from deniable.release.processed import Agreed, Mixed, Processed, Processing, Random
from deniable.release.projection import Measured, joint, measure
from deniable.survey.coefficients import Shared


def process(request: Request) -> Processing:
    """Return estimates made non-negative, and to agree with each other."""
    request.check_estimator("joint")
    survey, evidence = request.survey, request.evidence
    if not survey.schema.is_binary:
        return Mixed.of(evidence, survey.schema.sizes, survey.order)
    assert isinstance(evidence, CoefficientEvidence)
    measured = measure(evidence, Shared(len(survey.schema), survey.order))
    return agreed(measured, request.random)


def agreed(measured: Measured, random: Random, fit: Fit | None = None) -> Processed:
    """Return joint tables of attributes of two values, and how a model did that was rejected."""
    numbering = measured.numbering

    def agree(other: Measured) -> Agreed:
        return Agreed(numbering, joint(other.theta, numbering))

    cells = comb(numbering.attributes, numbering.order) << numbering.order
    draws = affordable(2 * cells)
    return Processed("joint", fit, measured, random, agree(measured), agree, draws)


METHOD = Method("joint", process, "joint: no cell below 0, all agree")
