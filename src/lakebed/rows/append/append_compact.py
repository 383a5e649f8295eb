"""Compaction of append tables: packs of small files in, files near the target size and the change to commit out.

Rows keep their order within a pack, or are sorted on request. Rows that deletion vectors mark are dropped together
with their vectors. Existing files are not modified: a compaction only deletes and adds entries.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from lakebed.format.manifest.index_manifest import IndexEntry
from lakebed.format.manifest.manifest import ADD, ENTRY_SCHEMA, SOURCE_COMPACT, as_deletes, entries_from_rows
from lakebed.format.partition_names import partition_table
from lakebed.metadata.commit.commit import Change
from lakebed.rows.append.append_delete import without_vectors
from lakebed.rows.files.data_file import FileLayout, FilePlace, RollingFiles
from lakebed.rows.files.file_reader import FileReader
from lakebed.rows.sort_order import SortOrder
from lakebed.rows.sorted_rows import sampled, sorted_portions

_PORTION_BYTES: Final = 128 * 1024 * 1024


@dataclass
class AppendCompactor:
    """Rewrites packs of files of one snapshot of an append table.

    Use it once: ``rewrite`` each pack, then commit the ``change``, or ``abort``. With ``order``, the rows of a pack
    are sorted: at most ``budget`` bytes at a time in memory, the others in files in ``folder``.
    """

    layout: FileLayout
    reader: FileReader
    index: Sequence[IndexEntry] = ()
    threads: int = 2
    order: SortOrder | None = None
    folder: str | None = None
    _paths: list[str] = field(default_factory=list)

    @property
    def budget(self) -> int:
        """How many bytes of rows are sorted in memory."""
        return self.layout.options.write_buffer_size

    def rewrite(self, pack: pa.Table) -> pa.Table:
        """Write the rows of one pack as new files; return their ADD entries."""
        batches = self.reader.batches(pack)
        if self.order is None:
            return self.write(pack, _portions(batches))
        sorter, _ = sampled(self.reader, pack, self.order)
        return self.write(pack, sorted_portions(batches, sorter, self.budget, self.folder))

    def write(self, pack: pa.Table, portions: Iterable[pa.Table]) -> pa.Table:
        """Write rows of one pack as new files; return their ADD entries."""
        fields = self.layout.schema.partition_fields
        values = partition_table(pack["partition"].combine_chunks()[:1], fields).to_pylist() if fields else [{}]
        partition = tuple(values[0].values())
        bucket, total = pack["bucket"][0].as_py(), pack["total_buckets"][0].as_py()
        place = FilePlace(partition, bucket, source=SOURCE_COMPACT, prefix=self.layout.options.data_file_prefix)
        files = RollingFiles(self.layout, place, self._paths)
        try:
            for portion in portions:
                files.write(portion)
            rows = files.close()
        except BaseException:
            files.discard()
            raise
        first = min(pack["min_sequence_number"].to_pylist())
        for row in rows:
            row["min_sequence_number"] = first
            first += row["row_count"]
            row["max_sequence_number"] = first - 1
            row["total_buckets"] = total
        return entries_from_rows(rows) if rows else ENTRY_SCHEMA.empty_table()

    def change(self, packs: Sequence[pa.Table], parts: Sequence[pa.Table]) -> Change:
        """Return the change that replaces each pack of live entries by its new files."""
        if not packs:
            return Change()
        gone = pa.concat_tables(packs)
        index = without_vectors(self.reader.store, self.index, gone, f"index-{uuid.uuid4()}")
        self._paths += [self.reader.store.paths.index(entry.file_name) for entry in index if entry.kind == ADD]
        return Change(entries=pa.concat_tables([as_deletes(gone), *parts]), index=index)

    def abort(self) -> None:
        """Delete all files that were written."""
        for path in self._paths:
            with contextlib.suppress(Exception):
                self.layout.store.storage.delete(path)


def _portions(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Combine the batches of many small files, because each write becomes one row group."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= _PORTION_BYTES:
            yield pa.Table.from_batches(held)
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held)
