"""The command line."""

from deniable.cli import collecting, reproducing, serving, submitting
from deniable.cli.app import app, main

__all__ = ["app", "collecting", "main", "reproducing", "serving", "submitting"]
