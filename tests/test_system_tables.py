"""System tables: Paimon's columns in Paimon's order, and the values that its own system tables show."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.places import copy_tree, stored_path

import lakebed
from lakebed import changes
from lakebed.errors import ExpressionError, NotFoundError, UnsupportedError
from lakebed.system_tables import SYSTEM_TABLES

COLUMNS: dict[str, list[str]] = {
    "snapshots": [
        "snapshot_id", "schema_id", "commit_user", "commit_identifier", "commit_kind", "commit_time",
        "base_manifest_list", "delta_manifest_list", "changelog_manifest_list", "total_record_count",
        "delta_record_count", "changelog_record_count", "watermark", "next_row_id", "operation", "writer_version",
    ],
    "schemas": ["schema_id", "fields", "partition_keys", "primary_keys", "options", "comment", "update_time"],
    "options": ["key", "value"],
    "files": [
        "partition", "bucket", "file_path", "file_format", "schema_id", "level", "record_count", "file_size_in_bytes",
        "min_key", "max_key", "null_value_counts", "min_value_stats", "max_value_stats", "min_sequence_number",
        "max_sequence_number", "creation_time", "deleteRowCount", "file_source", "first_row_id", "write_cols",
    ],
    "manifests": [
        "file_name", "file_size", "num_added_files", "num_deleted_files", "schema_id", "min_partition_stats",
        "max_partition_stats", "min_row_id", "max_row_id", "min_bucket", "max_bucket", "min_level", "max_level",
    ],
    "partitions": [
        "partition", "record_count", "file_size_in_bytes", "file_count", "last_update_time", "created_at",
        "created_by", "updated_by", "options", "total_buckets", "done", "deleted_record_count",
    ],
    "buckets": ["partition", "bucket", "record_count", "file_size_in_bytes", "file_count", "last_update_time"],
    "tags": ["tag_name", "snapshot_id", "schema_id", "commit_time", "record_count", "create_time", "time_retained"],
    "branches": ["branch_name", "create_time"],
    "consumers": ["consumer_id", "next_snapshot_id"],
    "statistics": ["snapshot_id", "schema_id", "mergedRecordCount", "mergedRecordSize", "colstat"],
    "file_key_ranges": [
        "partition", "bucket", "file_path", "file_format", "schema_id", "level", "record_count", "file_size_in_bytes",
        "min_key", "max_key", "first_row_id",
    ],
    "table_indexes": [
        "partition", "bucket", "index_type", "file_name", "file_size", "row_count", "dv_ranges", "row_range_start",
        "row_range_end", "index_field_id", "index_field_name",
    ],
    "aggregation_fields": ["field_name", "field_type", "function", "function_options", "comment"],
}  # fmt: skip
ROW_TABLES = {"audit_log", "binlog", "ro"}
MILLIS = pa.timestamp("ms")
TYPES = {
    "snapshot_id": pa.int64(), "schema_id": pa.int64(), "commit_identifier": pa.int64(), "commit_time": MILLIS,
    "total_record_count": pa.int64(), "watermark": pa.int64(), "update_time": MILLIS, "bucket": pa.int32(),
    "level": pa.int32(), "record_count": pa.int64(), "file_size_in_bytes": pa.int64(), "creation_time": MILLIS,
    "deleteRowCount": pa.int64(), "write_cols": pa.list_(pa.string()), "num_added_files": pa.int64(),
    "file_count": pa.int64(), "last_update_time": MILLIS, "created_at": MILLIS, "total_buckets": pa.int32(),
    "done": pa.bool_(), "deleted_record_count": pa.int64(), "create_time": MILLIS, "time_retained": pa.string(),
    "commit_user": pa.string(), "partition": pa.string(), "min_key": pa.string(), "min_value_stats": pa.string(),
    "first_row_id": pa.int64(), "next_snapshot_id": pa.int64(), "min_row_id": pa.int64(), "options": pa.string(), "operation": pa.string(),
}  # fmt: skip


@pytest.fixture
def table(lake: lakebed.Lake) -> lakebed.Table:
    """Three snapshots: two writes, an ALTER, an overwrite of one partition."""
    made = lake.create_table(
        "db.t",
        "v INT, s STRING, d DATE, p STRING, h INT",
        partition_by=["p", "h"],
        options={"target-file-size": "1 mb"},
        comment="told",
    )
    rows: list[dict[str, Any]] = [
        {"v": 1, "s": "a", "d": dt.date(2024, 1, 2), "p": "x", "h": 1},
        {"v": 2, "s": None, "d": None, "p": "x", "h": 1},
        {"v": 3, "s": "c", "d": dt.date(2024, 1, 3), "p": None, "h": 2},
    ]
    made.write(rows)
    made.write([rows[0] | {"v": 4, "p": " "}])
    made.alter(changes.AddColumn("n", "INT"), changes.UpdateComment(None))
    made.overwrite([rows[0] | {"v": 5, "n": 6}])
    return made


def rows_of(lake: lakebed.Lake, name: str, *args: Any, **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lake.system_table(name).scan(*args, **more).to_arrow().to_pylist()
    return found


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("filled", [True, False])
def test_columns_are_paimons(lake: lakebed.Lake, table: lakebed.Table, name: str, filled: bool) -> None:
    if not filled:
        lake.create_table("db.empty", "v INT")
    found = lake.system_table(f"db.{'t' if filled else 'empty'}${name}").scan().to_arrow()
    assert found.column_names == COLUMNS[name]
    for field in found.schema:
        assert field.type == TYPES.get(field.name, field.type), field
    always = {"schemas", "aggregation_fields"}
    assert (found.num_rows == 0) == (
        name in {"tags", "branches", "consumers", "table_indexes", "statistics"} or (not filled and name not in always)
    )


def test_all_of_them_are_known() -> None:
    assert {*COLUMNS, *ROW_TABLES, "chain"} == set(SYSTEM_TABLES)  # tests/chain/test_read.py has that one


def test_snapshots(lake: lakebed.Lake, table: lakebed.Table) -> None:
    found = rows_of(lake, "db.t$snapshots")
    assert [row["snapshot_id"] for row in found] == [1, 2, 3]
    assert [row["schema_id"] for row in found] == [0, 0, 1]
    assert [row["commit_kind"] for row in found] == ["APPEND", "APPEND", "OVERWRITE"]
    assert [row["total_record_count"] for row in found] == [3, 4, 3]
    assert [row["delta_record_count"] for row in found] == [3, 1, -1]
    for row, snapshot in zip(found, table.snapshots(), strict=True):
        assert row["commit_time"] == dt.datetime.fromtimestamp(snapshot.time_millis / 1000)
        assert row["commit_identifier"] == 2**63 - 1
        assert (row["base_manifest_list"], row["delta_manifest_list"]) == (
            snapshot.base_manifest_list,
            snapshot.delta_manifest_list,
        )
        assert row["writer_version"] == f"lakebed-{lakebed.__version__}"
        assert row["commit_user"] == snapshot.commit_user
        nothing = ("changelog_manifest_list", "changelog_record_count", "watermark", "operation")
        assert [row[name] for name in nothing] == [None] * 4
    table.truncate()
    assert rows_of(lake, "db.t$snapshots", ["operation"], "snapshot_id = 4") == [{"operation": "TRUNCATE"}]


def test_schemas(lake: lakebed.Lake, table: lakebed.Table) -> None:
    first, second = rows_of(lake, "db.t$schemas")
    assert (first["schema_id"], first["comment"]) == (0, "told")
    assert (second["schema_id"], second["comment"]) == (1, None)
    assert first["partition_keys"] == '["p","h"]'
    assert first["primary_keys"] == "[]"
    assert first["options"] == '{"target-file-size":"1 mb"}'
    assert json.loads(first["fields"])[0] == {"id": 0, "name": "v", "type": "INT"}
    assert second["fields"].endswith('{"id":5,"name":"n","type":"INT"}]')
    assert second["update_time"] == dt.datetime.fromtimestamp(table.schema.time_millis / 1000)


def test_options(lake: lakebed.Lake, table: lakebed.Table) -> None:
    assert rows_of(lake, "db.t$options") == [{"key": "target-file-size", "value": "1 mb"}]


def test_files(lake: lakebed.Lake, table: lakebed.Table) -> None:
    found = {row["partition"]: row for row in rows_of(lake, "db.t$files")}
    assert sorted(found) == ["{ , 1}", "{null, 2}", "{x, 1}"]
    new, old = found["{x, 1}"], found["{null, 2}"]
    assert (new["schema_id"], old["schema_id"]) == (1, 0)
    assert new["null_value_counts"] == "{d=0, h=0, n=0, p=0, s=0, v=0}"
    assert new["min_value_stats"] == new["max_value_stats"] == "{d=19724, h=1, n=6, p=x, s=a, v=5}"
    assert old["null_value_counts"] == "{d=0, h=0, n=1, p=1, s=0, v=0}"  # n came later: all null
    assert old["min_value_stats"] == "{d=19725, h=2, n=null, p=null, s=c, v=3}"
    for row in found.values():
        path = stored_path(row["file_path"])
        assert path.is_file()
        assert row["file_size_in_bytes"] == path.stat().st_size
        assert (row["file_format"], row["file_source"], row["level"], row["bucket"]) == ("parquet", "APPEND", 0, 0)
        assert (row["record_count"], row["deleteRowCount"]) == (1, 0)
        assert (row["min_sequence_number"], row["max_sequence_number"]) == (0, 0)
        assert [row[name] for name in ("min_key", "max_key", "first_row_id", "write_cols")] == [None] * 4
    assert "/p=__DEFAULT_PARTITION__/h=2/bucket-0/" in old["file_path"]


def test_statistics_are_shown_as_java_holds_them(lake: lakebed.Lake) -> None:
    ddl = "b BOOLEAN, d DATE, e DECIMAL(6, 2), f DOUBLE, m TIME(3), t TIMESTAMP(6), a ARRAY<INT>, y BYTES"
    made = lake.create_table("db.kinds", ddl, options={"metadata.stats-mode": "full"})
    row = {
        "b": True, "d": dt.date(2024, 1, 2), "e": 1, "f": 1e10, "m": dt.time(1, 2, 3, 4000),
        "t": dt.datetime(2024, 1, 2, 3, 4, 5, 678901), "a": [1], "y": b"x",
    }  # fmt: skip
    made.write([row])
    (found,) = rows_of(lake, "db.kinds$files")
    assert found["partition"] == "{}"
    assert found["min_value_stats"] == (
        "{a=null, b=true, d=19724, e=1.00, f=1.0E10, m=3723004, t=2024-01-02T03:04:05.678901, y=x}"
    )
    assert found["null_value_counts"] == "{a=null, b=0, d=0, e=0, f=0, m=0, t=0, y=0}"


def test_manifests(lake: lakebed.Lake, table: lakebed.Table) -> None:
    found = rows_of(lake, "db.t$manifests")
    assert [(row["num_added_files"], row["num_deleted_files"], row["schema_id"]) for row in found] == [
        (2, 0, 0),
        (1, 0, 0),
        (1, 1, 1),
    ]
    assert [(row["min_partition_stats"], row["max_partition_stats"]) for row in found] == [
        ("{x, 1}", "{x, 2}"),
        ("{ , 1}", "{ , 1}"),
        ("{x, 1}", "{x, 1}"),
    ]
    for row in found:
        assert row["file_size"] == (stored_path(table.path) / "manifest" / row["file_name"]).stat().st_size
        assert (row["min_row_id"], row["max_row_id"]) == (None, None)
        assert 0 <= row["min_bucket"] <= row["max_bucket"]
        assert 0 <= row["min_level"] <= row["max_level"]
    lake.create_table("db.plain", "v INT").write([{"v": 1}])
    assert rows_of(lake, "db.plain$manifests", ["min_partition_stats"]) == [{"min_partition_stats": "{}"}]


def test_partitions(lake: lakebed.Lake, table: lakebed.Table) -> None:
    table.write([{"v": 9, "s": None, "d": None, "p": "x", "h": 1, "n": None}] * 2)
    found = rows_of(lake, "db.t$partitions")
    counts = {row["partition"]: (row["record_count"], row["file_count"]) for row in found}
    assert counts == {
        "p=__DEFAULT_PARTITION__/h=1": (1, 1),
        "p=__DEFAULT_PARTITION__/h=2": (1, 1),
        "p=x/h=1": (3, 2),
    }
    files = rows_of(lake, "db.t$files")
    for row in found:
        assert (row["total_buckets"], row["done"], row["deleted_record_count"]) == (-1, False, 0)
        assert [row[name] for name in ("created_at", "created_by", "updated_by", "options")] == [None] * 4
    mine = [row for row in files if row["partition"] == "{x, 1}"]
    (x,) = (row for row in found if row["partition"] == "p=x/h=1")
    assert x["last_update_time"] == max(row["creation_time"] for row in mine)
    assert x["file_size_in_bytes"] == sum(row["file_size_in_bytes"] for row in mine)
    lake.create_table("db.plain", "v INT").write([{"v": 1}])
    assert rows_of(lake, "db.plain$partitions", ["partition", "record_count"]) == [{"partition": "", "record_count": 1}]


def test_buckets(lake: lakebed.Lake, table: lakebed.Table) -> None:
    assert [(row["partition"], row["bucket"], row["record_count"]) for row in rows_of(lake, "db.t$buckets")] == [
        ("{ , 1}", 0, 1),
        ("{null, 2}", 0, 1),
        ("{x, 1}", 0, 1),
    ]
    fixed = lake.create_table("db.fixed", "v INT", options={"bucket": "3", "bucket-key": "v"})
    fixed.write(pa.table({"v": pa.array(range(50), pa.int32())}))
    found = rows_of(lake, "db.fixed$buckets")
    assert [(row["partition"], row["bucket"], row["file_count"]) for row in found] == [("{}", i, 1) for i in range(3)]
    assert sum(row["record_count"] for row in found) == 50
    assert rows_of(lake, "db.fixed$partitions", ["total_buckets"]) == [{"total_buckets": 3}]


def test_tags(lake: lakebed.Lake, table: lakebed.Table) -> None:
    root = stored_path(table.path)
    raw = json.loads((root / "snapshot/snapshot-1").read_text())
    (root / "tag").mkdir()
    (root / "tag/tag-plain").write_text(json.dumps(raw))
    timed = raw | {"tagCreateTime": [2026, 11, 15, 15, 31, 26, 812940531], "tagTimeRetained": 86400.0}
    (root / "tag/tag-timed").write_text(json.dumps(timed))
    short = raw | {"tagCreateTime": [2026, 1, 2, 3, 4], "tagTimeRetained": 3661.5}
    (root / "tag/tag-short").write_text(json.dumps(short))
    common = {
        "snapshot_id": 1,
        "schema_id": 0,
        "commit_time": dt.datetime.fromtimestamp(raw["timeMillis"] / 1000),
        "record_count": 3,
    }
    found = {row.pop("tag_name"): row for row in rows_of(lake, "db.t$tags")}
    assert found == {
        "plain": common | {"create_time": None, "time_retained": None},
        "timed": common | {"create_time": dt.datetime(2026, 11, 15, 15, 31, 26, 812000), "time_retained": "PT24H"},
        "short": common | {"create_time": dt.datetime(2026, 1, 2, 3, 4), "time_retained": "PT1H1M1.5S"},
    }


def test_branches(lake: lakebed.Lake, table: lakebed.Table) -> None:
    root = stored_path(table.path)
    for name in ("b2", "b1"):
        copy_tree(root / "schema", root / f"branch/branch-{name}/schema")
    found = rows_of(lake, "db.t$branches")
    assert [row["branch_name"] for row in found] == ["b1", "b2"]
    assert all(abs(row["create_time"] - dt.datetime.now()) < dt.timedelta(minutes=1) for row in found)


def test_consumers_are_those_of_the_branch(lake: lakebed.Lake, table: lakebed.Table) -> None:
    table.reset_consumer("nightly", 2)
    table.reset_consumer("at the end")
    table.create_branch("b").reset_consumer("elsewhere", 7)
    assert rows_of(lake, "db.t$consumers") == [
        {"consumer_id": "at the end", "next_snapshot_id": 4},
        {"consumer_id": "nightly", "next_snapshot_id": 2},
    ]
    assert rows_of(lake, "db.t$branch_b$consumers") == [{"consumer_id": "elsewhere", "next_snapshot_id": 7}]
    table.drop_consumer("nightly")
    assert [row["consumer_id"] for row in rows_of(lake, "db.t$consumers")] == ["at the end"]


def test_some_columns_and_some_rows(lake: lakebed.Lake, table: lakebed.Table) -> None:
    found = rows_of(lake, "db.t$snapshots", ["commit_kind", "snapshot_id"], where="snapshot_id >= 2")
    assert [list(row.items()) for row in found] == [
        [("commit_kind", "APPEND"), ("snapshot_id", 2)],
        [("commit_kind", "OVERWRITE"), ("snapshot_id", 3)],
    ]
    assert len(rows_of(lake, "db.t$files", where="partition = '{x, 1}' AND record_count > 0")) == 1
    assert len(rows_of(lake, "db.t$files", where="write_cols IS NULL")) == 3
    assert rows_of(lake, "db.t$partitions", ["partition"], "done") == []
    year = dt.date.today().year
    assert len(rows_of(lake, "db.t$snapshots", where=f"commit_time > TIMESTAMP_NTZ '{year - 1}-01-01 00:00:00'")) == 3
    with pytest.raises(NotFoundError, match=r"unknown column 'commit_knd' in table db\.t\$snapshots; did you mean"):
        rows_of(lake, "db.t$snapshots", ["commit_knd"])
    with pytest.raises(ExpressionError, match="unknown column 'nope'"):
        rows_of(lake, "db.t$snapshots", where="nope = 1")


def test_other_forms(lake: lakebed.Lake, table: lakebed.Table) -> None:
    scan = lake.system_table("db.t$options").scan()
    assert isinstance(scan.to_pandas(), pd.DataFrame)
    assert isinstance(scan.to_polars(), pl.DataFrame)
    assert scan.to_polars().to_dicts() == scan.to_arrow().to_pylist()
    assert lake.system_table("db.t$options").name == "db.t$options"


# ------------------------------------------------------------------------------------------------ primary-key tables


@pytest.fixture
def keyed(lake: lakebed.Lake) -> lakebed.Table:
    """Key 1 is compacted, key 2 was updated since, key 3 was deleted since, key 4 came and went."""
    made = lake.create_table("db.k", "k INT, v INT", primary_key=["k"], options={"bucket": 1, "write-only": True})
    made.write([{"k": k, "v": 10 * k} for k in (1, 2, 3)])
    made.compact(full=True)
    made.write([{"k": 2, "v": 21}])
    kinds = pa.table({"k": pa.array([3, 4], pa.int32()), "v": pa.array([30, 40], pa.int32()), "op": ["-D", "-D"]})
    made.write(kinds, row_kind="op")
    return made


def test_ro_shows_what_is_compacted(lake: lakebed.Lake, keyed: lakebed.Table) -> None:
    assert rows_of(lake, "db.k$ro") == [{"k": 1, "v": 10}, {"k": 2, "v": 20}, {"k": 3, "v": 30}]
    assert len(rows_of(lake, "db.k$ro", where="k > 1")) == 2


def test_audit_log_shows_kinds_and_deletes_not_dropped_yet(lake: lakebed.Lake, keyed: lakebed.Table) -> None:
    found = sorted(rows_of(lake, "db.k$audit_log"), key=lambda row: row["k"])
    assert [(row["rowkind"], row["k"], row["v"]) for row in found] == [
        ("+I", 1, 10),
        ("+I", 2, 21),
        ("-D", 3, 30),
        ("-D", 4, 40),
    ]
    keyed.compact(full=True)
    assert sorted(row["k"] for row in rows_of(lake, "db.k$audit_log")) == [1, 2]


def test_row_tables_of_append_tables_and_empty_ones(lake: lakebed.Lake, table: lakebed.Table) -> None:
    assert len(rows_of(lake, "db.t$ro")) == len(table.scan().to_arrow())
    assert {row["rowkind"] for row in rows_of(lake, "db.t$audit_log")} == {"+I"}
    for options in ({}, {"bucket": 1}):
        name = f"db.e{len(options)}"
        lake.create_table(name, "k INT, v INT", primary_key=["k"] if options else [], options=options)
        assert rows_of(lake, f"{name}$ro") == rows_of(lake, f"{name}$audit_log") == []


def test_files_and_buckets_of_keyed_tables(lake: lakebed.Lake, keyed: lakebed.Table) -> None:
    found = rows_of(lake, "db.k$files", columns=["level", "min_key", "max_key", "deleteRowCount", "file_source"])
    assert sorted(tuple(row.values()) for row in found) == [
        (0, "[2]", "[2]", 0, "APPEND"),
        (0, "[3]", "[4]", 2, "APPEND"),
        (5, "[1]", "[3]", 0, "APPEND"),  # alone in its bucket, it was only lifted
    ]
    assert [row["max_key"] for row in rows_of(lake, "db.k$file_key_ranges", where="level = 5")] == ["[3]"]
    assert [(row["bucket"], row["record_count"]) for row in rows_of(lake, "db.k$buckets")] == [(0, 6)]


def test_table_indexes_lists_deletion_vectors(lake: lakebed.Lake) -> None:
    options = {"bucket": 1, "deletion-vectors.enabled": True}
    made = lake.create_table("db.dv", "k INT, p STRING", primary_key=["k", "p"], partition_by=["p"], options=options)
    made.write([{"k": k, "p": "a"} for k in range(5)])
    made.write([{"k": 1, "p": "a"}])
    (index,) = rows_of(lake, "db.dv$table_indexes")
    assert (index["partition"], index["bucket"], index["index_type"], index["row_count"]) == (
        "{a}",
        0,
        "DELETION_VECTORS",
        1,
    )
    assert [vector["_CARDINALITY"] for vector in index["dv_ranges"]] == [1]
    assert rows_of(lake, "db.dv$partitions")[0]["deleted_record_count"] == 1


def test_aggregation_fields(lake: lakebed.Lake) -> None:
    lake.create_table(
        "db.agg",
        "k INT, v INT COMMENT 'told', w INT",
        primary_key=["k"],
        options={"bucket": 1, "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
    )
    assert [tuple(row.values()) for row in rows_of(lake, "db.agg$aggregation_fields")] == [
        ("k", "INT NOT NULL", "[]", "[]", None),
        ("v", "INT", "[sum]", "[fields.v.aggregate-function]", "told"),
        ("w", "INT", "[]", "[]", None),
    ]


def test_earlier_versions(lake: lakebed.Lake) -> None:
    table = lake.create_table("db.versions", "id BIGINT, p STRING", partition_by=["p"])
    table.write(pa.table({"id": [1], "p": ["x"]}))
    table.create_tag("one")
    table.alter(changes.AddColumn("n", "INT"))
    table.write(pa.table({"id": [2, 3], "p": ["x", "y"], "n": pa.array([1, 2], pa.int32())}))

    def read(name: str, **version: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = lake.system_table(f"db.versions${name}").scan(**version).to_arrow().to_pylist()
        return found

    assert {row["partition"]: row["record_count"] for row in read("partitions", version=1)} == {"p=x": 1}
    assert {row["partition"]: row["record_count"] for row in read("partitions")} == {"p=x": 2, "p=y": 1}
    assert len(read("files", tag="one")) == len(read("files", version="one")) == 1
    assert len(read("files", timestamp="2099-01-01")) == 3
    assert read("audit_log", version=1) == [{"rowkind": "+I", "id": 1, "p": "x"}]
    assert len(read("manifests", version=1)) == 1
    with pytest.raises(UnsupportedError, match="has no versions"):
        read("snapshots", version=1)
    with pytest.raises(NotFoundError, match="snapshot 9"):
        read("files", version=9)
    handle = lake.system_table("db.versions$files", options={"scan.snapshot-id": "1"})
    assert len(handle.scan().to_arrow()) == 1
    assert len(handle.scan(version=2).to_arrow()) == 3
    assert len(lake.system_table("db.versions$snapshots", options={"scan.snapshot-id": "1"}).scan().to_arrow()) == 2
