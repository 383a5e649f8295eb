"""``show``: one table with its columns, keys, options, size, latest snapshot, branches, tags and warnings."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType

import lakebed
from lakebed.cli.arguments import Json, TableArgument, Warehouse
from lakebed.cli.open_warehouse import open_lake, open_table, system_name
from lakebed.cli.output import (
    Column,
    Output,
    facts,
    listing,
    section,
    show_count,
    show_names,
    show_size,
    show_text,
    show_time,
)
from lakebed.cli.records import latest_snapshots, snapshot_record
from lakebed.errors import LakebedError
from lakebed.format.human_text import count_text


def show(
    name: TableArgument,
    every: Annotated[
        bool, typer.Option("--all-options", help="Also show the defaults of options that the table does not set.")
    ] = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Show a table: columns, keys, options, size, latest snapshot, branches and tags, warnings."""
    from lakebed.system_tables.files import partitions as branch_partitions  # noqa: PLC0415 - as below
    from lakebed.table.internals import store_of  # noqa: PLC0415 - with Arrow, which --help need not wait for

    table = open_table(warehouse, name)
    schema, latest = table.schema, latest_snapshots(table)
    lake = open_lake(warehouse)
    partitions = lake.system_table(system_name(name, "partitions")).scan().to_arrow()
    held = [branch_partitions(store_of(one)) for one in (table, *map(table.branch, table.data_branches()))]
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
        "latest_snapshot": snapshot_record(latest[table.branch_name]) if table.branch_name in latest else None,
        "latest_snapshots": {branch: snapshot_record(snapshot) for branch, snapshot in latest.items()},
        "data_branches": table.data_branches(),
        "record_count": sum(snapshot.total_record_count for snapshot in latest.values()),
        "file_count": sum(int(part["file_count"].to_numpy().sum()) for part in held),
        "file_size_in_bytes": sum(int(part["file_size_in_bytes"].to_numpy().sum()) for part in held),
        "partition_count": len(partitions) if schema.partition_keys else None,
        "branches": table.branches(),
        "tags": {tag: snapshot.id for tag, snapshot in table.tags().items()},
        "warnings": _warnings(table),
    }
    Output(as_json=as_json).emit(record, _view)


def _options(table: lakebed.Table, *, every: bool) -> list[dict[str, Any]]:
    """Returns the options that are set, with their defaults; with ``every`` also the defaults of the others."""
    from lakebed.options import OPTIONS, Support, find  # noqa: PLC0415 - a long list that other commands do not need
    from lakebed.options.secrets import shown_value  # noqa: PLC0415 - as above

    found = []
    for key, value in sorted(table.options.items()):
        known = find(key)
        shown = shown_value(key, value)
        found.append({"key": key, "value": shown, "default": None if known is None else known.default, "set": True})
    if every:
        unset = (option for option in OPTIONS.values() if option.support is Support.HONOURED and option.default)
        found += [
            {"key": option.name, "value": option.default, "default": option.default, "set": False}
            for option in sorted(unset, key=lambda option: option.name)
            if option.name not in table.options and "<" not in option.name
        ]
    return found


def _warnings(table: lakebed.Table) -> list[str]:
    """Returns the warnings about a table; if Lakebed cannot read the table, the error is the warning."""
    try:
        return table.warnings
    except LakebedError as error:
        return [str(error)]


def _in_branches(record: dict[str, Any]) -> str:
    """Returns where the rows of a chain table are; a read of a day merges some of them."""
    names = show_text(" and ".join(record["data_branches"]))
    return f" in the branches {names}" if names else ""


def _view(record: dict[str, Any]) -> RenderableType:
    branch = "" if record["branch"] == "main" else f" (branch {record['branch']})"
    head = [("table", show_text(record["name"] + branch)), ("path", show_text(record["path"]))]
    if record["comment"]:
        head.append(("comment", show_text(record["comment"])))
    head += [
        ("primary key", show_names(record["primary_keys"])),
        ("partitioned by", show_names(record["partition_keys"])),
        ("bucket key", show_names(record["bucket_keys"])),
        ("size", f"{show_size(record['file_size_in_bytes'])} in {count_text(record['file_count'], 'file')}"),
        ("records", show_count(record["record_count"]) + _in_branches(record)),
    ]
    if record["partition_count"] is not None:
        head.append(("partitions", show_count(record["partition_count"])))
    for branch, latest in record["latest_snapshots"].items():
        when = show_time(latest["time_millis"])
        of_branch = f"branch {branch}: " if branch in record["data_branches"] else ""
        text = f"{of_branch}{latest['id']}, {latest['commit_kind']} of {when} by {latest['commit_user']}"
        head.append(("snapshot", show_text(text)))
    if not record["latest_snapshots"]:
        head.append(("snapshot", "none"))
    head.append(("branches", show_names(record["branches"])))
    head.append(("tags", show_names([f"{name} (snapshot {number})" for name, number in record["tags"].items()])))
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
