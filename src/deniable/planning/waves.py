"""Waves: a question that is asked again and again, of people who each answer only so often.

A metric that was collected every week from everybody becomes a survey every week of *some* people,
since answers compose: whoever gives m answers of ε each has told mε, and a ledger refuses what would
exceed its owner's lifetime limit. So a person gives m = ⌊lifetime/ε⌋ answers (one in each wave, if there
are fewer waves), and W waves share the N·m answers of N people: ⌊N·m/W⌋ a wave, in panels that take
turns.

What a wave tells follows from that. Waves pooled (`Release.pool`) tell more, but they ask the same
people again: the noise of answers averages out over all N·m answers, who was asked only over N people.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cache
from math import floor, inf, sqrt
from numbers import Real
from typing import TYPE_CHECKING, Any

from deniable.client.client import LIFETIME_LIMIT, LIMIT
from deniable.design.reading import LEVEL, PEOPLE, POWER, check_people
from deniable.errors import SurveyError
from deniable.formats.markup import table_markup
from deniable.numeric.levels import normal_reach
from deniable.planning.aim import Aim
from deniable.planning.plan import choose
from deniable.planning.reading import detectable_v, share_points
from deniable.schema.schema import Schema
from deniable.survey.frozen import FrozenSurvey

if TYPE_CHECKING:
    import pandas as pd

PERIODS = {
    "day": Fraction(1),
    "week": Fraction(7),
    "month": Fraction(365, 12),
    "quarter": Fraction(365, 4),
    "year": Fraction(365),
}
"""Periods in days: twelve months and four quarters are a year."""

CHANGE = 5.0
"""The change of a share, in points, that is to be found if nobody says which."""

_WIDE = normal_reach(1 - LEVEL)
_FOUND = _WIDE + normal_reach(2 * POWER - 1)
"""So many standard errors are found four times in five by a test at the 5 % level."""


@dataclass(frozen=True)
class Wave:
    """One way to ask again and again, and what it gives.

    A person gives ``answers_per_person`` answers over the whole time, which compose to ``spent``, never
    above the lifetime limit; ``people_per_wave`` answer each of the ``waves``. ``share_points`` is half
    the width of a share's 95 % interval in one wave, ``change_points`` the change of a share between two
    waves that is found four times in five, ``detectable_v`` the Cramér's V found as often in one wave;
    ``share_points_pooled``, ``detectable_v_pooled`` those of all waves together, and
    ``share_points_quarter`` of those of a quarter (None where waves are not shorter).
    """

    every: str
    epsilon: float
    order: int
    mechanism: str
    waves: int
    answers_per_person: int
    spent: float
    people_per_wave: int
    share_points: float | None
    change_points: float | None
    detectable_v: float | None
    share_points_quarter: float | None
    share_points_pooled: float | None
    detectable_v_pooled: float | None


@dataclass(frozen=True)
class WavePlan:
    """Ways to ask again and again, the one asked for first; ``recommended`` is the best one's place."""

    schema: Schema
    duration: str
    lifetime: float
    people: int
    change: float
    rows: tuple[Wave, ...]
    recommended: int

    @property
    def sentence(self) -> str:
        """Return what is recommended, and why, in a sentence."""
        row, first = self.rows[self.recommended], self.rows[0]
        way = f"a survey every {row.every} at ε = {row.epsilon:g}, order {row.order}"
        if not row.people_per_wave:
            return f"{self.people:,} people are too few for {row.waves:,} waves."
        changes = [each.change_points for each in self.rows if each.waves > 1]
        if changes and not any(changes):
            return (
                f"{self.people:,} people are too few: no change between two waves would be found, "
                "however large it were."
            )
        gives = (
            f"each of {self.people:,} people answers {_times(row.answers_per_person)} in "
            f"{self.duration} (ε {row.spent:g} of {self.lifetime:g} together), {row.people_per_wave:,} "
            "a wave"
        )
        if row.change_points is None:
            return f"Ask by {way}: {gives}, which tells of no change between two waves."
        finds = (
            f"a change of {row.change_points:.2g} points between two waves is found 4 times in 5"
        )
        if row.change_points > self.change:
            return (
                f"None of these finds a change of {self.change:g} points between two waves; closest is "
                f"{way}: {gives}, and {finds}."
            )
        why = "" if row is first else f", as every {first.every} finds less"
        return f"Ask by {way}{why}: {gives}, and {finds}."

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, with the number of attributes in place of the schema."""
        return {
            "attributes": len(self.schema),
            "for": self.duration,
            "lifetime": self.lifetime,
            "people": self.people,
            "change": self.change,
            "recommended": self.recommended,
            "sentence": self.sentence,
            "rows": [asdict(row) for row in self.rows],
        }

    def to_frame(self) -> pd.DataFrame:
        """Return the rows as a pandas frame."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows])

    def _repr_html_(self) -> str:
        heads = ("every", "epsilon", "order", "people_per_wave", "share_points", "change_points")
        body = [[_brief(getattr(row, head)) for head in heads] for row in self.rows]
        caption = f"Waves: {self.people:,} people for {self.duration}, lifetime ε {self.lifetime:g}"
        return table_markup(heads, body, caption=caption, notes=[self.sentence])


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def _brief(value: object) -> object:
    return "–" if value is None else f"{value:.3g}" if isinstance(value, float) else value


