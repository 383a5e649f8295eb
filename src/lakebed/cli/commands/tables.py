"""``databases`` and ``tables``: what a warehouse holds. ``show`` shows one table."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import lakebed
from lakebed.cli.arguments import Json, Warehouse
from lakebed.cli.open_warehouse import open_lake
from lakebed.cli.output import Column, Output, listing, show_names
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
            Column.count("snapshot_id", "snapshot"),
            Column.count("total_record_count", "records"),
            Column.time("time_millis", "last commit"),
            Column("problem", "problem"),
        ]
    Output(as_json=as_json).emit(records, lambda found: listing(found, columns, empty="no tables"))


def _summary(lake: lakebed.Lake, name: str) -> dict[str, Any]:
    """Returns the facts of one table; a table that cannot be opened gets the error as its problem."""
    try:
        table = lake.table(name)
        schema, latest = table.schema, table.latest_snapshot()
    except LakebedError as error:
        return {"problem": str(error)}
    return {
        "partition_keys": list(schema.partition_keys),
        "primary_keys": list(schema.primary_keys),
        "snapshot_id": None if latest is None else latest.id,
        "total_record_count": 0 if latest is None else latest.total_record_count,
        "time_millis": None if latest is None else latest.time_millis,
        "problem": None,
    }
