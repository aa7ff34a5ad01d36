"""The command that counts how many have answered, and lists no ids."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from deniable.cli import options as option
from deniable.cli.output import print_json
from deniable.cli.serving import needing_extra, store_at
from deniable.schema.labels import FEWEST
from deniable.show.terminal import stdout


def issued(
    store: option.StoreArgument,
    survey_id: option.SurveyId = None,
    as_json: option.Json = False,
) -> None:
    """Count how many of the issued ids have answered, by batch; it lists no ids.

    So reminders go to everybody: those who have answered are told that they need not answer again.
    """
    with needing_extra():
        from deniable.server.closing import end_form
        from deniable.server.turnout import STEP, Turnout, turnouts
    with store_at(store) as source:
        survey = source.survey(survey_id)
        source.note("issued", f"survey {survey.survey.id[:16]}")
        rows, withheld = turnouts(source, survey)
        end = end_form(source.ends().get(survey.number))
    counts = [sum(row.issued for row in rows), sum(row.answered for row in rows)]
    if as_json:
        whole = {"survey": survey.survey.id, "issued": counts[0], "answered": counts[1]}
        whole |= {"open": counts[0] - counts[1], "withheld": withheld}
        print_json(whole | end | {"batches": [row.to_json() for row in rows]})
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for header in ("Batch", "Issued", "Answered", "Open"):
        table.add_column(header, justify="left" if header == "Batch" else "right")
    whole_row = [] if len(rows) == 1 else [Turnout("all", *counts)]
    for row in (*rows, *whole_row):
        numbers = (row.issued, row.answered, row.issued - row.answered)
        table.add_row(escape(row.name or "others"), *(f"{number:,}" for number in numbers))
    console = stdout()
    console.print(table)
    if end["ends"] is not None:
        state = "is closed since" if end["closed"] else "closes at"
        console.print(f"The survey {state} {end['ends']}.")
    console.print(
        f"Counts only, in steps of {STEP}, and of batches of {FEWEST} or more ({withheld:,} ids are of "
        "smaller ones): remind everybody, since nobody here is told who has answered."
    )
