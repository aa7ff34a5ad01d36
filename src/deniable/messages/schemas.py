"""Messages as JSON Schema, for programs that read such documents; OpenAPI refers to these."""

from __future__ import annotations

from re import Pattern
from typing import Any

from deniable.messages.modes import Participants, Slots, choices
from deniable.messages.problems import BASE, PROBLEMS
from deniable.messages.report import MOST_EXACT, MOST_NUMBER, MOST_REPORTS, NAMED_BY
from deniable.messages.token import IDEMPOTENCY_KEY, SURVEY_ID, TOKEN_LETTERS

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}


def record(required: Schema, optional: Schema | None = None) -> Schema:
    """Return an object with these fields and no others."""
    return {
        "type": "object",
        "properties": required | (optional or {}),
        "required": list(required),
        "additionalProperties": False,
    }


def array(items: Schema, **limits: int) -> Schema:
    """Return a list of something."""
    return {"type": "array", **limits, "items": items}


def _texts(pattern: Pattern[str]) -> Schema:
    return TEXT | {"pattern": f"^{pattern.pattern}$"}


def _decimal(most: int) -> str:
    """Return the pattern of the decimal texts of whole numbers up to one of them."""
    digits = str(most)
    below = [  # as long as it, and smaller at one digit
        f"{digits[:place]}[{int(not place)}-{int(digit) - 1}][0-9]{{{len(digits) - place - 1}}}"
        for place, digit in enumerate(digits)
        if int(digit) > int(not place)
    ]
    return "^({})$".format("|".join(["0", f"[1-9][0-9]{{0,{len(digits) - 2}}}", *below, digits]))


SURVEY = _texts(SURVEY_ID)
KEY = _texts(IDEMPOTENCY_KEY)
LABELS: Schema = {
    "type": "object",
    "description": "Every label that the survey declares, the drawn period included: sent as they are.",
    "additionalProperties": TEXT,
}
MODES: dict[str, Schema] = {
    "slots": {"enum": list(choices(Slots))},
    "participants": {"enum": list(choices(Participants))},
}
_NUMBER: Schema = {
    "description": "A whole number below 2⁶³: its decimal text, or a JSON integer below 2⁵³.",
    "anyOf": [
        TEXT | {"pattern": _decimal(MOST_NUMBER)},
        {"type": "integer", "minimum": 0, "maximum": MOST_EXACT},
    ],
}
_VALUES: tuple[Schema, ...] = (
    {"value": _NUMBER},
    {
        "packed": TEXT
        | {"description": "A unary value of 2⁶³ or more: base64 of its little-endian bytes."}
    },
)

REPORT: Schema = {
    "oneOf": [
        record(
            {name: _NUMBER if name == "slot" else TEXT} | value,
            ({} if name == "ticket" else {"survey": SURVEY}) | {"labels": LABELS},
        )
        for name in NAMED_BY.values()
        for value in _VALUES
    ]
}

QUESTION_REQUEST = record(
    {"token": TEXT | {"minLength": TOKEN_LETTERS[0], "maxLength": TOKEN_LETTERS[1]}},
    {"survey": SURVEY},
)

CODE_REQUEST = record(
    {"code": TEXT | {"minLength": TOKEN_LETTERS[0], "maxLength": TOKEN_LETTERS[1]}}
)

PROBLEM: Schema = {
    "description": "RFC 9457. The last part of the type is stable.",
    **record(
        {
            "type": {"enum": [BASE + name for name in PROBLEMS]},
            "title": TEXT,
            "status": {"type": "integer"},
        },
        {"detail": TEXT},
    ),
}

ACCEPTED: Schema = {
    "anyOf": [
        record({"accepted": {"const": 1}}),
        record(
            {
                "accepted": {"type": "integer"},
                "refused": array(
                    record({"index": {"type": "integer"}, "type": {"enum": list(PROBLEMS)}})
                ),
            }
        ),
    ]
}
"""What is said of one report, or of many."""


def reports(report: Schema) -> Schema:
    """Return one report, or a list of them."""
    return {"anyOf": [report, array(report, maxItems=MOST_REPORTS)]}
