"""What `deniable demo` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape

from deniable.cli.tables import trials_table
from deniable.questions.answers import Subset
from deniable.questions.question import Parities, Question
from deniable.show.terminal import at_most, bar, number, percent, stdout, table

if TYPE_CHECKING:
    from deniable.lab.demo import Demo

__all__ = ["show_demo"]


def show_demo(made: Demo, report: str) -> None:
    """Print the journey, and where its report is."""
    console = stdout()
    survey, question = made.survey, made.question

    def head(text: str) -> None:
        console.print(f"\n[bold cyan]{text}[/bold cyan]")

    console.print(
        "[bold]deniable[/bold]: joint statistics from people without collecting their records\n"
    )
    console.print(
        f"{made.respondents:,} respondents of the General Social Survey said when abortion should "
        "be legal, and their sex, schooling, age and party: ten yes/no facts that nobody should "
        f"collect. We draw {made.people:,} people from them (with replacement), and each keeps the "
        "record on their own device."
    )
    head("1. What one device does")
    console.print(f"It is asked a random question:  [bold]{escape(question.english())}[/bold]")
    truth, said = _words(question, made.truth), _report(question, made.value)
    console.print(
        f"This time, for somebody made up:  the truth is [bold]{truth}[/bold]; "
        f"the device reports [bold]{said}[/bold]."
    )
    console.print(
        f"Whoever sees that report, a suspicion of 50% becomes at most {at_most(made.odds)} "
        f"(epsilon {survey.epsilon:g})."
    )
    head("2. Which way of asking is best: predicted before anybody is asked")
    console.print(
        "Ways of asking are called mechanisms. The paper has seven, about the whole record (Inp…) or a "
        "table of it (Marg…), and conjectured InpES; Subspace is ours. The error is the total "
        "variation distance: how much of a table's people are in the wrong cell, on average over all "
        "45 tables of two attributes.\n"
    )
    console.print(
        table(
            ["mechanism", "expected error", "bits per report", "variance ÷ lower bound"],
            [
                [
                    r.mechanism,
                    number(r.predicted_tv),
                    r.bits_per_report,
                    number(r.variance_over_bound, 2),
                ]
                for r in made.plan.rows
            ],
            best=0,
        )
    )
    head(
        f"3. {made.people:,} people answer, once for each mechanism, {made.trials[0].repeat} times over"
    )
    console.print(trials_table(sorted(made.trials, key=lambda trial: trial.mean_tv)))
    head(f"4. Tables nobody's record was collected for ({survey.mechanism})")
    wide = console.width >= 110
    for marginal, truth_table in made.tables:
        low, high = marginal.interval(0.95)
        rows = []
        for cell in ((1, 1), (1, 0), (0, 1), (0, 0)):
            words = ", ".join(
                name if bit else f"not {name}"
                for name, bit in zip(marginal.names, cell, strict=True)
            )
            rows.append(
                [
                    words,
                    percent(marginal.values[cell]) if marginal.known else "unknown",
                    f"{percent(low[cell])} to {percent(high[cell])}" if marginal.known else "–",
                    percent(truth_table[cell]),
                ]
                + ([bar(marginal.values[cell], 24)] if wide else [])
            )
        heads = ["", "estimate", "95% interval", "truth", *([""] if wide else [])]
        console.print(table(heads, rows))
        console.print()
    head("5. Everything in one file")
    console.print(
        f"All 55 tables, the strongest associations and the dependence structure are in "
        f"[bold]{escape(report)}[/bold]: open it in a browser, it works offline.\n"
    )
    console.print(
        "Next: [bold]deniable simulate YOUR.csv --order 2 --epsilon 1.1 --mechanism all[/bold] tries "
        "it on your own data, [bold]deniable audit[/bold] proves the epsilon, "
        "[bold]deniable plan --attributes 16 --people 1000000[/bold] plans a survey."
    )


def _words(question: Question, value: int) -> str:
    """Return an answer in words: yes and no, or the cell; its number where it is too many."""
    asks, count = question.asks, len(question.attributes)
    if isinstance(asks, Parities):
        return " and ".join(("no", "yes")[value >> j & 1] for j in range(len(asks.bits)))
    if value >= asks.symbols or count > 8:
        return f"number {value}"
    words = []
    for term in asks.terms:
        value, place = divmod(value, len(term.values))
        held = term.values[place]
        if isinstance(held, bool):
            words.append(term.attribute if held else f"not {term.attribute}")
        else:
            words.append(f"{term.attribute} {held}")
    return ", ".join(words)


def _report(question: Question, value: int) -> str:
    """Return what was reported in words: one answer, or several that it may be."""
    if not isinstance(question.answer, Subset):
        return f"number {value}"
    return "; or ".join(_words(question, symbol) for symbol in question.answer.support(value))
