"""Reading data files: columns, rows, several schemas in one scan, deletion vectors, missing and damaged files."""

from __future__ import annotations

import datetime as dt
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.lakes import with_external_root
from tests.places import stored_path
from tests.rows.files.deletions import delete_positions
from tests.rows.random_tables import plain, tables

import lakebed
from lakebed import changes
from lakebed.errors import CorruptError, NotFoundError, UnsupportedError
from lakebed.format.types.data_types import Field
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.rows.files.read_watch import watched

_COUNTER = iter(range(10**9))


def create(lake: lakebed.Lake, schema: Any, **more: Any) -> lakebed.Table:
    return lake.create_table(f"db.t{next(_COUNTER)}", schema, **more)


def data_files(table: lakebed.Table) -> list[Path]:
    return sorted(stored_path(table.path).rglob("*.parquet"))


def ids(table: lakebed.Table, where: str | None = None, **more: Any) -> list[int]:
    found: list[int] = table.scan(["id"], where, **more).to_arrow()["id"].to_pylist()
    return sorted(found)


# ------------------------------------------------------------------------------------------------- columns and rows


@settings(max_examples=examples(40), deadline=None)
@given(tables())
def test_what_was_written_is_read(module_lake: lakebed.Lake, case: tuple[tuple[Field, ...], pa.Table]) -> None:
    fields, rows = case
    table = create(module_lake, fields)
    table.write(rows)
    read = table.scan().to_arrow()
    assert read.schema == table.arrow_schema
    assert plain(read) == plain(rows)
    assert plain(table.scan().to_batches().read_all()) == plain(rows)


@pytest.fixture
def people(lake: lakebed.Lake) -> lakebed.Table:
    table = create(lake, "id INT, name STRING, f DOUBLE, p STRING", partition_by=["p"])
    for start in (0, 10, 20):
        table.write(
            pa.table(
                {
                    "id": pa.array(range(start, start + 10), pa.int32()),
                    "name": [f"n{i}" for i in range(start, start + 10)],
                    "f": [float(i) for i in range(start, start + 10)],
                    "p": ["ab"[i % 2] for i in range(10)],
                }
            )
        )
    return table


def test_only_the_columns_asked_for_are_read(people: lakebed.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[set[str]] = []
    to_table = ds.FileSystemDataset.to_table

    class Spy(ds.FileSystemDataset):  # type: ignore[misc]
        def to_table(self, columns: list[str], **more: Any) -> pa.Table:
            asked.append(set(columns))
            return to_table(self, columns=columns, **more)

    monkeypatch.setattr(ds, "FileSystemDataset", Spy)
    found = people.scan(["f", "id"], "id < 3").to_arrow()
    assert found.column_names == ["f", "id"]
    assert found.sort_by("id").to_pylist() == [{"f": float(i), "id": i} for i in range(3)]
    assert asked == [{"f", "id"}]


def test_a_predicate_on_a_column_that_is_not_projected(people: lakebed.Table) -> None:
    found = people.scan(["name"], "id = 7").to_arrow()
    assert found.to_pylist() == [{"name": "n7"}]
    assert found.column_names == ["name"]
    assert people.scan(["name"], "f > 28.5").to_arrow().to_pylist() == [{"name": "n29"}]


@pytest.mark.parametrize(
    "where",
    [
        None,
        "id < 15 AND p = 'a'",
        "id < 3 OR name = 'n25'",
        "id < 0",
        "p IS NULL",
        "name LIKE 'n2%'",
        "f > 3.5 AND f < 21",
        "length(name) = 2 AND f > 2",
    ],
)
@pytest.mark.parametrize("columns", [None, ["name", "id"], ["p"]])
def test_batches_are_the_rows_of_to_arrow(people: lakebed.Table, where: str | None, columns: list[str] | None) -> None:
    scan = people.scan(columns, where)
    whole = scan.to_arrow()
    stream = scan.to_batches()
    assert stream.schema == whole.schema == scan.schema
    assert stream.read_all().to_pylist() == whole.to_pylist()


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.sampled_from([0.0, -0.0, 3.0, 5.0, math.nan, math.inf, None]), min_size=1, max_size=4),
    st.sampled_from(["f > 5", "f >= 3", "f = 3", "f != 3", "f < 5", "f = 0", "f = double('NaN')", "f IN (3, 5)",
                     "f NOT IN (3, 5)", "NOT (f <= 3)", "f <=> 3", "f IS NULL", "id > 0 AND f > 5", "id = 0 OR f != 3"]),
)  # fmt: skip
def test_nan_is_found_whatever_the_footers_say(
    module_lake: lakebed.Lake, values: list[float | None], where: str
) -> None:
    """Statistics of Parquet row groups leave NaN out; Spark says it is greater than every other number."""
    table = create(module_lake, "id INT, f DOUBLE, s ROW<f DOUBLE>")
    rows = {
        "id": pa.array(range(len(values)), pa.int32()),
        "f": pa.array(values, pa.float64()),
        "s": pa.array([{"f": value} for value in values], pa.struct([("f", pa.float64())])),
    }
    table.write(pa.table(rows))
    assert ids(table, where) == [i for i, value in enumerate(values) if _holds(where, i, value)]
    assert ids(table, where.replace("f ", "s.f ")) == ids(table, where)


