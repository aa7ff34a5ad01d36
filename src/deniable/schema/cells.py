"""What cells of a column mean: files and frames cannot always hold a value as it was declared.

A column that is read from a .csv file, a sheet or pandas has one type for all of its cells. So a yes
beside "no answer" is a text there, the code "1" a number, and beside an empty cell a double. A cell
stands for the declared value that it equals, or else for the only one that it spells.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from deniable.schema.attribute import Attribute

_NUMERAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"-?\d+", re.ASCII)
_WORDS = {
    truth: tuple(form for word in words for form in (word, word.capitalize(), word.upper()))
    for truth, words in ((True, ("true", "yes")), (False, ("false", "no")))
}


class Cells(NamedTuple):
    """The code of each cell that has one, by what the column's type makes of cells."""

    truths: dict[Any, int]
    numbers: dict[Any, int]
    texts: dict[Any, int]


def cells_of(attribute: Attribute) -> Cells:
    """Return which cells stand for which of an attribute's listed values.

    >>> from deniable import Attribute
    >>> cells_of(Attribute("children", ("0", "1", "99"))).numbers
    {0.0: 0, 1.0: 1, 99.0: 2}
    """
    codes = list(enumerate(attribute.values))
    truths: dict[Any, int] = {v: code for code, v in codes if isinstance(v, bool)}
    whole = {v: code for code, v in codes if isinstance(v, int) and not isinstance(v, bool)}
    texts: dict[Any, int] = {v: code for code, v in codes if isinstance(v, str)}
    numbers: dict[Any, int] = {float(v): code for v, code in whole.items()}
    numerals = {text: float(text) for text in texts if _WHOLE.fullmatch(text)}
    times = Counter(numerals.values())
    for text, number in numerals.items():
        if times[number] == 1:  # 1 may not be both 1 and 01
            numbers.setdefault(number, texts[text])
    answers = {value for _, value in codes} - {attribute.missing, attribute.other}
    is_truth = bool(truths) and answers <= truths.keys()
    spelled: dict[Any, int] = {}
    for number, code in whole.items():
        spelled |= {str(number): code, f"{number}.0": code}
    for truth, code in truths.items():
        spelled |= dict.fromkeys(_WORDS[truth], code)
        if is_truth:  # no other number has a meaning that 1 and 0 could be confused with
            numbers.setdefault(float(truth), code)
            spelled |= {str(int(truth)): code, f"{int(truth)}.0": code}
    for truth, words in _WORDS.items():
        own = [texts[word] for word in words if word in texts]
        if len(own) == 1:
            truths.setdefault(truth, own[0])
    return Cells(truths, numbers, spelled | texts)


def number_in(text: str) -> float | None:
    """Return the finite number that a text is, with a point for its decimals; None for anything else.

    >>> number_in("41"), number_in("-1.50"), number_in("1,5"), number_in(" 2"), number_in("1e999")
    (41.0, -1.5, None, None, None)
    """
    number = float(text) if _NUMERAL.fullmatch(text) else math.nan
    return number if math.isfinite(number) else None


def codes_of_texts(
    attribute: Attribute, column: Any, level_of: Callable[[str], int | None]
) -> NDArray[np.int64]:
    """Return the codes of an Arrow array of texts about a number or a day, −1 where there is none.

    What stands for a missing number is known by its name.
    """
    import pyarrow as pa

    stand_ins = [v for v in (attribute.missing, attribute.other) if isinstance(v, str)]
    names = {name: attribute.code_of(name) for name in stand_ins}
    texts = column.cast(pa.string()).dictionary_encode()
    codes = [-1]
    for text in texts.dictionary.to_pylist():
        code = names[text] if text in names else level_of(text)
        codes.append(-1 if code is None else code)
    indices = texts.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    picked: NDArray[np.int64] = np.array(codes)[indices + 1]
    return picked


def as_texts(cells: Iterable[object]) -> list[str | None] | None:
    """Return cells of several types as texts that spell them; None if one holds what no text says.

    >>> from datetime import date
    >>> as_texts([True, 1.0, "no answer", None, date(2026, 11, 1)])
    ['true', '1', 'no answer', None, '2026-11-01']
    """
    from deniable.schema.attribute import is_absent, plain, spoken
    from deniable.schema.scale import day_of

    texts: list[str | None] = []
    for cell in cells:
        value = plain(cell)
        day = None if isinstance(value, str) else day_of(value)
        if is_absent(value):
            texts.append(None)
        elif day is not None:
            texts.append(day.isoformat())
        elif isinstance(value, bool | int | float | str):
            texts.append(spoken(value))
        else:
            return None
    return texts


def text_column(cells: Sequence[object]) -> Any:
    """Return cells of several types as an Arrow array of texts; None if one holds what no text says."""
    import pyarrow as pa

    texts = as_texts(cells)
    return None if texts is None else pa.array(texts, pa.string())
