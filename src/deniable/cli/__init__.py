"""The command line."""

from deniable.cli.app import app, main

__all__ = ["app", "main"]
