"""The flattest joint distribution that explains the reports; it also answers larger tables.

A model that errs significantly more than joint tables gives way to them (`deniable.release.fit`).
"""

from __future__ import annotations

from deniable.collector.tally import TallyCounts
from deniable.decoding.decoder import decoder_of
from deniable.decoding.evidence import CoefficientEvidence
from deniable.errors import TableError
from deniable.release.bootstrap import affordable
from deniable.release.consistency.joint import agreed
from deniable.release.consistency.method import Method, Request
from deniable.release.fit import fit
from deniable.release.processed import Processed
from deniable.release.projection import Measured, measure
from deniable.survey.coefficients import Shared


def process(request: Request) -> Processed:
    """Return tables of a model, or joint ones where it is rejected."""
    survey, evidence = request.survey, request.evidence
    if request.counts is None:
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
    measured = measure(evidence, numbering)

    def measure_counts(part: TallyCounts) -> Measured:
        decoded = decoder.decode(part.slot, part.value, part.count, request.estimator)
        assert isinstance(decoded, CoefficientEvidence)
        return measure(decoded, numbering)

    distribution, quality, again = fit(request.counts, measured, measure_counts)
    if quality.rejected:
        return agreed(measured, request.random, quality)
    draws = affordable(1 << numbering.attributes) if again else 0
    return Processed("model", quality, measured, request.random, distribution, again, draws)


METHOD = Method("model", process, "a model: the flattest that explains them")
