"""The mechanisms by name."""

from __future__ import annotations

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


def mechanism_named(name: str) -> type[Mechanism]:
    """Return a mechanism by its name, in any case, or by the paper's older name."""
    names = {n.lower(): n for n in _NAMED} | _ALIASES
    if not isinstance(name, str) or name.lower() not in names:
        raise SurveyError(f"There is no mechanism {name!r}; there are {', '.join(_NAMED)}.")
    return _NAMED[names[name.lower()]]
