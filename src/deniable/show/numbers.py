"""Numbers as people read them."""

from __future__ import annotations

from math import floor, inf, isfinite, log10

from deniable.formats.markup import number_text


def share(value: float) -> str:
    """Return a share in percent with two significant digits."""
    percent = 100 * value
    digits = f"{percent:.0f}" if percent >= 10 else f"{percent:.2g}"
    return f"{digits}\N{NO-BREAK SPACE}%"


def points(value: float) -> str:
    """Return a share as percentage points, without their sign."""
    percent = 100 * value
    return f"{percent:.1f}" if percent >= 1 else f"{percent:.2g}"


def q_value(value: float) -> str:
    """Return a q-value with as many digits as matter."""
    return "<\N{NO-BREAK SPACE}0.0001" if value < 1e-4 else number_text(value, ".2g")


def digits_for(error: float) -> int:
    """Return how many decimals a number bears whose standard error is this; negative for tens."""
    return 1 - floor(log10(error)) if 0 < error < inf else 2


def thousands(value: float, digits: int) -> str:
    """Return a number with separators of thousands and so many decimals; negative ones round tens."""
    if not isfinite(value):
        return number_text(value, "")
    text = f"{round(value, digits):,.{max(0, digits)}f}"
    return (
        text.replace("-", "−")
        if any(letter in "123456789" for letter in text)
        else text.replace("-", "")
    )
