"""The mechanisms by name, and the reader of a survey's frozen JSON.

A survey's JSON says all that a client or collector needs, in integers and texts, so that reading it
never computes a design again.
"""

from __future__ import annotations

from typing import Any

from deniable.errors import DeniableError, SurveyError
from deniable.formats.forms import check_form, limit, parsed
from deniable.mechanisms.base import FORMAT, Mechanism, Shape, canonical
from deniable.mechanisms.inpem import InpEM
from deniable.mechanisms.inpes import InpES
from deniable.mechanisms.inpht import InpHT
from deniable.mechanisms.inpht_bits import InpHTBits
from deniable.mechanisms.inpps import InpPS
from deniable.mechanisms.inprr import InpRR
from deniable.mechanisms.marght import MargHT
from deniable.mechanisms.margps import MargPS
from deniable.mechanisms.margrr import MargRR
from deniable.mechanisms.subspace import Subspace
from deniable.schema.labels import Labels
from deniable.schema.schema import Schema

__all__ = ["MECHANISMS", "mechanism_named", "read_survey", "survey_of"]

MECHANISMS: dict[str, type[Mechanism]] = {
    kind.name: kind
    for kind in (InpRR, InpPS, InpHT, MargRR, MargPS, MargHT, InpEM, InpES, Subspace)
}
"""All mechanisms that are compared: the paper's, in its order, the one it conjectures, and ours."""

_NAMED: dict[str, type[Mechanism]] = MECHANISMS | {InpHTBits.name: InpHTBits}
"""And what is there for whoever asks for it by name."""

_ALIASES = {"inprs": "InpRR", "margrs": "MargRR"}


def mechanism_named(name: str) -> type[Mechanism]:
    """Return a mechanism by its name, in any case, or by the paper's older name."""
    known = {n.lower(): n for n in _NAMED} | _ALIASES
    if not isinstance(name, str) or name.lower() not in known:
        raise SurveyError(f"There is no mechanism {name!r}; there are {', '.join(_NAMED)}.")
    return _NAMED[known[name.lower()]]


def read_survey(text: str) -> Mechanism:
    """Read a survey's JSON; refuse what is not exactly one."""
    if isinstance(text, str) and len(text) > limit("letters"):
        raise SurveyError(f"A survey has at most {limit('letters'):,} letters, got {len(text):,}.")
    try:
        form = parsed(text)
    except (TypeError, ValueError):
        raise SurveyError("A survey must be a JSON text, and this is not one.") from None
    return survey_of(form)


def survey_of(form: Any) -> Mechanism:
    """Return the survey that a JSON form describes; refuse what is not exactly one."""
    match form:
        case {"deniable": "survey", "format": int(version)} if version != FORMAT:
            raise SurveyError(
                f"The survey has format {version}; this version of deniable reads format {FORMAT}."
            )
    check_form("survey", form, SurveyError)
    try:
        kind = mechanism_named(form["mechanism"])
        made = kind(
            Schema.of_form(form["schema"]),
            form["order"],
            float(form["epsilon"]),
            tuple(map(Shape.of_form, form["shapes"])),
        ).labelled(Labels.of_form(form))
    except SurveyError:
        raise
    except DeniableError as error:
        raise SurveyError(f"The survey is broken: {error}") from error
    made.verify()
    if made.canonical() != canonical(form):
        raise SurveyError("The survey is not in its canonical form.")
    return made
