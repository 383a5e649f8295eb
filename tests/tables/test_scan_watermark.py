"""Time travel by watermark: to the first snapshot that has it, or a higher one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest
from tests.places import delete_tree, stored_path

from lakebed import Lake, NotFoundError, Table
from lakebed.format.snapshot import snapshot_to_json


@pytest.fixture
def marked(table: Callable[..., Table]) -> Table:
    """Four snapshots: the first without a watermark, as some writers record it, and the last two with the same one."""
    made = table("id BIGINT")
    for number, watermark in enumerate([-(2**63), 100, 200, 200], 1):
        made.write(pa.table({"id": [number]}))
        snapshot = replace(made.snapshot(number), watermark=watermark)
        made._store.storage.replace(made._store.paths.snapshot(number), snapshot_to_json(snapshot).encode())
    delete_tree(stored_path(made._store.paths.history_index))  # its lines are of the snapshots as they were
    return made


@pytest.mark.parametrize(("watermark", "rows"), [(-5, 2), (0, 2), (100, 2), (101, 3), (200, 3)])
def test_the_first_snapshot_that_is_as_far(watermark: int, rows: int, marked: Table, lake: Lake) -> None:
    asking = lake.table(marked.name, options={"scan.watermark": str(watermark)})
    assert asking.scan().count() == rows
    assert marked.scan(version=f"watermark-{watermark}").count() == rows


def test_none_is_as_far(marked: Table) -> None:
    with pytest.raises(NotFoundError, match="no snapshot with a watermark of at least 201"):
        marked.scan(version="watermark-201")


def test_a_tag_of_such_a_name_wins(marked: Table) -> None:
    marked.create_tag("watermark-200", snapshot=1)
    assert marked.scan(version="watermark-200").count() == 1
    with pytest.raises(NotFoundError, match="no tag 'watermark-x'"):
        marked.scan(version="watermark-x")
