"""All C(d, k) tables with their standard errors from a tally."""

from __future__ import annotations

from math import comb

from benchmarks.measure import EPSILON, People, Row, Section, progress, seconds
from deniable import Schema, Survey

PEOPLE = 100_000
SIZES = ((64, 2), (32, 3))
MECHANISMS = ("InpHT", "MargPS", "Subspace")
MOST_SECONDS = 1.0


def section() -> Section:
    made = Section(
        "From a tally to all tables",
        "`tally.release().marginals()`, with the covariance and standard errors of every table. "
        "Timed once, cold: no best of several.",
        ("d", "k", "tables", "mechanism", "seconds"),
    )
    for attributes, order in SIZES:
        people = People(PEOPLE, attributes)
        for mechanism in MECHANISMS:
            progress(f"{mechanism}: all tables of {order} of {attributes} attributes")
            survey = Survey(Schema.from_frame(people.frame), order, EPSILON, mechanism)
            tally = survey.tally(survey.randomize(people.frame))
            marginals: list = []

            def job(tally=tally, marginals=marginals) -> None:
                marginals += tally.release().marginals()
                for marginal in marginals:
                    marginal.standard_error  # noqa: B018 (computes the covariance)

            took = seconds(job)
            people.check(mechanism, tally.people, marginals)
            tables = comb(attributes, order)
            assert len(marginals) == tables
            made.rows.append(
                Row(
                    (f"{attributes}", f"{order}", f"{tables:,}", mechanism, f"{took:.2f}"),
                    f"< {MOST_SECONDS:g} s",
                    took < MOST_SECONDS,
                )
            )
    return made
