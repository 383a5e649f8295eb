"""``files`` and ``partitions``: the data files of a table, and its partitions."""

from __future__ import annotations

from typing import Any

from lakebed.cli.arguments import Json, TableArgument, Version, Warehouse, Where
from lakebed.cli.open_warehouse import open_lake, open_table, system_name
from lakebed.cli.output import Column, Output, listing, show_clock, show_size
from lakebed.format.human_text import count_text


def files(
    name: TableArgument,
    where: Where = None,
    version: Version = None,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """List the data files of a table. With --where or --version, list the files that such a read would open.

    The system table has more columns: lakebed rows 'TABLE$files'
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
    return f"{count_text(len(records), 'file')}, {count_text(rows, 'record')}, {show_size(size)}"


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
