"""The planner: which mechanism, how many people, what error, at what cost to a device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from math import inf, isnan
from numbers import Real
from typing import TYPE_CHECKING, Any

from deniable.design.reading import GOALS, PEOPLE, POWER, Goal, check_people
from deniable.errors import SurveyError
from deniable.formats.markup import table_markup
from deniable.mechanisms.base import Mechanism
from deniable.mechanisms.registry import MECHANISMS, mechanism_named
from deniable.planning.aim import Aim, Pilot
from deniable.planning.asking import needs_of
from deniable.planning.cost import bits_per_report, random_words
from deniable.planning.curves import curves
from deniable.planning.error import bound_tv, guaranteed_tv, people_needed, predicted_tv
from deniable.planning.fitting import surveys_that_fit
from deniable.planning.needs import Need
from deniable.planning.number_rows import (
    STEPS,
    CorrelationRow,
    NumberRow,
    correlation_rows,
    number_rows,
)
from deniable.planning.numbers import Population
from deniable.planning.reading import detectable_v, read_tv, share_points, strengths_of
from deniable.planning.shuffle import Shuffling, check_shuffling, shuffle
from deniable.planning.sizing import CLOSE, MOST_PEOPLE, ROUNDS, people_by
from deniable.planning.targets import Target, targets_of
from deniable.schema.schema import Schema
from deniable.survey.checks import check_parameters
from deniable.survey.frozen import FrozenSurvey

if TYPE_CHECKING:
    import pandas as pd

HIGH_ORDER = (
    'On real data, an order-2 survey released with consistency="model" answered three-way tables '
    "with 0.28 to 0.66 of the error of an order-3 survey; it is biased where three attributes "
    "interact beyond their pairs, so compare `deniable simulate YOUR.data --order 2 --consistency "
    "model --tables {order}` with `deniable simulate YOUR.data --order {order}` first."
)


@dataclass(frozen=True)
class Row:
    """What one mechanism would do, and what it costs a device.

    ``people_needed`` is None without a target or a formula. ``attributes_read`` is the most that one
    question touches, ``random_words`` are the most 64-bit words drawn for a slot and an answer.

    ``predicted_tv`` is of unbiased tables, ``read_tv`` of tables as they are read (where attributes have
    more than two values), ``detectable_v`` the mean Cramér's V that is found four times in five,
    ``share_points`` half the width of a share's 95 % interval, in points.
    """

    mechanism: str
    predicted_tv: float | None
    read_tv: float | None
    detectable_v: float | None
    share_points: float | None
    guaranteed_tv: float | None
    bits_per_report: int
    attributes_read: int
    random_words: int
    variance_over_bound: float | None
    people_needed: int | None


@dataclass(frozen=True)
class AimRow:
    """What a survey designed for an aim would do: Subspace's, or the best where that does not fit."""

    aim: str
    mechanism: str
    read_tv: float | None
    predicted_tv: float | None
    detectable_v: float | None


