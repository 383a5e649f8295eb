"""Tables without rows for tests of the metadata layer, and storages that misbehave on purpose."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.places import IS_LOCAL, stored_path

from lakebed.errors import StorageError
from lakebed.format.manifest.manifest import decode_manifest_list
from lakebed.format.paths import TablePaths
from lakebed.format.schema.table_schema import create_schema
from lakebed.format.snapshot import CommitKind, Snapshot, snapshot_from_json
from lakebed.format.types.column_ddl import parse_columns
from lakebed.metadata.commit.commit import Change, append, commit
from lakebed.metadata.store import TableStore
from lakebed.storage import LocalStorage, Storage
from lakebed.storage.location import parse_location
from lakebed.storage.object_store import ObjectStorage
from lakebed.storage.storage_options import object_settings

COLUMNS = "id BIGINT, v STRING"


def new_store(
    root: str | Path,
    columns: str = COLUMNS,
    *,
    partition_by: Sequence[str] = (),
    primary_key: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
) -> TableStore:
    """A table in a folder, with its first schema and nothing else."""
    store = open_store(root)
    schema = create_schema(
        parse_columns(columns),
        partition_by=partition_by,
        primary_key=primary_key,
        options=dict(options or {}),
        time_millis=0,
    )
    assert store.schemas.create(schema)
    return store


class Rowless(LocalStorage):
    """A storage for entries of data and index files that are never written: commits do not miss these files."""

    def exists(self, path: str) -> bool:
        return "/bucket-" in path or "/index/" in path or super().exists(path)


class RemoteRowless(ObjectStorage):
    """The same on the storage server of ``tests/places.py``."""

    def __init__(self) -> None:
        super().__init__("s3", object_settings({}, parse_location("s3://tests")), "s3://tests")

    def exists(self, path: str) -> bool:
        return "/bucket-" in path or "/index/" in path or super().exists(path)


def rowless() -> Storage:
    return Rowless() if IS_LOCAL else RemoteRowless()


def open_store(root: str | Path, storage: Storage | None = None) -> TableStore:
    """A table in a folder. Its commits are not flushed to disk, as those of ``tests/lakes.py``."""
    return TableStore(storage or rowless(), TablePaths(str(root)), "db.t", durable=False)


def commit_files(store: TableStore, files: Any, **more: Any) -> Snapshot:
    """Append these entries; gives the snapshot."""
    made = commit(store, append(Change(entries=files), **more))
    assert made is not None
    return made


def write_snapshot(store: TableStore, snapshot_id: int, time_millis: int = 0) -> Snapshot:
    """A snapshot file with nothing behind it."""
    snapshot = Snapshot(
        id=snapshot_id,
        schema_id=0,
        base_manifest_list="b",
        delta_manifest_list="d",
        commit_user="u",
        commit_identifier=1,
        commit_kind=CommitKind.APPEND,
        time_millis=time_millis,
        total_record_count=0,
        delta_record_count=0,
    )
    assert store.snapshots.create(snapshot)
    return snapshot


# -------------------------------------------------------------------------------------------- looking at the disk


def files_below(path: str | Path) -> set[str]:
    """Every file, hidden ones too, relative to the folder."""
    return {str(found.relative_to(path)) for found in stored_path(path).rglob("*") if found.is_file()}


def snapshots_on_disk(root: str | Path) -> dict[int, Snapshot]:
    found = {}
    for path in stored_path(root, "snapshot").glob("snapshot-*"):
        snapshot = snapshot_from_json(path.read_bytes(), where=str(path))
        assert path.name == f"snapshot-{snapshot.id}"
        found[snapshot.id] = snapshot
    return dict(sorted(found.items()))


def referenced(root: str | Path, snapshot: Snapshot) -> set[str]:
    """The files in ``manifest/`` that a snapshot needs; all of them must be there."""
    lists = [snapshot.base_manifest_list, snapshot.delta_manifest_list, snapshot.changelog_manifest_list]
    named = {name for name in lists if name is not None}
    needed = set(named)
    for name in named:
        path = stored_path(root, "manifest", name)
        needed |= {meta.file_name for meta in decode_manifest_list(path.read_bytes(), where=str(path))}
    return needed | ({snapshot.index_manifest} if snapshot.index_manifest else set())


def check_nothing_is_missing(root: str | Path) -> set[str]:
    """Every file that a snapshot refers to is there; gives those files."""
    snapshots = snapshots_on_disk(root).values()
    needed = set().union(*(referenced(root, snapshot) for snapshot in snapshots))
    there = files_below(stored_path(root, "manifest"))
    assert needed <= there, f"missing: {needed - there}"
    return needed


def check_tidy(root: str | Path) -> None:
    """The manifest folder holds exactly what snapshots refer to, and there are no temporaries anywhere."""
    needed = check_nothing_is_missing(root)
    there = files_below(stored_path(root, "manifest"))
    assert there == needed, f"left over: {sorted(there - needed)}"
    assert [name for name in files_below(root) if os.path.basename(name).startswith(".")] == []  # noqa: PTH119


# ------------------------------------------------------------------------------------------- difficult storages


class Wrapped:
    """A storage in which every call goes through :meth:`call`."""

    def __init__(self, inner: Storage | None = None) -> None:
        self._inner = inner or rowless()

    def call(self, name: str, path: str, run: Callable[[], Any]) -> Any:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self._inner, name)
        if name == "arrow_filesystem" or not callable(inner):
            return inner

        def called(path: Any, *arguments: Any, **named: Any) -> Any:
            place = path if isinstance(path, str) else next(iter(path), "")  # delete_many has a list of paths
            return self.call(name, place, lambda: inner(path, *arguments, **named))

        return called

    def sync(self, paths: Iterable[str], *, below: str) -> Any:
        given = list(paths)
        return self.call("sync", below, lambda: self._inner.sync(given, below=below))


class Failing(Wrapped):
    """Raises at the n-th call: before doing it, or after (the acknowledgement is lost). ``forever``: from then on."""

    def __init__(self, fail_at: int, *, after: bool, forever: bool = False, inner: Storage | None = None) -> None:
        super().__init__(inner)
        self.calls = 0
        self.failed: list[str] = []
        self._fail_at, self._after, self._forever = fail_at, after, forever
        self._completing = False

    def call(self, name: str, path: str, run: Callable[[], Any]) -> Any:
        if self._completing:  # part of the call that is to be done before it fails
            return run()
        self.calls += 1
        fails = self.calls == self._fail_at or (self._forever and self.calls > self._fail_at)
        if not fails:
            return run()
        self.failed.append(name)
        if self._after:
            self._completing = True
            run()
            self._completing = False
        raise StorageError(f"cannot {name} {path}: made to fail")


class Interrupted(Wrapped):
    """Lets somebody else do something just before the first calls of an operation, once per hook."""

    def __init__(
        self,
        *hooks: Callable[[], Any],
        before: str = "create_exclusive",
        ending: str = "",
        inner: Storage | None = None,
    ) -> None:
        super().__init__(inner)
        self.hooks = list(hooks)
        self._before, self._ending = before, ending

    def call(self, name: str, path: str, run: Callable[[], Any]) -> Any:
        if name == self._before and path.endswith(self._ending) and self.hooks:
            self.hooks.pop(0)()
        return run()


class Accompanied(Wrapped):
    """Lets somebody else act before every call; the hook is given the number of the call, from 1 on."""

    def __init__(self, hook: Callable[[int], Any], inner: Storage | None = None) -> None:
        super().__init__(inner)
        self.calls = 0
        self._hook = hook

    def call(self, _name: str, _path: str, run: Callable[[], Any]) -> Any:
        self.calls += 1
        self._hook(self.calls)
        return run()


class Logged(Wrapped):
    """Remembers what was done to which file."""

    def __init__(self, inner: Storage | None = None) -> None:
        super().__init__(inner)
        self.log: list[tuple[str, str]] = []

    def call(self, name: str, path: str, run: Callable[[], Any]) -> Any:
        self.log.append((name, path.rsplit("/", 1)[-1]))
        return run()

    def names(self, operation: str, prefix: str = "") -> list[str]:
        return [name for done, name in self.log if done == operation and name.startswith(prefix)]
