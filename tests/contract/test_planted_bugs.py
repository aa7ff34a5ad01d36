"""Every check catches a bug that was planted for it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from math import comb

import numpy as np
import pytest

from deniable.collector.tally import TallyCounts
from deniable.decoding import slot_evidence, thresholds
from deniable.decoding.decoder import CoefficientDecoder
from deniable.decoding.slot_evidence import SlotEvidence
from deniable.lab import checks
from deniable.lab.checks import CHECKS, CheckFailedError
from deniable.mechanisms.inpem import InpEM
from deniable.mechanisms.inpht import InpHT
from deniable.mechanisms.inprr import InpRR
from deniable.mechanisms.margps import MargPS
from deniable.mechanisms.margrr import MargRR
from deniable.mechanisms.subspace import Subspace
from deniable.questions.answers import Bitwise, Subset, Unary
from deniable.questions.entropy import WORD, below, happens
from deniable.questions.subsets import rank, unrank
from deniable.questions.terms import Range
from deniable.questions.thresholds import Thresholds
from deniable.schema.attribute import Attribute
from deniable.schema.scale import Grid
from deniable.schema.schema import Schema
from deniable.survey.frozen import FrozenSurvey
from deniable.survey.slots import SlotIndex
from deniable.survey.symbols import Symbols

FOUR = Schema.binary("a", "b", "c", "d")


def with_answer(kind, change, order=2, epsilon=1.1):
    """Return a survey whose way of answering was changed after it was checked."""
    sound = kind.survey(FOUR, order, epsilon)
    templates = tuple(replace(each, answer=change(each.answer)) for each in sound.templates)
    broken = FrozenSurvey.__new__(FrozenSurvey)
    given = ("schema", "order", "epsilon", "lists", "mechanism", "labels", "texts", "follows")
    broken.__dict__ |= {name: getattr(sound, name) for name in given} | {"templates": templates}
    return broken


def planted(kind, answer_kind, order=2):
    """Return a survey whose answers are of a faulty kind with the same integers."""
    return with_answer(kind, lambda a: answer_kind(**asdict(a)), order)


@dataclass(frozen=True)
class LastBitBare(Unary):
    """Leaves the last bit unrandomized, in the vectorised sampler."""

    def answers(self, symbols, stream):
        last = 1 << (self.symbols - 1)
        values = super().answers(symbols, stream)
        return (values & ~np.int64(last)) | (last * (np.asarray(symbols) == self.symbols - 1))


@dataclass(frozen=True)
class LastBitBareOnDevice(Unary):
    """Leaves the last bit unrandomized, on the device."""

    def answer(self, symbol, source):
        last = self.symbols - 1
        value = super().answer(symbol, source)
        return value & ~(1 << last) | ((symbol == last) << last)


@dataclass(frozen=True)
class LastBitOfManyBare(Bitwise):
    """Leaves the last attribute's bit unrandomized, in the vectorised sampler."""

    def answers(self, symbols, stream):
        top = np.int64(1) << (self.bits - 1)
        true = np.asarray(symbols).astype(np.int64)
        return (super().answers(symbols, stream) & ~top) | (true & top)


