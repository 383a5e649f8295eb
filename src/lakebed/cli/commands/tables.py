"""``databases``, ``tables``, ``show``: what there is, and what one table is."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType

import lakebed
from lakebed.cli.arguments import Json, TableArgument, Warehouse
from lakebed.cli.output import Column, Output, facts, listing, section, show_count, show_size, show_text, show_time
from lakebed.cli.session import open_lake, open_table, system_name
from lakebed.errors import LakebedError


def databases(warehouse: Warehouse = None, as_json: Json = False) -> None:
    """List the databases."""
    lake = open_lake(warehouse)
    records = [{"database": name, "tables": len(lake.tables(name))} for name in lake.databases()]
    columns = [Column("database", "database"), Column.count("tables", "tables")]
    Output(as_json=as_json).emit(records, lambda found: listing(found, columns, empty="no databases"))


def tables(
    database: Annotated[str | None, typer.Argument(metavar="[DATABASE]", help="All databases if left out.")] = None,
    long: Annotated[bool, typer.Option("--long", "-l", help="Also keys, records and the last commit.")] = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """List the tables of a database, or of all."""
    lake = open_lake(warehouse)
    chosen = lake.databases() if database is None else [database]
    records: list[dict[str, Any]] = [
        {"database": name, "table": table} for name in chosen for table in lake.tables(name)
    ]
    columns = [Column("database", "database"), Column("table", "table")]
    if long:
        records = [{**record, **_summary(lake, f"{record['database']}.{record['table']}")} for record in records]
        columns += [
            Column("partition_keys", "partitioned by", _show_names),
            Column("primary_keys", "primary key", _show_names),
            Column.count("snapshot_id", "snapshot"),
            Column.count("total_record_count", "records"),
            Column.time("time_millis", "last commit"),
            Column("problem", "problem"),
        ]
    Output(as_json=as_json).emit(records, lambda found: listing(found, columns, empty="no tables"))


def _summary(lake: lakebed.Lake, name: str) -> dict[str, Any]:
    """The facts of one table; a table that cannot be opened must not hide the others."""
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


def _show_names(names: list[str] | None) -> str:
    return show_text(", ".join(names)) if names else "-"


def snapshot_record(snapshot: lakebed.Snapshot) -> dict[str, Any]:
    """A snapshot with the names of the Python interface."""
    record = {part.name: getattr(snapshot, part.name) for part in fields(snapshot)}
    return {**record, "commit_kind": str(snapshot.commit_kind), "properties": dict(snapshot.properties)}


def show(
    name: TableArgument,
    every: Annotated[
        bool, typer.Option("--all-options", help="Also the options that Lakebed acts on and the table does not set.")
    ] = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Show a table: columns, keys, options, size, latest snapshot, branches and tags, warnings."""
    table = open_table(warehouse, name)
    schema, latest = table.schema, table.latest_snapshot()
    partitions = open_lake(warehouse).system_table(system_name(name, "partitions")).scan().to_arrow()
    record = {
        "name": table.name,
        "branch": table.branch_name,
        "path": table.path,
        "comment": schema.comment,
        "schema_id": schema.id,
        "columns": [
            {
                "id": column.id,
                "name": column.name,
                "type": str(column.type),
                "nullable": column.nullable,
                "default": column.default,
                "comment": column.description,
            }
            for column in schema.fields
        ],
        "partition_keys": list(schema.partition_keys),
        "primary_keys": list(schema.primary_keys),
        "bucket_keys": list(schema.bucket_keys),
        "options": _options(table, every=every),
        "latest_snapshot": None if latest is None else snapshot_record(latest),
        "record_count": _sum(partitions, "record_count"),
        "file_count": _sum(partitions, "file_count"),
        "file_size_in_bytes": _sum(partitions, "file_size_in_bytes"),
        "partition_count": len(partitions) if schema.partition_keys else None,
        "branches": table.branches(),
        "tags": {tag: snapshot.id for tag, snapshot in table.tags().items()},
        "warnings": _warnings(table),
    }
    Output(as_json=as_json).emit(record, _view)


def _sum(table: Any, column: str) -> int:
    return int(table[column].to_numpy().sum())


def _options(table: lakebed.Table, *, every: bool) -> list[dict[str, Any]]:
    """The options that are set, with their defaults; if asked, also what holds because nothing is set."""
    from lakebed.options import OPTIONS, Support, find  # noqa: PLC0415 - a long list, which other commands do without

    found = []
    for key, value in sorted(table.options.items()):
        known = find(key)
        found.append({"key": key, "value": value, "default": None if known is None else known.default, "set": True})
    if every:
        unset = (option for option in OPTIONS.values() if option.support is Support.HONOURED and option.default)
        found += [
            {"key": option.name, "value": option.default, "default": option.default, "set": False}
            for option in sorted(unset, key=lambda option: option.name)
            if option.name not in table.options and "<" not in option.name
        ]
    return found


def _warnings(table: lakebed.Table) -> list[str]:
    """What to know before using the table; one that Lakebed cannot read is still shown."""
    try:
        return table.warnings
    except LakebedError as error:
        return [str(error)]


def _view(record: dict[str, Any]) -> RenderableType:
    latest = record["latest_snapshot"]
    branch = "" if record["branch"] == "main" else f" (branch {record['branch']})"
    head = [("table", show_text(record["name"] + branch)), ("path", show_text(record["path"]))]
    if record["comment"]:
        head.append(("comment", show_text(record["comment"])))
    head += [
        ("primary key", _show_names(record["primary_keys"])),
        ("partitioned by", _show_names(record["partition_keys"])),
        ("bucket key", _show_names(record["bucket_keys"])),
        ("size", f"{show_size(record['file_size_in_bytes'])} in {show_count(record['file_count'])} files"),
        ("records", show_count(record["record_count"])),
    ]
    if record["partition_count"] is not None:
        head.append(("partitions", show_count(record["partition_count"])))
    if latest is None:
        head.append(("snapshot", "none yet"))
    else:
        when = show_time(latest["time_millis"])
        head.append(
            ("snapshot", show_text(f"{latest['id']}, {latest['commit_kind']} of {when} by {latest['commit_user']}"))
        )
    head.append(("branches", _show_names(record["branches"])))
    head.append(("tags", _show_names([f"{name} (snapshot {number})" for name, number in record["tags"].items()])))
    columns = [
        Column("name", "column"),
        Column("type", "type"),
        Column("default", "default"),
        Column("comment", "comment"),
    ]
    parts = [facts(head), section(f"columns (schema {record['schema_id']})", listing(record["columns"], columns))]
    options = [
        Column("key", "option"),
        Column("value", "value"),
        Column("default", "default"),
        Column("set", "", lambda is_set: "set" if is_set else "default"),
    ]
    parts.append(section("options", listing(record["options"], options, empty="none set")))
    if record["warnings"]:
        parts.append(section("warnings", Group(*(show_text(warning) for warning in record["warnings"]))))
    return Group(*parts)
