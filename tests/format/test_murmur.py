"""The row hash against Paimon's own hashes and against murmur3 written out for one row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.format.binary_rows import VECTORS, array_of, reference_row, row_sets, types_of

from lakebed.errors import DataError
from lakebed.format.binary_row import encode_rows
from lakebed.format.index_files import hash_index
from lakebed.format.murmur import hash_bytes, hash_rows
from lakebed.format.types.data_types import Atomic, to_arrow


def reference_hash(data: bytes) -> int:
    """murmur3_32 over whole words, as FORMAT describes it; ``data`` with the arity prefix."""
    row = data[4:]
    h = 42
    for at in range(0, len(row), 4):
        k = int.from_bytes(row[at : at + 4], "little") * 0xCC9E2D51 % 2**32
        k = (k << 15 | k >> 17) % 2**32 * 0x1B873593 % 2**32
        h ^= k
        h = ((h << 13 | h >> 19) % 2**32 * 5 + 0xE6546B64) % 2**32
    h ^= len(row)
    h = (h ^ h >> 16) * 0x85EBCA6B % 2**32
    h = (h ^ h >> 13) * 0xC2B2AE35 % 2**32
    h ^= h >> 16
    return h - 2**32 if h >= 2**31 else h


@pytest.mark.parametrize(("text", "values", "data", "expected"), [vector[:4] for vector in VECTORS])
def test_vectors(text: str, values: tuple[Any, ...], data: str, expected: int) -> None:
    types = types_of(text)
    columns = [pa.array([value], to_arrow(kind)) for value, kind in zip(values, types, strict=True)]
    assert hash_rows(columns, types, compact_nulls=True).tolist() == [expected]
    assert hash_bytes(bytes.fromhex(data)[4:]) == expected
    assert reference_hash(bytes.fromhex(data)) == expected


def test_hashes_of_a_dynamic_bucket_index() -> None:
    """Index files that pypaimon wrote for the keys 1, 2, 3, 5 and then 7."""
    keys = pa.array([1, 2, 3, 5], pa.int32())
    first = hash_index.encode(hash_rows([keys], [Atomic("INT")]))
    assert first.hex(" ", 4) == "d206e547 0f8248f4 4fe4bbf0 5759f99e"
    more = pa.array([1, 2, 3, 5, 7], pa.int32())
    second = hash_index.encode(hash_rows([more], [Atomic("INT")]))
    assert second.hex(" ", 4) == "d206e547 eb3f5e0d 0f8248f4 4fe4bbf0 5759f99e"


@settings(max_examples=examples(150), deadline=None)
@given(row_sets(), st.booleans())
def test_same_as_the_reference(case: tuple[list[Atomic], list[list[Any]]], compact: bool) -> None:
    types, values = case
    columns = [array_of(column, kind) for column, kind in zip(values, types, strict=True)]
    hashes = hash_rows(columns, types, compact_nulls=compact)
    assert hashes.dtype == np.int32
    expected = [reference_hash(reference_row(row, types, compact_nulls=compact)) for row in zip(*values, strict=True)]
    assert hashes.tolist() == expected


def test_more_rows_than_one_chunk_of_very_different_lengths() -> None:
    rows = 65_536 * 2 + 3
    lengths = np.arange(rows) % 40
    lengths[[0, 70_000, rows - 1]] = [5_000, 900, 7_001]
    texts = pa.array(["x" * n if n != 13 else None for n in lengths.tolist()])
    numbers = pa.array(np.arange(rows))
    types = [Atomic("STRING"), Atomic("BIGINT"), Atomic("STRING")]
    columns = [texts, pa.chunked_array([numbers[:10], numbers[10:70_001], numbers[70_001:]]), texts]
    hashes = hash_rows(columns, types)
    some = [0, 1, 13, 65_535, 65_536, 70_000, 131_071, 131_072, rows - 1]
    encoded = encode_rows([column.take(pa.array(some)) for column in columns], types)
    assert hashes[some].tolist() == [reference_hash(row) for row in encoded.to_pylist()]


def test_no_rows() -> None:
    assert hash_rows([pa.array([], pa.int64())], [Atomic("BIGINT")]).tolist() == []
    assert hash_rows([pa.chunked_array([], pa.string())], [Atomic("STRING")]).tolist() == []


def test_hash_of_bytes_needs_whole_words() -> None:
    with pytest.raises(DataError, match="there are 5 bytes"):
        hash_bytes(b"12345")
