"""How the predicted error falls with ε and with people, for every mechanism."""

from __future__ import annotations

from math import isnan, sqrt
from typing import TYPE_CHECKING

from deniable.errors import SurveyError
from deniable.planning.aim import EVERYTHING, Aim
from deniable.planning.error import bound_tv, predicted_tv
from deniable.planning.fitting import surveys_that_fit
from deniable.questions.exact import LARGEST_EPSILON
from deniable.schema.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

LOWER_BOUND = "lower bound"
"""What no unbiased protocol can go below; it stands among the mechanisms of a frame of curves."""

STEPS = 6
"""The points on either side of the plan: each ε needs new designs, so there are not many."""

EPSILON_SPAN, PEOPLE_SPAN = 4.0, 32.0
"""How far curves reach on either side of the plan, as factors; the error falls as 1/√people."""


def curves(
    schema: Schema, order: int, epsilon: float, people: int, aim: Aim = EVERYTHING
) -> pd.DataFrame:
    """Return predicted errors around a plan, as a frame in long form.

    ``along`` says what varies, "epsilon" or "people"; then come ``epsilon``, ``people``,
    ``mechanism`` (the lower bound is one) and ``predicted_tv``. Mechanisms without a formula, and
    points where a mechanism does not fit, are left out.
    """
    import pandas as pd

    steps = [step / STEPS for step in range(-STEPS, STEPS + 1)]
    epsilons = [epsilon * EPSILON_SPAN**step for step in steps]
    by_epsilon = {
        at: _errors(schema, order, at, people, aim) for at in epsilons if at <= LARGEST_EPSILON
    }
    rows: list[tuple[str, float, float, str, float]] = []
    for at, errors in by_epsilon.items():
        rows.extend(("epsilon", at, people, *error) for error in errors.items())
    here = by_epsilon[epsilon]
    for step in steps:
        crowd = people * PEOPLE_SPAN**step
        if crowd >= 1:
            fewer = sqrt(people / crowd)
            rows.extend(("people", epsilon, crowd, n, e * fewer) for n, e in here.items())
    return pd.DataFrame(
        rows, columns=["along", "epsilon", "people", "mechanism", "predicted_tv"]
    ).astype({"people": float})


def _errors(
    schema: Schema, order: int, epsilon: float, people: float, aim: Aim
) -> dict[str, float]:
    """Return the predicted errors by mechanism, the best first, and the lower bound."""
    try:
        surveys, _ = surveys_that_fit(schema, order, epsilon, aim)
    except SurveyError:  # so small an ε that 64-bit thresholds do not express it
        return {}
    errors = {each.mechanism: predicted_tv(each, people, aim=aim) for each in surveys}
    errors[LOWER_BOUND] = bound_tv(schema, order, epsilon, people, aim)
    return {name: e for name, e in errors.items() if e is not None and not isnan(e)}
