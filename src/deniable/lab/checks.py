"""The contract every mechanism must pass.

``check_mechanism(mechanism)`` runs every check on a small survey; `CHECKS` lists them for a test
runner. Sampled checks use fixed seeds, correct for the number of things they compare, and raise a
false alarm with probability below `FALSE_ALARM` for a new seed. The tests plant a bug for every one
of them to show that it is caught.
"""

from __future__ import annotations

import tempfile
from collections import Counter as Multiset
from collections.abc import Callable
from fractions import Fraction
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deniable.client.bulk import answer_block, randomize_records
from deniable.collector.builder import TallyBuilder
from deniable.collector.engines import count_reports
from deniable.collector.tally import TallyCounts
from deniable.decoding.decoder import decoder_of
from deniable.errors import DeniableError
from deniable.lab.audit import audit, exact_ratio
from deniable.messages.report import Report, ReportBatch
from deniable.numeric.axes import along_axes
from deniable.numeric.inference import wald
from deniable.questions.answers import Answer, Bitwise, Subset, Unary
from deniable.questions.entropy import WORD, Key, Stream
from deniable.questions.exact import exponential, log_down
from deniable.questions.question import Question
from deniable.schema.schema import Records
from deniable.survey.coefficients import all_tables
from deniable.survey.format import read_survey
from deniable.survey.frozen import FrozenSurvey

FALSE_ALARM = 1e-6

_DRAWS = 20_000


class CheckFailedError(AssertionError):
    """A mechanism broke its contract."""


def _require(condition: object, message: str) -> None:
    if not condition:
        raise CheckFailedError(message)


def check_mechanism(survey: FrozenSurvey) -> None:
    """Run every check; raise `CheckFailedError` at the first that fails."""
    for check in CHECKS:
        check(survey)


def check_law_normalised(survey: FrozenSurvey) -> None:
    """The probabilities of all values sum to one, exactly."""
    for family in survey.families:
        _require(exact_ratio(family.answer)[1], "a law does not sum to one")


def check_epsilon_exact(survey: FrozenSurvey) -> None:
    """The realised ε is at most the stated one, exactly, and not needlessly below it."""
    for family in survey.families:
        ratio, _ = exact_ratio(family.answer)
        _require(ratio <= exponential(survey.epsilon), "the realised epsilon is too large")
        _require(ratio == family.answer.ratio, "the claimed ratio is not that of the law")
    worst = max(log_down(exact_ratio(family.answer)[0]) for family in survey.families)
    _require(worst > survey.epsilon - 1e-9, "the realised epsilon is needlessly small")


def check_unbiased(survey: FrozenSurvey) -> None:
    """The decoder's scores have the right mean under the exact law."""
    result = audit(survey)
    _require(result.exact, "questions do not ask what they say")
    _require(result.unbiased, "the decoder is biased")


def check_sampler_follows_law(survey: FrozenSurvey) -> None:
    """A device's sampler draws values with the probabilities of the law."""
    _check_sampler(survey, _draw_one_by_one)


def check_vectorised_sampler_follows_law(survey: FrozenSurvey) -> None:
    """The vectorised sampler draws values with the probabilities of the law."""
    _check_sampler(survey, _draw_together)


