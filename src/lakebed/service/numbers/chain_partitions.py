"""The partitions of a chain table, and what they say together: age, depth, stale partitions, storage saved."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

from lakebed.format.human_text import count_text, size_text
from lakebed.format.time_text import local_millis
from lakebed.service.models.contents import ChainLink, ChainSummary, ChainView
from lakebed.service.numbers.table_contents import Slice
from lakebed.service.warehouses import OpenTable
from lakebed.table_kinds import rules_of
from lakebed.table_rules.partition_costs import MAIN, PartitionStatus

_FULL: Final = "full"
_HOUR: Final = 3_600_000
_DAY: Final = 24 * _HOUR
_NO_TIME: Final = -(2**63)


def chain_rows(opened: OpenTable) -> list[ChainLink] | None:
    """Returns every partition of a chain table; ``None`` for other tables."""
    rules = rules_of(opened.store)
    if rules.chain_branches() is None:
        return None
    return [_link(status) for status in rules.partition_status()]


def chain_view(opened: OpenTable, cut: Slice, group: str | None) -> ChainView:
    """Returns a page of the partitions of a chain table, of one group or of all."""
    rules = rules_of(opened.store)
    names, rows = rules.chain_branches(), chain_rows(opened)
    columns = None if rows is None else rules.chain_columns()
    if names is None or rows is None or columns is None:
        nothing: dict[str, Any] = {"full_branch": None, "delta_branch": None, "group_keys": [], "chain_keys": []}
        return ChainView(is_chain=False, summary=None, **nothing, **cut.page([]))
    wanted = [row for row in rows if group is None or row.group == group]
    return ChainView(
        is_chain=True,
        full_branch=names.full,
        delta_branch=names.delta,
        group_keys=list(columns.group),
        chain_keys=list(columns.chain),
        summary=summary_of_chain(wanted),
        **cut.page(wanted),
    )


def summary_of_chain(rows: Sequence[ChainLink], *, now: int | None = None) -> ChainSummary:
    """Returns what partitions say together, and how old the newest full partition is at a time."""
    newest: dict[str, ChainLink | None] = {row.group: None for row in rows if row.kind != MAIN}
    for row in rows:
        if row.kind.startswith(_FULL) and not row.is_stale and _is_later(row, newest[row.group]):
            newest[row.group] = row
    without = sum(row is None for row in newest.values())
    oldest = min(newest.values(), key=_time, default=None) if not without else None
    at = None if oldest is None else oldest.time_millis
    return ChainSummary(
        newest_full=None if oldest is None else oldest.partition,
        newest_full_age_millis=None if at is None else max(0, (_now() if now is None else now) - at),
        group_count=len(newest),
        groups_without_full=without,
        stale_count=sum(row.is_stale for row in rows),
        deepest=max((row.depth or 0 for row in rows), default=0),
        bytes_saved=sum(row.bytes_saved for row in rows),
    )


def chain_age_text(summary: ChainSummary) -> str:
    """Returns in words how old the newest full partition is, and the storage saved; empty if there is nothing."""
    words = []
    if summary.groups_without_full:
        has = "has" if summary.groups_without_full == 1 else "have"
        which = f"{summary.groups_without_full:,} of {summary.group_count:,} groups {has}"
        words.append(f"{'There is' if summary.group_count == 1 else which} no full partition.")
    elif summary.newest_full is not None and summary.newest_full_age_millis is not None:
        age = _age_text(summary.newest_full_age_millis)
        words.append(
            f"The newest full partition, {summary.newest_full}, is {age} old."
            if summary.group_count == 1
            else f"The newest full partition of every group is at most {age} old ({summary.newest_full})."
        )
    if summary.bytes_saved > 0:
        words.append(f"Full copies of all partitions would take {size_text(summary.bytes_saved)} more.")
    return " ".join(words)


def _age_text(millis: int) -> str:
    if millis < 2 * _DAY:
        return count_text(millis // _HOUR, "hour")
    return count_text(millis // _DAY, "day")


def _is_later(row: ChainLink, known: ChainLink | None) -> bool:
    return known is None or _time(row) > _time(known)


def _time(row: ChainLink | None) -> int:
    return _NO_TIME if row is None or row.time_millis is None else row.time_millis


def _now() -> int:
    return time.time_ns() // 1_000_000


def _link(status: PartitionStatus) -> ChainLink:
    return ChainLink(
        partition=status.cost.partition,
        group=status.group or "",
        kind=status.kind,
        anchor=status.cost.anchor,
        depth=status.cost.depth,
        file_count=status.cost.files,
        byte_count=status.cost.bytes,
        is_stale=status.stale,
        time_millis=local_millis(status.time),
        bytes_saved=status.bytes_saved,
    )
