"""``databases`` and ``tables``: what a warehouse holds. ``show`` shows one table."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import lakebed
from lakebed.cli.arguments import Json, Warehouse
from lakebed.cli.open_warehouse import open_lake
from lakebed.cli.output import Column, Output, listing, show_names
from lakebed.cli.records import latest_snapshots
from lakebed.errors import LakebedError


def databases(warehouse: Warehouse = None, as_json: Json = False) -> None:
    """List the databases."""
    lake = open_lake(warehouse)
    records = [{"database": name, "tables": len(lake.tables(name))} for name in lake.databases()]
    columns = [Column("database", "database"), Column.count("tables", "tables")]
    Output(as_json=as_json).emit(records, lambda found: listing(found, columns, empty="no databases"))


def tables(
    database: Annotated[
        str | None, typer.Argument(metavar="[DATABASE]", help="One database; all of them without it.")
    ] = None,
    long: Annotated[bool, typer.Option("--long", "-l", help="Also show keys, records and the last commit.")] = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """List the tables of one database, or of all databases."""
    lake = open_lake(warehouse)
    chosen = lake.databases() if database is None else [database]
    records: list[dict[str, Any]] = [
        {"database": name, "table": table} for name in chosen for table in lake.tables(name)
    ]
    columns = [Column("database", "database"), Column("table", "table")]
    if long:
        records = [{**record, **_summary(lake, f"{record['database']}.{record['table']}")} for record in records]
        columns += [
            Column("partition_keys", "partitioned by", show_names),
            Column("primary_keys", "primary key", show_names),
            Column("snapshots", "snapshot", _show_ids, right=True),
            Column.count("total_record_count", "records"),
            Column.time("time_millis", "last commit"),
            Column("problem", "problem"),
        ]
    Output(as_json=as_json).emit(records, lambda found: listing(found, columns, empty="no tables"))


def _summary(lake: lakebed.Lake, name: str) -> dict[str, Any]:
    """Returns the facts of one table; a table that cannot be opened gets the error as its problem."""
    try:
        table = lake.table(name)
        schema, latest = table.schema, latest_snapshots(table)
    except LakebedError as error:
        return {"problem": str(error)}
    return {
        "partition_keys": list(schema.partition_keys),
        "primary_keys": list(schema.primary_keys),
        "snapshot_id": latest["main"].id if "main" in latest else None,
        "snapshots": {branch: snapshot.id for branch, snapshot in latest.items()},
        "total_record_count": sum(snapshot.total_record_count for snapshot in latest.values()),
        "time_millis": max((snapshot.time_millis for snapshot in latest.values()), default=None),
        "problem": None,
    }


def _show_ids(snapshots: dict[str, int] | None) -> str:
    """Returns the latest snapshot of a table, or of each branch of a chain table; ``None`` if it is not known.

    >>> _show_ids({"main": 7}), _show_ids({"snapshot": 1, "delta": 3}), _show_ids({})
    ('7', 'snapshot 1, delta 3', '-')
    """
    texts = [
        f"{number:,}" if branch == "main" else f"{branch} {number:,}" for branch, number in (snapshots or {}).items()
    ]
    return ", ".join(texts) or "-"
