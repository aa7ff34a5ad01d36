"""The report: one self-contained HTML file that works offline.

It draws its matrix, its tree and its tables with plain HTML, SVG and a few lines of JavaScript, so it
needs no drawing library, neither to be made nor to be looked at. A content security policy allows its
own script only: whatever an attribute is called, nothing else runs, and nothing is fetched.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from deniable.analysis.association import associations
from deniable.analysis.regression.fit import Regression
from deniable.analysis.tree import tree
from deniable.errors import ChartError, TableError
from deniable.formats.writing import write_text
from deniable.planning.shuffle import SLOTS, UNMIXED, shuffled_release
from deniable.questionnaire.wording import Wording, direction
from deniable.release.marginal import IMPLAUSIBLE
from deniable.release.pooled import Pooling
from deniable.release.release import ReleasedTables
from deniable.schema.attribute import Attribute
from deniable.schema.bins import described
from deniable.show.citing import cite_release, count_people, epsilon_words, group_words
from deniable.show.export import LEVEL, check_ending, count_tables, each_pair
from deniable.show.forest import forest_section
from deniable.show.methods import methods, suspicion
from deniable.show.number_section import number_section
from deniable.show.numbers import share
from deniable.show.reading import interval_sentence, reading_words
from deniable.show.sections import (
    Quality,
    association_section,
    matrix_section,
    tree_section,
    trees_section,
)
from deniable.show.stock import Stock, pairs_form
from deniable.show.structure import DOUBTFUL, MOST_ATTRIBUTES
from deniable.show.words import (
    breakable,
    cards,
    in_language,
    language_name,
    naming,
    people_read,
    said_question,
    said_values,
    shown_values,
    unit_of,
    words_form,
)

PROMISE = (
    "ε bounds what one report tells about one record, whoever sees it. It does not hide that somebody "
    "took part, when, from which address, or which question they got; several surveys and several "
    "devices add up. On a page that the collector serves, you trust that page; an independently "
    "installed client checks for itself. The default client limit is ε = 2."
)

SIMULATED = (
    "No device took part: these reports were made where the records are, to try the survey out. "
    "They protect nobody."
)

OBSERVED = (
    "Some attributes’ values were learned from data, which itself leaks: for simulation only."
)

MOST_CELLS = 90_000
"""The most cells of tables that a report holds: a megabyte, and one more of unbiased estimates."""

_MOST_VALUES = 12

_PAGE_WIDTH = 912
"""Pixels beside each other on a page, as its style says; a wider tree is drawn narrow."""

_QUESTIONS = 16
"""Of so many questions the one that is shortest to read is shown."""

_SCRIPTS = ("report.js", "cards.js")

_FOLDER = Path(__file__).with_name("page")


def write_report(
    release: ReleasedTables, path: str | Path, regressions: Sequence[Regression] = ()
) -> None:
    """Write the report, with these regressions, whole or not at all."""
    check_report(path)
    text = page(release, regressions=regressions)
    write_text(path, text, ChartError)


def check_report(path: str | Path) -> None:
    """Refuse a file that does not end as a report does."""
    check_ending(path, "A report", [".html"])


def page(
    release: ReleasedTables,
    tick: Callable[[], object] = lambda: None,
    regressions: Sequence[Regression] = (),
) -> str:
    """Return the report's HTML; ``tick`` is called after each table."""
    survey = release.survey
    attributes, order = survey.schema.attributes, survey.order
    style = Markup((_FOLDER / "report.css").read_text("utf-8"))
    script = Markup("\n".join((_FOLDER / name).read_text("utf-8") for name in _SCRIPTS))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    quality, wording = Quality(release), release.wording
    data, left_out = _tables(release, quality, tick)
    pairs, sections = _dependence(release)
    data |= {"citation": cite_release(release).to_form(), "methods": methods(release, quality)}
    if pairs is not None:
        data["pairs"] = pairs_form(pairs, survey.schema.names, MOST_ATTRIBUTES)
    return _template(release).render(
        title=_title(release),
        simulated=release.simulated,
        banners=_banners(release),
        facts=_facts(release),
        **_question(release),
        epsilon=f"{survey.epsilon:g}",
        suspicion=suspicion(survey.epsilon),
        **_promise(release),
        attributes=[(one.name, _values(one, wording)) for one in attributes],
        wording=wording,
        language="" if wording is None else language_name(wording.language),
        people_read=people_read(wording),
        cards=cards(survey.schema, wording),
        quality=quality.section(),
        **sections,
        numbers=number_section(release, pairs),
        regressions=[forest_section(fit) for fit in regressions],
        adjusted=release.population is not None,
        page_width=_PAGE_WIDTH,
        doubtful=f"{DOUBTFUL:g}",
        order=order,
        first=_first(release, pairs),
        tables_note=_note(release, left_out),
        reading=reading_words(release),
        intervals=interval_sentence(release),
        processed=release.applied != "none",
        citation=data["citation"],
        methods=data["methods"],
        survey=survey.id,
        version=version("deniable"),
        style=style,
        script=script,
        script_hash=f"sha256-{digest}",
        data=_inert(data),
    )


