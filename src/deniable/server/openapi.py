"""The OpenAPI document: the collector's interface, for programs that read such documents.

What travels is described by `deniable.messages.schemas`; here is what travels where.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from deniable import __version__
from deniable.messages import schemas
from deniable.messages.problems import PROBLEMS
from deniable.messages.schemas import LABELS, MODES, SURVEY, TEXT, Schema, array, record
from deniable.release.consistency import CONSISTENCY, READABLE
from deniable.server.access import NEEDS

TABLE_TYPES = {
    "csv": "text/csv",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
    "sav": "application/x-spss-sav",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
"""The media type of all tables as a file, by its ending."""

_JSON = TABLE_TYPES["json"]
_INTEGER = {"type": "integer"}
_NUMBER = {"type": "number"}
_TRUTH = {"type": "boolean"}
_NULLABLE = {"type": ["number", "null"]}
_OBJECT = {"type": "object"}
_UNIT = {"type": ["string", "null"]}
_ROWS = array(_OBJECT)
_TABLE = {"type": "array", "description": "Nested arrays, one level per attribute."}

_SCHEMAS: Schema = {
    "Problem": schemas.PROBLEM,
    "Report": schemas.REPORT,
    "Question": {"type": "object", "description": "See docs/formats.md, Question."},
}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _problems(*names: str) -> Schema:
    by_status: dict[str, list[str]] = {}
    for name in (*names, "unavailable"):
        by_status.setdefault(str(PROBLEMS[name].status), []).append(name)
    content = {"application/problem+json": {"schema": _ref("Problem")}}
    return {
        status: {"description": ", ".join(alike), "content": content}
        for status, alike in by_status.items()
    }


def _success(schema: Schema, kind: str = _JSON) -> Schema:
    return {"200": {"description": "Done.", "content": {kind: {"schema": schema}}}}


def _query(name: str, schema: Schema, about: str) -> Schema:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": about}


_SURVEY = _query("survey", SURVEY, "The survey's id; not needed where the collector holds one.")
_LABEL = {
    **_query("label", LABELS, "Only those who have these labels: label[region]=north."),
    "style": "deepObject",
    "explode": True,
}
_POOL = _query("pool", array(SURVEY), "Other surveys to read together with it, one each time.")
_CONSISTENCY, _READABLE = (
    _query(
        "consistency",
        {"enum": list(CONSISTENCY), "default": default},
        "What is done to the estimates.",
    )
    for default in (CONSISTENCY[0], READABLE)
)
_LANGUAGE = _query("language", TEXT, "Of the survey's words, if it has some; its own by default.")
_PROBABILITY = {**_NUMBER, "exclusiveMinimum": 0, "exclusiveMaximum": 1}
_LEVEL = _query("level", _PROBABILITY, "Of the intervals.")


def _public(about: str, schema: Schema, kind: str = _JSON) -> Schema:
    return {"get": {"summary": about, "responses": _success(schema, kind) | _problems("malformed")}}


def _post(about: str, body: Schema, answer: Schema, problems: str, *parameters: Schema) -> Schema:
    """Return what participants send, and what they get: some problems are those of both requests."""
    names = "malformed participant-unknown key-retired survey-unknown answered survey-closed"
    names = f"{names} {problems} too-slow too-large unsupported-media-type too-many-requests"
    return {
        "post": {
            "summary": about,
            **({"parameters": list(parameters)} if parameters else {}),
            "requestBody": {"required": True, "content": {_JSON: {"schema": body}}},
            "responses": _success(answer) | _problems(*names.split()),
        }
    }


def _release(
    about: str,
    schema: Schema,
    *queries: Schema,
    kind: str = _JSON,
    of: tuple[Schema, ...] = (_SURVEY, _LABEL, _POOL),
) -> Schema:
    """Return what analysts may get: a document, or a file of some kind."""
    names = [
        "malformed",
        "unauthorized",
        "forbidden",
        "survey-unknown",
        "no-reports",
        "table-impossible",
    ]
    small = ("group-small", "label-unknown") if of else ()
    return {
        "get": {
            "summary": about,
            "parameters": [*of, *queries],
            "responses": _success(schema, kind) | _problems(*names, *small),
        }
    }


_HEAD = record({"size": _INTEGER, "root": TEXT})
_ENTRY = record({"day": {**TEXT, "format": "date"}, "survey": SURVEY})
_PROOF = record(
    {"head": _HEAD, "consistency": array(TEXT)},
    {"entry": _ENTRY, "index": _INTEGER, "inclusion": array(TEXT)},
)


_END = {
    "closed": {**_TRUTH, "description": "It gives no new questions."},
    "ends": {"type": ["string", "null"], "format": "date-time", "description": "When it does."},
}


def _for_participants() -> Schema:
    row = {
        "id": SURVEY,
        "attributes": _INTEGER,
        "order": _INTEGER,
        "epsilon": _NUMBER,
        "mechanism": TEXT,
        **MODES,
        **_END,
    }
    whole = {"id": SURVEY, "survey": _OBJECT, **MODES, "poisoning": TEXT, **_END}
    question = {
        "ticket": TEXT,
        "question": _ref("Question"),
        "expires": {**TEXT, "format": "date-time"},
    }
    key = {
        "name": "Idempotency-Key",
        "in": "header",
        "schema": schemas.KEY,
        "description": "Recognises a repeat where slots are drawn.",
    }
    return {
        "/v1/surveys": _public(
            "The surveys that are collected.", record({"surveys": array(record(row))})
        ),
        "/v1/survey": {
            "get": {
                "summary": "One survey in full, and how far liars can push its estimates.",
                "parameters": [_SURVEY],
                "responses": _success(record(whole)) | _problems("malformed", "survey-unknown"),
            }
        },
        "/v1/questions": _post(
            "Ask to be asked: a participant's ticket and question, always the same.",
            schemas.QUESTION_REQUEST,
            record(question),
            "no-tickets",
        ),
        "/v1/reports": _post(
            "Send one report or many; what is acknowledged is durable.",
            schemas.reports(_ref("Report")),
            schemas.ACCEPTED,
            "ticket-invalid conflict ticket-expired value-impossible label-unknown key-reused",
            key,
        ),
    }


def _documents() -> Schema:
    return {
        "/v1/texts": {
            "get": {
                "summary": "What people read of a survey whose id covers it, in all languages.",
                "parameters": [_SURVEY],
                "responses": _success(_OBJECT)
                | _problems("malformed", "survey-unknown", "no-texts"),
            }
        },
        "/v1/log": _public(
            "The public log of all surveys that were ever offered, in order.",
            record({"head": _HEAD, "entries": array(_ENTRY)}),
        ),
        "/v1/log/proof": {
            "get": {
                "summary": "Proofs that the log continues an earlier one, and that a survey is in it.",
                "parameters": [
                    _query("survey", SURVEY, "The survey whose entry is proven."),
                    _query(
                        "size", {**_INTEGER, "minimum": 0}, "The earlier log's size; 0 without."
                    ),
                ],
                "responses": _success(_PROOF)
                | _problems("malformed", "survey-unknown", "head-unknown"),
            }
        },
    }


_OVERVIEW = record(
    {
        "survey": SURVEY,
        "mechanism": TEXT,
        "order": _INTEGER,
        "epsilon": _NUMBER,
        "attributes": array(TEXT),
        "numbers": array(record({"name": TEXT, "unit": _UNIT})),
        "categories": array(TEXT),
        "labels": array(record({"name": TEXT, "values": array(TEXT), "words": array(TEXT)})),
        "group": LABELS,
        "people": _INTEGER,
        **_END,
        "expected_error": _NULLABLE,
        "plausible": {"type": ["boolean", "null"]},
        "integrity": {"type": ["object", "null"]},
        "pooled": {"type": ["object", "null"]},
        "wording": {"type": ["object", "null"], "description": "The survey's own words."},
    }
)
_POOLABLE = record(
    {
        "survey": SURVEY,
        "surveys": array(
            record(
                {
                    "survey": SURVEY,
                    "people": _INTEGER,
                    "shared": array(TEXT),
                    "exact": _TRUTH,
                    "refused": _UNIT,
                }
            )
        ),
    }
)
_GROUPS = record(
    {
        "fewest": _INTEGER,
        "groups": array(record({"group": LABELS, "people": _INTEGER})),
        "small": array(LABELS),
    }
)
_MARGINAL = record(
    {
        "attributes": _ROWS,
        "people": _INTEGER,
        "level": _NUMBER,
        "kind": TEXT,
        "interval_kind": TEXT,
        "known": _TRUTH,
        "plausible": _TRUTH,
        "expected_error": _NULLABLE,
        "swamped": _TRUTH,
        "words": TEXT,
        **dict.fromkeys(("values", "standard_error", "low", "high", "doubtful"), _TABLE),
    }
)
_POINT = {
    "type": ["number", "string", "boolean", "null"],
    "description": "Days and words are texts.",
}
_ESTIMATE = {
    "standard_error": _NULLABLE,
    **dict.fromkeys(("estimate", "low", "high", "raw"), _POINT),
}
_TEXTS = {"text": TEXT, "interval": TEXT}
_COLUMNS = ("share", "cumulative", "low", "high")
_DISTRIBUTION = record({"point": array(_POINT), **dict.fromkeys(_COLUMNS, array(_NUMBER))})
_OF_NUMBER = {"attribute": TEXT, "unit": _UNIT, "people": _INTEGER, "level": _NUMBER}
_FULL_NUMBER = record(
    {
        **_OF_NUMBER,
        "simulated": _TRUTH,
        "mean": record({**_ESTIMATE, **_TEXTS}),
        "variance": record(_ESTIMATE),
        "quantiles": array(record({"probability": _NUMBER, **_ESTIMATE, **_TEXTS})),
        "missing": _NULLABLE,
        "distribution": _DISTRIBUTION,
        "drawing": record({"histogram": TEXT, "curve": TEXT}),
        "bars": array(record({"points": TEXT, **dict.fromkeys(_COLUMNS, _NUMBER)})),
    }
)
_MEANS = record(
    {
        **_OF_NUMBER,
        "by": array(TEXT),
        "p_value": _NUMBER,
        "means": array(record({"group": _OBJECT, **_ESTIMATE, "drawing": _OBJECT})),
    }
)
_CORRELATION = record(
    {
        "attributes": array(TEXT),
        "people": _INTEGER,
        "level": _NUMBER,
        **dict.fromkeys(_ESTIMATE, _NULLABLE),
        **_TEXTS,
    }
)
_CHECK = record({"name": TEXT, "alarm": _TRUTH, "p_value": _NULLABLE, "sentence": TEXT})
_INTEGRITY = record({"people": _INTEGER, "alarm": _TRUTH, "checks": array(_CHECK)})
_HISTORY = record({"history": array(record({"people": _INTEGER, "half_width": _NULLABLE}))})


def _files() -> Schema:
    """Return all tables as files, by their ending."""
    return {
        f"/v1/release/tables.{ending}": _release(
            "All tables.", _OBJECT if kind == _JSON else TEXT, _READABLE, _LANGUAGE, kind=kind
        )
        for ending, kind in TABLE_TYPES.items()
    }


def _for_analysts() -> Schema:
    number = {**_query("attribute", TEXT, "The number's name."), "required": True}
    names = _query("attributes", array(TEXT), "One name each time: attributes=a&attributes=b.")
    addresses = {
        "/v1/release": _release("What there is so far.", _OVERVIEW, _LANGUAGE),
        "/v1/release/groups": _release(
            "Which groups are shown, by one label each.",
            _GROUPS,
            of=(_SURVEY,),
        ),
        "/v1/release/poolable": _release(
            "Which other surveys can be pooled with it.", _POOLABLE, of=(_SURVEY,)
        ),
        "/v1/release/marginal": _release(
            "One table with intervals.", _MARGINAL, names, _LEVEL, _READABLE, _LANGUAGE
        ),
        "/v1/release/number": _release(
            "A number: mean, variance, quantiles, distribution.",
            _FULL_NUMBER,
            number,
            _query("probability", array(_PROBABILITY), "Of quantiles; by default, the quartiles."),
            _LEVEL,
            _LANGUAGE,
        ),
        "/v1/release/means": _release(
            "The means of a number in groups of people, and a test of their difference.",
            _MEANS,
            number,
            {**_query("by", array(TEXT), "Attributes that make the groups."), "required": True},
            _LEVEL,
            _LANGUAGE,
        ),
        "/v1/release/correlation": _release(
            "The correlation of two numbers.", _CORRELATION, names, _LEVEL
        ),
        "/v1/release/associations": _release(
            "A test of independence for each pair.", record({"associations": _ROWS}), _CONSISTENCY
        ),
        "/v1/release/tree": _release("The tree over the attributes.", _OBJECT, _CONSISTENCY),
        "/v1/release/history": _release(
            "People and mean half-width, whenever people had doubled, and now.", _HISTORY
        ),
        "/v1/release/report": _release(
            "The report, one file.", TEXT, _READABLE, _LANGUAGE, kind="text/html"
        ),
        **_files(),
        "/v1/integrity": _release("Does it look like what honest people would send?", _INTEGRITY),
        "/metrics": _release("Numbers for Prometheus.", TEXT, kind="text/plain", of=()),
    }
    for path, methods in addresses.items():
        for operation in methods.values():  # of a bearer token, these are the roles that it takes
            operation["security"] = [{"analysts": [NEEDS[path]]}]
    return addresses


@cache
def document() -> dict[str, Any]:
    """Return the document."""
    for_everybody = {
        "/healthz": _public(
            "Can reports be stored? Does a proxy tell who asks?",
            record({"status": {"const": "ok"}, "forwarded": {"type": "boolean"}}),
        ),
        "/openapi.json": _public("This document.", _OBJECT),
        "/v1/session": _post(
            "Exchange the code of an address that opens the dashboard, once, for a bearer token.",
            schemas.CODE_REQUEST,
            record({"token": TEXT}),
            "unauthorized",
        ),
        "/": _public("The participants' page.", TEXT, "text/html"),
        "/dashboard": _public("The analysts' page.", TEXT, "text/html"),
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "deniable collector",
            "version": __version__,
            "description": "Collects deniable reports. docs/http.md tells it in words.",
        },
        "paths": _for_participants() | _documents() | _for_analysts() | for_everybody,
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {"analysts": {"type": "http", "scheme": "bearer"}},
        },
    }
