"""``snapshots``, ``history``, ``compactions`` and ``diff``: what happened to a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

import lakebed
from lakebed.cli.arguments import Json, TableArgument, Warehouse, moment
from lakebed.cli.open_warehouse import open_table
from lakebed.cli.output import (
    Column,
    Output,
    Record,
    listing,
    section,
    show_count,
    show_size,
    show_text,
    show_time,
    show_value,
)
from lakebed.cli.records import branches_note, snapshot_record
from lakebed.errors import NotFoundError
from lakebed.format.commit_facts import BYTES_ADDED, BYTES_DELETED, FILES_ADDED, FILES_DELETED, read_count
from lakebed.format.human_text import count_text

Limit = Annotated[int, typer.Option("--limit", "-l", min=1, help="How many at most.")]
Cursor = Annotated[
    str | None,
    typer.Option("--cursor", metavar="CURSOR", help="Where the page starts: what the page before shows, or an id."),
]
Offset = Annotated[int, typer.Option("--offset", min=0, help="How many of the newest to skip.")]
User = Annotated[str | None, typer.Option("--user", metavar="NAME", help="Only commits of this user.")]
FromTime = Annotated[
    str | None,
    typer.Option(
        "--from",
        "--since",
        metavar="TIME",
        help="Only this time or later: '2025-01-31 12:00', '3 d' ago, or epoch milliseconds.",
    ),
]
ToTime = Annotated[str | None, typer.Option("--to", "--until", metavar="TIME", help="Only this time or earlier.")]
FromSnapshot = Annotated[
    int | None, typer.Option("--from-snapshot", metavar="ID", min=0, help="Only snapshots from this id on.")
]
ToSnapshot = Annotated[
    int | None, typer.Option("--to-snapshot", metavar="ID", min=0, help="Only snapshots up to this id.")
]


def snapshots(
    name: TableArgument,
    limit: Limit = 25,
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
    out.emit(records, lambda found: listing(found, columns, empty="no snapshots"))
    _note_branches(out, table)
    if len(records) == limit and records[-1]["id"] > 1:
        out.note(f"the newest {count_text(limit, 'snapshot')}; use --limit for older ones")


def _note_branches(out: Output, table: lakebed.Table) -> None:
    note = branches_note(table)
    if note is not None:
        out.note(note)


def _newest(table: lakebed.Table, limit: int) -> list[lakebed.Snapshot]:
    """Returns the newest snapshots; reads only those that are shown."""
    latest = table.latest_snapshot()
    page = [] if latest is None else [latest]
    try:
        while page and len(page) < limit and page[-1].id > 1:
            page.append(table.snapshot(page[-1].id - 1))
    except NotFoundError:  # the oldest snapshot, or a gap in the ids
        return table.snapshots()[: -limit - 1 : -1]
    return page


def history(
    name: TableArgument,
    kind: Annotated[
        str | None, typer.Option("--kind", "-k", metavar="KIND", help="APPEND, OVERWRITE, COMPACT or ANALYZE.")
    ] = None,
    limit: Limit = 25,
    cursor: Cursor = None,
    offset: Offset = 0,
    user: User = None,
    from_time: FromTime = None,
    to_time: ToTime = None,
    from_snapshot: FromSnapshot = None,
    to_snapshot: ToSnapshot = None,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Show a page of the snapshots of a table, newest first, filtered by kind, user or time.

    An index beside the table finds every page without reading the others.
    """
    out = Output(as_json=as_json)
    asked = {"limit": limit, "cursor": cursor, "offset": offset, "user": user}
    between = {
        "from_time": _checked_time(from_time),
        "to_time": _checked_time(to_time),
        "from_snapshot": from_snapshot,
        "to_snapshot": to_snapshot,
    }
    table = open_table(warehouse, name)
    page = table.history(kind=kind, **between, **asked)  # type: ignore[arg-type]
    records = [{**snapshot_record(one), **_recorded(one)} for one in page.snapshots]
    columns = [
        Column("id", "id", right=True),
        Column("commit_kind", "kind"),
        Column.time("time_millis"),
        Column.count("total_record_count", "records"),
        Column.count("delta_record_count", "change"),
        Column.count("files_added", "files added"),
        Column.count("files_deleted", "deleted"),
        Column("operation", "operation"),
        Column("commit_user", "user"),
    ]
    out.emit(
        _page_record("snapshots", records, page),
        lambda _: listing(records, columns, empty=_none("matching snapshots", page)),
    )
    out.note(_where_we_are(len(records), page))
    _note_branches(out, table)


