"""The changelog of a merge: +I for a new key, -U and +U for a changed one, -D for a deleted one.

The -U row has the values and the sequence number from before the merge, the +U row those from after it. Keys without
new rows are skipped. Updates that change no value are skipped on request.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lakebed.format.row_kind import DELETE, INSERT, KIND_COLUMN, UPDATE_AFTER, UPDATE_BEFORE, is_retraction
from lakebed.format.schema.table_schema import TableSchema
from lakebed.options import TableOptions
from lakebed.rows.difference import equal_rows
from lakebed.rows.keyed.keyed_merge import Before, Piece
from lakebed.rows.keyed.sequence_order import Ints
from lakebed.rows.merge_engines.merge_rows import NOWHERE


@dataclass(frozen=True, slots=True)
class ChangelogRules:
    """How compactions of a table produce a changelog, if they do.

    An update must differ in a column of ``compared``; ``None`` means that it need not differ. With ``only_inserts``,
    the first row of a key never changes.
    """

    producer: str
    compared: tuple[str, ...] | None = None
    only_inserts: bool = False

    @staticmethod
    def of(schema: TableSchema) -> ChangelogRules:
        options = TableOptions(schema.options)
        ignored = options.changelog_ignored_fields
        names = tuple(name for name in schema.field_names if name not in ignored)
        return ChangelogRules(
            options.changelog_producer,
            names if options.changelog_row_deduplicate else None,
            options.merge_engine == "first-row",
        )

    def before(self, output_level: int, max_level: int) -> Before | None:
        """Return the state before a compaction to some level; ``None`` if it produces no changelog."""
        if self.producer == "lookup":
            return Before(1)
        return Before(max_level) if self.producer == "full-compaction" and output_level >= max_level else None


def changes(piece: Piece, rules: ChangelogRules) -> pa.Table:
    """Return the changelog of merged rows, in key order, with sequence numbers and kinds."""
    touched = piece.touched
    if touched is None:
        return piece.rows.slice(0, 0)
    before = _row_of_key(touched.before, touched.rows)
    after = _row_of_key(touched.after, piece.rows)
    count = max(len(before), len(after))
    before, after = _padded(before, count), _padded(after, count)
    had, has = before != NOWHERE, after != NOWHERE
    inserted, deleted, updated = (np.flatnonzero(mask) for mask in (has & ~had, had & ~has, had & has))
    if rules.only_inserts:
        deleted = updated = updated[:0]
    if rules.compared is not None and len(updated):
        old = touched.rows.select(rules.compared).take(pa.array(before[updated]))
        new = piece.rows.select(rules.compared).take(pa.array(after[updated]))
        updated = updated[~equal_rows(old, new)]
    parts = [
        (deleted, before[deleted], DELETE),
        (updated, before[updated], UPDATE_BEFORE),
        (inserted, after[inserted] + len(touched.rows), INSERT),
        (updated, after[updated] + len(touched.rows), UPDATE_AFTER),
    ]
    keys, rows = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
    kinds = np.repeat(np.array([kind for *_, kind in parts], np.int8), [len(part[0]) for part in parts])
    order = np.argsort(keys, kind="stable")  # the row before comes first within a key
    old_rows = pa.Table.from_arrays(touched.rows.select(piece.rows.column_names).columns, schema=piece.rows.schema)
    table = pa.concat_tables([old_rows, piece.rows]).take(pa.array(rows[order]))
    position = table.schema.get_field_index(KIND_COLUMN)
    return table.set_column(position, table.schema.field(position), pa.array(kinds[order]))


def _row_of_key(keys: Ints, rows: pa.Table) -> Ints:
    """Return for each key the number of its row, if it has a row that is not a retraction."""
    live = (keys != NOWHERE) & ~is_retraction(rows[KIND_COLUMN].to_numpy())
    found = np.full(int(keys.max(initial=-1)) + 1, NOWHERE, np.int64)
    found[keys[live]] = np.flatnonzero(live)
    return found


def _padded(rows: Ints, count: int) -> Ints:
    return np.append(rows, np.full(count - len(rows), NOWHERE, np.int64))
