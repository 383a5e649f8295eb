"""Removes rows of a primary-key table from the files that hold them: these files are rewritten.

A row can leave a file only if no other file has a row with its key, because the merge would show what is left of it.
The new files have the level of the old ones, and their rows keep their sequence numbers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import UnsupportedError
from lakebed.format import predicate as pred
from lakebed.format.binary_row import EMPTY_ROW, encode_rows
from lakebed.format.manifest.manifest import ENTRY_SCHEMA, SOURCE_APPEND, SOURCE_COMPACT, as_deletes, entries_from_rows
from lakebed.format.partition_names import partition_table
from lakebed.format.types.data_types import Field
from lakebed.metadata.plan.file_scan import stats_mask
from lakebed.rows.files.data_file import FileLayout, FilePlace, RollingFiles
from lakebed.rows.keyed.keyed_read import KeyedReader

_FEW_KEYS = 1000


def identity_fields(layout: FileLayout) -> tuple[Field, ...]:
    """Returns the columns that say where a row is: those of the partition and of the primary key."""
    schema = layout.schema
    return (*schema.partition_fields, *schema.select(schema.trimmed_primary_key))


@dataclass
class KeyedDelete:
    """Deletes rows of one snapshot, given their partitions and keys (:func:`identity_fields`)."""

    layout: FileLayout
    reader: KeyedReader
    threads: int = 2
    _paths: list[str] = field(default_factory=list)

    def partitions(self, keys: pa.Table) -> pa.Array:
        """Returns the encoded partition of each row."""
        fields = self.layout.schema.partition_fields
        if not fields:
            return pa.repeat(pa.scalar(EMPTY_ROW, pa.binary()), len(keys))
        return encode_rows([keys[f.name] for f in fields], [f.type for f in fields])

    def run(self, entries: pa.Table, keys: pa.Table) -> tuple[pa.Table, pa.Table]:
        """Rewrites the files that hold these rows.

        Args:
            entries: The live files of their partitions.
            keys: The rows.

        Returns:
            The entries of the files that held rows, and the changes of entries to commit.

        Raises:
            UnsupportedError: Several files have rows with one of the keys.
        """
        maybe = entries.filter(pa.array(stats_mask(self.layout.store, entries, self._among(keys), self.layout.schema)))
        wanted = self._by_partition(keys)
        with ThreadPoolExecutor(self.threads) as pool:
            found = list(pool.map(lambda i: self._found(maybe.slice(i, 1), wanted), range(len(maybe))))
            self._check_alone(maybe, found)
            touched = [i for i, hits in enumerate(found) if len(hits)]
            held = maybe.take(pa.array(touched, pa.int64()))
            made = list(pool.map(lambda i: self._rewritten(maybe.slice(i, 1), wanted), touched))
        return held, pa.concat_tables([as_deletes(held), *made])

    def abort(self) -> None:
        """Deletes all files that were written."""
        for path in self._paths:
            with contextlib.suppress(Exception):
                self.layout.store.storage.delete(path)

    # -------------------------------------------------------------------------------------------------- which files

    def _among(self, keys: pa.Table) -> pred.Node:
        """Returns a condition on the first key column that these rows satisfy."""
        first = self.reader.keys[0]
        values = keys[first.name].combine_chunks().unique()
        if len(values) <= _FEW_KEYS:
            return pred.In(first.name, values, negated=False)
        if pa.types.is_floating(values.type):
            return pred.TRUE
        bounds = pc.min_max(values)
        return pred.And((pred.Compare(first.name, ">=", bounds["min"]), pred.Compare(first.name, "<=", bounds["max"])))

    def _by_partition(self, keys: pa.Table) -> Mapping[bytes, pa.Array]:
        """Returns the encoded keys of each partition."""
        rows = pa.table({"partition": self.partitions(keys), "key": self._encoded(keys)})
        groups = rows.group_by("partition").aggregate([("key", "list")])
        lists = groups["key_list"].combine_chunks()
        return {name: lists[i].values for i, name in enumerate(groups["partition"].to_pylist())}

    def _encoded(self, rows: pa.Table) -> pa.Array:
        keys = self.reader.keys
        return encode_rows([rows[key.name] for key in keys], [key.type for key in keys])

    def _found(self, entry: pa.Table, wanted: Mapping[bytes, pa.Array]) -> pa.Array:
        """Returns which of the keys a file has."""
        given = wanted.get(entry["partition"][0].as_py())
        if given is None:
            return pa.array([], pa.binary())
        encoded = self._encoded(self.reader.file_rows(entry, self.reader.keys))
        return encoded.filter(pc.is_in(encoded, value_set=given))

    def _check_alone(self, entries: pa.Table, found: Sequence[pa.Array]) -> None:
        numbered = [
            pa.table({"partition": pa.repeat(entries["partition"][i], len(hits)), "key": hits})
            for i, hits in enumerate(found)
            if len(hits)
        ]
        if not numbered:
            return
        rows = pa.concat_tables(numbered)
        if len(rows.group_by(["partition", "key"]).aggregate([])) < len(rows):
            raise not_compacted(self.layout)

    # ------------------------------------------------------------------------------------------------------ rewriting

    def _rewritten(self, entry: pa.Table, wanted: Mapping[bytes, pa.Array]) -> pa.Table:
        """Writes a file again without some of its rows; returns the entries of what it became."""
        fields = self.layout.schema.partition_fields
        encoded = entry["partition"].combine_chunks()
        values = [column[0].as_py() for column in partition_table(encoded, fields).columns] if fields else []
        level = entry["level"][0].as_py()
        source = SOURCE_COMPACT if level else SOURCE_APPEND
        place = FilePlace(
            tuple(values), entry["bucket"][0].as_py(), level, source, self.layout.options.data_file_prefix
        )
        rows = self.reader.file_rows(entry, self.layout.schema.fields, system=True)
        gone = pc.is_in(self._encoded(rows), value_set=wanted[encoded[0].as_py()])
        files = RollingFiles(self.layout, place, self._paths)
        try:
            kept = rows.filter(pc.invert(gone))
            if len(kept):
                files.write(kept)
            made = entries_from_rows(files.close())
        except BaseException:
            files.discard()
            raise
        at = ENTRY_SCHEMA.get_field_index("total_buckets")
        total = pa.repeat(entry["total_buckets"][0], len(made))
        return made.set_column(at, ENTRY_SCHEMA.field(at), total)


def not_compacted(layout: FileLayout) -> UnsupportedError:
    """Returns the error for rows that cannot be deleted before a compaction."""
    return UnsupportedError(
        f"cannot delete these rows of table {layout.store.name} yet: 'merge-engine' = {layout.options.merge_engine} has "
        "no deletes, so DELETE rewrites the files with the rows, and some of their keys have rows that are not "
        "compacted; please use table.compact(full=True) or the 'COMPACT' procedure first. Nothing was written"
    )
