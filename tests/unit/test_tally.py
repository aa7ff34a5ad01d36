"""Tallies are exact counts: they add up, survive files, and refuse what cannot be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable import Report, ReportBatch, Schema, Survey, Tally
from deniable.collector import tally_file
from deniable.collector.builder import TallyBuilder
from deniable.errors import ReportError, SurveyError, TallyError
from deniable.mechanisms.margrr import MargRR
from deniable.mechanisms.registry import MECHANISMS
from deniable.questions.answers import Unary
from deniable.survey.frozen import FrozenSurvey
from deniable.survey.template import Template

NAMES = ("a", "b", "c")
PEOPLE = pd.DataFrame(np.random.default_rng(1).random((500, 3)) < 0.4, columns=NAMES)


def survey(
    mechanism: str = "InpHT", epsilon: float = 1.1, names: tuple[str, ...] = NAMES
) -> Survey:
    return Survey(Schema.binary(*names), order=2, epsilon=epsilon, mechanism=mechanism)


def tally(mechanism: str = "InpHT") -> Tally:
    return survey(mechanism).tally(survey(mechanism).randomize(PEOPLE))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_tally_counts_every_report_once(mechanism: str) -> None:
    asked = survey(mechanism)
    batch = asked.randomize(PEOPLE)
    made = asked.tally(batch)
    assert made.people == 500
    slots, people = made.people_by_slot()
    assert np.array_equal(slots, np.unique(batch.slots))
    assert np.array_equal(people, np.bincount(batch.slots, minlength=asked.slots)[slots])
    counted = dict(zip(zip(made.slot, made.value, strict=True), made.count, strict=True))
    expected: dict[tuple[int, int], int] = {}
    for slot, value in zip(batch.slots.tolist(), batch.values.tolist(), strict=True):
        symbols = asked.question(slot).answer.symbols
        keys = [value]
        if mechanism.endswith("RR"):  # bits are counted, and reports
            keys = [s for s in range(symbols) if value >> s & 1] + [symbols]
        for key in keys:
            expected[slot, key] = expected.get((slot, key), 0) + 1
    assert counted == expected


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_tally_survives_its_file(mechanism: str, tmp_path: Path) -> None:
    made = tally(mechanism)
    made.save(tmp_path / "day.tally")
    read = Tally.load(tmp_path / "day.tally")
    assert read == made
    assert read.survey.id == survey(mechanism).id
    assert type(read) is Tally
    assert type(read + made) is Tally


def test_a_tally_survives_its_file_part_by_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = survey("InpEM", names=tuple("abcdefghi"))
    whole = asked.tally(ReportBatch(asked.id, np.zeros(300, int), np.arange(300)))
    whole.save(tmp_path / "day.tally")
    for part in (7, 100, 299, 300):
        monkeypatch.setattr(tally_file, "_PART", part)
        assert Tally.load(tmp_path / "day.tally") == whole


def test_an_empty_tally_is_neutral_and_cannot_be_released(tmp_path: Path) -> None:
    empty = survey().tally(survey().randomize(PEOPLE[:0]))
    assert empty.people == 0
    assert empty + tally() != empty
    made = tally()
    assert made + empty == empty + made == made
    empty.save(tmp_path / "empty.tally")
    assert Tally.load(tmp_path / "empty.tally") == empty
    with pytest.raises(TallyError, match="empty"):
        empty.release()


def test_tallies_of_different_surveys_do_not_merge() -> None:
    with pytest.raises(TallyError, match="different surveys"):
        tally() + tally("MargPS")
    with pytest.raises(TypeError):
        tally() + 1
    assert tally() != "a tally"
    assert tally() != tally("MargPS")


def test_tallies_overlap_if_they_share_a_source_and_may_share_a_group() -> None:
    some, others, empty = tally(), tally(), survey().tally([])
    north, south = {"region": "north"}, {"region": "south"}
    for one, other, expected in (
        ((["x"], {}), (["x"], {}), True),
        ((["x", "y"], {}), (["y", "z"], {}), True),
        ((["x"], {}), (["y"], {}), False),
        (([], {}), ([], {}), False),  # nobody noted what was counted
        ((["x"], {}), ([], {}), False),
        ((["x"], north), (["x"], north), True),
        ((["x"], north), (["x"], south), False),
        ((["x"], north), (["x"], {}), True),  # all groups together
        ((["x"], north), (["x"], {"period": "2026-11-01"}), True),
        ((["x"], north | {"age": "old"}), (["x"], north | {"age": "young"}), False),
        ((["x"], north), (["y"], north), False),
    ):
        a, b = (
            replace(own, sources=frozenset(sources), group=group)
            for own, (sources, group) in ((some, one), (others, other))
        )
        assert a.overlaps(b) is b.overlaps(a) is expected
        copy = replace(a, sources=frozenset(), count=a.count.copy())
        assert a.overlaps(copy)
        assert not a.overlaps(replace(copy, group={"region": "east"}))
        for full in (a, b):  # what counts nothing counts nothing twice
            nothing = replace(empty, sources=full.sources, group=full.group)
            assert full.overlaps(nothing) is nothing.overlaps(full) is False


def test_tallies_are_equal_if_they_count_the_same() -> None:
    one = tally()
    assert replace(one, sources=frozenset({"x"}), refused={"missing": 3}) == one
    for change in ({"slot": one.slot + 1}, {"value": 1 - one.value}, {"count": one.count + 1}):
        assert replace(one, **change) != one
    assert replace(one, simulated=True) != one


def test_a_sum_notes_all_that_its_parts_note() -> None:
    parts = [
        replace(tally(), refused={"missing": 2, "unknown slot": 1}, sources=frozenset({"x"})),
        replace(tally(), refused={"missing": 3}, sources=frozenset({"x", "y"})),
    ]
    whole = parts[0] + parts[1]
    assert whole.refused == {"missing": 5, "unknown slot": 1}
    assert whole.sources == {"x", "y"}
    assert whole.people == 1000


def test_simulated_reports_must_be_wanted_and_stay_marked(tmp_path: Path) -> None:
    batch = survey().randomize(PEOPLE, seed="x")
    with pytest.raises(ReportError, match="simulated"):
        survey().tally(batch)
    made = survey().tally(batch, simulation=True)
    assert made.simulated
    assert "SIMULATED" in repr(made)
    assert (made + tally()).simulated
    assert (tally() + made).simulated
    made.save(tmp_path / "x.tally")
    assert Tally.load(tmp_path / "x.tally").simulated
    assert made.release().simulated
    assert made.release().marginal("a").simulated


def test_reports_of_another_survey_and_impossible_ones_are_refused() -> None:
    batch = survey().randomize(PEOPLE)
    with pytest.raises(ReportError, match="another survey"):
        survey(epsilon=1.0).tally(batch)
    for slots, values, message in (
        ([0, 6], [0, 0], r"1 of 2 reports cannot be counted \(unknown slot: 1\)"),
        ([-1, -1], [0, 0], r"2 of 2 reports cannot be counted \(unknown slot: 2\)"),
        ([0, 1], [0, 2], r"1 of 2 reports cannot be counted \(impossible value: 1\)"),
        (
            [0, 6, 1],
            [-1, 9, 0],
            r"2 of 3 .* \(unknown slot: 1, impossible value: 1\); invalid='drop'",
        ),
    ):
        bad = ReportBatch(survey().id, np.array(slots), np.array(values))
        with pytest.raises(ReportError, match=message):
            survey().tally(bad)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.uint32, np.uint64])
def test_integers_of_any_width_are_counted_alike(mechanism: str, kind: type) -> None:
    asked = survey(mechanism)
    batch = asked.randomize(PEOPLE)
    narrow = ReportBatch(asked.id, batch.slots.astype(kind), batch.values.astype(kind))
    assert asked.tally(narrow) == asked.tally(batch)
    for slots, values in (([2**64 - 1], [0]), ([0], [2**64 - 1]), ([2**63], [0])):
        bad = ReportBatch(asked.id, np.array(slots, np.uint64), np.array(values, np.uint64))
        with pytest.raises(ReportError, match="1 of 1 reports cannot be counted"):
            asked.tally(bad)


@pytest.mark.parametrize("shape", [(3,), (3, 1), (3, 4), (3, 15), (3, 17), (3, 16, 1), (3, 0)])
@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.int8])
def test_values_of_another_form_are_refused_and_not_counted_as_what_they_are_not(
    shape: tuple[int, ...], kind: type
) -> None:
    packed = survey("InpRR", names=tuple("abcdefg"))
    batch = ReportBatch(packed.id, np.zeros(3, int), np.zeros(shape, kind))
    with pytest.raises(ReportError, match="must be rows of 16 packed bytes"):
        packed.tally(batch)
    if len(shape) > 1:
        narrow = ReportBatch(survey().id, np.zeros(3, int), np.zeros(shape, kind))
        with pytest.raises(ReportError, match="must be single integers"):
            survey().tally(narrow)


@pytest.mark.parametrize(
    "report", [Report(0.5, 0), Report("a", 0), Report(0, None), Report(0, b"")]
)
def test_reports_of_anything_but_whole_numbers_are_refused(report: Report) -> None:
    for asked in (survey(), survey("InpRR", names=tuple("abcdefg"))):
        with pytest.raises(ReportError, match="whole numbers"):
            asked.tally([report])


def test_every_bit_of_a_packed_value_may_be_set() -> None:
    six = Survey(Schema.binary(*"abcdefg"), 6, 1.1, "MargRR")
    for asked in (survey("InpRR", names=tuple("abcdef")), six):
        batch = ReportBatch(asked.id, np.zeros(2, int), np.full((2, 8), 255, np.uint8))
        made = asked.tally(batch)
        assert made.value.tolist() == list(range(65))
        assert set(made.count.tolist()) == {2}


def test_a_very_large_tally_is_kept_in_sorted_rows() -> None:
    asked = Survey(Schema.binary(*(f"a{i}" for i in range(40))), 2, 1.1, "InpEM")
    values = np.array([5, 2**39, 5, 0])
    made = asked.tally(ReportBatch(asked.id, np.zeros(4, int), values))
    assert made.value.tolist() == [0, 5, 2**39]
    assert made.count.tolist() == [1, 2, 1]
    assert (made + made).count.tolist() == [2, 4, 2]


def test_sorted_rows_are_summed_up_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {name: (survey(name), survey(name).randomize(PEOPLE)) for name in MECHANISMS}
    dense = {name: asked.tally(batch) for name, (asked, batch) in expected.items()}
    monkeypatch.setattr("deniable.collector.builder._DENSE", 3)
    for name, (asked, batch) in expected.items():
        builder = TallyBuilder(asked)
        for start in range(0, len(batch), 7):
            builder.add(batch.slots[start : start + 7], batch.values[start : start + 7])
        assert builder.tally() == dense[name]


def test_a_tally_that_no_memory_holds_is_refused_with_its_size() -> None:
    schema = Schema.binary(*(f"a{i}" for i in range(40)))
    with pytest.raises(SurveyError, match="would need 19 GB of counters"):
        Survey(schema, 7, 1.1, "MargRR")
    asked, lists = Template.table(7, Unary.within(1.1, 128)), MargRR.lists(schema)
    read = FrozenSurvey(schema, 7, 1.1, (asked,), lists, mechanism="MargRR")
    with pytest.raises(TallyError, match="19 GB of counters"):
        TallyBuilder(read)


# Broken files


def written(tmp_path: Path, table: pa.Table, metadata: dict[bytes, bytes] | None = None) -> Path:
    path = tmp_path / "x.tally"
    known = {b"deniable.tally": survey().to_json().encode()}
    pq.write_table(table.replace_schema_metadata(known if metadata is None else metadata), path)
    return path


COLUMNS = ("slot", "value", "count")


def rows(*entries: tuple[int, int, int]) -> pa.Table:
    columns = zip(*entries, strict=True)
    return pa.table({n: pa.array(c, pa.int64()) for n, c in zip(COLUMNS, columns, strict=True)})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (rows((0, 1, 1), (0, 0, 1)), "sorted"),
        (rows((1, 0, 1), (0, 0, 1)), "sorted"),
        (rows((1, 0, 1), (0, 1, 1)), "sorted"),  # by value only
        (rows((0, 0, 1), (0, 0, 1)), "sorted"),
        (rows((0, 0, 0)), "positive counts"),
        (rows((0, 0, -1)), "positive counts"),
        (rows((6, 0, 1)), "slots that its survey does not have"),
        (rows((-1, 0, 1)), "slots that its survey does not have"),
        (rows((0, 2, 1)), "values that nobody can report"),
        (rows((0, 3, 1)), "values that nobody can report"),
        (rows((0, -1, 1)), "values that nobody can report"),
        (rows((0, 0, 2**62), (0, 1, 2**62), (1, 0, 2**62)), "more reports than there can be"),
        (rows((0, 0, 2**53)), "more reports than there can be"),
        (rows((0, 0, 1)).select(["slot", "count", "value"]), "not a tally"),
        (rows((0, 0, 1)).select(["slot", "count"]), "not a tally"),
        (rows((0, 0, 1)).cast(pa.schema({n: pa.int32() for n in COLUMNS})), "integers"),
        (pa.table({"slot": [0], "value": [0], "count": pa.array([None], pa.int64())}), "gaps"),
    ],
)  # fmt: skip
def test_a_tally_that_cannot_be_is_refused(tmp_path: Path, table: pa.Table, message: str) -> None:
    with pytest.raises(TallyError, match=message):
        Tally.load(written(tmp_path, table))


def test_each_slot_has_values_of_its_own(tmp_path: Path) -> None:
    asked = Survey(Schema.of(a=["x", "y"], b=["x", "y"], c=["x", "y", "z"]), 2, 1.1, "MargPS")
    metadata = {b"deniable.tally": asked.to_json().encode()}
    symbols = [asked.question(slot).answer.symbols for slot in range(asked.slots)]
    assert symbols == [4, 6, 6]
    every = [(slot, value, 1) for slot in range(3) for value in range(symbols[slot])]
    assert Tally.load(written(tmp_path, rows(*every), metadata)).people == 16
    for slot in range(3):
        with pytest.raises(TallyError, match="values that nobody can report"):
            Tally.load(written(tmp_path, rows((slot, symbols[slot], 1)), metadata))


def of_parts(table: pa.Table, part: int, most: int) -> SimpleNamespace:
    """Return a file that is read part by part, and says that it has so many rows."""
    metadata = SimpleNamespace(num_rows=most)
    return SimpleNamespace(metadata=metadata, iter_batches=lambda _: table.to_batches(part))


SIX = ((0, 0, 1), (0, 1, 2), (1, 0, 3), (3, 1, 4), (4, 0, 5), (5, 0, 6))


@pytest.mark.parametrize("part", [1, 3, 4])
def test_a_tally_has_as_many_rows_as_its_footer_says(part: int) -> None:
    read = tally_file._rows_of(of_parts(rows(*SIX), part, 6), survey(), "x")
    assert list(zip(*(column.tolist() for column in read), strict=True)) == list(SIX)
    for fewer in range(6):
        with pytest.raises(TallyError, match="x is broken"):
            tally_file._rows_of(of_parts(rows(*SIX), part, fewer), survey(), "x")
    for more in (7, 12):
        with pytest.raises(TallyError, match="x is not a tally, or it is cut short"):
            tally_file._rows_of(of_parts(rows(*SIX), part, more), survey(), "x")


@pytest.mark.parametrize("part", [1, 3])
@pytest.mark.parametrize("column", range(3))
def test_a_gap_is_noticed_in_any_row_and_column(column: int, part: int) -> None:
    for at in range(6):
        numbers = [None if i == at else row[column] for i, row in enumerate(SIX)]
        gap = rows(*SIX).set_column(column, COLUMNS[column], pa.array(numbers, pa.int64()))
        with pytest.raises(TallyError, match="without gaps"):
            tally_file._rows_of(of_parts(gap, part, 6), survey(), "x")


@pytest.mark.parametrize("part", [1, 3])
def test_a_wrong_row_is_noticed_wherever_parts_begin(part: int) -> None:
    for wrong in (
        *((*SIX[:at], (*SIX[at][:2], 0), *SIX[at + 1 :]) for at in range(6)),
        *((*SIX[:at], SIX[at], *SIX[at:]) for at in range(6)),
        *((*SIX[:at], SIX[at + 1], SIX[at], *SIX[at + 2 :]) for at in range(5)),
    ):
        with pytest.raises(TallyError, match="sorted, with positive counts"):
            tally_file._rows_of(of_parts(rows(*wrong), part, len(wrong)), survey(), "x")


def test_as_many_reports_as_a_float_counts_are_taken(tmp_path: Path) -> None:
    most = 2**53 - 1
    assert Tally.load(written(tmp_path, rows((5, 1, most)))).people == most
    metadata = {b"deniable.tally": survey("MargRR").to_json().encode()}
    every_bit = rows((0, 0, most), (0, 1, most), (0, 4, most))  # two bits each
    assert Tally.load(written(tmp_path, every_bit, metadata)).people == most


@pytest.mark.parametrize(
    "wrong",
    [
        rows((0, 0, 2), (0, 4, 1)),
        rows((0, 0, 5), (0, 4, 1)),
        rows((0, 0, 2), (0, 3, 3), (0, 4, 2)),  # one bit of two
        rows((0, 0, 1)),
        rows((0, 0, 5)),
        rows((0, 0, 1), (1, 4, 9)),  # reports to another slot: the next,
        rows((0, 4, 9), (1, 0, 1)),  # the last,
        rows((0, 4, 9), (1, 3, 2), (2, 4, 9)),  # or both
    ],
)
def test_more_bits_than_reports_cannot_be(tmp_path: Path, wrong: pa.Table) -> None:
    metadata = {b"deniable.tally": survey("MargRR").to_json().encode()}
    sound = rows((0, 0, 2), (0, 4, 2), (2, 1, 1), (2, 3, 7), (2, 4, 7))
    assert Tally.load(written(tmp_path, sound, metadata)).people == 9
    with pytest.raises(TallyError, match="more bits are set"):
        Tally.load(written(tmp_path, wrong, metadata))


@pytest.mark.parametrize(
    "metadata", [{}, {b"deniable.tally": b""}, {b"deniable.tally": b"\xff"}, {b"other": b"{}"}]
)
def test_a_tally_without_its_survey_is_refused(tmp_path: Path, metadata: dict) -> None:
    with pytest.raises(TallyError, match=r"survey|not a tally"):
        Tally.load(written(tmp_path, rows((0, 0, 1)), metadata))


def test_files_that_hold_no_tally_are_refused(tmp_path: Path) -> None:
    made = tally()
    whole = tmp_path / "whole.tally"
    made.save(whole)
    size = whole.stat().st_size
    cut = tmp_path / "cut.tally"
    for length in (0, 3, size // 2, size - 1):
        cut.write_bytes(whole.read_bytes()[:length])
        with pytest.raises(TallyError, match=r"cut\.tally is not a tally, or it is cut short"):
            Tally.load(cut)
    survey().randomize(PEOPLE).to_parquet(cut)
    with pytest.raises(TallyError, match="not a tally"):
        Tally.load(cut)
    with pytest.raises(TallyError, match="There is no tally nowhere"):
        Tally.load(tmp_path / "nowhere")
    with pytest.raises(TallyError, match="is not a tally"):
        Tally.load(tmp_path)


def test_a_folder_s_name_says_nothing_about_a_tally(tmp_path: Path) -> None:
    folder = tmp_path / "slot=3"
    folder.mkdir()
    made = tally()
    made.save(folder / "x.tally")
    assert Tally.load(folder / "x.tally") == made


def test_sum_adds_tallies_up() -> None:
    parts = [tally(), tally(), tally()]
    assert sum(parts) == parts[0] + parts[1] + parts[2]
    with pytest.raises(TypeError):
        sum(parts, start=1)


def test_a_tally_that_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "day.tally"
    first = tally()
    first.save(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pq, "write_table", lambda *_: (_ for _ in ()).throw(OSError(28, "No space")))
        with pytest.raises(TallyError, match=r"cannot be written: No space\.$"):
            (first + first).save(path)
    assert Tally.load(path) == first
    assert [p.name for p in tmp_path.iterdir()] == ["day.tally"]
    with pytest.raises(TallyError, match="cannot be written"):
        first.save(tmp_path / "nowhere" / "day.tally")


def test_a_folder_is_no_cut_tally(tmp_path: Path) -> None:
    with pytest.raises(TallyError) as caught:
        Tally.load(tmp_path)
    assert str(caught.value).startswith(
        f"{tmp_path.name} is not a tally but a folder: name a tally"
    )
    assert "cut short" not in str(caught.value)
