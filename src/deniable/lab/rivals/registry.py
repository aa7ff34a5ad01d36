"""The rivals by name, as `deniable simulate --mechanism all` shows them."""

from __future__ import annotations

from deniable.lab.rivals.calm import Calm
from deniable.lab.rivals.frequencies import Hadamard, LocalHashing, OptimisedUnary
from deniable.lab.rivals.product import ProductOfMargins
from deniable.lab.rivals.rival import Rival

RIVALS: dict[str, type[Rival]] = {
    kind.name: kind for kind in (Calm, ProductOfMargins, OptimisedUnary, LocalHashing, Hadamard)
}
