"""The partitions of a chain table, read from its system table ``$chain``."""

from __future__ import annotations

from typing import Any

from lakebed.service.models.contents import ChainLink, ChainView
from lakebed.service.numbers.table_contents import Slice
from lakebed.service.warehouses import OpenTable
from lakebed.system_tables import SYSTEM_TABLES
from lakebed.table_kinds import rules_of


def chain_rows(opened: OpenTable) -> list[ChainLink] | None:
    """Returns every partition of a chain table; ``None`` for other tables."""
    if rules_of(opened.store).chain_branches() is None:
        return None
    return [_link(row) for row in SYSTEM_TABLES["chain"](opened.store).to_pylist()]


def chain_view(opened: OpenTable, cut: Slice, group: str | None) -> ChainView:
    """Returns a page of the partitions of a chain table, of one group or of all."""
    rules = rules_of(opened.store)
    names, rows = rules.chain_branches(), chain_rows(opened)
    columns = None if rows is None else rules.chain_columns()
    if names is None or rows is None or columns is None:
        nothing: dict[str, Any] = {"full_branch": None, "delta_branch": None, "group_keys": [], "chain_keys": []}
        return ChainView(is_chain=False, **nothing, **cut.page([]))
    return ChainView(
        is_chain=True,
        full_branch=names.full,
        delta_branch=names.delta,
        group_keys=list(columns.group),
        chain_keys=list(columns.chain),
        **cut.page([row for row in rows if group is None or row.group == group]),
    )


def _link(row: dict[str, Any]) -> ChainLink:
    return ChainLink(
        partition=row["partition"],
        group=row["group"] or "",
        kind=row["kind"],
        anchor=row["anchor"],
        depth=row["depth"],
        file_count=row["files"],
        byte_count=row["bytes"],
        is_stale=bool(row["stale"]),
    )
