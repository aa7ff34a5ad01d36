"""What is written is what is read, and what is read is what was written."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
from hypothesis import assume, given
from hypothesis import strategies as st

from deniable import Question, Report, ReportBatch, Schema, Survey
from deniable.errors import DeniableError
from deniable.mechanisms.registry import MECHANISMS
from deniable.questions.answers import Bitwise, Subset, Unary, answer_from_json
from deniable.questions.entropy import WORD

THRESHOLDS = st.integers(1, WORD - 1).map(lambda threshold: threshold | 1)  # which tells something
NAMES = st.text(min_size=1, max_size=5).filter(
    lambda name: not any(0xD800 <= ord(letter) < 0xE000 for letter in name)
)
SURVEYS = st.builds(
    lambda names, order, epsilon, mechanism: Survey(
        Schema.binary(*names), min(order, len(names)), epsilon, mechanism
    ),
    st.lists(NAMES, min_size=1, max_size=7, unique=True),
    st.integers(1, 4),
    st.floats(1e-6, 20.0),
    st.sampled_from(list(MECHANISMS)),
)


@given(
    st.integers(0, 2**63 - 1),
    st.integers(0, 2**63 - 1) | st.integers(0, 2**300),
    st.dictionaries(st.text(), st.text(), max_size=3),
)
def test_a_report_survives_json(slot: int, value: int, labels: dict[str, str]) -> None:
    report = Report(slot, value, labels)
    form = json.loads(json.dumps(report.to_json()))
    assert Report.from_json(form) == report
    assert ("labels" in form) == bool(labels)
    assert all(isinstance(part, str) for name, part in form.items() if name != "labels")


@given(
    st.dictionaries(
        st.sampled_from(["slot", "value", "packed", "labels", "x"]),
        st.sampled_from(["0", "7"])
        | st.text()
        | st.integers()
        | st.dictionaries(st.text(), st.text() | st.integers(), max_size=2),
    )
)
def test_no_other_object_is_a_report(form: dict) -> None:
    try:
        read = Report.from_json(form)
    except DeniableError:
        return
    assert read.to_json() == form


@given(
    st.builds(Unary, st.integers(2, 99), st.integers(WORD // 2, WORD - 1), st.integers(1, WORD // 2 - 1))
    | st.builds(Bitwise, st.integers(1, 62), st.integers(WORD // 2 + 1, WORD - 1))
    | st.integers(2, 66).flatmap(
        lambda m: st.builds(Subset, st.just(m), st.integers(1, min(33, m - 1)), THRESHOLDS)
    )
)  # fmt: skip
def test_a_way_of_answering_survives_json(answer: Subset | Unary | Bitwise) -> None:
    assert answer_from_json(json.loads(json.dumps(answer.to_json()))) == answer


@given(SURVEYS, st.data())
def test_surveys_and_their_questions_survive_json(survey: Survey, data: st.DataObject) -> None:
    again = Survey.from_json(survey.to_json())
    assert (again.id, again.to_json()) == (survey.id, survey.to_json())
    slot = data.draw(st.integers(0, survey.slots - 1))
    question = survey.question(slot)
    assert again.question(slot) == question
    assert Question.from_json(json.loads(json.dumps(question.to_json()))) == question
    assert question.epsilon <= survey.epsilon
    assert len(question.attributes) <= survey.touches
    assert question.english().endswith((".", "?"))


@given(SURVEYS, st.data())
def test_a_survey_with_one_thing_changed_is_refused_or_another(
    survey: Survey, data: st.DataObject
) -> None:
    text = survey.to_json()
    place = data.draw(st.integers(0, len(text) - 1))
    letter = data.draw(st.sampled_from('0123456789"{}[],:-ae ') | st.characters(codec="utf-8"))
    changed = text[:place] + letter + text[place + 1 :]
    assume(changed != text)
    try:
        other = Survey.from_json(changed)
    except DeniableError:
        return
    assert other.id != survey.id or json.loads(changed) == json.loads(text)
    assert other.question(0).epsilon <= other.epsilon


@given(
    st.lists(st.tuples(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1), NAMES)), st.booleans()
)
def test_a_batch_survives_arrow(rows: list[tuple[int, int, str]], simulated: bool) -> None:
    slots, values = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
    batch = ReportBatch("survey", slots, values, simulated)
    assert ReportBatch.from_arrow(batch.to_arrow(), "survey") == batch
    places = np.array([place for _, _, place in rows], object)
    batch = ReportBatch("survey", slots, values, simulated, {"place": places})
    assert ReportBatch.from_arrow(batch.to_arrow(), "survey", labels=["place"]) == batch


@given(st.integers(8, 20), st.integers(0, 9), st.data())
def test_a_batch_of_packed_values_survives_arrow_and_slicing(
    width: int, count: int, data: st.DataObject
) -> None:
    packed = data.draw(
        st.lists(st.binary(min_size=width, max_size=width), min_size=count, max_size=count)
    )
    values = np.frombuffer(b"".join(packed), np.uint8).reshape(count, width)
    batch = ReportBatch("survey", np.arange(count), values)
    table = batch.to_arrow()
    assert ReportBatch.from_arrow(table, "survey", width) == batch
    low = data.draw(st.integers(0, count))
    for part in (table.slice(low), pa.concat_tables([table.slice(low), table.slice(0, low)])):
        read = ReportBatch.from_arrow(part, "survey", width)
        assert np.array_equal(read.values, values[read.slots])
