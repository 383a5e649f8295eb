"""The time of the storage, for decisions about the age of files.

The times of files are set by the storage. A host whose clock is ahead would take the files of a running commit for old
ones, so the age of a file is measured with the storage's own clock: the time of a file that was just written.
"""

from __future__ import annotations

import contextlib
import uuid
from typing import Final

from lakebed.errors import LakebedError, StorageError
from lakebed.format.paths import MAIN_BRANCH
from lakebed.metadata.references.deletable import check_deletable
from lakebed.metadata.store import TableStore

_ATTEMPTS: Final = 3


def storage_millis(store: TableStore) -> int:
    """Returns the current time of the storage in epoch milliseconds; every file that exists is older.

    It writes an empty temporary file beside the snapshots and deletes it again. If the process dies in between, the
    removal of orphan files deletes the file.
    """
    store.schema()  # raises if there is no table, so that no folder is created for it
    folder = store.paths.on_branch(MAIN_BRANCH).snapshots
    for _ in range(_ATTEMPTS):
        name = f".clock.{uuid.uuid4()}.tmp"
        path = f"{folder}/{name}"
        check_deletable(store, [path])
        try:
            store.storage.write(path, b"")
            found = [info for info in store.storage.list(folder, hidden=True) if info.name == name]
        finally:
            with contextlib.suppress(LakebedError):
                store.storage.delete(path)
        if found:  # otherwise another process deleted the file
            return found[0].modified_millis + 1
    raise StorageError(f"cannot read the time of the storage at {folder}: files there vanish at once; try again")
