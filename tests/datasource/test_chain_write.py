"""Chain tables written by the data source and compacted by tasks: the same rules, the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.chain.days import Days, as_dict, new_table, partition
from tests.metadata.stores import files_below

from lakebed import Lake
from lakebed.datasource.batch_writer import TableWriter
from lakebed.errors import LakebedError
from lakebed.format.types.column_ddl import to_columns
from lakebed.format.types.spark_types import schema_to_spark
from lakebed.spark.write.write_mode import WriteMode


@pytest.fixture
def days(lake: Lake) -> Days:
    made = new_table(lake)
    made.load(1, {1: "a", 2: "b"})
    made.change(2, {2: "B", 3: "c"})
    made.change(3, {1: None, 4: "d"})
    return made


def write(days: Days, branch: str, day: int | str, values: dict[int, str], **mode: Any) -> None:
    """What Spark does with a writer of the data source, in this process."""
    rows = days.rows(1, values).drop(["op", "date"]).append_column("date", [[_date(day)] * len(values)])
    store = days.main.branch(branch)._store
    writer = TableWriter(store, schema_to_spark(to_columns("k bigint, v string, date string")), WriteMode(**mode))
    messages = [writer.write(iter(rows.to_batches()))]
    try:
        writer.commit(messages)
    except LakebedError:
        writer.abort(messages)
        raise


def _date(day: int | str) -> str:
    return day if isinstance(day, str) else f"202508{day:02d}"


def test_the_data_source_keeps_to_the_rules(days: Days, tmp_path: Path) -> None:
    days.main.compact_chain(where="date > '20250801'")
    before = files_below(tmp_path)
    with pytest.raises(LakebedError, match="not a time of the form"):
        write(days, "delta", "someday", {1: "x"})
    with pytest.raises(LakebedError, match="date=20250801 cannot be dropped"):
        write(days, "snapshot", 9, {1: "x"}, overwrite=True, dynamic=False)
    with pytest.raises(LakebedError, match="names no day, so it would also remove date=20250803"):
        write(days, "delta", 2, {1: "x"}, overwrite=True, dynamic=False)
    assert files_below(tmp_path) - before == set()
    write(days, "delta", 2, {9: "i"}, overwrite=True, dynamic=True)
    assert days.days("snapshot") == [1, 3]
    assert days.stale() == [3]
    assert days.view(3) == {2: "b", 4: "d", 9: "i"}


def test_compaction_in_tasks(spark: Any, days: Days) -> None:
    view = days.view(3)
    done = days.main.compact_chain(partition(3), spark=spark)
    assert [one.rows for one in done.built] == [len(view)]
    assert as_dict(days.full.scan(where="date = '20250803'").to_arrow()) == view == days.view(3)
    levels = days.lake.system_table("db.t$branch_snapshot$files").scan(["level"]).to_arrow()["level"].to_pylist()
    assert 0 not in levels
    days.overwrite_changes(2, {9: "i"})
    assert days.stale() == [3]
    days.main.compact_chain(policy={"depth": 2}, spark=spark)
    assert days.view(3) == {2: "b", 4: "d", 9: "i"}
    assert days.stale() == []
