"""Tables written, read and compacted by executors that are processes of their own, and that lack lakebed until it is
sent.

Each table has a twin that this process writes; the two hold the same rows after every step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest
from tests.spark_cluster import work
from tests.spark_cluster.checks import COLUMNS, problems, rows, same_rows
from tests.spark_cluster.drivers import Cluster

from lakebed import Lake, Table
from lakebed.errors import DataError
from lakebed.version import VERSION


def test_workers_are_sent_the_package(cluster: Cluster) -> None:
    assert cluster.versions == {"ModuleNotFoundError: No module named 'lakebed'"}
    cluster.driver.run(work.ship)
    assert cluster.driver.run(work.versions) == {VERSION}


@dataclass(frozen=True)
class Layout:
    """How a table is made, and who reads it before and after it is compacted: Spark alone, or our kernels."""

    name: str
    made: dict[str, Any] = field(default_factory=dict)
    native: tuple[bool, bool] = (True, True)


KEYED = {"primary_key": ["p", "k"], "partition_by": ["p"]}
UPSERTS = {**KEYED, "options": {"bucket": "2", "write-only": "true"}}
VECTORS = {**KEYED, "options": {"bucket": "2", "deletion-vectors.enabled": "true"}}
APPEND = Layout("append")
PARTITIONS = Layout("append in partitions", {"partition_by": ["p"]})
UPSERT = Layout("upsert in partitions", UPSERTS, native=(False, True))
MARKED = Layout("deletion vectors", VECTORS, native=(False, True))
PLAYED = [
    *(("local_cluster", layout) for layout in (APPEND, PARTITIONS, UPSERT, MARKED)),
    *(("standalone", layout) for layout in (PARTITIONS, UPSERT)),
]


@pytest.mark.parametrize(
    ("cluster", "layout"), PLAYED, ids=lambda value: getattr(value, "name", value), indirect=["cluster"]
)
def test_the_same_as_in_process(layout: Layout, cluster: Cluster, lake: Lake) -> None:
    here, there = (lake.create_table(f"db.{name}", COLUMNS, **layout.made) for name in ("here", "there"))
    place = (lake.warehouse, "db.there")
    run = cluster.driver.run
    for numbers in (range(100), range(90, 110)):
        here.write(rows(numbers))
        run(work.write, *place, rows(numbers))
        check_alike(cluster, here, there, lake)
    assert run(work.is_native, *place) is layout.native[0]
    here.overwrite(rows(range(200, 230), partitions=2))
    run(work.write, *place, rows(range(200, 230), partitions=2), overwrite=True)
    check_alike(cluster, here, there, lake)
    made, reports = run(work.compact, *place)
    assert (made is None) == (here.compact(full=True) is None)
    if made is not None:
        assert reports[-1][0] == reports[-1][1] > 0
    check_alike(cluster, here, there, lake)
    assert run(work.is_native, *place) is layout.native[1]
    assert problems(there, deep=True) == []
    check_source(cluster, here, there, lake)


def check_alike(cluster: Cluster, here: Table, there: Table, lake: Lake) -> None:
    wanted = here.scan().to_arrow()
    assert same_rows(there.scan().to_arrow()) == same_rows(wanted)
    found = cluster.driver.run(work.read, lake.warehouse, "db.there")
    assert found.column_names == wanted.column_names
    assert same_rows(found) == same_rows(wanted)


def check_source(cluster: Cluster, here: Table, there: Table, lake: Lake) -> None:
    """The data source, whose halves run near the driver and in executors."""
    place = (lake.warehouse, "db.there")
    here.write(rows(range(300, 310)))
    cluster.driver.run(work.source_write, *place, rows(range(300, 310)))
    found = cluster.driver.run(work.source_read, *place, columns="v, k", where="p < 2")
    assert found.column_names == ["v", "k"]
    assert same_rows(found) == same_rows(here.scan(["v", "k"], "p < 2").to_arrow())
    if here.schema.partition_keys:
        options = {"partitionOverwriteMode": "dynamic"}
        here.overwrite(rows(range(400, 410), partitions=1))
        cluster.driver.run(work.source_write, *place, rows(range(400, 410), partitions=1), "overwrite", **options)
    assert same_rows(there.scan().to_arrow()) == same_rows(here.scan().to_arrow())
    assert problems(there, deep=True) == []


def test_bad_input_is_told_in_our_words(local_cluster: Cluster, lake: Lake) -> None:
    table = lake.create_table("db.t", "k INT, v INT", primary_key=["k"], options={"bucket": "2"})
    wrong = pa.table({"k": pa.array([1, 2**40]), "v": pa.array([1, 2])})
    with pytest.raises(DataError, match=r"^column 'k' of table db\.t: a value does not fit INT"):
        local_cluster.driver.run(work.write, lake.warehouse, "db.t", wrong)
    assert table.latest_snapshot() is None
    assert problems(table) == []
