"""Commits: how a table gets its next snapshot.

A commit reads the latest snapshot and writes a new base list (the metas of the latest base and delta), its own delta
manifest and delta list. Then it creates ``snapshot-N`` exclusively; this one create makes the commit visible. If
another commit created ``snapshot-N`` first, the commit rebases on it and tries again with the same data files. It
deletes the metadata files of a failed attempt, but never a file that a snapshot may refer to.

On a storage whose folders cannot be renamed (:attr:`Storage.can_rename`) a table may be dropped, and created again,
between the last check and the create. So the commit looks afterwards whether the first schema is still the same, at
the same time as it writes the hint. If it is not, it deletes its snapshot and raises as for a dropped table.

With ``commit.durable`` a commit survives a power cut: every file that it adds is flushed to disk before ``snapshot-N``
gets its name, and the name before the commit is acknowledged (:mod:`lakebed.metadata.commit.durable`).

The matrix in :mod:`lakebed.metadata.commit.conflicts` says what happens if other commits became visible since this one
was planned.

Appends retry without limit, because each lost race means that another commit succeeded. ``commit.max-retries`` and
``commit.timeout`` limit this only if they are set on the table.
"""

from __future__ import annotations

import contextlib
import logging
import random
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import (
    CommitConflictError,
    CommitOutcomeUnknownError,
    CorruptError,
    LakebedError,
    NotFoundError,
    OutcomeUnknownError,
    StorageError,
    UnsupportedError,
)
from lakebed.format import commit_facts as facts
from lakebed.format.manifest.index_manifest import HASH, IndexEntry, combine
from lakebed.format.manifest.manifest import ADD, DELETE, NO_ENTRIES, ManifestMeta
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import (
    BATCH_IDENTIFIER,
    FIRST_SNAPSHOT_ID,
    OWN_VERSIONS,
    CommitKind,
    Snapshot,
    with_checksum,
)
from lakebed.format.time_text import now_millis
from lakebed.metadata.commit import conflicts, manifest_merge
from lakebed.metadata.commit.abort import abort_unless_committed
from lakebed.metadata.commit.own_files import added_files, check_own_files
from lakebed.metadata.history import compactions, history_index
from lakebed.metadata.manifests import ManifestWriter
from lakebed.metadata.move_folder import is_leaving
from lakebed.metadata.one_look import one_look, questions_beside_commit
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.step_timings import report, timed
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.storage import Sync, run_both, run_together
from lakebed.version import VERSION

