"""`deniable audit`: one survey, a point, the whole grid."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_parts import NAMES, Run

from deniable.errors import SurveyError
from deniable.mechanisms.inpht import InpHT
from deniable.mechanisms.registry import MECHANISMS


class Threes(InpHT):
    """For three attributes or more."""

    name = "Threes"

    @classmethod
    def design(cls, schema, order, epsilon, **options):
        if len(schema) < 3:
            raise SurveyError("Threes takes at least three attributes.")
        return super().design(schema, order, epsilon)


def test_audit_takes_numbers_of_values(run: Run) -> None:
    every = run("audit", "--sizes", "3,2", "--epsilon", 1, "--json").document
    rows = [row for row in every if row["mechanism"] in MECHANISMS]  # others may be installed
    assert [row["mechanism"] for row in rows] == [name for name in MECHANISMS for _ in range(2)]
    assert [row["order"] for row in rows] == [1, 2] * len(MECHANISMS)
    for row in rows:
        assert row["attributes"] == 2
        assert row["exact"] is True
        assert row["unbiased"] is True
        assert 1 - 1e-9 < row["realised_epsilon"] <= 1
    [row] = run("audit", "--sizes", "40,9", "--mechanism", "MargPS", "--order", 2, "--epsilon", 1,
                "--json").document  # fmt: skip
    assert row["exact"] is True
    assert row["unbiased"] is True


def test_audit_leaves_out_what_does_not_fit_and_says_so(run: Run) -> None:
    three = ("audit", "--mechanism", "InpHT,InpHTBits", "--attributes", 3)
    assert {row["mechanism"] for row in run(*three, "--json").document} == {"InpHT"}
    assert "InpHTBits is InpHT where all attributes have two values" in run(*three).out
    alone = run("audit", "--mechanism", "InpHTBits", "--attributes", 3)
    assert (alone.code, alone.out) == (2, "")


def test_audit_of_one_mechanism_takes_the_surveys_that_it_has(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the template of another package, for which two attributes are too few."""
    monkeypatch.setitem(MECHANISMS, "Threes", Threes)
    named = ("audit", "--mechanism", "Threes")
    assert {row["attributes"] for row in run(*named, "--json").document} == {3, 4}
    assert "Threes takes at least three attributes" in run(*named).out
    assert run(*named, "--attributes", 2).code == 2, "none fits"


def test_audit_prints_its_fields_over_the_grid(run: Run) -> None:
    ended = run("audit", "--mechanism", "InpHT,InpEM", "--json")
    assert (ended.code, ended.err) == (0, "")
    rows = ended.document
    assert len(rows) == 2 * 3 * (2 + 3 + 3)
    for row in rows:
        assert set(row) == {
            "mechanism", "attributes", "order", "stated_epsilon", "realised_epsilon", "exact",
            "unbiased",
        }  # fmt: skip
        assert row["exact"] is True
        assert row["unbiased"] is True
        assert row["stated_epsilon"] - 1e-9 < row["realised_epsilon"] <= row["stated_epsilon"]


def test_audit_of_one_point_or_one_survey(run: Run, survey: Path) -> None:
    point = run(
        "audit", "--mechanism", "all", "--attributes", 4, "--order", 2, "--epsilon", 1, "--json"
    )
    assert [row["mechanism"] for row in point.document] == NAMES
    [row] = run("audit", survey, "--json").document
    assert row == point.document[NAMES.index("InpHT")]
    text = run("audit", survey)
    assert (text.code, text.err) == (0, "")
    assert text.out.split()[-2:] == ["yes", "yes"]


@pytest.mark.parametrize(
    ("name", "attributes", "orders"),
    [
        ("InpRR", 17, [1, 2, 3]),
        ("InpPS", 17, [1, 2, 3]),
        ("InpEM", 12, [1, 2, 3]),
        ("InpEM", 60, [2]),
    ],
)
def test_audit_of_many_cells_ends(run: Run, name: str, attributes: int, orders: list[int]) -> None:
    chosen = ("--order", *orders) if len(orders) == 1 else ()
    size = ("--attributes", attributes, "--epsilon", 1, *chosen)
    rows = run("audit", "--mechanism", name, *size, "--json").document
    assert [row["order"] for row in rows] == orders
    assert all(row["exact"] and row["unbiased"] for row in rows)
    assert all(1 - 1e-9 < row["realised_epsilon"] <= 1 for row in rows)


def test_audit_of_many_surveys_is_summed_up(run: Run) -> None:
    ended = run("audit", "--mechanism", "InpHT,MargPS")
    assert (ended.code, ended.err) == (0, "")
    lines = [line.split() for line in ended.out.splitlines()]
    for name in ("InpHT", "MargPS"):
        [row] = [line for line in lines if line[:1] == [name]]
        assert (row[1], row[3:]) == ("24", ["never", "yes", "yes"])


def test_a_survey_that_breaks_its_promise_fails_its_audit(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniable.lab.audit.exactly_unbiased", lambda _: False)
    ended = run("audit", "--mechanism", "InpHT", "--attributes", 3, "--order", 2, "--json")
    assert ended.code == 1
    assert not any(row["unbiased"] for row in ended.document)
    assert "NO" in run("audit", "--mechanism", "InpHT").out
