"""A table as its user sees it.

:class:`Table` says what a table is and changes its schema. Its other methods are in the modules of this package, by
topic: reading, writing, history, versions (branches, tags, rollback), maintenance, and what only chain tables have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from lakebed.errors import CorruptError, SchemaError
from lakebed.format.html_text import table_html
from lakebed.format.schema.evolution import AddColumn, SetOption, UpdateColumnType, apply_changes
from lakebed.format.schema.evolution import Change as SchemaChange
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.time_text import now_millis
from lakebed.format.types.data_types import DataType
from lakebed.metadata.branch_roles import chain_branches
from lakebed.metadata.branches import create_branch
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions, check_existing, check_new, normalise
from lakebed.table.chain_methods import ChainMethods
from lakebed.table.history_methods import HistoryMethods
from lakebed.table.maintenance_methods import MaintenanceMethods
from lakebed.table.read_methods import ReadMethods
from lakebed.table.version_methods import VersionMethods
from lakebed.table.write_methods import WriteMethods
from lakebed.table_checks import check_buckets, check_files, check_new_keyed
from lakebed.table_kinds import alter_rules
from lakebed.table_rules.schema_rules import Derive, SchemaRules

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BRANCH_OPTIONS: Final = (TableOptions.scan_fallback_branch.name, TableOptions.scan_primary_branch.name)


class Table(ReadMethods, WriteMethods, HistoryMethods, VersionMethods, MaintenanceMethods, ChainMethods):
    """A Paimon table, or one branch of it. Open one with :meth:`lakebed.Lake.table`.

    Example:
        >>> orders = lake.table("shop.orders")
        >>> orders
        <Table shop.orders: id BIGINT, customer STRING, amount DOUBLE, day STRING>
        >>> orders.count()
        3
    """

    def __init__(self, store: TableStore, spark: SparkSession | None = None) -> None:
        self._store = store
        self._spark = spark
        try:
            store.schema()  # a table that is not there fails here, not later
        except CorruptError:
            if not store.has_older_schemas:  # else repair() can remove the newest one
                raise

    # ---------------------------------------------------------------------------------------------- what it is

    @property
    def name(self) -> str:
        """The name of the table, as ``database.table``."""
        return self._store.name

    @property
    def path(self) -> str:
        """The folder of the table."""
        return self._store.paths.root

    @property
    def branch_name(self) -> str:
        """The branch that is read and written."""
        return self._store.paths.branch

    @property
    def schema(self) -> TableSchema:
        """The latest schema: columns, keys, options, comment."""
        return self._store.schema()

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns as an Arrow schema."""
        return self.schema.arrow_schema

    @property
    def options(self) -> Mapping[str, str]:
        """The options as they are stored."""
        return self.schema.options

    @property
    def warnings(self) -> list[str]:
        """What is unknown or ignored among the options of the table, as sentences."""
        return check_existing(self.options, where=f"table {self.name}", writing=False)

    def __repr__(self) -> str:
        columns = ", ".join(f"{column.name} {column.type}" for column in self.schema.fields)
        branch = "" if self.branch_name == "main" else f" branch={self.branch_name}"
        return f"<Table {self.name}{branch}: {columns}>"

    def _repr_html_(self) -> str:
        """Returns the columns as a table, for notebooks; it reads the schema only."""
        schema = self.schema
        branch = "" if self.branch_name == "main" else f", branch {self.branch_name}"
        keys = ", primary key " + ", ".join(schema.primary_keys) if schema.primary_keys else ""
        parts = ", partitioned by " + ", ".join(schema.partition_keys) if schema.partition_keys else ""
        rows = [[field.name, field.type, field.description or ""] for field in schema.fields]
        return table_html(["column", "type", "comment"], rows, caption=f"Table {self.name}{branch}{keys}{parts}")

    # ----------------------------------------------------------------------------------------------- changing

    def alter(self, *changes: SchemaChange) -> TableSchema:
        """Changes columns, options or the comment. All changes are made, or none.

        Args:
            changes: The changes, made with the classes in :mod:`lakebed.changes`. Types may be given as text.

        Returns:
            The new schema.

        Raises:
            OptionError: An option is unknown, has a wrong value, or cannot be changed.
            SchemaError: A change is not possible.

        Example:
            >>> from lakebed import changes
            >>> orders.alter(changes.AddColumn("note", "STRING"), changes.SetOption("snapshot.num-retained.max", 50)).id
            1
            >>> orders.schema.field_names
            ('id', 'customer', 'amount', 'day', 'note')
        """
        rules, derive = self._altering(changes)
        has_snapshots = self._store.snapshots.latest() is not None
        rules.change_branches(self._store, derive)
        made = self._store.schemas.change(lambda current: derive(current, rules.changes, has_snapshots))
        rules.finish(self._store)
        return made

    def _altering(self, changes: Sequence[SchemaChange]) -> tuple[SchemaRules, Derive]:
        """Returns the rules for changes of this table, and what makes them in a schema."""
        where = f"table {self.name}"
        rules = alter_rules(self._store, [_checked(change) for change in changes])
        check_new({c.key: c.value for c in rules.changes if isinstance(c, SetOption)}, where=where)
        for change in rules.changes:
            if isinstance(change, SetOption) and change.key in _BRANCH_OPTIONS and change.value:
                self._store.on_branch(change.value)

        def derive(current: TableSchema, own: Sequence[SchemaChange], old: bool) -> TableSchema:
            changed = apply_changes(current, own, time_millis=now_millis(), has_snapshots=old)
            if changed.options != current.options:
                check_buckets(changed, where)
                check_files(changed, where)
            check_new_keyed(changed, where)
            rules.check(changed, where)
            return changed

        return rules, derive

    # ------------------------------------------------------------------------------------------------ branches

    def branch(self, name: str) -> Table:
        """Opens another branch of the table.

        Args:
            name: The branch.

        Returns:
            The table on that branch.

        Raises:
            NotFoundError: There is no such branch.
        """
        return Table(self._store.on_branch(name), self._spark)

    def create_branch(
        self, name: str, *, tag: str | None = None, snapshot: int | None = None, ignore_if_exists: bool = False
    ) -> Table:
        """Creates a branch, empty or with the content of a tag or a snapshot.

        Args:
            name: The name of the branch.
            tag: The tag that it starts with.
            snapshot: The id of the snapshot that it starts with.
            ignore_if_exists: Return the existing branch if there is one of that name.

        Returns:
            The table on that branch.

        Raises:
            AlreadyExistsError: There is such a branch.
            NotFoundError: There is no such tag or snapshot.
            OptionError: Both a tag and a snapshot are given.

        Example:
            >>> orders.create_branch("dev", snapshot=1).count(), orders.branches()
            (3, ['dev'])
        """
        made = tag is None and snapshot is None and self._made_by_itself(name)
        create_branch(self._store, name, tag=tag, snapshot=snapshot, ignore_if_exists=ignore_if_exists or made)
        return self.branch(name)

    def _made_by_itself(self, name: str) -> bool:
        """Whether a chain table made this branch itself, and it is still empty: then the user may create it again.

        Paimon makes no branches, so its users create them after the table.
        """
        names = chain_branches(self._store.schema().options)
        if names is None or name not in names or name not in self._store.branch_names():
            return False
        return self._store.on_branch(name).snapshots.latest() is None


def _checked(change: object) -> SchemaChange:
    """Returns a change in the form that the layers below expect, and raises for what is not a change of schema."""
    if not isinstance(change, SchemaChange):
        raise SchemaError(f"{change!r} is not a change of schema; lakebed.changes has those that there are")
    if isinstance(change, SetOption):
        return replace(change, value=normalise({change.key: change.value})[change.key])
    if isinstance(change, AddColumn | UpdateColumnType) and not isinstance(change.type, str | DataType):
        raise SchemaError(f"{change.type!r} is not a column type; give it as text, like 'DECIMAL(10, 2)'")
    return change
