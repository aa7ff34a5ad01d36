"""The audit's shortcuts for many values agree with plain enumeration, and catch what is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deniable import Schema
from deniable.decoding.decoder import CellDecoder, decoder_of
from deniable.lab import audit, probes
from deniable.lab.audit import exact_ratio, exactly_unbiased
from deniable.mechanisms.registry import MECHANISMS
from deniable.questions.answers import Bitwise, Inclusion, Subset, Unary
from deniable.survey.frozen import FrozenSurvey
from deniable.survey.template import Template

ANSWERS = [
    Subset.within(1.1, 2),
    Subset.within(1.1, 128),
    Subset.within(1.1, 16, 3),
    Subset.within(2.0, 16, 13),
    Subset(128, 1, 1 << 50),
    Unary.within(1.1, 8),
    Unary.within(1.1, 8, optimised=True),
    Bitwise.within(1.1, 4),
]
FEW = 64  # what the shortcuts themselves enumerate


def template(answer: Subset | Unary | Bitwise) -> Template:
    bits = (answer.symbols - 1).bit_length()
    if isinstance(answer, Bitwise):
        return Template(bits, tuple(1 << i for i in range(bits)), answer)
    return Template.table(bits, answer)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda a: f"{type(a).__name__}-{a.outcomes}")
def test_shortcuts_say_what_enumeration_says(
    answer: Subset | Unary | Bitwise, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "_MOST_ENUMERATED", 10**9)
    enumerated = exact_ratio(answer), exactly_unbiased(template(answer))
    assert enumerated == ((answer.ratio, True), True)
    monkeypatch.setattr(audit, "_MOST_ENUMERATED", FEW)
    assert (exact_ratio(answer), exactly_unbiased(template(answer))) == enumerated


@pytest.mark.parametrize("most", [FEW, 10**9])
@pytest.mark.parametrize("answer", [a for a in ANSWERS if not isinstance(a, Bitwise)], ids=repr)
def test_a_wrong_inclusion_probability_is_caught_either_way(
    answer: Subset | Unary, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = answer.inclusion
    monkeypatch.setattr(audit, "_MOST_ENUMERATED", most)
    for wrong in (replace(true, own=true.own / 2), replace(true, other=true.other * 2)):
        assert isinstance(wrong, Inclusion)
        monkeypatch.setattr(type(answer), "inclusion", wrong)
        assert not exactly_unbiased(
            template(replace(answer))
        )  # a copy has not computed its own yet
        monkeypatch.undo()
        monkeypatch.setattr(audit, "_MOST_ENUMERATED", most)


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_decoder_that_is_off_by_a_little_is_caught_however_many_cells_there_are(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = Schema.binary(*(f"a{i}" for i in range(9)))
    survey = MECHANISMS[name].survey(schema, 2, 1.1)
    assert audit.audit(survey).passed
    sound = probes.decoded_scores
    monkeypatch.setattr(
        probes,
        "decoded_scores",
        lambda *a: {mask: score * 1.000001 for mask, score in sound(*a).items()},
    )
    assert not audit.audit(survey).unbiased


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("sizes", [(2, 2, 2, 2), (3, 2, 5, 2)], ids=str)
def test_a_report_is_audited_alone_where_coefficients_are_many(
    name: str, sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = Schema.of(**{f"a{i}": [str(v) for v in range(n)] for i, n in enumerate(sizes)})
    survey = MECHANISMS[name].survey(schema, 2, 1.1)
    whole = audit.audit(survey)
    monkeypatch.setattr(probes, "_MOST_COEFFICIENTS", 0)
    decoded: list[int] = []
    sound = probes.decoded_scores
    monkeypatch.setattr(
        probes, "decoded_scores", lambda m, *a: decoded.append(len(m.schema)) or sound(m, *a)
    )
    assert audit.audit(survey) == whole
    assert whole.passed
    if not survey.whole_record and decoded:
        assert max(decoded) <= survey.touches < len(schema)
    monkeypatch.setattr(
        probes, "decoded_scores", lambda *a: {k: v * 1.000001 for k, v in sound(*a).items()}
    )
    looked_at_otherwise = isinstance(decoder_of(survey), CellDecoder)
    assert audit.audit(survey).unbiased == looked_at_otherwise


@pytest.mark.slow
def test_surveys_whose_audit_once_took_gigabytes_are_audited_in_little_memory() -> None:
    wide = Schema.of(**{f"a{i}": [str(value) for value in range(64)] for i in range(12)})
    surveys = [MECHANISMS["MargHT"].survey(wide, 2, 1.0)]
    schema = Schema.binary(*(f"a{i}" for i in range(21)))
    long = Template.table(21, Unary.within(1.0, 1 << 21))
    lists = MECHANISMS["InpRR"].lists(schema)
    surveys.append(FrozenSurvey(schema, 2, 1.0, (long,), lists, mechanism="InpRR"))
    for survey in surveys:
        assert audit.audit(survey).passed


@pytest.mark.slow
@pytest.mark.parametrize("name", ["InpHT", "MargPS"])
def test_slots_beyond_those_that_floats_tell_apart_are_looked_at(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = MECHANISMS[name].survey(Schema.binary(*(f"a{i}" for i in range(1500))), 6, 1.0)
    assert survey.slots > 1 << 53
    asked: list[int] = []
    question = survey.question
    monkeypatch.setattr(survey, "question", lambda slot: asked.append(slot) or question(slot))
    assert audit.audit(survey).passed
    assert max(asked) == survey.slots - 1


@pytest.mark.slow
def test_a_survey_of_high_order_is_audited_with_few_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores are sums over the support, so a few reports show what all do."""
    schema = Schema.binary(*(f"a{i}" for i in range(8)))
    survey, probed = MECHANISMS["Subspace"].survey(schema, 4, 0.5), []
    sound = probes.decoded_scores
    monkeypatch.setattr(probes, "decoded_scores", lambda *a: probed.append(a[1:]) or sound(*a))
    assert audit.audit(survey).passed
    assert 2 * len(survey.families) <= len(probed) < 3000
