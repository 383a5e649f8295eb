"""The deep part of verify: for every check a table whose manifests are fine by themselves, and whose files say
otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.operations.verify.damage import (
    Row,
    Surgeon,
    appended,
    found,
    keyed,
    only_problem,
    partitioned,
    with_vectors,
)
from tests.places import stored_path

import lakebed
from lakebed.format.binary_row import EMPTY_ROW, encode_row
from lakebed.format.index_files import hash_index
from lakebed.format.manifest.index_manifest import HASH, IndexEntry
from lakebed.format.manifest.manifest import ADD, entries_from_rows
from lakebed.format.murmur import hash_rows
from lakebed.format.paths import TablePaths
from lakebed.format.schema.table_schema import create_schema
from lakebed.format.types.column_ddl import parse_columns
from lakebed.format.types.data_types import Atomic
from lakebed.metadata.commit.commit import Change, append, commit
from lakebed.metadata.store import TableStore
from lakebed.operations.verify.verify import verify
from lakebed.options import TableOptions
from lakebed.rows.files.data_file import FileLayout, FilePlace, RollingFiles
from lakebed.storage import LocalStorage

BIGINT = [Atomic("BIGINT", nullable=False)]


def rewritten(table: lakebed.Table, number: int, change: Callable[[pa.Table], pa.Table]) -> Path:
    """Change the rows of the file that a snapshot added; its size in the manifest follows, nothing else."""
    surgeon = Surgeon(table)
    path = surgeon.file_of(number)
    with pq.ParquetFile(path) as file:
        content = file.read()
    pq.write_table(change(content), path)
    surgeon.change_entries(number, lambda entry: {**entry, "file_size": path.stat().st_size})
    return path


def with_column(name: str, values: list[Any]) -> Callable[[pa.Table], pa.Table]:
    return lambda rows: rows.set_column(
        rows.schema.get_field_index(name), rows.schema.field(name), pa.array(values, rows.schema.field(name).type)
    )


def check(table: lakebed.Table, code: str, path: Path) -> str:
    """One error in deep mode, none without it; gives its text."""
    assert found(table) == []
    problem = only_problem(table, deep=True)
    assert (problem.severity, problem.code, problem.where) == ("error", code, str(path))
    return problem.what


# ------------------------------------------------------------------------------------------------------- any table


def test_a_file_that_is_no_parquet(lake: lakebed.Lake) -> None:
    table = appended(lake)
    path = Surgeon(table).file_of(2)
    path.write_bytes(b"x" * path.stat().st_size)
    assert "needed by snapshot 2 to snapshot 4" in check(table, "unreadable-data-file", path)


def test_a_damaged_page(lake: lakebed.Lake) -> None:
    table = appended(lake)
    path = Surgeon(table).file_of(2)
    data = path.read_bytes()
    path.write_bytes(data[:4] + b"\xff" * 40 + data[44:])
    check(table, "unreadable-data-file", path)


def test_files_of_another_format_are_not_opened(lake: lakebed.Lake) -> None:
    table = appended(lake)
    path = Surgeon(table).file_of(2)
    path.rename(path.with_suffix(".lance"))
    Surgeon(table).change_entries(2, lambda entry: {**entry, "file_name": path.with_suffix(".lance").name})
    assert found(table, deep=True) == [("info", "not-opened", f"bucket-0/{path.with_suffix('.lance').name}")]


def test_too_few_rows(lake: lakebed.Lake) -> None:
    table = appended(lake)
    text = check(table, "wrong-row-count", rewritten(table, 2, lambda rows: rows.slice(0, 1)))
    assert "it has 1 row, its manifest says 2" in text


@pytest.mark.parametrize(("name", "values"), [("id", [2, 99]), ("id", [-1, 3]), ("v", ["v2", "w"]), ("v", ["a", "v3"])])
def test_values_outside_of_the_statistics(lake: lakebed.Lake, name: str, values: list[Any]) -> None:
    table = appended(lake)
    text = check(table, "wrong-statistics", rewritten(table, 2, with_column(name, values)))
    assert f"column {name} has values outside of" in text


def test_nulls_that_nobody_counted(lake: lakebed.Lake) -> None:
    table = appended(lake)
    text = check(table, "wrong-statistics", rewritten(table, 2, with_column("v", ["v2", None])))
    assert "column v has 1 nulls, not 0" in text


def test_a_column_that_is_not_in_the_file(lake: lakebed.Lake) -> None:
    table = appended(lake, options={"metadata.stats-mode": "none"})
    assert "lacks the columns v" in check(table, "wrong-columns", rewritten(table, 2, lambda rows: rows.select(["id"])))


def test_rows_of_another_partition(lake: lakebed.Lake) -> None:
    table = partitioned(lake)
    surgeon = Surgeon(table)
    path = surgeon.file_of(2)
    with pq.ParquetFile(path) as file:
        content = file.read()
    here = content["dt"][0].as_py()
    other = "y" if here == "x" else "x"
    pq.write_table(with_column("dt", [other])(content), path)
    none = {"value_stats_cols": [], "value_min": EMPTY_ROW, "value_max": EMPTY_ROW, "value_null_counts": []}
    surgeon.change_entries(
        2,
        lambda entry: {**entry, **none, "file_size": path.stat().st_size} if entry["file_name"] == path.name else entry,
    )
    assert f"another dt than {here}" in check(table, "wrong-partition", path)


def test_rows_of_another_bucket(lake: lakebed.Lake) -> None:
    table = lake.create_table("db.b", "id BIGINT, v STRING", options={"bucket": "4", "bucket-key": "id"})
    table.write(pa.table({"id": pa.array([1], pa.int64()), "v": ["a"]}))
    none = {"value_stats_cols": [], "value_min": EMPTY_ROW, "value_max": EMPTY_ROW, "value_null_counts": []}
    assert found(table, deep=True) == []
    path = rewritten(table, 1, with_column("id", [2]))
    Surgeon(table).change_entries(1, lambda entry: {**entry, **none})
    assert "1 rows do not belong to bucket" in check(table, "wrong-bucket", path)


# --------------------------------------------------------------------------------------------------- keyed tables


def keys_of(ids: list[int]) -> Callable[[pa.Table], pa.Table]:
    return lambda rows: with_column("_KEY_id", ids)(with_column("id", ids)(rows))


def test_rows_that_are_not_sorted(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    check(table, "unsorted-keys", rewritten(table, 1, keys_of([1, 3, 2])))


def test_a_key_with_two_rows(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    check(table, "repeated-keys", rewritten(table, 1, keys_of([1, 1, 3])))


def test_order_is_checked_from_batch_to_batch(lake: lakebed.Lake, monkeypatch: Any) -> None:
    monkeypatch.setattr("lakebed.operations.verify.check_rows._BATCH_ROWS", 1)
    table = keyed(lake)
    assert found(table, deep=True) == []
    check(table, "unsorted-keys", rewritten(table, 1, keys_of([1, 3, 2])))


def test_key_columns_that_differ_from_the_columns(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    check(table, "wrong-keys", rewritten(table, 1, with_column("_KEY_id", [1, 2, 4])))


@pytest.mark.parametrize(("side", "key", "which"), [("min_key", 0, "first"), ("max_key", 4, "last")])
def test_a_key_range_that_is_not_the_files(lake: lakebed.Lake, side: str, key: int, which: str) -> None:
    table = keyed(lake)
    Surgeon(table).change_entries(1, lambda entry: {**entry, side: encode_row([key], BIGINT)})
    assert f"its {which} key is not" in check(table, "wrong-key-range", Surgeon(table).file_of(1))


def test_key_statistics_that_leave_out_keys(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    none = {"value_stats_cols": [], "value_min": EMPTY_ROW, "value_max": EMPTY_ROW, "value_null_counts": []}
    wrong = {**none, "key_max": encode_row([2], [Atomic("BIGINT")])}
    Surgeon(table).change_entries(1, lambda entry: {**entry, **wrong})
    check(table, "wrong-statistics", Surgeon(table).file_of(1))


@pytest.mark.parametrize("change", [{"min_sequence_number": 1}, {"max_sequence_number": 1}])
def test_sequence_numbers_outside_of_their_range(lake: lakebed.Lake, change: Row) -> None:
    table = keyed(lake)
    Surgeon(table).change_entries(1, lambda entry: {**entry, **change})
    assert "go from 0 to 2" in check(table, "wrong-sequence-numbers", Surgeon(table).file_of(1))


def test_a_wrong_number_of_deletes(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    table.delete("id = 2")
    assert found(table, deep=True) == []
    Surgeon(table).change_entries(3, lambda entry: {**entry, "delete_row_count": 0})
    assert "1 of its rows are deletes, its manifest says 0" in check(
        table, "wrong-delete-count", Surgeon(table).file_of(3)
    )


def test_kinds_that_are_none(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    check(table, "wrong-kinds", rewritten(table, 1, with_column("_VALUE_KIND", [0, 7, 0])))


def test_many_damaged_files_of_a_folder_are_one_problem(lake: lakebed.Lake) -> None:
    table = appended(lake)
    for path in Surgeon(table).data_files():
        path.write_bytes(b"x" * path.stat().st_size)
    problem = only_problem(table, deep=True)
    assert problem.where == f"{table.path}/bucket-0"
    assert "4 files in this folder" in problem.what


# ------------------------------------------------------------------------------------------------ deletion vectors


@pytest.mark.parametrize(("at", "why"), [(0, "version"), (6, "magic"), (14, "checksum"), (-1, "checksum")])
def test_vectors_must_decode(lake: lakebed.Lake, at: int, why: str) -> None:
    table = with_vectors(lake)
    (entry,) = Surgeon(table).index_entries()
    path = stored_path(table.path, "index", entry.file_name)
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(data)
    assert why in check(table, "wrong-deletion-vector", path)


def test_a_vector_with_another_number_of_rows(lake: lakebed.Lake) -> None:
    table = with_vectors(lake)
    (entry,) = Surgeon(table).index_entries()
    (vector,) = entry.vectors or ()
    Surgeon(table).change_index(lambda one: replace(one, vectors=(replace(vector, cardinality=2),)))
    check(table, "wrong-deletion-vector", stored_path(table.path, "index", entry.file_name))


# ---------------------------------------------------------------------------------------------------- hash indexes


def dynamic(root: Path, buckets: dict[int, list[int]], indexed: dict[int, list[int]] | None = None) -> TableStore:
    """A table with dynamic buckets, keys by bucket, as other writers make it; and the keys that its indexes know."""
    store = TableStore(LocalStorage(), TablePaths(str(root)), "db.dynamic")
    schema = create_schema(parse_columns("id BIGINT, v STRING"), primary_key=["id"], options={}, time_millis=0)
    assert store.schemas.create(schema)
    layout = FileLayout(store, schema, TableOptions({}))
    entries, index = [], []
    for bucket, keys in buckets.items():
        files = RollingFiles(layout, FilePlace((), bucket), [])
        columns = {
            "id": pa.array(keys, pa.int64()),
            "v": pa.array([str(key) for key in keys]),
            "_SEQUENCE_NUMBER": pa.array(range(len(keys)), pa.int64()),
            "_VALUE_KIND": pa.array([0] * len(keys), pa.int8()),
        }
        files.write(pa.table(columns))
        entries += files.close()
    for bucket, keys in (indexed or buckets).items():
        data = hash_index.encode(hash_rows([pa.array(keys, pa.int64())], BIGINT))
        path = root / f"index/index-{bucket}-0"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        index.append(
            IndexEntry(
                kind=ADD,
                partition=EMPTY_ROW,
                bucket=bucket,
                index_type=HASH,
                file_name=path.name,
                file_size=len(data),
                row_count=len(data) // 4,
            )
        )
    assert commit(store, append(Change(entries=entries_from_rows(entries), index=tuple(index)))) is not None
    return store


def codes(store: TableStore) -> list[tuple[str, str]]:
    return [(problem.code, problem.where) for problem in verify(store, deep=True).problems]


def test_hash_indexes_that_know_every_key(tmp_path: Path) -> None:
    assert codes(dynamic(tmp_path, {0: [1, 2, 3], 1: [4, 5]})) == []


def test_a_hash_index_may_know_keys_that_were_deleted(tmp_path: Path) -> None:
    assert codes(dynamic(tmp_path, {0: [1, 2, 3], 1: [4, 5]}, {0: [1, 2, 3, 9], 1: [4, 5]})) == []


def test_a_hash_index_that_lacks_a_key(tmp_path: Path) -> None:
    store = dynamic(tmp_path, {0: [1, 2, 3], 1: [4, 5]}, {0: [1, 3], 1: [4, 5]})
    assert codes(store) == [("wrong-hash-index", f"{tmp_path}/bucket-0")]


def test_a_bucket_without_its_hash_index(tmp_path: Path) -> None:
    store = dynamic(tmp_path, {0: [1, 2, 3], 1: [4, 5]}, {0: [1, 2, 3]})
    assert codes(store) == [("wrong-hash-index", f"{tmp_path}/bucket-1")]


def test_two_buckets_that_claim_a_key(tmp_path: Path) -> None:
    store = dynamic(tmp_path, {0: [1, 2, 3], 1: [4, 5]}, {0: [1, 2, 3, 4], 1: [4, 5]})
    assert codes(store) == [("wrong-hash-index", f"{tmp_path}/index")]


def test_a_hash_index_of_an_odd_size(tmp_path: Path) -> None:
    store = dynamic(tmp_path, {0: [1, 2, 3]})
    path = tmp_path / "index/index-0-0"
    path.write_bytes(path.read_bytes()[:-1])
    assert codes(store) == [("wrong-size", str(path))]


def test_a_hash_index_with_a_hash_twice(tmp_path: Path) -> None:
    store = dynamic(tmp_path, {0: [1, 2, 3]})
    path = tmp_path / "index/index-0-0"
    path.write_bytes(path.read_bytes()[:8] + path.read_bytes()[:4])
    assert codes(store) == [("wrong-hash-index", str(path))]


def test_a_changed_hash_index(tmp_path: Path) -> None:
    store = dynamic(tmp_path, {0: [1, 2, 3]})
    (tmp_path / "index/index-0-0").write_bytes(hash_index.encode(np.array([1, 2, 3], np.int32)))
    assert codes(store) == [("wrong-hash-index", f"{tmp_path}/bucket-0")]
