"""Read a snapshot: which of its files hold the requested rows, and the kernel that reads them.

A read of a table is a list of parts, one for each branch; mostly there is one. With ``scan.fallback-branch`` a second
branch supplies the partitions that the first does not have; ``scan.primary-branch`` is the same with the branches
exchanged. Each part uses the schemas, buckets and merge engine of its own branch; the columns are those of the request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.buckets.bucket_pruning import buckets_of, places_of
from lakebed.errors import NotFoundError, SchemaError
from lakebed.format import predicate as pred
from lakebed.format.manifest.manifest import NO_ENTRIES
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import Snapshot
from lakebed.format.types.data_types import Field, nullable
from lakebed.metadata.history.by_time import snapshot_at
from lakebed.metadata.plan.file_scan import PruneStep, ReadManifests, ScanRequest, ScanResult, partition_part, scan
from lakebed.metadata.store import TableStore
from lakebed.operations.compact.compaction_rules import skips_level0
from lakebed.options import TableOptions
from lakebed.rows.files.file_reader import DeletedRows, FileReader
from lakebed.rows.keyed.keyed_read import KeyedReader

_ABOVE_LEVEL_0: Final = (1, 2**31 - 1)


class PlanOnce:
    """The plan of a read, made when it is first needed."""

    def __init__(self) -> None:
        self._made: ScanResult | None = None

    @property
    def is_made(self) -> bool:
        """Whether the read has been planned."""
        return self._made is not None

    def get(self, plan: Callable[[], ScanResult]) -> ScanResult:
        """Return the plan; ``plan`` makes it the first time."""
        if self._made is None:
            self._made = plan()
        return self._made


@dataclass(frozen=True)
class BranchRead:
    """The part of a read that one branch supplies.

    ``hidden`` are encoded partitions that another part supplies. ``only`` are the partitions that this part supplies;
    all others without it. ``read_manifests`` reads manifests elsewhere than in this process.
    """

    store: TableStore
    schema: TableSchema
    snapshot: Snapshot | None
    columns: tuple[Field, ...]
    predicate: pred.Node | None
    hidden: pa.Array | None = None
    only: pa.Array | None = None
    read_manifests: ReadManifests | None = None
    planned: PlanOnce = field(default_factory=PlanOnce, init=False, repr=False, compare=False)

    @property
    def result(self) -> ScanResult:
        """The files to read, and how planning came to them."""
        return self.planned.get(self._plan)

    def _plan(self) -> ScanResult:
        if self.snapshot is None:
            return ScanResult(NO_ENTRIES)
        options = TableOptions(self.schema.options)
        request = ScanRequest(
            snapshot=self.snapshot,
            schema=self.schema,
            predicate=self._file_predicate,
            buckets_of=buckets_of(self.predicate, self.schema, options.bucket_function),
            places=places_of(self.store, self.snapshot, self.predicate, self.schema),
            levels=_ABOVE_LEVEL_0 if skips_level0(self.schema) else None,
        )
        found = scan(self.store, request, self.read_manifests)
        if self.hidden is None and self.only is None:
            return found
        kept = found.entries
        if self.hidden is not None:
            kept = kept.filter(pc.invert(pc.is_in(kept["partition"], value_set=self.hidden)))
        if self.only is not None:
            kept = kept.filter(pc.is_in(kept["partition"], value_set=self.only))
        step = PruneStep(f"files of branch {self.store.paths.branch} by partition", len(found.entries), len(kept))
        return ScanResult(kept, (*found.steps, step))

    @property
    def _file_predicate(self) -> pred.Node | None:
        """The condition that may exclude files.

        Primary-key tables: only on keys, because a newer version may be in another file.
        """
        if self.predicate is None or not self.schema.primary_keys:
            return self.predicate
        implied = pred.implied(self.predicate, self.schema.primary_keys)
        return None if implied == pred.TRUE else implied

    @cached_property
    def deleted(self) -> DeletedRows:
        """The rows that deletion vectors mark."""
        index = [] if self.snapshot is None else self.store.manifests.read_index(self.snapshot.index_manifest)
        return DeletedRows.of(self.store, index)

    @cached_property
    def reader(self) -> FileReader | KeyedReader:
        kind = KeyedReader if self.schema.primary_keys else FileReader
        return kind(self.store, self.schema, self.columns, self.predicate, self.deleted)

    def partitions(self) -> pa.Array:
        """Returns the encoded partitions of this branch that satisfy the predicate."""
        if self.snapshot is None:
            return pa.array([], pa.binary())
        predicate = partition_part(self.predicate, self.schema)
        everything = ScanRequest(snapshot=self.snapshot, schema=self.schema, predicate=predicate)
        return pc.unique(scan(self.store, everything).entries["partition"].combine_chunks())

    def to_arrow(self) -> pa.Table:
        return self.reader.read(self.result.entries)

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield from self.reader.batches(self.result.entries)


def parts_of(read: BranchRead, *, time_travel: bool) -> tuple[BranchRead, ...]:
    """Returns the parts of a read; the first part that has a partition supplies it."""
    options = TableOptions(read.store.schema().options)
    joined = options.joined_branch(read.store.paths.branch)
    if joined is None:
        return (read,)
    option, branch = joined
    other = _on_branch(read, branch, option, time_travel=time_travel)
    first, second = (read, other) if option == TableOptions.scan_fallback_branch.name else (other, read)
    return first, replace(second, hidden=first.partitions())


def _on_branch(read: BranchRead, branch: str, option: str, *, time_travel: bool) -> BranchRead:
    """Returns the same read on another branch; with time travel, at the same time."""
    try:
        store = read.store.on_branch(branch)
    except NotFoundError as error:
        raise NotFoundError(f"{error}; option {option!r} names it. Create the branch or unset the option") from None
    schema = store.schema()
    _check_same_columns(read.schema, schema, read.store.name, branch, option)
    if time_travel:
        snapshot = None if read.snapshot is None else snapshot_at(store, read.snapshot.time_millis)
    else:
        snapshot = store.snapshots.latest()
    return replace(read, store=store, schema=schema, snapshot=snapshot)


def _check_same_columns(ours: TableSchema, theirs: TableSchema, name: str, branch: str, option: str) -> None:
    """Raise if columns differ. Nullability may differ, because only one branch may have a primary key."""
    mine = [(column.name, nullable(column.type)) for column in ours.fields]
    other = [(column.name, nullable(column.type)) for column in theirs.fields]
    if mine != other or ours.partition_keys != theirs.partition_keys:
        raise SchemaError(
            f"table {name} cannot be read together with its branch {branch!r} (option {option!r}): columns or "
            "partition "
            "columns differ. Alter one of the two, or unset the option"
        )
