"""The rules for one write to a table: before it begins, for its commit, and after the commit."""

from __future__ import annotations

from dataclasses import dataclass

from lakebed.format.snapshot import Snapshot
from lakebed.metadata.commit.commit import Commit


@dataclass(frozen=True, slots=True)
class Drop:
    """A write that removes whole partitions and adds no rows.

    ``force``: also if rows of other partitions then read differently. ``may_change`` are encoded partitions for which
    the caller accepts that.
    """

    force: bool = False
    may_change: frozenset[bytes] = frozenset()


class WriteGuard:
    """Guards one write. This one is for tables without rules of their own: it changes nothing."""

    def begin(self) -> None:
        """Prepare the table. Called once, before any file is written."""

    def guarded(self, request: Commit) -> Commit:
        """The commit to make instead of ``request``: it fails where it would break a rule."""
        return request

    def finish(self, made: Snapshot | None) -> None:
        """Do what follows the commit (``None``: there was nothing to commit). Never raises: the commit is made."""
