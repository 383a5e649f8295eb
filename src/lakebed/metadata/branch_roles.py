"""What a branch is for, as the options of its table say.

The options of a chain table name two data branches: one holds full partitions, the other one changes. Main shows both
as one table. All other branches, and all branches of other tables, are ordinary. :mod:`lakebed.chain` has the rules of
chain tables; this module only has the roles, because compaction of a data branch depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from lakebed.format.paths import MAIN_BRANCH
from lakebed.options import TableOptions

ENABLED: Final = TableOptions.chain_table_enabled.name
FULL_BRANCH: Final = TableOptions.scan_fallback_snapshot_branch.name
DELTA_BRANCH: Final = TableOptions.scan_fallback_delta_branch.name


class ChainBranches(NamedTuple):
    """The names of the two data branches of a chain table."""

    full: str
    delta: str


class BranchRole(StrEnum):
    """The role of one branch."""

    ORDINARY = "ordinary"
    MAIN = "main"
    """Main of a chain table: shows what the two data branches hold."""
    FULL = "snapshot"
    """The branch of a chain table that holds full partitions."""
    DELTA = "delta"
    """The branch of a chain table that holds changes."""

    @property
    def keeps_deletes(self) -> bool:
        """Whether compactions never drop deletes: they also apply to rows of earlier partitions."""
        return self is BranchRole.DELTA

    @property
    def keeps_empty_partitions(self) -> bool:
        """Whether compactions keep deletes if a partition has no other rows, because later partitions build on it."""
        return self is BranchRole.FULL


def chain_branches(options: Mapping[str, str]) -> ChainBranches | None:
    """Returns the data branches that the options of a chain table name; ``None`` if the table is not a chain table.

    A table that sets ``chain-table.enabled`` without naming both branches is not a chain table yet, as in Paimon.
    """
    given = TableOptions(options)
    full, delta = given.scan_fallback_snapshot_branch, given.scan_fallback_delta_branch
    return ChainBranches(full, delta) if given.chain_table_enabled and full and delta else None


def branch_role(options: Mapping[str, str], branch: str) -> BranchRole:
    """Returns the role of a branch in a table with these options."""
    names = chain_branches(options)
    if names is None:
        return BranchRole.ORDINARY
    roles = {MAIN_BRANCH: BranchRole.MAIN, names.full: BranchRole.FULL, names.delta: BranchRole.DELTA}
    return roles.get(branch, BranchRole.ORDINARY)