def _checked_time(text: str | None) -> str | None:
    """Returns a time as it was written, once it is known to be one: the cursor of a page holds '3 d' as '3 d'."""
    moment(text)
    return text


def _recorded(snapshot: lakebed.Snapshot) -> dict[str, int | None]:
    """Returns the facts that a commit recorded about itself."""
    return {
        "files_added": read_count(snapshot.properties, FILES_ADDED),
        "files_deleted": read_count(snapshot.properties, FILES_DELETED),
        "bytes_added": read_count(snapshot.properties, BYTES_ADDED),
        "bytes_deleted": read_count(snapshot.properties, BYTES_DELETED),
    }


def _page_record(what: str, records: list[dict[str, Any]], page: Any) -> dict[str, Any]:
    return {
        what: records,
        "total": page.total,
        "next_cursor": page.next_cursor,
        "scanned": page.scanned,
        "source": str(page.source),
    }


def _none(what: str, page: Any) -> str:
    return f"no {what}" if page.next_cursor is None else f"no {what} among those read"


def _where_we_are(shown: int, page: Any) -> str:
    total = "" if page.total is None else f" of {show_count(page.total)}"
    further = "" if page.next_cursor is None else f"; next page: --cursor {page.next_cursor}"
    return f"{show_count(shown)}{total}, {count_text(page.scanned, 'snapshot')} read ({page.source}){further}"


