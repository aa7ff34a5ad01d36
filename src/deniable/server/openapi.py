"""The OpenAPI document of the collector."""

from __future__ import annotations

from typing import Any

__all__ = ["document"]


def document() -> dict[str, Any]:
    """Return the document."""
    return {"openapi": "3.1.0", "info": {"title": "deniable", "version": "1"}, "paths": {}}
