"""Write tests/vectors/hashed.json: ids and the slots that follow from them."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from deniable import Schema, Survey
from deniable.questions.entropy import HashedSource

PATH = Path(__file__).parents[1] / "tests" / "vectors" / "hashed.json"
SURVEYS = (
    Survey(Schema.binary("a", "b", "c", "d", "e"), 2, 1.1, "InpHT"),
    Survey(Schema.binary(*(f"a{i}" for i in range(9))), 2, 1.0),
    Survey(Schema.of(work=["a", "b", "c"], sex=["f", "m"], age=[1, 2, 3, 4, 5]), 2, 1.1),
)


def main() -> None:
    rows = []
    for survey in SURVEYS:
        for number in range(8):
            serial = number.to_bytes(8, "big") + bytes(range(number, number + 16))
            issued = base64.urlsafe_b64encode(serial).decode()
            text = f"deniable.slot{survey.id}{issued}".encode()
            source = HashedSource(text)
            words = [str(source.word()) for _ in range(6)]
            slot = survey.draw_slot(HashedSource(text))
            rows.append({"survey": survey.id, "id": issued, "words": words, "slot": str(slot)})
    form = {
        "surveys": {survey.id: json.loads(survey.to_json()) for survey in SURVEYS},
        "slots": rows,
    }
    PATH.write_text(json.dumps(form, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
