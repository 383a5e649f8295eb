"""Fixed buckets: Paimon's own assignments, and Hive's hash written out for one value."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.format.binary_rows import JAVA_NULLS, VECTORS, array_of, row_sets, types_of

from lakebed.buckets.choose_fixed import bucket_of_rows
from lakebed.errors import DataError, OptionError
from lakebed.format.binary_row import encode_rows
from lakebed.format.murmur import hash_bytes
from lakebed.format.types.data_types import Array, Atomic, to_arrow


# pypaimon hashes nulls of these two types in its own way; we follow Java
@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        (text, values, buckets)
        for text, values, _, _, buckets in VECTORS
        if values != (None,) or text not in {"TIMESTAMP(6)", "DECIMAL(25, 4)"}
    ],
)
def test_vectors(text: str, values: tuple[Any, ...], expected: tuple[int, ...]) -> None:
    types = types_of(text)
    columns = [pa.array([value], to_arrow(kind)) for value, kind in zip(values, types, strict=True)]
    assert tuple(bucket_of_rows(columns, types, n)[0] for n in (2, 4, 5, 10)) == expected


@pytest.mark.parametrize(("text", "data"), JAVA_NULLS)
def test_nulls_go_where_java_puts_them(text: str, data: str) -> None:
    types = types_of(text)
    wanted = abs(int(np.fmod(hash_bytes(bytes.fromhex(data)[4:]), 7)))
    assert bucket_of_rows([pa.nulls(1) for _ in types], types, 7).tolist() == [wanted]


@settings(max_examples=examples(40), deadline=None)
@given(row_sets(max_columns=2), st.integers(1, 2**31 - 1))
def test_default_is_the_absolute_java_remainder(case: tuple[list[Atomic], list[list[Any]]], buckets: int) -> None:
    types, values = case
    columns = [array_of(column, kind) for column, kind in zip(values, types, strict=True)]
    hashes = [hash_bytes(row[4:]) for row in encode_rows(columns, types).to_pylist()]
    found = bucket_of_rows(columns, types, buckets)
    assert found.dtype == np.int32
    assert found.tolist() == [abs(value) % buckets for value in hashes]


@pytest.mark.parametrize(("root", "bits"), [("INT", 32), ("BIGINT", 64)])
def test_mod(root: str, bits: int) -> None:
    values = [0, 1, -1, 7, -8, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), None]
    column = pa.chunked_array(
        [pa.array(values[:3], to_arrow(Atomic(root))), pa.array(values[3:], to_arrow(Atomic(root)))]
    )
    for buckets in (1, 5, 2**31 - 1):
        found = bucket_of_rows([column], [Atomic(root)], buckets, "mod")
        assert found.dtype == np.int32
        assert found.tolist() == [(value or 0) % buckets for value in values]


# --------------------------------------------------------------------------------------------------------- Hive


def wrap(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def fold(bits: int) -> int:
    return wrap((bits ^ bits >> 32) % 2**32)


def reference_hive(value: Any, kind: Atomic) -> int:
    if value is None:
        return 0
    if kind.root in {"BOOLEAN", "TINYINT", "SMALLINT", "INT", "DATE", "TIME"}:
        return int(value)
    if kind.root == "BIGINT":
        return fold(value % 2**64)
    if kind.root == "FLOAT":
        return 0 if value == 0 else int(struct.unpack("<i", struct.pack("<f", value))[0])
    if kind.root == "DOUBLE":
        return 0 if value == 0 else fold(struct.unpack("<Q", struct.pack("<d", value))[0])
    if kind.root == "DECIMAL":
        return java_big_decimal_hash(value, kind.params[1])
    h = 0
    for byte in value.encode() if isinstance(value, str) else value:
        h = wrap(31 * h + (byte - 256 if byte > 127 else byte))
    return h


def java_big_decimal_hash(number: int, scale: int) -> int:
    if number == 0:
        return 0
    while scale > 0 and number % 10 == 0:
        number, scale = number // 10, scale - 1
    h = 0
    for shift in (96, 64, 32, 0):
        h = wrap(31 * h + (abs(number) >> shift) % 2**32)
    return wrap(31 * wrap(h if number > 0 else -h) + scale)


@settings(max_examples=examples(150), deadline=None)
@given(row_sets(max_columns=3), st.integers(1, 2**31 - 1))
def test_hive_is_the_reference(case: tuple[list[Atomic], list[list[Any]]], buckets: int) -> None:
    types, values = case
    columns = [array_of(column, kind) for column, kind in zip(values, types, strict=True)]
    if any("STAMP" in kind.root for kind in types):
        with pytest.raises(OptionError, match="no hash for type TIMESTAMP"):
            bucket_of_rows(columns, types, buckets, "hive")
        return
    expected = []
    for row in zip(*values, strict=True):
        h = 0
        for value, kind in zip(row, types, strict=True):
            h = wrap(31 * h + reference_hive(value, kind))
        expected.append((h & 0x7FFFFFFF) % buckets)
    found = bucket_of_rows(columns, types, buckets, "hive")
    assert (found.tolist(), str(found.dtype)) == (expected, "int32")


@pytest.mark.parametrize(
    ("array", "root", "expected"),
    [
        # as Hive's and Spark's own tests have them, the strings as a second key after 84, 19 and 8
        (pa.array(["val_84", "val_19", "val_8"]), "STRING", [-823832826, -823835053, 111972242]),
        (pa.array([0, -42, 42, -(2**63), 2**63 - 1]), "BIGINT", [0, 41, 42, -(2**31), -(2**31)]),
        (pa.array([float("nan"), -0.0]), "DOUBLE", [0x7FF80000, 0]),
        (pa.array([float("nan"), -0.0], pa.float32()), "FLOAT", [0x7FC00000, 0]),
    ],
)
def test_hive_known_hashes(array: pa.Array, root: str, expected: list[int]) -> None:
    buckets = 2**31 - 1
    first = [84, 19, 8] if root == "STRING" else [0] * len(array)
    found = bucket_of_rows([pa.array(first), array], [Atomic("BIGINT"), Atomic(root)], buckets, "hive")
    assert found.tolist() == [(h & 0x7FFFFFFF) % buckets for h in expected]


# ----------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("types", [["STRING"], ["INT", "INT"], ["SMALLINT"], ["DATE"]])
def test_mod_needs_one_integer(types: list[str]) -> None:
    kinds = [Atomic(root) for root in types]
    with pytest.raises(OptionError, match="exactly one bucket key of type INT or BIGINT"):
        bucket_of_rows([pa.nulls(1, to_arrow(kind)) for kind in kinds], kinds, 4, "mod")


def test_refusals() -> None:
    column = pa.array([1], pa.int32())
    with pytest.raises(OptionError, match="must be positive, got 0"):
        bucket_of_rows([column], [Atomic("INT")], 0)
    with pytest.raises(OptionError, match="did you mean 'default'"):
        bucket_of_rows([column], [Atomic("INT")], 4, "defualt")
    with pytest.raises(DataError, match="2 columns for 1 bucket keys"):
        bucket_of_rows([column, column], [Atomic("INT")], 4, "mod")
    with pytest.raises(OptionError, match="needs a bucket key"):
        bucket_of_rows([], [], 4)
    with pytest.raises(OptionError, match="cannot be a bucket key"):
        bucket_of_rows([pa.nulls(1)], [Array(Atomic("INT"))], 4)


@pytest.mark.parametrize("function", ["default", "mod", "hive"])
def test_no_rows(function: str) -> None:
    assert bucket_of_rows([pa.array([], pa.int64())], [Atomic("BIGINT")], 4, function).tolist() == []
