"""The chain of a chain table, out of its system table."""

from __future__ import annotations

from typing import Any

from lakebed.chain.layout import ChainKeys, branch_names
from lakebed.service.answers.contents import Slice
from lakebed.service.models.contents import ChainLink, ChainView
from lakebed.service.warehouses import OpenTable
from lakebed.system_tables import SYSTEM_TABLES


def chain_rows(opened: OpenTable) -> list[ChainLink] | None:
    """Every partition of the chain; ``None`` for a table that has none."""
    if branch_names(opened.table.schema) is None or "chain" not in SYSTEM_TABLES:
        return None
    return [_link(row) for row in SYSTEM_TABLES["chain"](opened.store).to_pylist()]


def chain_view(opened: OpenTable, cut: Slice, group: str | None) -> ChainView:
    """A page of the chain, of one group or of all."""
    names = branch_names(opened.table.schema)
    rows = chain_rows(opened)
    if names is None or rows is None:
        nothing: dict[str, Any] = {"full_branch": None, "delta_branch": None, "group_keys": [], "chain_keys": []}
        return ChainView(is_chain=False, **nothing, **cut.page([]))
    keys = ChainKeys.of(opened.table.schema, f"table {opened.full_name}")
    return ChainView(
        is_chain=True,
        full_branch=names[0],
        delta_branch=names[1],
        group_keys=list(keys.group),
        chain_keys=list(keys.chain),
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
