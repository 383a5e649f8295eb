"""What a version of a table consists of, in pages: partitions, buckets with their levels, files; and the totals.

Entries of files stay Arrow columns until a page is cut from them; only the rows of a page become Python objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.partition_names import partition_names, partition_values
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import Snapshot
from lakebed.format.time_text import local_millis
from lakebed.metadata.data_file_paths import path_array
from lakebed.metadata.store import TableStore
from lakebed.service.models.common import Page
from lakebed.service.models.contents import BucketInfo, BucketPage, FileInfo, FilePage, LevelInfo, PartitionInfo
from lakebed.service.warehouses import Warehouse
from lakebed.system_tables.texts import row_texts

SORTS: Final[Mapping[str, tuple[str, str]]] = {
    "size": ("file_size", "ascending"),
    "-size": ("file_size", "descending"),
    "records": ("row_count", "ascending"),
    "-records": ("row_count", "descending"),
    "created": ("creation_time", "ascending"),
    "-created": ("creation_time", "descending"),
}
_SOURCES: Final[Mapping[int, Literal["APPEND", "COMPACT"]]] = {0: "APPEND", 1: "COMPACT"}
_SUMS: Final = [("row_count", "sum"), ("file_size", "sum"), ("file_name", "count"), ("creation_time", "max")]


@dataclass(frozen=True, slots=True)
class Slice:
    """The part of a list that a request asks for."""

    limit: int
    offset: int

    def of(self, table: pa.Table) -> pa.Table:
        return table.slice(self.offset, self.limit)

    def fields(self, total: int) -> dict[str, Any]:
        """Returns the fields of a page other than its items."""
        end = self.offset + self.limit
        return {
            "total": total,
            "offset": self.offset,
            "limit": self.limit,
            "next_offset": end if end < total else None,
        }

    def page(self, items: Sequence[Any]) -> dict[str, Any]:
        """Returns a page of a list that is in memory."""
        return {"items": list(items[self.offset : self.offset + self.limit]), **self.fields(len(items))}


@dataclass(frozen=True, slots=True)
class Contents:
    """The files of one version of a table.

    Main of a chain table has the files of its branches, too; ``others`` are these branches.
    """

    warehouse: Warehouse
    store: TableStore
    snapshot: Snapshot | None
    schema: TableSchema
    entries: pa.Table
    others: tuple[Contents, ...] = ()

    def joined(self, others: Sequence[Contents]) -> Contents:
        """Returns these contents together with those of other branches of the table."""
        entries = pa.concat_tables([self.entries, *(other.entries for other in others)])
        return replace(self, entries=entries, others=tuple(others))

    @property
    def byte_count(self) -> int:
        return total(self.entries, "file_size")

    @property
    def bucket_count(self) -> int:
        return len(self.entries.select(["partition", "bucket"]).group_by(["partition", "bucket"]).aggregate([]))

    # ---------------------------------------------------------------------------------------------- partitions

    def partition_sums(self) -> pa.Table:
        """Returns the rows, bytes, files and buckets of each partition."""
        groups = self.entries.group_by("partition", use_threads=False).aggregate([*_SUMS, ("bucket", "count_distinct")])
        return groups.append_column("branch", pa.repeat(self.store.paths.branch, len(groups)))

    def named(self, table: pa.Table) -> pa.Table:
        """Returns the table with a column of partition names; each distinct name is made once."""
        codes = _joined(table["partition"]).dictionary_encode()
        names = partition_names(self.schema, codes.dictionary)
        return table.append_column("name", names.take(codes.indices))

    def in_partition(self, name: str) -> pa.Table:
        """Returns the entries of a partition by its name; none for an unknown partition."""
        found = pc.unique(_joined(self.entries["partition"]))
        wanted = found.filter(pc.equal(partition_names(self.schema, found), name))
        return self.entries.filter(pc.is_in(self.entries["partition"], value_set=wanted))

    # ------------------------------------------------------------------------------------------------- buckets

    def buckets(self, cut: Slice, partition: str | None) -> BucketPage:
        """Returns buckets by partition and number, with the files, bytes and rows of each level."""
        entries = self.entries if partition is None else self.in_partition(partition)
        groups = self.named(entries.group_by(["partition", "bucket"], use_threads=False).aggregate(_SUMS))
        shown = cut.of(groups.sort_by([("name", "ascending"), ("bucket", "ascending")]))
        mine = entries.filter(pc.is_in(entries["partition"], value_set=pc.unique(_joined(shown["partition"]))))
        levels = mine.group_by(["partition", "bucket", "level"], use_threads=False).aggregate(_SUMS).sort_by("level")
        by_bucket: dict[tuple[bytes, int], list[LevelInfo]] = {}
        for row in levels.to_pylist():
            by_bucket.setdefault((row["partition"], row["bucket"]), []).append(
                LevelInfo(
                    level=row["level"],
                    file_count=row["file_name_count"],
                    byte_count=row["file_size_sum"],
                    record_count=row["row_count_sum"],
                )
            )
        items = [self._bucket(row, by_bucket[row["partition"], row["bucket"]]) for row in shown.to_pylist()]
        highest = pc.max(self.entries["level"]).as_py() or 0
        return BucketPage(items=items, max_level=highest, **cut.fields(len(groups)))

    def _bucket(self, row: Mapping[str, Any], levels: list[LevelInfo]) -> BucketInfo:
        runs = sum(one.file_count if one.level == 0 else 1 for one in levels)
        return BucketInfo(
            partition=row["name"],
            bucket=row["bucket"],
            record_count=row["row_count_sum"],
            file_count=row["file_name_count"],
            byte_count=row["file_size_sum"],
            sorted_runs=runs if self.schema.primary_keys else None,
            last_update_millis=local_millis(row["creation_time_max"]),
            levels=levels,
        )

    # --------------------------------------------------------------------------------------------------- files

    def files(
        self, cut: Slice, *, partition: str | None, bucket: int | None, level: int | None, sort: str | None
    ) -> FilePage:
        """Returns the files of a partition, a bucket or a level."""
        entries = self.entries if partition is None else self.in_partition(partition)
        for column, wanted in (("bucket", bucket), ("level", level)):
            if wanted is not None:
                entries = entries.filter(pc.equal(entries[column], wanted))
        if sort is not None and sort in SORTS:
            order = [SORTS[sort]]
        else:
            entries = self.named(entries)
            order = [("name", "ascending"), ("bucket", "ascending"), ("level", "ascending")]
        places = pc.sort_indices(entries, sort_keys=[*order, ("file_name", "ascending")])
        shown = entries.take(places.slice(cut.offset, cut.limit))
        return FilePage(
            items=self._files(shown),
            record_count=total(entries, "row_count"),
            byte_count=total(entries, "file_size"),
            **cut.fields(len(entries)),
        )

    def _files(self, shown: pa.Table) -> list[FileInfo]:
        keys = [self.schema.field(name) for name in self.schema.trimmed_primary_key]
        bounds = [row_texts(_joined(shown[name]), keys, "[]") if keys else [None] * len(shown) for name in _KEY_BOUNDS]
        names = partition_names(self.schema, _joined(shown["partition"])).to_pylist()
        paths = path_array(self.store, self.schema, shown).to_pylist()
        marked = self._marked_rows()
        return [
            FileInfo(
                partition=name,
                bucket=row["bucket"],
                level=row["level"],
                file_name=row["file_name"],
                path=self.warehouse.relative(path),
                record_count=row["row_count"],
                byte_count=row["file_size"],
                deleted_record_count=marked.get((row["partition"], row["file_name"])),
                schema_id=row["schema_id"],
                min_key=low,
                max_key=high,
                min_sequence_number=row["min_sequence_number"],
                max_sequence_number=row["max_sequence_number"],
                source=_SOURCES.get(row["file_source"]),
                created_millis=local_millis(row["creation_time"]),
            )
            for row, name, path, low, high in zip(
                shown.select(_FILE_COLUMNS).to_pylist(), names, paths, *bounds, strict=True
            )
        ]

    def _marked_rows(self) -> dict[tuple[bytes, str], int | None]:
        """Returns how many rows of each file deletion vectors mark as deleted."""
        return {
            (entry.partition, vector.file_name): vector.cardinality
            for one in (self, *self.others)
            if one.snapshot is not None
            for entry in one.store.manifests.read_index(one.snapshot.index_manifest)
            for vector in entry.vectors or ()
        }


_KEY_BOUNDS: Final = ("min_key", "max_key")
_FILE_COLUMNS: Final = [
    "partition",
    "bucket",
    "level",
    "file_name",
    "row_count",
    "file_size",
    "schema_id",
    "min_sequence_number",
    "max_sequence_number",
    "file_source",
    "creation_time",
]


def partition_count(found: Sequence[Contents]) -> int:
    """Returns the number of partitions that some branches of a table have together."""
    codes = pa.chunked_array([chunk for one in found for chunk in one.entries["partition"].chunks], pa.binary())
    return len(pc.unique(codes)) if found[0].schema.partition_keys else 0


def partitions_of(found: Sequence[Contents], cut: Slice, search: str | None) -> Page[PartitionInfo]:
    """Returns partitions by name, filtered by a text in the name.

    The first branch that has a partition supplies its numbers.
    """
    first = found[0]
    if not first.schema.partition_keys:
        return Page(**cut.page([]))
    groups = first.partition_sums()
    for other in found[1:]:
        more = other.partition_sums()
        seen = pc.is_in(more["partition"], value_set=_joined(groups["partition"]))
        groups = pa.concat_tables([groups, more.filter(pc.invert(seen))])
    groups = first.named(groups)
    if search:
        groups = groups.filter(pc.match_substring(groups["name"], search, ignore_case=True))
    shown = cut.of(groups.sort_by("name"))
    values = partition_values(first.schema, _joined(shown["partition"]))
    texts = [dict(zip(values, row, strict=True)) for row in zip(*(v.to_pylist() for v in values.values()), strict=True)]
    items = [
        PartitionInfo(
            partition=row["name"],
            branch=row["branch"],
            values=text,
            record_count=row["row_count_sum"],
            file_count=row["file_name_count"],
            byte_count=row["file_size_sum"],
            bucket_count=row["bucket_count_distinct"],
            last_update_millis=local_millis(row["creation_time_max"]),
        )
        for row, text in zip(shown.to_pylist(), texts, strict=True)
    ]
    return Page(items=items, **cut.fields(len(groups)))


def total(entries: pa.Table, column: str) -> int:
    """Returns the sum of a column; 0 for an empty one."""
    return int(pc.sum(entries[column]).as_py() or 0)


def _joined(column: pa.ChunkedArray) -> pa.Array:
    joined = column.combine_chunks()
    return pa.concat_arrays(joined.chunks) if isinstance(joined, pa.ChunkedArray) else joined
