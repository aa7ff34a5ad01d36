"""Every table of a release in one file: for spreadsheets, for databases, for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import chain, product
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.errors import ChartError
from deniable.formats.extras import lacking
from deniable.formats.spreadsheets import write_rows
from deniable.formats.writing import write_whole
from deniable.questionnaire.wording import Wording
from deniable.release.marginal import Table
from deniable.release.release import ReleasedTables
from deniable.schema.attribute import Attribute, spoken
from deniable.show.summaries import NumberSummary, numbers_of
from deniable.survey.coefficients import Floats

if TYPE_CHECKING:
    from deniable.analysis.regression.fit import Regression

LEVEL = 0.95
_ROWS_TOGETHER = 1 << 16

Tick = Callable[[], object]


def write_export(
    release: ReleasedTables,
    path: str | Path,
    tick: Tick = lambda: None,
    regressions: Sequence[Regression] = (),
) -> None:
    """Write every table of up to the survey's order, as the file's ending says, whole or not at all.

    .csv, .parquet and .xlsx have a row per cell, .sav too, with a variable for each attribute, .json an
    object per number and per table, .html is the report. Where the release has the survey's words
    (`Release.worded`), all have labels. Cells have their unbiased ``estimate``, whatever was done to the
    tables, and what is best to ``read``. Memory does not grow with the number of tables (but for .sav).
    ``tick`` is called after each table. ``regressions`` are told of in .json and .html.
    """
    ending = check_ending(path)
    write = partial(_WRITERS[ending], release, tick)
    if regressions and ending in _TELLING:
        write = partial(_TELLING[ending], release, tick, regressions=regressions)
    write_whole(path, write, ChartError)


def check_ending(
    path: str | Path, subject: str = "A release", endings: Sequence[str] | None = None
) -> str:
    """Return the ending of a file that something can be written to, or refuse it."""
    ending = Path(path).suffix.lower()
    *others, last = endings or ENDINGS
    if ending not in (*others, last):
        words = f"{', '.join(others)} or {last}" if others else last
        raise ChartError(f"{subject} must end in {words}, got {Path(path).name!r}.")
    if endings is None and ending in _EXTRAS and find_spec(_EXTRAS[ending]) is None:
        raise ChartError(f"{lacking(f'Files that end in {ending} need', 'forms')}.")
    return ending


def count_tables(release: ReleasedTables) -> int:
    """Return how many tables of up to the survey's order there are."""
    survey = release.survey
    return sum(comb(len(survey.schema), size) for size in range(1, survey.order + 1))


def count_cells(release: ReleasedTables) -> int:
    """Return how many cells all tables of up to the survey's order have."""
    sums = [1.0] + [0.0] * release.survey.order  # elementary symmetric polynomials of the sizes
    for size in release.survey.schema.sizes:
        for order in range(release.survey.order, 0, -1):
            sums[order] += size * sums[order - 1]
    return int(sum(sums[1:]))


def each_table(release: ReleasedTables, tick: Tick = lambda: None) -> Iterator[Table]:
    """Yield every table of up to the survey's order, the small ones first."""
    for size in range(1, release.survey.order + 1):
        for table in release.each_marginal(size):
            yield table
            tick()


def summary(release: ReleasedTables) -> dict[str, Any]:
    """Return what a release is: all but its tables."""
    survey = release.survey
    return {
        "survey": survey.id,
        "mechanism": survey.mechanism,
        "order": survey.order,
        "epsilon": survey.epsilon,
        "people": release.people,
        **({"group": dict(release.group)} if release.group else {}),
        "consistency": release.consistency,
        "applied": release.applied,
        "estimator": release.estimator,
        "plausible": release.plausible,
        "simulated": release.simulated,
        **({"strata": dict(release.strata)} if release.strata else {}),
        **({} if release.pooling is None else {"pooled": release.pooling.to_json()}),
        **({} if release.population is None else {"population": release.population.to_json()}),
        **({} if release.wording is None else _words(release.wording)),
    }


def _words(wording: Wording) -> dict[str, str]:
    return {"title": wording.title, "language": wording.language}