def _template(release: ReleasedTables) -> jinja2.Template:
    """Return the report's page, which knows how names and texts are said."""
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "breakable": breakable,
        "named": naming(release.survey.schema, release.wording),
        "said": in_language,
        "direction": direction,
    }
    return environment.from_string((_FOLDER / "report.html").read_text("utf-8"))


def _dependence(release: ReleasedTables) -> tuple[Any, dict[str, Any]]:
    """Return the associations, if there are any, and the sections on dependence, or why not."""
    names = release.survey.schema.names
    pairs, sections = None, dict[str, Any](matrix=None)
    try:
        # Of the unbiased estimates, whatever the tables are.
        pairs = associations(release)
        sections["associations"] = association_section(pairs)
        sections["matrix"] = matrix_section(pairs, names)
    except TableError as error:
        sections["associations"] = {"absent": str(error)}
    is_wide = pairs is not None and len(names) > MOST_ATTRIBUTES
    try:
        own = tree(release.unprocessed, significant=is_wide)
        sections["tree"] = (trees_section if is_wide else tree_section)(own.edges, names)
    except TableError as error:
        sections["tree"] = {"absent": str(error)}
    return pairs, sections


def _title(release: ReleasedTables) -> str:
    count = len(release.survey.schema)
    how = (
        "How one attribute is distributed"
        if count == 1
        else f"How {count:,} attributes occur together"
    )
    group = f" ({group_words(release.said_group)})" if release.group else ""
    return f"{how} among {count_people(release.people)}{group}"


def _banners(release: ReleasedTables) -> list[tuple[str, str]]:
    banners = []
    if release.simulated:
        banners.append(("SIMULATED.", SIMULATED))
    banners += [("VALUES CHANGED.", sentence) for sentence in release.remarks]
    if release.survey.schema.observed:
        banners.append(("OBSERVED VALUES.", OBSERVED))
    if release.population is not None:
        banners.append(("ADJUSTED.", release.population.sentence))
    if not release.plausible:
        banners.append(("IMPLAUSIBLE.", IMPLAUSIBLE))
    if release.fit is not None and release.fit.rejected:
        words = f"A model was tried and did not fit, so “{release.applied}” was applied."
        banners.append(("ANOTHER CONSISTENCY.", words))
    if release.pooling is not None and release.pooling.overlap:
        banners.append(("ERRORS ARE NOT EXACT.", release.pooling.sentence))
    return banners


def _facts(release: ReleasedTables) -> list[tuple[str, str]]:
    survey, order = release.survey, release.survey.order
    return [
        ("people", f"{release.people:,}"),
        ("attributes", f"{len(survey.schema):,}"),
        ("privacy, ε per report", epsilon_words(survey)),
        ("a 50 % suspicion becomes at most", suspicion(survey.epsilon)),
        ("attributes per table (order)", "1" if order == 1 else f"1 to {order}"),
        ("tables", f"{count_tables(release):,}"),
        ("mechanism", survey.mechanism),
        ("consistency applied", _consistency(release)),
        *([("strata, by weight", _strata(release))] if release.strata else []),
        *([] if release.pooling is None else [("pooled from", _pooled(release.pooling))]),
        *([] if release.population is None else [("adjusted to", release.population.names)]),
    ]


def _consistency(release: ReleasedTables) -> str:
    if release.applied != "none":
        return release.applied
    return "none: unbiased" if release.population is None else "none"


