"""The numbers of a snapshot: its facts, and the files, bytes and records that it added and deleted."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.commit_facts import BYTES_ADDED, BYTES_DELETED, FILES_ADDED, FILES_DELETED, read_count
from lakebed.format.manifest.manifest import ADD
from lakebed.format.partition_names import partition_names
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.store import TableStore
from lakebed.service.models.common import Page
from lakebed.service.models.history import ChangedFile, ChangedGroup, SnapshotChanges, SnapshotInfo
from lakebed.service.numbers.table_contents import Slice, total

MOST_GROUPS: Final = 1000
_TABLES: Final = 256


class TagNames:
    """The tags of each snapshot; the tags of a branch are read again when their folder changes."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[str | None, Mapping[int, Sequence[str]]]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, store: TableStore) -> Mapping[int, Sequence[str]]:
        """Returns the names of tags by snapshot id."""
        folder = store.paths.tags
        stamp = store.storage.stamp(folder)
        with self._lock:
            known = self._known.get(folder)
        if known is not None and stamp is not None and known[0] == stamp:  # folders of object stores have no token
            return known[1]
        names: dict[int, list[str]] = {}
        for name, snapshot in store.snapshots.tags().items():
            names.setdefault(snapshot.id, []).append(name)
        with self._lock:
            self._known[folder] = (stamp, names)
            self._known.move_to_end(folder)
            while len(self._known) > _TABLES:
                self._known.popitem(last=False)
        return names


def snapshot_info(snapshot: Snapshot, tags: Mapping[int, Sequence[str]]) -> SnapshotInfo:
    """Returns the facts of a snapshot."""
    return SnapshotInfo(
        id=snapshot.id,
        schema_id=snapshot.schema_id,
        commit_kind=snapshot.commit_kind.value,
        commit_user=snapshot.commit_user,
        commit_identifier=str(snapshot.commit_identifier),
        time_millis=snapshot.time_millis,
        total_record_count=snapshot.total_record_count,
        delta_record_count=snapshot.delta_record_count,
        changelog_record_count=snapshot.changelog_record_count,
        watermark=None if snapshot.watermark is None else str(snapshot.watermark),
        operation=snapshot.operation,
        writer_version=snapshot.writer_version,
        files_added=read_count(snapshot.properties, FILES_ADDED),
        files_deleted=read_count(snapshot.properties, FILES_DELETED),
        bytes_added=read_count(snapshot.properties, BYTES_ADDED),
        bytes_deleted=read_count(snapshot.properties, BYTES_DELETED),
        has_statistics=snapshot.statistics is not None,
        has_index=snapshot.index_manifest is not None,
        base_manifest_list=snapshot.base_manifest_list,
        delta_manifest_list=snapshot.delta_manifest_list,
        properties=dict(snapshot.properties),
        tags=list(tags.get(snapshot.id, ())),
    )


def changes_of(store: TableStore, snapshot: Snapshot, cut: Slice) -> SnapshotChanges:
    """Returns what a snapshot added and deleted: totals, sums by bucket, and a page of files."""
    entries = store.manifests.read_entries(store.manifests.read_list(snapshot.delta_manifest_list))
    is_add = pc.equal(entries["kind"], ADD)
    added, deleted = entries.filter(is_add), entries.filter(pc.invert(is_add))
    groups = _groups(entries, is_add)
    shown = groups.slice(0, MOST_GROUPS)
    schema = store.schema_of(snapshot)
    names = partition_names(schema, shown["partition"].combine_chunks())
    changelog = snapshot.changelog_manifest_list
    metas = [] if changelog is None else store.manifests.read_list(changelog)
    return SnapshotChanges(
        files_added=len(added),
        files_deleted=len(deleted),
        bytes_added=total(added, "file_size"),
        bytes_deleted=total(deleted, "file_size"),
        records_added=total(added, "row_count"),
        records_deleted=total(deleted, "row_count"),
        changelog_files=sum(meta.num_added_files for meta in metas),
        groups=[_group(row, name) for row, name in zip(shown.to_pylist(), names.to_pylist(), strict=True)],
        group_count=len(groups),
        files=_files(store, snapshot, entries, cut),
    )


def _groups(entries: pa.Table, is_add: pa.ChunkedArray) -> pa.Table:
    """Returns sums by bucket, separately for added and deleted files."""
    split: dict[str, Any] = {"partition": entries["partition"], "bucket": entries["bucket"]}
    for name, mask in (("added", is_add), ("deleted", pc.invert(is_add))):
        split[f"files_{name}"] = mask.cast(pa.int64())
        split[f"bytes_{name}"] = pc.if_else(mask, entries["file_size"], 0)
        split[f"records_{name}"] = pc.if_else(mask, entries["row_count"], 0)
    sums = [(name, "sum") for name in split if name not in {"partition", "bucket"}]
    grouped = pa.table(split).group_by(["partition", "bucket"], use_threads=False).aggregate(sums)
    return grouped.sort_by([("partition", "ascending"), ("bucket", "ascending")])


def _group(row: Mapping[str, Any], name: str) -> ChangedGroup:
    sums = {key.removesuffix("_sum"): value for key, value in row.items() if key.endswith("_sum")}
    return ChangedGroup(partition=name, bucket=row["bucket"], **sums)


def _files(store: TableStore, snapshot: Snapshot, entries: pa.Table, cut: Slice) -> Page[ChangedFile]:
    shown = cut.of(entries)
    names = partition_names(store.schema_of(snapshot), shown["partition"].combine_chunks()).to_pylist()
    columns = ["kind", "bucket", "level", "file_name", "row_count", "file_size"]
    items = [
        ChangedFile(
            change="ADD" if row["kind"] == ADD else "DELETE",
            partition=name,
            bucket=row["bucket"],
            level=row["level"],
            file_name=row["file_name"],
            record_count=row["row_count"],
            byte_count=row["file_size"],
        )
        for row, name in zip(shown.select(columns).to_pylist(), names, strict=True)
    ]
    return Page(items=items, **cut.fields(len(entries)))
