"""Schema changes of a chain table: what is changed on main is also changed on both data branches.

Columns: the data branches must have the columns of main. Otherwise the change is refused and nothing is changed.
Branches that already have the columns as they will be after the change are accepted, so a call that failed half way can
be repeated.

Options: they are set and removed on the data branches as well. An option that a branch has set to a different value
than main, such as its snapshot retention, is left alone. :data:`SHARED` options are the same on all three branches.

The branches are changed first, main last, each by a schema of its own. A reader that meets a half-made change finds
columns that one branch lacks, and raises an error that says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from lakebed.chain.check_chain import DEFAULT_BRANCHES, check_chain
from lakebed.chain.layout import CHAIN_KEYS
from lakebed.errors import OptionError, SchemaError
from lakebed.format.paths import MAIN_BRANCH
from lakebed.format.schema.evolution import Change, RemoveOption, SetOption
from lakebed.format.schema.table_schema import TableSchema
from lakebed.metadata.branch_roles import DELTA_BRANCH, ENABLED, FULL_BRANCH, chain_branches
from lakebed.metadata.branches import create_branch
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.table_rules.schema_rules import Derive, SchemaRules

SHARED: Final = (
    ENABLED,
    FULL_BRANCH,
    DELTA_BRANCH,
    CHAIN_KEYS,
    TableOptions.chain_gap_read.name,
    TableOptions.partition_timestamp_pattern.name,
    TableOptions.partition_timestamp_formatter.name,
)
"""Options that are the same on all three branches."""


@dataclass(frozen=True)
class ChainSchemaRules(SchemaRules):
    """Rules for creating a chain table, for altering one, and for making a table a chain table by an option.

    ``makes_branches``: the caller named no branches, so the usual ones are created.
    """

    makes_branches: bool = False

    @property
    def changes_branches(self) -> bool:
        return True

    @staticmethod
    def concerns(options: Mapping[str, str], changes: Sequence[Change] = ()) -> bool:
        """Whether these rules apply: the options, or changes of them, are about being a chain table."""
        return ENABLED in options or any(isinstance(one, SetOption) and one.key == ENABLED for one in changes)

    @staticmethod
    def creating(options: Mapping[str, str]) -> ChainSchemaRules:
        """The rules for a new table with these options."""
        is_enabled = TableOptions(options).chain_table_enabled
        makes = is_enabled and not any(options.get(name) for name in DEFAULT_BRANCHES)
        return ChainSchemaRules(options={**options, **DEFAULT_BRANCHES} if makes else options, makes_branches=makes)

    @staticmethod
    def altering(store: TableStore, changes: Sequence[Change]) -> ChainSchemaRules:
        """The rules for these changes of a branch."""
        names = _missing_branch_names(store, changes)
        return ChainSchemaRules(changes=(*changes, *names), makes_branches=bool(names))

    def check(self, schema: TableSchema, where: str) -> None:
        """Raise if a schema asks to be a chain table and cannot be one."""
        check_chain(schema, where)

    def change_branches(self, store: TableStore, derive: Derive) -> None:
        """Make changes of main on the data branches as well, if they exist."""
        before = store.schemas.latest()
        if store.paths.branch != MAIN_BRANCH or before is None:
            return
        after = derive(before, self.changes, store.snapshots.latest() is not None)
        names = chain_branches(after.options) or chain_branches(before.options)
        if names is None:
            return
        existing = [store.on_branch(name) for name in names if name in store.branch_names()]
        for branch in existing:
            _check_columns(branch, before, after)
        for branch in existing:
            own = [one for one in self.changes if _is_due(one, branch, before, after)]
            has_snapshots = branch.snapshots.latest() is not None
            branch.schemas.change(partial(_derived, derive, own, has_snapshots))

    def finish(self, store: TableStore) -> None:
        """Create the data branches if the caller did not name any."""
        if self.makes_branches:
            for name in chain_branches(store.schema().options) or ():
                create_branch(store, name, ignore_if_exists=True)


def _derived(derive: Derive, changes: Sequence[Change], has_snapshots: bool, current: TableSchema) -> TableSchema:
    return derive(current, changes, has_snapshots)


def _missing_branch_names(store: TableStore, changes: Sequence[Change]) -> list[Change]:
    """Changes that name the data branches, if other changes make main a chain table and name none."""
    turned_on = any(
        isinstance(one, SetOption) and one.key == ENABLED and one.value.lower() == "true" for one in changes
    )
    given = {one.key for one in changes if isinstance(one, SetOption)} | set(store.schema().options)
    if store.paths.branch != MAIN_BRANCH or not turned_on or given & set(DEFAULT_BRANCHES):
        return []
    if store.snapshots.latest() is not None:
        raise OptionError(
            f"table {store.name} has rows, which a chain table keeps in its branches: call enable_chain() on it, or "
            f"create the branches and set {FULL_BRANCH!r} and {DELTA_BRANCH!r} as well"
        )
    return [SetOption(name, value) for name, value in DEFAULT_BRANCHES.items()]


def _columns(schema: TableSchema) -> list[tuple[str, str]]:
    return [(column.name, str(column.type)) for column in schema.fields]


def _check_columns(branch: TableStore, before: TableSchema, after: TableSchema) -> None:
    """Raise unless a branch has the columns of main, before or after the change."""
    if _columns(branch.schema()) not in (_columns(before), _columns(after)):
        raise SchemaError(
            f"table {branch.name}: the columns of its branch {branch.paths.branch!r} are not those of main, so they "
            f"cannot be changed together. Alter {branch.name}$branch_{branch.paths.branch} first; nothing was changed"
        )


def _is_due(change: Change, branch: TableStore, before: TableSchema, after: TableSchema) -> bool:
    """Whether a change of main must also be made on a branch, and was not made there yet."""
    schema = branch.schema()
    if isinstance(change, SetOption | RemoveOption):
        return change.key in SHARED or schema.options.get(change.key) == before.options.get(change.key)
    return _columns(before) == _columns(after) or _columns(schema) != _columns(after)
