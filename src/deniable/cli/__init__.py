"""The command line."""

from deniable.cli import collecting, serving, submitting
from deniable.cli.app import app, main

__all__ = ["app", "collecting", "main", "serving", "submitting"]
