"""Mechanisms of other packages: registered or found, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint

import pytest

from deniable import Schema, Survey, plan, register
from deniable.errors import SurveyError
from deniable.lab.checks import CheckFailedError, check_mechanism
from deniable.mechanisms import registry
from deniable.mechanisms.inpht import InpHT
from deniable.mechanisms.registry import MECHANISMS, known_mechanisms, mechanism_named

SCHEMA = Schema.binary(*"abcd")


class Better(InpHT):
    """As good as InpHT is."""

    name = "Better"


class Loud(InpHT):
    """Says more than it states."""

    name = "Loud"

    @classmethod
    def design(cls, schema, order, epsilon, **options):
        return super().design(schema, order, 2 * epsilon)


@pytest.fixture(autouse=True)
def only_ours(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is registered, and no other package installed."""
    monkeypatch.setattr(registry, "_OTHERS", {})
    install(monkeypatch)
    yield
    registry._find_others.cache_clear()


def install(monkeypatch: pytest.MonkeyPatch, **points: str) -> None:
    group = [EntryPoint(name, value, registry.ENTRY_POINTS) for name, value in points.items()]
    monkeypatch.setattr(registry, "entry_points", lambda group_of=group, **_: group_of)
    registry._find_others.cache_clear()


def test_a_mechanism_that_is_registered_is_planned_and_taken_by_name() -> None:
    before = plan(SCHEMA, people=1000)
    assert register(Better) is Better
    assert list(known_mechanisms()) == [*MECHANISMS, "Better"]
    rows = {row.mechanism: row for row in plan(SCHEMA, people=1000).rows}
    assert rows["Better"].predicted_tv == rows["InpHT"].predicted_tv
    assert [row for name, row in rows.items() if name != "Better"] == list(before.rows)
    assert Survey(SCHEMA, 2, 1.0, "better").mechanism == "Better"
    check_mechanism(Survey(SCHEMA, 2, 1.0, "Better"))


def test_auto_takes_none_of_another_package(monkeypatch: pytest.MonkeyPatch) -> None:
    register(Better)
    monkeypatch.setattr(
        "deniable.planning.fitting._rank", lambda each, _: each.mechanism != "Better"
    )
    assert plan(SCHEMA, people=1000).rows[0].mechanism == "Better"
    assert Survey(SCHEMA, 2, 1.0).mechanism in MECHANISMS


def test_an_installed_mechanism_is_found_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Better=f"{__name__}:Better")
    assert not registry._OTHERS
    assert mechanism_named("InpHT") is InpHT
    assert not registry._OTHERS
    assert mechanism_named("BETTER") is Better
    with pytest.raises(SurveyError, match=r"there are .*InpHTBits, Better"):
        mechanism_named("Worse")


@pytest.mark.parametrize(
    "value", ["no_such_package:Better", f"{__name__}:SCHEMA", f"{__name__}:None_"]
)
def test_an_installed_mechanism_that_is_none_is_told(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    install(monkeypatch, Better=value)
    with pytest.raises(
        SurveyError, match="The mechanism 'Better' of another package cannot be used"
    ):
        plan(SCHEMA, people=1000)
    assert Survey(SCHEMA, 2, 1.0, "InpHT").mechanism == "InpHT", "what is ours goes on"
    assert Survey(SCHEMA, 2, 1.0).mechanism in MECHANISMS


@pytest.mark.parametrize("taken", ["InpHT", "subspace", "InpHTBits", "margrs", "all", "auto"])
def test_a_name_is_given_once(taken: str) -> None:
    class Other(InpHT):
        name = taken

    with pytest.raises(SurveyError, match="already"):
        register(Other)


def test_the_same_class_may_be_registered_again_and_another_not() -> None:
    register(Better)
    register(Better)

    class Other(InpHT):
        name = "better"

    with pytest.raises(SurveyError, match="There is a mechanism 'better' already"):
        register(Other)
    assert known_mechanisms()["Better"] is Better


@pytest.mark.parametrize("name", ["", "two words", "a,b", "ü", None, 3])
def test_a_name_can_be_typed(name: object) -> None:
    class Other(InpHT):
        pass

    Other.name = name
    with pytest.raises(SurveyError, match="letters, digits and underscores"):
        register(Other)


def test_what_is_no_mechanism_is_refused() -> None:
    for kind in (object, "Better", Better()):
        with pytest.raises(SurveyError, match="subclass of Mechanism"):
            register(kind)


def test_a_mechanism_that_breaks_its_promise_is_refused_by_its_survey() -> None:
    register(Loud)
    with pytest.raises((SurveyError, CheckFailedError), match="epsilon"):
        check_mechanism(Survey(SCHEMA, 2, 1.0, "Loud"))
