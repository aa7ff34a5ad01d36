"""What `plan --every` takes and prints: a question that is asked again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from rich.markup import escape

from deniable.cli.options import about
from deniable.cli.output import attributes_of, print_json
from deniable.client.client import LIFETIME_LIMIT
from deniable.design.reading import PEOPLE
from deniable.errors import SurveyError
from deniable.show.terminal import number, stdout, table

if TYPE_CHECKING:
    from deniable.planning.waves import Wave, WavePlan
    from deniable.schema.schema import Schema

Every = Annotated[
    str | None,
    about(
        "Plan a survey every 'week', 'month', '2 weeks' …: who can answer it, and what it gives."
    ),
]
DURATION = "1 year"
Duration = Annotated[
    str | None, about(f"For how long; with --every, {DURATION} by default.", "--for")
]
Lifetime = Annotated[
    float | None,
    about(
        f"The ε of all answers of a person together; with --every, {LIFETIME_LIMIT:g} by default.",
        "--lifetime",
    ),
]


def check_waves(
    every: str | None, duration: str | None, lifetime: float | None, others: Sequence[object]
) -> None:
    """Refuse --for and --lifetime without --every, and what is not planned for waves."""
    if every is None and (duration, lifetime) != (None, None):
        raise SurveyError("--for and --lifetime are of a survey that is asked again: add --every.")
    if every is not None and any(other not in (None, []) for other in others):
        raise SurveyError(
            "--every plans people, ε, order and --detect difference=POINTS; what else is to be known of "
            "a wave is planned as one survey."
        )


def tell_waves(
    schema: Schema,
    every: str,
    duration: str | None,
    lifetime: float | None,
    detect: dict[str, float],
    as_json: bool,
    size: dict[str, Any],
) -> None:
    """Plan waves, and print what they give."""
    from deniable.planning.waves import CHANGE, plan_waves

    if detect.keys() - {"difference"}:
        raise SurveyError(
            "Of waves, --detect takes a difference between two of them: difference=5."
        )
    change = detect.get("difference", CHANGE)
    forecast = plan_waves(
        schema,
        every=every,
        duration=DURATION if duration is None else duration,
        lifetime=LIFETIME_LIMIT if lifetime is None else lifetime,
        change=change,
        people=PEOPLE if size["people"] is None else size["people"],
        **{name: size[name] for name in ("order", "epsilon", "aim")},
    )
    if as_json:
        print_json(forecast.to_json())
    else:
        _show(forecast)


def _show(forecast: WavePlan) -> None:
    """Print ways to ask again and again, and which one is recommended."""
    console = stdout()
    console.print(
        f"{attributes_of(forecast.schema)}, {forecast.people:,} people for {escape(forecast.duration)}, "
        f"of whom each answers as often as a lifetime limit of ε = {forecast.lifetime:g} allows.\n"
    )
    heads = ["every", "ε", "order", "answers each", "a wave", "share ±", "change found", "V found"]
    heads += ["quarter ±", "all ±", "all, V found"]
    body = [_line(row) for row in forecast.rows]
    console.print(table(heads, body, best=forecast.recommended))
    console.print(
        "\nShares and changes are in points: half of a 95 % interval of a share in one wave, the change "
        "between two waves (and the Cramér's V in one) that a test at the 5 % level finds four times in "
        "five; of the waves of a quarter, and of all, pooled.\n"
    )
    console.print(escape(forecast.sentence))


def _line(row: Wave) -> list[Any]:
    points = (row.share_points, row.change_points)
    pooled = (row.share_points_quarter, row.share_points_pooled)
    return [
        row.every,
        f"{row.epsilon:g}",
        row.order,
        f"{row.answers_per_person} of {row.waves}",
        f"{row.people_per_wave:,}",
        *map(_points, points),
        number(row.detectable_v, 3),
        *map(_points, pooled),
        number(row.detectable_v_pooled, 3),
    ]


def _points(points: float | None) -> str:
    """Return points of a share; a dash where they are more than a share has."""
    return number(None if points is None or points > 100 else points, 2)
