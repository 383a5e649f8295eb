"""Checks index manifests and the index files that they list: hash indexes and deletion vectors. Each is read once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import LakebedError
from lakebed.format.manifest.index_manifest import DELETION_VECTORS, HASH, IndexEntry
from lakebed.format.manifest.manifest import ADD
from lakebed.metadata.data_file_paths import index_file_path
from lakebed.operations.verify.check_branches import Branch
from lakebed.operations.verify.load_manifests import report_unreadable
from lakebed.operations.verify.replay_history import State
from lakebed.operations.verify.report import Findings, some
from lakebed.operations.verify.table_listing import Listing
from lakebed.options import TableOptions

I64: TypeAlias = npt.NDArray[np.int64]

REBUILD: Final = "rebuild_index(dry_run=False) rebuilds the index of the newest snapshot from the data files"
_NOTHING: Final = (
    "nothing: no newest snapshot of a branch uses it, and lookups by key read without it. After a rollback or "
    "fast-forward to a snapshot that uses it, call rebuild_index(dry_run=False)"
)
_RESTORE: Final = "restore the index file or its manifest from a backup, or roll back to a snapshot before"


@dataclass(frozen=True, slots=True)
class IndexFile:
    """One index file: its path, its entry, and the first snapshot that uses it."""

    path: str
    entry: IndexEntry
    label: str
    is_there: bool


@dataclass
class IndexCheck:
    """Reads the index manifests of all branches, then checks in a walk that vectors belong to live files."""

    files: pa.Table
    found: Findings
    manifests: dict[str, list[IndexEntry]] = field(default_factory=dict)
    index_files: dict[str, IndexFile] = field(default_factory=dict)
    _newest: set[str] = field(default_factory=set)
    _vectors: dict[str, tuple[I64, list[str]]] = field(default_factory=dict)
    _dead: set[str] = field(default_factory=set)
    _live: I64 = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        joined = _joined(self.files["partition"].combine_chunks(), self.files["file_name"].combine_chunks())
        encoded = joined.dictionary_encode()
        self._names = encoded.dictionary
        self._code = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        self._rows = np.zeros(len(self._names), np.int64)
        self._rows[self._code] = self.files["row_count"].to_numpy()

    # ---------------------------------------------------------------------------------------------------- reading

    def read(self, branches: Sequence[Branch], listing: Listing) -> None:
        """Read every index manifest and check its entries."""
        users: dict[str, list[tuple[Branch, str]]] = {}
        for branch in branches:
            for holder in (*branch.snapshots, *branch.tags):
                if holder.snapshot.index_manifest is not None:
                    users.setdefault(holder.snapshot.index_manifest, []).append((branch, holder.label))
        for name, who in users.items():
            store = who[0][0].store
            labels = [label for _, label in who]
            try:
                entries = store.manifests.read_index(name)
            except LakebedError as error:
                report_unreadable("index manifest", store.paths.manifest(name), error, labels, self.found)
                continue
            self.manifests[name] = entries
            self._check_manifest(store.paths.manifest(name), entries, who[0][0])
            for entry in entries:
                self._note_file(entry, who[0][0], labels[0])
            self._note_vectors(name, entries)
        heads = [branch.snapshots[-1].snapshot.index_manifest for branch in branches if branch.snapshots]
        self._newest = {entry.file_name for name in heads if name for entry in self.manifests.get(name, ())}
        self._check_files(listing)

    def _note_file(self, entry: IndexEntry, branch: Branch, label: str) -> None:
        if entry.file_name not in self.index_files:
            try:
                path, readable = index_file_path(branch.store, entry), True
            except LakebedError as error:
                path, readable = entry.external_path or entry.file_name, False
                self.found.error("file-outside-table", f"{error}; used by {label}", path, _RESTORE)
            self.index_files[entry.file_name] = IndexFile(path, entry, label, is_there=readable)

    def _check_manifest(self, path: str, entries: Sequence[IndexEntry], branch: Branch) -> None:
        """Check that there are only ADD entries, and one file for each bucket or data file."""
        deleted = [entry.file_name for entry in entries if entry.kind != ADD]
        if deleted:
            self.found.error("wrong-index-manifest", f"it deletes {some(deleted)}, and may only list", path, _RESTORE)
        schema = branch.schema
        bucketed = schema is not None and (bool(schema.primary_keys) or TableOptions(schema.options).bucket > 0)
        places = Counter(
            (e.partition, e.bucket, e.index_type) for e in entries if e.index_type in {HASH, DELETION_VECTORS}
        )
        doubled = Counter((e.partition, vector.file_name) for e in entries for vector in e.vectors or ())
        for (_, bucket, kind), count in places.items():
            if bucketed and count > 1:
                what = f"bucket {bucket} of a partition has {count} files of type {kind}, and may have one"
                self.found.error("wrong-index-manifest", what, path, _RESTORE)
        twice = [name for (_, name), count in doubled.items() if count > 1]
        if twice:
            what = f"{some(twice)} has two deletion vectors; which rows are deleted depends on the reader"
            self.found.error("wrong-index-manifest", what, path, _RESTORE)

    def _note_vectors(self, name: str, entries: Sequence[IndexEntry]) -> None:
        parts = [(entry, vector) for entry in entries for vector in entry.vectors or ()]
        keys = _joined(
            pa.array([entry.partition for entry, _ in parts], pa.binary()),
            pa.array([vector.file_name for _, vector in parts], pa.string()),
        )
        codes = np.asarray(pc.index_in(keys, value_set=self._names).fill_null(-1), np.int64)
        self._vectors[name] = (codes, [vector.file_name for _, vector in parts])
        for code, (entry, vector) in zip(codes.tolist(), parts, strict=True):
            if code >= 0 and vector.cardinality is not None and vector.cardinality > self._rows[code]:
                what = (
                    f"the deletion vector of {vector.file_name} deletes {vector.cardinality} rows, "
                    f"the file has {self._rows[code]}"
                )
                self.complain_once("wrong-deletion-vector", what, entry.file_name)

    def data_rows(self, entry: IndexEntry) -> I64:
        """Returns the number of rows of the data file of each vector; -1 if there is no such file."""
        vectors = entry.vectors or ()
        keys = _joined(
            pa.array([entry.partition] * len(vectors), pa.binary()),
            pa.array([vector.file_name for vector in vectors], pa.string()),
        )
        codes = np.asarray(pc.index_in(keys, value_set=self._names).fill_null(-1), np.int64)
        return np.where(codes < 0, -1, self._rows[codes] if len(self._rows) else -1)

    def complain_once(self, code: str, what: str, index_file: str) -> None:
        """Report damage of an index file. A damaged hash index of an old snapshot or a tag is only a warning."""
        where = self.index_files[index_file].path
        if not any(problem.where == where and problem.code == code for problem in self.found.problems):
            file = self.index_files[index_file]
            what = f"{what}; used by {file.label}"
            if file.entry.index_type != HASH:
                self.found.error(code, what, where, _RESTORE)
            elif file.entry.file_name in self._newest:
                self.found.error(code, what, where, REBUILD)
            else:
                self.found.warning(code, what, where, _NOTHING)

    def _check_files(self, listing: Listing) -> None:
        """Check that every index file exists with the size of its entry, and that the size fits its content."""
        files = [file for file in self.index_files.values() if file.is_there]
        at = listing.find(pa.array([file.path for file in files], pa.string())).tolist()
        for place, file in zip(at, files, strict=True):
            entry = file.entry
            name = entry.file_name
            if place < 0:
                self.index_files[name] = IndexFile(file.path, entry, file.label, is_there=False)
                self.complain_once("missing-index-file", f"index file {name} ({entry.index_type}) is not there", name)
            elif listing.sizes[place] != entry.file_size:
                self.index_files[name] = IndexFile(file.path, entry, file.label, is_there=False)
                what = f"index file {name} has {listing.sizes[place]} bytes, its manifest says {entry.file_size}"
                self.complain_once("wrong-size", what, name)
            elif entry.index_type == HASH and entry.file_size != 4 * entry.row_count:
                what = f"hash index {name} has {entry.file_size} bytes, which are not {entry.row_count} hashes"
                self.complain_once("wrong-hash-index", what, name)
            elif entry.index_type == DELETION_VECTORS:
                self._check_vectors(entry)

    def _check_vectors(self, entry: IndexEntry) -> None:
        vectors = entry.vectors or ()
        outside = [v.file_name for v in vectors if v.offset < 1 or v.offset + v.length > entry.file_size]
        if len(vectors) != entry.row_count:
            what = f"{entry.file_name} is said to hold {entry.row_count} deletion vectors, {len(vectors)} are listed"
            self.complain_once("wrong-deletion-vector", what, entry.file_name)
        if outside:
            what = f"the deletion vector of {some(outside)} lies outside of its file"
            self.complain_once("wrong-deletion-vector", what, entry.file_name)

    # ------------------------------------------------------------------------------------------------- over time

    def look(self, state: State) -> None:
        """Check vectors against the names of live files: a file that changes its level keeps its vector."""
        if state.is_first:
            self._live = np.bincount(self._code[state.live], minlength=len(self._names))
        else:
            np.subtract.at(self._live, self._code[state.removed], 1)
            np.add.at(self._live, self._code[state.added], 1)
        name = state.holder.snapshot.index_manifest
        codes, names = self._vectors.get(name, (np.zeros(0, np.int64), [])) if name else (np.zeros(0, np.int64), [])
        dead = (codes < 0) | (self._live[codes] <= 0) if len(self._names) else codes < 0
        if not dead.any():
            return
        fresh = [names[i] for i in np.flatnonzero(dead).tolist() if names[i] not in self._dead]
        self._dead.update(fresh)
        if fresh:
            self.found.error(
                "vector-of-dead-file",
                f"{state.holder.label} has a deletion vector for {some(fresh)}, which is not among its files",
                state.holder.path,
                "rows that were deleted may have come back with a rewritten file; compare with the snapshot before, "
                "and delete them again or roll back",
            )


def _joined(partitions: pa.Array, names: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(partitions, names.cast(pa.binary()), pa.scalar(b"\x00", pa.binary()))
