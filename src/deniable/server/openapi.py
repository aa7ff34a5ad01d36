"""The OpenAPI document: the collector's interface, for programs that read such documents."""

from __future__ import annotations

from functools import cache
from typing import Any

from deniable import __version__
from deniable.server.problems import PROBLEMS

__all__ = ["document"]

_ID = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_NUMBER = {
    "description": "A whole number below 2⁶³: its decimal text, or a JSON integer below 2⁵³.",
    "anyOf": [
        {"type": "string", "pattern": "^(0|[1-9][0-9]{0,17})$"},
        {"type": "integer", "minimum": 0, "maximum": (1 << 53) - 1},
    ],
}
_PACKED = {
    "type": "string",
    "description": "A unary value of 2⁶³ or more: base64 of its little-endian bytes.",
}
_SLOTS = {"enum": ["assigned", "hashed", "drawn"]}
_PARTICIPANTS = {"enum": ["open", "issued"]}
_NUMBERS = {"type": "number"}
_NULLABLE = {"type": ["number", "null"]}
_LABELS = {
    "type": "object",
    "description": "Every label that the survey declares, the drawn period included: sent as they are.",
    "additionalProperties": {"type": "string"},
}
_TABLE = {"type": "array", "description": "Nested arrays, one level per attribute."}


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": required | (optional or {}),
        "required": list(required),
        "additionalProperties": False,
    }


def _report(named: dict[str, Any], optional: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    beside = (optional or {}) | {"labels": _LABELS}
    return [_object(named | value, beside) for value in ({"value": _NUMBER}, {"packed": _PACKED})]


_SCHEMAS: dict[str, Any] = {
    "Problem": {
        "description": "RFC 9457. The last part of the type is stable.",
        **_object(
            {
                "type": {
                    "enum": [f"https://deniable.invalid/problems/{name}" for name in PROBLEMS]
                },
                "title": {"type": "string"},
                "status": {"type": "integer"},
            },
            {"detail": {"type": "string"}},
        ),
    },
    "Report": {
        "oneOf": [
            *_report({"ticket": {"type": "string"}}),
            *_report({"id": {"type": "string"}}, {"survey": _ID}),
            *_report({"slot": _NUMBER}, {"survey": _ID}),
        ]
    },
    "Question": {"type": "object", "description": "See docs/formats.md, Question."},
}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _problems(*names: str) -> dict[str, Any]:
    """Return the responses of problems, by status."""
    made: dict[str, Any] = {}
    for name in (*names, "unavailable"):
        status = str(PROBLEMS[name][0])
        said = made[status]["description"] + ", " if status in made else ""
        made[status] = {
            "description": said + name,
            "content": {"application/problem+json": {"schema": _ref("Problem")}},
        }
    return made


def _said(schema: dict[str, Any], *problems: str) -> dict[str, Any]:
    return {
        "200": {"description": "Done.", "content": {"application/json": {"schema": schema}}},
        **_problems(*problems),
    }


def _takes(schema: dict[str, Any]) -> dict[str, Any]:
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _query(name: str, schema: dict[str, Any], about: str, required: bool = False) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "required": required,
        "schema": schema,
        "description": about,
    }


_SURVEY = _query("survey", _ID, "The survey's id; not needed where the collector holds one.")
_LABEL = {
    **_query("label", _LABELS, "Only those who have these labels: label[region]=north."),
    "style": "deepObject",
    "explode": True,
}
_CONSISTENCY = _query(
    "consistency", {"enum": ["none", "joint", "model"]}, "What is done to the estimates."
)


