"""Folders of tallies: a file for each group, written all together or not at all."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from deniable.collector.tally import TallyCounts
from deniable.errors import TallyError

_LONGEST = 150
"""The most bytes of a group's name in the name of its file."""


_REST = "_rest.parquet"
"""The tally of what is of no group; no group's file begins with such a letter."""


def file_names(groups: Iterable[str]) -> dict[str, str]:
    """Return a file name for each group: its name, with ``%2F`` and so on for what is no letter there.

    No two are alike, even where capital letters are not told apart.

    >>> list(file_names(["north", "North", "and/or", "..", "Île, 1"]).values())
    ['north.parquet', 'North (2).parquet', 'and%2For.parquet', '%2E..parquet', 'Île, 1.parquet']
    """
    names: dict[str, str] = {}
    folded_names: set[str] = set()
    for group in groups:
        safe = "".join(
            letter
            if letter.isalnum() or letter in " ,-" or (letter in "._+()" and index)
            else "".join(f"%{byte:02X}" for byte in letter.encode())
            for index, letter in enumerate(group)
        )
        if len(safe.encode()) > _LONGEST:
            cut = safe.encode()[:_LONGEST].decode(errors="ignore")
            safe = f"{cut}-{sha256(group.encode()).hexdigest()[:16]}"
        name, count = safe, 1
        while name.casefold() in folded_names:
            count += 1
            name = f"{safe} ({count})"
        folded_names.add(name.casefold())
        names[group] = f"{name}.parquet"
    return names


def save_folder(
    tallies: Mapping[str, TallyCounts], folder: Path, rest: TallyCounts | None = None
) -> None:
    """Write a folder that holds a tally for each group, in place of the tallies that it held.

    ``rest`` is of no group: what was refused, for the most part.
    """
    check_folder(folder)
    folder = folder.resolve()  # of a link, what it leads to is replaced
    if folder.exists():
        load_folder(folder)  # what is something else is not replaced
    draft, before = folder.with_name(f".{secrets.token_hex(8)}.part"), _before(folder)
    names = file_names(tallies)
    try:
        draft.mkdir()  # fails where a link lies
        for group, tally in tallies.items():
            tally.save(draft / names[group])
        if rest is not None:
            rest.save(draft / _REST)
        if folder.exists():
            folder.rename(before)
        draft.rename(folder)
        shutil.rmtree(before, ignore_errors=True)
    except OSError as reason:
        if before.exists() and not folder.exists():
            before.rename(folder)
        why = reason.strerror or "the file system refuses"
        raise TallyError(f"The folder {str(folder)!r} cannot be written: {why}.") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def load_folder(folder: Path) -> list[TallyCounts]:
    """Read all tallies in a folder, and refuse one that holds anything else."""
    folder = folder.resolve()
    _check_left(folder)
    try:
        entries = sorted(folder.iterdir())
    except FileNotFoundError:
        raise TallyError(f"There is no folder {folder.name}.") from None
    except OSError:
        raise TallyError(f"{folder.name} is not a folder of tallies.") from None
    return [TallyCounts.load(entry) for entry in entries]


def check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be replaced: work goes on in it, or was interrupted there."""
    folder = folder.resolve()
    _check_left(folder)
    if Path.cwd().is_relative_to(folder):
        raise TallyError(
            f"Tallies take the place of the whole folder {folder.name}; give the command outside it."
        )


def _before(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.before")


def _check_left(folder: Path) -> None:
    before = _before(folder)
    if before.exists():
        raise TallyError(
            f"{before.name} holds the tallies that stood in {folder.name} when a command was "
            f"interrupted: rename it to {folder.name} if that is missing, or remove it."
        )
