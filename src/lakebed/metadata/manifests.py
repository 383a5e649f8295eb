"""Reads and writes manifest lists, manifests and index manifests of a table.

Manifest files never change, so decoded and written ones are cached by path (:mod:`lakebed.metadata.manifest_cache`).
Large manifests are decoded in parallel; for small ones threads would cost more than they save, unless each is a round
trip to a remote storage. Lists and index manifests are cached only for a remote storage: on a local disk a read costs
little, and shows damage at once.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import ROLL_BACK, CorruptError, LakebedError, NotFoundError, StorageError
from lakebed.format.binary_row import decode_rows
from lakebed.format.manifest.avro import COLUMNAR_FROM_BYTES
from lakebed.format.manifest.index_manifest import IndexEntry, decode_index_manifest, encode_index_manifest
from lakebed.format.manifest.manifest import (
    ADD,
    NO_ENTRIES,
    ManifestMeta,
    decode_manifest,
    decode_manifest_list,
    encode_manifest,
    encode_manifest_list,
)
from lakebed.format.paths import TablePaths
from lakebed.format.snapshot import Snapshot
from lakebed.format.statistics.file_stats import SimpleStats, build_full_stats, collect_from_arrow
from lakebed.format.types.data_types import DataType
from lakebed.metadata.manifest_cache import ManifestCache
from lakebed.storage import Storage, run_all, run_together

_T = TypeVar("_T")
_ROWS_BETWEEN_SIZE_CHECKS: Final = 1000
_LOCAL_THREADS: Final = 8
_REMOTE_THREADS: Final = 16


SHARED_CACHE: Final = ManifestCache()
"""The cache of all tables of the process that have none of their own."""


@dataclass(frozen=True)
class Manifests:
    """The manifest files of one table, of all branches."""

    storage: Storage
    paths: TablePaths
    cache: ManifestCache = field(default=SHARED_CACHE)

    # ------------------------------------------------------------------------------------------------- reading

    def read_list(self, name: str) -> list[ManifestMeta]:
        """Returns the manifests that a manifest list names, in order."""
        return list(self._list(name)[0])

    def list_bytes(self, name: str) -> bytes:
        """Returns a manifest list as it is on disk."""
        return self._cached(f"{self.paths.manifest(name)}#", lambda: (data := self._list_file(name), len(data)))

    def read_lists_ahead(self, names: Iterable[str], *, encoded: bool = False) -> None:
        """Reads lists into the cache at the same time, if that pays off. Whoever needs one that is missing, raises."""
        if not self.storage.is_remote:
            return

        def read(name: str) -> None:
            with suppress(LakebedError):
                self.list_bytes(name) if encoded else self._list(name)

        run_together([partial(read, name) for name in dict.fromkeys(names)])

    def _list_file(self, name: str) -> bytes:
        return self._read(self.paths.manifest(name), "manifest list")

    def _list(self, name: str) -> tuple[list[ManifestMeta], int]:
        """Returns a decoded list and the size of its file."""
        path = self.paths.manifest(name)

        def read() -> tuple[tuple[list[ManifestMeta], int], int]:
            data = self._list_file(name)
            return (decode_manifest_list(data, where=path), len(data)), len(data)

        return self._cached(path, read)

    def base_and_delta(self, snapshot: Snapshot) -> list[ManifestMeta]:
        """Returns every manifest of a snapshot, in the order in which their entries apply."""
        self.read_ahead(snapshot)
        return self.base(snapshot) + self.delta(snapshot)

    def read_ahead(self, snapshot: Snapshot) -> None:
        """Reads the lists and the index manifest of a snapshot into the cache at the same time, if that pays off."""
        if not self.storage.is_remote:
            return

        def read_index() -> None:
            with suppress(LakebedError):  # whoever needs it, reads it again and raises
                self.read_index(snapshot.index_manifest)

        run_together([lambda: self.base(snapshot), lambda: self.delta(snapshot), read_index])

    def base(self, snapshot: Snapshot) -> list[ManifestMeta]:
        """Returns the manifests that a snapshot took over from the one before."""
        return self._read_whole_list(snapshot.base_manifest_list, snapshot.base_manifest_list_size)

    def delta(self, snapshot: Snapshot) -> list[ManifestMeta]:
        """Returns the manifests that a snapshot added."""
        return self._read_whole_list(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)

    def _read_whole_list(self, name: str, size: int | None) -> list[ManifestMeta]:
        """Returns a list after a check of its size: a truncated list may be valid and name too few manifests."""
        metas, found = self._list(name)
        if size is not None and found != size:
            path = self.paths.manifest(name)
            raise CorruptError(f"{path} has {found} bytes, but its snapshot says {size}; {ROLL_BACK}")
        return list(metas)

    def _cached(self, path: str, read: Callable[[], tuple[_T, int]]) -> _T:
        """Returns what ``read`` returns for a file that never changes; with its size in bytes, for the cache."""
        return self.cache.small.load(path, read) if self.storage.is_remote else read()[0]

    def check_whole(self, snapshot: Snapshot, delta: Sequence[ManifestMeta]) -> None:
        """Raises if a manifest that a snapshot added is missing or truncated, unless it is in the cache.

        A power cut damages the last commits. Older manifests are checked when they are read.
        """

        def check(meta: ManifestMeta) -> None:
            path = self.paths.manifest(meta.file_name)
            if (size := self._size(path, "manifest")) != meta.file_size:
                raise CorruptError(f"{path} has {size} bytes, but its list says {meta.file_size}; {ROLL_BACK}")

        def check_index(path: str) -> None:
            if not self._size(path, "index manifest"):
                raise CorruptError(f"{path} is empty; {ROLL_BACK}")

        checks = [partial(check, meta) for meta in delta if not self._is_held(meta)]
        if snapshot.index_manifest is not None:
            path = self.paths.manifest(snapshot.index_manifest)
            if not (self.storage.is_remote and self.cache.small.holds(path)):
                checks.append(partial(check_index, path))
        run_all(self.storage, checks)

    def read_entries(self, metas: Sequence[ManifestMeta]) -> pa.Table:
        """Returns the entries of these manifests, in order; no DELETE has cancelled its ADD yet."""
        if not metas:
            return NO_ENTRIES
        tables: dict[str, pa.Table] = {}
        least = 0 if self.storage.is_remote else COLUMNAR_FROM_BYTES
        apart = [meta for meta in metas if meta.file_size >= least and not self._is_held(meta)]
        if len(apart) > 1:
            threads = _REMOTE_THREADS if self.storage.is_remote else _LOCAL_THREADS
            found = run_together([partial(self._read_manifest, meta) for meta in apart], threads)
            tables = dict(zip((meta.file_name for meta in apart), found, strict=True))
        return pa.concat_tables(
            tables[meta.file_name] if meta.file_name in tables else self._read_manifest(meta) for meta in metas
        )

    def read_index(self, name: str | None) -> list[IndexEntry]:
        """Returns the live index files that an index manifest names."""
        if name is None:
            return []
        path = self.paths.manifest(name)

        def read() -> tuple[list[IndexEntry], int]:
            data = self._read(path, "index manifest")
            return decode_index_manifest(data, where=path), len(data)

        return list(self._cached(path, read))

    def _is_held(self, meta: ManifestMeta) -> bool:
        return self.cache.holds(self.paths.manifest(meta.file_name))

    def _read_manifest(self, meta: ManifestMeta) -> pa.Table:
        path = self.paths.manifest(meta.file_name)
        table = self.cache.load(path, lambda: decode_manifest(self._read(path, "manifest"), where=path))
        if len(table) != meta.num_added_files + meta.num_deleted_files:
            raise CorruptError(
                f"{path} has {len(table)} entries, but its list says "
                f"{meta.num_added_files + meta.num_deleted_files}; {ROLL_BACK}"
            )
        return table

    def _read(self, path: str, what: str) -> bytes:
        try:
            return self.storage.read(path)
        except NotFoundError:
            raise _gone(path, what) from None

    def _size(self, path: str, what: str) -> int:
        try:
            return self.storage.size(path)
        except NotFoundError:
            raise _gone(path, what) from None


def _gone(path: str, what: str) -> NotFoundError:
    return NotFoundError(
        f"{what} {path} does not exist; the snapshot that needs it may have expired: read a newer snapshot. If it is "
        "the latest one, table.repair() or 'lakebed repair' rolls back to the newest whole snapshot"
    )


@dataclass
class ManifestWriter:
    """Writes the metadata files of one commit attempt, and deletes them if the attempt fails.

    The files have unique names and do not depend on each other. So for a remote storage they are kept in memory until
    :meth:`finish` writes all of them at the same time.

    With ``dry_run`` nothing is written; the returned metas describe the files that would be.
    """

    storage: Storage
    paths: TablePaths
    partition_types: Sequence[DataType]
    codec: str = "zstd"
    zstd_level: int = 1
    target_size: int = 8 * 1024 * 1024
    dry_run: bool = False
    cache: ManifestCache | None = None
    written: list[str] = field(default_factory=list)
    _waiting: dict[str, bytes] = field(default_factory=dict)
    _unique: str = field(default_factory=lambda: str(uuid.uuid4()))
    _counts: dict[str, int] = field(default_factory=dict)

    def write_list(self, metas: Sequence[ManifestMeta]) -> tuple[str, int]:
        """Writes a manifest list, and returns its name and size."""
        data = encode_manifest_list(metas, codec=self.codec, level=self.zstd_level)
        name = self._write("manifest-list", data)
        self._remember(name, (list(metas), len(data)), len(data))
        return name, len(data)

    def write_index(self, entries: Sequence[IndexEntry]) -> str:
        """Writes an index manifest with all live index files, and returns its name."""
        data = encode_index_manifest(entries, codec=self.codec, level=self.zstd_level)
        name = self._write("index-manifest", data)
        self._remember(name, list(entries), len(data))
        return name

    def _remember(self, name: str, content: object, size: int) -> None:
        if self.cache is not None and not self.dry_run and self.storage.is_remote:
            self.cache.small.put(self.paths.manifest(name), content, size)

    def finish(self, *others: Callable[[], None]) -> None:
        """Writes the files that wait to be written, and runs calls that need not wait for them."""
        waiting, self._waiting = self._waiting, {}
        writes: list[Callable[[], None]] = [partial(self.storage.write, path, data) for path, data in waiting.items()]
        self.written += waiting  # before the writes, because a failed one may leave a file
        run_all(self.storage, [*others, *writes])

    def write_entries(self, entries: pa.Table) -> list[ManifestMeta]:
        """Writes entries to manifest files of about the target size, in order; none for no entries."""
        metas = []
        start = 0
        rows = len(entries)
        while start < len(entries):
            data, rows = self._encode_up_to_target(entries.slice(start), rows)
            part = entries.slice(start, rows)
            metas.append(self._describe(part, self._write("manifest", data), len(data)))
            if self.cache is not None and not self.dry_run:
                self.cache.put(self.paths.manifest(metas[-1].file_name), part)
            start += rows
        return metas

    def undo(self, keep: Sequence[str] = ()) -> None:
        """Deletes the files that were written, except those to keep. Files that cannot be deleted are skipped."""
        self._waiting = {path: data for path, data in self._waiting.items() if path in keep}
        left = []

        def delete(path: str) -> None:
            try:
                self.storage.delete(path)
            except StorageError:
                left.append(path)

        run_all(self.storage, [partial(delete, path) for path in self.written if path not in keep])
        self.written = [path for path in self.written if path in keep or path in left]

    @property
    def made(self) -> list[str]:
        """The paths of the files that were written or wait to be written."""
        return [*self.written, *self._waiting]

    def _encode_up_to_target(self, entries: pa.Table, rows: int) -> tuple[bytes, int]:
        """Returns how many entries one manifest should have; ``rows`` if all fit, which avoids encoding them twice."""
        rows = min(rows, len(entries))
        while True:
            data = encode_manifest(entries.slice(0, rows), codec=self.codec, level=self.zstd_level)
            if len(data) <= self.target_size or rows <= _ROWS_BETWEEN_SIZE_CHECKS:
                return data, rows
            fitting = rows * self.target_size // len(data)
            rows = max(_ROWS_BETWEEN_SIZE_CHECKS, fitting // _ROWS_BETWEEN_SIZE_CHECKS * _ROWS_BETWEEN_SIZE_CHECKS)

    def _describe(self, entries: pa.Table, name: str, size: int) -> ManifestMeta:
        added = int(np.count_nonzero(entries["kind"].to_numpy() == ADD))
        partition = _partition_stats(entries["partition"], self.partition_types)
        buckets, levels = entries["bucket"].to_numpy(), entries["level"].to_numpy()
        totals = np.unique(entries["total_buckets"].to_numpy()).tolist()
        row_ids = _row_id_range(entries)
        return ManifestMeta(
            file_name=name,
            file_size=size,
            num_added_files=added,
            num_deleted_files=len(entries) - added,
            partition_min=partition.min_values,
            partition_max=partition.max_values,
            partition_null_counts=partition.null_counts,
            schema_id=int(entries["schema_id"].to_numpy().max()),
            min_bucket=int(buckets.min()),
            max_bucket=int(buckets.max()),
            min_level=int(levels.min()),
            max_level=int(levels.max()),
            min_row_id=row_ids[0],
            max_row_id=row_ids[1],
            total_buckets=totals[0] if len(totals) == 1 and totals[0] > 0 else None,
        )

    def _write(self, prefix: str, data: bytes) -> str:
        number = self._counts.get(prefix, 0)
        self._counts[prefix] = number + 1
        name = f"{prefix}-{self._unique}-{number}"
        path = self.paths.manifest(name)
        if self.dry_run:
            return name
        if self.storage.is_remote:
            self._waiting[path] = data
        else:
            self.written.append(path)  # before the write, because a failed one may leave a file
            self.storage.write(path, data)
        return name


def _partition_stats(partitions: pa.ChunkedArray, types: Sequence[DataType]) -> SimpleStats:
    """Returns the bounds of the partitions of entries. Each distinct partition is decoded once."""
    found = pc.value_counts(partitions.combine_chunks())
    distinct, counts = found.field("values"), found.field("counts").to_numpy()
    columns = decode_rows(distinct, types)
    nulls = [int(counts[column.is_null().to_numpy(zero_copy_only=False)].sum()) for column in columns]
    if len(distinct) == 1 and not any(pa.types.is_floating(column.type) for column in columns):  # NaN is no bound
        return SimpleStats(distinct[0].as_py(), distinct[0].as_py(), tuple(nulls))
    known = collect_from_arrow(pa.table(columns, [str(i) for i in range(len(columns))]))
    return build_full_stats([replace(one, null_count=n) for one, n in zip(known, nulls, strict=True)], types)


def _row_id_range(entries: pa.Table) -> tuple[int | None, int | None]:
    first = entries["first_row_id"]
    if first.null_count:
        return None, None
    last = pc.subtract(pc.add(first, entries["row_count"]), 1)
    return pc.min(first).as_py(), pc.max(last).as_py()
