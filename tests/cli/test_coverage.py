"""A survey for people covers every value that they may have: `new` and `serve` see to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deniable import Schema, Survey

Run = Callable[..., Any]


def test_a_survey_for_people_covers_every_value(run: Run) -> None:
    """Else whether a device answers would depend on its record, and that shows."""
    Path("people.csv").write_text("hiv,age,owner\nnegative,30,True\nnever tested,40,False\n")
    listed = {"hiv": ["negative", "never tested"], "age": {"bins": [18, 65]}}

    def new(values: dict[str, Any], *more: str, out: str = "survey.json") -> Any:
        Path("values.json").write_text(json.dumps(values))
        return run("new", "people.csv", "--values", "values.json", "-o", out, *more)

    for values, name in (
        (listed, "hiv"),
        (listed | {"hiv": {"values": listed["hiv"], "other": "else"}}, "hiv"),
        (listed | {"hiv": {"values": listed["hiv"], "complete": True}}, "age"),
    ):
        ended = new(values)
        assert (ended.code, ended.out) == (2, "")
        assert f"Attribute '{name}' may not fit everybody" in ended.err
        assert not Path("survey.json").exists()
    assert new(listed, "--complete").code == 0
    stands = {"missing": "not said", "other": "else"}
    declared = {"hiv": {"values": listed["hiv"], **stands}, "age": {"bins": [18, 65], **stands}}
    assert new(declared, out="other.json").code == 0
    first, second = (
        json.loads(Path(f).read_text())["schema"]["attributes"]
        for f in ("survey.json", "other.json")
    )
    assert [each.get("complete") for each in first] == [True, True, None]
    assert second[0] == {
        "name": "hiv",
        "values": ["negative", "never tested", "not said", "else"],
        **stands,
    }
    Path("bare.json").write_text(Survey(Schema.of(hiv=listed["hiv"]), 1, 1.0, "InpHT").to_json())
    ended = run("serve", "bare.json", "--port", "0")
    assert ended.code == 2
    assert "Attribute 'hiv' may not fit everybody" in ended.err
