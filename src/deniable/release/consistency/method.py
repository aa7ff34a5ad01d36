"""What a consistency method is, and what it is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable.errors import TableError

if TYPE_CHECKING:
    from deniable.collector.tally import TallyCounts
    from deniable.decoding.evidence import Evidence
    from deniable.release.numbers.fit import NumberFit
    from deniable.release.processed import ProcessedTables, Random
    from deniable.survey.frozen import FrozenSurvey


@dataclass(frozen=True, eq=False)
class Request:
    """Estimates to be processed. ``tally`` is None where they come from several samples.

    ``numbers`` gives the fitted distribution of every number, by its position.
    """

    survey: FrozenSurvey
    evidence: Evidence
    estimator: str
    random: Random
    tally: TallyCounts | None = None
    numbers: Callable[[], Mapping[int, NumberFit]] = dict

    def check_estimator(self, method: str) -> None:
        """Refuse estimates that are not unbiased and pooled."""
        from deniable.decoding.decoder import decoder_of

        decoder = decoder_of(self.survey)
        if self.estimator == "unpooled" or self.estimator not in decoder.unbiased:
            raise TableError(
                f'consistency "{method}" starts from unbiased, pooled estimates; '
                f"use the estimator {decoder.exact_estimator!r}, not {self.estimator!r}."
            )

    def halves(self) -> tuple[Evidence, Evidence]:
        """Return what either half of the reports tells."""
        from deniable.decoding.decoder import decoder_of
        from deniable.release.halves import halves

        assert self.tally is not None
        decode, estimator = decoder_of(self.survey).decode, self.estimator
        first, second = halves(self.tally)
        return (
            decode(first.slot, first.value, first.count, estimator),
            decode(second.slot, second.value, second.count, estimator),
        )


@dataclass(frozen=True)
class Method:
    """A method: its name, what kind of tables it makes, and how; what a menu says of them, and a report.

    Where estimates stay as they are, ``table_kind`` is that of the estimator's tables, "", and
    ``process`` returns None.
    """

    name: str
    table_kind: str
    process: Callable[[Request], ProcessedTables | None]
    says: str = ""
    means: str = ""
    """What follows for a reader, after "Tables are modelled: "."""
