"""Linear forms of a release: estimates, and exact covariances across all of its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from deniable.decoding.forms import Form, FormEvidence, product_form
from deniable.errors import TableError
from deniable.survey.coefficients import Floats

if TYPE_CHECKING:
    from deniable.release.release import ReleasedTables


class Forms:
    """Makes forms of a release's unbiased coefficients, and estimates them."""

    def __init__(self, release: ReleasedTables) -> None:
        evidence = release.exact_evidence
        if not isinstance(evidence, FormEvidence) or release.estimator == "unpooled":
            raise TableError(
                "Tables share what they are made of only in pooled estimates; use "
                f"tally.release(estimator={release.decoder.exact_estimator!r})."
            )
        self.release, self.evidence = release, evidence

    def mean(self, functions: Mapping[int, Floats]) -> Form:
        """Return the mean of a product of functions of attributes' codes."""
        order = self.release.survey.order
        if len(functions) > order:
            raise TableError(
                f"A mean of a product of {len(functions)} attributes needs order {len(functions)}; this "
                f"survey collected order {order}."
            )
        self.release.check_asked(list(functions))
        return product_form(self.evidence, functions)

    def cells(self, matrices: Mapping[int, Floats]) -> list[Form]:
        """Return the cells of a table, the last attribute fastest: codes are in rows of matrices."""
        attributes = sorted(matrices)
        return [
            self.mean(dict(zip(attributes, rows, strict=True)))
            for rows in product(*(matrices[a] for a in attributes))
        ]

    def values(self, forms: Sequence[Form]) -> Floats:
        """Return the estimate of each form."""
        theta = self.evidence.overview.theta
        return np.array([form.at(theta) for form in forms])

    def covariance(self, forms: Sequence[Form]) -> Floats:
        """Return the covariance of the estimates."""
        return self.evidence.form_covariance(forms)

    def reports(self, form: Form) -> float:
        """Return how many reports tell of the set of attributes that fewest tell of."""
        people, components = self.evidence.overview.people, self.evidence.numbering.components
        if not len(form.numbers):
            return float(self.release.people)
        own = people[form.numbers]
        if components is None:
            return float(own.min())
        sets = components[form.numbers]
        counts = np.bincount(components, minlength=int(sets.max()) + 1)
        # Where coefficients were asked rarely, each counts for the mean of its set.
        mean = np.bincount(sets, own) / np.maximum(np.bincount(sets), 1)
        every = (mean * counts[: len(mean)])[np.unique(sets)]
        return float(every.min())

    def knows(self, forms: Sequence[Form]) -> bool:
        """Tell whether all that some forms take was asked."""
        people = self.evidence.overview.people
        return all(bool((people[form.numbers] > 0).all()) for form in forms)
