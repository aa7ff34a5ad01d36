"""Reports are counted by label alike wherever they lie, and small groups are not displayed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from deniable import Report, ReportBatch, Schema, Survey, Tallies, Tally
from deniable.collector import builder as builder_module
from deniable.collector.folders import file_names
from deniable.errors import (
    GroupError,
    RecordError,
    ReportError,
    SurveyError,
    TableError,
    TallyError,
)

LABELS = {"region": ["south", "north", "None"], "Größe 2-x": ["L", "l"]}
"""Not in the order of the alphabet; a missing label is not the text None; L is not l."""

MONTHS = ["2026-11-01", "2026-12-01", "2027-01-01"]
MECHANISMS = {"InpHT": "abc", "MargRR": "abc", "InpRR": "abcdefg", "MargPS": "abc"}
BYS: list[str | list[str]] = ["region", "period", ["region", "period"], [*LABELS, "period"]]


def labelled(mechanism: str = "InpHT", **declared: Any) -> Survey:
    schema = Schema.binary(*MECHANISMS[mechanism])
    return Survey(schema, 2, 1.1, mechanism, **(declared or {"labels": LABELS, "periods": MONTHS}))


def reports(survey: Survey, people: int = 900, wrong: bool = False) -> ReportBatch:
    """Reports in all groups, the texts of labels drawn at random; on request with unknown ones."""
    random = np.random.default_rng(5)
    held = random.random((people, len(survey.schema))) < 0.4
    frame = pd.DataFrame(held, columns=survey.schema.names)
    for name, values in survey.labels.values.items():
        frame[name] = random.choice(values, people)
    made = survey.randomize(frame)
    if wrong:
        for name, column in made.labels.items():
            other = ["", "North", "NORTH", "north ", None, "nan", "2026-11-1", "2027-01-01", " L"]
            places = random.choice(people, 40, replace=False)
            made.labels[name][places] = random.choice(other, 40)
            assert column is made.labels[name]
    return made


def one_by_one(survey: Survey, batch: ReportBatch, by: list[str]) -> tuple[dict[str, Tally], int]:
    """Count each group alone: what the grouped count must give. Also return the unknown labels."""
    declared = survey.labels.values
    known = np.ones(len(batch), bool)
    for name, values in declared.items():
        known &= np.array([text in values for text in batch.labels[name]])
    made = {}
    for group in product(*(declared[name] for name in declared if name in by)):
        rows = known.copy()
        for name, value in zip([n for n in declared if n in by], group, strict=True):
            rows &= batch.labels[name] == value
        if rows.any():
            part = ReportBatch(survey.id, batch.slots[rows], batch.values[rows])
            made[", ".join(group)] = survey.tally(part)
    return made, int((~known).sum())


def frames(table: pa.Table, folder: Path) -> dict[str, Any]:
    """The same reports, as everything that counts them."""
    path = folder / "reports.parquet"
    halves = folder / "halves"
    halves.mkdir()
    pq.write_table(table, path)
    middle = table.num_rows // 2
    pq.write_table(table.slice(0, middle), halves / "1.parquet")
    order = [*reversed(table.column_names)]
    second = table.slice(middle).select(order)
    place = order.index("region")
    pq.write_table(
        second.set_column(place, "region", second["region"].dictionary_encode()),
        halves / "2.parquet",
    )
    numbered = table.set_column(2, "region", table["region"].dictionary_encode())
    polars = pl.from_arrow(table)
    return {
        "arrow": table,
        "arrow, numbered texts": numbered,
        "arrow in chunks": pa.concat_tables([table.slice(13), table.slice(0, 13)]),
        "large texts": table.set_column(2, "region", table["region"].cast(pa.large_string())),
        "pandas": table.to_pandas(),
        "pandas, objects": table.to_pandas().astype({"region": object}),
        "pandas, categories": numbered.to_pandas(),
        "pandas on arrow": table.to_pandas(types_mapper=pd.ArrowDtype),
        "polars": polars,
        "polars, categories": polars.with_columns(pl.col("region").cast(pl.Categorical)),
        "polars lazy": polars.lazy(),
        "duckdb": duckdb.from_arrow(table),
        "a reader": table.to_reader(max_chunksize=100),
        "a dataset": ds.dataset(table),
        "a file": path,
        "files of different types": halves,
    }


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_engine_counts_groups_alike(mechanism: str, tmp_path: Path) -> None:
    survey = labelled(mechanism)
    batch = reports(survey, wrong=True)
    every: dict[str, Any] = {"a batch": batch, **frames(batch.to_arrow(), tmp_path)}
    calls: list[tuple[str, Callable[..., Tallies]]] = []
    for kind, frame in every.items():
        calls.append((kind, lambda by, f=frame: survey.tally(f, by=by, invalid="drop")))
    for kind in ("a file", "files of different types"):
        calls.append(
            (
                f"{kind} by polars",
                lambda by, f=every[kind]: survey.tally(f, by=by, invalid="drop", engine="polars"),
            )
        )
    whole = survey.tally(batch, invalid="drop")
    for by in BYS:
        expected, unknown = one_by_one(survey, batch, [by] if isinstance(by, str) else by)
        assert unknown > 60
        for kind, call in calls:
            if kind == "a reader":  # can be read once
                made = survey.tally(every["arrow"].to_reader(100), by=by, invalid="drop")
            else:
                made = call(by)
            assert list(made) == list(expected), kind
            assert dict(made) == expected, kind
            assert made.total == whole, kind
            assert made.total.refused == whole.refused == {"unknown label": unknown}, kind
            assert made.total.people + unknown == len(batch)
            assert not made.total.group


def test_all_groups_together_need_no_labels(tmp_path: Path) -> None:
    survey = labelled()
    batch = reports(survey)
    table = batch.to_arrow()
    expected = survey.tally(ReportBatch(survey.id, batch.slots, batch.values))
    pq.write_table(table, tmp_path / "all.parquet")
    pq.write_table(table.select(["slot", "value"]), tmp_path / "bare.parquet")
    for some in (table, table.drop(["region"]), table.select(["slot", "value"])):
        assert survey.tally(some) == expected
    for by in ("region", ["region", "period"]):
        assert survey.tally(table, by=by).total == expected
    assert survey.tally(tmp_path / "bare.parquet") == expected
    assert survey.tally(tmp_path) == expected + expected
    period_too = table.drop(["Größe 2-x"])
    assert survey.tally(period_too, by="period").total == expected
    with pytest.raises(ReportError, match="To be counted by region, reports need a column"):
        survey.tally(table.drop(["region"]), by="region")
    with pytest.raises(ReportError, match=r"bare\.parquet must have one column region"):
        survey.tally(tmp_path, by="region")


def test_single_reports_are_counted_by_their_labels() -> None:
    survey = labelled()
    north = {"region": "north", "Größe 2-x": "L", "period": "2026-11-01"}
    held = [Report(0, 0, north), Report(1, 1, north), Report(1, 0, north | {"region": "south"})]
    made = survey.tally(held, by="region")
    assert {name: one.people for name, one in made.items()} == {"south": 1, "north": 2}
    assert survey.tally([], by="region").total.people == len(survey.tally([], by="region")) == 0
    for strange in (Report(2, 0), Report(2, 0, {"region": "north"}), Report(2, 0, {"other": "x"})):
        made = survey.tally([*held, strange], by=["region", "period"], invalid="drop")
        assert made.total.refused == {"unknown label": 1}
        with pytest.raises(ReportError, match=r"1 of 4 reports cannot .*\(unknown label: 1\)"):
            survey.tally([*held, strange], by=["region", "period"])
    extra = Report(0, 0, north | {"slot": "7"})  # no column of its own
    assert survey.tally([extra], by="region")["north"] == survey.tally(held[:1], by="region").total


def test_the_first_reason_is_the_one_that_counts() -> None:
    survey = labelled("InpHT", labels={"region": ["north"]})
    table = pa.table(
        {
            "slot": [0, 0, 99, None, 1, 0, 0],
            "value": [0, 1, 0, 0, 7, 0, 0],
            "survey": [survey.id] * 6 + ["0" * 64],
            "region": ["north", "x", "x", "x", None, None, "x"],
        }
    )
    reasons = {"other survey": 1, "missing": 1, "unknown slot": 1, "impossible value": 1}
    pandas = table.to_pandas(types_mapper=pd.ArrowDtype)
    for frame in (table, pandas, pl.from_arrow(table), duckdb.from_arrow(table)):
        for by in (None, "region"):
            counted = survey.tally(frame, by=by, invalid="drop")
            total = counted if isinstance(counted, Tally) else counted.total
            assert total.people == 1
            assert total.refused == reasons | {"unknown label": 2}
            with pytest.raises(ReportError, match=r"6 of 7 reports .*unknown label: 2\)"):
                survey.tally(frame, by=by)
    assert survey.tally(table, by="region", invalid="drop")["north"].refused == {}


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2]),
        pa.array([b"north", b"south"]),
        pa.array([None, None]),
        pa.array([1.5, None]),
        pa.array([["north"], ["south"]]),
    ],
    ids=lambda column: str(column.type),
)
def test_labels_that_are_no_texts_are_refused(column: pa.Array, tmp_path: Path) -> None:
    survey = labelled("InpHT", labels={"region": ["north", "south"]})
    table = pa.table({"slot": [0, 1], "value": [0, 0], "region": column})
    pq.write_table(table, tmp_path / "odd.parquet")
    for by in (None, "region"):
        with pytest.raises(ReportError, match="The column region must hold texts, got"):
            survey.tally(table, by=by)
        with pytest.raises(ReportError, match=r"column region of odd\.parquet must hold texts"):
            survey.tally(tmp_path / "odd.parquet", by=by)


@pytest.mark.parametrize(
    ("by", "why"),
    [
        ("Region", "no label 'Region'; it declares 'region', 'Größe 2-x', 'period'"),
        (["region", "a"], "no label 'a'"),
        ("", "no label ''"),
        ([], "one label or more"),
        (["region", "region"], "each named once"),
    ],
)
def test_what_is_not_declared_cannot_be_counted_by(by: Any, why: str) -> None:
    survey = labelled()
    with pytest.raises(SurveyError, match=why):
        survey.tally(reports(survey, 10), by=by)


def test_a_survey_without_labels_says_so() -> None:
    survey = Survey(Schema.binary("a", "b"), 2, 1.1, "InpHT")
    with pytest.raises(SurveyError, match="no label 'region'; it declares none"):
        survey.tally(pa.table({"slot": [0], "value": [0], "region": ["north"]}), by="region")


def test_labels_stand_in_their_declared_order_however_they_are_named() -> None:
    survey = labelled()
    batch = reports(survey)
    made = survey.tally(batch, by=["period", "region"])
    assert made.by == ("region", "period")
    assert list(made)[:3] == ["south, 2026-11-01", "south, 2026-12-01", "north, 2026-11-01"]
    assert dict(made) == dict(survey.tally(batch, by=["region", "period"]))
    assert made["north, 2026-12-01"].group == {"region": "north", "period": "2026-12-01"}


def test_groups_that_would_have_one_name_are_not_mixed_up() -> None:
    survey = labelled("InpHT", labels={"a1": ["x", "x, y"], "b1": ["z", "y, z"]})
    table = pa.table({"slot": [0, 1], "value": [0, 0], "a1": ["x, y", "x"], "b1": ["z", "y, z"]})
    with pytest.raises(TallyError, match="Two groups are called 'x, y, z'"):
        survey.tally(table, by=["a1", "b1"])
    assert survey.tally(table, by="a1").total.people == 2


@pytest.mark.parametrize("name", ["2nd", "group", "order", "_x", "-x", "a b", "42", "null", "été"])
def test_a_label_s_name_means_itself_to_every_engine(name: str) -> None:
    survey = labelled("InpHT", labels={name: ["x", "y"], "other": ["1"]})
    table = pa.table(
        {"slot": [0, 0, 1], "value": [0, 1, 1], name: ["x", "y", "q"], "other": ["1"] * 3}
    )
    lazy = pl.from_arrow(table).lazy()
    for frame in (table, table.to_pandas(), pl.from_arrow(table), lazy, duckdb.from_arrow(table)):
        made = survey.tally(frame, by=name, invalid="drop")
        assert {group: one.people for group, one in made.items()} == {"x": 1, "y": 1}
        made = survey.tally(frame, by="other", invalid="drop")
        assert (made["1"].people, made.total.refused) == (2, {"unknown label": 1})


@pytest.mark.parametrize("name", ["*", "^r.*$", "app.version", "a`b", 'a"b', "a/b", "Slot"])
def test_a_name_that_would_mean_something_else_to_an_engine_is_refused(name: str) -> None:
    with pytest.raises(SurveyError, match=r"A label cannot be called|of ASCII only letters"):
        labelled("InpHT", labels={name: ["x"]})


# What groups are


def test_adding_keeps_the_labels_that_are_shared(tmp_path: Path) -> None:
    survey = labelled()
    made = survey.tally(reports(survey), by=["region", "period"])
    north, later = made["north, 2026-11-01"], made["north, 2026-12-01"]
    south = made["south, 2026-12-01"]
    assert (north + north).group == north.group
    assert (north + later).group == {"region": "north"}
    assert (later + south).group == {"period": "2026-12-01"}
    assert (north + south).group == (north + survey.tally([])).group == {}
    assert sum(made.values()) == made.total
    assert sum(made.values()).group == {}
    assert "region north, period 2026-11-01" in repr(north)
    north.save(tmp_path / "north.tally")
    read = Tally.load(tmp_path / "north.tally")
    assert (read, read.group) == (north, north.group)
    metadata = pq.read_schema(tmp_path / "north.tally").metadata
    assert metadata[b"deniable.group"] == b'{"region": "north", "period": "2026-11-01"}'
    table = pq.read_table(tmp_path / "north.tally")
    for odd in (b"", b"[]", b'{"region": "x"}', b'{"a": "x"}', b'{"region": ["north"]}', b"7"):
        kept = table.replace_schema_metadata(metadata | {b"deniable.group": odd})
        pq.write_table(kept, tmp_path / "odd.tally")
        with pytest.raises(TallyError, match=r"odd\.tally is broken: its notes"):
            Tally.load(tmp_path / "odd.tally")


def test_smaller_groups_add_up_to_larger_ones() -> None:
    survey = labelled()
    batch = reports(survey)
    fine = survey.tally(batch, by=list(survey.labels.names))
    for by in BYS:
        coarse = Tallies(survey, by, reversed(list(fine.values())))
        expected = survey.tally(batch, by=by)
        assert list(coarse.items()) == list(expected.items())
        assert [one.group for one in coarse.values()] == [one.group for one in expected.values()]
    one = Tallies(survey, "region", [next(iter(fine.values()))])
    assert one["south"].group == {"region": "south"}, "a group is by what was asked for"
    loose = Tallies(survey, "region", [*fine.values(), survey.tally(batch)])
    assert dict(loose) == dict(survey.tally(batch, by="region"))
    assert loose.total == fine.total + fine.total, "what is of no group counts for the total only"
    with pytest.raises(TallyError, match="different surveys"):
        Tallies(survey, "region", [labelled("MargRR").tally([])])


def test_simulated_groups_must_be_wanted_and_stay_marked() -> None:
    survey = labelled()
    batch = replace(reports(survey), simulated=True)
    with pytest.raises(ReportError, match="simulated"):
        survey.tally(batch, by="region")
    made = survey.tally(batch, by="region", simulation=True)
    assert all(one.simulated for one in [made.total, *made.values()])
    assert made.release()["north"].simulated


def test_reports_to_another_survey_are_of_no_group(tmp_path: Path) -> None:
    survey, other = labelled(), labelled("InpHT", labels={"region": ["north"]})
    batch = reports(survey, 50)
    batch.to_parquet(tmp_path / "other.parquet")
    for foreign in (batch, batch.to_arrow(), tmp_path / "other.parquet"):
        with pytest.raises(ReportError, match="another survey"):
            other.tally(foreign, by="region")
        made = other.tally(foreign, by="region", invalid="drop")
        assert (len(made), made.total.refused) == (0, {"other survey": 50})


def test_many_groups_of_packed_reports_share_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    survey = labelled("InpRR")
    batch = reports(survey)
    monkeypatch.setattr(builder_module, "_MOST_PACKED", 5 * 129)
    assert len(survey.tally(batch, by="region")) == 3
    with pytest.raises(TallyError, match="by 6 groups or more would need"):
        survey.tally(batch, by=["region", "period"])


def test_groups_may_be_too_many_for_one_array_each(monkeypatch: pytest.MonkeyPatch) -> None:
    for mechanism in ("InpHT", "MargRR", "MargPS"):
        survey = labelled(mechanism)
        batch = reports(survey)
        expected = survey.tally(batch, by=["region", "period"])
        with monkeypatch.context() as small:
            small.setattr(builder_module, "_DENSE", 20)
            assert dict(survey.tally(batch, by=["region", "period"])) == dict(expected)


# What is displayed


def unequal() -> Tallies:
    """99 reports from the south, 100 from the north."""
    survey = labelled("InpHT", labels={"region": ["south", "north", "west"]})
    slots = np.arange(199) % survey.slots
    texts = np.array(["south"] * 99 + ["north"] * 100, object)
    batch = ReportBatch(survey.id, slots, slots % 2, labels={"region": texts})
    return survey.tally(batch, by="region")


def test_groups_under_a_hundred_reports_are_not_displayed() -> None:
    tallies = unequal()
    made = tallies.release()
    assert (list(tallies), list(made), len(made)) == (["south", "north"], ["north"], 1)
    assert made.small == ("south",)
    assert "south" not in made
    assert made.get("south") is None
    assert made["north"].people == 100
    assert made["north"].group == {"region": "north"}
    assert made["north"] is made["north"]
    sentence = "'south' has 99 reports; groups under 100 are not displayed."
    for ask in (lambda: made["south"], lambda: tallies["south"].release()):
        with pytest.raises(TableError) as caught:
            ask()
        assert str(caught.value) == sentence
    for mapping in (made, tallies):
        assert "west" not in mapping
        with pytest.raises(
            GroupError, match=r"^There are no reports of a group 'west' by region\.$"
        ):
            mapping["west"]
    assert tallies.total.release().people == 199, "all together are no group"
    south = tallies["south"]
    assert (south + south).release().people == 198


def test_releases_take_what_a_release_takes() -> None:
    made = unequal().release("joint")
    assert made["north"].consistency == "joint"
    assert made["north"].marginal("a").values.min() >= 0
    with pytest.raises(TableError, match="consistency must be"):
        unequal().release("odd")["north"]


def test_a_release_says_whose_it_is(tmp_path: Path) -> None:
    import json

    made = unequal().release()["north"]
    made.export(tmp_path / "north.json")
    assert json.loads((tmp_path / "north.json").read_text())["group"] == {"region": "north"}
    made.report(tmp_path / "north.html")
    assert "among 100 people (region: north)</h1>" in (tmp_path / "north.html").read_text()
    unequal().total.release().export(tmp_path / "all.json")
    assert "group" not in json.loads((tmp_path / "all.json").read_text())


# Folders


def test_tallies_survive_their_folder(tmp_path: Path) -> None:
    survey = labelled()
    made = survey.tally(reports(survey), by=["region", "period"])
    made.save(tmp_path / "groups")
    again = Tallies.load(tmp_path / "groups")
    assert list(again.items()) == list(made.items())
    assert (again.by, again.total) == (made.by, made.total)
    assert [one.group for one in again.values()] == [one.group for one in made.values()]
    more = Tallies(survey, made.by, [*made.values(), *made.values()])
    more.save(tmp_path / "groups")
    assert Tallies.load(tmp_path / "groups").total == made.total + made.total
    fewer = survey.tally(reports(survey, 1), by="region")
    fewer.save(tmp_path / "groups")
    assert len(list((tmp_path / "groups").iterdir())) == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["groups"], "no drafts are left"


def test_a_folder_of_anything_else_is_neither_read_nor_replaced(tmp_path: Path) -> None:
    made = unequal()
    folder = tmp_path / "groups"
    with pytest.raises(TallyError, match="There is no folder groups"):
        Tallies.load(folder)
    folder.mkdir()
    with pytest.raises(TallyError, match="The folder groups holds no tallies"):
        Tallies.load(folder)
    (folder / "diary.txt").write_text("dear diary")
    for attempt in (lambda: made.save(folder), lambda: Tallies.load(folder)):
        with pytest.raises(TallyError, match=r"diary\.txt is not a tally"):
            attempt()
    assert (folder / "diary.txt").read_text() == "dear diary"
    (folder / "diary.txt").unlink()
    made.total.save(folder / "all.parquet")
    with pytest.raises(TallyError, match="groups are not of groups by the same labels"):
        Tallies.load(folder)
    file = tmp_path / "file"
    file.write_text("kept")
    with pytest.raises(TallyError, match="file is not a folder of tallies"):
        made.save(file)
    assert file.read_text() == "kept"
    with pytest.raises(TallyError, match="cannot be written"):
        made.save(tmp_path / "nowhere" / "groups")


def test_an_interrupted_command_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, folder = unequal(), tmp_path / "groups"
    made.save(folder)
    twice = Tallies(made.survey, "region", [*made.values(), *made.values()])
    rename = Path.rename
    for fatal in (0, 1):
        done: list[Path] = []

        def interrupted(self: Path, to: Path, fatal: int = fatal, done: list[Path] = done) -> Path:
            done.append(self)
            if len(done) == fatal + 1:
                raise OSError(28, "No space left on device")
            return rename(self, to)

        with monkeypatch.context() as patched:
            patched.setattr(Path, "rename", interrupted)
            with pytest.raises(TallyError, match="cannot be written: No space left on device"):
                twice.save(folder)
        assert dict(Tallies.load(folder)) == dict(made), fatal
        assert [entry.name for entry in tmp_path.iterdir()] == ["groups"]
    folder.rename(tmp_path / "groups.before")  # the power failed between the two
    for attempt in (lambda: twice.save(folder), lambda: Tallies.load(folder)):
        with pytest.raises(
            TallyError, match=r"groups\.before holds the tallies that stood in groups"
        ):
            attempt()
    (tmp_path / "groups.before").rename(folder)
    twice.save(folder)
    assert dict(Tallies.load(folder)) == dict(twice)


def test_every_group_has_a_file_of_its_own() -> None:
    groups = ["a/b", "a\\b", "A/b", "..", ".", "_x", "%2F", "/", "x" * 100, "é" * 400, "é" * 401,
              "con, 1", "CON, 1", "CON, 1 (2)", "北, 2026-11-01", "a:b*c?"]  # fmt: skip
    names = file_names(groups)
    assert list(names) == groups
    assert len({name.casefold() for name in names.values()}) == len(groups)
    for name in names.values():
        assert Path(name).name == name
        assert len(name.encode()) < 255
        assert name[0] not in "._"
        assert not set(name) & set('/\\:*?"<>|')
    assert names["北, 2026-11-01"] == "北, 2026-11-01.parquet"
    assert names["con, 1"] == "con, 1.parquet"


def test_what_is_no_label_gets_one_sentence() -> None:
    survey = labelled()
    batch = reports(survey, 50)
    with pytest.raises(SurveyError, match="counted by the name of a label"):
        survey.tally(batch, by=5)
    with pytest.raises(SurveyError, match="Periods must be a list of days"):
        labelled(periods=5)
    with pytest.raises(ReportError, match="must be a mapping"):
        Report(0, 1, None)
    with pytest.raises(RecordError, match="'region' must be"):
        survey.labels.given({"region": np.array(["north", "south"]), "Größe 2-x": "L"})
    assert dict(survey.tally(batch, by=(name for name in ["region"]))) == dict(
        survey.tally(batch, by="region")
    )


def test_a_folder_keeps_what_was_refused(tmp_path: Path) -> None:
    survey = labelled()
    made = survey.tally(reports(survey, wrong=True), by="region", invalid="drop")
    made.save(tmp_path / "tallies")
    kept = Tallies.load(tmp_path / "tallies")
    assert kept.total == made.total
    assert kept.total.refused == made.total.refused != {}
    assert (list(kept), kept["north"].refused) == (list(made), {})
