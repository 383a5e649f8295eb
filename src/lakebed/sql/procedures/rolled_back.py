"""Rolls a table back, for procedures and statements: which version a text means, and the rows of the result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakebed.sql.procedures.procedure import Rows
from lakebed.table import Table

ROLLED_BACK: Final = {"previous_snapshot_id": "long", "current_snapshot_id": "long"}
"""The columns of the result."""


def version_of(table: Table, text: str) -> dict[str, Any]:
    """Returns the version that a text names: a tag, or the id of a snapshot if no tag has this name."""
    is_tag = text in table.tags() or not text.isdecimal()
    return {"tag": text} if is_tag else {"snapshot": int(text)}


def rolled_back(table: Table, to: Mapping[str, Any]) -> Rows:
    """Rolls a table back and returns the row of the result."""
    before, _ = table.latest_snapshot(), table.rollback_to(**to)
    after = table.latest_snapshot()
    return [(None if before is None else before.id, None if after is None else after.id)]
