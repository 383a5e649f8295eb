"""Checks whether a snapshot is whole: everything that it refers to exists, with the recorded sizes, and can be decoded.

A power cut may leave files of the last commits empty, truncated or missing. The checks read metadata from disk, not
from caches. Of data files they look at the size and at the last bytes, which a truncated Parquet or ORC file lacks. A
file that several snapshots need is checked once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import pyarrow as pa

from lakebed.errors import CorruptError, LakebedError, NotFoundError
from lakebed.format.manifest.index_manifest import IndexEntry, decode_index_manifest
from lakebed.format.manifest.manifest import ManifestMeta, decode_manifest, decode_manifest_list, fold
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import Snapshot
from lakebed.format.statistics.table_statistics import statistics_from_json
from lakebed.metadata.data_file_paths import data_file_paths, index_file_path
from lakebed.metadata.store import TableStore
from lakebed.storage import run_together

_THREADS: Final = 8
_PARQUET_END: Final = b"PAR1"
_ORC_END: Final = b"ORC"  # before the last byte


@dataclass
class WholeCheck:
    """Finds what is wrong with snapshots of one branch."""

    store: TableStore
    _lists: dict[str, list[ManifestMeta]] = field(default_factory=dict)
    _entries: dict[str, pa.Table] = field(default_factory=dict)
    _files: dict[tuple[str, int], str | None] = field(default_factory=dict)

    def problems(self, snapshot: Snapshot) -> list[str]:
        """Returns what is missing or damaged of what a snapshot needs; empty if it is whole."""
        found: list[str] = []
        schema = self._schema(snapshot, found)
        base = self._metas(snapshot.base_manifest_list, snapshot.base_manifest_list_size, found)
        delta = self._metas(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size, found)
        logged: list[ManifestMeta] = []
        if snapshot.changelog_manifest_list is not None:
            logged = self._metas(snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size, found)
        entries = [table for meta in (*base, *delta) if (table := self._manifest(meta, found)) is not None]
        changelog = [table for meta in logged if (table := self._manifest(meta, found)) is not None]
        index = self._index(snapshot, found)
        found += self._statistics(snapshot)
        if not found and schema is not None:  # else it is not known which files the snapshot needs
            found += self._data(schema, snapshot, entries, changelog)
            found += self._checked((index_file_path(self.store, entry), entry.file_size) for entry in index)
        return found

    def _schema(self, snapshot: Snapshot, found: list[str]) -> TableSchema | None:
        path = self.store.paths.schema(snapshot.schema_id)
        try:
            return TableSchema.from_json(self.store.storage.read(path), where=path)
        except (CorruptError, NotFoundError) as error:
            found.append(self._told(path, error))
            return None

    def _metas(self, name: str, size: int | None, found: list[str]) -> list[ManifestMeta]:
        path = self.store.paths.manifest(name)
        if name not in self._lists:
            try:
                data = self.store.storage.read(path)
                if size is not None and len(data) != size:
                    found.append(f"{self._short(path)} has {len(data)} bytes instead of {size}")
                    return []
                self._lists[name] = decode_manifest_list(data, where=path)
            except (CorruptError, NotFoundError) as error:
                found.append(self._told(path, error))
                return []
        return self._lists[name]

    def _manifest(self, meta: ManifestMeta, found: list[str]) -> pa.Table | None:
        path = self.store.paths.manifest(meta.file_name)
        if meta.file_name not in self._entries:
            try:
                data = self.store.storage.read(path)
                if len(data) != meta.file_size:
                    found.append(f"{self._short(path)} has {len(data)} bytes instead of {meta.file_size}")
                    return None
                self._entries[meta.file_name] = decode_manifest(data, where=path)
            except (CorruptError, NotFoundError) as error:
                found.append(self._told(path, error))
                return None
        return self._entries[meta.file_name]

    def _index(self, snapshot: Snapshot, found: list[str]) -> list[IndexEntry]:
        if snapshot.index_manifest is None:
            return []
        path = self.store.paths.manifest(snapshot.index_manifest)
        try:
            return decode_index_manifest(self.store.storage.read(path), where=path)
        except (CorruptError, NotFoundError) as error:
            found.append(self._told(path, error))
            return []

    def _statistics(self, snapshot: Snapshot) -> Iterator[str]:
        if snapshot.statistics is None:
            return
        path = f"{self.store.paths.statistics}/{snapshot.statistics}"
        try:
            statistics_from_json(self.store.storage.read(path), where=path)
        except (CorruptError, NotFoundError) as error:
            yield self._told(path, error)

    # --------------------------------------------------------------------------------------------------- data files

    def _data(
        self, schema: TableSchema, snapshot: Snapshot, entries: list[pa.Table], changelog: list[pa.Table]
    ) -> Iterator[str]:
        try:
            live = fold(pa.concat_tables(entries), where=f"snapshot {snapshot.id}") if entries else None
        except CorruptError as error:
            yield str(error)
            return
        tables = [table for table in (live, *changelog) if table is not None]
        files = ((data_file_paths(self.store, schema, table), table["file_size"].to_pylist()) for table in tables)
        yield from self._checked(itertools.chain.from_iterable(zip(*pair, strict=True) for pair in files))

    def _checked(self, files: Iterable[tuple[str, int]]) -> Iterator[str]:
        wanted = list(dict.fromkeys(files))
        new = [file for file in wanted if file not in self._files]
        problems = run_together([partial(self._problem_of, file) for file in new], _THREADS)
        self._files.update(zip(new, problems, strict=True))
        return (problem for file in wanted if (problem := self._files[file]) is not None)

    def _problem_of(self, file: tuple[str, int]) -> str | None:
        path, size = file
        try:
            actual = self.store.storage.size(path)
            if actual != size:
                return f"{self._short(path)} has {actual} bytes instead of {size}"
            if path.endswith(".parquet"):
                end = self.store.storage.read_range(path, max(0, size - len(_PARQUET_END)), len(_PARQUET_END))
                return None if end == _PARQUET_END else f"{self._short(path)} does not end like a Parquet file"
            if path.endswith(".orc"):
                end = self.store.storage.read_range(path, max(0, size - len(_ORC_END) - 1), len(_ORC_END))
                return None if end == _ORC_END else f"{self._short(path)} does not end like an ORC file"
        except NotFoundError:
            return f"{self._short(path)} is missing"
        return None

    # -------------------------------------------------------------------------------------------------------- texts

    def _short(self, path: str) -> str:
        return path.removeprefix(f"{self.store.paths.root}/")

    def _told(self, path: str, error: LakebedError) -> str:
        if isinstance(error, NotFoundError):
            return f"{self._short(path)} is missing"
        size = self.store.storage.size(path)
        return f"{self._short(path)} is empty" if not size else f"{self._short(path)} cannot be decoded ({size} bytes)"
