"""Streams of tables that Spark finds by their names in the attached catalog."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException

from lakebed import Lake

Rows = list[tuple[Any, ...]]


def run(frame: Any, checkpoint: Path, target: str, **more: Any) -> list[int]:
    """Write what there is to a table; how many rows each batch had."""
    writer = frame.writeStream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    query = writer.outputMode(more.get("mode", "append")).toTable(target)
    query.awaitTermination()
    return [step["numInputRows"] for step in query.recentProgress if step["numInputRows"]]


def rows_of(lake: Lake, name: str) -> Rows:
    return sorted(tuple(row.values()) for row in lake.table(name).scan().to_arrow().to_pylist())


def test_from_a_table_into_a_table_by_their_names(spark: Any, lake: Lake, db: str, tmp_path: Path) -> None:
    columns = "id BIGINT NOT NULL, v STRING"
    source = lake.create_table(f"{db}.source", columns, primary_key=["id"], options={"bucket": "2"})
    lake.create_table(f"{db}.target", columns, primary_key=["id"], options={"bucket": "1"})
    source.write([{"id": 1, "v": "a"}, {"id": 2, "v": "b"}])

    def copy(**options: str) -> list[int]:
        frame = spark.readStream.options(**options).table(f"lakebed.{db}.source")
        assert frame.isStreaming
        assert frame.columns == ["id", "v"]
        return run(frame, tmp_path / "checkpoint", f"lakebed.{db}.target")

    assert copy() == [2]
    source.write([{"id": 2, "v": "c"}])
    source.write([{"id": 3, "v": "d"}])
    assert copy(**{"read.stream.maxSnapshotsPerTrigger": "1"}) == [1, 1]
    assert copy() == []
    assert rows_of(lake, f"{db}.target") == [(1, "a"), (2, "c"), (3, "d")]
    users = [snapshot.commit_user for snapshot in lake.table(f"{db}.target").snapshots()]
    assert len(users) == 3
    assert len(set(users)) == 1, "the commits of one query, so that none is made twice"


def test_complete_results_and_branches(spark: Any, lake: Lake, db: str, tmp_path: Path) -> None:
    source = lake.create_table(f"{db}.source", "id BIGINT, v STRING")
    lake.create_table(f"{db}.sums", "v STRING, count BIGINT")
    source.create_branch("other")
    source.branch("other").write([{"id": 1, "v": "a"}, {"id": 2, "v": "b"}, {"id": 3, "v": "a"}])
    source.write([{"id": 9, "v": "on main"}])
    for _ in range(2):
        counted = spark.readStream.table(f"lakebed.{db}.`source$branch_other`").groupBy("v").count()
        run(counted, tmp_path / "checkpoint", f"lakebed.{db}.sums", mode="complete")
        source.branch("other").write([{"id": 4, "v": "b"}])
    assert rows_of(lake, f"{db}.sums") == [("a", 2), ("b", 2)]


def test_what_is_no_stream_by_name(spark: Any, lake: Lake, db: str, tmp_path: Path) -> None:
    lake.create_table(f"{db}.t", "id BIGINT")
    with pytest.raises(AnalysisException, match="does not support either micro-batch or continuous scan"):
        spark.readStream.table(f"lakebed.{db}.`t$audit_log`")
    frame = spark.readStream.option("columns", "id").table(f"lakebed.{db}.t")
    with pytest.raises(Exception, match="unknown option 'columns'"):
        run(frame, tmp_path / "checkpoint", f"lakebed.{db}.t")
