"""A commit checks right before it becomes visible that the files which it adds still exist.

Until the snapshot exists, nothing refers to these files, so a removal of orphan files may delete them: if the write
took longer than ``older_than``, or if a clock was wrong. Such a commit would be acknowledged and unreadable, so it
fails instead. The check costs one request per file. Files of a later removal are safe, because it reads the references
first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import CommitConflictError
from lakebed.format.human_text import count_text
from lakebed.format.manifest.index_manifest import IndexEntry
from lakebed.format.manifest.manifest import ADD
from lakebed.format.schema.table_schema import TableSchema
from lakebed.metadata.data_file_paths import index_file_path, path_array
from lakebed.metadata.store import TableStore
from lakebed.storage import run_together

_PLACE: Final = ("partition", "bucket", "file_name", "extra_files", "external_path")
_THREADS: Final = 8
_BATCH: Final = 64
"""The files that one thread checks at a time; for fewer, threads would cost more than they save."""


def added_files(
    store: TableStore, schema: TableSchema, entries: Sequence[pa.Table], index: Sequence[IndexEntry] = ()
) -> list[str]:
    """Returns the paths of the data files, extra files and index files that a commit adds."""
    found = [path for table in entries for path in _added_data_files(store, schema, table)]
    return [*found, *(index_file_path(store, entry) for entry in index if entry.kind == ADD)]


def _added_data_files(store: TableStore, schema: TableSchema, entries: pa.Table) -> Iterator[str]:
    added = entries.select(_PLACE) if len(entries) else entries
    is_add = entries["kind"].to_numpy() == ADD
    if not is_add.all():
        added = added.filter(pa.array(is_add))
    if not len(added):
        return
    paths = path_array(store, schema, added)
    yield from paths.to_pylist()
    extras = added["extra_files"].combine_chunks()
    names = extras.flatten()
    if len(names):
        folders = pc.replace_substring_regex(paths.take(pc.list_parent_indices(extras)), "[^/]*$", "")
        yield from pc.binary_join_element_wise(folders, names, "").to_pylist()


def check_own_files(store: TableStore, paths: Sequence[str]) -> None:
    """Raises CommitConflictError if a file of the commit does not exist."""
    if store.storage.is_remote:
        found = run_together([partial(store.storage.exists, path) for path in paths])
        missing = [path for path, is_there in zip(paths, found, strict=True) if not is_there]
    elif len(paths) <= _BATCH:
        missing = _missing(store, paths)
    else:
        batches = [paths[start : start + _BATCH] for start in range(0, len(paths), _BATCH)]
        parts = run_together([partial(_missing, store, batch) for batch in batches], _THREADS)
        missing = [path for part in parts for path in part]
    if missing:
        raise CommitConflictError(
            f"{len(missing)} of the {count_text(len(paths), 'file')} that this write to {store.name} created no longer "
            f"exist, such as {missing[0]}: another process deleted them before the commit, for example "
            "remove_orphan_files() with a too short older_than, or on a host with a wrong clock. Nothing was committed; "
            "write the data again"
        )


def _missing(store: TableStore, paths: Sequence[str]) -> list[str]:
    return [path for path in paths if not store.storage.exists(path)]