def _holds(where: str, row: int, value: float | None) -> bool:
    if value is None:
        return where == "f IS NULL" or (where == "id = 0 OR f != 3" and row == 0)
    rank = math.inf if math.isnan(value) else value
    nan = math.isnan(value)
    return {
        "f > 5": nan or rank > 5,
        "f >= 3": nan or rank >= 3,
        "f = 3": rank == 3,
        "f != 3": rank != 3,
        "f < 5": not nan and rank < 5,
        "f = 0": rank == 0,
        "f = double('NaN')": nan,
        "f IN (3, 5)": rank in (3, 5),
        "f NOT IN (3, 5)": rank not in (3, 5),
        "NOT (f <= 3)": nan or rank > 3,
        "f <=> 3": rank == 3,
        "f IS NULL": False,
        "id > 0 AND f > 5": row > 0 and (nan or rank > 5),
        "id = 0 OR f != 3": row == 0 or rank != 3,
    }[where]


# -------------------------------------------------------------------------------------------- files of several schemas


def test_files_of_several_schemas_in_one_scan(lake: lakebed.Lake) -> None:
    table = create(lake, "id INT, v INT, gone STRING")
    table.write([{"id": 1, "v": 10, "gone": "x"}])
    table.alter(changes.UpdateColumnType("v", "BIGINT"), changes.AddColumn("note", "STRING", position=changes.First()))
    table.write([{"id": 2, "v": 2**40, "gone": "y", "note": "two"}])
    table.alter(changes.RenameColumn("v", "w"), changes.DropColumn("gone"))
    table.alter(changes.AddColumn("gone", "INT"), changes.UpdateColumnType("w", "DECIMAL(20, 1)"))
    table.write([{"id": 3, "w": 5, "note": "three", "gone": 3}])
    rows = table.scan().to_arrow().sort_by("id").to_pylist()
    assert [list(row) for row in rows] == [["note", "id", "w", "gone"]] * 3
    assert [(r["note"], r["id"], int(r["w"]), r["gone"]) for r in rows] == [
        (None, 1, 10, None),
        ("two", 2, 2**40, None),
        ("three", 3, 5, 3),
    ]
    for where, expected in (
        ("w > 9", [1, 2]),
        ("w = 5.0", [3]),
        ("note IS NULL", [1]),
        ("gone IS NULL", [1, 2]),
        ("gone = 3 OR w = 10", [1, 3]),
        ("note = 'two' AND id < 5", [2]),
    ):
        assert ids(table, where) == expected, where
    assert table.scan(["gone"]).to_arrow()["gone"].null_count == 2
    assert sorted(table.scan(version=1).to_arrow().to_pylist()[0].items()) == [("gone", "x"), ("id", 1), ("v", 10)]


def test_columns_that_swap_names(lake: lakebed.Lake) -> None:
    table = create(lake, "a INT, b INT")
    table.write([{"a": 1, "b": 2}])
    table.alter(changes.RenameColumn("a", "x"), changes.RenameColumn("b", "a"), changes.RenameColumn("x", "b"))
    assert table.scan(["a", "b"], "a = 2").to_arrow().to_pylist() == [{"a": 2, "b": 1}]
    assert table.scan(where="a = 1").to_arrow().num_rows == 0
    assert table.scan(where="a + b = 3 AND abs(a) > 1").to_arrow().to_pylist() == [{"b": 1, "a": 2}]


