"""Write tests/vectors/letters.json: texts with letters that show nothing, and how they are shown.

`labels` are pairs of a label's values, which are refused or not; `shown` are texts, as a name, a value
or a unit of somebody else's is shown in a question.
"""

from __future__ import annotations

import json
from pathlib import Path

from deniable.errors import SurveyError
from deniable.questions.legible import legible
from deniable.schema.labels import Labels

PATH = Path(__file__).parents[1] / "tests" / "vectors" / "letters.json"
INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b\u180e\u180f\u200b\u200c\u200d\u200e\u200f\u202a\u202e\u2060"
    "\u2064\u2066\u206f\u2800\u3164\ufdd0\ufe00\ufe0e\ufe0f\ufeff\uffa0\ufff0\ufff9\uffff\U00016fe4\U0001bca0"
    "\U0001d159\U0001d173\U000e0001\U000e0061\U000e0100\U000e0fff"
)
"""Letters that show nothing, some of each kind."""

VALUES = (
    *(["x", f"x{letter}"] for letter in INVISIBLE),
    *(["x", letter] for letter in "\u2800\u3164\uffa0"),
    *(["x", f"{letter}x"] for letter in " \u00a0\u3000\ue000"),
    ["x y", "x  y"],
    ["Z\u00fcrich", "Zu\u0308rich"],
    ["\uac00", "\u1100\u1161"],
    ["\u212b", "\u00c5"],
    ["Z\u00fcrich", "Zurich"],
    ["x", "X"],
    ["\u043d\u0435\u0442", "\u0434\u0430"],
    ["\u0641\u0627\u0631\u0633\u06cc", "\u06a9\u0631\u062f\u06cc"],
)
SHOWN = (
    *(f"a{letter}b" for letter in INVISIBLE),
    *("\u2764\ufe0f", "\u2764\ufe0e", "\u00a9\ufe0f", "1\ufe0f\u20e3", "1\ufe0f"),
    *("a\ufe0f\u20e3", "\ufe0f", "\u3042\ufe0f", "\U0001f600\ufe0f"),
    *("\U0001f469\u200d\u2764\ufe0f\u200d\U0001f468", "\u0645\u06cc\u200c\u062e\u0648\u0627"),
    *("20\u00a0%", "\u3042\u3000\u3042", "\ue000", "\U000f0000", "\U000fffff"),
)


def is_refused(values: list[str]) -> bool:
    """Tell whether a label with these values is refused."""
    try:
        Labels.of({"region": values})
    except SurveyError:
        return True
    return False


def main() -> None:
    """Write the vectors."""
    form = {
        "labels": [{"values": values, "refused": is_refused(values)} for values in VALUES],
        "shown": [{"text": text, "shown": legible(text)} for text in SHOWN],
    }
    PATH.write_text(json.dumps(form, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
