"""``snapshots``, ``files``, ``partitions``: what a table is made of."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import lakebed
from lakebed.cli.arguments import Json, TableArgument, Version, Warehouse, Where
from lakebed.cli.commands.tables import snapshot_record
from lakebed.cli.output import Column, Output, listing, show_clock, show_count, show_size
from lakebed.cli.session import open_lake, open_table, system_name
from lakebed.errors import NotFoundError


def snapshots(
    name: TableArgument,
    limit: Annotated[int, typer.Option("--limit", "-l", min=1, help="How many.")] = 25,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """List the snapshots of a table, newest first."""
    table = open_table(warehouse, name)
    records = [snapshot_record(snapshot) for snapshot in _newest(table, limit)]
    columns = [
        Column("id", "id", right=True),
        Column("commit_kind", "kind"),
        Column.time("time_millis"),
        Column.count("total_record_count", "records"),
        Column.count("delta_record_count", "change"),
        Column("schema_id", "schema", right=True),
        Column("commit_user", "user"),
    ]
    out = Output(as_json=as_json)
    out.emit(records, lambda found: listing(found, columns, empty="no snapshots yet"))
    if len(records) == limit and records[-1]["id"] > 1:
        out.note(f"the newest {limit}; there may be older ones, see --limit")


def _newest(table: lakebed.Table, limit: int) -> list[lakebed.Snapshot]:
    """The newest snapshots, reading no more of them than are shown."""
    latest = table.latest_snapshot()
    page = [] if latest is None else [latest]
    try:
        while page and len(page) < limit and page[-1].id > 1:
            page.append(table.snapshot(page[-1].id - 1))
    except NotFoundError:  # the oldest one, or a gap: few are left, and a list of the folder tells which
        return table.snapshots()[: -limit - 1 : -1]
    return page


def files(
    name: TableArgument,
    where: Where = None,
    version: Version = None,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """List the data files of a table; with --where or --version those that such a read would open.

    More about each file is in the system table: lakebed rows 'TABLE$files'
    """
    table = open_table(warehouse, name)
    if where is None and version is None:
        found = open_lake(warehouse).system_table(system_name(name, "files")).scan().to_arrow()
    else:
        found = table.scan(where=where, version=version).plan().files
    from lakebed.rows.json_rows import json_records  # noqa: PLC0415 - with Arrow, which --help need not wait for

    kept = ["file_path", "bucket", "level", "record_count", "file_size_in_bytes"]
    records = json_records(found.select(kept))
    columns = [
        Column("file_path", "file", lambda path: path.removeprefix(f"{table.path}/")),
        Column("bucket", "bucket", right=True),
        Column("level", "level", right=True),
        Column.count("record_count", "records"),
        Column.size("file_size_in_bytes"),
    ]
    out = Output(as_json=as_json)
    out.emit(records, lambda found: listing(found, columns, empty="no files"))
    out.note(_total(records))


def _total(records: list[dict[str, Any]]) -> str:
    size = sum(record["file_size_in_bytes"] for record in records)
    rows = sum(record["record_count"] for record in records)
    return f"{show_count(len(records))} files, {show_count(rows)} records, {show_size(size)}"


def partitions(name: TableArgument, warehouse: Warehouse = None, as_json: Json = False) -> None:
    """List the partitions of a table with their records, files and last change."""
    from lakebed.rows.json_rows import json_records  # noqa: PLC0415 - with Arrow, which --help need not wait for

    open_table(warehouse, name)
    found = open_lake(warehouse).system_table(system_name(name, "partitions")).scan().to_arrow()
    kept = [
        "partition",
        "record_count",
        "file_count",
        "file_size_in_bytes",
        "last_update_time",
        "total_buckets",
        "deleted_record_count",
    ]
    columns = [
        Column("partition", "partition", lambda text: text or "(not partitioned)"),
        Column.count("record_count", "records"),
        Column.count("file_count", "files"),
        Column.size("file_size_in_bytes"),
        Column("total_buckets", "buckets", right=True),
        Column("last_update_time", "last change", show_clock),
    ]
    records = json_records(found.select(kept))
    Output(as_json=as_json).emit(records, lambda shown: listing(shown, columns, empty="no partitions"))
