"""A cache of the live files of snapshots: all pages of one list are cut from the same files.

The files of a snapshot never change, so the cache is never stale. Its size in bytes is limited.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

import pyarrow as pa

from lakebed.format.snapshot import Snapshot
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.store import TableStore

_BYTES: Final = 128 * 1024**2


class LiveFiles:
    """Entries of live files by snapshot; the least recently used ones are evicted first."""

    def __init__(self, max_bytes: int = _BYTES) -> None:
        self._max_bytes = max_bytes
        self._held: OrderedDict[tuple[str, str, str], pa.Table] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, store: TableStore, snapshot: Snapshot | None) -> pa.Table:
        """Returns the live files of a snapshot; no files for ``None``."""
        if snapshot is None:
            return live_entries(store, None)
        key = (store.paths.root, snapshot.base_manifest_list, snapshot.delta_manifest_list)
        with self._lock:
            held = self._held.get(key)
            if held is not None:
                self._held.move_to_end(key)
                return held
        found = live_entries(store, snapshot)
        with self._lock:
            self._held[key] = found
            while sum(table.nbytes for table in self._held.values()) > self._max_bytes:
                self._held.popitem(last=False)
        return found
