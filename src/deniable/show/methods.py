"""The methods paragraph: what was done, in sentences that can be pasted into a paper.

Every number in it comes from the release; what is not known is not said.
"""

from __future__ import annotations

from importlib.metadata import version
from math import exp

from deniable.questions.question import odds
from deniable.release.marginal import IMPLAUSIBLE
from deniable.release.release import ReleasedTables
from deniable.show.citing import count_people, epsilon_words, group_words
from deniable.show.export import LEVEL, each_table
from deniable.show.numbers import share
from deniable.show.reading import interval_sentence, reading_words
from deniable.show.sections import Quality
from deniable.show.terminal import at_most

_LIMITS = (
    "Intervals cover sampling and the noise of privacy; they cover neither non-response nor people who "
    "answer what is not so."
)
_PAPER = "(Cormode, Kulkarni, Srivastava, SIGMOD 2018)"


def methods(release: ReleasedTables, quality: Quality | None = None) -> str:
    """Return the paragraph; ``quality`` is that of all tables, where they were looked at already."""
    quality = quality or quality_of(release)
    parts = [
        *_simulated(release),
        *_design(release),
        *_people(release),
        "" if release.pooling is None else release.pooling.sentence,
        f"Tables are {reading_words(release)}.",
        interval_sentence(release),
        *quality.sentences,
        "" if release.interval_kind(release.survey.order) == "none" else _LIMITS,
        "" if release.plausible else IMPLAUSIBLE,
        f"The method is marginal release under local differential privacy {_PAPER}.",
    ]
    return " ".join(part for part in parts if part)


def quality_of(release: ReleasedTables) -> Quality:
    """Return how large the errors of all tables are."""
    quality = Quality(release)
    for table in each_table(release):
        quality.add(table, *table.interval(LEVEL))
    return quality


def suspicion(epsilon: float) -> str:
    """Return what a suspicion of one half becomes at most."""
    return at_most(odds(exp(min(epsilon, 700.0)))).replace("%", "\N{NO-BREAK SPACE}%")


def _simulated(release: ReleasedTables) -> list[str]:
    if not release.simulated:
        return []
    return [
        "SIMULATED: no device took part; reports were made where the records are.",
        *release.remarks,
    ]


def _design(release: ReleasedTables) -> list[str]:
    survey = release.survey
    slots = "one fixed question" if survey.slots == 1 else f"one of {survey.slots:,} questions"
    if release.pooling is not None:
        slots = f"one of the questions of its survey ({survey.slots:,} in all)"
    chance = "" if survey.slots == 1 else ", drawn at random without looking at the record"
    count = len(survey.schema)
    most = "up to " if release.pooling is not None else ""
    attributes = f"{most}{count:,} attribute{'' if count == 1 else 's'}"
    tables = "one attribute" if survey.order == 1 else f"up to {survey.order} attributes"
    name = f"survey {survey.id[:16]}" if release.pooling is None else release.surveys
    return [
        f"Data were collected with deniable {version('deniable')} ({name}) under local "
        "differential privacy: nobody’s record was collected.",
        f"Each device was asked {slots} about its own record of {attributes}{chance}, and randomized "
        f"its answer (mechanism {survey.mechanism}, for tables of {tables}).",
        f"A report satisfies ε-local differential privacy with ε = {epsilon_words(survey, 'or')}: "
        f"whoever sees it, a suspicion of 50\N{NO-BREAK SPACE}% about a person becomes at most "
        f"{suspicion(survey.epsilon)}.",
    ]


def _people(release: ReleasedTables) -> list[str]:
    group = group_words(release.said_group)
    size = f"{count_people(release.people)}{f' ({group})' if group else ''}"
    sentences = [f"Reports of {size} were counted."]
    if release.strata:
        shares = ", ".join(f"{name} {share(weight)}" for name, weight in release.strata.items())
        sentences.append(f"Groups were weighted to known shares of the population: {shares}.")
    if release.population is not None:
        sentences.append(release.population.sentence)
    return sentences
