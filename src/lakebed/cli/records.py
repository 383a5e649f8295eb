"""Records that several commands print: a snapshot, and the files that a command deletes."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from lakebed.cli.output import Column, listing, show_size
from lakebed.format.human_text import count_text, ids_text

if TYPE_CHECKING:
    import lakebed
    from lakebed.metadata.references.removal import Removal

ListFiles = Annotated[
    bool, typer.Option("--files", help="List every file instead of the number of files of each kind.")
]


def snapshot_record(snapshot: lakebed.Snapshot) -> dict[str, Any]:
    """Returns a snapshot under the names of the Python interface."""
    record = {part.name: getattr(snapshot, part.name) for part in fields(snapshot)}
    return {**record, "commit_kind": str(snapshot.commit_kind), "properties": dict(snapshot.properties)}


def latest_snapshots(table: lakebed.Table) -> dict[str, lakebed.Snapshot]:
    """Returns the latest snapshot of each branch whose rows a table shows: its own, and those of a chain table."""
    branches = [table, *map(table.branch, table.data_branches())]
    found = {one.branch_name: one.latest_snapshot() for one in branches}
    return {branch: latest for branch, latest in found.items() if latest is not None}


def branches_note(table: lakebed.Table) -> str | None:
    """Returns where the history and the files of a chain table are; ``None`` for other tables."""
    names = " and ".join(f"{table.name}$branch_{branch}" for branch in table.data_branches())
    return f"{table.name} is a chain table, whose rows are in branches: see also {names}" if names else None


def removal_record(removal: Removal) -> dict[str, Any]:
    """Returns the files of a removal with their number and size, in total and by kind."""
    return {
        "file_count": removal.count,
        "file_size_in_bytes": removal.bytes,
        "by_kind": [
            {"kind": kind, "file_count": count, "file_size_in_bytes": size}
            for kind, (count, size) in removal.by_kind().items()
        ],
        "files": [
            {"path": file.path, "file_size_in_bytes": file.size if file.size >= 0 else None, "kind": file.kind}
            for file in removal.files
        ],
    }


def removal_view(record: dict[str, Any], *, list_files: bool, empty: str = "no files to delete") -> RenderableType:
    """Returns a sentence with the files by kind, or one by one."""
    if not record["file_count"]:
        return Text(empty)
    doing = "would delete" if record["dry_run"] else "deleted"
    columns = [Column("kind", "kind"), Column.count("file_count", "files"), Column.size("file_size_in_bytes")]
    if list_files:
        columns = [Column("kind", "kind"), Column.size("file_size_in_bytes"), Column("path", "file")]
    rows = record["files" if list_files else "by_kind"]
    total = f"{count_text(record['file_count'], 'file')}, {show_size(record['file_size_in_bytes'])}"
    return Group(Text(f"{doing} {total}"), listing(rows, columns))


def deleted_text(record: dict[str, Any]) -> str:
    """Returns what a rollback or a fast-forward deletes from the history, as part of a sentence."""
    gone = [ids_text(record["removed_snapshots"], "snapshot")] if record["removed_snapshots"] else []
    gone += [f"tag {tag}" for tag in record["removed_tags"]]
    if not gone:
        return "nothing to delete"
    return f"{'would delete' if record['dry_run'] else 'deleted'} {', '.join(gone)}"