def _columns(release: ReleasedTables) -> list[str]:
    """Return the heads of a row per cell; labels and wordings come last, where there are some."""
    order = release.survey.order
    words = [] if release.wording is None else ["label", "wording"]
    cells = [
        f"{what}_{number}" for number in range(1, order + 1) for what in ("attribute", "value")
    ]
    last = [f"{what}_{number}" for what in words for number in range(1, order + 1)]
    return [*cells, *_NUMBERS, "applied", "kind", "interval_kind", "known", "simulated", *last]


_ESTIMATE = ("estimate", "standard_error", "low", "high")
_READ = ("read", "read_low", "read_high")
_NUMBERS = (*_ESTIMATE, *_READ)


def each_pair(release: ReleasedTables, tick: Tick) -> Iterator[tuple[Table, Table]]:
    """Yield every table as it was estimated, and as it is best read."""
    if release.applied == "none":
        return ((table, table) for table in each_table(release, tick))
    return zip(each_table(release.unprocessed), each_table(release, tick), strict=True)


def _numbers(estimate: Table, read: Table) -> list[list[float | None]]:
    """Return a table's numbers, cell by cell; none where nothing is known."""
    low, high = _ends(estimate)
    read_ends = (low, high) if read is estimate else _ends(read)
    own = [estimate.values, estimate.standard_error, low, high]
    return [
        *(_column(cells, estimate.known) for cells in own),
        *(_column(cells, read.known) for cells in (read.values, *read_ends)),
    ]


def _ends(table: Table) -> tuple[Floats, Floats]:
    """Return the ends of intervals; not a number where there are none."""
    if table.interval_kind == "none":
        return np.full_like(table.values, np.nan), np.full_like(table.values, np.nan)
    low, high = table.interval(LEVEL)
    return low, high


def _column(cells: Floats, is_known: bool) -> list[float | None]:
    flat = cells.ravel()
    rows = zip(flat.tolist(), np.isfinite(flat) & is_known, strict=True)
    return [cell if is_number else None for cell, is_number in rows]


def _rows(release: ReleasedTables, tick: Tick) -> Iterator[list[Any]]:
    """Yield a row per cell of every table."""
    order, wording = release.survey.order, release.wording
    for estimate, table in each_pair(release, tick):
        end = [release.applied, table.kind, table.interval_kind, table.known, table.simulated]
        blanks: list[Any] = [None] * (order - len(table.names))
        cells = product(*([spoken(value) for value in one.values] for one in table.attributes))
        words: Iterable[list[Any]] = [[]] * table.values.size
        if wording is not None:
            wordings = [wording.attributes[name].wording for name in table.names]
            texts = [each and each.text for each in wordings]
            labels = product(*(wording.labels(each) for each in table.attributes))
            words = ([*own, *blanks, *texts, *blanks] for own in labels)
        for cell, own_words, *numbers in zip(cells, words, *_numbers(estimate, table), strict=True):
            pairs = zip(table.names, cell, strict=True)
            yield [*chain.from_iterable(pairs), *blanks, *blanks, *numbers, *end, *own_words]


def _write_csv(release: ReleasedTables, tick: Tick, draft: Path) -> None:
    with draft.open("w", encoding="utf-8", newline="") as file:
        write_rows(file, [_columns(release)])
        write_rows(
            file,
            (
                [spoken(part) if isinstance(part, bool) else part for part in row]
                for row in _rows(release, tick)
            ),
        )


