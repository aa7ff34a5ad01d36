"""Why a table is not known: its survey never asks what it needs, or nobody was asked so far.

This is the one place that decides; report, methods, terminal, charts and dashboard say what it says.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable.decoding.decoder import decoder_of
from deniable.decoding.evidence import CoefficientEvidence
from deniable.survey.coefficients import Ints, same_sizes
from deniable.survey.frozen import FrozenSurvey

BY_DESIGN = (
    "the survey does not ask about these attributes together, by its design; more people do not "
    "change that"
)
SO_FAR = "not every question that this needs was asked so far; more people help"
UNWEIGHTED = (
    "weights for the known population need tables of more attributes than the survey asks about "
    "together; more people do not change that"
)


def asked_by_design(survey: FrozenSurvey, tables: Ints) -> NDArray[np.bool_]:
    """Tell of each table whether a survey asks for all that it needs, were there enough people."""
    result = np.ones(len(tables), np.bool_)
    if survey.whole_record or not len(tables):
        return result
    evidence = decoder_of(survey).expected(1.0)
    for rows in same_sizes(survey.kinds, tables):
        if isinstance(evidence, CoefficientEvidence):
            result[rows] = evidence.tables(tables[rows]).known
        else:
            result[rows] = np.isfinite(evidence.cell_variances(tables[rows])).all(axis=1)
    return result
