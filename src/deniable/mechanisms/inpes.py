"""InpES: one balanced yes/no question about each of a few attributes, multiplied, in one bit.

*Idea.* The Efron–Stein decomposition that the paper conjectures for categorical data. A set S of at
most k attributes is drawn, and for each of them a question that half of its values answer with yes.
The person says whether an odd number of these is true, and reports the opposite with probability
1/(e^ε+1).

*Privacy.* The questions are drawn without looking at the record; one bit has odds e^ε.

*Estimator.* The mean of the ±1 reports to a question, times C = (e^ε+1)/(e^ε−1), is the mean of the
answers' product; all questions about S together make the pure interaction component u_S, because
their list is tight (`deniable.questions.lists`).

*Variance.* N·E‖û_S‖² = C²·∏κ(r)/ρ_S with ρ_S the share of people who are asked about S, κ(r) = (r−1)²/r
for even r and r(r−1)/(r+1) for odd r (up to 1 % more above ten values). How often each set is asked
is what makes the tables' errors smallest. For yes/no attributes this is InpHT with weighted levels.
Against the bits of codes, with (r−1)(1−2^−b), balanced questions win a few per cent where r is no
power of two: the conjecture holds, by little. Several parities at once (Subspace) win more.

*Source.* Conjectured in Cormode, Kulkarni, Srivastava, SIGMOD 2018, §6; made concrete here.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb, sqrt
from typing import Any

import numpy as np

from deniable.design.mixtures import whole_weights
from deniable.design.workload import Workload, every_table
from deniable.mechanisms.base import Mechanism
from deniable.questions.answers import Subset
from deniable.schema.schema import Schema
from deniable.survey.coefficients import all_tables
from deniable.survey.template import Template


class InpES(Mechanism):
    """One balanced question about each of a few attributes, multiplied, by randomized response.

    Option: ``workload``, the tables that matter, as Subspace takes it.
    """

    name = "InpES"
    options = ("workload",)
    question_list = "balanced"

    @classmethod
    def design(
        cls,
        schema: Schema,
        order: int,
        epsilon: float,
        *,
        workload: Mapping[tuple[int, ...], float] | None = None,
        **options: Any,
    ) -> tuple[Template, ...]:
        """Return a template for each number of attributes: the product of one question about each."""
        answer, d = Subset.within(epsilon, 2), len(schema)
        if workload is None and schema.is_binary:
            roots = [sqrt(comb(order, j) * comb(d, j)) for j in range(1, order + 1)]
            weights = whole_weights(np.array(roots))
            return tuple(
                Template(j, ((1 << j) - 1,), answer, weights=(weight,))
                for j, weight in enumerate(weights, start=1)
            )
        tables = workload or every_table(cls.name, d, order)
        needed_tables = Workload.of(tables, order, cls.lists(schema))
        counts = np.array([each.count for each in needed_tables.lists])
        sets = [all_tables(len(needed_tables.used), j) for j in range(1, needed_tables.order + 1)]
        questions = np.concatenate([counts[each].prod(axis=1) for each in sets])
        needs = needed_tables.needs()
        for _ in range(1 if needed_tables.is_single else 10):
            shares = np.sqrt(needs * questions)
            precision = np.where(shares > 0, shares / shares.sum() / questions, 1)
            needs = needed_tables.needs(needed_tables.errors(precision))
        sets_asked = np.flatnonzero(shares)
        weights = whole_weights(shares[sets_asked])
        templates, start = [], 0
        for each in sets:
            low, high = np.searchsorted(sets_asked, (start, start + len(each)))
            if low < high:
                members = needed_tables.used[each[sets_asked[low:high] - start]].tolist()
                templates.append(
                    Template(
                        each.shape[1],
                        ((1 << each.shape[1]) - 1,),
                        answer,
                        weights=tuple(weights[low:high]),
                        sets=tuple(map(tuple, members)),
                    )
                )
            start += len(each)
        return tuple(templates)
