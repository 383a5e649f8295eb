"""Short histories of a table for tests of expiry."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from tests.metadata.entries import adds
from tests.metadata.needed_files import files_on_disk
from tests.places import stored_path

from lakebed.format.manifest.manifest import as_deletes
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.commit.commit import Change, Commit, commit
from lakebed.metadata.store import TableStore


def change(store: TableStore, kind: CommitKind, new: pa.Table, old: pa.Table | None = None, **more: Any) -> Snapshot:
    """A commit that adds and deletes files; the files are there, with the size that their entries say."""
    for row in new.to_pylist():
        for name in [row["file_name"], *row["extra_files"]]:
            path = stored_path(store.paths.bucket("", row["bucket"]), name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"x" * (row["file_size"] if name == row["file_name"] else 7))
    both = new if old is None else pa.concat_tables([as_deletes(old), new])
    made = commit(store, Commit(kind=kind, plan=lambda _: Change(entries=both, **more), allow_empty=True))
    assert made is not None
    return made


def add(store: TableStore, *names: str) -> Snapshot:
    return change(store, CommitKind.APPEND, adds(*names))


def names_on_disk(store: TableStore) -> set[str]:
    return {stored_path(path).name for path in files_on_disk(store) if "/bucket-" in path}