@dataclass(frozen=True)
class WrongFlip(Subset):
    """Draws with a probability that is not the stated one."""

    def answer(self, symbol, source):
        return Subset(self.symbols, self.chosen, WORD * 6 // 10).answer(symbol, source)

    def answers(self, symbols, stream):
        return Subset(self.symbols, self.chosen, WORD * 6 // 10).answers(symbols, stream)


@dataclass(frozen=True)
class BiasedUniform(Subset):
    """Takes a remainder of two bits to choose among three: the first is twice as likely."""

    def answer(self, symbol, source):
        keep = happens(source, self.threshold)
        other = source.word() % 4 % (self.symbols - 1)
        return symbol if keep else other + (other >= symbol)

    def answers(self, symbols, stream):
        keep = stream.happens(self.threshold, len(symbols))
        other = (stream.words(len(symbols)) % 4 % (self.symbols - 1)).astype(np.int64)
        return np.where(keep, symbols, other + (other >= symbols))


@dataclass(frozen=True)
class HurriedWhenTrue(Subset):
    """Draws another symbol only where it is needed, so that time tells."""

    def answer(self, symbol, source):
        if happens(source, self.threshold):
            return symbol
        other = comb(self.symbols, 1)
        while other >= self.symbols - 1:
            other = source.word() >> 62
        return rank([unrank(other + (other >= symbol), 1)[0]])


@dataclass(frozen=True)
class LawNotNormalised(Subset):
    """States a law that sums to more than one."""

    def law(self, symbol):
        return [weight + 1 for weight in super().law(symbol)]


SCORES, COVARIANCES = CoefficientDecoder.scores, SlotEvidence.cell_covariances
SYMBOLS = Symbols.of


def off_by_one(self, reports, numbering):
    """Read every coefficient off the neighbouring symbol mask."""
    rolled = np.roll(reports.supports, 1, axis=1)
    return SCORES(self, reports._replace(supports=rolled), numbering)


def shifted_signs(self, reports, numbering):
    """Decode the parity of the wrong sign."""
    return SCORES(self, reports._replace(supports=-reports.supports), numbering)


def timid_covariance(self, tables, truth=None):
    """Claim half the variance."""
    return COVARIANCES(self, tables, truth) / 2


def another_question(self, family, records, slots):
    """Ask the vectorised people about other attributes than the survey says."""
    return SYMBOLS(self, family, records >> 1, slots)


def weights_forgotten(self, stream, count):
    """Draw every slot as often as any other, in the vectorised sampler."""
    return stream.below(self.count, count)


def weights_forgotten_on_device(self, source):
    """Draw every slot as often as any other, on the device."""
    return below(source, self.count)


def threshold_raised(answer):
    return replace(answer, threshold=answer.threshold + (1 << 40))


def threshold_lowered(answer):
    return replace(answer, threshold=answer.threshold - (1 << 40))


BUGS = [
    ("check_law_normalised", lambda: planted(MargPS, LawNotNormalised)),
    ("check_epsilon_exact", lambda: with_answer(InpHT, threshold_raised)),
    ("check_epsilon_exact", lambda: with_answer(InpHT, threshold_lowered)),
    ("check_epsilon_exact", lambda: with_answer(InpEM, threshold_raised)),
    ("check_sampler_follows_law", lambda: planted(MargRR, LastBitBareOnDevice)),
    ("check_sampler_follows_law", lambda: planted(InpRR, LastBitBareOnDevice)),
    ("check_sampler_follows_law", lambda: planted(InpHT, WrongFlip)),
    ("check_sampler_follows_law", lambda: planted(MargPS, BiasedUniform)),
    ("check_vectorised_sampler_follows_law", lambda: planted(MargRR, LastBitBare)),
    ("check_vectorised_sampler_follows_law", lambda: planted(InpRR, LastBitBare)),
    ("check_vectorised_sampler_follows_law", lambda: planted(InpEM, LastBitOfManyBare)),
    ("check_vectorised_sampler_follows_law", lambda: planted(InpHT, WrongFlip)),
    ("check_vectorised_sampler_follows_law", lambda: planted(MargPS, BiasedUniform)),
    ("check_words_tell_nothing", lambda: planted(MargPS, HurriedWhenTrue)),
]
"""Bugs in a way of answering."""


@pytest.mark.parametrize(("check", "bug"), BUGS)
def test_the_check_catches_its_bug(check, bug):
    with pytest.raises(CheckFailedError):
        named(check)(bug())


def named(check):
    (function,) = [c for c in CHECKS if c.__name__ == check]
    return function


CODE_BUGS = [
    ("check_unbiased", MargPS, 1.1, CoefficientDecoder, "scores", off_by_one),
    ("check_unbiased", InpHT, 1.1, CoefficientDecoder, "scores", shifted_signs),
    ("check_vectorised_sampler_follows_law", InpHT, 1.1, Symbols, "of", another_question),
    ("check_slots_follow_their_chances", Subspace, 2.0, SlotIndex, "draw_many", weights_forgotten),
    (
        "check_slots_follow_their_chances",
        Subspace,
        2.0,
        SlotIndex,
        "draw",
        weights_forgotten_on_device,
    ),
    (
        "check_covariance_calibrated",
        MargPS,
        1.1,
        SlotEvidence,
        "cell_covariances",
        timid_covariance,
    ),
    ("check_covariance_calibrated", MargPS, 1.1, CoefficientDecoder, "scores", off_by_one),
]
"""Bugs in what asks, draws and decodes: in these classes, whatever the survey."""


@pytest.mark.parametrize(("check", "kind", "epsilon", "owner", "name", "bug"), CODE_BUGS)
def test_the_check_catches_a_bug_in_our_code(check, kind, epsilon, owner, name, bug, monkeypatch):
    survey = kind.survey(FOUR, 2, epsilon)
    named(check)(survey)
    monkeypatch.setattr(owner, name, bug)
    with pytest.raises(CheckFailedError):
        named(check)(kind.survey(FOUR, 2, epsilon))


ANSWERS, SPAN, HOLDS, PASSES = Thresholds.answers, Thresholds.span, Range.holds, Thresholds.passes
EXPECTATION, LEVELS, SUMS = Thresholds.expectation, Grid.levels_of, thresholds.cut_sums
BLENDED = slot_evidence.blended


def cut_above(self, coefficients):
    """Count only levels above the cut as past it."""
    codes = ANSWERS(self, coefficients)
    return np.column_stack((np.zeros(len(codes), np.uint8), codes[:, :-1]))


def next_point(self, coefficient):
    """Say the next point in the question."""
    span = SPAN(self, coefficient)
    return span._replace(above=min(span.above + 1, self.steps))


def missing_below(self, record):
    """Leave out on the device that missing says yes."""
    return HOLDS(replace(self, stand_in=None), record)


def missing_above(self, record):
    """Have missing say yes, on the device, whatever is asked."""
    return record[self.attribute] == "none" or HOLDS(self, record)


def halves_exchanged(self, entries):
    """Have missing pass the cuts of the wrong half."""
    return ~PASSES(self, entries)


def up_to_and_with(self, record):
    """Count the point itself as above it, on the device."""
    value = record[self.attribute]
    return value == self.above or HOLDS(self, record)


def level_too_high(self, column):
    """Put columns one level too high."""
    levels = LEVELS(self, column)
    return np.where(levels < 0, levels, np.minimum(levels + 1, self.levels - 1))


def forgets_missing(self, functions):
    """Make tables as if nobody was missing."""
    weights = EXPECTATION(self, functions)
    weights[:, 1:] -= weights[:, 1:].mean(axis=1, keepdims=True)
    return weights


def cuts_exchanged(supports, people, law):
    """Take the first of three cuts for the last."""
    return SUMS(supports, people, law)[:, ::-1]


def half_the_covariance(*given):
    """Claim half the variance."""
    return BLENDED(*given) / 2


ORDERED = Schema(
    (Attribute("age", low=0, high=9, missing="none", edges=(4,)), Attribute("sex", ("f", "m")))
)
ORDER_BUGS = [
    ("check_unbiased", Thresholds, "answers", cut_above),
    ("check_unbiased", Thresholds, "span", next_point),
    ("check_unbiased", Range, "holds", missing_below),
    ("check_unbiased", Range, "holds", missing_above),
    ("check_unbiased", Range, "holds", up_to_and_with),
    ("check_unbiased", Thresholds, "passes", halves_exchanged),
    ("check_unbiased", Thresholds, "expectation", forgets_missing),
    ("check_unbiased", "deniable.decoding.decoder", "cut_sums", cuts_exchanged),
    ("check_vectorised_sampler_follows_law", Grid, "levels_of", level_too_high),
    ("check_covariance_calibrated", slot_evidence, "blended", half_the_covariance),
]
"""Bugs in what asks, draws and decodes where values have an order."""


@pytest.mark.parametrize(("check", "owner", "name", "bug"), ORDER_BUGS)
def test_the_check_catches_a_bug_about_an_order(check, owner, name, bug, monkeypatch):
    named(check)(Subspace.survey(ORDERED, 2, 2.0))
    if isinstance(owner, str):
        monkeypatch.setattr(f"{owner}.{name}", bug)
    else:
        monkeypatch.setattr(owner, name, bug)
    with pytest.raises(CheckFailedError):
        named(check)(Subspace.survey(ORDERED, 2, 2.0))


def test_a_cut_that_counts_more_than_others_is_caught(monkeypatch):
    """Where single cuts are hardly asked, all are divided by one mean, so none may weigh more."""

    def heavy(supports, people, law):
        return SUMS(supports, people, law) * (1.1, 0.8, 1.1)

    monkeypatch.setattr("deniable.decoding.decoder.cut_sums", heavy)
    with pytest.raises(CheckFailedError, match="biased"):
        checks.check_unbiased(Subspace.survey(ORDERED, 2, 2.0))


def test_a_tally_that_forgets_a_row_is_caught(monkeypatch):
    sound = TallyCounts.__add__

    def forgetful(self, other):
        made = sound(self, other)
        return type(made)(
            made.survey, made.slot[1:], made.value[1:], made.count[1:], made.simulated
        )

    monkeypatch.setattr(TallyCounts, "__add__", forgetful)
    with pytest.raises(CheckFailedError):
        checks.check_tally_adds_up(InpHT.survey(FOUR, 2, 1.1))


def test_an_engine_that_miscounts_is_caught(monkeypatch):
    sound = checks.count_reports

    def miscounting(survey, reports):
        made = sound(survey, reports)
        return made if hasattr(reports, "slots") else made + made

    monkeypatch.setattr(checks, "count_reports", miscounting)
    with pytest.raises(CheckFailedError):
        checks.check_group_by(InpHT.survey(FOUR, 2, 1.1))


def test_a_collector_that_takes_anything_is_caught(monkeypatch):
    from deniable.collector.builder import TallyBuilder

    monkeypatch.setattr("deniable.collector.builder.flaws", lambda survey, slots, values: ())
    monkeypatch.setattr(TallyBuilder, "add", lambda self, slots, values, counts=None: None)
    with pytest.raises(CheckFailedError):
        checks.check_bad_input_refused(InpHT.survey(FOUR, 2, 1.1))


def test_a_survey_with_raised_thresholds_is_refused_when_read():
    from deniable.errors import SurveyError
    from deniable.survey.format import read_survey

    raised = with_answer(InpHT, threshold_raised)
    with pytest.raises(SurveyError, match="exceed"):
        read_survey(raised.canonical())


def test_a_threshold_that_went_through_a_float_is_caught(monkeypatch):
    sound = Subset.to_json
    rounded = lambda self: sound(self) | {"threshold": str(int(float(self.threshold)))}  # noqa: E731
    monkeypatch.setattr(Subset, "to_json", rounded)
    with pytest.raises(CheckFailedError, match="changes when read"):
        checks.check_wire_round_trip(InpHT.survey(FOUR, 2, 1.1))


def test_every_check_has_a_planted_bug():
    covered = {check for check, *_ in (*BUGS, *CODE_BUGS)} | {
        "check_tally_adds_up",
        "check_group_by",
        "check_bad_input_refused",
        "check_wire_round_trip",
    }
    assert covered == {check.__name__ for check in CHECKS}
