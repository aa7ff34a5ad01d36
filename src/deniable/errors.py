"""Everything deniable raises on purpose.

::

    DeniableError
    ├── SchemaError        what a person may hold is badly declared
    ├── RecordError        a record or frame does not fit its schema (never repeats a person's value)
    ├── SurveyError        a survey cannot be made, or a survey file is not one
    ├── QuestionnaireError  a questionnaire file is none, or says what cannot be asked
    ├── TextsError         the words of a survey are not those that its id covers
    ├── LanguageError      there is no such language, or its catalogue has a flaw
    ├── LogError           a log of surveys is none, or does not continue the one that is known
    ├── QuestionError      a question is malformed
    ├── RefusedError       a client declines: over its owner's limits, or not what it agreed to
    ├── ReportError        reports do not belong to the survey, or cannot have come from it
    ├── TallyError         a tally is foreign, broken or empty
    ├── TableError         a table cannot be had from this release
    │   └── GroupError     there is no such group, or it is too small to be displayed (also a KeyError)
    ├── DataError          a data file cannot be read
    ├── ChartError         a chart, report or export cannot be written
    └── StoreError         a collector's store cannot be opened, or holds something else

A `DeniableWarning` says what was done where something might have been expected to fail.

Each message is one sentence: subject, rule, what was got, what to do.
"""

from __future__ import annotations

__all__ = [
    "ChartError",
    "DataError",
    "DeniableError",
    "DeniableWarning",
    "GroupError",
    "LanguageError",
    "LogError",
    "QuestionError",
    "QuestionnaireError",
    "RecordError",
    "RefusedError",
    "ReportError",
    "SchemaError",
    "StoreError",
    "SurveyError",
    "TableError",
    "TallyError",
    "TextsError",
]


class DeniableError(Exception):
    """The root of all errors that deniable raises on purpose."""


class DeniableWarning(UserWarning):
    """Values or ends were changed, and what became of them."""


class SchemaError(DeniableError):
    """What a person may hold is badly declared."""


class RecordError(DeniableError):
    """A record or frame does not fit its schema."""


class SurveyError(DeniableError):
    """A survey cannot be made, or a survey file is not one."""


class QuestionnaireError(DeniableError):
    """A questionnaire file is none, or says what cannot be asked."""


class TextsError(DeniableError):
    """The words of a survey are not those that its id covers."""


class LanguageError(DeniableError):
    """There is no such language, or its catalogue has a flaw."""


class LogError(DeniableError):
    """A log of surveys is none, or does not continue the one that is known."""


class QuestionError(DeniableError):
    """A question is malformed."""


class RefusedError(DeniableError):
    """A client declines to answer; ``reason`` is a stable word for programs."""

    def __init__(self, message: str, reason: str = "refused") -> None:
        super().__init__(message)
        self.reason = reason


class ReportError(DeniableError):
    """Reports do not belong to the survey, or cannot have come from it."""


class TallyError(DeniableError):
    """A tally is foreign, broken or empty."""


class TableError(DeniableError):
    """A table cannot be had from this release."""


class GroupError(TableError, KeyError):
    """There is no such group, or it is too small to be displayed."""

    __str__ = Exception.__str__  # a KeyError shows its message in quotes


class DataError(DeniableError):
    """A data file cannot be read."""


class ChartError(DeniableError):
    """A chart, report or export cannot be written."""


class StoreError(DeniableError):
    """A collector's store cannot be opened, or holds something else."""