def test_only_new_columns_of_an_old_file(lake: lakebed.Lake) -> None:
    table = create(lake, "id INT")
    table.write([{"id": 1}, {"id": 2}])
    table.alter(changes.AddColumn("v", "ARRAY<INT>"))
    assert table.scan(["v"]).to_arrow().to_pylist() == [{"v": None}] * 2
    assert [batch.num_rows for batch in table.scan(["v"]).to_batches()] == [2]
    assert table.scan(["v"], "id = 1").to_arrow().to_pylist() == [{"v": None}]


# ----------------------------------------------------------------------------------------------------- deletion vectors


def test_deleted_rows_are_left_out(lake: lakebed.Lake) -> None:
    table = create(lake, "id INT, name STRING", options={"deletion-vectors.enabled": "true"})
    table.write(pa.table({"id": pa.array(range(10), pa.int32()), "name": [f"n{i}" for i in range(10)]}))
    (first,) = data_files(table)
    table.write(pa.table({"id": pa.array(range(10, 20), pa.int32()), "name": [f"n{i}" for i in range(10, 20)]}))
    (second,) = set(data_files(table)) - {first}
    delete_positions(table, {first.name: [0, 3, 9], second.name: [5]})
    left = [i for i in range(20) if i not in {0, 3, 9, 15}]
    assert ids(table) == left
    assert table.scan().to_batches().read_all().equals(table.scan().to_arrow().combine_chunks())
    assert ids(table, "id < 5") == [1, 2, 4]
    assert ids(table, "name = 'n3'") == []
    assert table.scan(["name"], "id = 16").to_arrow().to_pylist() == [{"name": "n16"}]
    assert ids(table, version=2) == list(range(20))
    partition = lake.system_table(f"{table.name}$partitions").scan(["deleted_record_count"]).to_arrow().to_pylist()
    assert partition == [{"deleted_record_count": 4}]


def test_deleting_from_files_with_deletion_vectors(lake: lakebed.Lake) -> None:
    """The first file is rewritten without its vector; the vector of the other one stays."""
    table = create(lake, "id INT", options={"deletion-vectors.enabled": "true"})
    names = []
    for start in (0, 10):
        table.write(pa.table({"id": pa.array(range(start, start + 10), pa.int32())}))
        names += [path.name for path in data_files(table) if path.name not in names]
    delete_positions(table, {names[0]: [1, 2], names[1]: [3]})
    made = table.delete("id = 4")
    assert made is not None
    assert made.delta_record_count == 7 - 10
    assert ids(table) == [0, 3, 5, 6, 7, 8, 9, 10, 11, 12, *range(14, 20)]
    (index,) = table._store.manifests.read_index(made.index_manifest)
    assert [vector.file_name for vector in index.vectors or ()] == [names[1]]
    assert index.file_name != "index-by-hand-0"
    again = table.delete("id >= 10")  # every row of the second file: dropped unread, with its vector
    assert again is not None
    assert again.index_manifest is None
    assert ids(table) == [0, 3, 5, 6, 7, 8, 9]
    assert ids(table, version=3) == [0, *range(3, 13), *range(14, 20)]


def test_truncate_and_overwrite_take_deletion_vectors_along(lake: lakebed.Lake) -> None:
    for whole in (True, False):
        table = create(lake, "id INT", options={"deletion-vectors.enabled": "true"})
        table.write([{"id": 1}, {"id": 2}])
        delete_positions(table, {data_files(table)[0].name: [0]})
        assert ids(table) == [2]
        made = table.truncate() if whole else table.overwrite([{"id": 5}])
        assert made is not None
        assert made.index_manifest is None
        assert ids(table) == ([] if whole else [5])


def test_a_vector_that_does_not_fit_its_file(lake: lakebed.Lake) -> None:
    table = create(lake, "id INT", options={"deletion-vectors.enabled": "true"})
    table.write([{"id": 1}, {"id": 2}])
    (path,) = data_files(table)
    delete_positions(table, {path.name: [7]})
    with pytest.raises(CorruptError, match=rf"{path.name} names row 7, but the file has 2 rows"):
        table.scan().to_arrow()


