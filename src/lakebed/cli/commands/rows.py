"""``rows``: read a table, a branch or a system table."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.text import Text

import lakebed
from lakebed.cli.arguments import Json, Tag, Timestamp, Version, Warehouse, Where, moment
from lakebed.cli.open_warehouse import open_any
from lakebed.cli.output import Column, Output, listing, show_text, show_value
from lakebed.errors import OptionError
from lakebed.format.human_text import count_text


def rows(
    name: Annotated[
        str,
        typer.Argument(metavar="TABLE", help="As database.table, also db.t$branch_b, db.t$snapshots, db.t$files ..."),
    ],
    columns: Annotated[
        list[str] | None, typer.Option("--columns", "-c", metavar="A,B", help="Only these columns, in this order.")
    ] = None,
    where: Where = None,
    limit: Annotated[int, typer.Option("--limit", "-l", min=0, help="How many rows at most; 0 for all.")] = 20,
    version: Version = None,
    tag: Tag = None,
    timestamp: Timestamp = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show what would be read, without reading it.")] = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Print rows of a table, a branch or a system table."""
    out = Output(as_json=as_json)
    scan = _scan(open_any(warehouse, name), columns, where, version=version, tag=tag, timestamp=moment(timestamp))
    if explain:
        if not isinstance(scan, lakebed.Scan):
            raise OptionError(f"{name} is a system table, which has no plan to explain; read it without --explain")
        out.emit({"explain": scan.explain()}, lambda record: Text(record["explain"]))
        return
    from lakebed.cli.values import head, is_number  # noqa: PLC0415 - with Arrow, which --help need not wait for
    from lakebed.rows.json_rows import json_records  # noqa: PLC0415 - with Arrow, which --help need not wait for

    found = head(scan, limit)
    cut = 0 < limit < len(found)
    shown = found.slice(0, limit) if cut else found
    titles = [
        Column(field.name, show_text(field.name), show_value, right=is_number(field.type)) for field in found.schema
    ]
    out.emit(json_records(shown), lambda records: listing(records, titles, empty="no rows"))
    if cut:
        out.note(f"the first {count_text(limit, 'row')}; use --limit for more")


def _scan(table: Any, columns: list[str] | None, where: str | None, **travel: Any) -> Any:
    names = None if columns is None else [name.strip() for part in columns for name in part.split(",")]
    given = {name: value for name, value in travel.items() if value is not None}
    if given and isinstance(table, lakebed.SystemTable):
        raise OptionError(f"{table.name} shows only the latest state; read it without --{next(iter(given))}")
    return table.scan(names, where, **given)
