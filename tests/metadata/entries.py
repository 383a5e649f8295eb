"""Entries of manifests for tests: one with defaults, and random ones."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from lakebed.format.binary_row import EMPTY_ROW
from lakebed.format.file_names import is_file_name
from lakebed.format.manifest.manifest import ADD, DELETE, entries_from_rows

DEFAULTS: Mapping[str, Any] = {
    "kind": ADD,
    "partition": EMPTY_ROW,
    "bucket": 0,
    "total_buckets": -1,
    "file_name": "data-0.parquet",
    "file_size": 1000,
    "row_count": 10,
    "min_key": EMPTY_ROW,
    "max_key": EMPTY_ROW,
    "key_min": EMPTY_ROW,
    "key_max": EMPTY_ROW,
    "key_null_counts": [],
    "value_min": EMPTY_ROW,
    "value_max": EMPTY_ROW,
    "value_null_counts": [],
    "min_sequence_number": 0,
    "max_sequence_number": 9,
    "schema_id": 0,
    "level": 0,
    "extra_files": [],
    "creation_time": dt.datetime(2025, 1, 2, 3, 4, 5, 678000),
    "delete_row_count": 0,
    "embedded_index": None,
    "file_source": 0,
    "value_stats_cols": [],
    "external_path": None,
    "first_row_id": None,
    "write_cols": None,
    "write_cols_sequences": None,
}


def entry(file_name: str = "data-0.parquet", **changes: Any) -> dict[str, Any]:
    """One entry of an append table without partitions, as it differs from the usual."""
    unknown = set(changes) - set(DEFAULTS)
    assert not unknown, unknown
    return {**DEFAULTS, "file_name": file_name, **changes}


def entries(*rows: Mapping[str, Any]) -> pa.Table:
    return entries_from_rows(rows)


def adds(*names: str, **changes: Any) -> pa.Table:
    """ADD entries for files of these names."""
    return entries(*(entry(name, **changes) for name in names))


def names_of(table: pa.Table) -> list[str]:
    names: list[str] = table["file_name"].to_pylist()
    return names


int32s, int64s = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
texts, blobs = st.text(max_size=6), st.binary(max_size=20)
file_names = texts.filter(is_file_name)
counts = st.none() | st.lists(st.none() | int64s, max_size=3)
names = st.none() | st.lists(texts, max_size=3)
moments = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
)

random_entries: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "kind": st.sampled_from([ADD, DELETE]),
        "partition": blobs,
        "bucket": int32s,
        "total_buckets": int32s,
        "file_name": file_names,
        "file_size": int64s,
        "row_count": int64s,
        "min_key": blobs,
        "max_key": blobs,
        "key_min": blobs,
        "key_max": blobs,
        "key_null_counts": counts,
        "value_min": blobs,
        "value_max": blobs,
        "value_null_counts": counts,
        "min_sequence_number": int64s,
        "max_sequence_number": int64s,
        "schema_id": int64s,
        "level": int32s,
        "extra_files": st.lists(file_names, max_size=3),
        "creation_time": st.none() | moments,
        "delete_row_count": st.none() | int64s,
        "embedded_index": st.none() | blobs,
        "file_source": st.none() | int32s,
        "value_stats_cols": names,
        "external_path": st.none() | texts,
        "first_row_id": st.none() | int64s,
        "write_cols": names,
        "write_cols_sequences": st.none() | st.lists(int64s, max_size=3),
    }
)
"""Entries with any values that the types allow, whether they make sense or not."""

random_tables: st.SearchStrategy[pa.Table] = st.lists(random_entries, max_size=5).map(entries_from_rows)


def same(one: pa.Table, other: pa.Table) -> bool:
    """Whether two tables of entries have the same schema and rows, however they are chunked."""
    return bool(one.schema.equals(other.schema) and one.combine_chunks().equals(other.combine_chunks()))


def rows(table: pa.Table) -> Sequence[dict[str, Any]]:
    listed: list[dict[str, Any]] = table.to_pylist()
    return listed
