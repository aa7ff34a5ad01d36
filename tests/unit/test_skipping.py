"""Tables of people who were not asked everything."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest

from deniable import Attribute, Schema
from deniable.errors import RecordError
from deniable.questionnaire import Texts
from deniable.questionnaire.layout import Clause, Condition, Layout

SCHEMA = Schema(
    (
        Attribute("job", (True, False, "none"), missing="none", other="none"),
        Attribute("hours", low=0, high=80, step=20, missing="no answer", other="no answer"),
        Attribute("pay", edges=(10.0, 50.0), missing="?"),
        Attribute("day", low="2026-01-01", high="2026-01-03", complete=True),
        Attribute("naps", ("no", "yes"), complete=True),
        Attribute("grade", (1, 2, 3), complete=True),
        Attribute("why", (False, True)),
    )
)
LAYOUT = Layout(
    ((0, 1, 2), (6, 3, 4, 5)),
    (
        Condition(1, (Clause(0, ((0, 0),)),), 0),
        Condition(2, (Clause(0, ((0, 0),)), Clause(1, ((1, 4),))), 1),
        Condition(3, (Clause(6, ((1, 1),)),), 2),
        Condition(4, (Clause(1, ((2, 5),)),), 1),
        Condition(5, (Clause(3, ((0, 1),)),), 2),
        Condition(6, (Clause(2, ((0, 1),)),), 1),
    ),
)
TEXTS = Texts(default="en", layout=LAYOUT, languages={})
VALUES: dict[str, list[Any]] = {
    "job": [True, False, None],
    "hours": [0, 20, 40, 79, None],
    "pay": [1.5, 10, 70, None],
    "day": ["2026-01-01", "2026-01-02", "2026-01-03"],
    "naps": ["no", "yes"],
    "grade": [1, 2, 3],
    "why": [True, False],
}
KINDS = [
    *(("naps", kind) for kind in ("string", "large_string", "dictionary")),
    *(("day", kind) for kind in ("large_string", "dictionary", "date32", "timestamp[s]")),
    *(("grade", kind) for kind in ("int8", "float32")),
]


def people() -> tuple[pa.Table, list[tuple[int, ...]]]:
    """Return answers, often none where nobody was asked, and the codes that devices make of them."""
    random = Random(20)
    rows = [{name: random.choice(some) for name, some in VALUES.items()} for _ in range(300)]
    codes = [SCHEMA.encode(LAYOUT.completed(row, SCHEMA)) for row in rows]
    for row, whole in zip(rows, codes, strict=True):
        for name, own, declared in zip(VALUES, SCHEMA.encode(row), whole, strict=True):
            row[name] = None if own != declared and random.random() < 0.5 else row[name]
    return pa.Table.from_pylist(rows), codes


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_a_table_is_completed_as_each_of_its_records_is(name: str, kind: str) -> None:
    table, codes = people()
    column = table[name].dictionary_encode() if kind == "dictionary" else table[name].cast(kind)
    table = table.set_column(table.column_names.index(name), name, column)
    whole = TEXTS.completed_frame(table, SCHEMA)
    for at, attribute in enumerate(SCHEMA.attributes):
        own = attribute.encode_column(whole[attribute.name]).tolist()
        assert own == [row[at] for row in codes], attribute.name


def test_a_column_that_is_empty_or_cannot_hold_the_value() -> None:
    table, _ = people()
    nobody = table.set_column(0, "job", pa.array([False] * len(table)))
    nobody = nobody.set_column(1, "hours", pa.nulls(len(table)))
    assert set(TEXTS.completed_frame(nobody, SCHEMA)["hours"].to_pylist()) == {0}
    numbers = table.set_column(4, "naps", table["grade"])
    assert {"yes", "1"} <= set(TEXTS.completed_frame(numbers, SCHEMA)["naps"].to_pylist())
    lists = table.set_column(4, "naps", pa.array([[1]] * len(table)))
    with pytest.raises(RecordError, match="cannot hold 'yes', its value where it is"):
        TEXTS.completed_frame(lists, SCHEMA)
    gaps = table.set_column(4, "naps", pa.nulls(len(table), pa.string()))
    with pytest.raises(RecordError, match="'naps' has no value in"):
        SCHEMA.encode_frame(TEXTS.completed_frame(gaps, SCHEMA))