def compactions(
    name: TableArgument,
    kind: Annotated[str | None, typer.Option("--kind", "-k", metavar="KIND", help="FULL, MINOR or MANIFESTS.")] = None,
    limit: Limit = 25,
    cursor: Cursor = None,
    offset: Offset = 0,
    user: User = None,
    from_time: FromTime = None,
    to_time: ToTime = None,
    from_snapshot: FromSnapshot = None,
    to_snapshot: ToSnapshot = None,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Show a page of the compactions of a table, newest first: what they read and wrote, when, and their duration."""
    out = Output(as_json=as_json)
    asked = {"limit": limit, "cursor": cursor, "offset": offset, "user": user}
    between = {
        "from_time": _checked_time(from_time),
        "to_time": _checked_time(to_time),
        "from_snapshot": from_snapshot,
        "to_snapshot": to_snapshot,
    }
    table = open_table(warehouse, name)
    page = table.compactions(kind=kind, **between, **asked)  # type: ignore[arg-type]
    records = [_compaction_record(one) for one in page.compactions]
    columns = [
        Column("snapshot_id", "id", right=True),
        Column("kind", "kind"),
        Column.time("started_millis", "started"),
        Column("duration_millis", "took", _show_duration, right=True),
        Column.count("buckets", "buckets"),
        Column.count("input_files", "files in"),
        Column.size("input_bytes", "size in"),
        Column.count("output_files", "files out"),
        Column.size("output_bytes", "size out"),
        Column.count("input_rows", "rows in"),
        Column.count("output_rows", "rows out"),
    ]
    out.emit(
        _page_record("compactions", records, page),
        lambda _: listing(records, columns, empty=_none("compactions", page)),
    )
    out.note(_where_we_are(len(records), page))
    _note_branches(out, table)


def _compaction_record(one: lakebed.Compaction) -> dict[str, Any]:
    names = ("started_millis", "finished_millis", "duration_millis", "partitions", "buckets")
    sides = [f"{side}_{what}" for side in ("input", "output") for what in ("files", "bytes", "rows")]
    return {
        "snapshot_id": one.snapshot.id,
        "kind": str(one.kind),
        "status": str(one.status),
        "commit_user": one.snapshot.commit_user,
        **{name: getattr(one, name) for name in (*names, *sides)},
        "from_facts": one.from_facts,
    }


def _show_duration(millis: int) -> str:
    """Returns a duration as text.

    >>> _show_duration(740), _show_duration(61_500), _show_duration(7_200_000)
    ('0.7 s', '1 min 2 s', '2 h 0 min')
    """
    if millis < 60_000:
        return f"{millis / 1000:.1f} s"
    seconds = round(millis / 1000)
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60} min"


def diff(
    name: TableArgument,
    before: Annotated[str, typer.Argument(metavar="BEFORE", help="A snapshot or a tag.")],
    after: Annotated[
        str | None, typer.Argument(metavar="AFTER", help="A snapshot or a tag. (default: the latest snapshot)")
    ] = None,
    sample: Annotated[
        int, typer.Option("--sample", "-s", min=0, help="How many rows of each side at most; 0 compares no rows.")
    ] = 10,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Show the differences between two snapshots of a table: schema, files, and some of the rows."""
    out = Output(as_json=as_json)
    table = open_table(warehouse, name)
    found = table.diff(before, after, sample=sample)
    from lakebed.rows.json_rows import json_records  # noqa: PLC0415 - with Arrow, which --help need not wait for

    record: dict[str, Any] = {
        "before": found.before.id,
        "after": found.after.id,
        "schema": [
            {"what": one.what, "name": one.name, "before": one.before, "after": one.after} for one in found.schema
        ],
        "files_added": json_records(found.files_added),
        "files_removed": json_records(found.files_removed),
        "rows_added": None if found.rows_added is None else json_records(found.rows_added),
        "rows_removed": None if found.rows_removed is None else json_records(found.rows_removed),
        "has_more_rows": found.has_more_rows,
    }
    out.emit(record, lambda shown: _view(shown, table.path, found))
    if sample and found.rows_added is None:
        out.note(f"rows were not compared: the files that differ are too large ({show_size(found.bytes_to_compare)})")
    elif found.has_more_rows:
        out.note(f"at most {count_text(sample, 'row')} of each side; use --sample for more")


def _view(record: dict[str, Any], path: str, found: lakebed.Difference) -> RenderableType:
    times = [show_time(one.time_millis) for one in (found.before, found.after)]
    parts: list[RenderableType] = [
        Text(f"from snapshot {record['before']} ({times[0]}) to snapshot {record['after']} ({times[1]})")
    ]
    if record["schema"]:
        columns = [Column("what", "what"), Column("name", "name"), Column("before", "before"), Column("after", "after")]
        parts.append(section("schema", listing(record["schema"], columns)))
    files = _signed(record["files_removed"], record["files_added"])
    columns = [
        Column("", ""),
        Column("file_path", "file", lambda text: show_text(text.removeprefix(f"{path}/"))),
        Column("level", "level", right=True),
        Column.count("record_count", "records"),
        Column.size("file_size_in_bytes"),
    ]
    parts.append(section("files", listing(files, columns, empty="no differences")))
    if record["rows_added"] is not None:
        rows = _signed(record["rows_removed"], record["rows_added"])
        names = [] if found.rows_added is None else found.rows_added.column_names
        columns = [Column("", ""), *(Column(name, show_text(name), show_value) for name in names)]
        parts.append(section("rows", listing(rows, columns, empty="no differences")))
    return Group(*parts)


def _signed(removed: Sequence[Record], added: Sequence[Record]) -> list[Record]:
    """Returns removed and added records in one list; their sign is under the empty name, which no column has."""
    return [*({"": "-", **one} for one in removed), *({"": "+", **one} for one in added)]
