"""The command that shows the whole journey: demo."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import Console
from rich.markup import escape

from deniable.cli import options as option
from deniable.cli.options import about
from deniable.cli.output import print_json, progress, trials_table
from deniable.mechanisms.registry import MECHANISMS
from deniable.questions.answers import Subset
from deniable.questions.question import Parities, Question
from deniable.show.terminal import at_most, bar, number, percent, stdout, table

if TYPE_CHECKING:
    from deniable.lab.demo import Demo


def demo(
    people: Annotated[int, about("How many people answer.", min=1)] = 200_000,
    epsilon: option.Epsilon = 1.1,
    output: Annotated[Path, about("Where to write the report.", "--output")] = Path(
        "deniable-report.html"
    ),
    as_json: option.Json = False,
) -> None:
    """Show the whole journey on real, sensitive data."""
    from deniable.lab.demo import run
    from deniable.show.report import check_report

    check_report(output)
    with progress(len(MECHANISMS) + 2, "asking people") as advance:
        journey = run(people, epsilon, lambda label: advance(f"asking people ({label})"))
    journey.release.report(output)
    if as_json:
        print_json(journey.to_json() | {"output": str(output)})
    else:
        show_demo(journey, str(output))


def show_demo(journey: Demo, report: str) -> None:
    """Print the journey, and where its report is."""
    console, people = stdout(), f"{journey.people:,}"
    console.print(
        "[bold]deniable[/bold]: joint statistics from people without collecting their records\n"
    )
    console.print(
        f"{journey.respondents:,} respondents of the General Social Survey said when abortion should "
        "be legal, and their sex, schooling, age and party: ten yes/no facts that nobody should "
        f"collect. We draw {people} people from them (with replacement), and each keeps the "
        "record on their own device."
    )
    _head(console, "1. What one device does")
    _show_device(console, journey)
    _head(console, "2. Which way of asking is best: predicted before anybody is asked")
    _show_predictions(console, journey)
    repeats = journey.trials[0].repeat
    _head(console, f"3. {people} people answer, once for each mechanism, {repeats} times over")
    console.print(trials_table(journey.trials))
    mechanism = journey.survey.mechanism
    _head(console, f"4. Tables nobody's record was collected for ({mechanism})")
    _show_tables(console, journey)
    _head(console, "5. Numbers: what people earn")
    _show_wages(console, journey)
    _head(console, "6. Everything in one file")
    console.print(
        f"All 55 tables of the opinions, the surest associations and the dependence structure are in "
        f"[bold]{escape(report)}[/bold]: open it in a browser, it works offline.\n"
    )
    console.print(
        "Next: [bold]deniable simulate YOUR.csv --order 2 --epsilon 1.1 --mechanism all[/bold] tries "
        "it on your own data, [bold]deniable audit[/bold] proves the epsilon, "
        "[bold]deniable plan --attributes 16 --people 1000000[/bold] plans a survey."
    )


def _head(console: Console, text: str) -> None:
    console.print(f"\n[bold cyan]{text}[/bold cyan]")


def _show_device(console: Console, journey: Demo) -> None:
    question = journey.question
    truth, report = _words(question, journey.truth), _report(question, journey.value)
    console.print(f"It is asked a random question:\n[bold]{escape(question.english())}[/bold]")
    console.print(
        f"This time, for somebody made up:  the truth is [bold]{truth}[/bold]; "
        f"the device reports [bold]{report}[/bold]."
    )
    console.print(
        f"Whoever sees that report, a suspicion of 50% becomes at most {at_most(journey.odds)} "
        f"(epsilon {journey.survey.epsilon:g})."
    )


def _show_predictions(console: Console, journey: Demo) -> None:
    console.print(
        "Ways of asking are called mechanisms. The paper has seven, about the whole record (Inp…) or a "
        "table of it (Marg…), and conjectured InpES; Subspace is ours. The error is the total "
        "variation distance: how much of a table's people are in the wrong cell, on average over all "
        "45 tables of two attributes.\n"
    )
    heads = ["mechanism", "expected error", "bits per report", "variance ÷ lower bound"]
    rows = [
        [
            row.mechanism,
            number(row.predicted_tv),
            row.bits_per_report,
            number(row.variance_over_bound, 2),
        ]
        for row in journey.plan.rows
    ]
    console.print(table(heads, rows, best=0))


def _show_tables(console: Console, journey: Demo) -> None:
    from deniable.show.reading import reading_words

    wide = console.width >= 110
    console.print(f"Tables are {reading_words(journey.release)}.\n")
    heads = ["", "estimate", "95% interval", "truth", *([""] if wide else [])]
    for marginal, truth in journey.tables:
        low, high = marginal.interval(0.95)
        rows = [
            [
                ", ".join(
                    name if bit else f"not {name}"
                    for name, bit in zip(marginal.names, cell, strict=True)
                ),
                percent(marginal.values[cell]) if marginal.known else "unknown",
                f"{percent(low[cell])} to {percent(high[cell])}" if marginal.known else "–",
                percent(truth[cell]),
                *([bar(marginal.values[cell], 24)] if wide else []),
            ]
            for cell in ((1, 1), (1, 0), (0, 1), (0, 0))
        ]
        console.print(table(heads, rows))
        console.print()


def _show_wages(console: Console, journey: Demo) -> None:
    wages = journey.wages
    console.print(
        f"Of {wages.respondents:,} other respondents we know income (in dollars of 1986; those above "
        f"80,000 count as 80,000), age, gender and schooling. {journey.people:,} people are drawn from "
        "them, and asked whether a number is above a random point:"
    )
    console.print(f"[bold]{escape(wages.question.english())}[/bold]\n")
    heads = ["", "estimate", "95% interval", "truth"]
    rows = [
        [
            fact.what,
            "unknown" if fact.estimate is None else _spoken(fact.estimate, fact.unit),
            "–"
            if fact.low is None or fact.high is None
            else f"{_spoken(fact.low, fact.unit)} to {_spoken(fact.high, fact.unit)}",
            _spoken(fact.truth, fact.unit),
        ]
        for fact in wages.facts
    ]
    console.print(table(heads, rows))


def _spoken(value: float, unit: str | None) -> str:
    return f"{value:.2f}" if unit is None else f"{value:,.0f}"


def _words(question: Question, value: int) -> str:
    """Return an answer in words: yes and no, or the cell; its number where it is too many."""
    asks, count = question.asks, len(question.attributes)
    if isinstance(asks, Parities):
        return " and ".join(("no", "yes")[value >> j & 1] for j in range(len(asks.bits)))
    if value >= asks.symbols or count > 8:
        return f"number {value}"
    words = []
    for term in asks.terms:
        value, index = divmod(value, len(term.values))
        own = term.values[index]
        if isinstance(own, bool):
            words.append(term.attribute if own else f"not {term.attribute}")
        else:
            words.append(f"{term.attribute} {own}")
    return ", ".join(words)


def _report(question: Question, value: int) -> str:
    """Return what was reported in words: one answer, or several that it may be."""
    if not isinstance(question.answer, Subset):
        return f"number {value}"
    return "; or ".join(_words(question, symbol) for symbol in question.answer.support(value))
