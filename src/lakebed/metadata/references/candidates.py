"""Files of deleted snapshots that may be deleted, with path, size and kind, until it is known what else needs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import NotFoundError
from lakebed.format.manifest.manifest import ADD, ManifestMeta
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.data_file_paths import index_file_path, path_array
from lakebed.metadata.references.removal import KINDS, DoomedFile
from lakebed.metadata.store import TableStore
from lakebed.storage import run_together

_FILES: Final = pa.schema([("name", pa.string()), ("path", pa.string()), ("size", pa.int64()), ("kind", pa.string())])


@dataclass(frozen=True, slots=True)
class Needed:
    """Names of needed files: metadata and index files, and data files with their extra and changelog files."""

    metadata: frozenset[str]
    data: pa.Array


@dataclass
class Candidates:
    """Files of one table that may be deleted. Adding a file twice has no effect."""

    store: TableStore
    _named: dict[str, DoomedFile] = field(default_factory=dict)
    _data: list[pa.Table] = field(default_factory=list)
    _index_manifests: set[str] = field(default_factory=set)

    @property
    def is_only_lists(self) -> bool:
        """Whether there are only manifest lists, which no other snapshot can refer to."""
        return not self._data and all(file.kind in {"snapshot", "manifest list"} for file in self._named.values())

    def add_named(self, snapshot: Snapshot, *, changelog: bool) -> None:
        """Adds the files that a snapshot names itself, and its changelog files."""
        for name, kind, size in _names_of(snapshot):
            path = f"{self.store.paths.statistics}/{name}" if kind == "statistics" else self.store.paths.manifest(name)
            self._named.setdefault(name, DoomedFile(path, size, kind))
        if changelog:
            self.add_changelog(snapshot)

    def add_lists(self, snapshot: Snapshot) -> None:
        """Adds the base and the delta list of a snapshot; one of them may not exist."""
        for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list):
            self._named.setdefault(name, DoomedFile(self.store.paths.manifest(name), -1, "manifest list"))

    def add_changelog(self, snapshot: Snapshot) -> None:
        """Adds the changelog files of a snapshot, if it has any."""
        if snapshot.changelog_manifest_list is None:
            return
        name = snapshot.changelog_manifest_list
        try:
            metas = self.store.manifests.read_list(name)
            entries = self.store.manifests.read_entries(metas)
        except NotFoundError:  # it was deleted with the snapshot that this one is a copy of
            return
        told = snapshot.changelog_manifest_list_size
        known = -1 if told is None else told
        self._named.setdefault(name, DoomedFile(self.store.paths.manifest(name), known, "manifest list"))
        self.add_manifests(metas)
        self.add_entries(entries.filter(pc.equal(entries["kind"], ADD)), kind="changelog")

    def add_index(self, snapshot: Snapshot) -> None:
        """Adds the index files of a snapshot."""
        name = snapshot.index_manifest
        if name is None or name in self._index_manifests:
            return
        self._index_manifests.add(name)
        for entry in self.store.manifests.read_index(name):
            path = index_file_path(self.store, entry)
            self._named.setdefault(entry.file_name, DoomedFile(path, entry.file_size, "index"))

    def add_manifests(self, metas: Iterable[ManifestMeta]) -> None:
        """Adds manifests and the files beside them."""
        for meta in metas:
            path = self.store.paths.manifest(meta.file_name)
            self._named.setdefault(meta.file_name, DoomedFile(path, meta.file_size, "manifest"))
            for name in meta.extra_files or ():
                self._named.setdefault(name, DoomedFile(self.store.paths.manifest(name), -1, "manifest"))

    def add_entries(self, entries: pa.Table, *, kind: str = "data") -> None:
        """Adds the data files of entries, and their extra files."""
        if not len(entries):
            return
        paths = path_array(self.store, self.store.schema(), entries)
        names, sizes = entries["file_name"].combine_chunks(), entries["file_size"].combine_chunks()
        kinds = pa.repeat(pa.scalar(kind), len(entries))
        self._data.append(pa.Table.from_arrays([names, paths, sizes, kinds], schema=_FILES))
        extras = entries["extra_files"].combine_chunks()
        more = extras.flatten()
        if len(more):
            beside = pc.replace_substring_regex(paths.take(pc.list_parent_indices(extras)), "[^/]*$", "")
            unknown = pa.repeat(pa.scalar(-1, pa.int64()), len(more))
            columns = [
                more,
                pc.binary_join_element_wise(beside, more, ""),
                unknown,
                pa.repeat(pa.scalar(kind), len(more)),
            ]
            self._data.append(pa.Table.from_arrays(columns, schema=_FILES))

    def spare(self, names: Iterable[str]) -> None:
        """Removes metadata and index files that are kept."""
        for name in names:
            self._named.pop(name, None)

    def spare_data(self, names: pa.Array) -> None:
        """Removes data files that are kept."""
        self._data = [table.filter(pc.invert(pc.is_in(table["name"], value_set=names))) for table in self._data]
        self._data = [table for table in self._data if len(table)]

    def folders(self) -> set[str]:
        """Returns the folders of the files."""
        found = {file.path.rpartition("/")[0] for file in self._named.values()}
        for table in self._data:
            found.update(pc.unique(pc.replace_substring_regex(table["path"], "/[^/]*$", "")).to_pylist())
        return found

    def data_names(self) -> pa.Array:
        """Returns the names of data files, extra files and changelog files."""
        if not self._data:
            return pa.array([], pa.string())
        return pc.unique(pa.concat_tables(self._data)["name"].combine_chunks())

    def without(self, needed: Needed) -> list[DoomedFile]:
        """Returns the files that are not needed, by kind; the size of a file is looked up if it is not recorded."""
        found = [file for name, file in self._named.items() if name not in needed.metadata]
        if self._data:
            table = pa.concat_tables(self._data)
            table = table.filter(pc.invert(pc.is_in(table["name"], value_set=needed.data)))
            columns = (table[name].to_pylist() for name in ("path", "size", "kind"))
            found += map(DoomedFile, *columns)
        by_path = {file.path: file for file in found}
        order = {kind: number for number, kind in enumerate(KINDS)}
        return sorted(_sized(self.store, list(by_path.values())), key=lambda file: (order[file.kind], file.path))


def file_names(entries: pa.Table) -> pa.Array:
    """Returns the names of the files of entries and of their extra files."""
    extras = entries["extra_files"].combine_chunks().flatten()
    names = entries["file_name"].combine_chunks()
    return pa.concat_arrays([names, extras]) if len(extras) else names


def _sized(store: TableStore, files: Sequence[DoomedFile]) -> Iterator[DoomedFile]:
    def look(file: DoomedFile) -> DoomedFile | None:
        try:
            return replace(file, size=store.storage.size(file.path))
        except NotFoundError:  # it was deleted already
            return None

    yield from (file for file in files if file.size >= 0)
    unknown = [file for file in files if file.size < 0]
    if unknown:
        yield from (file for file in run_together([partial(look, one) for one in unknown]) if file is not None)


def _names_of(snapshot: Snapshot) -> Iterator[tuple[str, str, int]]:
    """Yields the files that a snapshot names itself, without its changelog: name, kind, and size or -1."""
    for name, size in (
        (snapshot.base_manifest_list, snapshot.base_manifest_list_size),
        (snapshot.delta_manifest_list, snapshot.delta_manifest_list_size),
    ):
        yield name, "manifest list", -1 if size is None else size
    if snapshot.index_manifest is not None:
        yield snapshot.index_manifest, "index manifest", -1
    if snapshot.statistics is not None:
        yield snapshot.statistics, "statistics", -1
