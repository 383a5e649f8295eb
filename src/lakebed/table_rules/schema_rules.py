"""The rules for the schema of a table that is created or altered.

:func:`lakebed.table_kinds.new_table_rules` and :func:`lakebed.table_kinds.alter_rules` return the rules that apply.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from lakebed.format.schema.evolution import Change
from lakebed.format.schema.table_schema import TableSchema
from lakebed.metadata.store import TableStore

Derive: TypeAlias = Callable[[TableSchema, Sequence[Change], bool], TableSchema]
"""Applies changes to a schema and checks the result. The last argument tells whether the branch has snapshots."""


@dataclass(frozen=True)
class SchemaRules:
    """Rules for one creation or one change. These are for tables without rules of their own.

    ``options`` are the options of a new table, ``changes`` the changes of an existing one. Both are what the caller
    gave, plus what the kind of table needs.
    """

    options: Mapping[str, str] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()

    @property
    def changes_branches(self) -> bool:
        """Whether other branches change together with this one."""
        return False

    def check(self, schema: TableSchema, where: str) -> None:
        """Raise if a schema does not fit the kind of table."""

    def change_branches(self, store: TableStore, derive: Derive) -> None:
        """Make the changes on other branches that must stay like main. Called before main changes."""

    def finish(self, store: TableStore) -> None:
        """Do what follows the creation or the change."""
