"""The mechanisms by name: ours, and those of other packages.

Another package's mechanism is registered by `register`, or found by the entry point that its package
declares in the group "deniable.mechanisms". It is planned, simulated, audited and taken by name as ours
are. ``mechanism="auto"`` takes ours alone: what happens to be installed must not change what people are
asked.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from deniable.errors import SurveyError
from deniable.mechanisms.base import Mechanism
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

MECHANISMS: dict[str, type[Mechanism]] = {
    kind.name: kind
    for kind in (InpRR, InpPS, InpHT, MargRR, MargPS, MargHT, InpEM, InpES, Subspace)
}
"""All mechanisms that are compared: the paper's, in its order, the one it conjectures, and ours."""

_NAMED: dict[str, type[Mechanism]] = MECHANISMS | {InpHTBits.name: InpHTBits}
"""And what is there for whoever asks for it by name."""

_ALIASES = {"inprs": "InpRR", "margrs": "MargRR"}

ENTRY_POINTS = "deniable.mechanisms"
"""The group in which other packages declare their mechanisms."""

_OTHERS: dict[str, type[Mechanism]] = {}

K = TypeVar("K", bound=type[Mechanism])


def register(kind: K) -> K:
    """Let a mechanism of another package be planned, compared and taken by its name.

    It may stand above the class, as a decorator. A name that another mechanism has is refused.
    """
    if not (isinstance(kind, type) and issubclass(kind, Mechanism)):
        raise SurveyError(f"A mechanism is a subclass of Mechanism, got {kind!r}.")
    name = getattr(kind, "name", None)
    if not (isinstance(name, str) and name.isidentifier() and name.isascii()):
        raise SurveyError(
            f"The name of a mechanism is made of letters, digits and underscores, got {name!r} of "
            f"{kind.__qualname__}."
        )
    names = {each.lower(): other for each, other in (_NAMED | _OTHERS).items()}
    other = names.get(name.lower())
    if name.lower() in ("all", "auto", *_ALIASES) or (other and not _is_same(kind, other)):
        raise SurveyError(f"There is a mechanism {name!r} already; give yours another name.")
    _OTHERS[name] = kind
    return kind


def _is_same(kind: type[Mechanism], other: type[Mechanism]) -> bool:
    """Tell whether a class is another one, or the same once more, as a notebook's cell makes it."""
    return (kind.__module__, kind.__qualname__) == (other.__module__, other.__qualname__)


@cache
def _find_others() -> None:
    """Register what the packages that are installed declare, once."""
    for point in entry_points(group=ENTRY_POINTS):
        try:
            register(point.load())
        except Exception as error:
            raise SurveyError(
                f"The mechanism {point.name!r} of {_package(point)} cannot be used: {error} Mend that "
                "package, or uninstall it."
            ) from error


def _package(point: EntryPoint) -> str:
    return "another package" if point.dist is None else f"the package {point.dist.name!r}"


def known_mechanisms() -> dict[str, type[Mechanism]]:
    """Return all mechanisms that are compared: ours first, then those of other packages."""
    _find_others()
    return MECHANISMS | _OTHERS


def mechanism_named(name: str) -> type[Mechanism]:
    """Return a mechanism by its name, in any case, or by the paper's older name."""
    ours = {n.lower(): n for n in _NAMED} | _ALIASES
    if isinstance(name, str) and name.lower() in ours:
        return _NAMED[ours[name.lower()]]
    names = {n.lower(): kind for n, kind in known_mechanisms().items()}
    if not isinstance(name, str) or name.lower() not in names:
        raise SurveyError(
            f"There is no mechanism {name!r}; there are {', '.join(_NAMED | _OTHERS)}."
        )
    return names[name.lower()]
