"""Partitions marked as done."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from tests.places import stored_path

from lakebed import DataError, Lake, OptionError, SchemaError, Table, UnsupportedError


@pytest.fixture
def table(lake: Lake) -> Table:
    made = lake.create_table("db.t", "id INT, d DATE, h INT", partition_by=["d", "h"])
    made.write(
        pa.table(
            {
                "id": pa.array([1], pa.int32()),
                "d": pa.array([19723], pa.int32()).cast(pa.date32()),
                "h": pa.array([5], pa.int32()),
            }
        )
    )
    return made


def test_the_file_lies_with_the_rows(table: Table) -> None:
    (path,) = table.mark_partitions_done([{"h": "5", "d": "2024-01-01"}])
    (data,) = table.scan().plan().files["file_path"].to_pylist()
    assert stored_path(path).parent == stored_path(data).parent.parent
    times = json.loads(stored_path(path).read_text())
    assert times["creationTime"] == times["modificationTime"] > 1_700_000_000_000
    assert table.scan().count() == 1
    assert table.verify().ok
    assert table.remove_orphan_files(older_than="0 s", dry_run=False, force=True).count == 0
    assert stored_path(path).exists()


def test_marking_again_keeps_the_first_time(table: Table) -> None:
    partition = {"d": "2024-01-01", "h": 5}
    (path,) = table.mark_partitions_done([partition])
    stored_path(path).write_text('{"creationTime": 12, "modificationTime": 12}')
    table.mark_partitions_done([partition])
    times = json.loads(stored_path(path).read_text())
    assert times["creationTime"] == 12
    assert times["modificationTime"] > 12
    stored_path(path).write_text("")
    table.mark_partitions_done([partition])
    assert json.loads(stored_path(path).read_text())["creationTime"] > 12


def test_several_or_none(table: Table) -> None:
    made = table.mark_partitions_done([{"d": "2024-01-01", "h": 5}, {"d": "2024-01-02", "h": None}])
    assert len(set(made)) == 2
    with pytest.raises(DataError, match="'h' is INT"):
        table.mark_partitions_done([{"d": "2024-01-03", "h": 1}, {"d": "2024-01-01", "h": "x"}])
    assert not list(stored_path(table.path).glob("d=19725/**/_SUCCESS"))  # the first is not marked either


def test_what_cannot_be(lake: Lake, table: Table) -> None:
    with pytest.raises(SchemaError, match="a value of each of d, h"):
        table.mark_partitions_done([{"d": "2024-01-01"}])
    with pytest.raises(OptionError, match="no partitions"):
        lake.create_table("db.u", "id INT").mark_partitions_done([{}])
    other = lake.create_table(
        "db.w",
        "id INT, d INT",
        partition_by=["d"],
        options={"partition.mark-done-action": "success-file,done-partition"},
    )
    with pytest.raises(UnsupportedError, match="success-file"):
        other.mark_partitions_done([{"d": 1}])
