"""What `release --pool` takes and says: tallies of several surveys, read as one sample."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True)
class Surveys:
    """How surveys are to be pooled: whether people may overlap, and what stays apart."""

    overlap: bool | None
    apart: tuple[str, ...]

    def release(self, releases: list[Release]) -> Release:
        """Return the release of the people of several surveys."""
        from deniable.api.release import Release

        return Release.pool(releases, overlap=self.overlap, apart=self.apart)


def surveys_to_pool(
    is_pool: bool, is_folder: bool, overlap: bool | None, apart: str | None
) -> Surveys | None:
    """Return how surveys are to be pooled; refuse what is said of that where none are."""
    if is_pool and is_folder:
        raise TableError("--pool is of tallies; a folder of groups is of one survey.")
    if is_pool:
        names = () if apart is None else tuple(name.strip() for name in apart.split(","))
        return Surveys(overlap, names)
    if not (overlap is None and apart is None):
        raise TableError("--overlap and --apart are of surveys that are pooled: add --pool.")
    return None


def check_one_survey(tallies: list[Tally]) -> None:
    """Refuse tallies of several surveys, and say how these are released together."""
    first = tallies[0].survey.id
    for tally in tallies:
        if tally.survey.id != first:
            raise TallyError(
                f"Cannot merge tallies of different surveys ({first[:8]} and {tally.survey.id[:8]}); "
                "--pool pools what they ask alike."
            )


def show_pooling(release: Release) -> None:
    """Print what was pooled, and whether errors are exact, if surveys were."""
    if release.pooling is not None:
        stdout().print(escape(release.pooling.sentence))
