"""Changes of a chain table's schema: what is changed on main is changed on both branches too, so that they stay alike.

Columns: the branches must have those of main (before or after the change: a call that died half way is made again), else the
change is refused and nothing has changed. Options: set and removed on the branches as well, but for those that a branch has
set to a value of its own, such as how long its snapshots stay; what makes it a chain table is the same everywhere.

Branches come first, main last, each with a schema of its own: a reader that sees them half way sees columns that one branch
lacks, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from lakebed.chain.check_chain import DEFAULT_BRANCHES
from lakebed.chain.layout import CHAIN_KEYS, DELTA_BRANCH, ENABLED, FULL_BRANCH, branch_names
from lakebed.errors import OptionError, SchemaError
from lakebed.format.paths import MAIN_BRANCH
from lakebed.format.schema.evolution import Change, RemoveOption, SetOption
from lakebed.format.schema.table_schema import TableSchema
from lakebed.metadata.branches import create_branch
from lakebed.metadata.store import TableStore

Derive: TypeAlias = Callable[[TableSchema, Sequence[Change], bool], TableSchema]
"""The schema that changes make of another, checked; with whether the branch has snapshots."""

SHARED: Final = (
    ENABLED,
    FULL_BRANCH,
    DELTA_BRANCH,
    CHAIN_KEYS,
    "chain-table.gap-read",
    "partition.timestamp-pattern",
    "partition.timestamp-formatter",
)
"""Options that are the same on all three branches."""


def named(store: TableStore, changes: Sequence[Change]) -> list[Change]:
    """Changes of main, with the names of the branches where the table is made a chain table and they have none."""
    turned_on = any(
        isinstance(one, SetOption) and one.key == ENABLED and one.value.lower() == "true" for one in changes
    )
    given = {one.key for one in changes if isinstance(one, SetOption)} | set(store.schema().options)
    if store.paths.branch != MAIN_BRANCH or not turned_on or given & set(DEFAULT_BRANCHES):
        return list(changes)
    if store.snapshots.latest() is not None:
        raise OptionError(
            f"table {store.name} has rows, which a chain table keeps in its branches: call enable_chain() on it, or create "
            f"the branches and set {FULL_BRANCH!r} and {DELTA_BRANCH!r} as well"
        )
    return [*changes, *(SetOption(name, value) for name, value in DEFAULT_BRANCHES.items())]


def change_branches(store: TableStore, changes: Sequence[Change], derive: Derive) -> None:
    """Make changes of main on the two branches as well, where main is that of a chain table and they are there."""
    before = store.schemas.latest()
    if store.paths.branch != MAIN_BRANCH or before is None:
        return
    after = derive(before, changes, store.snapshots.latest() is not None)
    names = branch_names(after) or branch_names(before)
    if names is None:
        return
    there = [store.on_branch(name) for name in names if name in store.branch_names()]
    for branch in there:
        _check_alike(branch, before, after)
    for branch in there:
        own = [one for one in changes if _concerns(one, branch, before, after)]
        has_snapshots = branch.snapshots.latest() is not None
        branch.schemas.change(lambda current, own=own, old=has_snapshots: derive(current, own, old))  # type: ignore[misc]


def make_branches(store: TableStore) -> None:
    """Make the branches of a new chain table that nobody made yet."""
    names = branch_names(store.schema())
    for name in names or ():
        create_branch(store, name, ignore_if_exists=True)


def _shape(schema: TableSchema) -> list[tuple[str, str]]:
    return [(column.name, str(column.type)) for column in schema.fields]


def _check_alike(branch: TableStore, before: TableSchema, after: TableSchema) -> None:
    schema = branch.schema()
    if _shape(schema) not in (_shape(before), _shape(after)):
        raise SchemaError(
            f"table {branch.name}: the columns of its branch {branch.paths.branch!r} are not those of main, so they cannot be "
            f"changed together. Alter {branch.name}$branch_{branch.paths.branch} first; nothing was changed"
        )


def _concerns(change: Change, branch: TableStore, before: TableSchema, after: TableSchema) -> bool:
    """Whether a branch has a change of main still to make."""
    schema = branch.schema()
    if isinstance(change, SetOption | RemoveOption):
        return change.key in SHARED or schema.options.get(change.key) == before.options.get(change.key)
    return _shape(before) == _shape(after) or _shape(schema) != _shape(after)
