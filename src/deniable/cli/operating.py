"""The commands of who runs a collector for years: keys, analysts, audit-log."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.text import Text

from deniable.cli import options as option
from deniable.cli.links import dashboard_link
from deniable.cli.options import about
from deniable.cli.output import conclude, print_json, say
from deniable.cli.serving import needing_extra, store_at
from deniable.errors import StoreError
from deniable.formats.reading import check_regular
from deniable.formats.writing import write_whole
from deniable.show.terminal import stdout, table

if TYPE_CHECKING:
    from deniable.server.audit_log import Head, Line

keys = typer.Typer(help="List, rotate and retire the keys of a store.", rich_markup_mode=None)
analysts = typer.Typer(help="Let analysts in, and out.", rich_markup_mode=None)
audit_log = typer.Typer(help="Show, verify and export who did what.", rich_markup_mode=None)

_SPAN = re.compile("([1-9][0-9]{0,4})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 168}

_LONGEST_ROW = 1 << 20


def _now() -> int:
    with needing_extra():
        from deniable.server.tickets import hour
    return hour()


def _moment(hour: int | None) -> str | None:
    return None if hour is None else datetime.fromtimestamp(hour * 3600, UTC).isoformat()[:16] + "Z"


# Keys

Kind = Annotated[str, typer.Argument(metavar="ticket|id", help="Of what.")]


@keys.command("list")
def list_keys(store: option.Store = option.DEFAULT_STORE, as_json: option.Json = False) -> None:
    """List the keys of tickets and of ids, without showing them."""
    with store_at(store) as source:
        rows = source.key_rows(_now())
        unanswered = {row.number: source.unanswered(row) for row in rows if row.kind == "id"}
    forms = [
        {
            **row._asdict(),
            "since": _moment(row.since),
            "ends": _moment(row.ends),
            "unanswered": unanswered[row.number] if row.kind == "id" else None,
        }
        for row in rows
    ]
    if as_json:
        print_json({"keys": forms})
        return
    columns = ("kind", "number", "state", "fingerprint", "since", "ends", "uses", "unanswered")
    cells = [[form[name] for name in columns[:-2]] for form in forms]
    for row, form in zip(cells, forms, strict=True):
        is_id = form["kind"] == "id"
        row += [f"{form['uses']:,}", f"{form['unanswered']:,}"] if is_id else [None, None]
    stdout().print(table(("kind", "number", *columns[2:6], "issued", "unanswered"), cells))
    for form in forms:
        is_idle = form["state"] == "honoured" and form["unanswered"] == 0
        if is_idle or form["state"] == "ended":
            which = f"{form['kind']} {form['number']}"
            stdout().print(f"Nothing depends on {which} any more: deniable keys retire {which}")


@keys.command()
def rotate(
    kinds: Annotated[
        list[str] | None, typer.Argument(metavar="[ticket] [id]", help="Of what; both by default.")
    ] = None,
    store: option.Store = option.DEFAULT_STORE,
    as_json: option.Json = False,
) -> None:
    """Let new keys seal from now on, while collectors run; old ones stay good."""
    with store_at(store) as source:
        from deniable.server.keys import check_kinds

        numbers = {kind: source.rotate(kind, _now()) for kind in check_kinds(kinds or [])}
    words = " and ".join(f"key {number} seals {kind}s" for kind, number in numbers.items())
    conclude(
        as_json,
        {"keys": numbers},
        f"From now on {words}; what older keys sealed stays good. Make a backup: earlier ones lack "
        "the new keys.",
    )


@keys.command()
def retire(
    kind: Kind,
    number: Annotated[int, typer.Argument(help="Which key.", min=0)],
    store: option.Store = option.DEFAULT_STORE,
    breaks: Annotated[
        bool, about("Retire it although something depends on it.", "--breaks")
    ] = False,
    as_json: option.Json = False,
) -> None:
    """Destroy a key that does not seal any more; what it sealed is refused from then on."""
    with store_at(store) as source:
        from deniable.server.keys import check_kinds

        check_kinds([kind])
        broken = source.retire(kind, number, _now(), breaks=breaks)
    conclude(
        as_json,
        {"kind": kind, "retired": number, "breaks": broken},
        f"Key {number} of {kind}s is destroyed in this store; backups may still have it."
        + (f" {broken}" if broken else ""),
    )


# Analysts

Name = Annotated[str, typer.Argument(help="The analyst's name.")]


@analysts.command()
def add(
    name: Name,
    role: Annotated[
        list[str] | None,
        about("look, export or operate; can be given again. By default, look.", "--role"),
    ] = None,
    expires: Annotated[
        str | None, about("When the token ends: 12h, 90d or 52w; by default, never.", "--expires")
    ] = None,
    sign_in: Annotated[
        bool,
        about(
            "They sign in with the provider of 'deniable serve --oidc', under this name: no token.",
            "--sign-in",
        ),
    ] = False,
    store: option.Store = option.DEFAULT_STORE,
    as_json: option.Json = False,
) -> None:
    """Let an analyst in, and show their token, this once."""
    now, span = _now(), None if expires is None else _SPAN.fullmatch(expires)
    if expires is not None and span is None:
        raise StoreError(
            f"--expires is a number of hours, days or weeks, such as 90d; got {expires!r}."
        )
    expiry = None if span is None else now + int(span[1]) * _HOURS[span[2]]
    with store_at(store, create=True) as source:
        token = source.add_analyst(name, role or ["look"], expiry, now, signs_in=sign_in)
        (analyst,) = (each for each in source.analysts() if each.name == name)
    if as_json:
        form = {"name": name, "roles": list(analyst.roles), "expires": _moment(expiry)}
        print_json({**form, "token": token or None})
        return
    may = f"may {', '.join(analyst.roles)}" + (f" until {_moment(expiry)}" if expiry else "")
    if sign_in:
        say(f"{name} signs in under this name, and {may}.")
        return
    say(f"The token of {name}, shown this once; it {may}:")
    print(token)  # noqa: T201


@analysts.command("list")
def list_analysts(store: option.Store = option.DEFAULT_STORE, as_json: option.Json = False) -> None:
    """List the analysts, what each may do, and until when."""
    now = _now()
    with store_at(store) as source:
        rows = [
            {
                "name": each.name,
                "roles": list(each.roles),
                "token": each.state(now),
                "expires": _moment(each.expiry),
            }
            for each in source.analysts()
        ]
    if as_json:
        print_json({"analysts": rows})
    else:
        cells = [
            [row["name"], " ".join(row["roles"] or ()), row["token"], row["expires"]]
            for row in rows
        ]
        stdout().print(table(("name", "roles", "token", "expires"), cells))


@analysts.command()
def link(
    name: Name,
    page: Annotated[
        str, about("The address of the collector's page.", "--page")
    ] = "http://127.0.0.1:8000/",
    store: option.Store = option.DEFAULT_STORE,
    as_json: option.Json = False,
) -> None:
    """Show an address that opens the dashboard to an analyst: once, and within ten minutes."""
    from deniable.server.dashboard_codes import new_code

    dashboard_link(page, "")  # refuses it before anything is written
    with store_at(store) as source:
        address = dashboard_link(page, new_code(source, name))
    if as_json:
        print_json({"name": name, "link": address})
        return
    say(f"It opens the dashboard to {name} once, within ten minutes:")
    print(address)  # noqa: T201


@analysts.command()
def revoke(
    name: Name, store: option.Store = option.DEFAULT_STORE, as_json: option.Json = False
) -> None:
    """Let an analyst in no more, from now on."""
    with store_at(store) as source:
        source.revoke_analyst(name)
    conclude(
        as_json,
        {"name": name, "revoked": True},
        f"{escape(name)} is let in no more, from the next second on, at every collector.",
    )


# The audit log

LogFile = Annotated[
    Path | None, typer.Argument(help="A file that 'audit-log export' wrote; else the store's log.")
]
Heads = Annotated[
    list[str] | None,
    about("A head that the log had: NUMBER:HASH, as printed; can be given again.", "--head"),
]


@contextmanager
def _log(
    file: Path | None, store: str
) -> Iterator[tuple[Iterator[Line], Callable[[], Head | None]]]:
    """Open a log: its lines, and what returns the head that its store has noted."""
    with needing_extra():
        from deniable.server.audit_log import read_lines
    if file is not None:
        yield read_lines(_rows(file)), lambda: None
        return
    with store_at(store) as source, source.reading():
        yield source.audit_lines(), source.audit_head


def _rows(path: Path) -> Iterator[str]:
    """Read a file row by row: in some years a log does not fit into what is read whole."""
    try:
        check_regular(path)
        with path.open(encoding="utf-8", newline="\n") as file:
            while row := file.readline(_LONGEST_ROW):
                yield row
    except OSError as error:
        raise StoreError(f"{path.name} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise StoreError(f"{path.name} is no audit log: it is no text.") from None


def _check(
    lines: Iterator[Line], noted_head: Callable[[], Head | None], heads: list[str] | None = None
) -> Head:
    """Return the head of a log that is as it was written, with these earlier heads."""
    from deniable.server.audit_log import Head, check

    last_head = check(lines, [Head.of(text) for text in heads or ()])
    own_head = noted_head()
    if own_head is not None and own_head != last_head:
        raise StoreError(
            f"The audit log ends at line {last_head.number}, and the store has noted that it ends at "
            f"line {own_head.number}: its end was cut off, or written anew."
        )
    return last_head


@audit_log.command()
def show(
    file: LogFile = None,
    store: option.Store = option.DEFAULT_STORE,
    last: Annotated[int, about("How many lines, from the end.", "--last", min=1)] = 50,
    as_json: option.Json = False,
) -> None:
    """Show who read, exported or changed what; end as 'verify' does, if the log was harmed."""
    with _log(file, store) as (lines, _):
        forms = [line.fields for line in deque(lines, maxlen=last)]
    columns = ("number", "time", "who", "what", "on")
    if as_json:
        print_json({"lines": forms})
    else:
        stdout().print(table(columns, ([_cell(form.get(c)) for c in columns] for form in forms)))
    with _log(file, store) as log:
        _check(*log)


def _cell(value: object) -> Text | int | None:
    """Return what a line says as a table shows it; a name may hold what would move the cursor."""
    if value is None or type(value) is int:
        return value
    return Text("".join(each if each.isprintable() else "�" for each in str(value)))


@audit_log.command()
def verify(
    file: LogFile = None,
    store: option.Store = option.DEFAULT_STORE,
    head: Heads = None,
    as_json: option.Json = False,
) -> None:
    """Check that no line was removed, altered or moved, and print the head to be noted."""
    with _log(file, store) as log:
        last_head = _check(*log, head)
    conclude(
        as_json,
        {"lines": last_head.number, "head": str(last_head)},
        f"{last_head.number:,} lines, each as it was written. Note the head; it finds out later whether "
        f"the end was cut off or all was written anew:\n{last_head}",
    )


@audit_log.command()
def export(
    output: Annotated[Path, about("Where to write the lines.", "--output", "-o")],
    store: option.Store = option.DEFAULT_STORE,
    as_json: option.Json = False,
) -> None:
    """Write the log to a file that can be verified anywhere; end as 'verify' does, if it is harmed."""

    heads = list["Head | None"]()

    def write(draft: Path) -> None:
        with _log(None, store) as (lines, noted_head):
            with draft.open("w", encoding="utf-8", newline="\n") as rows:
                rows.writelines(f"{line}\n" for line in lines)
            heads.append(noted_head())

    write_whole(output, write, StoreError)
    with _log(output, store) as (lines, _):
        head = _check(lines, heads.pop)
    conclude(
        as_json,
        {"lines": head.number, "head": str(head)},
        f"{head.number:,} lines are in {escape(output.name)}; their head:\n{head}",
    )


def groups() -> Iterator[tuple[str, typer.Typer]]:
    """Return the groups of commands by their names."""
    yield from (("keys", keys), ("analysts", analysts), ("audit-log", audit_log))
