"""What is not known is never frame_text as NaN or inf: of estimates, regressions, rows and tables."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from deniable import Attribute, Schema, Survey, regress
from deniable.formats.markup import frame_text
from deniable.show.forest import rows_of

SCHEMA = Schema(
    (
        Attribute("x", low=0, high=50, missing="none"),
        Attribute("y", low=0, high=20),
        Attribute("g", ("a", "b", "inf")),
    )
)
NO_NUMBER = re.compile(r"\bnan\b|NaN|(?<![\w])inf\b(?! *\d*\.\d+ +–)", re.IGNORECASE)


@pytest.mark.parametrize("people", [1, 5, 40])
def test_what_few_people_do_not_tell_is_said_so(people: int) -> None:
    random = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "x": np.where(random.random(people) < 0.3, np.nan, random.integers(0, 51, people)),
            "y": random.integers(0, 21, people),
            "g": random.choice(["a", "b"], people),
        }
    )
    survey = Survey(SCHEMA, 2, 1.0)
    release = survey.tally(survey.randomize(frame, seed="1"), simulation=True).release()
    shown = [
        repr(release.mean("x")),
        repr(release.variance("x")),
        repr(release.correlation("x", "y")),
        *(repr(tell("x")) for tell in (release.distribution,) if people > 5),
        repr(release.marginal("x", "g")).replace(" inf ", " "),
        repr(release.mean("x", by="g")).replace("inf ", ""),  # the name of a group stays what it is
    ]
    for text in shown:
        assert not NO_NUMBER.search(text), text
    assert "not known" in shown[0]
    assert "–" in shown[-1]
    assert "∞" in shown[-1]


def test_a_regression_prints_what_is_infinite_or_nothing() -> None:
    survey = Survey(Schema.of(y=["no", "yes"]), 1, 2.0)
    batch = survey.randomize(pd.DataFrame({"y": ["no", "yes"] * 50}), seed="few")
    own = pd.DataFrame({"village": ["big"] * 99 + ["tiny"]})
    found = regress(batch, "y ~ village", own, survey=survey, simulation=True)
    for text in (repr(found), found._repr_html_(), *map(str, rows_of(found))):
        assert not NO_NUMBER.search(text), text
    assert "∞" in repr(found)


def test_a_frame_is_printed_as_pandas_does_it_but_for_what_is_no_number() -> None:
    frame = pd.DataFrame({"name": ["inf", "b"], "value": [1.5, 2.25], "count": [1, 2]})
    assert frame_text(frame) == frame.to_string(index=False)
    assert frame_text(frame.head(0)) == frame.head(0).to_string(index=False)
    frame["value"] = [np.nan, -np.inf]
    assert frame_text(frame).split() == ["name", "value", "count", "inf", "–", "1", "b", "−∞", "2"]
