"""The best to read that there is: a model, else joint tables, else the estimates as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable.errors import TableError
from deniable.release.consistency import joint, model
from deniable.release.consistency.method import Method, Request

if TYPE_CHECKING:
    from deniable.release.processed import ProcessedTables


def process(request: Request) -> ProcessedTables | None:
    """Return tables of the first method that takes these estimates."""
    for method in (model.METHOD, joint.METHOD):
        try:
            return method.process(request)
        except TableError:  # of strata, of an estimator without a covariance, too many cells
            continue
    return None


METHOD = Method("auto", "", process, "the best to read: a model, where there is one")
