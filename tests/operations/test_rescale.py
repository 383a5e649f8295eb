"""Another number of buckets for rows that are there."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from lakebed import CommitConflictError, ExpressionError, Lake, OptionError, Table, UnsupportedError, changes
from lakebed.operations import rescale as rescale_module
from lakebed.operations.overwrite import replace_partitions


def buckets_of(table: Table) -> dict[str, set[tuple[int, int]]]:
    """Which buckets, out of how many, each partition has files in."""
    entries = table.scan()._parts[0].result.entries
    found: dict[str, set[tuple[int, int]]] = {}
    for row in zip(
        table.scan().plan().files["file_path"].to_pylist(),
        entries["bucket"].to_pylist(),
        entries["total_buckets"].to_pylist(),
        strict=True,
    ):
        found.setdefault(row[0].split("/")[-3], set()).add((row[1], row[2]))
    return found


def rows_of(table: Table) -> list[dict[str, Any]]:
    return sorted(table.scan().to_arrow().to_pylist(), key=lambda row: (row["id"], row["p"]))


@pytest.fixture(params=["keyed", "append", "vectors"])
def table(request: pytest.FixtureRequest, lake: Lake) -> Table:
    kinds: dict[str, Any] = {
        "keyed": {"primary_key": ["id", "p"], "options": {"bucket": "2"}},
        "append": {"options": {"bucket": "2", "bucket-key": "id"}},
        "vectors": {"primary_key": ["id", "p"], "options": {"bucket": "2", "deletion-vectors.enabled": "true"}},
    }
    made = lake.create_table("db.t", "id BIGINT, p STRING, v INT", partition_by=["p"], **kinds[request.param])
    for part in ("a", "b"):
        made.write(pa.table({"id": range(50), "p": [part] * 50, "v": pa.array(range(50), pa.int32())}))
    return made


def test_rows_stay_and_buckets_change(table: Table) -> None:
    before = rows_of(table)
    made = table.rescale(5, where="p = 'a'")
    assert made is not None
    assert made.commit_kind == "OVERWRITE"
    assert rows_of(table) == before
    found = buckets_of(table)
    assert found["p=a"] == {(bucket, 5) for bucket in range(5)}
    assert found["p=b"] == {(bucket, 2) for bucket in range(2)}
    assert table.options["bucket"] == "2"
    assert table.verify(deep=True).ok


def test_then_the_option_follows_and_writes_go_on(table: Table) -> None:
    table.rescale(3)
    table.alter(changes.SetOption("bucket", "3"))
    table.write(pa.table({"id": [7, 100], "p": ["a", "a"], "v": pa.array([70, 1], pa.int32())}))
    found = {(row["id"], row["v"]) for row in rows_of(table) if row["p"] == "a"}
    assert {(7, 70), (100, 1)} <= found
    assert ((7, 7) in found) == (not table.schema.primary_keys)
    assert table.verify(deep=True).ok


def test_without_a_number_the_option_counts(table: Table) -> None:
    table.alter(changes.SetOption("bucket", "4"))
    table.rescale()
    assert {total for places in buckets_of(table).values() for _, total in places} == {4}


def test_what_others_write_meanwhile_is_not_lost(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    real = replace_partitions

    def late(*arguments: Any) -> Any:
        table.write(pa.table({"id": [99], "p": ["a"], "v": pa.array([1], pa.int32())}))
        return real(*arguments)

    monkeypatch.setattr(rescale_module, "replace_partitions", late)
    with pytest.raises(CommitConflictError, match="rescale again"):
        table.rescale(3, where="p = 'a'")
    assert len(rows_of(table)) == 101
    assert table.verify(deep=True).ok
    monkeypatch.setattr(rescale_module, "replace_partitions", real)
    assert table.remove_orphan_files(older_than="0 s", dry_run=True).count == 0


def test_other_partitions_may_change_meanwhile(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    real = replace_partitions

    def late(*arguments: Any) -> Any:
        table.write(pa.table({"id": [99], "p": ["b"], "v": pa.array([1], pa.int32())}))
        return real(*arguments)

    monkeypatch.setattr(rescale_module, "replace_partitions", late)
    table.rescale(3, where="p = 'a'")
    assert len(rows_of(table)) == 101
    assert {total for _, total in buckets_of(table)["p=a"]} == {3}


def test_what_cannot_be(lake: Lake, table: Table) -> None:
    for number in (0, -1, True):
        with pytest.raises(OptionError, match="an integer of at least 1"):
            table.rescale(number)
    with pytest.raises(ExpressionError):
        table.rescale(3, where="id = 1")
    with pytest.raises(UnsupportedError, match=r"no fixed number of buckets.*-1 means that the number is dynamic"):
        lake.create_table("db.u", "id INT").rescale(3)
    assert lake.create_table("db.empty", "id INT", options={"bucket": "1", "bucket-key": "id"}).rescale(2) is None
    assert table.rescale(3, where="p = 'nowhere'") is None


def test_rows_that_no_reader_sees_yet_are_kept(lake: Lake) -> None:
    table = lake.create_table(
        "db.t", "id BIGINT, v STRING", primary_key=["id"], options={"bucket": "1", "deletion-vectors.enabled": "true"}
    )
    table.write([{"id": 1, "v": "one"}, {"id": 2, "v": "two"}])
    lake.table("db.t", options={"write-only": True}).write([{"id": 2, "v": "new"}, {"id": 3, "v": "three"}])
    assert table.scan().count() == 2
    table.rescale(2)
    rows = sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"])
    assert rows == [{"id": 1, "v": "one"}, {"id": 2, "v": "new"}, {"id": 3, "v": "three"}]
    assert table.verify(deep=True).ok


def test_rows_that_cannot_be_merged_in_advance_are_not_lost(lake: Lake) -> None:
    table = lake.create_table(
        "db.t", "id BIGINT, v STRING", primary_key=["id"], options={"bucket": "1", "merge-engine": "first-row"}
    )
    table.write([{"id": 1, "v": "one"}])
    lake.table("db.t", options={"write-only": True}).write([{"id": 2, "v": "two"}])
    with pytest.raises(UnsupportedError, match=r"compact\(\)"):
        table.rescale(2)
    table.compact()
    table.rescale(2)
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2]
