"""How to cite a survey: the software, its version, the survey's id and the day, plain and as BibTeX."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from importlib.metadata import version

from deniable.release.release import ReleasedTables
from deniable.survey.frozen import FrozenSurvey
from deniable.survey.pooled import PooledSurvey

SOFTWARE = "deniable: joint statistics from many people under local differential privacy"
AUTHORS = "The maintainers of deniable"
RELEASED = date(2026, 11, 16)
"""As CITATION.cff has it, which is no part of what is installed; a test compares them."""

PAPER = (
    "Graham Cormode, Tejas Kulkarni, Divesh Srivastava: Marginal Release Under Local Differential "
    "Privacy. Proceedings of the 2018 International Conference on Management of Data (SIGMOD ’18), "
    "131–146, doi:10.1145/3183713.3196906."
)

_PAPER_ENTRY = """@inproceedings{cormode2018marginal,
  title = {Marginal Release Under Local Differential Privacy},
  author = {Cormode, Graham and Kulkarni, Tejas and Srivastava, Divesh},
  booktitle = {Proceedings of the 2018 International Conference on Management of Data (SIGMOD '18)},
  pages = {131--146},
  year = {2018},
  doi = {10.1145/3183713.3196906},
}"""

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{letter: f"\\{letter}" for letter in "{}$&#_%"},
}


@dataclass(frozen=True)
class Citation:
    """How to cite tables, or a survey that has none yet."""

    survey: str
    particulars: str
    """Mechanism, order, ε, and what there is to say of a release: what was applied, how many people."""
    day: date
    title: str | None = None
    notes: str = ""
    """What must be said beside it: that reports are simulated, that tables were adjusted."""
    pooled: tuple[str, ...] = ()
    """The surveys whose people were pooled; ``survey`` is then the id of no document."""

    @property
    def text(self) -> str:
        """Return it as one sentence or two."""
        head = f"{self.title}. " if self.title else ""
        return (
            f"{head}{self._named(16)}, collected with deniable {version('deniable')}: "
            f"{self.particulars}. {self.day.isoformat()}.{self.notes}"
        )

    def _named(self, digits: int) -> str:
        """Return the survey, or all that were pooled, by so many digits of their ids."""
        if not self.pooled:
            return f"Survey {self.survey[:digits]}"
        return f"Surveys {' and '.join(each[:digits] for each in self.pooled)}"

    @property
    def software(self) -> str:
        """Return how to cite the software."""
        return f"{AUTHORS}: {SOFTWARE}. Version {version('deniable')}, {RELEASED.year}."

    @property
    def bibtex(self) -> str:
        """Return three entries: the survey, the software, and the paper whose method it is."""
        title = _latex(self.title or self._named(16))
        how = f"{self._named(64)}, collected with deniable {version('deniable')}"
        note = _latex(f"{self.particulars}.{self.notes}").replace("ε", r"$\varepsilon$")
        own = (
            f"@misc{{survey_{self.survey[:16]},\n"
            f"  title = {{{{{title}}}}},\n"
            f"  howpublished = {{{how}}},\n"
            f"  note = {{{note}}},\n"
            f"  date = {{{self.day.isoformat()}}},\n"
            f"  year = {{{self.day.year}}},\n"
            "}"
        )
        software = (
            "@software{deniable,\n"
            f"  title = {{{SOFTWARE}}},\n"
            f"  author = {{{{{AUTHORS}}}}},\n"
            f"  version = {{{version('deniable')}}},\n"
            f"  year = {{{RELEASED.year}}},\n"
            "}"
        )
        return "\n\n".join((own, software, _PAPER_ENTRY))

    def to_form(self) -> dict[str, str]:
        """Return it for programs, and for pages."""
        return {
            "survey": self.survey,
            "version": version("deniable"),
            "date": self.day.isoformat(),
            "text": self.text,
            "software": self.software,
            "paper": PAPER,
            "bibtex": self.bibtex,
        }

    def __str__(self) -> str:
        return self.text


def _latex(text: str) -> str:
    """Return a text in which nothing is a command: whoever wrote a survey wrote its title."""
    line = " ".join(text.split())
    return "".join(_SPECIAL.get(letter, letter) for letter in line if letter.isprintable())


def today() -> date:
    """Return the day that citations name, in UTC."""
    return datetime.now(UTC).date()


def cite_survey(
    survey: FrozenSurvey,
    people: int | None = None,
    title: str | None = None,
    simulated: bool = False,
) -> Citation:
    """Return how to cite a survey, of which so many people are counted if that is known."""
    size = "" if people is None else f", {count_people(people)}"
    notes = " SIMULATED." if simulated else ""
    return Citation(survey.id, f"{design_words(survey)}{size}", today(), title, notes)


def cite_release(release: ReleasedTables) -> Citation:
    """Return how to cite the tables of a release."""
    survey, group = release.survey, group_words(release.said_group)
    notes = f" {release.population.sentence}" if release.population is not None else ""
    notes += f" {release.pooling.sentence}" if release.pooling is not None else ""
    notes += f" Combined from {len(release.strata)} strata." if release.strata else ""
    notes += " SIMULATED." if release.simulated else ""
    particulars = (
        f"{design_words(survey)}, consistency {release.applied}, {count_people(release.people)}"
        f"{f' ({group})' if group else ''}"
    )
    title = None if release.wording is None else release.wording.title
    pooling = release.pooling
    pooled = () if pooling is None else tuple(each.id for each in pooling.surveys)
    return Citation(survey.id, particulars, today(), title, notes, pooled)


def design_words(survey: FrozenSurvey) -> str:
    """Return mechanism, order and ε of a survey."""
    return f"{survey.mechanism}, order {survey.order}, ε = {epsilon_words(survey)} per report"


def epsilon_words(survey: FrozenSurvey, word: str = "and") -> str:
    """Return the ε of a report; of pooled surveys, that of each, the largest first."""
    parts = survey.parts if isinstance(survey, PooledSurvey) else (survey,)
    return f" {word} ".join(
        f"{each:g}" for each in sorted({p.epsilon for p in parts}, reverse=True)
    )


def count_people(people: int) -> str:
    """Return how many people there are, in words."""
    return f"{people:,} {'person' if people == 1 else 'people'}"


def group_words(group: Mapping[str, str]) -> str:
    """Return whose reports these are, where they are those of one group."""
    return ", ".join(f"{name}: {value}" for name, value in group.items())