def _draw_one_by_one(survey: FrozenSurvey, slot: int, codes: NDArray[np.int64]) -> list[int]:
    question = survey.question(slot)
    record = survey.schema.decode(codes.tolist())
    source = _Buffered(Key.seeded(f"one by one {slot} {codes}").stream())
    return [question.reply(record, source) for _ in range(_DRAWS // 4)]


def _draw_together(survey: FrozenSurvey, slot: int, codes: NDArray[np.int64]) -> list[int]:
    records = _encode(survey, np.broadcast_to(codes, (_DRAWS, len(codes))))
    slots = np.full(_DRAWS, slot)
    stream = Key.seeded(f"together {slot} {codes}").stream()
    values = answer_block(survey, records.words, slots, stream)
    if values.ndim == 2:
        return [int.from_bytes(row.tobytes(), "little") for row in values]
    reports: list[int] = values.tolist()
    return reports


class _Buffered:
    """A source that reads a stream's words in larger portions, and counts them."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self._left, self.count = stream, list[int](), 0

    def word(self) -> int:
        if not self._left:
            self._left = self._stream.words(1024).tolist()
        self.count += 1
        return self._left.pop()


def _check_sampler(
    survey: FrozenSurvey, draw: Callable[[FrozenSurvey, int, NDArray[np.int64]], list[int]]
) -> None:
    random = np.random.default_rng(1)
    cases = []
    for index in range(len(survey.templates)):
        first = survey.index.starts[index]
        last = (
            survey.index.starts[index + 1] if index + 1 < len(survey.templates) else survey.slots
        ) - 1
        for slot in {first, last}:
            cases += [(slot, random.integers(0, survey.schema.ranges)) for _ in range(3)]
    for slot, codes in cases:
        question = survey.question(slot)
        symbol = question.asks.symbol(survey.schema.decode(codes.tolist()))
        p_value = _goodness(question.answer, symbol, draw(survey, slot, codes))
        _require(p_value > FALSE_ALARM / len(cases), "sampled values do not follow the law")


def _goodness(answer: Answer, symbol: int, values: list[int]) -> float:
    """Return how surprising values are: by χ², or, if they are many, by what each speaks for."""
    from scipy import stats

    if answer.outcomes <= 256:
        observed = np.bincount(values, minlength=answer.outcomes)
        law = np.array([float(Fraction(p, answer.law_total)) for p in answer.law(symbol)])
        common = law * len(values) >= 5
        rare = float(law[~common].sum())
        tests = [stats.binomtest(int(observed[~common].sum()), len(values), min(1.0, rare)).pvalue]
        if common.sum() > 1:
            expected = law[common] / law[common].sum() * observed[common].sum()
            tests.append(stats.chisquare(observed[common], expected).pvalue)
        return float(min(1.0, min(tests) * len(tests)))
    chances, seen_of = _spoken_for(answer, symbol, values)
    tests = [
        stats.binomtest(int(times), len(values), float(chance)).pvalue
        for times, chance in zip(seen_of, chances, strict=True)
    ]
    return float(min(1.0, min(tests) * len(tests)))


def _spoken_for(
    answer: Answer, symbol: int, values: list[int]
) -> tuple[list[Fraction], NDArray[np.int64]]:
    """Return how likely, and how often, each bit is set or each symbol is supported.

    A single symbol out of many is looked at by its bits, and by whether it is the true one.
    """
    if (isinstance(answer, Subset) and answer.chosen == 1) or isinstance(answer, Bitwise):
        bits = range((answer.outcomes - 1).bit_length())
        observed = [sum(v >> j & 1 for v in values) for j in bits]
        if isinstance(answer, Bitwise):
            keep = Fraction(answer.threshold, WORD)
            return [keep if symbol >> j & 1 else 1 - keep for j in bits], np.array(observed)
        law, every = answer.inclusion, range(answer.symbols)
        likely = [
            law.other * sum(s >> j & 1 for s in every) + law.contrast * (symbol >> j & 1)
            for j in bits
        ]
        return [law.own, *likely], np.array([values.count(symbol), *observed])
    assert isinstance(answer, Subset | Unary)
    supports = np.zeros(answer.symbols, np.int64)
    for value in values:
        supports[list(answer.support(value))] += 1
    law = answer.inclusion
    return [law.own if s == symbol else law.other for s in range(answer.symbols)], supports


def check_slots_follow_their_chances(survey: FrozenSurvey) -> None:
    """Devices and the vectorised sampler draw slots as often as the survey says."""
    from scipy import stats

    chances = np.concatenate(
        [
            np.broadcast_to(survey.index.chances(index), slots.count)
            for index, slots in enumerate(survey.index.templates)
        ]
    )
    _require(abs(chances.sum() - 1) < 1e-9, "the chances of slots do not sum to one")
    source = _Buffered(Key.seeded("slot by slot").stream())
    one_by_one = np.array([survey.draw_slot(source) for _ in range(_DRAWS // 4)])
    together = survey.index.draw_many(Key.seeded("slots together").stream(), _DRAWS)
    for draws in (one_by_one, together):
        _require(((draws >= 0) & (draws < survey.slots)).all(), "a slot is none of the survey")
        # Neighbouring slots are taken together until a hundred draws are expected of them.
        bins = (np.cumsum(chances) - chances / 2) * len(draws) // 100
        expected = np.bincount(bins.astype(int), chances) * len(draws)
        observed = np.bincount(bins.astype(int)[draws], minlength=len(expected))
        possible = expected > 0
        if possible.sum() > 1:
            p_value = stats.chisquare(
                observed[possible], expected[possible] * len(draws) / expected.sum()
            ).pvalue
            _require(p_value > FALSE_ALARM, "slots are not drawn as often as the survey says")


def check_words_tell_nothing(survey: FrozenSurvey) -> None:
    """How many words a device draws does not depend on the record, given the value it sends."""
    from scipy import stats

    for family in survey.families:
        answer, symbols = family.answer, min(family.answer.symbols, 4)
        source = _Buffered(Key.seeded("words").stream())
        tuples: Multiset[tuple[int, int, int]] = Multiset()
        for symbol in range(symbols):
            for _ in range(_DRAWS // 4):
                before = source.count
                value = answer.answer(symbol, source)
                tuples[value, symbol, source.count - before] += 1
        lengths = sorted({words for _, _, words in tuples})
        if len(lengths) == 1:
            continue
        values = {value for value, _, _ in tuples}
        for value in values:
            table = np.array(
                [[tuples[value, symbol, words] for words in lengths] for symbol in range(symbols)]
            )
            table = np.column_stack((table[:, 0], table[:, 1:].sum(axis=1)))
            table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
            if min(table.shape) > 1:
                p_value = stats.chi2_contingency(table).pvalue
                _require(
                    p_value > FALSE_ALARM / len(values), "the words drawn tell about the record"
                )


def check_covariance_calibrated(survey: FrozenSurvey) -> None:
    """Estimates scatter around the truth as their covariance says."""
    from scipy import stats

    decoder, ranges = decoder_of(survey), survey.schema.ranges
    population = np.random.default_rng(2).dirichlet(np.ones(prod(ranges)))
    tables = all_tables(len(ranges), survey.order)[:1]
    others = tuple(a for a in range(len(ranges)) if a not in tables[0])
    cells = population.reshape(ranges).sum(axis=others).reshape(1, -1)
    truth = along_axes(cells, [survey.schema.attributes[a].members for a in tables[0]])
    key, people, rounds = Key.seeded("covariance"), 4096, 150
    total = 0.0
    drift = np.zeros(truth.shape[1])
    for turn in range(rounds):
        random = np.random.default_rng([3, turn])
        sample = random.choice(len(population), people, p=population)
        codes = np.stack(np.unravel_index(sample, ranges), axis=1)
        counts = _count(survey, _encode(survey, codes), key.derive(turn))
        evidence = decoder.decode(counts.slot, counts.value, counts.count, decoder.exact_estimator)
        covariance = evidence.cell_covariances(tables, truth)[0]
        off = evidence.tables(tables).values[0] - truth[0]
        total += float(wald(off, covariance)[0])
        drift += off / np.sqrt(np.diag(covariance))
    freedom = rounds * (truth.shape[1] - 1)  # cells add up to one
    tail = min(stats.chi2.cdf(total, freedom), stats.chi2.sf(total, freedom))
    _require(2 * tail > FALSE_ALARM, "estimates scatter more or less than their covariance says")
    limit = stats.norm.isf(FALSE_ALARM / 2 / len(drift)) * np.sqrt(rounds)
    _require((np.abs(drift) < limit).all(), "estimates are off the truth on average")


def check_tally_adds_up(survey: FrozenSurvey) -> None:
    """Tallies of parts add up to the tally of the whole, in any order."""
    batch = _batch(survey, 3000)
    whole = count_reports(survey, batch)
    parts = [
        count_reports(
            survey, ReportBatch(batch.survey, batch.slots[i::3], batch.values[i::3], True)
        )
        for i in range(3)
    ]
    a, b, c = parts
    _require((a + b) + c == whole and a + (b + c) == whole, "addition is not associative")
    _require(c + b + a == whole, "addition is not commutative")
    _require(whole.people == len(batch), "a tally loses people")


def check_wire_round_trip(survey: FrozenSurvey) -> None:
    """Surveys, questions, reports, batches and tallies survive being written and read."""
    again = read_survey(survey.canonical())
    _require(again.id == survey.id, "a survey changes its id when read")
    for slot in {0, survey.slots // 2, survey.slots - 1}:
        question = survey.question(slot)
        _require(Question.from_json(question.to_json()) == question, "a question changes when read")
        _require(again.question(slot) == question, "a survey read anew asks something else")
    batch = _batch(survey, 500)
    width = survey.packed_bytes
    read = ReportBatch.from_arrow(batch.to_arrow(), survey.id, width)
    same = np.array_equal(read.values, batch.values) and np.array_equal(read.slots, batch.slots)
    _require(same and read.simulated == batch.simulated, "a batch changes when read")
    row = batch.values[0]
    value = int.from_bytes(row.tobytes(), "little") if width else int(row)
    report = Report(int(batch.slots[0]), value)
    _require(Report.from_json(report.to_json()) == report, "a report changes when read")
    counts = count_reports(survey, batch)
    with tempfile.TemporaryDirectory() as folder:
        counts.save(Path(folder, "a.tally"))
        _require(TallyCounts.load(Path(folder, "a.tally")) == counts, "a tally changes when read")


def check_group_by(survey: FrozenSurvey) -> None:
    """Every engine counts what numpy counts."""
    batch = _batch(survey, 5000)
    expected = count_reports(survey, batch)
    table = batch.to_arrow()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "reports.parquet")
        batch.to_parquet(path)
        _require(count_reports(survey, path) == expected, "DuckDB counts otherwise")
    _require(count_reports(survey, table) == expected, "Arrow counts otherwise")
    bare = count_reports(survey, table.to_pandas())
    same = np.array_equal(bare.count, expected.count) and np.array_equal(bare.value, expected.value)
    _require(same, "pandas counts otherwise")


def check_bad_input_refused(survey: FrozenSurvey) -> None:
    """Impossible reports are refused, and leave no trace."""
    batch = _batch(survey, 10)
    wide = batch.values.ndim == 2

    def refused(slots: NDArray[np.int64], values: NDArray[np.int64], words: str) -> bool:
        try:
            count_reports(survey, ReportBatch(words, slots, values, True))
        except DeniableError:
            return True
        return False

    _require(refused(batch.slots, batch.values, "0" * 64), "another survey's reports are taken")
    _require(refused(batch.slots - survey.slots, batch.values, survey.id), "slot below 0")
    _require(refused(batch.slots + survey.slots, batch.values, survey.id), "unknown slot")
    if not wide:
        _require(refused(batch.slots, batch.values - 2**62, survey.id), "value below 0")
        _require(refused(batch.slots, batch.values | 2**62, survey.id), "impossible value")
    for slot in (-1, survey.slots):
        try:
            survey.question(slot)
        except DeniableError:
            continue
        raise CheckFailedError("a slot outside the survey has a question")


CHECKS: tuple[Callable[[FrozenSurvey], None], ...] = (
    check_law_normalised,
    check_epsilon_exact,
    check_unbiased,
    check_sampler_follows_law,
    check_vectorised_sampler_follows_law,
    check_slots_follow_their_chances,
    check_words_tell_nothing,
    check_covariance_calibrated,
    check_tally_adds_up,
    check_wire_round_trip,
    check_group_by,
    check_bad_input_refused,
)


def _encode(survey: FrozenSurvey, codes: NDArray[np.int64]) -> Records:
    import pyarrow as pa

    columns = {}
    for i, attribute in enumerate(survey.schema.attributes):
        if attribute.scale is None:
            columns[attribute.name] = pa.array(np.array(attribute.values)[codes[:, i]])
            continue
        lack = [None] * (attribute.codes - attribute.levels)
        points = pa.array([*map(attribute.value_of, range(attribute.levels)), *lack])
        columns[attribute.name] = points.take(pa.array(codes[:, i]))
    return survey.schema.encode_frame(pa.table(columns))


def _batch(survey: FrozenSurvey, people: int) -> ReportBatch:
    ranges = survey.schema.ranges
    codes = np.random.default_rng(4).integers(0, ranges, (people, len(ranges)))
    parts = list(randomize_records(survey, _encode(survey, codes), Key.seeded("batch")))
    slots = np.concatenate([slots for slots, _ in parts])
    values = np.concatenate([values for _, values in parts])
    return ReportBatch(survey.id, slots, values, simulated=True)


def _count(survey: FrozenSurvey, records: Records, key: Key) -> TallyCounts:
    builder = TallyBuilder(survey)
    for slots, values in randomize_records(survey, records, key):
        builder.add(slots, values)
    return builder.tally(simulated=True)
