"""What a design cannot show, in words, with what would show it."""

from __future__ import annotations

from dataclasses import replace

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
    fewer = [(way, people) for way, people in others if needed is None or people < needed]
    parts = [f"{way} ({people:,} people)" for way, people in fewer]
    if isinstance(need, Detection) and is_of_pairs and (reach or 0) < _NOISE:
        parts.append(_single_questions(prospect, sizing))
    enough = "no number of people is enough" if needed is None else f"it takes {needed:,} people"
    more = f"; or {', or '.join(parts)}" if parts else ""
    return f"{_shortfall(need, prospect, reach)}: {enough}{more}."


def _shortfall(need: Need, prospect: Prospect, reach: float | None) -> str:
    people = f"{prospect.people:,.0f} people"
    if isinstance(need, Detection):
        noise = ", so that what they show is mostly noise" if (reach or 0) < _NOISE else ""
        return f"With {people}, tests find {need.english} {reach or 0:.0%} of the time{noise}"
    if reach is None:
        return f"With {people}, nothing is told of {need.english}"
    return f"With {people}, the interval is ± {reach:.3g} where {need.english} is asked for"


def _pair_options(need: Need, prospect: Prospect, sizing: Sizing) -> list[tuple[str, int]]:
    """Return ways to spend reports on what matters, and the people that each takes."""
    options: list[tuple[str, int | None]] = []
    schema, aim = sizing.schema, sizing.aim
    pairs = prospect.asked_pairs
    if isinstance(need, PrivateDifference):
        pairs = [pair for pair in pairs if need.attribute in pair]
    if len(prospect.asked_pairs) > 1 and pairs and not isinstance(need, Slope):
        own = replace(aim, workload={pairs[0]: 1.0})
        names = ",".join(schema.names[a] for a in pairs[0])
        way = f'name the pairs that matter, such as --workload "{names}"'
        options.append((way, sizing.people(need, aim=own)))
    if not schema.is_binary and aim.goal != "associations":
        own = replace(aim, goal="associations")
        options.append(("--aim associations", sizing.people(need, aim=own)))
    return [(way, people) for way, people in options if people is not None]


def _single_options(need: Need, sizing: Sizing) -> list[tuple[str, int]]:
    if sizing.order < 2 or sizing.aim.workload is not None:
        return []
    people = sizing.people(need, order=1, aim=plain(sizing.aim))
    return [] if people is None else [("ask about single questions, --order 1", people)]


def _single_questions(prospect: Prospect, sizing: Sizing) -> str:
    """Return what single questions would tell instead."""
    wide = sizing.single_width(Share(1.0), prospect.people)
    told = "" if wide is None else f", which tells shares to ± {wide:.2g} points"
    return f"ask about single questions (--order 1){told}"