@dataclass(frozen=True)
class Plan:
    """Mechanisms ranked by what the aim is about, the best first.

    ``unbiased_bound_tv`` is the error below which no unbiased ε-private protocol can go, where
    coefficients are near 0. ``aim`` is what the survey is for: all tables, unless some were named.
    ``aims`` says what the recommended mechanism would do with each aim, where aims differ. ``shuffled``
    says what a shuffler would add, if one was named; ``notes`` are advice; ``skipped`` says why a
    mechanism does not fit. ``numbers`` and ``correlations`` say what the recommended mechanism would
    tell of numbers, days and ordered words; where there are such, the bound is not a number: none is
    known.
    """

    schema: Schema
    order: int
    epsilon: float
    people: int
    probability: float
    target_error: float | None
    unbiased_bound_tv: float
    rows: tuple[Row, ...]
    shuffled: Shuffling | None
    notes: tuple[str, ...]
    skipped: dict[str, str]
    aim: Aim
    aims: tuple[AimRow, ...]
    numbers: tuple[NumberRow, ...] = ()
    correlations: tuple[CorrelationRow, ...] = ()
    targets: tuple[Target, ...] = ()

    @property
    def attributes(self) -> int:
        """Return the number of attributes."""
        return len(self.schema)

    @property
    def scope(self) -> str:
        """Return which tables the plan is about, in words."""
        tables = self.aim.workload
        if tables is None:
            return f"all tables of {self.order} of {self.attributes} attributes"
        if len(tables) == 1:
            return "the table that matters"
        return f"the {len(tables):,} tables that matter"

    @property
    def recommended(self) -> str:
        """Return the mechanism with the smallest predicted error."""
        return self.rows[0].mechanism

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, with the number of attributes in place of the schema."""
        form = {field.name: getattr(self, field.name) for field in fields(self)}
        del form["schema"], form["aim"]
        workload = self.aim.workload
        return {
            "attributes": self.attributes,
            "recommended": self.recommended,
            **form,
            "aim": self.aim.goal,
            "aims": [asdict(row) for row in self.aims],
            "numbers": [asdict(row) for row in self.numbers],
            "correlations": [asdict(row) for row in self.correlations],
            "targets": [asdict(target) for target in self.targets],
            "rows": [asdict(row) for row in self.rows],
            "shuffled": None if self.shuffled is None else asdict(self.shuffled),
            "notes": list(self.notes),
            "workload": None
            if workload is None
            else [
                {"attributes": [self.schema.names[a] for a in table], "weight": weight}
                for table, weight in workload.items()
            ],
            "pilot_squares": list(self.aim.squares) or None,
        }

    def to_frame(self) -> pd.DataFrame:
        """Return the ranked rows as a pandas frame."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows])

    def _repr_html_(self) -> str:
        every = ("mechanism", "read_tv", "predicted_tv", "variance_over_bound", "bits_per_report")
        heads = [head for head in every if any(getattr(row, head) is not None for row in self.rows)]
        body = [[_brief(getattr(row, head)) for head in heads] for row in self.rows]
        caption = f"Plan: {self.scope}, ε = {self.epsilon:g}, {self.people:,} people"
        notes = (f"Recommended: {self.recommended}.", *self.notes)
        return table_markup(heads, body, caption=caption, notes=notes)

    def targets_frame(self) -> pd.DataFrame:
        """Return what comes of each thing that was asked for, as a pandas frame."""
        import pandas as pd

        return pd.DataFrame([asdict(target) for target in self.targets])

    def curves(self) -> pd.DataFrame:
        """Return how the predicted errors change with ε, and with people, around this plan.

        The frame has a row per point and mechanism: along ("epsilon" or "people"), epsilon, people,
        mechanism ("lower bound" among them) and predicted_tv.
        """
        return curves(self.schema, self.order, self.epsilon, self.people, self.aim)


def _brief(value: object) -> object:
    return "–" if value is None else f"{value:.4g}" if isinstance(value, float) else value


