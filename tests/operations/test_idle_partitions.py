"""Only partitions that nobody has written to for some time are compacted."""

from __future__ import annotations

import datetime as dt
import time

import pytest

from lakebed import Lake, OptionError
from lakebed.format import predicate as pred
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.operations.compact.idle_partitions import idle_partitions
from lakebed.table.internals import store_of


def test_the_newest_file_of_a_partition_counts(lake: Lake) -> None:
    table = lake.create_table("db.t", "id INT, p STRING", partition_by=["p"])
    store = store_of(table)
    for part in ("a", "b", None, "a"):
        table.write([{"id": 1, "p": part}])
        time.sleep(0.005)
    latest = store.snapshots.latest()
    assert latest is not None
    b, null, a = sorted(live_entries(store, latest)["creation_time"].to_pylist())[1:]

    def idle(limit: dt.datetime) -> pred.Node:
        return idle_partitions(store, table.schema, dt.timedelta(days=1), now=limit + dt.timedelta(days=1))

    assert idle(b) == pred.FALSE
    assert pred.to_text(idle(null)) == "p = 'b'"
    assert pred.to_text(idle(a)) == "p = 'b' OR p IS NULL"


def test_a_compaction_of_idle_partitions(lake: Lake) -> None:
    table = lake.create_table("db.t", "id INT, p STRING", partition_by=["p"], options={"write-only": "true"})
    for _ in range(2):
        table.write([{"id": 1, "p": "a"}])
    assert table.compact(full=True, idle_for="1 d") is None
    time.sleep(0.005)
    assert table.compact(full=True, idle_for="0 s", where="p = 'b'") is None
    assert table.compact(full=True, idle_for="0 s", where="p = 'a'") is not None
    plain = lake.create_table("db.u", "id INT")
    with pytest.raises(OptionError, match="has no partitions"):
        plain.compact(idle_for="1 d")
    with pytest.raises(OptionError, match="idle_for is 'soon'"):
        table.compact(idle_for="soon")
