"""Reads and writes manifest lists, manifests and index manifests of a table.

Manifest files never change, so decoded and written ones are cached by path (:mod:`lakebed.metadata.manifest_cache`).
Large manifests are decoded in parallel; for small ones threads would cost more than they save.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import ROLL_BACK, CorruptError, NotFoundError, StorageError
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
from lakebed.storage import Storage

_ROWS_BETWEEN_SIZE_CHECKS: Final = 1000


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
        return decode_manifest_list(self.list_bytes(name), where=self.paths.manifest(name))

    def list_bytes(self, name: str) -> bytes:
        """Returns a manifest list as it is on disk."""
        return self._read(self.paths.manifest(name), "manifest list")

    def base_and_delta(self, snapshot: Snapshot) -> list[ManifestMeta]:
        """Returns every manifest of a snapshot, in the order in which their entries apply."""
        return self.base(snapshot) + self.delta(snapshot)

    def base(self, snapshot: Snapshot) -> list[ManifestMeta]:
        """Returns the manifests that a snapshot took over from the one before."""
        return self._read_whole_list(snapshot.base_manifest_list, snapshot.base_manifest_list_size)

    def delta(self, snapshot: Snapshot) -> list[ManifestMeta]:
        """Returns the manifests that a snapshot added."""
        return self._read_whole_list(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)

    def _read_whole_list(self, name: str, size: int | None) -> list[ManifestMeta]:
        """Returns a list after a check of its size: a truncated list may be valid and name too few manifests."""
        data, path = self.list_bytes(name), self.paths.manifest(name)
        metas = decode_manifest_list(data, where=path)
        if size is not None and len(data) != size:
            raise CorruptError(f"{path} has {len(data)} bytes, but its snapshot says {size}; {ROLL_BACK}")
        return metas

    def check_whole(self, snapshot: Snapshot, delta: Sequence[ManifestMeta]) -> None:
        """Raises if a manifest that a snapshot added is missing or truncated, unless it is in the cache.

        A power cut damages the last commits. Older manifests are checked when they are read.
        """
        for meta in delta:
            path = self.paths.manifest(meta.file_name)
            if not self.cache.holds(path) and (size := self._size(path, "manifest")) != meta.file_size:
                raise CorruptError(f"{path} has {size} bytes, but its list says {meta.file_size}; {ROLL_BACK}")
        if snapshot.index_manifest is not None:
            path = self.paths.manifest(snapshot.index_manifest)
            if not self._size(path, "index manifest"):
                raise CorruptError(f"{path} is empty; {ROLL_BACK}")

    def read_entries(self, metas: Sequence[ManifestMeta]) -> pa.Table:
        """Returns the entries of these manifests, in order; no DELETE has cancelled its ADD yet."""
        if not metas:
            return NO_ENTRIES
        tables: dict[str, pa.Table] = {}
        large = [meta for meta in metas if meta.file_size >= COLUMNAR_FROM_BYTES and not self._is_held(meta)]
        if len(large) > 1:
            with ThreadPoolExecutor(min(8, len(large))) as pool:
                names = (meta.file_name for meta in large)
                tables = dict(zip(names, pool.map(self._read_manifest, large), strict=True))
        return pa.concat_tables(
            tables[meta.file_name] if meta.file_name in tables else self._read_manifest(meta) for meta in metas
        )

    def read_index(self, name: str | None) -> list[IndexEntry]:
        """Returns the live index files that an index manifest names."""
        if name is None:
            return []
        path = self.paths.manifest(name)
        return decode_index_manifest(self._read(path, "index manifest"), where=path)

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
    _unique: str = field(default_factory=lambda: str(uuid.uuid4()))
    _counts: dict[str, int] = field(default_factory=dict)

    def write_list(self, metas: Sequence[ManifestMeta]) -> tuple[str, int]:
        """Writes a manifest list, and returns its name and size."""
        data = encode_manifest_list(metas, codec=self.codec, level=self.zstd_level)
        return self._write("manifest-list", data), len(data)

    def write_index(self, entries: Sequence[IndexEntry]) -> str:
        """Writes an index manifest with all live index files, and returns its name."""
        return self._write("index-manifest", encode_index_manifest(entries, codec=self.codec, level=self.zstd_level))

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
        left = []
        for path in self.written:
            if path not in keep:
                try:
                    self.storage.delete(path)
                except StorageError:
                    left.append(path)
        self.written = [path for path in self.written if path in keep or path in left]

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
        if not self.dry_run:
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
