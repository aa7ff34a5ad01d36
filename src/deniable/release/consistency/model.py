"""The flattest joint distribution that explains the reports; it also answers larger tables.

A model that errs significantly more than joint tables gives way to them (`deniable.release.fit`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable.errors import TableError
from deniable.release.consistency.joint import joint_tables
from deniable.release.consistency.method import Method, Request

if TYPE_CHECKING:
    from deniable.collector.tally import TallyCounts
    from deniable.release.processed import CoefficientTables
    from deniable.release.projection import Measurements


def process(request: Request) -> CoefficientTables:
    """Return tables of a model, or joint ones where it is rejected."""
    from deniable.decoding.decoder import decoder_of
    from deniable.decoding.evidence import CoefficientEvidence
    from deniable.release.bootstrap import affordable
    from deniable.release.fit import fit
    from deniable.release.processed import CoefficientTables
    from deniable.release.projection import measure
    from deniable.survey.coefficients import Shared

    survey, evidence = request.survey, request.evidence
    if request.tally is None:
        raise TableError(
            'Combined strata take the consistency "none" or "joint": a model would be judged by '
            "halves of one sample. Got 'model'."
        )
    request.check_estimator("model")
    if not survey.schema.is_binary:
        raise TableError(
            'consistency "model" is for attributes of two values so far, and this survey has '
            'others; "joint" takes them.'
        )
    assert isinstance(evidence, CoefficientEvidence)
    numbering, decoder = Shared(len(survey.schema), survey.order), decoder_of(survey)
    measurements = measure(evidence, numbering)

    def measure_tally(half: TallyCounts) -> Measurements:
        evidence = decoder.decode(half.slot, half.value, half.count, request.estimator)
        assert isinstance(evidence, CoefficientEvidence)
        return measure(evidence, numbering)

    model, quality, refit = fit(request.tally, measurements, measure_tally)
    random = request.random
    if quality.rejected:
        return joint_tables(measurements, random, quality)
    draws = affordable(1 << numbering.attributes) if refit else 0
    return CoefficientTables("model", quality, model, model, measurements, random, refit, draws)


METHOD = Method("model", "modelled", process, "a model: the flattest that explains them")
