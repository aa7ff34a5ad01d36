"""The rivals by name, as `deniable simulate --mechanism all` and the experiments show them."""

from __future__ import annotations

from deniable.lab.rivals.calm import Calm
from deniable.lab.rivals.product import ProductOfMargins
from deniable.lab.rivals.rival import Rival

RIVALS: dict[str, type[Rival]] = {each.name: each for each in (Calm, ProductOfMargins)}