def _release(
    about: str,
    schema: dict[str, Any] | None,
    *queries: dict[str, Any],
    kind: str = "",
    survey: bool = True,
    label: bool = True,
) -> dict[str, Any]:
    """Return what analysts may get: a document, or a file of some kind."""
    names = ("malformed", "unauthorized", "survey-unknown", "no-reports", "table-impossible")
    small = ("group-small", "label-unknown") if survey else ()
    responses = _said(schema or {}, *names, *small)
    if kind:
        responses["200"]["content"] = {kind: {"schema": {"type": "string"}}}
    return {
        "get": {
            "summary": about,
            "parameters": [
                *([_SURVEY] if survey else []),
                *([_LABEL] if survey and label else []),
                *queries,
            ],
            "security": [{"analysts": []}],
            "responses": responses,
        }
    }


def _public(about: str, kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    shown = {"200": {"description": "Done.", "content": {kind: {"schema": schema}}}}
    return {"get": {"summary": about, "responses": shown | _problems("malformed")}}


@cache
def document() -> dict[str, Any]:
    """Return the document."""
    told = {
        "id": _ID,
        "attributes": {"type": "integer"},
        "order": {"type": "integer"},
        "epsilon": _NUMBERS,
        "mechanism": {"type": "string"},
        "slots": _SLOTS,
        "participants": _PARTICIPANTS,
    }
    refused = _object({"index": {"type": "integer"}, "type": {"enum": list(PROBLEMS)}})
    many = _object(
        {"accepted": {"type": "integer"}, "refused": {"type": "array", "items": refused}}
    )
    check = _object(
        {
            "name": {"type": "string"},
            "alarm": {"type": "boolean"},
            "p_value": _NULLABLE,
            "sentence": {"type": "string"},
        }
    )
    label = _object(
        {"name": {"type": "string"}, "values": {"type": "array", "items": {"type": "string"}}}
    )
    rows = {"type": "array", "items": {"type": "object"}}
    paths: dict[str, Any] = {
        "/v1/surveys": _public(
            "The surveys that are collected.",
            "application/json",
            _object({"surveys": {"type": "array", "items": _object(told)}}),
        ),
        "/v1/survey": {
            "get": {
                "summary": "One survey in full, and how far liars can push its estimates.",
                "parameters": [_SURVEY],
                "responses": _said(
                    _object(
                        {
                            "id": _ID,
                            "survey": {"type": "object"},
                            "slots": _SLOTS,
                            "participants": _PARTICIPANTS,
                            "poisoning": {"type": "string"},
                        }
                    ),
                    *("malformed", "survey-unknown"),
                ),
            }
        },
        "/v1/questions": {
            "post": {
                "summary": "Ask to be asked: a participant's ticket and question, always the same.",
                "requestBody": _takes(
                    _object(
                        {"token": {"type": "string", "minLength": 1, "maxLength": 256}},
                        {"survey": _ID},
                    )
                ),
                "responses": _said(
                    _object(
                        {
                            "ticket": {"type": "string"},
                            "question": _ref("Question"),
                            "expires": {"type": "string", "format": "date-time"},
                        }
                    ),
                    *("malformed", "participant-unknown", "survey-unknown", "answered"),
                    *("no-tickets", "too-slow", "too-large", "unsupported-media-type"),
                    "too-many-requests",
                ),
            }
        },
        "/v1/reports": {
            "post": {
                "summary": "Send one report or many; what is acknowledged is durable.",
                "parameters": [
                    {
                        "name": "Idempotency-Key",
                        "in": "header",
                        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{16,64}$"},
                        "description": "Recognises a repeat where slots are drawn.",
                    }
                ],
                "requestBody": _takes(
                    {
                        "anyOf": [
                            _ref("Report"),
                            {"type": "array", "maxItems": 10_000, "items": _ref("Report")},
                        ]
                    }
                ),
                "responses": _said(
                    {"anyOf": [_object({"accepted": {"const": 1}}), many]},
                    *("malformed", "participant-unknown", "ticket-invalid", "survey-unknown"),
                    *("answered", "conflict", "ticket-expired", "too-large", "value-impossible"),
                    "label-unknown",
                    *("key-reused", "too-slow", "unsupported-media-type", "too-many-requests"),
                ),
            }
        },
        "/v1/release": _release(
            "What there is so far.",
            _object(
                {
                    "survey": _ID,
                    "mechanism": {"type": "string"},
                    "order": {"type": "integer"},
                    "epsilon": _NUMBERS,
                    "attributes": {"type": "array", "items": {"type": "string"}},
                    "labels": {"type": "array", "items": label},
                    "group": _LABELS,
                    "people": {"type": "integer"},
                    "expected_error": _NULLABLE,
                    "plausible": {"type": ["boolean", "null"]},
                    "integrity": {"type": ["object", "null"]},
                }
            ),
        ),
        "/v1/release/groups": _release(
            "Which groups have reports enough to be displayed.",
            _object(
                {
                    "fewest": {"type": "integer"},
                    "groups": {
                        "type": "array",
                        "items": _object({"group": _LABELS, "people": {"type": "integer"}}),
                    },
                    "small": {"type": "array", "items": _LABELS},
                }
            ),
            _query(
                "by",
                {"type": "array", "items": {"type": "string"}},
                "Labels that groups share, one each time; without it, groups by each label alone.",
            ),
            label=False,
        ),
        "/v1/release/marginal": _release(
            "One table with intervals.",
            _object(
                {
                    "attributes": rows,
                    "people": {"type": "integer"},
                    "level": _NUMBERS,
                    "kind": {"type": "string"},
                    "interval_kind": {"type": "string"},
                    "known": {"type": "boolean"},
                    "plausible": {"type": "boolean"},
                    **dict.fromkeys(("values", "standard_error", "low", "high"), _TABLE),
                }
            ),
            _query(
                "attributes",
                {"type": "array", "items": {"type": "string"}},
                "One name each time: attributes=a&attributes=b.",
            ),
            _query(
                "level",
                {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
                "Of the intervals.",
            ),
            _CONSISTENCY,
        ),
        "/v1/release/associations": _release(
            "A test of independence for each pair.", _object({"associations": rows}), _CONSISTENCY
        ),
        "/v1/release/tree": _release(
            "The tree over the attributes.", {"type": "object"}, _CONSISTENCY
        ),
        "/v1/release/history": _release(
            "People and mean half-width, whenever people had doubled, and now.",
            _object(
                {
                    "history": {
                        "type": "array",
                        "items": _object({"people": {"type": "integer"}, "half_width": _NULLABLE}),
                    }
                }
            ),
        ),
        "/v1/release/report": _release(
            "The report, one file.", None, _CONSISTENCY, kind="text/html"
        ),
        "/v1/release/tables.csv": _release("All tables.", None, _CONSISTENCY, kind="text/csv"),
        "/v1/release/tables.json": _release("All tables.", {"type": "object"}, _CONSISTENCY),
        "/v1/release/tables.parquet": _release(
            "All tables.", None, _CONSISTENCY, kind="application/vnd.apache.parquet"
        ),
        "/v1/integrity": _release(
            "Does it look like what honest people would send?",
            _object(
                {
                    "people": {"type": "integer"},
                    "alarm": {"type": "boolean"},
                    "checks": {"type": "array", "items": check},
                }
            ),
        ),
        "/metrics": _release("Numbers for Prometheus.", None, kind="text/plain", survey=False),
        "/healthz": _public(
            "Can reports be stored?", "application/json", _object({"status": {"const": "ok"}})
        ),
        "/openapi.json": _public("This document.", "application/json", {"type": "object"}),
        "/": _public("The participants' page.", "text/html", {"type": "string"}),
        "/dashboard": _public("The analysts' page.", "text/html", {"type": "string"}),
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "deniable collector",
            "version": __version__,
            "description": "Collects deniable reports. docs/http.md tells it in words.",
        },
        "paths": paths,
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {"analysts": {"type": "http", "scheme": "bearer"}},
        },
    }
