"""What can be chosen of a regression: nothing else, so that a command line knows it at once."""

from __future__ import annotations

from typing import Literal

Kind = Literal["linear", "logistic"]
"""Least squares of a number, or of one of two values; or the log odds of one of two values."""

Method = Literal["likelihood", "scores"]
"""How single reports are fitted, the default first."""
