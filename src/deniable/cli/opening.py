"""How commands open a collector's store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from deniable.errors import StoreError

if TYPE_CHECKING:
    from deniable.server.store import Store


@contextmanager
def opened(url: str, *, create: bool = False) -> Iterator[Store]:
    """Open a store for a command, and close it."""
    try:
        from deniable.server.stores import open_store
    except ImportError as error:
        raise missing(error) from None
    with open_store(url, create=create) as store:
        yield store


def missing(error: ImportError) -> StoreError:
    """Return what to say where the extra is not installed."""
    return StoreError(
        f"A collector needs {error.name}, which the extra 'server' brings: "
        "pip install 'deniable[server]'."
    )
