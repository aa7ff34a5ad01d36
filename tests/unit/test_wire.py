"""What travels is a slot, a value and declared labels, nothing else, and nothing else is taken."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable import Report, ReportBatch
from deniable.errors import ReportError
from deniable.messages.report import SIMULATED_KEY, SURVEY_KEY
from deniable.messages.schemas import REPORT
from deniable.server.intake import read_reports
from deniable.server.problems import ProblemError


def narrow(count: int = 5, *, simulated: bool = False) -> ReportBatch:
    return ReportBatch("s" * 64, np.arange(count), np.arange(count) * 3, simulated)


def wide(count: int = 5) -> ReportBatch:
    values = np.arange(count * 9, dtype=np.uint8).reshape(count, 9)
    return ReportBatch("s" * 64, np.zeros(count, np.int64), values)


# One report


def test_a_report_is_two_texts() -> None:
    assert Report(3, 0).to_json() == {"slot": "3", "value": "0"}
    assert Report(3, 2**63 - 1).to_json()["value"] == str(2**63 - 1)
    assert base64.b64decode(Report(0, 2**63).to_json()["packed"]) == bytes(7) + b"\x80"


@pytest.mark.parametrize(
    "form",
    [
        None,
        [],
        {},
        {"slot": "0"},
        {"value": "0"},
        {"slot": "0", "value": "0", "extra": "0"},
        {"slot": "0", "value": "0", "packed": "AA=="},
        {"slot": 0, "value": 0},
        {"slot": "-1", "value": "0"},
        {"slot": "0", "value": "-1"},
        {"slot": "00", "value": "0"},
        {"slot": " 0", "value": "0"},
        {"slot": "1_0", "value": "0"},
        {"slot": "٣", "value": "0"},
        {"slot": "0", "value": "1e3"},
        {"slot": "0", "value": ""},
        {"slot": str(2**63), "value": "0"},
        {"slot": "0", "value": str(2**63)},
        {"slot": "0", "value": "9" * 10_000},
        {"slot": "0", "packed": ""},
        {"slot": "0", "packed": "AA=="},  # small values are not packed
        {"slot": "0", "packed": base64.b64encode(bytes([1] * 8 + [0])).decode()},  # a spare byte
        {"slot": "0", "packed": "@@@@"},
        {"slot": "0", "packed": base64.b64encode(b"\xff" * 9).decode() + "\n"},
        {"slot": "0", "packed": "é"},
    ],
)
def test_a_report_that_is_not_exactly_one_is_refused(form: object) -> None:
    with pytest.raises(ReportError) as caught:
        Report.from_json(form)
    assert str(caught.value).startswith("A report")


def test_labels_travel_beside_a_report() -> None:
    report = Report(3, 0, {"region": "north", "period": "2026-11-01"})
    form = {"slot": "3", "value": "0", "labels": {"region": "north", "period": "2026-11-01"}}
    assert report.to_json() == form
    assert Report.from_json(form) == report == Report(3, 0, dict(reversed(report.labels.items())))
    assert report != Report(3, 0)
    assert len({report, Report.from_json(form), Report(3, 0)}) == 2
    packed = Report(0, 1 << 70, {"region": "north"})
    assert Report.from_json(packed.to_json()) == packed


def test_a_report_keeps_the_labels_that_it_was_made_with() -> None:
    labels = {"region": "north"}
    report = Report(0, 0, labels)
    labels["region"] = "south"
    report.to_json()["labels"]["region"] = "west"
    assert report.labels == {"region": "north"}


@pytest.mark.parametrize("labels", [{}, None, [], "north", {"region": 1}, {"region": None}])
@pytest.mark.parametrize("value", [{"value": "0"}, Report(0, 1 << 70).to_json()])
def test_labels_that_are_no_texts_are_refused(labels: object, value: dict) -> None:
    with pytest.raises(ReportError, match=r"^A report"):
        Report.from_json({"slot": "0", **value, "labels": labels})


# Sent to a collector


def is_read(form: dict) -> bool:
    try:
        read_reports(json.dumps(form).encode())
    except ProblemError:
        return False
    return True


@pytest.mark.parametrize("name", ["slot", "value"])
def test_a_collector_reads_the_numbers_that_its_schema_allows(name: str) -> None:
    """Texts below 2⁶³, JSON integers below 2⁵³."""
    most = 2**63 - 1
    allows = next(
        each for each in REPORT["oneOf"] if {"slot", "value"} <= each["properties"].keys()
    )
    text, integer = allows["properties"][name]["anyOf"]
    assert integer == {"type": "integer", "minimum": 0, "maximum": 2**53 - 1}
    near = [most + sign * 10**i for i in range(19) for sign in (-1, 1)]
    for number in (0, 9, 10, 2**53 - 1, 2**53, 10**18 - 1, 10**18, most, 10**19, *near):
        whole = {"slot": "0", "value": "0"}
        assert is_read(whole | {name: number}) is (number < 2**53)
        is_allowed = re.search(text["pattern"], str(number)) is not None
        assert is_read(whole | {name: str(number)}) is is_allowed is (number <= most), number
    for odd in ("", "00", "01", "-1", "1.0", "1 "):
        assert not re.search(text["pattern"], odd)


# Batches


@pytest.mark.parametrize("batch", [narrow(), wide(), narrow(0), wide(0)])
def test_a_batch_survives_arrow_and_parquet(batch: ReportBatch, tmp_path: Path) -> None:
    width = batch.values.shape[1] if batch.values.ndim == 2 else 0
    table = batch.to_arrow()
    assert table.column_names == ["slot", "value"]
    assert table.schema.metadata == {SURVEY_KEY: b"s" * 64}
    assert ReportBatch.from_arrow(table, "s" * 64, width) == batch
    batch.to_parquet(tmp_path / "reports.parquet")
    read = pq.read_table(tmp_path / "reports.parquet")
    assert ReportBatch.from_arrow(read, "s" * 64, width) == batch


def labelled(*regions: str) -> ReportBatch:
    batch = narrow(len(regions))
    return ReportBatch(
        batch.survey, batch.slots, batch.values, labels={"region": np.array(regions)}
    )


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), "utf8")])
def test_labels_are_columns_of_texts(kind: pa.DataType, tmp_path: Path) -> None:
    batch = labelled("north", "south", "north")
    table = batch.to_arrow()
    assert table.column_names == ["slot", "value", "region"]
    assert table["region"].type == pa.string()
    table = table.set_column(2, "region", table["region"].cast(kind))
    pq.write_table(table, tmp_path / "reports.parquet")
    read = pq.read_table(tmp_path / "reports.parquet")
    assert ReportBatch.from_arrow(read, batch.survey, labels=["region"]) == batch
    assert ReportBatch.from_arrow(read, batch.survey) == narrow(3) != batch


def test_single_reports_become_a_batch_with_their_labels() -> None:
    reports = [Report(0, 0, {"region": "north"}), Report(1, 3, {"region": "south"})]
    assert ReportBatch.of("s" * 64, reports) == labelled("north", "south")
    mixed = ReportBatch.of("s" * 64, [*reports, Report(2, 6)]).to_arrow()
    assert mixed["region"].to_pylist() == ["north", "south", None]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.array([1, 2]), "array of texts"),
        (["north", "south"], "array of texts"),
        (np.array(["north"]), "as many labels 'region' as slots"),
    ],
)
def test_a_batch_with_other_labels_is_refused(labels: object, message: str) -> None:
    with pytest.raises(ReportError, match=message):
        ReportBatch("s" * 64, np.arange(2), np.arange(2), labels={"region": labels})


def test_columns_of_labels_must_be_whole() -> None:
    table = narrow(2).to_arrow()
    for column, message in (
        (None, "has no column 'region'"),
        (pa.array([1, 2]), "must hold texts, got int64"),
        (pa.array(["north", None]), "missing labels"),
    ):
        given = table if column is None else table.append_column("region", column)
        with pytest.raises(ReportError, match=message):
            ReportBatch.from_arrow(given, "s" * 64, labels=["region"])
    odd = ReportBatch(
        "s" * 64, np.arange(2), np.arange(2), labels={"r": np.array([1, "x"], object)}
    )
    with pytest.raises(ReportError, match="array of texts"):
        odd.to_arrow()


def test_batches_are_equal_if_all_of_them_is() -> None:
    assert narrow() == narrow()
    assert narrow() != narrow(4)
    assert narrow() != narrow(simulated=True)
    assert narrow() != wide()
    assert labelled("north", "south") == labelled("north", "south")
    assert labelled("north", "south") != labelled("south", "north")
    assert narrow() != "a batch"


def test_simulated_reports_stay_marked() -> None:
    table = narrow(simulated=True).to_arrow()
    assert SIMULATED_KEY in table.schema.metadata
    assert ReportBatch.from_arrow(table, "s" * 64).simulated
    assert not ReportBatch.from_arrow(narrow().to_arrow(), "s" * 64).simulated


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(9)])
def test_packed_values_may_come_in_any_binary_type_sliced_and_in_chunks(kind: object) -> None:
    batch = wide(11)
    table = pa.concat_tables([batch.to_arrow().slice(0, 4), batch.to_arrow().slice(4)])
    table = table.set_column(1, "value", table["value"].cast(pa.binary()).cast(kind))
    assert ReportBatch.from_arrow(table, "s" * 64, 9) == batch
    part = ReportBatch.from_arrow(table.slice(3, 5), "s" * 64, 9)
    assert np.array_equal(part.values, batch.values[3:8])


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int32(), pa.uint64()])
def test_integers_may_come_in_any_width(kind: object) -> None:
    table = pa.table({"slot": pa.array([0, 1], kind), "value": pa.array([1, 0], kind)})
    read = ReportBatch.from_arrow(table, "s" * 64)
    assert (read.slots.dtype, read.values.dtype) == (np.int64, np.int64)
    assert read.values.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"slot": [0]}, "columns slot and value"),
        ({"value": [0]}, "columns slot and value"),
        ({"slot": [0, None], "value": [0, 0]}, "missing"),
        ({"slot": [0, 0], "value": [0, None]}, "missing"),
        ({"slot": [0.0], "value": [0]}, "slot must hold integers, got double"),
        ({"slot": [0], "value": ["0"]}, "value must hold integers, got string"),
        ({"slot": [True], "value": [0]}, "slot must hold integers, got bool"),
        ({"slot": pa.array([2**63], pa.uint64()), "value": [0]}, "2\\^63 or more"),
    ],
)
def test_a_frame_that_holds_no_reports_is_refused(columns: dict, message: str) -> None:
    with pytest.raises(ReportError, match=message):
        ReportBatch.from_arrow(pa.table(columns), "s" * 64)


def test_packed_values_of_another_width_are_refused() -> None:
    for value in ([b"short"], [b"x" * 9, b"x" * 10], [5], ["x" * 9]):
        table = pa.table({"slot": [0] * len(value), "value": value})
        with pytest.raises(ReportError, match="9"):
            ReportBatch.from_arrow(table, "s" * 64, 9)


def test_reports_of_another_survey_are_refused() -> None:
    with pytest.raises(ReportError, match=r"another survey \(ssssssss, not tttttttt\)"):
        ReportBatch.from_arrow(narrow().to_arrow(), "t" * 64)
    bare = narrow().to_arrow().replace_schema_metadata(None)
    assert len(ReportBatch.from_arrow(bare, "t" * 64)) == 5
