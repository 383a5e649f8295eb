"""Whether each snapshot continues the one before: its base list contains the manifests of both lists of that one.

Ids do not show this: a fast-forward appends the snapshots of a branch to older ones of main, with the next ids and
another past. The files of an unbroken chain of snapshots cost the first snapshot and one delta for each of the others,
so it has to be known whether the chain is unbroken.

Lists are compared as encoded records, which takes microseconds. They are decoded only if they differ, as after a merge
of manifests. Lists never change, so results are cached.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from lakebed.format.manifest.avro import unpacked
from lakebed.format.manifest.manifest import ManifestMeta, fold
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.store import TableStore

_REMEMBERED: Final = 100_000
_NET: Final = ("kind", "file_name", "level", "bucket")


@dataclass(frozen=True, slots=True)
class Link:
    """Whether a snapshot continues the one before, and the manifests of its base list that the one before lacks.

    ``is_plain``: the base list has exactly the manifests of the two lists before it. A merge in which all entries
    cancel out is not plain, although it adds no manifest.
    """

    continues: bool
    appeared: tuple[ManifestMeta, ...] = ()
    is_plain: bool = False


_BROKEN: Final = Link(continues=False)
_known: Final[dict[tuple[str, str, str, str], Link]] = {}


def links(store: TableStore, snapshots: Sequence[Snapshot]) -> list[Link]:
    """Returns, for each snapshot but the first, how it continues the one before it."""
    lists = _Lists(store)
    _read_ahead(store, snapshots)
    return [_link(store, lists, before, after) for before, after in itertools.pairwise(snapshots)]


def _read_ahead(store: TableStore, snapshots: Sequence[Snapshot]) -> None:
    """Reads the lists that are compared at the same time, where every read is a round trip."""
    unknown = [pair for pair in itertools.pairwise(snapshots) if _key(store, *pair) not in _known]
    names = (name for before, after in unknown for name in _key(store, before, after)[1:])
    store.manifests.read_lists_ahead(names, encoded=True)


def _key(store: TableStore, before: Snapshot, after: Snapshot) -> tuple[str, str, str, str]:
    return store.paths.root, before.base_manifest_list, before.delta_manifest_list, after.base_manifest_list


def _link(store: TableStore, lists: _Lists, before: Snapshot, after: Snapshot) -> Link:
    if after.id != before.id + 1:
        return _BROKEN
    key = _key(store, before, after)
    link = _known.get(key)
    if link is None:
        link = _compare(store, lists, before, after)
        if len(_known) >= _REMEMBERED:
            _known.clear()
        _known[key] = link
    return link


def _compare(store: TableStore, lists: _Lists, before: Snapshot, after: Snapshot) -> Link:
    base_schema, base = lists.encoded(before.base_manifest_list)
    delta_schema, delta = lists.encoded(before.delta_manifest_list)
    next_schema, encoded = lists.encoded(after.base_manifest_list)
    if base_schema == delta_schema == next_schema and encoded == base + delta:
        return Link(continues=True, is_plain=True)
    old = {meta.file_name: meta for meta in store.manifests.base_and_delta(before)}
    new = {meta.file_name: meta for meta in store.manifests.read_list(after.base_manifest_list)}
    appeared = [meta for name, meta in new.items() if name not in old]
    vanished = [meta for name, meta in old.items() if name not in new]
    if not appeared and not vanished:
        return Link(continues=True, is_plain=True)
    same = _net(store, appeared).equals(_net(store, vanished))
    return Link(same, tuple(appeared) if same else ())


def _net(store: TableStore, metas: Sequence[ManifestMeta]) -> pa.Table:
    """Returns the folded entries of these manifests, in a fixed order."""
    entries = fold(store.manifests.read_entries(metas), partial=True, where=f"manifests of {store.name}")
    return entries.select(_NET).sort_by([(name, "ascending") for name in _NET]).combine_chunks()


@dataclass
class _Lists:
    """The lists that were read last: the newer base list of one comparison is the older one of the next."""

    store: TableStore
    _recent: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    def encoded(self, name: str) -> tuple[str, bytes]:
        if name not in self._recent:
            while len(self._recent) > 3:
                del self._recent[next(iter(self._recent))]
            self._recent[name] = unpacked(self.store.manifests.list_bytes(name), where=self.store.paths.manifest(name))
        return self._recent[name]
