"""The analysts' page reads two surveys together, and says of whom the tables then are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import pandas as pd
from page_parts import Running, Visitor, until

from deniable import Schema, Survey

OLD = Survey(Schema.binary("Action", "Crime"), 2, 2.0, "InpHT")
NEW = Survey(Schema.binary("Action", "Crime", "Drama"), 2, 2.0, "InpHT", follows=OLD.id)
OTHER = Survey(Schema.of(Action=["no", "yes"]).completed(), 1, 2.0, "InpHT")
PICK = """document.querySelector("#with select").value = {};
document.querySelector("#with select").dispatchEvent(new Event("change"));"""
OPTIONS = """[...document.querySelectorAll("#with option")]
.map((one) => [one.textContent, one.disabled])"""


def send(url: str, survey: Survey, people: int) -> None:
    truths = np.random.default_rng(people).random((people, len(survey.schema))) < 0.5
    frame = pd.DataFrame(truths, columns=survey.schema.names)
    rows = survey.randomize(frame, survey.id[:8]).to_arrow().to_pylist()
    reports = [{"survey": survey.id} | {n: str(row[n]) for n in ("slot", "value")} for row in rows]
    headers = {"Content-Type": "application/json"}
    urlopen(Request(f"{url}/v1/reports", json.dumps(reports).encode(), headers)).close()


def test_surveys_are_pooled_on_the_page(browser: Any, tmp_path: Path) -> None:
    collector = Running(tmp_path, OLD, NEW, OTHER, slots="drawn")
    visitor = Visitor(browser)
    try:
        send(collector.url, OLD, 700)
        send(collector.url, NEW, 900)
        visitor.look(1280)
        visitor.go(collector.dashboard.replace("#", f"?survey={OLD.id}#"), "#pairs table")
        assert not visitor.sees("#pooled")
        assert visitor.run(OPTIONS) == [
            ["no other survey", False],
            [f"{NEW.id[:8]} (900 people, 2 attributes alike)", False],
            [f"{OTHER.id[:8]} (0 people, 1 attribute alike: not poolable)", True],
        ]
        visitor.run(PICK.format(json.dumps(NEW.id)))
        until(lambda: "1,600 people" in visitor.text("#pooled"))
        assert "different people, so errors are exact" in visitor.text("#pooled")
        until(lambda: "Drama" in visitor.text("#pairs"))
        assert "survey by survey" in visitor.text("#honest")
        visitor.run(PICK.format('""'))
        until(lambda: not visitor.sees("#pooled") and "Drama" not in visitor.text("#pairs"))
    finally:
        visitor.close()
        collector.close()
