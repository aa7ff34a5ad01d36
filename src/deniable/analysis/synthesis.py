"""Synthetic records: people who never were, with the statistics of those who answered.

They are drawn from what was released, so they say nothing about anybody that the release does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.analysis.records import (
    check_people,
    frame_of,
    generator,
    true_pairs,
    values_of,
)
from deniable.analysis.tree import as_read, tree
from deniable.decoding.evidence import expected_tv
from deniable.errors import TableError
from deniable.numeric.shares import draw, proportions
from deniable.release.estimate import chunks_alike
from deniable.release.graph import CliqueTree
from deniable.release.mixed.fitting import MixedModel
from deniable.release.model import Distribution, Whole, transform
from deniable.release.numbers.tables import NumberModel
from deniable.release.release import ReleasedTables
from deniable.survey.coefficients import Ints, all_tables

if TYPE_CHECKING:
    import pandas as pd

METHODS = ("tree", "model")
"""What synthetic records may be drawn from."""


def synthesise(
    release: ReleasedTables, people: int, *, method: str = "tree", seed: str | None = None
) -> pd.DataFrame:
    """Return synthetic records of declared values, as a pandas frame; a seed makes them again.

    Numbers are points of their grids, days are texts, and a number that is missing is not there.
    ``method="tree"`` draws from the release's Chow–Liu tree, which keeps the strongest pairs; "model"
    draws from the fitted joint distribution, which keeps all pairs of attributes of two values, and
    of others what classes of people tell.
    """
    if method not in METHODS:
        raise TableError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    people = check_people(people)
    if method == "tree":
        return tree(release).sample(people, seed)
    smooth = release.with_consistency("model")
    if smooth.model is None:
        raise TableError(f'There is no model to draw from; method "tree" works. {smooth.fit}')
    return frame_of(release.survey.schema, _draw_records(smooth.model, people, generator(seed)))


def _draw_records(model: Distribution, people: int, random: np.random.Generator) -> list[Ints]:
    """Draw records, as the codes of each attribute, from a model."""
    if isinstance(model, Whole):
        shares = proportions(transform(model.spectrum))
        whole = draw(shares[None], np.zeros(people, np.int64), random)
        attributes = len(shares).bit_length() - 1
        return [whole >> attribute & 1 for attribute in range(attributes)]
    if isinstance(model, MixedModel | NumberModel):
        return model.draw(people, random)
    assert isinstance(model, CliqueTree)
    codes: dict[int, Ints] = {}
    for clique, shares in zip(model.cliques, model.conditionals, strict=True):
        rows = np.zeros(people, np.int64)
        for attribute in clique.shared:
            rows = 2 * rows + codes[attribute]
        codes[clique.attributes[-1]] = draw(shares.reshape(-1, 2), rows, random)
    return [codes[attribute] for attribute in range(len(codes))]


def fidelity(release: ReleasedTables, frame: Any) -> pd.DataFrame:
    """Return how far each pair's table of a frame is from the release's, the farthest first.

    ``distance`` is the total variation distance to the release's table, as people may hold it (made
    joint where nothing was done to it, or that of a model where there are numbers); ``sampling`` is
    what drawing so many records from that table would give, ``noise`` what the release's own error
    is. Pairs that are not known are left out.
    """
    import pandas as pd

    schema = release.survey.schema
    if release.survey.order < 2:
        raise TableError("Pairs need tables of two attributes; this survey collected order 1.")
    plausible = as_read(release)
    plausible = plausible.with_consistency("joint") if plausible.applied == "none" else plausible
    values, sizes, names = values_of(schema, frame), schema.sizes, schema.names
    pairs = all_tables(len(schema), 2)
    rows = []
    for at, _ in chunks_alike(release.survey.kinds, sizes, pairs):
        part = pairs[at]
        estimates = plausible.estimate(part)
        noise = expected_tv(plausible.variances(part))
        sampling = expected_tv(estimates.values * (1 - estimates.values) / len(values[0]))
        own = np.array([table.ravel() for table in true_pairs(values, sizes, part)])
        distance = np.abs(own - estimates.values).sum(axis=1) / 2
        columns = (part.tolist(), estimates.known, distance, sampling, noise)
        rows += [
            (names[a], names[b], *numbers)
            for (a, b), is_known, *numbers in zip(*columns, strict=True)
            if is_known
        ]
    distances = pd.DataFrame(rows, columns=["a", "b", "distance", "sampling", "noise"])
    return distances.sort_values("distance", ascending=False, ignore_index=True)