@pytest.mark.parametrize("damage", ["missing", "truncated", "flipped"])
def test_a_damaged_index_file_is_named(lake: lakebed.Lake, damage: str) -> None:
    table = create(lake, "id INT", options={"deletion-vectors.enabled": "true"})
    table.write([{"id": 1}, {"id": 2}])
    delete_positions(table, {data_files(table)[0].name: [0]})
    index = stored_path(table.path) / "index/index-by-hand-0"
    content = index.read_bytes()
    if damage == "missing":
        index.unlink()
    else:
        index.write_bytes(content[:9] if damage == "truncated" else content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(NotFoundError if damage == "missing" else CorruptError, match="index-by-hand-0"):
        table.scan().to_arrow()


# --------------------------------------------------------------------------------------- missing and damaged data files


@pytest.mark.parametrize("damage", ["missing", "empty", "truncated", "rubbish", "flipped"])
@pytest.mark.parametrize("how", ["to_arrow", "to_batches", "filtered"])
def test_a_damaged_data_file_is_named(people: lakebed.Table, damage: str, how: str) -> None:
    victim = data_files(people)[3]
    content = victim.read_bytes()
    if damage == "missing":
        victim.unlink()
    else:
        middle = bytes(b ^ 0xFF for b in content[8:120])
        victim.write_bytes(
            {
                "empty": b"",
                "truncated": content[: len(content) // 2],
                "rubbish": b"x" * len(content),
                "flipped": content[:8] + middle + content[120:],
            }[damage]
        )
    scan = people.scan(where="name != 'x'" if how == "filtered" else None)
    with pytest.raises(NotFoundError if damage == "missing" else CorruptError) as caught:
        scan.to_batches().read_all() if how == "to_batches" else scan.to_arrow()
    assert victim.name in str(caught.value)


def test_files_of_other_formats_are_refused(people: lakebed.Table) -> None:
    """Another engine may have written Lance; the name says so."""
    reader = people.scan()._parts[0].reader
    entries = live_entries(people._store, people.latest_snapshot())
    names = pa.array(["data-1.lance"] * len(entries))
    position = entries.schema.get_field_index("file_name")
    with pytest.raises(UnsupportedError, match=r"data-1\.lance is not a Parquet, ORC or Avro"):
        reader.read(entries.set_column(position, entries.schema.field(position), names))


# ------------------------------------------------------------------------------------------ files of other writers


def test_timestamps_in_int96_are_read_with_their_zone(lake: lakebed.Lake) -> None:
    """Paimon's Java writes TIMESTAMP(7..9) as INT96, of which Arrow forgets the zone."""
    table = create(lake, "id INT, t TIMESTAMP(9), l TIMESTAMP_LTZ(9), m TIMESTAMP(6), a ARRAY<TIMESTAMP_LTZ(9)>")
    nanos = 1_704_164_645_678_901_234
    zoned = pa.timestamp("ns", "UTC")
    rows = pa.table(
        {
            "id": pa.array([1, 2], pa.int32()),
            "t": pa.array([nanos, -1], pa.timestamp("ns")),
            "l": pa.array([nanos, None], zoned),
            "m": pa.array([nanos // 1000, 0], pa.timestamp("us")),
            "a": pa.array([[nanos, None], None], pa.list_(pa.field("element", zoned))),
        }
    )
    table.write(rows)
    (path,) = data_files(table)
    pq.write_table(pq.read_table(path), path, use_deprecated_int96_timestamps=True, store_schema=False)
    assert pq.read_metadata(path).schema.column(1).physical_type == "INT96"
    read = table.scan().to_arrow()
    assert read.schema == table.arrow_schema
    assert read.to_pylist() == rows.to_pylist()
    assert ids(table, "l > TIMESTAMP '2024-01-02 03:04:05.678901'") == [1]
    assert ids(table, "l = TIMESTAMP '2024-01-02 03:04:05'") == []
    assert ids(table, "t < TIMESTAMP_NTZ '1970-01-01 00:00:00'") == [2]
    assert ids(table, "m = TIMESTAMP_NTZ '1970-01-01 00:00:00'") == [2]


def test_decimals_in_any_physical_type(lake: lakebed.Lake) -> None:
    table = create(lake, "id INT, d DECIMAL(9, 2)")
    table.write(pa.table({"id": pa.array([1, 2], pa.int32()), "d": pa.array([5, None], pa.int32())}))
    (path,) = data_files(table)
    pq.write_table(pq.read_table(path), path, store_schema=False)
    assert pq.read_metadata(path).schema.column(1).physical_type == "FIXED_LEN_BYTE_ARRAY"
    assert ids(table, "d = 5.00") == [1]
    assert table.scan().to_arrow().schema == table.arrow_schema


def test_external_paths(lake: lakebed.Lake, tmp_path: Path) -> None:
    table = create(lake, "id INT")
    table.write([{"id": 1}])
    (path,) = data_files(table)
    elsewhere = tmp_path / "far" / "elsewhere.parquet"
    elsewhere.parent.mkdir()
    shutil.move(path, elsewhere)
    table = with_external_root(table, elsewhere.parent)
    entries = live_entries(table._store, table.latest_snapshot())
    position = entries.schema.get_field_index("external_path")
    moved = entries.set_column(position, entries.schema.field(position), pa.array([str(elsewhere)]))
    assert table.scan()._parts[0].reader.read(moved).to_pylist() == [{"id": 1}]


def test_dates_far_away(lake: lakebed.Lake) -> None:
    table = create(lake, "id INT, d DATE, t TIMESTAMP(6)")
    low, high = dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)
    rows = [{"id": 1, "d": low.date(), "t": low}, {"id": 2, "d": high.date(), "t": high}]
    table.write(rows)
    assert table.scan().to_arrow().to_pylist() == rows
    assert ids(table, "t > TIMESTAMP_NTZ '9000-01-01 00:00:00'") == [2]
    assert ids(table, "d < DATE '0002-01-01'") == [1]


def test_row_groups_that_cannot_match_are_skipped(lake: lakebed.Lake) -> None:
    """A filter on a sorted column reads a part of the file's bytes."""
    table = create(lake, "id BIGINT, v BYTES", options={"file.block-size": "64 kb"})
    random = np.random.default_rng(3)
    count = 20_000
    table.write(pa.table({"id": pa.array(range(count), pa.int64()), "v": [random.bytes(50) for _ in range(count)]}))
    (path,) = data_files(table)
    assert pq.read_metadata(path).num_row_groups > 10
    last = path.read_bytes()
    path.write_bytes(last[:8] + b"\xff" * 4000 + last[4008:])  # damages the first row group only
    assert table.scan(where=f"id >= {count - 5}").to_arrow()["id"].to_pylist() == list(range(count - 5, count))
    with pytest.raises(CorruptError):
        table.scan(where="id < 5").to_arrow()


@pytest.mark.parametrize("where", ["CAST(v AS INT) = 1", "id / 0 = 1", "CAST(v AS DATE) = DATE '2025-01-01'"])
def test_a_condition_that_fails_on_rows_is_not_a_damaged_file(lake: lakebed.Lake, where: str) -> None:
    table = lake.create_table("db.t", "id BIGINT, v STRING")
    table.write([{"id": 1, "v": "one"}])
    with pytest.raises(lakebed.ExpressionError, match="the condition cannot be evaluated on these rows"):
        table.scan(where=where).to_arrow()


@pytest.mark.parametrize("form", ["parquet", "orc", "avro"])
def test_who_watches_a_read_may_end_it(lake: lakebed.Lake, form: str) -> None:
    table = lake.create_table("db.t", "id BIGINT, v STRING", options={"file.format": form})
    for number in range(3):
        table.write([{"id": number, "v": "x" * 1000}])
    seen: list[int] = []

    def watcher(size: int) -> None:
        seen.append(size)
        if len(seen) == 1:
            raise ZeroDivisionError

    with watched(watcher):
        with pytest.raises(ZeroDivisionError):
            table.scan(where="v LIKE '%y%'").to_arrow()
        assert len(seen) == 1
        assert table.scan(where="id = 1").to_arrow().num_rows == 1
    read = len(seen)
    assert table.scan().to_arrow().num_rows == 3
    assert len(seen) == read
