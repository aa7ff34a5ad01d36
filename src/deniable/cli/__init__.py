"""The command line."""

from deniable.cli import collecting, comparing, reproducing, serving, submitting
from deniable.cli.app import app, main

__all__ = ["app", "collecting", "comparing", "main", "reproducing", "serving", "submitting"]