def days_of(text: str, what: str) -> Fraction:
    """Return how many days a period has, such as "week", "2 weeks" or "1 year"."""
    count, _, name = text.strip().lower().rpartition(" ") if isinstance(text, str) else ("", "", "")
    period = PERIODS.get(name.removesuffix("s"))
    try:
        number = int(count) if count else 1
    except ValueError:
        number = 0
    if period is None or not 0 < number < 10_000:
        raise SurveyError(
            f"{what} is a number of {', '.join(f'{each}s' for each in PERIODS)}, such as 'week' or "
            f"'2 weeks', got {text!r}."
        )
    return number * period


def answers_within(lifetime: float, epsilon: float) -> int:
    """Return how many answers of ε a lifetime limit allows, as exactly as a ledger adds them up."""
    return floor(Fraction(lifetime) / Fraction(epsilon))


def plan_waves(
    schema: Schema,
    *,
    every: str = "week",
    duration: str = "1 year",
    lifetime: float = LIFETIME_LIMIT,
    people: int = PEOPLE,
    order: int = 2,
    epsilon: float = 1.1,
    change: float = CHANGE,
    aim: str = "tables",
) -> WavePlan:
    """Say what a question gives that is asked every so often, if each person answers only so often.

    ``lifetime`` is the ε of all answers of a person together, which is never exceeded. Beside what was
    asked for stand other ways: longer periods, half of ε, twice of it (as far as clients allow it), and
    tables of one attribute. Recommended is the shortest period that finds a ``change`` of a share, in
    points, between two waves, at no larger ε than was asked for.
    """
    check_people(people)
    length, period = days_of(duration, "The time"), days_of(every, "A period")
    _check_limits(lifetime, epsilon, change)
    if period > length:
        raise SurveyError(f"A survey every {every} does not fit into {duration}.")
    if not answers_within(lifetime, epsilon):
        raise SurveyError(
            f"A lifetime limit of ε = {lifetime:g} allows no answer of ε = {epsilon:g}; take a smaller "
            "one."
        )

    @cache
    def design(own_epsilon: float, own_order: int) -> FrozenSurvey:
        return choose(schema, own_order, own_epsilon, aim=aim, people=people)

    goal = Aim.of(schema, order, None, None, goal=aim, people=people, prior=None)
    rows = []
    for name, own_epsilon, own_order in _ways(every, length, epsilon, order, lifetime):
        survey = design(own_epsilon, own_order)
        rows.append(_wave(survey, name, length, lifetime, int(people), goal))
    place = _best(rows, epsilon, change)
    return WavePlan(
        schema, duration, float(lifetime), int(people), float(change), tuple(rows), place
    )


