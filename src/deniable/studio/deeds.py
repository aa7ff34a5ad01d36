"""What the studio did: each file that it wrote, and the command that does the same by hand."""

from __future__ import annotations

import shlex
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

_MOST = 200


def command(*words: str) -> str:
    """Return a command as it is typed; what is in quotes there is one word to a shell."""
    return shlex.join(["deniable", *words])


@dataclass(frozen=True)
class Deed:
    """One thing that was done."""

    number: int
    text: str
    files: tuple[str, ...]
    commands: tuple[str, ...]

    @property
    def what(self) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """Return all but the number."""
        return self.text, self.files, self.commands


class Deeds:
    """The last of what was done; the same thing done again at once counts once."""

    def __init__(self) -> None:
        self._deeds: deque[Deed] = deque(maxlen=_MOST)
        self._count = 0

    def add(self, text: str, files: Sequence[str] = (), commands: Sequence[str] = ()) -> None:
        """Note what was done."""
        what = text, tuple(files), tuple(commands)
        if self._deeds and self._deeds[-1].what == what:
            return
        self._count += 1
        self._deeds.append(Deed(self._count, *what))

    def to_json(self) -> list[dict[str, Any]]:
        """Return all of it, the latest first."""
        return [asdict(deed) for deed in reversed(self._deeds)]
