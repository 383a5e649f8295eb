"""The methods of a table that write rows to it, replace them and delete them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from lakebed.errors import OptionError
from lakebed.format import predicate as pred
from lakebed.format.partition_names import partition_predicate
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.commit.identity import Identity
from lakebed.metadata.one_look import one_look
from lakebed.metadata.store import TableStore
from lakebed.operations.delete import (
    delete_by_rewrite,
    delete_from_append_table,
    delete_from_keyed_table,
    rewrites_deletes,
)
from lakebed.operations.drop_partitions import drop_partitions
from lakebed.operations.merge import Clauses, Counts, Merge, merge_into_append_table, merge_into_keyed_table
from lakebed.operations.overwrite import overwrite as overwrite_rows
from lakebed.operations.read import BranchRead
from lakebed.operations.update import NewValues, update_append_table, update_keyed_table
from lakebed.operations.write import Guard
from lakebed.operations.write import write as write_rows
from lakebed.rows.open_data import open_batches
from lakebed.rows.where import Where, condition_of
from lakebed.spark.choose_engine import engine_for
from lakebed.table.merge_builder import MergeBuilder
from lakebed.table_checks import checked_schema
from lakebed.table_kinds import rules_of
from lakebed.table_rules.write_guard import Drop


class WriteMethods:
    """The part of a table that writes."""

    _store: TableStore

    @one_look()
    def write(
        self,
        data: Any,
        *,
        row_kind: str | None = None,
        commit_user: str | None = None,
        commit_identifier: int | None = None,
    ) -> Snapshot | None:
        """Appends rows, or inserts and updates them if the table has a primary key. One call is one commit.

        With ``commit_user`` and ``commit_identifier`` the call can be repeated: the same two values commit once.

        Args:
            data: The rows: an Arrow table, batch or stream, a pandas, Polars or Spark frame, or a list or generator of
                dictionaries, dataclasses or named tuples. Values of the latter follow the types of the table: text in
                ISO form may be a date or time, text a DECIMAL, a dictionary a MAP or ROW. A key that a row lacks is the
                column's default, else null.
            row_kind: The name of a column of the data that says what to do with each row. ``+I`` and ``+U`` insert or
                update it, ``-D`` and ``-U`` delete it.
            commit_user: The name of the writer.
            commit_identifier: The number of the commit among those of the writer.

        Returns:
            The new snapshot; ``None`` if there are no rows.

        Raises:
            CommitConflictError: Another commit changed what this one builds on.
            DataError: The rows do not fit the columns. Of Python objects, the message names the row and the column.

        Example:
            >>> orders.write([{"id": 4, "customer": "eve", "amount": 5.0, "day": "2025-01-31"}]).id
            2
        """
        self._store.look(writing=True)
        schema = checked_schema(self._store, writing=True)
        who = Identity.of(schema, commit_user, commit_identifier)
        run = partial(write_rows, self._store, data, row_kind=row_kind, who=who, engine=engine_for(data))
        return self._by_the_rules(lambda guard: run(guard=guard))

    @one_look()
    def overwrite(
        self,
        data: Any,
        partition: Mapping[str, Any] | None = None,
        *,
        dynamic: bool | None = None,
        commit_user: str | None = None,
        commit_identifier: int | None = None,
    ) -> Snapshot | None:
        """Replaces partitions, or the whole table, by other rows. One call is one commit.

        Without ``partition``, a partitioned table has those partitions replaced that the data has rows of. Any other
        table is replaced whole.

        Args:
            data: The rows, as for :meth:`write`.
            partition: Values of all or some partition columns. Exactly these partitions are replaced, and all rows have
                to belong to them.
            dynamic: Whether only partitions with rows in the data are replaced; by default what the option
                ``dynamic-partition-overwrite`` says.
            commit_user: The name of the writer, as for :meth:`write`.
            commit_identifier: The number of the commit, as for :meth:`write`.

        Returns:
            The new snapshot; ``None`` if there was nothing to do.

        Raises:
            CommitConflictError: Another commit changed what this one replaces.
            DataError: The rows do not fit the columns or the partition.

        Example:
            >>> row = {"id": 9, "customer": "eve", "amount": 1.0, "day": "2025-01-31"}
            >>> orders.overwrite([row]).commit_kind
            <CommitKind.OVERWRITE: 'OVERWRITE'>
            >>> orders.count()
            3
        """
        self._store.look(writing=True)
        schema = checked_schema(self._store, writing=True)
        who, engine = Identity.of(schema, commit_user, commit_identifier), engine_for(data)
        run = partial(overwrite_rows, self._store, data, partition, who, dynamic=dynamic, engine=engine)
        return self._by_the_rules(lambda guard: run(guard=guard))

    @one_look()
    def delete(self, where: Where) -> Snapshot | None:
        """Deletes the rows that satisfy a condition.

        Append tables rewrite the files that contain such rows. Primary-key tables write deletes for their keys. If
        their merge engine has no deletes (``first-row``, and ``partial-update`` and ``aggregation`` that do not remove
        records on delete), they rewrite the files that contain the keys, which needs a compaction before it where
        several files contain one of the keys.

        Args:
            where: The condition, in the forms that :meth:`scan` takes.

        Returns:
            The new snapshot; ``None`` if no row satisfies the condition.

        Raises:
            CommitConflictError: Another commit removed a file that this one rewrites.
            ExpressionError: ``where`` cannot be parsed or does not fit the columns.
            UnsupportedError: The table ignores deletes, has to be compacted first, or is main of a chain table.

        Example:
            >>> orders.delete("customer = 'ann'").id, orders.count()
            (2, 1)
        """
        schema = checked_schema(self._store, writing=True)
        rules_of(self._store).check_row_changes()
        who = Identity.of(schema)
        node = condition_of(where, schema.fields)
        if node is None:
            raise OptionError("delete() needs a condition; truncate() deletes all rows")
        if not schema.primary_keys:
            return self._after(lambda: delete_from_append_table(self._store, node, who))
        latest = self._store.snapshots.latest()
        if rewrites_deletes(self._store):
            keys = schema.select((*schema.partition_keys, *schema.trimmed_primary_key))
            found = BranchRead(self._store, schema, latest, keys, node).to_arrow()
            return self._by_the_rules(lambda guard: delete_by_rewrite(self._store, latest, found, who, guard))
        matching = BranchRead(self._store, schema, latest, schema.fields, node)
        return self._by_the_rules(lambda guard: delete_from_keyed_table(self._store, matching.to_arrow(), who, guard))

    @one_look()
    def update(self, values: Mapping[str, Any], where: Where | None = None) -> Snapshot | None:
        """Gives columns of the rows that satisfy a condition new values. One call is one commit.

        Append tables rewrite the files that contain such rows. Primary-key tables write the changed rows.

        Args:
            values: The new values by column: a Python value, which follows the type of the column as for
                :meth:`write`, or a pyarrow expression over the columns of the row.
            where: The condition, in the forms that :meth:`scan` takes; without it all rows are updated.

        Returns:
            The new snapshot; ``None`` if no row satisfies the condition.

        Raises:
            CommitConflictError: Another commit removed a file that this one rewrites.
            DataError: A value does not fit its column.
            ExpressionError: ``where`` cannot be parsed or does not fit the columns.
            NotFoundError: There is no such column.
            UnsupportedError: A column is part of the primary key, the merge engine of the table would not show the new
                values, or this is main of a chain table.

        Example:
            >>> import pyarrow.compute as pc
            >>> orders.update({"customer": "anna", "amount": pc.field("amount") * 2}, "customer = 'ann'").id
            2
            >>> orders.scan(["customer", "amount"], where="id = 3").to_arrow().to_pylist()
            [{'customer': 'anna', 'amount': 60.0}]
        """
        schema = checked_schema(self._store, writing=True)
        rules_of(self._store).check_row_changes()
        who = Identity.of(schema)
        node = condition_of(where, schema.fields) or pred.TRUE
        new = NewValues(schema, f"table {self._store.name}", values)
        if not schema.primary_keys:
            return self._after(lambda: update_append_table(self._store, new, node, who))
        matching = BranchRead(self._store, schema, self._store.snapshots.latest(), schema.fields, node)
        return self._by_the_rules(lambda guard: update_keyed_table(self._store, new, matching.to_arrow(), who, guard))

    def merge(self, source: Any, on: str | Sequence[str] | Mapping[str, str]) -> MergeBuilder:
        """Begins a merge: rows of a source update, delete or insert rows of the table, in one commit.

        Args:
            source: The rows to merge, in the forms that :meth:`write` takes. They are held in memory.
            on: The columns by which rows match: a name, several names, or names in the table to names in the source.

        Returns:
            The merge, without clauses yet. :meth:`MergeBuilder.execute` carries it out.

        Raises:
            DataError: The source is not in a known form.
            NotFoundError: There is no such column.

        Example:
            >>> rows = [{"id": 1, "amount": 11.0}, {"id": 7, "amount": 1.0}]
            >>> merge = orders.merge(rows, on="id").when_matched_update_all().when_not_matched_insert_all()
            >>> print(merge.execute())
            updated 1 row, deleted 0, inserted 1, as snapshot 2
        """
        schema = checked_schema(self._store, writing=True)
        opened = open_batches(source, schema.fields, where=f"table {self._store.name}")
        rows = opened.read_all() if isinstance(opened, pa.RecordBatchReader) else opened
        if isinstance(source, list | tuple):  # of dictionaries: a column that none of them has is none of the source
            named = {name for row in source if isinstance(row, Mapping) for name in row}
            rows = rows.select([name for name in rows.column_names if name in named or not named])
        names = [on] if isinstance(on, str) else on
        pairs = list(names.items()) if isinstance(names, Mapping) else [(name, name) for name in names]

        @one_look()
        def run(rows: pa.Table, clauses: Clauses) -> tuple[Snapshot | None, Counts]:
            now = checked_schema(self._store, writing=True)
            rules_of(self._store).check_row_changes()
            who = Identity.of(now)
            merge = Merge(now, self._store.name, rows, pairs, clauses)
            if now.primary_keys:
                done = self._by_the_rules(lambda guard: merge_into_keyed_table(self._store, merge, who, guard))
            else:
                done = self._after(lambda: merge_into_append_table(self._store, merge, who))
            return done, merge.counts

        return MergeBuilder(rows, tuple(schema.field_names), tuple(target for target, _ in pairs), run)

    @one_look()
    def truncate(self, *, force: bool = False) -> Snapshot | None:
        """Deletes all rows. Earlier snapshots keep theirs.

        Args:
            force: Only for the delta branch of a chain table: delete the changes although views of days change.

        Returns:
            The new snapshot; ``None`` if there was nothing to delete.

        Raises:
            OptionError: This is a branch of a chain table, and the view of a day would change.

        Example:
            >>> orders.truncate().id, orders.count(), orders.scan(version=1).count()
            (2, 0, 3)
        """
        who = Identity.of(checked_schema(self._store, writing=True))
        rules_of(self._store).check_drop(pred.TRUE)
        return self._by_the_rules(lambda guard: drop_partitions(self._store, None, who, guard), drop=Drop(force))

    @one_look()
    def drop_partition(self, partition: Mapping[str, Any], *, force: bool = False) -> Snapshot | None:
        """Deletes the rows of a partition. Earlier snapshots keep theirs.

        Args:
            partition: Values of all partition columns, or of some to drop all partitions that have these values.
            force: Only for the delta branch of a chain table: drop the changes although views of days change. Full
                partitions that hold the changes still hold them.

        Returns:
            The new snapshot; ``None`` if there was nothing to delete.

        Raises:
            OptionError: ``partition`` is empty. Or this is a branch of a chain table, and the view of a day would
                change.

        Example:
            >>> orders.drop_partition({"day": "2025-01-30"}).id, orders.count()
            (2, 1)
        """
        return self.drop_partitions([partition], force=force)

    def drop_partitions(self, partitions: Sequence[Mapping[str, Any]], *, force: bool = False) -> Snapshot | None:
        """Deletes the rows of several partitions in one commit. Earlier snapshots keep theirs.

        Args:
            partitions: The partitions, each as for :meth:`drop_partition`.
            force: As for :meth:`drop_partition`.

        Returns:
            The new snapshot; ``None`` if there was nothing to delete.

        Raises:
            OptionError: A partition is empty. Or this is a branch of a chain table, and the view of a day would change.

        Example:
            >>> orders.drop_partitions([{"day": "2025-01-30"}, {"day": "2025-01-31"}]).id, orders.count()
            (2, 0)
        """
        if not partitions or not all(partitions):
            raise OptionError("name at least one partition column, or use truncate() to delete everything")
        who = Identity.of(checked_schema(self._store, writing=True))
        run = partial(drop_partitions, self._store, partitions, who)
        made = self._by_the_rules(lambda guard: run(guard=guard), drop=Drop(force))
        if made is None:
            for partition in partitions:
                rules_of(self._store).check_drop(partition_predicate(self._store.schema(), partition))
        return made

    def _by_the_rules(
        self, run: Callable[[Guard], Snapshot | None], *, same_rows: bool = False, drop: Drop | None = None
    ) -> Snapshot | None:
        """Writes to this branch under the rules of the table."""
        return self._after(lambda: rules_of(self._store).write(run, same_rows=same_rows, drop=drop))

    def _after(self, run: Callable[[], Snapshot | None]) -> Snapshot | None:
        """Makes a commit and does what follows it: expires what is too old, as the options of the table say.

        The rules are looked up before the commit, because a failure afterwards would hide that the commit was made.
        """
        rules = rules_of(self._store)
        rules.before_commit()
        made = run()
        if made is not None:
            rules.after_commit()
        return made
