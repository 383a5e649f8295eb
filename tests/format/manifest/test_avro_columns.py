"""Columns as Avro records: the very bytes that fastavro writes, record by record."""

from __future__ import annotations

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.metadata.entries import random_tables

from lakebed.format.manifest import avro, avro_columns, manifest
from lakebed.format.manifest.manifest import MANIFEST_AVRO, decode_manifest, encode_manifest

CODECS = ["null", "deflate", "snappy", "bzip2", "zstd"]
LONGS = st.integers(-(2**63), 2**63 - 1)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(LONGS | st.integers(-200, 200)))
def test_numbers(numbers: list[int]) -> None:
    schema = fastavro.parse_schema({"type": "record", "name": "r", "fields": [{"name": "n", "type": "long"}]})
    ours = avro_columns.encode_records(schema, {"n": pa.array(numbers, pa.int64())}, len(numbers))
    _, theirs = avro.unpacked(avro.encode(schema, [{"n": number} for number in numbers], codec="null"), where="x")
    assert b"".join(ours.to_pylist()) == theirs


@settings(max_examples=examples(80), deadline=None)
@given(random_tables, st.sampled_from(CODECS))
def test_a_manifest_by_columns_is_the_one_by_records(table: pa.Table, codec: str) -> None:
    columns = manifest._as_columns(table)
    by_columns = avro.encode_columns(MANIFEST_AVRO, columns, len(table), codec=codec)
    records = map(manifest._entry_to_record, table.to_pylist())
    by_records = avro.encode(MANIFEST_AVRO, records, codec=codec)
    assert avro.unpacked(by_columns, where="x") == avro.unpacked(by_records, where="x")


@pytest.mark.parametrize("codec", CODECS)
def test_many_blocks(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(avro_columns, "BLOCK_BYTES", 300)
    schema = fastavro.parse_schema({"type": "record", "name": "r", "fields": [{"name": "s", "type": "string"}]})
    texts = ["x" * (number % 500) for number in range(1000)]
    data = avro.encode_columns(schema, {"s": pa.array(texts)}, len(texts), codec=codec)
    assert [record["s"] for record in avro.decode_records(data, where="x")] == texts
    assert avro.decode(data, where="x")["s"].to_pylist() == texts


def test_sliced_and_chunked_columns() -> None:
    kinds = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "l", **avro.optional({"type": "array", "items": "long"})}],
    }
    schema = fastavro.parse_schema(kinds)
    lists = pa.array([[9], [1, 2], None, [], [3]], pa.list_(pa.int64()))
    for values in (lists[1:], pa.chunked_array([lists[1:3], lists[3:]])):
        data = avro.encode_columns(schema, {"l": values}, 4)
        assert [record["l"] for record in avro.decode_records(data, where="x")] == [[1, 2], None, [], [3]]


def test_no_records() -> None:
    assert decode_manifest(encode_manifest(manifest.NO_ENTRIES), where="x").num_rows == 0
    assert avro_columns.encode_records(MANIFEST_AVRO, {}, 0).to_pylist() == []
    assert np.array_equal(avro_columns._varints(np.zeros(0, np.int64)).to_pylist(), [])
