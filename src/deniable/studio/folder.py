"""The folder that the studio works in: everything it writes is below it, whole or not at all.

A name is checked before it becomes a path, and the path after all links are followed, so that neither
``..`` nor a link leads out. What is frozen is never written again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from deniable.errors import SurveyError
from deniable.formats.reading import read_text
from deniable.formats.writing import drafted

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_DEEPEST = 3
MOST_BYTES = 1 << 25
"""The most bytes of a file that is read whole."""


class Folder:
    """A folder with files below it, named by up to three plain names, such as ``deploy/README.md``."""

    def __init__(self, path: str | Path) -> None:
        root = Path(path)
        try:
            root.mkdir(parents=True, exist_ok=True)
            self.root = root.resolve(strict=True)
        except OSError as error:
            raise SurveyError(f"{str(path)!r} is no folder to work in: {error.strerror}.") from None
        if not os.access(self.root, os.W_OK | os.X_OK):
            raise SurveyError(f"Nothing can be written to {str(path)!r}.")

    def path(self, name: str) -> Path:
        """Return the path of a file below the folder; refuse a name that may lead elsewhere."""
        parts = name.split("/") if isinstance(name, str) else []
        if not 1 <= len(parts) <= _DEEPEST or not all(_NAME.fullmatch(part) for part in parts):
            raise SurveyError(
                "A file's name has letters, digits, dots and hyphens, and is below the studio's folder."
            )
        path = self.root.joinpath(*parts)
        if path.is_symlink() or not path.parent.resolve().is_relative_to(self.root):
            raise SurveyError(f"{name!r} is a link, and the studio writes only below its folder.")
        return path

    def exists(self, name: str) -> bool:
        """Tell whether there is such a file."""
        return self.path(name).is_file()

    def read(self, name: str) -> str | None:
        """Return the text of a file; None where there is none."""
        try:
            return read_text(self.path(name), MOST_BYTES)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it is no text"
            raise SurveyError(f"{name!r} cannot be read: {why}.") from None

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file whole or not at all, in place of what was there."""
        with self._draft(name, content) as (draft, path):
            os.replace(draft, path)

    def create(self, name: str, content: str) -> bool:
        """Write a file that is then frozen; tell whether it is new, and refuse one that differs."""
        with self._draft(name, content) as (draft, path):
            try:
                os.link(draft, path)  # fails where there is one, whoever made it meanwhile
            except FileExistsError:
                if self.read(name) != content:
                    raise SurveyError(
                        f"{name!r} exists already, and it is frozen: choose another name."
                    ) from None
                return False
        return True

    def make(self, name: str) -> None:
        """Make a folder below this one, unless it is there, for a command to write into."""
        path = self.path(name)
        try:
            path.mkdir(exist_ok=True)
        except OSError as error:
            raise self._unwritten(name, error) from None

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with suppress(OSError):
            self.path(name).unlink()

    @contextmanager
    def _draft(self, name: str, content: str | bytes) -> Iterator[tuple[Path, Path]]:
        """Write a file beside the one that is meant; yield both paths."""
        path = self.path(name)
        data = content if isinstance(content, bytes) else content.encode()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.path(name)  # the folder that was just made is none that leads out
            with drafted(path, lambda draft: draft.write_bytes(data)) as draft:
                yield draft, path
        except OSError as error:
            raise self._unwritten(name, error) from None

    def _unwritten(self, name: str, error: OSError) -> SurveyError:
        return SurveyError(f"{name!r} cannot be written: {error.strerror}.")
