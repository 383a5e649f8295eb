"""The files of a snapshot that a stream reads: its state, or its changes, as groups of files in a deterministic order.

A *group* is a set of files that must be read together: usually one file; in the state of a primary-key table, files
with overlapping keys. Groups are counted before a condition excludes files, so the count is deterministic: a number of
groups is the same position in a snapshot in every process and at any time.

The state that a stream starts with does not contain rows that its changes will bring. Where compactions make the
changelog, these are the files that no compaction has read yet. Where readers skip level 0 and there is no changelog,
files of level 0 follow as changes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import UnsupportedError
from lakebed.format import predicate as pred
from lakebed.format import row_kind
from lakebed.format.manifest.manifest import ADD, DELETE
from lakebed.format.row_kind import KIND_COLUMN, KIND_TEXT_COLUMN, KIND_TEXTS, is_retraction, kinds_to_texts
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.format.types.data_types import Field
from lakebed.metadata.plan.file_scan import live_entries, partition_mask, partition_part, stats_mask
from lakebed.metadata.plan.interval import Mode, changes_mode
from lakebed.metadata.plan.levels import by_bucket, level_files, sections
from lakebed.metadata.store import TableStore
from lakebed.operations.compact.compaction_rules import compaction_options, skips_level0
from lakebed.options import TableOptions
from lakebed.rows.files.file_reader import DeletedRows, FileReader
from lakebed.rows.keyed.keyed_read import KeyedReader

Rows: TypeAlias = npt.NDArray[np.int64]

ROW_KIND: Final = pa.field(KIND_TEXT_COLUMN, pa.string())
"""The first column of rows with kinds."""


class How(StrEnum):
    """How a stream interprets the rows of files."""

    STATE = "state"
    """Current rows; several versions of a row are merged."""
    CHANGES = "changes"
    """Changes in the order in which they were written, each with its kind."""
    GONE = "gone"
    """Rows that an overwrite deleted."""


@dataclass(frozen=True, slots=True)
class Part:
    """Files that are read the same way; ``groups`` are positions of entries.

    ``origin`` names the branch of the files, if a stream reads several branches.
    """

    how: How
    entries: pa.Table
    groups: tuple[Rows, ...]
    deleted: DeletedRows
    origin: str = ""

    def only(self, first: int, end: int) -> Part:
        """Returns the part with some of its groups."""
        chosen = self.groups[first:end]
        if not chosen:
            return replace(self, entries=self.entries.slice(0, 0), groups=())
        starts = np.cumsum([0, *map(len, chosen)])
        numbers = tuple(np.arange(low, high) for low, high in itertools.pairwise(starts))
        return replace(self, entries=self.entries.take(pa.array(np.concatenate(chosen))), groups=numbers)


@dataclass(frozen=True, slots=True)
class Contents:
    """All groups of a snapshot with their weights: files, bytes and rows; zero if a condition excludes the group."""

    parts: tuple[Part, ...]
    weights: npt.NDArray[np.int64]

    @property
    def count(self) -> int:
        return len(self.weights)

    def between(self, first: int, end: int) -> list[Part]:
        """Returns the groups between two positions, without empty ones."""
        found, passed = [], 0
        for part in self.parts:
            low, high = max(0, first - passed), min(len(part.groups), end - passed)
            if low < high:
                weighty = self.weights[passed + low : passed + high, 0] > 0
                chosen = [group for group, keep in zip(part.groups[low:high], weighty, strict=True) if keep]
                found.append(replace(part, groups=tuple(chosen)).only(0, len(chosen)))
            passed += len(part.groups)
        return [part for part in found if part.groups]


@dataclass(frozen=True)
class StreamFiles:
    """Lists the files of snapshots for one stream.

    ``pairs``: both rows of an update must be read together, so the files that a commit wrote to one bucket are one
    group.
    """

    store: TableStore
    schema: TableSchema
    predicate: pred.Node | None = None
    pairs: bool = False

    @cached_property
    def mode(self) -> Mode:
        """Whether changes are read from the files that commits added, or from changelogs."""
        return changes_mode(self.schema)

    @property
    def _options(self) -> TableOptions:
        return TableOptions(self.schema.options)

    @cached_property
    def reads_overwrites(self) -> bool:
        """Whether overwrites are changes too."""
        return self._options.streaming_read_overwrite

    def state(self, snapshot: Snapshot) -> Contents:
        """Returns the current rows of a snapshot, without rows that later changes will bring.

        The last result is cached, because a large state is read in many batches.
        """
        key = snapshot.id, snapshot.base_manifest_list
        if key not in self._listed:
            self._listed.clear()
            self._listed[key] = self._state(snapshot)
        return self._listed[key]

    @cached_property
    def _listed(self) -> dict[tuple[int, str], Contents]:
        return {}

    def _state(self, snapshot: Snapshot) -> Contents:
        entries = live_entries(self.store, snapshot)
        entries = entries.sort_by([(name, "ascending") for name in ("partition", "bucket", "file_name")])
        deleted = self._deleted(snapshot)
        if not self.schema.primary_keys:
            return self.weighed([_singly(How.STATE, entries, deleted)])
        levels = entries["level"].to_numpy()
        producer = self._options.changelog_producer
        if producer == "full-compaction":
            told = entries.filter(pa.array(levels == compaction_options(self._options).max_level))
            return self.weighed([self.merged(How.STATE, told, deleted)])
        above = entries.filter(pa.array(levels > 0))
        if producer == "lookup":
            return self.weighed([self.merged(How.STATE, above, deleted)])
        if not skips_level0(self.schema):
            return self.weighed([self.merged(How.STATE, entries, deleted)])
        fresh = entries.filter(pa.array(levels == 0)).sort_by([("max_sequence_number", "ascending")])
        return self.weighed([self.merged(How.STATE, above, deleted), _singly(How.CHANGES, fresh)])

    def changes(self, snapshot: Snapshot) -> Contents:
        """Returns the changes of a commit, in the order in which they were written."""
        if snapshot.commit_kind is CommitKind.OVERWRITE:
            return self.weighed(self._overwritten(snapshot))
        if self.mode is Mode.CHANGELOG:
            name = snapshot.changelog_manifest_list
            return self.weighed([] if name is None else [self._written(self._entries(name, ADD))])
        if snapshot.commit_kind is not CommitKind.APPEND:
            return self.weighed([])
        return self.weighed([self._written(self._entries(snapshot.delta_manifest_list, ADD))])

    def _written(self, entries: pa.Table) -> Part:
        """Returns the files that a commit wrote."""
        if not (self.pairs and self.schema.primary_keys):
            return _singly(How.CHANGES, entries)
        return Part(How.CHANGES, entries, tuple(by_bucket(entries)), DeletedRows())

    def _overwritten(self, snapshot: Snapshot) -> list[Part]:
        """Returns the files that an overwrite deleted and added, if the options of the table ask for them."""
        only_added = not self.schema.primary_keys and self._options.streaming_read_append_overwrite
        if not self.reads_overwrites:
            name = snapshot.delta_manifest_list
            return [self._written(self._entries(name, ADD))] if only_added else []
        if not self.schema.primary_keys and self._options.deletion_vectors_enabled:
            raise UnsupportedError(
                f"snapshot {snapshot.id} of table {self.store.name} may have marked single rows as deleted, which a "
                "stream with "
                "'streaming-read-overwrite' cannot read; remove that option"
            )
        before = self.store.snapshots.find(snapshot.id - 1)
        deleted = DeletedRows() if before is None else self._deleted(before)
        gone = self._entries(snapshot.delta_manifest_list, DELETE)
        gone = gone.sort_by([(name, "ascending") for name in ("partition", "bucket", "file_name")])
        if self.schema.primary_keys and not skips_level0(self.schema):
            taken = self.merged(How.GONE, gone, deleted)
        elif self.schema.primary_keys:
            taken = _singly(How.GONE, gone.filter(pc.greater(gone["level"], 0)), deleted)
        else:
            taken = _singly(How.GONE, gone, deleted)
        return [taken, self._written(self._entries(snapshot.delta_manifest_list, ADD))]

    def _entries(self, manifest_list: str, kind: int) -> pa.Table:
        entries = self.store.manifests.read_entries(self.store.manifests.read_list(manifest_list))
        return entries.filter(pc.equal(entries["kind"], kind))

    def _deleted(self, snapshot: Snapshot) -> DeletedRows:
        return DeletedRows.of(self.store, self.store.manifests.read_index(snapshot.index_manifest))

    def merged(self, how: How, entries: pa.Table, deleted: DeletedRows) -> Part:
        """Returns files of a primary-key table, grouped by overlapping keys unless each key is in one file only."""
        if skips_level0(self.schema):
            return _singly(how, entries, deleted)
        files = level_files(entries, [key.type for key in self.schema.select(self.schema.trimmed_primary_key)])
        groups = [
            np.array(sorted(file.row for file in section), np.int64)
            for rows in by_bucket(entries)
            for section in sections([files[row] for row in rows.tolist()])
        ]
        return Part(how, entries, tuple(groups), deleted)

    def weighed(self, parts: Sequence[Part]) -> Contents:
        """Returns parts with the weights of their groups."""
        weights = [np.zeros((0, 3), np.int64), *(self._weights(part) for part in parts)]
        return Contents(tuple(parts), np.concatenate(weights))

    def _weights(self, part: Part) -> npt.NDArray[np.int64]:
        """Returns files, bytes and rows of each group."""
        if not part.groups:
            return np.zeros((0, 3), np.int64)
        kept = self._may_match(part).astype(np.int64)
        columns = [kept, *(part.entries[name].to_numpy() * kept for name in ("file_size", "row_count"))]
        order = np.concatenate(part.groups)
        starts = np.cumsum([0, *(len(group) for group in part.groups[:-1])])
        return np.stack([np.add.reduceat(column[order], starts) for column in columns], axis=1)

    def _may_match(self, part: Part) -> npt.NDArray[np.bool_]:
        """Returns which files can contain matching rows; for files that are merged, only conditions on keys count."""
        mask = np.ones(len(part.entries), np.bool_)
        if self.predicate is None:
            return mask
        in_partition = partition_mask(part.entries, partition_part(self.predicate, self.schema), self.schema)
        if in_partition is not None:
            mask &= in_partition
        condition = self.predicate
        if self.schema.primary_keys and part.how is not How.CHANGES:
            condition = pred.implied(self.predicate, self.schema.primary_keys)
        return mask if condition == pred.TRUE else mask & stats_mask(self.store, part.entries, condition, self.schema)


def _singly(how: How, entries: pa.Table, deleted: DeletedRows | None = None) -> Part:
    return Part(how, entries, tuple(np.arange(len(entries))[:, None]), deleted or DeletedRows())


# ------------------------------------------------------------------------------------------------------------ reading


@dataclass(frozen=True)
class StreamReader:
    """Reads the rows of files for a stream, in the order of the files.

    With ``kinds`` the first column, ``rowkind``, is the kind of each row. Without it, deletes are skipped.
    """

    store: TableStore
    schema: TableSchema
    columns: tuple[Field, ...]
    predicate: pred.Node | None
    how: How
    kinds: bool

    @property
    def arrow_schema(self) -> pa.Schema:
        return pa.schema([ROW_KIND, *self.plain.arrow_schema]) if self.kinds else self.plain.arrow_schema

    @property
    def plain(self) -> FileReader:
        """Read files whose rows need no merging."""
        return FileReader(self.store, self.schema, self.columns, self.predicate)

    def batches(self, entries: pa.Table, deleted: DeletedRows) -> Iterator[pa.RecordBatch]:
        """Yields the rows of the files of one task."""
        if self.how is How.GONE and not self.kinds:
            return
        if self.how is How.CHANGES and self.schema.primary_keys:
            for number in range(len(entries)):
                yield from self._written(entries.slice(number, 1))
            return
        reader = FileReader if not self.schema.primary_keys else KeyedReader
        kind = KIND_TEXTS[row_kind.DELETE if self.how is How.GONE else row_kind.INSERT]
        for batch in reader(self.store, self.schema, self.columns, self.predicate, deleted).batches(entries):
            yield self.told(batch, pa.repeat(kind, len(batch))) if self.kinds else batch

    def _written(self, entry: pa.Table) -> Iterator[pa.RecordBatch]:
        """Yields the rows of one file of a primary-key table as they are stored."""
        reader = _OneFile(self.store, self.schema, self.columns, self.predicate)
        if not self.kinds and entry["delete_row_count"][0].as_py() == 0:
            yield from self.plain.batches(entry)
            return
        rows = reader.rows(entry)
        kinds = rows[KIND_COLUMN].to_numpy()
        if not self.kinds:
            rows = rows.filter(pa.array(~is_retraction(kinds)))
        names = [column.name for column in self.columns]
        for batch in rows.select([*names, KIND_COLUMN]).to_batches():
            plain = pa.RecordBatch.from_arrays(batch.columns[:-1], schema=self.plain.arrow_schema)
            texts = kinds_to_texts(batch.column(len(names)))
            yield self.told(plain, texts) if self.kinds else plain

    def told(self, batch: pa.RecordBatch, kinds: pa.Array) -> pa.RecordBatch:
        """Returns a batch with a first column of kinds."""
        return pa.RecordBatch.from_arrays([kinds, *batch.columns], schema=self.arrow_schema)


class _OneFile(KeyedReader):
    """Reads a file of a primary-key table with kinds."""

    def rows(self, entry: pa.Table) -> pa.Table:
        wanted = self._wanted()
        rows = self._merger(wanted).read(self._sources(entry)[0], wanted, self.predicate)
        return rows if self.predicate is None else rows.filter(pa.array(pred.matches_rows(self.predicate, rows)))