def plan(
    schema: Schema,
    *,
    order: int = 2,
    epsilon: float = 1.1,
    people: int | None = None,
    target_error: float | None = None,
    probability: float = 0.95,
    shuffler: str | None = None,
    delta: float = 1e-9,
    slots: str = "drawn",
    workload: Any = None,
    pilot: Pilot | None = None,
    aim: str = "tables",
    prior: float | None = None,
    sample: Any = None,
    detect: Mapping[str, float] | None = None,
    share: float | None = None,
    slope: float | None = None,
    means: Mapping[str, float] | None = None,
    power: float = POWER,
    groups: str | Sequence[float] | None = None,
    predictors: int | None = None,
) -> Plan:
    """Rank all mechanisms that fit for a schema, and say what error to expect.

    Without ``people``, the plan is for as many as the best mechanism needs for ``target_error``, and for
    what is asked for in an analyst's terms (`Plan.targets`): what tests at the 5 % level are to
    ``detect`` with this ``power``, {"v": 0.1} (a Cramér's V) or {"difference": 5} (points, between two
    ``groups``: their shares, or the name of an attribute); and half of 95 % intervals, of a ``share`` in
    points, of the ``slope`` of a yes/no outcome on so many ``predictors``, and of ``means``, which map a
    number to it, in the number's own unit.

    Predictions are for coefficients near 0, the worst case, and the estimators that are used by
    default. ``probability`` is that of the guaranteed error. A named ``shuffler``, independent of the
    collector, adds what shuffling gives the best mechanism with this ``delta``, if ``slots`` are
    "drawn" by devices or "assigned" to them.

    ``workload`` names the tables that matter: a list of tuples of names, or a mapping from those to
    weights. ``pilot`` is an earlier release: with what it tells, predictions are for people like
    those (V becomes V − θ̂²), and Subspace is optimised for them. ``aim`` and ``prior`` are what `Survey`
    takes. ``sample`` is a frame of records of people like those: what is read, and what is told of
    numbers, is predicted for them.
    """
    _check_numbers(schema, people, target_error)
    _check_shuffler(shuffler, delta, slots)
    check_parameters(schema, order, epsilon)
    goal = Aim.of(schema, order, workload, pilot, goal=aim, people=people or PEOPLE, prior=prior)
    needs = needs_of(
        schema, detect, share, slope, means, power=power, groups=groups, predictors=predictors
    )
    population = Population(schema, sample)
    if sample is not None:
        expected = None if schema.is_binary else strengths_of(schema, int(order), sample)
        goal = replace(goal, expected=expected or goal.expected, population=population)
    need = partial(_people_for, target=target_error, needs=needs, population=population)
    goal, people, surveys, skipped = _settled(schema, order, epsilon, goal, people, need)
    shuffled = None if shuffler is None else shuffle(surveys[0], people, shuffler, delta, slots)
    errors = probability, target_error
    return _forecast(surveys, goal, people, *errors, skipped, population, needs, shuffled)


def _settled(
    schema: Schema,
    order: int,
    epsilon: float,
    goal: Aim,
    people: int | None,
    need: Callable[[FrozenSurvey, Aim], int],
) -> tuple[Aim, int, tuple[FrozenSurvey, ...], dict[str, str]]:
    """Return how many people answer, if not how many it takes, and surveys designed for so many."""
    surveys, skipped = surveys_that_fit(schema, order, epsilon, goal)
    if people is not None:
        return goal, int(people), surveys, skipped
    people = need(surveys[0], goal)
    for _ in range(ROUNDS):
        if schema.is_binary or abs(people / goal.people - 1) < CLOSE:
            break
        goal = replace(goal, people=people)
        surveys, skipped = surveys_that_fit(schema, order, epsilon, goal)
        people = need(surveys[0], goal)
    return goal, people, surveys, skipped


def _forecast(
    surveys: tuple[FrozenSurvey, ...],
    goal: Aim,
    people: int,
    probability: float,
    target_error: float | None,
    skipped: dict[str, str],
    population: Population,
    needs: tuple[Need, ...],
    shuffled: Shuffling | None,
) -> Plan:
    """Return what surveys, the best first, would do if so many people answer."""
    best = surveys[0]
    schema, order, epsilon = best.schema, best.order, best.epsilon
    bound = bound_tv(schema, order, epsilon, people, goal)
    rows = [_row(survey, people, bound, target_error, probability, goal) for survey in surveys]
    return Plan(
        schema,
        order,
        epsilon,
        people,
        probability,
        target_error,
        bound,
        tuple(rows),
        shuffled,
        _notes(schema, order),
        skipped,
        goal,
        () if schema.is_binary else _aim_rows(surveys, rows, people, goal),
        number_rows(best, people, population),
        correlation_rows(best, people, population),
        targets_of(best, people, needs, population, goal),
    )


def _notes(schema: Schema, order: int) -> tuple[str, ...]:
    notes = (HIGH_ORDER.format(order=order),) if order >= 3 else ()
    return (*notes, STEPS) if any(each.is_ordered for each in schema.attributes) else notes


def _check_shuffler(shuffler: str | None, delta: float, slots: str) -> None:
    """Refuse a way of shuffling that is none, or that matters to nobody."""
    check_shuffling(shuffler, delta, slots)
    if shuffler is None and slots != "drawn":
        raise SurveyError("How slots are chosen matters to a shuffler; name one.")


