"""What a consistency method is, and what it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from deniable.collector.tally import TallyCounts
from deniable.decoding.decoder import decoder_of
from deniable.decoding.evidence import Evidence
from deniable.errors import TableError
from deniable.release.processed import Processing, Random
from deniable.survey.frozen import FrozenSurvey


@dataclass(frozen=True, eq=False)
class Request:
    """Estimates to be processed. ``counts`` are None where they come from several samples."""

    survey: FrozenSurvey
    evidence: Evidence
    estimator: str
    random: Random
    counts: TallyCounts | None = None

    def check_estimator(self, method: str) -> None:
        """Refuse estimates that are not unbiased and pooled."""
        decoder = decoder_of(self.survey)
        if self.estimator == "unpooled" or self.estimator not in decoder.unbiased:
            raise TableError(
                f'consistency "{method}" starts from unbiased, pooled estimates; '
                f"use the estimator {decoder.exact_estimator!r}, not {self.estimator!r}."
            )


@dataclass(frozen=True)
class Method:
    """A method: its name, what it does, and what a menu says of its tables.

    ``process`` returns None where estimates stay as they are.
    """

    name: str
    process: Callable[[Request], Processing | None]
    says: str = ""
