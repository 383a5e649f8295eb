"""Changelogs of compactions in tasks: the same as in process, and none is left of a compaction that failed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from tests.metadata.stores import files_below
from tests.spark.filled_tables import filled

from lakebed.errors import CommitConflictError
from lakebed.metadata.plan.file_scan import ScanMode, ScanRequest, scan
from lakebed.metadata.plan.interval import find_interval
from lakebed.metadata.store import TableStore
from lakebed.operations.compact import compact_keyed as compact_operation
from lakebed.operations.compact.compact_keyed import compact_keyed_table
from lakebed.spark.spark_engine import OnSpark
from lakebed.system_tables.change_logs import audit_log

Make = Callable[..., TableStore]
PRODUCERS = [
    {"changelog-producer": "lookup"},
    {"changelog-producer": "lookup", "deletion-vectors.enabled": "true"},
    {"changelog-producer": "full-compaction"},
]


def changelog(store: TableStore) -> list[str]:
    return sorted(map(str, audit_log(store, find_interval(store, 0, None, "changelog")).to_pylist()))


@pytest.mark.parametrize("options", PRODUCERS, ids=lambda options: " ".join(options.values()))
def test_the_same_as_in_process(options: dict[str, str], store: Make, spark: Any) -> None:
    here, there = filled(store, **options), filled(store, **options)
    compact_keyed_table(here, full=True)
    made = compact_keyed_table(there, full=True, engine=OnSpark(spark))
    assert made is not None
    assert changelog(there) == changelog(here) != []
    entries = scan(there, ScanRequest(snapshot=made, schema=there.schema(), mode=ScanMode.CHANGELOG)).entries
    assert made.changelog_record_count == pa.compute.sum(entries["row_count"]).as_py()
    assert len(entries) == 6  # two partitions of three buckets


def test_nothing_is_left_of_one_that_failed(store: Make, spark: Any) -> None:
    table = filled(store, **PRODUCERS[0])
    before = files_below(Path(table.paths.root))
    with (
        mock.patch.object(compact_operation, "commit", side_effect=CommitConflictError("another was faster")),
        pytest.raises(CommitConflictError),
    ):
        compact_keyed_table(table, full=True, engine=OnSpark(spark))
    assert files_below(Path(table.paths.root)) == before
