"""``table.merge(source, on=...)``: clauses one after the other, then :meth:`MergeBuilder.execute`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import OptionError
from lakebed.format.human_text import count_text
from lakebed.format.printed import Printed
from lakebed.format.snapshot import Snapshot
from lakebed.operations.merge import Clause, Clauses, Counts

Values = Mapping[str, Any]
Run = Callable[[pa.Table, Clauses], tuple[Snapshot | None, Counts]]


@dataclass(frozen=True, slots=True, repr=False)
class MergeResult(Printed):
    """What a merge did.

    Attributes:
        snapshot: The new snapshot; ``None`` if nothing changed.
        updated: The number of rows that were updated.
        deleted: The number of rows that were deleted.
        inserted: The number of rows that were inserted.
    """

    snapshot: Snapshot | None
    updated: int
    deleted: int
    inserted: int

    def __str__(self) -> str:
        if self.snapshot is None:
            return "nothing to merge"
        done = f"updated {count_text(self.updated, 'row')}, deleted {self.deleted:,}, inserted {self.inserted:,}"
        return f"{done}, as snapshot {self.snapshot.id}"


@dataclass(frozen=True, slots=True)
class MergeBuilder:
    """A merge that is being described; nothing happens before :meth:`execute`.

    Make one with :meth:`lakebed.Table.merge`. Conditions are pyarrow expressions over ``target.x`` and ``source.x``,
    the columns of the table and of the source. Values are Python values, which follow the types of the columns, or
    such expressions. For each row the first clause counts whose condition holds.
    """

    source: pa.Table
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    run: Run
    clauses: Clauses = field(default_factory=Clauses)

    def when_matched_update(self, values: Values, where: pc.Expression | None = None) -> MergeBuilder:
        """Updates rows that match a row of the source.

        Args:
            values: The new values by column.
            where: The condition.
        """
        return self._with(matched=Clause("update", dict(_given(values)), where))

    def when_matched_update_all(self, where: pc.Expression | None = None) -> MergeBuilder:
        """Updates all columns that the source has, except those by which rows are matched.

        Args:
            where: The condition.
        """
        return self.when_matched_update(self._all(without=self.keys), where)

    def when_matched_delete(self, where: pc.Expression | None = None) -> MergeBuilder:
        """Deletes rows that match a row of the source.

        Args:
            where: The condition.
        """
        return self._with(matched=Clause("delete", {}, where))

    def when_not_matched_insert(self, values: Values, where: pc.Expression | None = None) -> MergeBuilder:
        """Inserts rows of the source that match no row of the table. Columns without a value get their default.

        Args:
            values: The values by column.
            where: The condition, over ``source.x`` only.
        """
        return self._with(not_matched=Clause("insert", dict(_given(values)), where))

    def when_not_matched_insert_all(self, where: pc.Expression | None = None) -> MergeBuilder:
        """Inserts them with all columns that the table and the source have.

        Args:
            where: The condition, over ``source.x`` only.
        """
        return self.when_not_matched_insert(self._all(), where)

    def when_not_matched_by_source_update(self, values: Values, where: pc.Expression | None = None) -> MergeBuilder:
        """Updates rows of the table that match no row of the source. The whole table is read.

        Args:
            values: The new values by column.
            where: The condition, over ``target.x`` only.
        """
        return self._with(by_source=Clause("update", dict(_given(values)), where))

    def when_not_matched_by_source_delete(self, where: pc.Expression | None = None) -> MergeBuilder:
        """Deletes rows of the table that match no row of the source. The whole table is read.

        Args:
            where: The condition, over ``target.x`` only.
        """
        return self._with(by_source=Clause("delete", {}, where))

    def execute(self) -> MergeResult:
        """Carries the merge out, as one commit.

        Returns:
            How many rows were changed.

        Raises:
            CommitConflictError: Another commit removed a file that this one rewrites.
            DataError: Several rows of the source match one row, or a value does not fit its column.
            NotFoundError: There is no such column.
            UnsupportedError: A clause would change the primary key, the merge engine of the table would not show the
                new values, or this is main of a chain table.
        """
        snapshot, counts = self.run(self.source, self.clauses)
        return MergeResult(snapshot, counts.updated, counts.deleted, counts.inserted)

    def _all(self, without: tuple[str, ...] = ()) -> Values:
        names = [name for name in self.columns if name in self.source.column_names and name not in without]
        if not names:
            raise OptionError("the source has no other column of the table; say the values in the clause")
        return {name: pc.field(f"source.{name}") for name in names}

    def _with(
        self, matched: Clause | None = None, not_matched: Clause | None = None, by_source: Clause | None = None
    ) -> MergeBuilder:
        old = self.clauses
        added = Clauses(
            (*old.matched, *([matched] if matched else ())),
            (*old.not_matched, *([not_matched] if not_matched else ())),
            (*old.not_matched_by_source, *([by_source] if by_source else ())),
        )
        return replace(self, clauses=added)


def _given(values: Values) -> Values:
    if not values:
        raise OptionError("a clause needs values, such as {'name': pc.field('source.name')}")
    return values
