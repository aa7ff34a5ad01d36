"""What a design cannot show, in words, with what would show it."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from deniable.planning.needs import (
    Dependence,
    Detection,
    Need,
    PrivateDifference,
    Share,
    Slope,
)
from deniable.planning.prospect import Prospect
from deniable.planning.sizing import Sizing, plain

_NOISE = 0.5
"""Tests that find less than this share of what there is show noise, mostly."""


def advice(
    need: Need, prospect: Prospect, sizing: Sizing, needed: int | None, reach: float | None
) -> str:
    """Return why a need is not met, and what would meet it, in terms of options that exist.

    ``reach`` is the power, or half the width, that there is.
    """
    is_of_pairs = isinstance(need, Dependence | PrivateDifference | Slope)
    if is_of_pairs and sizing.order < 2:
        people = sizing.people(need, order=2, aim=plain(sizing.aim))
        return (
            f"Tables of one attribute tell nothing of {need.english}: take --order 2"
            f"{'.' if people is None else f', and {people:,} people.'}"
        )
    if isinstance(need, Detection) and reach is None:
        return f"The shares leave no room for {need.english}."
    others = _pair_options(need, prospect, sizing) if is_of_pairs else _single_options(need, sizing)
    parts = [
        f"{way} ({people:,} people)"
        for way, people in others
        if people is not None and (needed is None or people < needed)
    ]
    if isinstance(need, Detection) and is_of_pairs and (reach or 0) < _NOISE:
        parts.append(_single_questions(prospect, sizing))
    enough = "No number of people is enough" if needed is None else f"It takes {needed:,} people"
    return f"{_shortfall(need, prospect, reach)}. {', or '.join([enough, *parts])}."


def _shortfall(need: Need, prospect: Prospect, reach: float | None) -> str:
    """Return what so many people would show."""
    people = f"With {prospect.people:,.0f} people"
    if isinstance(need, Detection):
        noise = ": what they show is mostly noise" if (reach or 0) < _NOISE else ""
        return f"{people}, tests find {need.english} in {reach or 0:.0%} of surveys{noise}"
    if reach is None:
        return f"{people}, nothing is told of {need.english}"
    return (
        f"{people}, the interval is ± {float(f'{reach:.3g}'):,g} where {need.english} is asked for"
    )


def _pair_options(need: Need, prospect: Prospect, sizing: Sizing) -> list[tuple[str, int | None]]:
    """Return ways to spend reports on what matters, and the people that each takes."""
    options = []
    pairs, way = _needed_pairs(need, prospect)
    if 0 < len(pairs) < prospect.pair_count:
        own = replace(sizing.aim, workload=dict.fromkeys(pairs, 1.0))
        options.append((way, sizing.people(need, aim=own)))
    if not sizing.schema.is_binary and sizing.aim.goal != "associations":
        own = replace(sizing.aim, goal="associations")
        options.append(("--aim associations", sizing.people(need, aim=own)))
    return options


def _needed_pairs(need: Need, prospect: Prospect) -> tuple[list[tuple[int, int]], str]:
    """Return the pairs that would do, and how to ask about no others."""
    names, pairs = prospect.survey.schema.names, prospect.asked_pairs()
    if isinstance(need, PrivateDifference):
        some = [pair for pair in pairs if need.attribute in pair]
        return some, f"name the pairs with {need.label} as those that matter (--workload)"
    if isinstance(need, Slope):
        own = prospect.attributes[: need.predictors + 1]
        some = [pair for pair in pairs if set(pair) <= set(own)]
        return some, "ask about the outcome and its predictors alone"
    some = [*islice(pairs, 1)]
    example = ",".join(names[a] for pair in some for a in pair)
    return some, f'name the pairs that matter, such as --workload "{example}"'


def _single_options(need: Need, sizing: Sizing) -> list[tuple[str, int | None]]:
    if sizing.order < 2 or sizing.aim.workload is not None:
        return []
    people = sizing.people(need, order=1, aim=plain(sizing.aim))
    return [("ask about single questions alone, --order 1", people)]


def _single_questions(prospect: Prospect, sizing: Sizing) -> str:
    """Return what single questions would tell instead."""
    wide = sizing.single_width(Share(1.0), prospect.people)
    clause = "" if wide is None else f", which tells shares to ± {wide:.2g} points"
    return f"ask about single questions (--order 1){clause}"
