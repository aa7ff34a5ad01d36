"""What a survey costs a device: bits to send, attributes to read, random words to draw.

All of it is read off the questions, so that a new mechanism needs nothing here.
"""

from __future__ import annotations

from deniable.mechanisms.base import Mechanism
from deniable.questions.answers import Unary

__all__ = ["attributes_read", "bits_per_report", "random_words"]


def bits_per_report(mechanism: Mechanism) -> int:
    """Return the bits that name a slot and a value."""
    value = max(
        family.answer.symbols
        if isinstance(family.answer, Unary)
        else (family.answer.outcomes - 1).bit_length()
        for family in mechanism.families
    )
    return (mechanism.slots - 1).bit_length() + value


def attributes_read(mechanism: Mechanism) -> int:
    """Return the most attributes that one question touches."""
    return max(shape.attributes for shape in mechanism.shapes)


def random_words(mechanism: Mechanism) -> int:
    """Return the 64-bit words that a device draws for its slot and its longest answer.

    A uniform draw that is rejected is made again, less than once on average; that is not counted.
    """
    slot = _Zeros()
    mechanism.draw_slot(slot)
    return slot.drawn + max(family.answer.words for family in mechanism.families)


class _Zeros:
    """A source that counts its words; they are zero, which no uniform draw rejects."""

    drawn = 0

    def word(self) -> int:
        """Return zero."""
        self.drawn += 1
        return 0