def _write_parquet(release: ReleasedTables, tick: Tick, draft: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {name: pa.float64() for name in _NUMBERS} | dict.fromkeys(
        ("known", "simulated"), pa.bool_()
    )
    words = {} if release.wording is None else {"attributes": _attributes(release)}
    schema = pa.schema(
        [(name, types.get(name, pa.string())) for name in _columns(release)],
        {b"deniable.release": json.dumps(summary(release) | words).encode()},
    )
    with pq.ParquetWriter(draft, schema) as writer:

        def write(rows: list[list[Any]]) -> None:
            columns = zip(*rows, strict=True)
            arrays = [pa.array(c, field.type) for c, field in zip(columns, schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))

        pending: list[list[Any]] = []
        for row in _rows(release, tick):
            pending.append(row)
            if len(pending) == _ROWS_TOGETHER:
                write(pending)
                pending = []
        if pending:
            write(pending)


def _attributes(release: ReleasedTables) -> list[dict[str, Any]]:
    wording = release.wording
    return [attribute_form(each, wording) for each in release.survey.schema.attributes]


def attribute_form(attribute: Attribute, wording: Wording | None = None) -> dict[str, Any]:
    """Return an attribute's values, of a number, whose values are bins, its scale, and its words."""
    form: dict[str, Any] = {"name": attribute.name, "values": list(attribute.values)}
    if attribute.ordered:
        form["ordered"] = True
    if attribute.scale is not None:
        form |= {name: getattr(attribute, name) for name in ("low", "high", "step", "unit")}
    if attribute.is_ordered and attribute.missing is not None:
        form["missing"] = attribute.missing
    if wording is not None:
        own = wording.attributes[attribute.name]
        phrases = {"wording": own.wording, "help": own.help, "unit": own.unit}
        form |= {name: phrase.text for name, phrase in phrases.items() if phrase is not None}
        form["labels"] = wording.labels(attribute)
    return form


def _write_json(
    release: ReleasedTables, tick: Tick, draft: Path, regressions: Sequence[Regression] = ()
) -> None:
    """Write one document, a number or a table per line: it is never held whole."""
    numbers = numbers_of(release)
    version = 3 if numbers else 2
    head = {"deniable": "release", "format": version, **summary(release), "level": LEVEL}
    with draft.open("w", encoding="utf-8") as file:
        file.write(_text(head | {"attributes": _attributes(release)})[:-1])
        if numbers:
            forms = (_text(NumberSummary.of(release, each).form()) for each in numbers)
            file.write(',"numbers":[\n' + ",\n".join(forms) + "\n]")
        if regressions:
            file.write(
                ',"regressions":[\n' + ",\n".join(_text(r.form()) for r in regressions) + "\n]"
            )
        file.write(',"tables":[')
        between = "\n"
        for estimate, table in each_pair(release, tick):
            form = {
                "attributes": list(table.names),
                "known": table.known,
                "kind": table.kind,
                "interval_kind": table.interval_kind,
                **dict(zip(_NUMBERS, _numbers(estimate, table), strict=True)),
            }
            file.write(between + _text(form))
            between = ",\n"
        file.write("\n]}\n")


def _text(form: Any) -> str:
    return json.dumps(form, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _write_xlsx(release: ReleasedTables, tick: Tick, draft: Path) -> None:
    from deniable.show.sheets import check_rows, write_sheets

    check_rows(count_cells(release))
    write_sheets(draft, _columns(release), _rows(release, tick), release)


def _write_sav(release: ReleasedTables, tick: Tick, draft: Path) -> None:
    from deniable.show.sheets import check_variables, write_variables

    check_variables(release, count_cells(release))
    rows = ((table, _numbers(estimate, table)) for estimate, table in each_pair(release, tick))
    write_variables(draft, release, rows, _NUMBERS)


def _write_html(
    release: ReleasedTables, tick: Tick, draft: Path, regressions: Sequence[Regression] = ()
) -> None:
    from deniable.show.report import page

    draft.write_text(page(release, tick, regressions), encoding="utf-8")


_WRITERS: dict[str, Callable[[ReleasedTables, Tick, Path], None]] = {
    ".html": _write_html,
    ".json": _write_json,
    ".csv": _write_csv,
    ".parquet": _write_parquet,
    ".xlsx": _write_xlsx,
    ".sav": _write_sav,
}
_EXTRAS = {".xlsx": "openpyxl", ".sav": "pyreadstat"}
"""What writes a file, by its ending, where that may not be installed."""

_TELLING: dict[str, Callable[..., None]] = {".html": _write_html, ".json": _write_json}
ENDINGS = tuple(_WRITERS)
"""What a release can be written as."""