_LOG: Final = logging.getLogger("lakebed")
_REMOVES_FILES: Final = (CommitKind.COMPACT, CommitKind.OVERWRITE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The changes of a commit: added and deleted files, changelog files, index files."""

    entries: pa.Table = field(default_factory=lambda: NO_ENTRIES)
    changelog: pa.Table = field(default_factory=lambda: NO_ENTRIES)
    index: tuple[IndexEntry, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not len(self.entries) and not len(self.changelog) and not self.index

    @property
    def has_deletes(self) -> bool:
        return bool(pc.any(pc.equal(self.entries["kind"], DELETE)).as_py())

    @property
    def marks_rows(self) -> bool:
        """Whether deletion vectors change; hash indexes do not change which rows are live."""
        return any(entry.index_type != HASH for entry in self.index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit to be made. ``plan`` returns the change to apply to a given latest snapshot.

    If the plan returns the same object every time, the commit is rebased without writing its delta again. A plan that
    depends on the snapshot, as of an overwrite, is computed again after every lost race. ``merge`` makes the new base
    list from the metas of the latest snapshot, instead of what the options of the table ask for. ``statistics`` is the
    name of a statistics file that this and later snapshots refer to. ``static_keys`` are the partition columns that a
    static overwrite names, which replaces all partitions with these values (none: the whole table); ``None`` for all
    other commits.
    """

    kind: CommitKind
    plan: Callable[[Snapshot | None], Change]
    user: str = field(default_factory=lambda: str(uuid.uuid4()))
    identifier: int = BATCH_IDENTIFIER
    planned_on: int | None = None
    operation: str | None = None
    watermark: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    allow_empty: bool = False
    merge: Callable[[ManifestWriter, list[ManifestMeta]], manifest_merge.Merged] | None = None
    statistics: str | None = None
    static_keys: tuple[str, ...] | None = None


def append(change: Change, **more: object) -> Commit:
    """Returns a commit that adds files and deletes none."""
    return Commit(kind=CommitKind.APPEND, plan=lambda _: change, **more)  # type: ignore[arg-type]


@timed("commit")
@one_look()
def commit(store: TableStore, request: Commit) -> Snapshot | None:
    """Makes a commit, and returns its snapshot; ``None`` if there was nothing to commit."""
    return _Attempts(store, request).run()


def find_committed(
    store: TableStore, user: str, identifier: int, kind: CommitKind, *, after: int = 0
) -> Snapshot | None:
    """Returns the snapshot of a commit that this user made before (and after snapshot ``after``), or ``None``.

    Identifiers of one user ascend, so the search ends at the first smaller one of the user.
    """
    kinds = {kind, CommitKind.OVERWRITE} if kind is CommitKind.APPEND else {kind}
    for snapshot_id in reversed([number for number in store.snapshots.ids() if number > after]):
        found = store.snapshots.find(snapshot_id)
        if found is None or found.commit_user != user:
            continue
        if found.commit_identifier == identifier and found.commit_kind in kinds:
            return found
        if found.commit_identifier < identifier:
            return None
    return None


def commits_since_merge(latest: Snapshot | None) -> int:
    """Returns how many commits ago manifests were merged; 0 if it is unknown."""
    merged_at = None if latest is None else facts.read_count(latest.properties, facts.MANIFESTS_MERGED_AT)
    return 0 if latest is None or merged_at is None else latest.id - merged_at


def manifest_writer(store: TableStore) -> ManifestWriter:
    """Returns a writer of metadata files with the options of a table."""
    schema = store.schema()
    options = TableOptions(schema.options)
    return ManifestWriter(
        store.storage,
        store.paths,
        [column.type for column in schema.partition_fields],
        codec=options.manifest_compression,
        zstd_level=options.zstd_level,
        target_size=options.manifest_target_file_size,
        cache=store.manifests.cache,
    )


class _Attempts:
    """The state of one commit over its attempts."""

    def __init__(self, store: TableStore, request: Commit) -> None:
        self._store = store
        self._request = request
        self._schema = self._schema_now = store.schema()
        self._options = TableOptions(self._schema.options)
        self._started = time.monotonic()
        self._writer = manifest_writer(store)
        self._delta: _Delta | None = None
        self._merge: _Merge | None = None
        self._durable = self._options.is_durable(otherwise=store.durable)
        self._synced: set[str] = set()
        self._history: bytes | None = None
        self._in_same_table: bool | None = None

    def run(self) -> Snapshot | None:
        try:
            with abort_unless_committed(self._writer.undo):
                return self._run()
        except _NothingToMerge:
            return None

    def _run(self) -> Snapshot | None:
        attempt = 0
        seen = 0
        while True:
            latest = self._look(is_first=attempt == 0)
            done = self._done_before(seen)
            if done is not None:
                self._writer.undo()
                return done
            seen = 0 if latest is None else latest.id
            began = time.monotonic()
            try:
                change = self._request.plan(latest)
                if change.is_empty and not self._request.allow_empty:
                    self._writer.undo()
                    return None
                made = self._attempt(latest, change)
            except NotFoundError:
                self._store.fresh_schema()  # raises if the table was dropped
                if self._store.snapshots.latest_id() in {None, seen}:
                    raise
                made = None  # other commits expired the snapshot that this one is based on
            if made is not None:
                return made
            attempt += 1
            self._wait(attempt, time.monotonic() - began)

    def _look(self, *, is_first: bool) -> Snapshot | None:
        """Returns the latest snapshot, and looks at the same time which schema is the latest now.

        The first attempt takes what the operation looked up a moment ago (:meth:`TableStore.look`), before it wrote
        its data files. If another commit came since then, the last check notices it, and the next attempt looks again.
        """
        store = self._store
        if is_first and store.has_just_looked():
            self._schema_now = store.schema()
            return store.latest_snapshot()
        latest, self._schema_now = run_both(store.storage, store.snapshots.latest, store.fresh_schema)
        return latest

    def _attempt(self, latest: Snapshot | None, change: Change) -> Snapshot | None:
        """Tries to commit a change on top of ``latest``; returns ``None`` if another commit took the id."""
        kind = self._request.kind
        if kind is CommitKind.APPEND and (change.has_deletes or change.marks_rows):
            kind = CommitKind.OVERWRITE
        if kind in _REMOVES_FILES and self._options.branch_merge_enabled:
            raise UnsupportedError(
                f"table {self._store.name} has 'branch-merge.enabled' = true, so its history may only add files, and this is "
                f"{'a compaction' if kind is CommitKind.COMPACT else 'an overwrite or a delete'}; copy the rows to another table"
            )
        manifests = self._store.manifests
        metas: list[ManifestMeta] = []
        checks: list[Callable[[], None]] = [partial(self._read_history, latest)]
        if latest is not None:
            manifests.read_ahead(latest)
            delta = manifests.delta(latest)
            metas = manifests.base(latest) + delta
            checks.append(partial(manifests.check_whole, latest, delta))
        self._check(latest, metas, change)
        base = self._base(latest, metas)
        if self._request.merge is not None and self._merge is None and change.is_empty:
            raise _NothingToMerge
        merged = () if self._merge is None else self._merge.paths
        if self._delta is None or self._delta.change is not change:
            self._writer.undo(keep=merged)
            self._delta = self._write_delta(change)
        else:
            self._writer.undo(keep=(*merged, *self._delta.paths))
        snapshot = self._snapshot(latest, base, self._delta, kind)
        self._writer.finish(*checks)
        if not self._create(snapshot, latest):
            return None
        self._check_table(snapshot)
        return snapshot

    def _read_history(self, latest: Snapshot | None) -> None:
        self._history = history_index.lines_before(self._store, latest)

    def _is_still_latest(self, latest: Snapshot | None) -> bool:
        """Returns whether ``latest`` is still the latest snapshot. Raises if the table was dropped.

        It is not enough that the next id is free: it is also free if ``latest`` was rolled back, if it and all later
        snapshots expired, and in a new table with the same name.
        """
        if latest is None:
            ids, _ = run_both(self._store.storage, self._store.snapshots.ids, self._store.fresh_schema)
            return not ids
        found = self._store.snapshots.find(latest.id)
        if found != latest:
            self._store.fresh_schema()
        return found == latest

    def _done_before(self, after: int) -> Snapshot | None:
        """Returns the snapshot of the same commit if it was made before, such as a streaming batch that runs twice."""
        request = self._request
        if request.identifier == BATCH_IDENTIFIER:
            return None
        return find_committed(self._store, request.user, request.identifier, request.kind, after=after)

    # -------------------------------------------------------------------------------------------------- checks

    def _check(self, latest: Snapshot | None, metas: list[ManifestMeta], change: Change) -> None:
        delta = change.entries
        conflicts.check_delta(delta)
        if latest is None or not len(delta):
            conflicts.check_total_buckets(NO_ENTRIES, delta)
            return
        overwrites = self._request.kind is CommitKind.OVERWRITE  # planned on this snapshot, so every file is live
        needs_live = change.has_deletes and not overwrites and latest.id != self._request.planned_on
        if not needs_live and (overwrites or _same_total_buckets(metas, delta)):
            return
        live = live_entries(self._store, latest, pc.unique(delta["partition"].combine_chunks()))
        if not overwrites:
            conflicts.check_total_buckets(live, delta, TableOptions(self._schema.options).bucket)
        if change.has_deletes:
            conflicts.check_deletes(live, delta)
            if self._request.kind is CommitKind.COMPACT:
                conflicts.check_dropped_deletes(live, delta)
            self._check_index(latest, live, change)
        keys = [self._schema.field(name).type for name in self._schema.trimmed_primary_key]
        conflicts.check_levels(live, delta, keys)

    def _check_index(self, latest: Snapshot, live: pa.Table, change: Change) -> None:
        index = self._store.manifests.read_index(latest.index_manifest)
        conflicts.check_vectors(index, change.index, change.entries)
        conflicts.check_marked_files(live, change.entries, change.index)
        if _is_bucketed(self._schema):
            conflicts.check_replaced_vectors(index, change.index)

    # ------------------------------------------------------------------------------------------------- writing

    def _write_delta(self, change: Change) -> _Delta:
        left_over = tuple(self._writer.made)
        name, size = self._writer.write_list(self._writer.write_entries(change.entries))
        changelog: tuple[str, int] | None = None
        if len(change.changelog):
            changelog = self._writer.write_list(self._writer.write_entries(change.changelog))
        paths = tuple(path for path in self._writer.made if path not in left_over)
        return _Delta(change, name, size, changelog, paths)

    def _base(self, latest: Snapshot | None, metas: list[ManifestMeta]) -> list[ManifestMeta]:
        """Returns the metas of the new base list, merged if it is time. A lost race does not merge again."""
        if self._merge is not None:
            again = manifest_merge.replaced(metas, self._merge.merged)
            if again is not None:
                return again
            if self._request.merge is None:  # the faster commit merged as well
                self._merge = _Merge(manifest_merge.Merged(metas), ())
                return metas
        elif self._request.merge is None and self._options.manifest_compaction_mode != "AUTO":
            return metas
        left_over = tuple(self._writer.made)
        started = time.perf_counter()
        try:
            merged = self._run_merge(latest, metas)
        except CorruptError as error:
            if self._request.merge is not None:
                raise
            _LOG.warning("manifests of %s were not merged: %s", self._store.name, error)
            return metas
        paths = tuple(path for path in self._writer.made if path not in left_over)
        self._merge = _Merge(merged, paths) if merged.changed else None  # the merge of an earlier attempt is not used
        if merged.changed:
            _report_merge(merged, time.perf_counter() - started)
        return merged.metas

    def _run_merge(self, latest: Snapshot | None, metas: list[ManifestMeta]) -> manifest_merge.Merged:
        if self._request.merge is not None:
            return self._request.merge(self._writer, metas)
        policy = manifest_merge.MergePolicy.of(self._options)
        since = commits_since_merge(latest)
        return manifest_merge.merge_tail(self._store.manifests, self._writer, metas, policy, since=since)

    def _snapshot(
        self, latest: Snapshot | None, metas: list[ManifestMeta], delta: _Delta, kind: CommitKind
    ) -> Snapshot:
        request = self._request
        base, base_size = self._writer.write_list(metas)
        records = _record_count(delta.change.entries)
        schema = self._schema_now
        changelog_name, changelog_size = delta.changelog or (None, None)
        made = Snapshot(
            id=FIRST_SNAPSHOT_ID if latest is None else latest.id + 1,
            uuid=str(uuid.uuid4()),
            schema_id=schema.id,
            base_manifest_list=base,
            base_manifest_list_size=base_size,
            delta_manifest_list=delta.name,
            delta_manifest_list_size=delta.size,
            changelog_manifest_list=changelog_name,
            changelog_manifest_list_size=changelog_size,
            changelog_record_count=_record_count(delta.change.changelog) if delta.changelog else None,
            index_manifest=self._index_manifest(latest, delta.change, schema),
            commit_user=request.user,
            commit_identifier=request.identifier,
            commit_kind=kind,
            time_millis=now_millis(),
            total_record_count=(0 if latest is None else latest.total_record_count) + records,
            delta_record_count=records,
            watermark=_largest(request.watermark, None if latest is None else latest.watermark),
            statistics=request.statistics or _inherited_statistics(latest, schema),
            properties={**self._facts(latest, metas, delta), **request.properties},
            next_row_id=0 if latest is None or latest.next_row_id is None else latest.next_row_id,
            operation=request.operation,
            writer_version=f"{OWN_VERSIONS}{VERSION}",
        )
        return with_checksum(made)

    def _facts(self, latest: Snapshot | None, base: list[ManifestMeta], delta: _Delta) -> dict[str, str]:
        """Returns the facts to record in the snapshot, so that history need not open manifests."""
        entries = delta.change.entries
        is_add, sizes = entries["kind"].to_numpy() == ADD, entries["file_size"].to_numpy()
        added, deleted = int(is_add.sum()), int((~is_add).sum())
        added_bytes, deleted_bytes = int(sizes[is_add].sum()), int(sizes[~is_add].sum())
        live = sum(meta.num_added_files - meta.num_deleted_files for meta in base) + added - deleted
        recorded: dict[str, int | str | bool] = {
            facts.FILES_ADDED: added,
            facts.FILES_DELETED: deleted,
            facts.BYTES_ADDED: added_bytes,
            facts.BYTES_DELETED: deleted_bytes,
            facts.LIVE_FILES: live,
            facts.COMMIT_MILLIS: round((time.monotonic() - self._started) * 1000),
            facts.MANIFESTS_MERGED_AT: self._manifests_merged_at(latest),
            facts.DURABLE: self._durable,
        }
        live_before = 0 if latest is None else facts.read_count(latest.properties, facts.LIVE_BYTES)
        if live_before is not None:  # unknown after a commit of another writer
            recorded[facts.LIVE_BYTES] = live_before + added_bytes - deleted_bytes
        if self._request.kind is CommitKind.COMPACT:
            recorded |= compactions.compaction_facts(entries, self._schema, live_files=live)
        return facts.encode_facts(recorded)

    def _manifests_merged_at(self, latest: Snapshot | None) -> int:
        """Returns the id of the last snapshot that merged manifests; this one if none is known."""
        if latest is None:
            return FIRST_SNAPSHOT_ID
        merged_now = self._merge is not None and self._merge.merged.changed
        before = None if merged_now else facts.read_count(latest.properties, facts.MANIFESTS_MERGED_AT)
        return latest.id + 1 if before is None else before

    def _index_manifest(self, latest: Snapshot | None, change: Change, schema: TableSchema) -> str | None:
        before = None if latest is None else latest.index_manifest
        if not change.index:
            return before
        after = combine(self._store.manifests.read_index(before), change.index, bucketed=_is_bucketed(schema))
        return self._writer.write_index(after) if after else None

    def _create(self, snapshot: Snapshot, latest: Snapshot | None) -> bool:
        """Creates the snapshot file. After an unclear failure it checks whether the file exists and is ours."""
        try:
            return self._publish(snapshot, latest)
        except BaseException as error:
            try:
                found = self._store.snapshots.find(snapshot.id)
            except LakebedError:
                raise CommitOutcomeUnknownError(
                    f"it is unknown whether snapshot {snapshot.id} of {self._store.name} was committed ({error}); "
                    "nothing was deleted. Look at the table's latest snapshots before writing again"
                ) from error
            if found is None and isinstance(error, OutcomeUnknownError):  # the request may still arrive
                raise CommitOutcomeUnknownError(
                    f"it is unknown whether snapshot {snapshot.id} of {self._store.name} will be committed ({error}); "
                    "nothing was deleted. Look at the table's latest snapshots before writing again"
                ) from error
            if found is not None and found.uuid == snapshot.uuid:
                if isinstance(error, Exception):
                    self._sync_again(snapshot)
                    return True
                raise CommitOutcomeUnknownError(
                    f"interrupted, but snapshot {snapshot.id} of {self._store.name} was committed"
                ) from error
            raise

    def _sync_again(self, snapshot: Snapshot) -> None:
        """Flushes a snapshot that was created, where the call that created it failed afterwards."""
        store = self._store
        try:
            if self._durable:
                store.storage.sync([store.paths.snapshot(snapshot.id)], below=store.paths.root)
        except StorageError as error:
            raise CommitOutcomeUnknownError(
                f"snapshot {snapshot.id} of {store.name} was committed, but it may not survive a power cut ({error}); "
                "check the disk"
            ) from error

    def _publish(self, snapshot: Snapshot, latest: Snapshot | None) -> bool:
        own = self._own_files(snapshot)
        new = tuple(path for path in own if path not in self._synced)
        sync = Sync(self._store.paths.root, new) if self._durable else None

        def still() -> bool:
            if sync is not None:  # if the id is taken already, the files are not flushed and this is not called
                self._synced.update(sync.files)
            return self._is_unchanged(latest, own)

        def note() -> None:
            history_index.note(self._store, snapshot, latest, self._history)

        self._in_same_table = None
        then = [note, self._look_at_table, *(questions_beside_commit() if self._store.storage.is_remote else ())]
        return self._store.snapshots.create(snapshot, still, sync, then)

    def _look_at_table(self) -> None:
        """Looks whether the commit is in the table that it was meant for. Never raises: else the commit stands.

        Where a table is dropped by a rename, a commit to it fails (:meth:`Storage.create_exclusive`). Where folders
        cannot be renamed, the table may be dropped, and another one created, between the last check and the create.
        """
        self._in_same_table = True
        if not self._store.storage.can_rename:
            with contextlib.suppress(LakebedError):
                self._in_same_table = self._store.schemas.is_same_table()

    def _check_table(self, snapshot: Snapshot) -> None:
        """Withdraws a snapshot that was created in another table, and raises as for a table that was dropped."""
        if self._in_same_table is None:  # the answer to the create was lost
            self._look_at_table()
        if self._in_same_table:
            return
        try:
            self._store.snapshots.withdraw(snapshot.id)
        except StorageError as error:
            raise CommitOutcomeUnknownError(
                f"table {self._store.name} was dropped while this commit was made, and another one created in its "
                f"place; {self._store.paths.snapshot(snapshot.id)} is not part of that one and could not be deleted "
                f"({error}): delete it"
            ) from error
        paths = self._store.paths
        if any(is_leaving(self._store.storage, root) for root in {paths.root, paths.branch_root}):
            raise CommitOutcomeUnknownError(
                f"{self._store.name} was renamed while this commit was made; it is unknown whether it is in the "
                "renamed table. Look at its latest snapshots before writing again"
            )
        self._store.fresh_schema()  # raises, unless the table is there again
        raise NotFoundError(f"table {self._store.name} was dropped while this commit was made; open it again")

    def _is_unchanged(self, latest: Snapshot | None, own: Sequence[str]) -> bool:
        """Returns whether this commit may become visible: nothing was committed since, and its files exist."""
        if not self._store.storage.is_remote:
            return self._is_still_latest(latest) and self._has_own_files(own)
        return all(run_together([lambda: self._is_still_latest(latest), lambda: self._has_own_files(own)]))

    def _has_own_files(self, own: Sequence[str]) -> bool:
        """Returns ``True`` if the files of this commit exist. Raises if not, or if the table was dropped with them."""
        try:
            check_own_files(self._store, own)
        except CommitConflictError:
            self._store.fresh_schema()  # raises if the table was dropped, or created again
            raise
        return True

    def _own_files(self, snapshot: Snapshot) -> list[str]:
        """Returns the paths of the files that the snapshot adds."""
        paths, delta = self._store.paths, self._delta
        change = Change() if delta is None else delta.change
        found = added_files(self._store, self._schema, (change.entries, change.changelog), change.index)
        found += [paths.manifest(snapshot.base_manifest_list), *(() if delta is None else delta.paths)]
        found += () if self._merge is None else self._merge.paths
        if change.index and snapshot.index_manifest is not None:
            found.append(paths.manifest(snapshot.index_manifest))
        if self._request.statistics is not None:
            found.append(f"{paths.statistics}/{self._request.statistics}")
        return found

    # ------------------------------------------------------------------------------------------------ retrying

    def _wait(self, attempt: int, took: float) -> None:
        """Sleeps before the next attempt, about as long as the last attempt took.

        There is no growing backoff: each lost race is another commit that succeeded, and a commit with longer attempts
        than others would never succeed beside them.
        """
        options = self._options
        limit, timeout = options.commit_max_retries, options.commit_timeout
        if limit is not None and attempt > limit:
            raise CommitConflictError(
                f"gave up after {attempt} attempts to commit to {self._store.name}: other commits were faster each "
                "time and commit.max-retries is set on the table. Nothing was committed; try again or raise the option"
            )
        if timeout is not None and time.monotonic() - self._started > timeout:
            raise CommitConflictError(
                f"gave up committing to {self._store.name} after {timeout:g} s (commit.timeout): other commits were "
                "faster each time. Nothing was committed; try again or raise the option"
            )
        longest = min(options.commit_min_retry_wait * 2 ** min(attempt, 20), options.commit_max_retry_wait)
        longest = min(longest, max(options.commit_min_retry_wait, took))
        time.sleep(random.uniform(0, longest))  # noqa: S311 - spreads competing writers, no secret


@dataclass(frozen=True, slots=True)
class _Delta:
    """The delta files of a change."""

    change: Change
    name: str
    size: int
    changelog: tuple[str, int] | None
    paths: tuple[str, ...]


class _NothingToMerge(Exception):  # noqa: N818 - no error
    """A commit that only merges manifests found none to merge."""


@dataclass(frozen=True, slots=True)
class _Merge:
    """The merge of manifests of an attempt, and the files that it wrote."""

    merged: manifest_merge.Merged
    paths: tuple[str, ...]


def _report_merge(merged: manifest_merge.Merged, seconds: float) -> None:
    """Tells observers what a merge of manifests read and wrote."""
    report("manifest_merge", seconds)
    for of, metas in (("read", merged.rewritten), ("written", merged.written)):
        report(f"manifest_merge_manifests_{of}", len(metas))
        report(f"manifest_merge_bytes_{of}", sum(meta.file_size for meta in metas))


def _is_bucketed(schema: TableSchema) -> bool:
    return bool(schema.primary_keys) or TableOptions(schema.options).bucket > 0


def _inherited_statistics(latest: Snapshot | None, schema: TableSchema) -> str | None:
    return latest.statistics if latest is not None and latest.schema_id == schema.id else None


def _record_count(entries: pa.Table) -> int:
    signed = pc.if_else(pc.equal(entries["kind"], ADD), entries["row_count"], pc.negate(entries["row_count"]))
    return int(pc.sum(signed).as_py() or 0)


def _same_total_buckets(metas: list[ManifestMeta], delta: pa.Table) -> bool:
    """Returns whether the manifest lists show that the number of buckets did not change."""
    totals = pc.unique(delta["total_buckets"]).to_pylist()
    if totals == [-1]:  # no fixed buckets
        return True
    return len(totals) == 1 and all(meta.total_buckets == totals[0] for meta in metas)


def _largest(first: int | None, second: int | None) -> int | None:
    given = [value for value in (first, second) if value is not None and value != -(2**63)]
    return max(given) if given else None