def _strata(release: ReleasedTables) -> str:
    return ", ".join(f"{name} {share(weight)}" for name, weight in release.strata.items())


def _promise(release: ReleasedTables) -> dict[str, Any]:
    """Return what ε means, and what it would be for reports that somebody mixed."""
    crowds = (shuffled_release(release, slots=slots).sentence for slots in SLOTS)
    return {"promise": PROMISE, "mixed": [*crowds, UNMIXED]}


def _pooled(pooling: Pooling) -> str:
    rows = zip(pooling.surveys, pooling.people, strict=True)
    return ", ".join(f"{survey.id[:8]} ({people:,})" for survey, people in rows)


def _question(release: ReleasedTables) -> dict[str, Any]:
    """Return a question of the survey in plain words, its own if it has some, and what it concerns."""
    survey = release.survey
    slots = {survey.slots * part // _QUESTIONS for part in range(_QUESTIONS)}
    questions = [survey.question(slot) for slot in sorted(slots)]
    question = min(questions, key=lambda one: (len(one.attributes) < 2, len(one.english())))
    asking = (
        "Each device was asked the same question about its own record, and answered it deniably:"
        if survey.slots == 1
        else "Each device was asked a question about its own record, drawn without looking at it "
        f"out of {survey.slots:,}, and answered it deniably. One of these questions:"
    )
    count = len(question.attributes)
    scope = (
        "It concerns the whole record."
        if survey.whole_record
        else f"It concerns {count} of the {len(survey.schema)} attributes."
    )
    own = said_question(question, survey.schema, release.wording)
    return {"asking": asking, "question": question.english(), "own": own, "scope": scope}


def _values(attribute: Attribute, wording: Wording | None) -> str:
    if attribute.scale is not None:
        own_unit = unit_of(attribute, wording)
        unit = f" ({own_unit})" if own_unit else ""
        last = shown_values(attribute, wording)[-1]
        missing = "" if attribute.missing is None else f", or {last}"
        return f"{described(attribute.scale)}{unit}{missing}"
    return said_values(attribute, wording, _MOST_VALUES)


def _tables(
    release: ReleasedTables, quality: Quality, tick: Callable[[], object]
) -> tuple[dict[str, Any], int]:
    """Return all tables that fit, in whole numbers, and how many do not.

    Where they were processed, the unbiased ones are there too.
    """
    schema, is_processed = release.survey.schema, release.applied != "none"
    stock, unbiased = Stock(), Stock()
    room, left_out = MOST_CELLS, 0
    for estimate, table in each_pair(release, tick):
        low, high = table.interval(LEVEL)
        quality.add(table, low, high)
        room -= table.values.size
        if room < 0:
            left_out += 1
            continue
        stock.add(table, low, high)
        if is_processed:
            unbiased.add(estimate, *estimate.interval(LEVEL))
    data = {
        "names": list(schema.names),
        "values": [shown_values(one, release.wording) for one in schema.attributes],
        "numbers": [place for place, one in enumerate(schema.attributes) if one.is_ordered],
        **words_form(schema, release.wording),
        **stock.form(),
    }
    return data | ({"unbiased": unbiased.form()} if is_processed else {}), left_out


def _first(release: ReleasedTables, pairs: Any) -> list[int]:
    """Return the attributes of the table that is shown first: the surest pair, if there is one."""
    schema = release.survey.schema
    attributes = list(range(min(2, release.survey.order)))
    if pairs is not None and len(pairs):
        rows = [[schema.index(name) for name in row] for row in pairs[["a", "b"]].to_numpy()]
        if release.applied == "none":  # unbiased bins of numbers are no way to begin
            is_number = [one.is_ordered for one in schema.attributes]
            rows = [row for row in rows if not any(is_number[at] for at in row)] or rows
        attributes = sorted(rows[0])
    return [*attributes, *[-1] * release.survey.order]


def _note(release: ReleasedTables, left_out: int) -> str:
    count = count_tables(release)
    if not left_out:
        return f"All {count:,} tables are in this file." if count > 1 else ""
    return (
        f"{count - left_out:,} of {count:,} tables are in this file; an export (see below) has the "
        "rest."
    )


def _inert(data: dict[str, Any]) -> Markup:
    """Return JSON that cannot end the element it stands in."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e"))
