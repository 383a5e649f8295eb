"""Which rules a table follows. No other module decides what kind of table it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lakebed.chain.alter import ChainSchemaRules
from lakebed.chain.rules import ChainRules, DataBranchRules, MainRules
from lakebed.format.paths import MAIN_BRANCH
from lakebed.format.schema.evolution import Change
from lakebed.metadata.branch_roles import BranchRole, branch_role, chain_branches
from lakebed.metadata.store import TableStore
from lakebed.table_rules.interface import TableRules
from lakebed.table_rules.plain import PlainRules
from lakebed.table_rules.schema_rules import SchemaRules


def rules_of(store: TableStore) -> TableRules:
    """The rules of a branch. The options of main decide: other engines may not have set them on the branches."""
    branch = store.paths.branch
    options = (store if branch == MAIN_BRANCH else store.on_branch(MAIN_BRANCH)).schema().options
    if chain_branches(options) is None:
        return PlainRules(store)
    match branch_role(options, branch):
        case BranchRole.MAIN:
            return MainRules(store)
        case BranchRole.FULL | BranchRole.DELTA:
            return DataBranchRules(store)
        case _:
            return ChainRules(store)


def new_table_rules(options: Mapping[str, str]) -> SchemaRules:
    """The rules for creating a table with these options."""
    return ChainSchemaRules.creating(options) if ChainSchemaRules.concerns(options) else SchemaRules(options=options)


def alter_rules(store: TableStore, changes: Sequence[Change]) -> SchemaRules:
    """The rules for changing the schema of a branch."""
    if ChainSchemaRules.concerns(store.schema().options, changes):
        return ChainSchemaRules.altering(store, changes)
    return SchemaRules(changes=tuple(changes))
