"""The arguments and options that several commands share, each declared once."""

from __future__ import annotations

import datetime as dt
import time
from typing import Annotated, Any, TypeVar

import typer

from lakebed.cli.session import WAREHOUSE_VARIABLE
from lakebed.options.parsing import parse_duration

T = TypeVar("T")


def _or_root(name: str) -> Any:
    """Takes the value given before the command (``lakebed -w wh tables``) where none stands after it."""

    def pick(ctx: typer.Context, value: T) -> T:
        return value or ctx.find_root().params.get(name) or value

    return pick


def moment(text: str | None) -> int | None:
    """Epoch milliseconds of what a user writes for a time.

    >>> moment("1735689600000")
    1735689600000
    >>> moment("2025-01-01 00:00:00+00:00")
    1735689600000
    >>> abs(time.time() * 1000 - moment("2 d") - 2 * 86_400_000) < 5_000
    True
    """
    if text is None:
        return None
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        return round(dt.datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError):
        pass
    try:
        return round((time.time() - parse_duration(text)) * 1000)
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            f"{text!r} is not a time; write '2025-01-31 12:00', a time ago like '3 d' or '12 h', or epoch milliseconds"
        ) from None


WAREHOUSE_HELP = f"The warehouse's folder. (default: ${WAREHOUSE_VARIABLE}, else the current folder if it is one)"
JSON_HELP = "Print JSON and nothing else on stdout."

Warehouse = Annotated[
    str | None,
    typer.Option("--warehouse", "-w", metavar="PATH", help=WAREHOUSE_HELP, callback=_or_root("warehouse")),
]
Json = Annotated[bool, typer.Option("--json", help=JSON_HELP, callback=_or_root("as_json"))]
RootWarehouse = Annotated[str | None, typer.Option("--warehouse", "-w", metavar="PATH", help=WAREHOUSE_HELP)]
RootJson = Annotated[bool, typer.Option("--json", help=JSON_HELP)]

TableArgument = Annotated[
    str, typer.Argument(metavar="TABLE", help="As database.table, or database.table$branch_name for a branch.")
]
Where = Annotated[str | None, typer.Option("--where", metavar="SQL", help="Only what satisfies a SQL expression.")]
Snapshot = Annotated[int | None, typer.Option("--snapshot", metavar="ID", help="A snapshot.")]
Version = Annotated[str | None, typer.Option("--version", metavar="ID|TAG", help="As of a snapshot or a tag.")]
Tag = Annotated[str | None, typer.Option("--tag", metavar="NAME", help="As of a tag.")]
Timestamp = Annotated[
    str | None,
    typer.Option("--timestamp", metavar="TIME", help="As of a time: '2025-01-31 12:00', '3 d' ago, or milliseconds."),
]
OlderThan = Annotated[
    str | None,
    typer.Option("--older-than", metavar="TIME", help="A time: '2025-01-31 12:00', '3 d' ago, or milliseconds."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it. Without this the plan is shown, and a terminal asked.")]
DryRun = Annotated[bool, typer.Option("--dry-run", "-n", help="Only show the plan; never ask.")]
