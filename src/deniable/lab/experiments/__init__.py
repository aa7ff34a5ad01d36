"""The experiments: one module for each result of the paper, and beyond it.

Each says its grid, what is measured at a point, its chart, and the claims that it checks;
`deniable.lab.experiments.reproduce` runs them.
"""

from deniable.lab.experiments.associations import ASSOCIATIONS
from deniable.lab.experiments.attributes import ATTRIBUTES
from deniable.lab.experiments.bars import BARS
from deniable.lab.experiments.bound import BOUND
from deniable.lab.experiments.categorical import CATEGORICAL
from deniable.lab.experiments.em_failures import EM_FAILURES
from deniable.lab.experiments.epsilon import EPSILON
from deniable.lab.experiments.experiment import Experiment
from deniable.lab.experiments.people import PEOPLE
from deniable.lab.experiments.rivals import RIVALS
from deniable.lab.experiments.trees import TREES

__all__ = ["EXPERIMENTS"]

_ALL = (
    PEOPLE,
    EPSILON,
    ATTRIBUTES,
    EM_FAILURES,
    ASSOCIATIONS,
    TREES,
    BARS,
    CATEGORICAL,
    BOUND,
    RIVALS,
)

EXPERIMENTS: dict[str, Experiment] = {each.name: each for each in _ALL}
"""By name, in the order of the paper."""
