"""Data files as Paimon wants them: physical types, field ids, folders, sizes, statistics."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.places import stored_path
from tests.rows.random_tables import tables

import lakebed
from lakebed.errors import DataError
from lakebed.format.binary_row import EMPTY_ROW
from lakebed.format.statistics.file_stats import column_modes, decode_stats
from lakebed.format.types.data_types import Atomic, Field, nullable, to_arrow
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.options import StatsMode, TableOptions

_COUNTER = iter(range(10**9))


def create(lake: lakebed.Lake, schema: Any, **more: Any) -> lakebed.Table:
    return lake.create_table(f"db.t{next(_COUNTER)}", schema, **more)


def data_files(table: lakebed.Table) -> list[Path]:
    return sorted(stored_path(table.path).rglob("*.parquet"))


def entries_of(table: lakebed.Table) -> pa.Table:
    return live_entries(table._store, table.latest_snapshot())


# ---------------------------------------------------------------------------------------------------- physical types

_TIME = {"Type": "Time", "isAdjustedToUTC": True, "timeUnit": "milliseconds"}


def _timestamp(unit: str, *, utc: bool) -> dict[str, Any]:
    return {"Type": "Timestamp", "isAdjustedToUTC": utc, "timeUnit": unit}


def _decimal(precision: int, scale: int) -> dict[str, Any]:
    return {"Type": "Decimal", "precision": precision, "scale": scale}


PHYSICAL: list[tuple[str, str, dict[str, Any]]] = [
    ("BOOLEAN", "BOOLEAN", {"Type": "None"}),
    ("TINYINT", "INT32", {"Type": "Int", "bitWidth": 8, "isSigned": True}),
    ("SMALLINT", "INT32", {"Type": "Int", "bitWidth": 16, "isSigned": True}),
    ("INT", "INT32", {"Type": "None"}),
    ("BIGINT", "INT64", {"Type": "None"}),
    ("FLOAT", "FLOAT", {"Type": "None"}),
    ("DOUBLE", "DOUBLE", {"Type": "None"}),
    ("STRING", "BYTE_ARRAY", {"Type": "String"}),
    ("CHAR(3)", "BYTE_ARRAY", {"Type": "String"}),
    ("VARCHAR(3)", "BYTE_ARRAY", {"Type": "String"}),
    ("BYTES", "BYTE_ARRAY", {"Type": "None"}),
    ("BINARY(3)", "BYTE_ARRAY", {"Type": "None"}),
    ("VARBINARY(3)", "BYTE_ARRAY", {"Type": "None"}),
    ("DATE", "INT32", {"Type": "Date"}),
    ("TIME(0)", "INT32", _TIME),
    ("TIME(3)", "INT32", _TIME),
    ("DECIMAL(1, 0)", "INT32", _decimal(1, 0)),
    ("DECIMAL(9, 2)", "INT32", _decimal(9, 2)),
    ("DECIMAL(10, 2)", "INT64", _decimal(10, 2)),
    ("DECIMAL(18, 18)", "INT64", _decimal(18, 18)),
    ("DECIMAL(19, 2)", "FIXED_LEN_BYTE_ARRAY", _decimal(19, 2)),
    ("DECIMAL(38, 10)", "FIXED_LEN_BYTE_ARRAY", _decimal(38, 10)),
    *((f"TIMESTAMP({p})", "INT64", _timestamp("milliseconds", utc=False)) for p in (0, 3)),
    *((f"TIMESTAMP({p})", "INT64", _timestamp("microseconds", utc=False)) for p in (4, 6)),
    *((f"TIMESTAMP({p})", "INT64", _timestamp("nanoseconds", utc=False)) for p in (7, 9)),
    *((f"TIMESTAMP_LTZ({p})", "INT64", _timestamp("milliseconds", utc=True)) for p in (0, 3)),
    *((f"TIMESTAMP_LTZ({p})", "INT64", _timestamp("microseconds", utc=True)) for p in (4, 6)),
    *((f"TIMESTAMP_LTZ({p})", "INT64", _timestamp("nanoseconds", utc=True)) for p in (7, 9)),
]


def test_physical_types_of_all_columns(lake: lakebed.Lake) -> None:
    """One file with a column of every type, nullable and not."""
    ddl = ", ".join(f"c{i} {kind}, n{i} {kind} NOT NULL" for i, (kind, _, _) in enumerate(PHYSICAL))
    table = create(lake, ddl)
    row = [to_value(column.type) for column in table.arrow_schema]
    table.write(pa.Table.from_arrays([pa.array([value], f.type) for value, f in zip(row, table.arrow_schema, strict=True)],
                                     table.arrow_schema.names))  # fmt: skip
    (path,) = data_files(table)
    metadata = pq.read_metadata(path)
    assert metadata.metadata is None  # no ARROW:schema
    assert metadata.num_row_groups == 1
    for i, (kind, physical, logical) in enumerate(PHYSICAL):
        for index, definition in ((2 * i, 1), (2 * i + 1, 0)):
            leaf = metadata.schema.column(index)
            found = json.loads(leaf.logical_type.to_json())
            assert leaf.physical_type == physical, kind
            assert {key: found[key] for key in logical} == logical, kind
            assert leaf.max_definition_level == definition, kind
            assert metadata.row_group(0).column(index).compression == "ZSTD"
            if physical == "FIXED_LEN_BYTE_ARRAY":
                precision = logical["precision"]
                assert leaf.length == next(n for n in range(1, 17) if 2 ** (8 * n - 1) >= 10**precision)
    ids = [int(field.metadata[b"PARQUET:field_id"]) for field in pq.read_schema(path)]
    assert ids == [field.id for field in table.schema.fields] == list(range(2 * len(PHYSICAL)))
    assert table.scan().to_arrow().schema == table.arrow_schema


def to_value(kind: pa.DataType) -> Any:
    if pa.types.is_string(kind):
        return "a"
    if pa.types.is_binary(kind):
        return b"a"
    if pa.types.is_decimal(kind):
        return Decimal(0)
    if pa.types.is_boolean(kind):
        return True
    return 1


def _field_ids(field: pa.Field) -> Iterator[tuple[str, int, bool]]:
    """Names, ids and nullability of a Parquet field and all inside it, as the file has them."""
    yield field.name, int(field.metadata[b"PARQUET:field_id"]), field.nullable
    kind = field.type
    if pa.types.is_struct(kind):
        for inner in kind:
            yield from _field_ids(inner)
    elif pa.types.is_map(kind):
        yield from _field_ids(kind.key_field)
        yield from _field_ids(kind.item_field)
    elif pa.types.is_list(kind):
        yield from _field_ids(kind.value_field)


def test_field_ids_of_nested_columns(lake: lakebed.Lake) -> None:
    ddl = (
        "a ARRAY<INT>, aa ARRAY<ARRAY<STRING>>, m MAP<STRING, BIGINT NOT NULL>, mm MAP<INT, ARRAY<DOUBLE>>, "
        "r ROW<x INT NOT NULL, y ARRAY<INT>>, ar ARRAY<ROW<p INT>>"
    )
    table = create(lake, ddl)
    table.write(table.arrow_schema.empty_table().slice(0, 0))
    assert data_files(table) == []
    nothing = dict.fromkeys(table.arrow_schema.names)
    table.write(pa.Table.from_pylist([nothing], schema=table.arrow_schema))
    (path,) = data_files(table)
    base = 536_870_911

    def inner(owner: int, depth: int = 1) -> int:
        return owner * 1024 + depth

    id_of = {field.name: field.id for field in table.schema.fields}
    y = next(f.id for f in table.schema.field("r").type.fields if f.name == "y")  # type: ignore[union-attr]
    p = next(f.id for f in table.schema.field("ar").type.element.fields if f.name == "p")  # type: ignore[union-attr]
    x = next(f.id for f in table.schema.field("r").type.fields if f.name == "x")  # type: ignore[union-attr]
    found = [entry for field in pq.read_schema(path) for entry in _field_ids(field)]
    assert found == [
        ("a", id_of["a"], True),
        ("element", base + inner(id_of["a"]), True),
        ("aa", id_of["aa"], True),
        ("element", base + inner(id_of["aa"]), True),
        ("element", base + inner(id_of["aa"], 2), True),
        ("m", id_of["m"], True),
        ("key", base - inner(id_of["m"]), False),
        ("value", base + inner(id_of["m"]), False),
        ("mm", id_of["mm"], True),
        ("key", base - inner(id_of["mm"]), False),
        ("value", base + inner(id_of["mm"]), True),
        ("element", base + inner(id_of["mm"], 2), True),
        ("r", id_of["r"], True),
        ("x", x, False),
        ("y", y, True),
        ("element", base + inner(y), True),
        ("ar", id_of["ar"], True),
        ("element", base + inner(id_of["ar"]), True),
        ("p", p, True),
    ]
    paths = [pq.ParquetFile(path).schema.column(i).path for i in range(9)]
    assert paths[:4] == ["a.list.element", "aa.list.element.list.element", "m.key_value.key", "m.key_value.value"]


@pytest.mark.parametrize(
    ("codec", "expected", "suffix"),
    [("zstd", "ZSTD", ".zst"), ("snappy", "SNAPPY", ".snappy"), ("gzip", "GZIP", ".gz"), ("lz4", "LZ4", ".lz4"),
     ("none", "UNCOMPRESSED", ""), ("uncompressed", "UNCOMPRESSED", ".uncompressed"), ("lz4_raw", "LZ4", ".lz4_raw")],
)  # fmt: skip
def test_codecs(lake: lakebed.Lake, codec: str, expected: str, suffix: str) -> None:
    options = {"file.compression": codec, "file.suffix.include.compression": "true", "data-file.prefix": "part-"}
    table = create(lake, "a STRING", options=options)
    table.write([{"a": "x" * 1000}])
    (path,) = data_files(table)
    assert pq.read_metadata(path).row_group(0).column(0).compression == expected
    assert path.name.startswith("part-")
    assert path.name.endswith(f"-0{suffix}.parquet")
    assert table.scan().to_arrow().to_pylist() == [{"a": "x" * 1000}]


def test_data_file_directory(lake: lakebed.Lake) -> None:
    table = create(lake, "a INT, p STRING", partition_by=["p"], options={"data-file.path-directory": "in/here"})
    table.write([{"a": 1, "p": "x"}])
    (path,) = data_files(table)
    assert path.parent == stored_path(table.path) / "in/here/p=x/bucket-0"
    assert table.scan().to_arrow().to_pylist() == [{"a": 1, "p": "x"}]


# ---------------------------------------------------------------------------------------------------------- rolling


def test_files_roll_at_the_target_size(lake: lakebed.Lake) -> None:
    target = 64 * 1024
    table = create(lake, "id BIGINT, v BYTES", options={"target-file-size": "64 kb", "file.compression": "none"})
    random = np.random.default_rng(1)
    count = 3000
    rows = pa.table({"id": pa.array(range(count), pa.int64()), "v": [random.bytes(100) for _ in range(count)]})
    table.write(rows)
    entries = entries_of(table)
    assert len(entries) >= 4
    sizes = sorted(entries["file_size"].to_pylist())
    assert sizes == sorted(path.stat().st_size for path in data_files(table))
    assert all(target * 0.7 <= size <= target * 2.5 for size in sizes[1:])  # one file may be the rest
    assert sum(entries["row_count"].to_pylist()) == count
    assert table.scan().to_arrow().sort_by("id").equals(rows)


def test_streams_are_written_without_being_held(lake: lakebed.Lake) -> None:
    table = create(lake, "id BIGINT, p STRING", partition_by=["p"])
    batches = [pa.record_batch({"id": pa.array([i], pa.int64()), "p": pa.array(["ab"[i % 2]])}) for i in range(10)]
    table.write(pa.RecordBatchReader.from_batches(batches[0].schema, iter(batches)))
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == list(range(10))
    assert len(data_files(table)) == 2


def test_a_stream_that_breaks_leaves_no_files(lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakebed.rows.conform.STREAM_BYTES", 1)
    table = create(lake, "id BIGINT NOT NULL")
    good, bad = ({"id": pa.array([i], pa.int64())} for i in (1, None))
    batches = [pa.record_batch(good), pa.record_batch(bad)]
    with pytest.raises(DataError, match="NOT NULL"):
        table.write(pa.RecordBatchReader.from_batches(batches[0].schema, batches))
    assert [path for path in stored_path(table.path).rglob("*") if path.is_file()] == [
        stored_path(table.path) / "schema/schema-0"
    ]


# ---------------------------------------------------------------------------------------------------- partition folders


@pytest.mark.parametrize(
    ("value", "folder"),
    [
        (None, "__DEFAULT_PARTITION__"),
        ("", "__DEFAULT_PARTITION__"),
        ("   ", "__DEFAULT_PARTITION__"),
        ("plain", "plain"),
        ("a b/c=d%", "a b%2Fc%3Dd%25"),
        ("\x01\x7f\"#%'*/:=?\\{}[]^", "%01%7F%22%23%25%27%2A%2F%3A%3D%3F%5C%7B%7D%5B%5D%5E"),
        ("ü,&+$ 中", "ü,&+$ 中"),
        ("..", ".."),
    ],
)
def test_folders_of_text_partitions(lake: lakebed.Lake, value: str | None, folder: str) -> None:
    table = create(lake, "a INT, `p=k` STRING", partition_by=["p=k"])
    table.write(pa.table({"a": pa.array([1], pa.int32()), "p=k": pa.array([value], pa.string())}))
    (path,) = data_files(table)
    assert path.parts[-3:-1] == (f"p%3Dk={folder}", "bucket-0")
    assert table.scan().to_arrow().to_pylist() == [{"a": 1, "p=k": value}]


def test_null_and_blank_are_partitions_of_their_own(lake: lakebed.Lake) -> None:
    table = create(lake, "a INT, p STRING", partition_by=["p"], options={"partition.default-name": "nichts"})
    values = [None, "", " ", None, ""]
    table.write(pa.table({"a": pa.array(range(5), pa.int32()), "p": pa.array(values, pa.string())}))
    files = data_files(table)
    assert len(files) == 3
    assert {path.parent.parent.name for path in files} == {"p=nichts"}
    assert len(set(entries_of(table)["partition"].to_pylist())) == 3
    for where, ids in (("p IS NULL", [0, 3]), ("p = ''", [1, 4]), ("p = ' '", [2])):
        assert sorted(table.scan(where=where).to_arrow()["a"].to_pylist()) == ids


@pytest.mark.parametrize("legacy", [True, False])
def test_folders_of_other_types(lake: lakebed.Lake, legacy: bool) -> None:
    ddl = "v INT, d DATE, t TIMESTAMP(6), b BOOLEAN, n DECIMAL(25, 4), f DOUBLE"
    keys = ["d", "t", "b", "n", "f"]
    table = create(lake, ddl, partition_by=keys, options={"partition.legacy-name": str(legacy).lower()})
    row = {
        "v": 1,
        "d": dt.date(2024, 1, 2),
        "t": dt.datetime(2024, 1, 2, 3, 4, 5, 678000),
        "b": True,
        "n": Decimal("1.5"),
        "f": 1e10,
    }
    table.write(pa.Table.from_pylist([row], schema=table.arrow_schema))
    (path,) = data_files(table)
    time = "2024-01-02T03%3A04%3A05.678" if legacy else "2024-01-02 03%3A04%3A05.678000"
    expected = ["d=19724" if legacy else "d=2024-01-02", f"t={time}", "b=true", "n=1.5000", "f=1.0E10", "bucket-0"]
    assert list(path.parts[-7:-1]) == expected
    assert table.scan().to_arrow().to_pylist() == [row | {"n": Decimal("1.5000")}]


def test_zeros_and_nan_as_partitions(lake: lakebed.Lake) -> None:
    table = create(lake, "v INT, f DOUBLE", partition_by=["f"])
    table.write(pa.table({"v": pa.array(range(5), pa.int32()), "f": [0.0, -0.0, math.nan, 0.0, math.nan]}))
    assert sorted(path.parent.parent.name for path in data_files(table)) == ["f=-0.0", "f=0.0", "f=NaN"]
    assert sorted(table.scan(where="f = 0").to_arrow()["v"].to_pylist()) == [0, 1, 3]
    assert sorted(table.scan(where="f = double('NaN')").to_arrow()["v"].to_pylist()) == [2, 4]


# ---------------------------------------------------------------------------------------------------------- statistics


def _less(one: Any, other: Any) -> bool:
    if isinstance(one, str):
        return bool(one.encode() < other.encode())
    return bool(one < other)


def _bounds(column: pa.ChunkedArray) -> tuple[Any, Any]:
    """The least and the greatest value, the obvious way; none for columns with a NaN."""
    values = [value for value in column.to_pylist() if value is not None]
    if not values or any(isinstance(value, float) and math.isnan(value) for value in values):
        return None, None
    low = high = values[0]
    for value in values[1:]:
        low = value if _less(value, low) else low
        high = value if _less(high, value) else high
    if isinstance(low, float):
        low, high = (-0.0 if low == 0 else low), (0.0 if high == 0 else high)
    return low, high


def _cut(low: Any, high: Any, length: int) -> tuple[Any, Any]:
    """Bounds of at most so many characters or bytes, the slow way: the least short text above is searched for."""
    if not isinstance(high, str | bytes):
        return low, high
    if len(high) > length:
        prefix = high[:length]
        while prefix:
            last = prefix[-1] if isinstance(prefix, bytes) else ord(prefix[-1])
            if isinstance(prefix, bytes) and last < 255:
                return low[:length], prefix[:-1] + bytes([last + 1])
            if isinstance(prefix, str) and last < 0x10FFFF:
                return low[:length], prefix[:-1] + chr(0xE000 if last == 0xD7FF else last + 1)
            prefix = prefix[:-1]
        return None, None
    return low[:length], high


def check_stats(table: lakebed.Table, rows: pa.Table) -> None:
    """The stored statistics of a table of one file are exactly those of its rows, as its options want them."""
    (entry,) = entries_of(table).to_pylist()
    options = table.schema.options
    names = table.schema.field_names
    modes = dict(zip(names, column_modes(names, TableOptions(options), level=0), strict=True))
    dense = options.get("metadata.stats-dense-store", "true") == "true"
    kept = [f for f in table.schema.fields if isinstance(f.type, Atomic) and modes[f.name].kind != "none"]
    covered = kept if dense else list(table.schema.fields)
    assert entry["value_stats_cols"] == (
        None if len(covered) == len(table.schema.fields) else [f.name for f in covered]
    )
    decoded = decode_stats(
        pa.array([entry["value_min"]]),
        pa.array([entry["value_max"]]),
        pa.array([entry["value_null_counts"]], pa.list_(pa.int64())),
        [nullable(f.type) for f in covered],
    )
    for i, field in enumerate(covered):
        found = [repr(part[i][0].as_py()) for part in (decoded.mins, decoded.maxs, decoded.null_counts)]
        assert found == [repr(part) for part in _expected(rows[field.name], field, modes[field.name])], field
    assert entry["row_count"] == len(rows)


def _expected(column: pa.ChunkedArray, field: Field, mode: StatsMode) -> tuple[Any, Any, int | None]:
    if mode.kind == "none" or not isinstance(field.type, Atomic):
        return None, None, None
    if mode.kind == "counts":
        return None, None, column.null_count
    low, high = _bounds(column)
    if mode.kind == "truncate":
        low, high = _cut(low, high, mode.length)
    return low, high, column.null_count


@settings(max_examples=examples(40), deadline=None)
@given(
    tables(depth=1, max_rows=8).filter(lambda case: len(case[1]) > 0),
    st.sampled_from(["full", "counts", "none", "truncate(1)", "truncate(3)", "truncate(16)"]),
    st.sampled_from(["none", "counts", "full"]),
    st.booleans(),
)
def test_statistics_are_those_of_the_rows(
    module_lake: lakebed.Lake, case: tuple[tuple[Field, ...], pa.Table], mode: str, first: str, dense: bool
) -> None:
    fields, rows = case
    options = {
        "metadata.stats-mode": mode,
        "fields.c0.stats-mode": first,
        "metadata.stats-dense-store": str(dense).lower(),
    }
    table = create(module_lake, fields, options=options)
    table.write(rows)
    check_stats(table, rows)


SPECIAL: list[tuple[str, list[Any]]] = [
    ("DOUBLE", [math.nan, 1.0]),
    ("DOUBLE", [math.nan, None]),
    ("DOUBLE", [0.0, -0.0]),
    ("DOUBLE", [0.0, 1.0]),
    ("FLOAT", [-1.0, -0.0]),
    ("DOUBLE", [math.inf, -math.inf]),
    ("DOUBLE", [None, None]),
    ("STRING", [None, None]),
    ("STRING", [""]),
    ("STRING", ["a" * 17]),
    ("STRING", ["a" * 16]),
    ("STRING", ["🙂" * 17, "\uffff" * 17]),
    ("STRING", ["a" * 15 + "\ud7ff" * 3]),
    ("STRING", ["a" * 15 + "\U0010ffff" * 3]),
    ("STRING", ["\U0010ffff" * 17, "a"]),
    ("BYTES", [b"\xff" * 17, b""]),
    ("BYTES", [b"a" * 15 + b"\xff" * 3]),
    ("DECIMAL(38, 10)", [Decimal("-12345678901234567890.5"), Decimal(0)]),
    ("TIMESTAMP(6)", [dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)]),
    ("TIMESTAMP(0)", [dt.datetime(2024, 1, 1), None]),
]


@pytest.mark.parametrize("mode", ["truncate(16)", "full", "counts"])
@pytest.mark.parametrize(("kind", "values"), SPECIAL, ids=str)
def test_statistics_of_special_values(lake: lakebed.Lake, kind: str, values: list[Any], mode: str) -> None:
    table = create(lake, f"c {kind}", options={"metadata.stats-mode": mode})
    rows = pa.table({"c": pa.array(values, to_arrow(table.schema.field("c").type))})
    table.write(rows)
    check_stats(table, rows)


@pytest.mark.parametrize("mode", ["truncate(16)", "full"])
def test_texts_too_long_for_footers_are_never_excluded(lake: lakebed.Lake, mode: str) -> None:
    """Parquet footers leave bounds out that are very long: then they are unknown, not wrong."""
    table = create(lake, "id INT, s STRING", options={"metadata.stats-mode": mode})
    table.write([{"id": 1, "s": "m" * 20_000}, {"id": 2, "s": "b"}, {"id": 3, "s": None}])
    for where, ids in (("s > 'c'", [1]), ("s < 'c'", [2]), ("s IS NULL", [3]), ("s LIKE 'mm%'", [1])):
        assert table.scan(where=where).to_arrow()["id"].to_pylist() == ids


def test_statistics_of_several_row_groups_are_put_together(lake: lakebed.Lake) -> None:
    options = {"file.block-size": "1 kb", "metadata.stats-mode": "full"}
    table = create(lake, "id INT, f DOUBLE, s STRING", options=options)
    rows = pa.table(
        {
            "id": pa.array(range(2000), pa.int32()),
            "f": pa.array([None if i < 100 else float(i) for i in range(2000)]),
            "s": pa.array([str(i) for i in range(2000)]),
        }
    )
    table.write(rows)
    (path,) = data_files(table)
    assert pq.read_metadata(path).num_row_groups > 5
    check_stats(table, rows)


def test_a_nan_in_one_row_group_takes_the_bounds_of_all(lake: lakebed.Lake) -> None:
    table = create(lake, "f DOUBLE", options={"file.block-size": "1 kb", "metadata.stats-mode": "full"})
    values = [1.0] * 500 + [math.nan] + [2.0] * 1500
    rows = pa.table({"f": values})
    table.write(rows)
    check_stats(table, rows)
    assert len(table.scan(where="f > 5").to_arrow()) == 1


# ------------------------------------------------------------------------------------------------------------- entries


def test_entries_say_what_was_written(lake: lakebed.Lake) -> None:
    table = create(lake, "a INT, p STRING", partition_by=["p"])
    before = dt.datetime.now() - dt.timedelta(seconds=1)
    table.write([{"a": 1, "p": "x"}, {"a": 2, "p": "y"}, {"a": 3, "p": "x"}])
    entries = entries_of(table).to_pylist()
    assert sorted((e["row_count"], e["min_sequence_number"], e["max_sequence_number"]) for e in entries) == [
        (1, 0, 0),
        (2, 0, 1),
    ]
    for entry in entries:
        fixed = {name: entry[name] for name in ("kind", "bucket", "total_buckets", "schema_id", "level", "extra_files")}
        assert fixed == {"kind": 0, "bucket": 0, "total_buckets": -1, "schema_id": 0, "level": 0, "extra_files": []}
        assert (entry["delete_row_count"], entry["file_source"]) == (0, 0)
        assert entry["min_key"] == entry["max_key"] == EMPTY_ROW
        assert before <= entry["creation_time"] <= dt.datetime.now()
        rest = ("embedded_index", "external_path", "first_row_id", "write_cols", "write_cols_sequences")
        assert [entry[name] for name in rest] == [None] * 5
        assert entry["file_size"] == next(p for p in data_files(table) if p.name == entry["file_name"]).stat().st_size
