"""``t$snapshots`` in SQL opens the snapshots that its conditions select, and returns what they return without that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lakebed import Lake
from lakebed.metadata.history.history_index import forget_indexes
from lakebed.metadata.snapshots import Snapshots

COUNT = 40


def test_conditions_save_reads(spark: Any, lake: Lake, db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = lake.create_table(f"{db}.t", "id INT")
    for number in range(COUNT):
        table.write([{"id": number}])
    table.compact(full=True)
    every = lake.sql(f"SELECT * FROM {db}.`t$snapshots`").collect()
    assert len(every) == COUNT + 1
    third = every[2]["commit_time"]
    opened: list[int] = []
    text = Snapshots._text

    def counted(self: Snapshots, snapshot_id: int) -> bytes | None:
        opened.append(snapshot_id)
        return text(self, snapshot_id)

    monkeypatch.setattr(Snapshots, "_text", counted)
    cases: list[tuple[str, Callable[[Any], bool]]] = [
        ("snapshot_id = 7", lambda one: one["snapshot_id"] == 7),
        ("snapshot_id BETWEEN 10 AND 12", lambda one: 10 <= one["snapshot_id"] <= 12),
        ("commit_kind = 'COMPACT'", lambda one: one["commit_kind"] == "COMPACT"),
        (f"commit_time <= TIMESTAMP_NTZ '{third}'", lambda one: one["commit_time"] <= third),
        ("upper(commit_kind) = 'COMPACT' AND snapshot_id > 30", lambda one: one["commit_kind"] == "COMPACT"),
    ]
    for condition, model in cases:
        forget_indexes()
        opened.clear()
        found = lake.sql(f"SELECT * FROM {db}.`t$snapshots` WHERE {condition}").collect()
        assert found == [one for one in every if model(one)], condition
        assert len(set(opened)) <= max(len(found), 11) + 2, condition
    assert lake.sql(f"SELECT count(*) FROM {db}.`t$snapshots` WHERE snapshot_id < 0").collect()[0][0] == 0
