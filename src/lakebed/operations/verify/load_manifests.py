"""Loads the manifest lists and manifests of all snapshots: each file is read and decoded once.

A base list repeats the lists of the snapshot before. If its uncompressed bytes are the concatenation of those lists, it
is correct and need not be decoded.

Manifests have numbers, in the order in which they were first read. The entries of all manifests are one Arrow table,
and every file identity has a number too, so that the live files are a set of small integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import LakebedError, NotFoundError
from lakebed.format.manifest.avro import unpacked
from lakebed.format.manifest.manifest import (
    ADD,
    NO_ENTRIES,
    ManifestMeta,
    decode_manifest_list,
    decode_manifests,
)
from lakebed.format.paths import TablePaths
from lakebed.operations.verify.check_branches import Branch, Holder
from lakebed.operations.verify.report import Findings, span
from lakebed.operations.verify.table_listing import Listing
from lakebed.storage import Storage

I32: TypeAlias = npt.NDArray[np.int32]
I64: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

_TOGETHER: Final = 64
_IDENTITY: Final = ("partition", "bucket", "level", "file_name", "embedded_index", "external_path")


@dataclass(frozen=True, slots=True)
class ManifestLists:
    """The lists of one snapshot as numbers of manifests; ``None`` for a list that cannot be read.

    ``continues``: the base list is exactly the base and delta list of the snapshot before.
    """

    base: I32 | None
    delta: I32 | None
    changelog: I32 | None
    continues: bool

    @property
    def is_readable(self) -> bool:
        return self.base is not None and self.delta is not None


@dataclass(frozen=True, slots=True)
class _List:
    codes: I32
    schema: str
    body: bytes


@dataclass
class _Reader:
    """Reads lists and records which snapshots need them."""

    storage: Storage
    paths: TablePaths
    found: Findings
    numbers: dict[str, int] = field(default_factory=dict)
    metas: list[ManifestMeta] = field(default_factory=list)
    differing: dict[int, list[str]] = field(default_factory=dict)
    failures: dict[str, tuple[str, LakebedError, list[str]]] = field(default_factory=dict)
    lists: dict[str, I32] = field(default_factory=dict)

    def read(self, name: str, what: str, holder: Holder, before: Sequence[_List] = ()) -> tuple[_List | None, bool]:
        """Returns one list, and whether it equals the lists ``before`` together."""
        if name in self.failures:
            self.failures[name][2].append(holder.label)
            return None, False
        if name in self.lists:
            return _List(self.lists[name], "", b""), False
        path = self.paths.manifest(name)
        try:
            data = self.storage.read(path)
            schema, body = unpacked(data, where=path)
            continues = bool(before) and _follows(schema, body, before)
            codes = np.concatenate([part.codes for part in before]) if continues else self._decoded(data, path)
        except LakebedError as error:
            self.failures[name] = (what, error, [holder.label])
            return None, False
        self.lists[name] = codes
        return _List(codes, schema, body), continues

    def has(self, name: str) -> bool:
        return name in self.lists or self.storage.exists(self.paths.manifest(name))

    def _decoded(self, data: bytes, path: str) -> I32:
        return np.array([self._number(meta, path) for meta in decode_manifest_list(data, where=path)], np.int32)

    def _number(self, meta: ManifestMeta, path: str) -> int:
        number = self.numbers.setdefault(meta.file_name, len(self.metas))
        if number == len(self.metas):
            self.metas.append(meta)
        elif self.metas[number] != meta and _contradict(self.metas[number], meta):
            self.differing.setdefault(number, []).append(path)
        return number

    def report(self) -> None:
        for name, (what, error, labels) in self.failures.items():
            report_unreadable(what, self.paths.manifest(name), error, labels, self.found)


def _contradict(one: ManifestMeta, other: ManifestMeta) -> bool:
    """Whether two lists contradict each other about a manifest; a missing value is not a contradiction."""
    pairs = ((getattr(one, part.name), getattr(other, part.name)) for part in fields(ManifestMeta))
    return any(a is not None and b is not None and a != b for a, b in pairs)


def report_unreadable(what: str, path: str, error: LakebedError, labels: Sequence[str], found: Findings) -> None:
    """Report a metadata file that cannot be read, with the snapshots that need it."""
    missing = isinstance(error, NotFoundError)
    code = f"{'missing' if missing else 'unreadable'}-{what.replace(' ', '-')}"
    why = "is not there" if missing else f"cannot be read ({error})"
    found.error(
        code,
        f"the {what} {path.rsplit('/', 1)[-1]} {why}; {span(labels)} cannot be read without it",
        path,
        "restore the file from a backup; else roll back to a snapshot before it, or expire those that need it",
    )
    found.blind.append(path)


def _follows(schema: str, body: bytes, before: Sequence[_List]) -> bool:
    at = 0
    for part in before:
        if (part.schema != schema and part.body) or not body.startswith(part.body, at):
            return False
        at += len(part.body)
    return at == len(body)


# ------------------------------------------------------------------------------------------------- all manifests


@dataclass
class AllManifests:
    """The manifests of a table. ``entries`` are those of all manifests, each with its manifest and identity.

    ``files`` has one row per identity; ``starts`` is where the entries of each manifest start.
    """

    names: list[str]
    metas: list[ManifestMeta]
    readable: Bools
    entries: pa.Table
    starts: I64
    is_add: Bools
    identities: I64
    files: pa.Table
    rows: I64

    def entries_of(self, manifests: I32) -> I64:
        """Returns the entries of some manifests, in order."""
        begins, ends = self.starts[manifests], self.starts[manifests + 1]
        return ranges(begins, ends)


def ranges(begins: I64, ends: I64) -> I64:
    """Returns all numbers of some half-open ranges, one range after the other.

    >>> ranges(np.array([3, 7]), np.array([5, 8])).tolist()
    [3, 4, 7]
    """
    lengths = ends - begins
    shifts = np.repeat(begins - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
    return np.asarray(np.arange(int(lengths.sum())) + shifts, np.int64)


def read_lists(branches: Sequence[Branch], found: Findings) -> tuple[_Reader, dict[str, ManifestLists]]:
    """Returns the lists of every snapshot, tag and changelog, by the path of its file."""
    store = branches[0].store
    reader = _Reader(store.storage, store.paths, found)
    lists: dict[str, ManifestLists] = {}
    for branch in branches:
        before: tuple[_List, ...] = ()
        for holder in branch.holders:
            snapshot = holder.snapshot
            changelog = None
            name = snapshot.changelog_manifest_list
            if name is not None and (_keeps_changelog(branch, holder) or reader.has(name)):
                changelog, _ = reader.read(name, "manifest list", holder)
            if holder.is_changelog:
                kept = name is None and reader.has(snapshot.delta_manifest_list)
                delta = reader.read(snapshot.delta_manifest_list, "manifest list", holder)[0] if kept else None
                lists[holder.path] = ManifestLists(None, _codes(delta), _codes(changelog), continues=False)
                continue
            base, continues = reader.read(snapshot.base_manifest_list, "manifest list", holder, before)
            delta, _ = reader.read(snapshot.delta_manifest_list, "manifest list", holder)
            lists[holder.path] = ManifestLists(_codes(base), _codes(delta), _codes(changelog), continues)
            known = base is not None and delta is not None and base.schema and delta.schema
            before = (base, delta) if known else ()  # type: ignore[assignment]
    reader.report()
    return reader, lists


def _keeps_changelog(branch: Branch, holder: Holder) -> bool:
    """Whether the changelog of a snapshot must exist.

    A tag does not keep it. Neither does a snapshot that was created from a tag: the first one of a branch, or of main
    after a rollback.
    """
    is_first = bool(branch.snapshots) and holder is branch.snapshots[0]
    return not holder.is_tag and not is_first


def _codes(found: _List | None) -> I32 | None:
    return None if found is None else found.codes


def read_manifests(
    reader: _Reader,
    lists: dict[str, ManifestLists],
    branches: Sequence[Branch],
    listing: Listing,
    progress: Callable[[int, int], None],
) -> AllManifests:
    """Decode every manifest and assign an identity to every entry."""
    paths, cache = reader.paths, branches[0].store.manifests.cache
    tables: list[pa.Table] = []
    readable = np.ones(len(reader.metas), np.bool_)
    failed: dict[int, LakebedError] = {}
    for number, result in enumerate(_decoded(reader, progress)):
        meta = reader.metas[number]
        if isinstance(result, LakebedError):
            readable[number] = False
            failed[number] = result
            tables.append(NO_ENTRIES)
            continue
        if len(result) == meta.num_added_files + meta.num_deleted_files:
            # later lookups do not decode it again
            cache.put(paths.manifest(meta.file_name), result)
        tables.append(result)
    for number, failure in failed.items():
        labels = [holder.label for holder in users_of(number, lists, branches)]
        report_unreadable("manifest", paths.manifest(reader.metas[number].file_name), failure, labels, reader.found)
    entries = pa.concat_tables(tables).combine_chunks() if tables else NO_ENTRIES
    identities, first = _identities(entries)
    made = AllManifests(
        names=[meta.file_name for meta in reader.metas],
        metas=reader.metas,
        readable=readable,
        entries=entries,
        starts=np.concatenate(([0], np.cumsum([len(table) for table in tables]))).astype(np.int64),
        is_add=np.asarray(pc.equal(entries["kind"], ADD), np.bool_),
        identities=identities,
        files=entries.take(first),
        rows=entries["row_count"].to_numpy(),
    )
    _check_sizes(reader, branches, made, listing)
    return made


def _decoded(reader: _Reader, progress: Callable[[int, int], None]) -> Iterator[pa.Table | LakebedError]:
    """Returns the entries of each manifest, or the error."""
    for start in range(0, len(reader.metas), _TOGETHER):
        files: list[tuple[str, bytes]] = []
        missing: dict[int, LakebedError] = {}
        for number, meta in enumerate(reader.metas[start : start + _TOGETHER]):
            path = reader.paths.manifest(meta.file_name)
            try:
                files.append((path, reader.storage.read(path)))
            except LakebedError as error:
                missing[number] = error
        found = iter(decode_manifests(files))
        total = len(files) + len(missing)
        yield from (missing[number] if number in missing else next(found) for number in range(total))
        progress(start + total, len(reader.metas))


def users_of(number: int, lists: dict[str, ManifestLists], branches: Sequence[Branch]) -> list[Holder]:
    """Returns the snapshots that need a manifest."""
    return [
        holder
        for branch in branches
        for holder in branch.holders
        if any(
            codes is not None and (codes == number).any()
            for codes in (lists[holder.path].base, lists[holder.path].delta, lists[holder.path].changelog)
        )
    ]


def _identities(entries: pa.Table) -> tuple[I64, I64]:
    """Returns the number of the file of each entry, and the first entry of each file."""
    keyed = pa.table(
        {
            **{name: entries[name] for name in _IDENTITY},
            "extra": pc.binary_join(entries["extra_files"], "\x00"),
            "row": pa.array(np.arange(len(entries))),
        }
    )
    groups = keyed.group_by([*_IDENTITY, "extra"], use_threads=False).aggregate([("row", "list")])
    history = groups["row_list"].combine_chunks()
    members, offsets = history.flatten().to_numpy(), history.offsets.to_numpy()
    identities = np.empty(len(entries), np.int64)
    identities[members] = np.repeat(np.arange(len(groups)), np.diff(offsets))
    return identities, members[offsets[:-1]].astype(np.int64)


# -------------------------------------------------------------------------------------------------------- checks


def _check_sizes(reader: _Reader, branches: Sequence[Branch], manifests: AllManifests, listing: Listing) -> None:
    """Check that lists and manifests have their recorded sizes; unreadable ones were reported already."""
    lists = [
        (name, size)
        for branch in branches
        for holder in branch.holders
        for name, size in _lists_of(holder)
        if name in reader.lists and size is not None
    ]
    known = [manifests.metas[number] for number in np.flatnonzero(manifests.readable).tolist()]
    expected: dict[str, int] = {**dict(lists), **{meta.file_name: meta.file_size for meta in known}}
    paths = [reader.paths.manifest(name) for name in expected]
    at = listing.find(pa.array(paths, pa.string()))
    sizes = np.where(at >= 0, listing.sizes[at] if len(listing.sizes) else -1, -1)
    wrong = np.flatnonzero((sizes >= 0) & (sizes != np.fromiter(expected.values(), np.int64, len(expected))))
    for row in wrong.tolist():
        found = reader.found
        found.error(
            "wrong-size",
            f"{paths[row].rsplit('/', 1)[-1]} has {sizes[row]} bytes, {list(expected.values())[row]} are written down "
            "for it",
            paths[row],
            "restore the file from a backup",
        )


def _lists_of(holder: Holder) -> tuple[tuple[str | None, int | None], ...]:
    snapshot = holder.snapshot
    return (
        (snapshot.base_manifest_list, snapshot.base_manifest_list_size),
        (snapshot.delta_manifest_list, snapshot.delta_manifest_list_size),
        (snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size),
    )
