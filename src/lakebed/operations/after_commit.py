"""What follows a commit: expiry of partitions, consumers, tags and snapshots, and merging of manifests.

Old changes of a chain table expire when its partitions do (``chain/maintenance/expire_due``).

The options of the table say what is due.
The commit has succeeded by then, so errors here are logged and never raised. ``write-only`` tables skip all of it; a
separate job maintains them. If nothing is due, it only reads a few small files.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from lakebed.metadata.consumers import expire_consumers
from lakebed.metadata.store import TableStore
from lakebed.metadata.tags import expire_tags
from lakebed.operations.compact.compact_manifests import compact_manifests
from lakebed.operations.expire.expire_partitions import expire_partitions
from lakebed.operations.expire.expire_snapshots import expire_snapshots
from lakebed.operations.expire.nothing_due import ask_early, is_nothing_due
from lakebed.options import TableOptions

_LOG: Final = logging.getLogger("lakebed")


def before_commit(store: TableStore) -> None:
    """Let the coming commit ask what the maintenance after it needs to know, which saves a round trip."""
    if store.storage.is_remote and not TableOptions(store.schema().options).write_only:
        ask_early(store)


def after_commit(store: TableStore, expire_old_partitions: Callable[[TableStore], object] = expire_partitions) -> None:
    """Run the maintenance that follows a commit to this branch, unless the table is ``write-only``. Never raises."""
    try:
        options = TableOptions(store.schema().options)
        if options.write_only:
            return
        if _partitions_due(store, options):
            _try("partitions", store, lambda: expire_old_partitions(store))
        if options.manifest_compaction_mode == "ASYNC":
            _merging.submit(store, _merge_manifests, options.manifest_compaction_async_threads)
        if options.snapshot_expire_async:
            _expiring.submit(store, _expire_history)
        else:
            _expire_history(store)
    except Exception as problem:  # noqa: BLE001 - the commit has succeeded
        _LOG.warning("table %s: the commit succeeded, but the maintenance after it failed: %s", store.name, problem)


def _expire_history(store: TableStore) -> None:
    """Expire consumers and tags first: snapshots that only they protected can expire then."""
    if store.storage.is_remote and is_nothing_due(store):
        return
    _try("consumers", store, lambda: expire_consumers(store))
    _try("tags", store, lambda: _expire_due_tags(store))
    _try("snapshots", store, lambda: expire_snapshots(store))


def _expire_due_tags(store: TableStore) -> None:
    if TableOptions(store.schema().options).tag_time_expire_enabled:
        expire_tags(store)


def _merge_manifests(store: TableStore) -> None:
    try:
        compact_manifests(store, only_due=True)
    except Exception as problem:  # noqa: BLE001 - it runs in the background, and the next commit tries again
        _LOG.warning("table %s: manifests were not merged: %s", store.name, problem)


def _try(what: str, store: TableStore, run: Callable[[], object]) -> None:
    try:
        run()
    except Exception as problem:  # noqa: BLE001 - the commit has succeeded
        _LOG.warning("table %s: old %s were not expired: %s", store.name, what, problem)


# --------------------------------------------------------------------------------------------------- partitions

_last_checks: Final[dict[tuple[str, str], float]] = {}


def _partitions_due(store: TableStore, options: TableOptions) -> bool:
    """Whether this process should check for old partitions, and for old changes of a chain table, now.

    The first check of a process is at a random time of the interval, so that many processes do not check at once.
    """
    if options.partition_expiration_time is None and (
        options.chain_changes_time_retained is None or not options.chain_table_enabled
    ):
        return False
    interval = options.partition_expiration_check_interval
    table = store.paths.root, store.paths.branch
    now = time.monotonic()
    spread = random.uniform(0, interval)  # noqa: S311 - spreads processes, not a secret
    due = now - _last_checks.setdefault(table, now - spread) >= interval
    if due or options.end_input_check_partition_expire:
        _last_checks[table] = now
        return True
    return False


# --------------------------------------------------------------------------------------------------- background


class _Background:
    """Threads for one kind of background work; a table is queued at most once."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: dict[str, Future[None]] = {}
        self._unfinished: set[Future[None]] = set()

    def submit(self, store: TableStore, work: Callable[[TableStore], None], threads: int = 1) -> None:
        place = store.paths.branch_root
        with self._lock:
            waiting = self._waiting.get(place)
            if waiting is not None and not waiting.running() and not waiting.done():
                return
            if self._pool is None:
                self._pool = ThreadPoolExecutor(threads, thread_name_prefix=self._name)
            self._waiting[place] = submitted = self._pool.submit(work, store)
            self._unfinished.add(submitted)
        submitted.add_done_callback(self._unfinished.discard)

    def wait(self) -> None:
        """Wait until all submitted work is done."""
        for future in tuple(self._unfinished):
            future.result()


_expiring: Final = _Background("lakebed-expiry")
_merging: Final = _Background("lakebed-manifests")


def wait_for_background() -> None:
    """Wait until background expiry and merging of manifests are done."""
    _expiring.wait()
    _merging.wait()
