"""Chain tables for tests: their branches, and a model that replays what was written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.lakes import open_lake

import lakebed

OPTIONS: Mapping[str, str] = {
    "bucket": "2",
    "chain-table.enabled": "true",
    "scan.fallback-snapshot-branch": "snapshot",
    "scan.fallback-delta-branch": "delta",
    "partition.timestamp-pattern": "$dt",
    "partition.timestamp-formatter": "yyyyMMdd",
}
COLUMNS = "k INT, v STRING, s INT, dt STRING"


class ChainFixture:
    """A chain table with its two branches."""

    def __init__(
        self,
        root: Path,
        columns: str = COLUMNS,
        *,
        partition_by: Sequence[str] = ("dt",),
        key: Sequence[str] = ("k",),
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.lake = open_lake(root)
        self.main = self.lake.create_table(
            "db.t",
            columns,
            partition_by=list(partition_by),
            primary_key=[*partition_by, *key],
            options={**OPTIONS, **(options or {})},
        )
        for branch in ("snapshot", "delta"):
            self.main.create_branch(branch, ignore_if_exists=True)

    @property
    def full(self) -> lakebed.Table:
        return self.main.branch("snapshot")

    @property
    def delta(self) -> lakebed.Table:
        return self.main.branch("delta")

    def rows(self, where: str | None = None, columns: Sequence[str] | None = None) -> list[tuple[Any, ...]]:
        """What main shows, sorted."""
        return sorted_rows(self.main.scan(columns, where))


def sorted_rows(scan: lakebed.Scan) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in scan.to_arrow().to_pylist()), key=repr)


def day(dt: str, *pairs: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Rows of one day: (k, v) or (k, v, s)."""
    return [{"k": pair[0], "v": pair[1], "s": pair[2] if len(pair) > 2 else 0, "dt": dt} for pair in pairs]


def deletes(dt: str, keys: Iterable[int], s: int = 0) -> list[dict[str, Any]]:
    """Delete records of one day, for ``write(..., row_kind="op")``."""
    return [{"k": k, "v": None, "s": s, "dt": dt, "op": "-D"} for k in keys]
