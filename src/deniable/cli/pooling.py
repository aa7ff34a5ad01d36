"""What `release --pool` takes and says: tallies of several surveys, read as one sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from rich.markup import escape

from deniable.api.tally import Tally
from deniable.cli.options import about
from deniable.errors import TableError, TallyError
from deniable.show.terminal import stdout

if TYPE_CHECKING:
    from deniable.api.release import Release

Pool = Annotated[
    bool, about("Pool tallies of different surveys, as far as these ask alike.", "--pool")
]
Overlap = Annotated[
    bool | None,
    about(
        "Whether people may have answered several of these surveys; not where one follows another.",
        "--overlap/--no-overlap",
    ),
]
Apart = Annotated[
    str | None,
    about("Attributes that are not to be pooled, separated by commas.", "--apart"),
]


def check_options(is_pool: bool, is_folder: bool, overlap: bool | None, apart: str | None) -> None:
    """Refuse options about pooled surveys where none are pooled."""
    if is_pool and is_folder:
        raise TableError("--pool is of tallies; a folder of groups is of one survey.")
    if not is_pool and not (overlap is None and apart is None):
        raise TableError("--overlap and --apart are of surveys that are pooled: add --pool.")


def check_one_survey(tallies: list[Tally]) -> None:
    """Refuse tallies of several surveys, and say how these are released together."""
    first = tallies[0].survey.id
    for tally in tallies:
        if tally.survey.id != first:
            raise TallyError(
                f"Cannot merge tallies of different surveys ({first[:8]} and {tally.survey.id[:8]}); "
                "--pool pools what they ask alike."
            )


def pool(tallies: list[Tally], overlap: bool | None, apart: str | None) -> Release:
    """Return the release of the people of several surveys."""
    from deniable.api.release import Release

    names = [] if apart is None else [name.strip() for name in apart.split(",")]
    return Release.pool([each.release() for each in tallies], overlap=overlap, apart=names)


def show_pooling(release: Release) -> None:
    """Print what was pooled, and whether errors are exact, if surveys were."""
    if release.pooling is not None:
        stdout().print(escape(release.pooling.sentence))
