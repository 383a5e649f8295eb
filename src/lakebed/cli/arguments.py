"""The arguments and options that several commands have."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import typer

from lakebed.errors import OptionError
from lakebed.format.time_text import parse_time
from lakebed.options.environment import WAREHOUSE_VARIABLE

T = TypeVar("T")


def _or_root(name: str) -> Any:
    """Use the value given before the command (``lakebed -w wh tables``) if there is none after it."""

    def pick(ctx: typer.Context, value: T) -> T:
        return value or ctx.find_root().params.get(name) or value

    return pick


def moment(text: str | None) -> int | None:
    """Returns the time that a user wrote as epoch milliseconds.

    >>> moment("1735689600000")
    1735689600000
    >>> moment("2025-01-01 00:00:00+00:00")
    1735689600000
    """
    if text is None:
        return None
    try:
        return parse_time(text, "TIME")
    except OptionError as error:
        raise typer.BadParameter(str(error)) from None


WAREHOUSE_HELP = (
    "The warehouse: a folder, a URL such as s3://bucket/folder, or a name in lakebed.toml. "
    f"(default: ${WAREHOUSE_VARIABLE}, else the current folder if it is one)"
)
JSON_HELP = "Print only JSON on stdout."

Warehouse = Annotated[
    str | None,
    typer.Option("--warehouse", "-w", metavar="PATH", help=WAREHOUSE_HELP, callback=_or_root("warehouse")),
]
Json = Annotated[bool, typer.Option("--json", help=JSON_HELP, callback=_or_root("as_json"))]
RootWarehouse = Annotated[str | None, typer.Option("--warehouse", "-w", metavar="PATH", help=WAREHOUSE_HELP)]
RootJson = Annotated[bool, typer.Option("--json", help=JSON_HELP)]

TableArgument = Annotated[
    str, typer.Argument(metavar="TABLE", help="database.table, or database.table$branch_name for a branch.")
]
Where = Annotated[str | None, typer.Option("--where", metavar="SQL", help="A condition in SQL.")]
Snapshot = Annotated[int | None, typer.Option("--snapshot", metavar="ID", help="The id of a snapshot.")]
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
Force = Annotated[bool, typer.Option("--force", help="Also delete files younger than 1 h. Stop all writers first.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Carry the plan out without asking.")]
DryRun = Annotated[bool, typer.Option("--dry-run", "-n", help="Only show the plan.")]
