"""Streams of main of a chain table: first the current content, then every change that the delta branch gets.

The current content of a group is its latest full partition and the later partitions of changes, each under its own
partition values. A group without full partitions is all its changes. With ``chain-table.streaming.merge-snapshot`` they
are merged into the last one of them instead. Both branches are pinned at one moment. The changes begin right after the
pinned snapshot of the delta branch. Partitions of main itself, and full partitions that are written later, are not part
of the changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.chain.layout import ChainTable, Link
from lakebed.chain.reading.branch_schemas import check_same_rows
from lakebed.chain.reading.branch_versions import BranchVersions, latest_versions
from lakebed.chain.reading.chain_reader import ASKED, ChainReader
from lakebed.chain.reading.plan_views import Group, Kind, View
from lakebed.chain.reading.read_chain import Branch, read_views
from lakebed.chain.staleness import stale_partitions
from lakebed.errors import NotFoundError, UnsupportedError
from lakebed.format import predicate as pred
from lakebed.format.row_kind import INSERT, KIND_TEXTS
from lakebed.format.snapshot import FIRST_SNAPSHOT_ID, Snapshot
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.rows.files.file_reader import DeletedRows
from lakebed.rows.merge_engines.merge_rows import MergeSpec
from lakebed.streams.positions import Position
from lakebed.streams.stream_files import Contents, How, Part, StreamFiles, StreamReader
from lakebed.streams.table_stream import TableStream, check_streamable

_FULL: Final = "full"
_MERGED: Final = "merged"
_NOT_HERE: Final = (
    TableOptions.scan_snapshot_id,
    TableOptions.scan_timestamp_millis,
    TableOptions.scan_timestamp,
    TableOptions.consumer_id,
)


def chain_stream(chain: ChainTable, wanted: TableStream) -> ChainStream:
    """The stream of a chain table that reads the columns and rows of a stream of its main branch."""
    schema = chain.delta.schema()
    return ChainStream(
        chain.delta,
        schema,
        schema.select([column.name for column in wanted.columns]),
        wanted.predicate,
        wanted.kinds,
        wanted.all_columns,
        wanted.new_columns_pass,
        wanted.updates,
        chain=chain,
    )


@dataclass(frozen=True)
class ChainStream(TableStream):
    """A stream of a chain table; ``store`` and ``schema`` are those of its delta branch."""

    chain: ChainTable = field(kw_only=True)

    def start(self) -> Position:
        """The position at which a new stream begins: the current content."""
        self._check()
        versions = latest_versions(self.chain)
        full, delta = (0 if one is None else one.id for one in (versions.full, versions.delta))
        seen = "" if versions.delta is None else versions.delta.delta_manifest_list
        return Position(delta, in_state=True, full=full, seen=seen) if full or delta else Position(FIRST_SNAPSHOT_ID)

    def _check(self) -> None:
        check_same_rows(self.chain)
        check_streamable(self.store, self.schema)
        where = f"chain table {self.chain.main.name}"
        options = TableOptions(self.chain.main.schema().options)
        given = [option.name for option in _NOT_HERE if option.read(options)]
        if options.scan_mode not in {"default", "latest-full", "full"}:
            given.append(TableOptions.scan_mode.name)
        if given:
            raise UnsupportedError(
                f"a stream of {where} always begins with the current content, so leave out option {given[0]!r}; stream "
                f"{self.chain.main.name}$branch_{self.store.paths.branch} to begin at another position"
            )
        if MergeSpec.of(self.schema).engine != "deduplicate":
            raise UnsupportedError(f"{where}: only merge engine deduplicate of the delta branch can be streamed")
        asked = frozenset() if self.predicate is None else pred.columns(self.predicate)
        if asked & set(self.schema.partition_keys):
            raise UnsupportedError(
                f"a stream of {where} takes no condition on partition columns; filter the frame instead"
            )

    def state(self, at: Position) -> Contents:
        """The content at the pinned snapshots."""
        versions = BranchVersions(self._pinned(self.chain.full, at.full), self._pinned(self.chain.delta, at.snapshot))
        keys = self.chain.keys
        full = Branch.of(keys, self.chain.full, versions.full)
        delta = Branch.of(keys, self.chain.delta, versions.delta)
        stale = stale_partitions(self.chain, versions.full, versions.delta)
        anchors, later = _latest(full.links, delta.links, stale)
        if TableOptions(self.chain.main.schema().options).chain_streaming_merge_snapshot:
            return self._merged(versions, anchors, later)
        links = [link for group in later.values() for link in group]
        parts = [
            self._whole(full, anchors.values(), _FULL),
            self._whole(delta, links, ""),
        ]
        return Contents(tuple(part for part, _ in parts), np.concatenate([weights for _, weights in parts]))

    def _pinned(self, store: TableStore, number: int) -> Snapshot | None:
        if not number:
            return None
        found = store.snapshots.find(number)
        if found is None:
            raise NotFoundError(
                f"snapshot {number} of branch {store.paths.branch!r} of {store.name} expired before the stream had "
                "read all of it; start with a new checkpoint folder"
            )
        return found

    def _whole(self, branch: Branch, links: Iterable[Link], origin: str) -> tuple[Part, np.ndarray]:
        """Partitions of one branch, read without merging them with others."""
        wanted = pa.array([link.encoded for link in links], pa.binary())
        files = branch.files.filter(pc.is_in(branch.files["partition"], value_set=wanted))
        files = files.sort_by([(name, "ascending") for name in ("partition", "bucket", "file_name")])
        index = [] if branch.snapshot is None else branch.store.manifests.read_index(branch.snapshot.index_manifest)
        listing = StreamFiles(branch.store, branch.store.schema())
        found = listing.merged(How.STATE, files, DeletedRows.of(branch.store, index))
        part = Part(found.how, found.entries, found.groups, found.deleted, origin)
        return part, listing.weighed([part]).weights

    def _merged(self, versions: BranchVersions, anchors: dict[Group, Link], later: dict[Group, list[Link]]) -> Contents:
        """The partitions of each group merged into the last one of them."""
        views = [
            View(
                (later.get(group) or [anchors[group]])[-1], Kind.CHAIN, anchors.get(group), tuple(later.get(group, ()))
            )
            for group in sorted({*anchors, *later}, key=repr)
        ]
        read = read_views(self.chain, versions, views)
        entries = read.result.entries.sort_by([(name, "ascending") for name in (ASKED, "bucket")])
        starts = entries.select([ASKED, "bucket"]).append_column("row", pa.array(np.arange(len(entries))))
        rows = starts.group_by([ASKED, "bucket"], use_threads=False).aggregate([("row", "list")])["row_list"]
        groups = tuple(np.asarray(one.values) for one in rows)
        part = Part(How.STATE, entries, groups, read.deleted, _MERGED)
        return StreamFiles(read.store, read.schema).weighed([part])

    def reader(self, part: Part) -> StreamReader:
        """The reader of the files of a part, with the schemas of their branch."""
        names = [column.name for column in self.columns]
        if part.origin == _FULL:
            schema = self.chain.full.schema()
            return StreamReader(self.chain.full, schema, schema.select(names), self.predicate, part.how, self.kinds)
        if part.origin == _MERGED:
            read = read_views(self.chain, BranchVersions(None, None), ())
            columns = read.schema.select(names)
            return _MergedReader(read.store, read.schema, columns, self.predicate, part.how, self.kinds)
        return super().reader(part)


class _MergedReader(StreamReader):
    """Reads partitions that are merged of both branches."""

    def batches(self, entries: pa.Table, deleted: DeletedRows) -> Iterator[pa.RecordBatch]:
        """The merged rows."""
        reader = ChainReader(self.store, self.schema, self.columns, self.predicate, deleted)
        for batch in reader.batches(entries):
            yield self.told(batch, pa.repeat(KIND_TEXTS[INSERT], len(batch))) if self.kinds else batch


def _latest(
    full: Iterable[Link], delta: Iterable[Link], stale: Iterable[bytes]
) -> tuple[dict[Group, Link], dict[Group, list[Link]]]:
    """The latest full partition of each group, and the later partitions of changes, sorted by time."""
    skipped = frozenset(stale)
    anchors: dict[Group, Link] = {}
    for link in sorted(full, key=lambda one: one.time):
        if link.encoded not in skipped:
            anchors[link.group] = link
    later: dict[Group, list[Link]] = {}
    for link in sorted(delta, key=lambda one: (one.time, one.encoded)):
        if link.group not in anchors or link.time > anchors[link.group].time:
            later.setdefault(link.group, []).append(link)
    return anchors, later
