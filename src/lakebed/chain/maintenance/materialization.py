"""The result of writing views of a chain table to a plain table, for readers that do not know chain tables.

Such readers see main of a chain table as a table without rows. A plain table that holds the view of a day is read by
all of them. ``Table.materialize_chain()`` writes one day with one commit, which replaces the rows of that day.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from lakebed.format.human_text import count_text, list_lines
from lakebed.format.partition_names import partition_text
from lakebed.format.printed import Printed

_SHOWN: Final = 10


@dataclass(frozen=True, slots=True, repr=False)
class Materialization(Printed):
    """The views of a chain table that were written to a plain table, or would be in a dry run.

    Attributes:
        into: The name of the plain table.
        partitions: The partitions whose view was written, each with its number of rows; ``None`` in a dry run.
        skipped: The partitions that were asked for and have no view. The plain table keeps what it has of them.
        dry_run: Whether nothing was written.
    """

    into: str
    partitions: tuple[tuple[Mapping[str, Any], int | None], ...] = ()
    skipped: tuple[Mapping[str, Any], ...] = ()
    dry_run: bool = False

    def __bool__(self) -> bool:
        return bool(self.partitions)

    @property
    def rows(self) -> int:
        """The number of rows that were written."""
        return sum(rows or 0 for _, rows in self.partitions)

    def __str__(self) -> str:
        doing = "would write" if self.dry_run else "wrote"
        done = "" if self.dry_run else f", {count_text(self.rows, 'row')}"
        head = f"{doing} the views of {count_text(len(self.partitions), 'partition')} to {self.into}{done}"
        texts = [
            partition_text(values) + ("" if rows is None else f": {count_text(rows, 'row')}")
            for values, rows in self.partitions
        ]
        texts += [f"skipped {partition_text(values)}: it has no view" for values in self.skipped]
        return "\n".join([f"{head}:" if texts else head, *list_lines(texts, "partition", most=_SHOWN)])
