"""Manifests that Spark reads lead to the plan that reading them in process leads to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PythonException

from lakebed import Table
from lakebed.operations.read import BranchRead
from lakebed.spark.read.decode_manifests import ManifestJob, _parts
from lakebed.spark.read.read_frame import planned_on, to_spark

CONDITIONS = [None, "id > 4", "dt = 'b'", "id > 4 AND dt = 'a'", "id = 3", "id > 1000", "length(v) = 1 OR id = 2"]


@pytest.fixture
def changed(table: Callable[..., Table]) -> Table:
    """A table whose manifests hold adds and deletes of the same files."""
    made = table("id BIGINT, v STRING, dt STRING", partition_by=["dt"], options={"bucket": "2", "bucket-key": "id"})
    for number in range(5):
        made.write([{"id": number + more, "v": "v", "dt": "ab"[more]} for more in range(2)])
    made.delete("id = 3")
    made.overwrite([{"id": 77, "v": "z", "dt": "b"}], {"dt": "b"})
    return made


def part_of(made: Table, where: str | None = None) -> BranchRead:
    (part,) = made.scan(where=where)._parts
    assert isinstance(part, BranchRead)
    return part


def on_spark(spark: Any, part: BranchRead) -> BranchRead:
    return replace(part, read_manifests=ManifestJob(spark, job_files=1))


def test_plans_are_the_same(spark: Any, changed: Table) -> None:
    for where in CONDITIONS:
        part = part_of(changed, where)
        assert on_spark(spark, part).result.entries.equals(part.result.entries), where


def test_levels_and_buckets_of_keyed_tables(spark: Any, table: Callable[..., Table]) -> None:
    options = {"bucket": "3", "deletion-vectors.enabled": "true"}
    made = table("k INT, v INT", primary_key=["k"], options=options)
    for number in range(3):
        made.write([{"k": key, "v": number} for key in range(number, number + 9)])
    for where in (None, "k = 4", "v = 1"):
        part = part_of(made, where)
        assert on_spark(spark, part).result.entries.equals(part.result.entries), where


def test_small_tables_are_planned_in_process(changed: Table) -> None:
    part = part_of(changed)
    assert planned_on(None, part).result.entries.equals(part.result.entries), "no session was needed"


def test_a_plan_that_is_there_is_not_made_again(changed: Table) -> None:
    part = part_of(changed)
    assert planned_on(None, part) is not part
    assert len(part.result.entries)
    assert planned_on(None, part) is part


def test_a_manifest_that_is_gone_is_named(spark: Any, changed: Table) -> None:
    part = part_of(changed)
    assert part.snapshot is not None
    gone = part.store.manifests.base_and_delta(part.snapshot)[0].file_name
    Path(part.store.paths.manifest(gone)).unlink()
    with pytest.raises(PythonException, match=f"NotFoundError: manifest .*{gone} does not exist") as told:
        to_spark(spark, [on_spark(spark, part)])
    assert "File " not in str(told.value)


def test_manifests_are_packed_in_order(changed: Table) -> None:
    part = part_of(changed)
    assert part.snapshot is not None
    metas = part.store.manifests.base_and_delta(part.snapshot)
    large = [replace(metas[0], file_name=f"m{i}", file_size=3 * 1024 * 1024) for i in range(8)]
    packed = list(_parts(large))
    assert [len(pack) for pack in packed] == [3, 3, 2]
    assert [meta for pack in packed for meta in pack] == large
    small = [replace(metas[0], file_name=f"m{i}", file_size=1) for i in range(250)]
    assert [len(pack) for pack in _parts(small)] == [100, 100, 50]
