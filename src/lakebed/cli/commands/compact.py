"""``compact`` and ``compact-manifests``: merge files of a table."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from lakebed.cli.arguments import Json, TableArgument, Warehouse, Where
from lakebed.cli.open_warehouse import open_table
from lakebed.cli.output import Output, show_text
from lakebed.cli.records import branches_note, snapshot_record


def compact(
    name: TableArgument,
    full: Annotated[bool, typer.Option("--full", help="Merge all files that can be merged.")] = False,
    where: Where = None,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Merge files where there are too many. --where is a condition over partition columns. Rows do not change."""
    table = open_table(warehouse, name)
    out = Output(as_json=as_json)
    with out.progress(f"compacting {table.name}") as report:
        made = table.compact(full=full, where=where, report=report)
    record = {"table": table.name, "snapshot": None if made is None else snapshot_record(made)}
    done = "nothing to compact" if made is None else f"compacted {table.name} as snapshot {made.id}"
    out.emit(record, lambda _: Text(show_text(done)))
    note = branches_note(table)
    if note is not None:
        out.note(note)


def compact_manifests(
    name: TableArgument,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Only show what would be rewritten.")] = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Merge all manifests of a table that hold deletes or are small. Data files and rows do not change."""
    table = open_table(warehouse, name)
    found = table.compact_manifests(dry_run=dry_run)
    record = {
        "table": table.name,
        "dry_run": found.dry_run,
        "before": asdict(found.before),
        "after": asdict(found.after),
        "rewritten": found.rewritten,
        "cancelled": found.cancelled,
        "snapshot": None if found.snapshot is None else snapshot_record(found.snapshot),
    }
    lines = [show_text(line) for line in str(found).splitlines()]
    Output(as_json=as_json).emit(record, lambda _: Text("\n".join(lines)))
