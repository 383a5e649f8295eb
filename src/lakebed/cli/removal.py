"""How files that a clean-up takes away are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from lakebed.cli.output import Column, listing, show_count, show_size

if TYPE_CHECKING:
    from lakebed.metadata.references.removal import Removal

ListFiles = Annotated[bool, typer.Option("--files", help="List every file, not only how many of each kind.")]


def removal_record(removal: Removal) -> dict[str, Any]:
    """The files of a removal, and what they sum up to."""
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


def removal_view(record: dict[str, Any], *, list_files: bool) -> RenderableType:
    """A sentence, and the files by kind or one by one."""
    count, size = show_count(record["file_count"]), show_size(record["file_size_in_bytes"])
    doing = "would remove" if record["dry_run"] else "removed"
    if not record["file_count"]:
        return Text("no files to remove")
    columns = [Column("kind", "kind"), Column.count("file_count", "files"), Column.size("file_size_in_bytes")]
    if list_files:
        columns = [Column("kind", "kind"), Column.size("file_size_in_bytes"), Column("path", "file")]
    rows = record["files" if list_files else "by_kind"]
    return Group(Text(f"{doing} {count} files, {size}"), listing(rows, columns))