def _check_numbers(schema: object, people: int | None, target_error: float | None) -> None:
    """Refuse a schema, a number of people, or a target error, that is none."""
    if people is not None:
        check_people(people)
    if target_error is not None and not (
        isinstance(target_error, Real) and 0 < float(target_error) < inf
    ):
        raise SurveyError(f"The target error must be a positive number, got {target_error!r}.")
    if not isinstance(schema, Schema):
        raise SurveyError(f"A plan needs a Schema, got {type(schema).__name__}.")


def _people_for(
    survey: FrozenSurvey,
    aim: Aim,
    target: float | None,
    needs: Sequence[Need],
    population: Population,
) -> int:
    """Return how many people bring a mechanism's error down to a target, and meet needs."""
    if target is None and not needs:
        raise SurveyError("A plan needs people, or a target error to find their number.")
    many = []
    for need in needs:
        people = people_by(survey, need, population, aim)
        if people is None:
            raise SurveyError(
                f"No number of people shows {need.english} by {survey.mechanism}; say how many "
                "people there are to see why."
            )
        many.append(people)
    if target is not None:
        people = people_needed(survey, target, aim=aim)
        if people is None:
            raise SurveyError(
                f"{survey.mechanism} has no predicted error; say how many people there are."
            )
        many.append(people)
    if max(many) >= MOST_PEOPLE:
        error = "" if target is None else f" of {target:g}"
        raise SurveyError(
            f"A target error{error} would need more than 2^53 people; take a larger one."
        )
    return max(many)


def _row(
    survey: FrozenSurvey,
    people: int,
    bound: float,
    target: float | None,
    probability: float,
    aim: Aim,
) -> Row:
    error = predicted_tv(survey, people, aim=aim)
    return Row(
        survey.mechanism,
        error,
        None if survey.schema.is_binary else read_tv(survey, people, aim),
        detectable_v(survey, people, aim),
        share_points(survey, people, aim),
        guaranteed_tv(survey, people, probability),
        bits_per_report(survey),
        survey.touches,
        random_words(survey),
        None if error is None or isnan(bound) else (error / bound) ** 2,
        None if target is None else people_needed(survey, target, aim=aim),
    )


def _aim_rows(
    surveys: tuple[FrozenSurvey, ...], rows: Sequence[Row], people: int, aim: Aim
) -> tuple[AimRow, ...]:
    """Return what a mechanism would do with each aim; there are no associations without pairs."""
    with_aims = (at for at, each in enumerate(surveys) if "aim" in _kind(each).options)
    at = next(with_aims, 0)
    ours, row = surveys[at], rows[at]
    has_pairs = max(map(len, aim.workload or [range(ours.order)])) > 1
    goals = [goal for goal in GOALS if has_pairs or goal != "associations"]
    as_is = AimRow(aim.goal, row.mechanism, row.read_tv, row.predicted_tv, row.detectable_v)
    return tuple(as_is if goal == aim.goal else _aim_row(ours, goal, people, aim) for goal in goals)


def _kind(survey: FrozenSurvey) -> type[Mechanism]:
    return mechanism_named(survey.mechanism)


def _aim_row(ours: FrozenSurvey, goal: Goal, people: int, aim: Aim) -> AimRow:
    """Return what a mechanism would do if it were designed for another aim."""
    aimed = replace(aim, goal=goal)
    survey = aimed.make(_kind(ours), ours.schema, ours.order, ours.epsilon)
    return AimRow(
        goal,
        survey.mechanism,
        read_tv(survey, people, aim),
        predicted_tv(survey, people, aim=aim),
        detectable_v(survey, people, aim),
    )


def choose(
    schema: Schema,
    order: int,
    epsilon: float,
    workload: Any = None,
    pilot: Pilot | None = None,
    *,
    aim: str = "tables",
    people: float = PEOPLE,
    prior: float | None = None,
) -> FrozenSurvey:
    """Return the mechanism of ours that is best at what the aim is about."""
    check_parameters(schema, order, epsilon)
    goal = Aim.of(schema, order, workload, pilot, goal=aim, people=people, prior=prior)
    surveys, _ = surveys_that_fit(schema, order, epsilon, goal, MECHANISMS)
    return surveys[0]
