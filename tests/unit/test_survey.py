"""A survey is frozen: its JSON says all, its id names it, and nothing that differs is read as one."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from itertools import product
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from deniable import Client, Ledger, Schema, Survey
from deniable.decoding.decoder import is_symmetric
from deniable.errors import RecordError, SurveyError
from deniable.lab.audit import audit
from deniable.mechanisms.registry import MECHANISMS
from deniable.planning.error import predicted_tv
from deniable.questions.answers import Bitwise, Subset, Unary
from deniable.questions.entropy import BLOCK, Stream
from deniable.questions.lists import lists_named
from deniable.survey import slots
from deniable.survey.slots import SlotIndex
from deniable.survey.template import Template, pairs_among

NAMES = ("a", "b", "c")


def survey(mechanism: str = "InpHT", **options: Any) -> Survey:
    return Survey(Schema.binary(*NAMES), order=2, epsilon=1.0, mechanism=mechanism, **options)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_survey_survives_its_json(mechanism: str) -> None:
    made = survey(mechanism)
    again = Survey.from_json(made.to_json())
    assert again == made
    assert hash(again) == hash(made)
    assert again.to_json() == made.to_json()
    assert made.id == hashlib.sha256(made.to_json().encode()).hexdigest()
    assert (again.order, again.epsilon, again.schema) == (2, 1.0, made.schema)
    assert again.mechanism == mechanism
    questions = [made.question(slot) for slot in range(made.slots)]
    assert [again.question(slot) for slot in range(again.slots)] == questions
    assert [question.slot for question in questions] == list(range(made.slots))
    assert len({str(question.asks) for question in questions}) <= made.slots
    pretty = json.dumps(json.loads(made.to_json()), indent=4)
    assert Survey.from_json(pretty) == made


def test_every_detail_changes_the_id() -> None:
    others = [
        survey(),
        survey("MargHT"),
        Survey(Schema.binary(*NAMES), 2, 1.0000000000000002, "InpHT"),
        Survey(Schema.binary(*NAMES), 1, 1.0, "InpHT"),
        Survey(Schema.binary("a", "c", "b"), 2, 1.0, "InpHT"),
        Survey(Schema.of(a=[True, False], b=[False, True], c=[False, True]), 2, 1.0, "InpHT"),
        Survey(Schema.of(a=[0, 1], b=[False, True], c=[False, True]), 2, 1.0, "InpHT"),
    ]
    assert len({other.id for other in others}) == len(others)
    assert survey() != "a survey"


def test_names_of_any_language_keep_the_canonical_form() -> None:
    made = Survey(Schema.of(**{"größe": ["klein", "groß"], "\x7f\u2028\n😀": ["\\", '"']}), 2, 1.0)
    assert Survey.from_json(made.to_json()) == made
    assert "größe" in made.to_json()
    assert "\\n" in made.to_json()
    assert "\u2028" in made.to_json()


def test_auto_is_resolved_once_and_names_may_be_the_papers() -> None:
    assert survey("auto").mechanism == "Subspace"
    assert survey("auto").to_json().count("auto") == 0
    assert survey("inpht") == survey("InpHT")
    assert survey("MargRS") == survey("MargRR")
    assert survey("MargRR", optimised=True) != survey("MargRR")
    for name in ("Sub", "", "all", None, 3, "InpHT "):
        with pytest.raises(SurveyError, match="There is no mechanism"):
            survey(name)
    with pytest.raises(SurveyError, match="no option 'optimised'"):
        survey("InpHT", optimised=True)
    with pytest.raises(SurveyError, match="'auto' takes a workload, a pilot or a prior"):
        survey("auto", optimised=True)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Survey(["a", "b"]), "needs a Schema, got list"),
        (lambda: Survey(Schema.binary("a"), 2), "order must be 1 to 1"),
        (lambda: Survey(Schema.binary("a", "b"), 2, 0.0), "positive finite"),
        (lambda: Survey(Schema.binary(*(f"a{i}" for i in range(40))), 2, 1.0, "InpRR"),
         r"at most 20 attributes, got 40: it would need 2\^40 bits in every report \(128 GB\)"),
        (lambda: Survey(Schema.binary(*(f"a{i}" for i in range(25))), 2, 1.0, "InpPS"),
         r"at most 24 attributes, got 25: it would need a table of 2\^25 cells"),
        (lambda: Survey(Schema.binary(*(f"a{i}" for i in range(63))), 2, 1.0, "InpEM"),
         "at most 62 attributes, got 63"),
        (lambda: Survey(Schema.binary(*(f"a{i}" for i in range(1000))), 10, 1.0, "InpHT"),
         r"slots; 2\^63 is the limit"),
        (lambda: Survey(Schema.of(a=range(5000)), 1, 1.0, "InpHT"), "5,000 values; 4,096 is"),
        (lambda: Survey(Schema.binary("a"), 1, 1.0, "InpHTBits"), "is InpHT where all attributes"),
    ],
)  # fmt: skip
def test_a_survey_that_cannot_be_is_refused(make: Any, message: str) -> None:
    with pytest.raises(SurveyError, match=message):
        make()


@pytest.mark.parametrize("slot", [-1, 6, 10**30, 1.0, "0", True, None])
def test_a_slot_outside_the_survey_is_refused(slot: object) -> None:
    with pytest.raises(SurveyError, match="whole number from 0 to 5"):
        survey().question(slot)


# Reading what is not a survey


def changed(mechanism: str, change: Any) -> str:
    form = json.loads(survey(mechanism).to_json())
    change(form)
    return json.dumps(form)


def templates(mechanism: str, *given: dict) -> str:
    def change(form: dict) -> None:
        form.pop("touches", None)
        touches = max(template["attributes"] for template in given)
        form.update(templates=list(given), **({"touches": touches} if touches > 2 else {}))

    return changed(mechanism, change)


RR = Subset.within(1.0, 2).to_json()
FOR_EVER = RR | {"symbols": 10**9, "chosen": 5 * 10**8}
ENDLESS = Unary.within(1.0, 4).to_json() | {"symbols": 1 << 40}


def bits(count: int) -> dict:
    return Bitwise.within(1.0, count).to_json()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        "7",
        "[" * 100_000,
        "9" * 100_000,
        b"\xff",
        None,
        survey().to_json()[:-1],
        survey().to_json() + "x",
        changed("InpHT", lambda f: f.pop("order")),
        changed("InpHT", lambda f: f.update(extra=1)),
        changed("InpHT", lambda f: f.update(deniable="tally")),
        changed("InpHT", lambda f: f.update(format=1)),
        changed("InpHT", lambda f: f.update(format=3)),
        changed("InpHT", lambda f: f.update(format=2.0)),
        changed("InpHT", lambda f: f.update(format=True)),
        changed("InpHT", lambda f: f.update(format="2")),
        changed("InpHT", lambda f: f.update(order=0)),
        changed("InpHT", lambda f: f.update(order=4)),
        changed("InpHT", lambda f: f.update(order=1)),
        changed("InpHT", lambda f: f.update(order=True)),
        changed("InpHT", lambda f: f.update(order=2.0)),
        changed("InpHT", lambda f: f.update(epsilon=1.0)),
        changed("InpHT", lambda f: f.update(epsilon="1")),
        changed("InpHT", lambda f: f.update(epsilon="nan")),
        changed("InpHT", lambda f: f.update(epsilon="inf")),
        changed("InpHT", lambda f: f.update(epsilon="0.999")),
        changed("InpHT", lambda f: f.update(mechanism="")),
        changed("InpHT", lambda f: f.update(mechanism=None)),
        changed("InpHT", lambda f: f.update(mechanism="a" * 10_000)),
        changed("InpHT", lambda f: f.pop("lists")),
        changed("InpHT", lambda f: f.update(lists=[])),
        changed("InpHT", lambda f: f["lists"].pop()),
        changed("InpHT", lambda f: f["lists"].append({"list": "codes"})),
        changed("InpHT", lambda f: f["lists"][0].update(list="Codes")),
        changed("InpHT", lambda f: f["lists"][0].update(list="ideal")),
        changed("InpHT", lambda f: f["lists"][0].update(size=2)),
        changed("InpHT", lambda f: f.update(lists=["codes"] * 3)),
        changed("InpHT", lambda f: f.update(touches=2)),
        changed("InpHT", lambda f: f.update(touches=3)),
        changed("InpPS", lambda f: f.pop("touches")),
        changed("InpPS", lambda f: f.update(touches=2)),
        changed("InpPS", lambda f: f.update(touches=4)),
        changed("InpPS", lambda f: f.update(touches=True)),
        changed("InpHT", lambda f: f.update(schema={})),
        changed("InpHT", lambda f: f["schema"].update(attributes=f["schema"]["attributes"][:1])),
        changed("InpHT", lambda f: f["schema"]["attributes"][0].update(values=[1])),
        changed("InpHT", lambda f: f.update(templates=[])),
        changed("InpHT", lambda f: f.update(templates={})),
        changed("InpHT", lambda f: f["templates"][0].update(attributes=True)),
        changed("InpHT", lambda f: f["templates"][0].update(attributes=0)),
        changed("InpHT", lambda f: f["templates"][0].update(attributes=3)),
        changed("InpHT", lambda f: f["templates"][0].update(attributes=4)),
        changed("InpHT", lambda f: f["templates"][0].update(cell=True)),
        changed("InpHT", lambda f: f["templates"][0].update(parities=[])),
        changed("InpHT", lambda f: f["templates"][0].update(parities=[[]])),
        changed("InpHT", lambda f: f["templates"][0].update(parities=[[1]])),
        changed("InpHT", lambda f: f["templates"][0].update(parities=[[-1]])),
        changed("InpHT", lambda f: f["templates"][1].update(parities=[[1, 0]])),
        changed("InpHT", lambda f: f["templates"][1].update(parities=[[0, 0]])),
        changed("InpHT", lambda f: f["templates"][1].update(parities=[[0], [1]])),
        changed("InpHT", lambda f: f["templates"][0]["answer"].update(threshold=str(2**64 - 1))),
        changed("InpHT", lambda f: f["templates"][0]["answer"].update(threshold="1")),
        changed("MargPS", lambda f: f["templates"][0].update(cell=False)),
        templates("InpHT", {"attributes": 1, "parities": [[0]], "answer": bits(1)}),
        templates("InpHT", {"attributes": 2, "parities": [[0], [0]], "answer": RR | {"symbols": 4}}),
        templates("MargPS", {"attributes": 1, "cell": True, "answer": Subset.within(1.0, 4).to_json()}),
        templates("InpEM", {"attributes": 3, "parities": [[1], [0], [2]], "answer": bits(3)}),
        templates("InpEM", {"attributes": 3, "parities": [[0, 1], [1], [2]], "answer": bits(3)}),
        templates("InpEM", {"attributes": 2, "parities": [[0], [1]], "answer": bits(2)}),
        # what would take a device for ever, or all its memory
        templates("InpHT", {"attributes": 10**9, "cell": True, "answer": RR}),
        templates("InpHT", {"attributes": 10**12, "parities": [[10**11]], "answer": RR}),
        templates("InpHT", {"attributes": 1, "parities": [[0]], "answer": FOR_EVER}),
        templates("InpRR", {"attributes": 40, "cell": True, "answer": ENDLESS}),
    ],
)  # fmt: skip
def test_what_is_not_exactly_a_survey_is_refused(text: object) -> None:
    with pytest.raises(SurveyError):
        Survey.from_json(text)


READ = [
    (changed("InpHT", lambda f: f.update(mechanism="Nonsense")), True, True),
    (changed("InpHT", lambda f: f.update(order=1, touches=2)), True, True),
    (templates("MargPS", {"attributes": 1, "cell": True, "answer": RR}), True, False),
    (templates("MargHT", {"attributes": 1, "parities": [[0]], "answer": RR}), True, False),
    (templates("InpHT", {"attributes": 2, "parities": [[0]], "answer": RR}), False, False),
    (templates("InpEM", {"attributes": 3, "cell": True, "answer": Subset.within(1.0, 8).to_json()}),
     True, True),
]  # fmt: skip


@pytest.mark.parametrize(("text", "symmetric", "known"), READ)
def test_what_no_mechanism_would_make_is_read_for_what_it_asks(
    text: str, symmetric: bool, known: bool
) -> None:
    """The name of a mechanism is for people: what is asked is audited, decoded, or not known."""
    read = Survey.from_json(text)
    assert json.loads(read.to_json()) == json.loads(text)
    assert audit(read).passed
    assert is_symmetric(read) is symmetric
    release = read.tally(read.randomize(frame(5_000), seed="read"), simulation=True).release()
    assert all(table.known == known for table in release.marginals())
    assert all(np.isfinite(table.values).all() for table in release.marginals())
    assert np.isfinite(predicted_tv(read, 100)) == known


def test_a_survey_may_mix_ways_of_answering_and_is_answered_and_decoded_all_the_same() -> None:
    mixed = Survey.from_json(
        templates(
            "InpHT",
            {"attributes": 1, "parities": [[0]], "answer": RR},
            {"attributes": 2, "parities": [[0], [1]], "answer": Unary.within(1.0, 4).to_json()},
            {"attributes": 2, "parities": [[0], [0, 1]], "answer": Subset.within(1.0, 4, 2).to_json()},
        )
    )  # fmt: skip
    held = pd.DataFrame(
        np.random.default_rng(2).random((60_000, 3)) < (0.2, 0.5, 0.9), columns=NAMES
    )
    release = mixed.tally(mixed.randomize(held, seed="mixed"), simulation=True).release()
    for table in release.marginals():
        x, y = (held[name] for name in table.names)
        true = np.array([[(~x & ~y).mean(), (~x & y).mean()], [(x & ~y).mean(), (x & y).mean()]])
        assert np.all(np.abs(table.values - true) < 5 * table.standard_error)
    Client(mixed, ledger=Ledger.in_memory()).report({"a": True, "b": False, "c": True})


def test_a_survey_that_cannot_be_read_from_its_file_is_refused(tmp_path: Any) -> None:
    for content in (b"", b"\xff\xfe\x00", b"{}", bytes(100)):
        (tmp_path / "s.json").write_bytes(content)
        with pytest.raises(SurveyError):
            Survey.load(tmp_path / "s.json")
    with pytest.raises(SurveyError, match=r"There is no survey nowhere\.json"):
        Survey.load(tmp_path / "nowhere.json")
    with pytest.raises(SurveyError, match="cannot be read"):
        Survey.load(tmp_path)


# Slots

WEIGHTS = (1 << 31, 1, 1 << 30, (1 << 30) - 1)
RUNS = (8, 3, 1, 9)
"""The slots of one attribute each, and of the three listed pairs: 8 for one weight, 3, 1 and 9."""
INDEX, EVEN = (
    SlotIndex(
        [
            Template(1, (1,), Subset.within(1.0, 2), weights=weights[:1]),
            Template(
                2, (3,), Subset.within(1.0, 2), weights=weights[1:], sets=((0, 1), (0, 3), (1, 2))
            ),
        ],
        lists_named("codes", (2, 3, 4, 2)),
    )
    for weights in (WEIGHTS, ())
)


class Words:
    """A source that gives these words, and no more."""

    def __init__(self, words: list[int]) -> None:
        self.words = iter(words)

    def word(self) -> int:
        return next(self.words)


def test_slots_are_numbered_set_by_set_and_by_the_entry_of_the_first_attribute() -> None:
    assert INDEX.count == EVEN.count == sum(RUNS)
    assert INDEX.starts == [0, 8, 21]
    sets, entries = INDEX.locate(np.arange(8))
    assert sets.ravel().tolist() == [0, 1, 1, 1, 2, 2, 2, 3]
    assert entries.ravel().tolist() == [0, 0, 1, 2, 0, 1, 2, 0]
    sets, entries = INDEX.locate(np.arange(8, 21))
    assert sets.tolist() == [[0, 1]] * 3 + [[0, 3]] + [[1, 2]] * 9
    assert entries[:4].tolist() == [[0, 0], [0, 1], [0, 2], [0, 0]]
    assert entries[4:].tolist() == [[first, second] for second in range(3) for first in range(3)]
    assert [INDEX.template_of(slot) for slot in (0, 7, 8, 20)] == [0, 0, 1, 1]


def test_a_slot_is_drawn_from_a_word_for_its_run_and_others_for_its_place() -> None:
    first = np.cumsum(WEIGHTS).tolist()
    for word, others, slot in (
        (0, [7], 7),
        ((first[0] << 32) - 1, [8], 0),  # the mask is that of the largest place
        (first[0] << 32, [3, 2], 10),  # 3 is rejected
        ((first[1] << 32) - 1, [4], 8),
        (first[1] << 32, [], 11),  # the only one
        ((first[2] << 32) - 1, [], 11),
        (first[2] << 32, [9, 15, 24], 20),
        ((1 << 64) - 1, [16], 12),
    ):
        assert INDEX.draw(Words([word, *others])) == slot
    assert EVEN.draw(Words([31, 21, 32 + 20])) == 20
    assert (INDEX.words, EVEN.words) == (2, 1)


@pytest.mark.parametrize("index", [INDEX, EVEN], ids=["weighted", "even"])
def test_slots_from_many_words_are_those_of_each_device(index: SlotIndex) -> None:
    words = np.random.default_rng(3).integers(0, 1 << 64, (300, 4), np.uint64)
    ends = [bound << 32 for bound in np.cumsum(WEIGHTS).tolist()]
    words[:8, 0] = [word % 2**64 for end in ends for word in (end - 1, end)]
    expected = []
    for row in words.tolist():
        try:
            expected.append(index.draw(Words(row)))
        except StopIteration:
            expected.append(-1)
    assert index.draw_from(words).tolist() == expected
    assert set(expected) >= {-1, *range(8), *range(11, 21)}


@pytest.mark.parametrize("few", [0, 32])
def test_many_slots_are_drawn_by_weight(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Last(Stream):
        """A stream that gives these words of 32 bits, and the last place of every run."""

        def __init__(self, *words: int) -> None:
            self.words32 = np.array(words, "<u4")

        def octets(self, count: int) -> np.ndarray:
            assert count == 4 * len(self.words32)
            return self.words32.view(np.uint8)

        def below(self, bound: int, count: int, dtype: Any = np.int64) -> np.ndarray:
            return np.full(count, bound - 1, dtype)

        def below_each(self, bounds: np.ndarray) -> np.ndarray:
            return bounds - 1

    monkeypatch.setattr(slots, "_FEW", few)
    bounds = np.cumsum(WEIGHTS).tolist()[:-1]
    words = [0, *(word for bound in bounds for word in (bound - 1, bound)), (1 << 32) - 1]
    drawn = INDEX.draw_many(Last(*words), len(words))
    assert drawn.tolist() == [7, 7, 10, 10, 11, 11, 20, 20]
    assert EVEN.draw_many(Last(), 2).tolist() == [20, 20]


@pytest.mark.parametrize("bits", [40, 128])
def test_each_slot_covers_exactly_its_chance_of_the_line(bits: int) -> None:
    shares = [Fraction(w, n << 32) for w, n in zip(WEIGHTS, RUNS, strict=True) for _ in range(n)]
    for index, chances in ((INDEX, shares), (EVEN, [Fraction(1, 21)] * 21)):
        begin = Fraction(0)
        for slot, chance in enumerate(chances):
            first, after = ceil(begin * 2**bits), ceil((begin + chance) * 2**bits)
            assert index.slot_at(first, bits) == index.slot_at(after - 1, bits) == slot
            begin += chance
        assert begin == 1


# Pairs of coefficients


def pairs_by_size(masks: list[int], order: int) -> np.ndarray:
    """Count ordered pairs by the sizes of both and of their union, one by one."""
    pairs = np.zeros((order + 1,) * 3)
    for left, right in product(masks, repeat=2):
        sizes = tuple(mask.bit_count() for mask in (left, right, left | right))
        if max(sizes) <= order:
            pairs[sizes] += 1
    return pairs


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("template", "members"),
    [
        (Template.table(4, Subset.within(1.0, 16)), list(range(1, 16))),
        (Template(4, (1, 2, 4, 8), Subset.within(1.0, 16)), list(range(1, 16))),
        (Template(3, (0b011, 0b101), Subset.within(1.0, 4)), [0b011, 0b101, 0b110]),
        (Template(3, (0b001, 0b110), Subset.within(1.0, 4)), [0b001, 0b110, 0b111]),
        (Template(2, (0b11,), Subset.within(1.0, 2)), [0b11]),
    ],
)
def test_pairs_of_what_a_report_holds_are_counted_by_size(
    template: Template, members: list[int], order: int
) -> None:
    assert np.array_equal(template.pairs_of(order), pairs_by_size(members, order))


def test_pairs_of_sets_are_counted_by_size() -> None:
    pairs = pairs_by_size(list(range(1 << 5)), 5)
    assert pairs.sum() == 4**5
    for sizes in np.argwhere(pairs).tolist():
        assert pairs_among(5, *sizes) == pairs[tuple(sizes)]


# Randomizing


def frame(people: int) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(9).random((people, 3)) < 0.4, columns=NAMES)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_seed_makes_a_batch_reproducible_and_nothing_else_does(mechanism: str) -> None:
    made, people = survey(mechanism), frame(500)
    assert made.randomize(people, seed="x") == made.randomize(people, seed="x")
    assert made.randomize(people, seed="x").simulated
    batches = [made.randomize(people, seed="y"), made.randomize(people), made.randomize(people)]
    for i, one in enumerate(batches):
        for other in batches[i + 1 :]:
            assert not np.array_equal(one.values, other.values)
    assert not batches[1].simulated


def test_a_batch_does_not_depend_on_how_rows_lie_in_memory() -> None:
    made, people = survey("MargPS"), frame(2 * BLOCK + 77)
    table = pa.Table.from_pandas(people)
    chunks = pa.concat_tables([table.slice(0, 100_001), table.slice(100_001)])
    batch = made.randomize(people, seed="x")
    assert made.randomize(chunks, seed="x") == batch
    first = made.randomize(table.slice(0, BLOCK), seed="x")
    assert np.array_equal(first.values, batch.values[:BLOCK])
    assert not np.array_equal(batch.values[:BLOCK], batch.values[BLOCK : 2 * BLOCK])


def test_rows_that_are_alike_answer_differently() -> None:
    made = survey("InpHT")
    alike = pd.DataFrame(np.ones((10_000, 3), bool), columns=NAMES)
    batch = made.randomize(alike)
    assert set(batch.slots.tolist()) == set(range(6))
    for slot in range(6):
        assert set(batch.values[batch.slots == slot].tolist()) == {0, 1}


def test_columns_are_found_by_name_and_others_left() -> None:
    made, people = survey(), frame(300)
    turned = people[["c", "a", "b"]].assign(other="text")
    assert made.randomize(turned, seed="x") == made.randomize(people, seed="x")
    with pytest.raises(RecordError, match="no column 'b'"):
        made.randomize(people[["a", "c"]])


def test_a_seed_that_is_no_text_is_refused() -> None:
    with pytest.raises(SurveyError, match="A seed must be a text, got int"):
        survey().randomize(frame(3), seed=5)


def test_a_survey_says_what_it_is() -> None:
    assert repr(survey()) == (
        f"<Survey {survey().id[:8]}: 3 attributes, order 2, epsilon 1, InpHT>"
    )
