"""Reads and writes manifest lists, manifests and index manifests of a table.

Manifest files never change, so decoded ones are kept by path (:mod:`lakebed.metadata.manifest_cache`). Manifests of one
read are decoded in parallel.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import CorruptError, NotFoundError, StorageError
from lakebed.format.binary_row import decode_rows
from lakebed.format.index_manifest import IndexEntry, decode_index_manifest, encode_index_manifest
from lakebed.format.manifest import (
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
from lakebed.format.stats import SimpleStats, build_full_stats, collect_from_arrow
from lakebed.format.types import DataType
from lakebed.metadata.manifest_cache import ManifestCache
from lakebed.storage import Storage

_ROWS_BETWEEN_SIZE_CHECKS: Final = 1000


SHARED_CACHE: Final = ManifestCache()
"""What all tables of the process share that do not bring their own."""


@dataclass(frozen=True)
class Manifests:
    """The manifest files of one table, whatever the branch."""

    storage: Storage
    paths: TablePaths
    cache: ManifestCache = field(default=SHARED_CACHE)

    # ------------------------------------------------------------------------------------------------- reading

    def read_list(self, name: str) -> list[ManifestMeta]:
        """The manifests that a manifest list names, in order."""
        return decode_manifest_list(self.list_bytes(name), where=self.paths.manifest(name))

    def list_bytes(self, name: str) -> bytes:
        """A manifest list as it is on disk."""
        return self._read(self.paths.manifest(name), "manifest list")

    def base_and_delta(self, snapshot: Snapshot) -> list[ManifestMeta]:
        """Every manifest of a snapshot, in the order in which entries fold."""
        return self.read_list(snapshot.base_manifest_list) + self.read_list(snapshot.delta_manifest_list)

    def read_entries(self, metas: Sequence[ManifestMeta]) -> pa.Table:
        """The entries of these manifests, in order, unfolded."""
        if not metas:
            return NO_ENTRIES
        if len(metas) == 1:
            return self._read_manifest(metas[0])
        with ThreadPoolExecutor(min(8, len(metas))) as pool:
            return pa.concat_tables(pool.map(self._read_manifest, metas))

    def read_index(self, name: str | None) -> list[IndexEntry]:
        """The live index files that an index manifest names."""
        if name is None:
            return []
        path = self.paths.manifest(name)
        return decode_index_manifest(self._read(path, "index manifest"), where=path)

    def _read_manifest(self, meta: ManifestMeta) -> pa.Table:
        path = self.paths.manifest(meta.file_name)
        table = self.cache.load(path, lambda: decode_manifest(self._read(path, "manifest"), where=path))
        if len(table) != meta.num_added_files + meta.num_deleted_files:
            raise CorruptError(
                f"{path} holds {len(table)} entries, but its list says "
                f"{meta.num_added_files + meta.num_deleted_files}; restore it or roll back"
            )
        return table

    def _read(self, path: str, what: str) -> bytes:
        try:
            return self.storage.read(path)
        except NotFoundError:
            raise NotFoundError(
                f"{what} {path} is gone; the snapshot that needs it may have expired. Read a newer snapshot"
            ) from None


@dataclass
class ManifestWriter:
    """Writes the metadata files of one commit attempt and remembers them, so that a failed one can be undone.

    With ``dry_run`` nothing is written; the metas tell what would have been.
    """

    storage: Storage
    paths: TablePaths
    partition_types: Sequence[DataType]
    codec: str = "zstd"
    zstd_level: int = 1
    target_size: int = 8 * 1024 * 1024
    dry_run: bool = False
    written: list[str] = field(default_factory=list)
    _unique: str = field(default_factory=lambda: str(uuid.uuid4()))
    _counts: dict[str, int] = field(default_factory=dict)

    def write_list(self, metas: Sequence[ManifestMeta]) -> tuple[str, int]:
        """A manifest list; gives its name and size."""
        data = encode_manifest_list(metas, codec=self.codec, level=self.zstd_level)
        return self._write("manifest-list", data), len(data)

    def write_index(self, entries: Sequence[IndexEntry]) -> str:
        """An index manifest with all live index files; gives its name."""
        return self._write("index-manifest", encode_index_manifest(entries, codec=self.codec, level=self.zstd_level))

    def write_entries(self, entries: pa.Table) -> list[ManifestMeta]:
        """Entries as manifest files of about the target size, in order; none for no entries."""
        metas = []
        start = 0
        rows = len(entries)
        while start < len(entries):
            data, rows = self._encode_up_to_target(entries.slice(start), rows)
            metas.append(self._describe(entries.slice(start, rows), self._write("manifest", data), len(data)))
            start += rows
        return metas

    def undo(self, keep: Sequence[str] = ()) -> None:
        """Remove what was written, but for the files to keep. What cannot be removed is left to a later try."""
        left = []
        for path in self.written:
            if path not in keep:
                try:
                    self.storage.delete(path)
                except StorageError:
                    left.append(path)
        self.written = [path for path in self.written if path in keep or path in left]

    def _encode_up_to_target(self, entries: pa.Table, rows: int) -> tuple[bytes, int]:
        """As many entries as one manifest should hold, ``rows`` if those fit: then they are encoded only once."""
        rows = min(rows, len(entries))
        while True:
            data = encode_manifest(entries.slice(0, rows), codec=self.codec, level=self.zstd_level)
            if len(data) <= self.target_size or rows <= _ROWS_BETWEEN_SIZE_CHECKS:
                return data, rows
            fitting = rows * self.target_size // len(data)
            rows = max(_ROWS_BETWEEN_SIZE_CHECKS, fitting // _ROWS_BETWEEN_SIZE_CHECKS * _ROWS_BETWEEN_SIZE_CHECKS)

    def _describe(self, entries: pa.Table, name: str, size: int) -> ManifestMeta:
        added = pc.sum(pc.equal(entries["kind"], ADD)).as_py()
        partition = _partition_stats(entries["partition"], self.partition_types)
        buckets, levels = pc.min_max(entries["bucket"]), pc.min_max(entries["level"])
        totals = pc.unique(entries["total_buckets"]).to_pylist()
        row_ids = _row_id_range(entries)
        return ManifestMeta(
            file_name=name,
            file_size=size,
            num_added_files=added,
            num_deleted_files=len(entries) - added,
            partition_min=partition.min_values,
            partition_max=partition.max_values,
            partition_null_counts=partition.null_counts,
            schema_id=pc.max(entries["schema_id"]).as_py(),
            min_bucket=buckets["min"].as_py(),
            max_bucket=buckets["max"].as_py(),
            min_level=levels["min"].as_py(),
            max_level=levels["max"].as_py(),
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
            self.written.append(path)  # first, as a write that fails may leave a file
            self.storage.write(path, data)
        return name


def _partition_stats(partitions: pa.ChunkedArray, types: Sequence[DataType]) -> SimpleStats:
    columns = decode_rows(partitions, types)
    return build_full_stats(collect_from_arrow(pa.table(columns, [str(i) for i in range(len(columns))])), types)


def _row_id_range(entries: pa.Table) -> tuple[int | None, int | None]:
    first = entries["first_row_id"]
    if first.null_count:
        return None, None
    last = pc.subtract(pc.add(first, entries["row_count"]), 1)
    return pc.min(first).as_py(), pc.max(last).as_py()