def _check_limits(lifetime: float, epsilon: float, change: float) -> None:
    for name, number in (("lifetime", lifetime), ("epsilon", epsilon), ("change", change)):
        is_number = isinstance(number, Real) and not isinstance(number, bool)
        if not (is_number and 0 < float(number) < inf):
            raise SurveyError(f"{name} must be a positive number, got {number!r}.")


def _ways(
    every: str, length: Fraction, epsilon: float, order: int, lifetime: float
) -> Iterable[tuple[str, float, int]]:
    """Yield ways to ask: the one that was asked for, then others, of which each changes one thing."""
    yield every, epsilon, order
    for name, days in PERIODS.items():
        if days_of(every, "A period") < days <= length:
            yield name, epsilon, order
    yield every, epsilon / 2, order
    if 2 * epsilon <= LIMIT and answers_within(lifetime, 2 * epsilon):
        yield every, 2 * epsilon, order
    if order > 1:
        yield every, epsilon, 1


def _wave(
    survey: FrozenSurvey, every: str, length: Fraction, lifetime: float, people: int, aim: Aim
) -> Wave:
    """Return what one way gives."""
    waves = floor(length / days_of(every, "A period"))
    answers = min(answers_within(lifetime, survey.epsilon), waves)
    in_wave = people * answers // waves
    share = _points(survey, in_wave, in_wave, aim)
    quarter = floor(PERIODS["quarter"] / days_of(every, "A period"))
    in_quarter = in_wave * quarter
    return Wave(
        every,
        survey.epsilon,
        survey.order,
        survey.mechanism,
        waves,
        answers,
        float(answers * Fraction(survey.epsilon)),
        in_wave,
        share,
        None if share is None or waves < 2 else _change(share),
        _strength(survey, in_wave, in_wave, aim),
        _points(survey, in_quarter, people, aim)
        if quarter > 1 and length > PERIODS["quarter"]
        else None,
        _points(survey, people * answers, people, aim),
        _strength(survey, people * answers, people, aim),
    )


def _change(share: float) -> float | None:
    """Return the change that is found four times in five; None where no change of a share is."""
    change = sqrt(2) * share * _FOUND / _WIDE
    return change if change <= 100 else None


def _again(answers: int, people: int) -> float:
    """Return what 1/answers lacks where so many people gave them: who was asked does not average out."""
    return max(0.0, 1 / people - 1 / answers)


def _strength(survey: FrozenSurvey, answers: int, people: int, aim: Aim) -> float | None:
    """Return the Cramér's V that is found four times in five; None where not even 1 is.

    Of people who answer again, V is at least that of a pair of yes and no which nobody makes private.
    """
    strength = detectable_v(survey, answers, aim) if answers else None
    if strength is None:
        return None
    strength = sqrt(strength**2 + _FOUND**2 * _again(answers, people))
    return strength if strength <= 1 else None


def _points(survey: FrozenSurvey, answers: int, people: int, aim: Aim) -> float | None:
    """Return half the width of a share's 95 % interval, in points, by answers of so many people."""
    points = share_points(survey, answers, aim) if answers else None
    if points is None:
        return None
    return sqrt(points**2 + (100 * _WIDE) ** 2 * 0.25 * _again(answers, people))


def _best(rows: list[Wave], epsilon: float, change: float) -> int:
    """Return the first row that finds a change, the shortest period first; else what finds most."""
    fair = [at for at, row in enumerate(rows) if row.epsilon <= epsilon and row.change_points]
    own = [at for at in fair if rows[at].order == rows[0].order and rows[at].epsilon == epsilon]
    for at in (*own, *fair):
        if (rows[at].change_points or inf) <= change:
            return at
    return min(own, key=lambda at: rows[at].change_points or inf, default=0)
