"""How long a design takes when a survey is made, and a model when tables are released.

``python -m benchmarks.models ATTRIBUTES`` prints the seconds and the peak memory of one model.
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks.measure import EPSILON, People, Row, Section, memory, progress, seconds
from deniable import Schema, Survey
from deniable.design.templates import second_moment
from deniable.design.types import orientations, subspace_types
from deniable.mechanisms.subspace import Subspace

PEOPLE = 1 << 18
DESIGNS = ((16, 2), (16, 3), (100, 2), (100, 3))
MOST_DESIGN = 0.5
MODELS = {16: 20, 100: 120}
MOST_MEMORY = 4_000_000_000


def designs() -> Section:
    made = Section(
        "Designing a Subspace survey",
        '`Survey(schema, order, ε, "Subspace")` at ε = ln 3, types enumerated and mixture optimised, '
        "with nothing cached. Timed once.",
        ("d", "k", "templates", "slots", "seconds"),
    )
    Subspace.survey(Schema.binary("a", "b"), 2, EPSILON)  # loads scipy
    for attributes, order in DESIGNS:
        progress(f"design: {attributes} attributes, order {order}")
        schema = Schema.binary(*(f"a{i}" for i in range(attributes)))
        for cached in (subspace_types, orientations, second_moment):
            cached.cache_clear()
        took = seconds(lambda s=schema, k=order: Subspace.survey(s, k, EPSILON))
        survey = Subspace.survey(schema, order, EPSILON)
        cells = (attributes, order, len(survey.templates), f"{survey.slots:,}", f"{took:.3f}")
        made.rows.append(Row(tuple(map(str, cells)), f"< {MOST_DESIGN} s", took < MOST_DESIGN))
    return made


def models() -> Section:
    made = Section(
        "Fitting a model",
        f'`tally.release("model")` of an order-2 survey, {PEOPLE:,} people, in a process of its own: '
        "the whole joint distribution up to 20 attributes, a graph of cliques beyond. The peak is of "
        "the whole process.",
        ("d", "applied", "seconds", "peak memory"),
    )
    for attributes, limit in MODELS.items():
        progress(f"model: {attributes} attributes")
        command = [sys.executable, "-m", "benchmarks.models", str(attributes)]
        said = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.split()
        took, applied = float(said[0]), said[1]
        peak = int(said[2]) if said[2:] else None
        made.rows.append(
            Row(
                (
                    str(attributes),
                    applied,
                    f"{took:.1f}",
                    "not measured" if peak is None else f"{peak / 1e9:.1f} GB",
                ),
                f"< {limit} s, < {MOST_MEMORY // 10**9} GB",
                took < limit and (peak is None or peak < MOST_MEMORY),
            )
        )
    return made


def fit(attributes: int) -> None:
    people = People(PEOPLE, attributes)
    survey = Survey(Schema.from_frame(people.frame), 2, EPSILON)
    tally = survey.tally(survey.randomize(people.frame))
    released = []
    took = seconds(lambda: released.append(tally.release("model")))
    print(took, released[0].applied, memory("VmHWM") or "")


if __name__ == "__main__":
    fit(int(sys.argv[1]))
