"""BinaryRow against Paimon's own bytes and against an independent encoder that works on one row at a time."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.format.binary_rows import ATOMICS, JAVA_NULLS, VECTORS, array_of, reference_row, row_sets, types_of

from lakebed.errors import CorruptError, DataError, UnsupportedError
from lakebed.format.binary_row import (
    EMPTY_ROW,
    decode_rows,
    encode_few_rows,
    encode_row,
    encode_rows,
    row_arities,
)
from lakebed.format.types.data_types import Array, Atomic, DataType, Field, Map, Row, to_arrow

# ------------------------------------------------------------------- vectors: types, values, bytes, hash, buckets


# ------------------------------------------------------------------------------------------ independent encoder


# ---------------------------------------------------------------------------------------------------- strategies


# --------------------------------------------------------------------------------------------------------- tests


@pytest.mark.parametrize(("text", "values", "expected"), [vector[:3] for vector in VECTORS])
def test_vectors(text: str, values: tuple[Any, ...], expected: str) -> None:
    types = types_of(text)
    data = encode_row(values, types, compact_nulls=True)
    assert data.hex() == expected
    decoded = decode_rows(pa.array([data]), types)
    assert [column.type for column in decoded] == [to_arrow(kind) for kind in types]
    assert tuple(column[0].as_py() for column in decoded) == values


@pytest.mark.parametrize(("text", "expected"), JAVA_NULLS)
def test_nulls_as_java_writes_them(text: str, expected: str) -> None:
    types = types_of(text)
    assert encode_row([None] * len(types), types).hex() == expected
    for compact in (False, True):
        data = encode_row([None] * len(types), types, compact_nulls=compact)
        assert [column.to_pylist() for column in decode_rows(pa.array([data]), types)] == [[None]] * len(types)


@settings(max_examples=examples(150), deadline=None)
@given(row_sets(), st.booleans())
def test_same_bytes_as_the_reference_and_back(case: tuple[list[Atomic], list[list[Any]]], compact: bool) -> None:
    types, values = case
    columns = [array_of(column, kind) for column, kind in zip(values, types, strict=True)]
    rows = encode_rows(columns, types, compact_nulls=compact)
    expected = [reference_row(row, types, compact_nulls=compact) for row in zip(*values, strict=True)]
    assert rows.to_pylist() == expected
    for before, after in zip(columns, decode_rows(rows, types), strict=True):
        after.validate(full=True)
        assert after.equals(before)


@pytest.mark.parametrize("arity", [1, 55, 56, 57, 64, 120, 121, 200])
def test_wide_rows(arity: int) -> None:
    types = [ATOMICS[i % len(ATOMICS)][0] for i in range(arity)]
    columns = [array_of([None, *_sample(kind), None], kind) for kind in types]
    rows = encode_rows(columns, types)
    assert rows.to_pylist() == [
        reference_row([None] * arity, types),
        *(reference_row([_sample(kind)[n] for kind in types], types) for n in range(2)),
        reference_row([None] * arity, types),
    ]
    assert decode_rows(rows, types) == columns


def _sample(kind: Atomic) -> list[Any]:
    arrow = to_arrow(kind)
    if arrow == pa.string():
        return ["short", "rather a long one"]
    if arrow == pa.binary():
        return [b"12345678", b"1"]
    return [False, True] if kind.root == "BOOLEAN" else [1, 100]


@settings(max_examples=examples(30), deadline=None)
@given(row_sets(max_columns=3), st.data())
def test_any_chunks_and_slices(case: tuple[list[Atomic], list[list[Any]]], data: st.DataObject) -> None:
    types, values = case
    rows = len(values[0])
    chunked = []
    for column, kind in zip(values, types, strict=True):
        padded = array_of([column[0] if rows else None, *column, None], kind)
        cut = data.draw(st.integers(0, rows))
        chunked.append(pa.chunked_array([padded[1 : 1 + cut], padded[1 + cut : 1 + rows]], to_arrow(kind)))
    encoded = encode_rows(chunked, types)
    assert encoded.to_pylist() == [reference_row(row, types) for row in zip(*values, strict=True)]
    around = pa.concat_arrays([pa.array([b"x" * 40]), encoded, pa.array([b""])])
    decoded = decode_rows(pa.chunked_array([around[1 : 1 + rows]]), types)
    assert decoded == [column.combine_chunks() for column in chunked]


def test_many_rows_and_many_tiny_chunks() -> None:
    rows = 40_000
    numbers = pa.array(range(rows), pa.int64())
    texts = pa.array(["x" * (i % 23) if i % 7 else None for i in range(rows)])
    types = [Atomic("BIGINT"), Atomic("STRING")]
    tiny = pa.chunked_array([numbers[i : i + 10] for i in range(0, rows, 10)])
    encoded = encode_rows([tiny, texts], types)
    expected = [reference_row(row, types) for row in zip(numbers.to_pylist(), texts.to_pylist(), strict=True)]
    assert encoded.to_pylist() == expected
    assert decode_rows(encoded, types) == [numbers, texts]


def test_nan_keeps_its_bits() -> None:
    for kind in (Atomic("FLOAT"), Atomic("DOUBLE")):
        data = encode_row([float("nan")], [kind])
        assert np.isnan(decode_rows(pa.array([data]), [kind])[0][0].as_py())


def test_values_under_nulls_do_not_leak() -> None:
    hidden = pa.array([5, 6], pa.int64())
    masked = pa.Array.from_buffers(pa.int64(), 2, [pa.py_buffer(b"\x01"), hidden.buffers()[1]])
    texts = pa.array(["one of the longer ones", "hidden and long"])
    masked_texts = pa.Array.from_buffers(pa.string(), 2, [pa.py_buffer(b"\x01"), *texts.buffers()[1:]])
    types = [Atomic("BIGINT"), Atomic("STRING")]
    expected = [reference_row([5, "one of the longer ones"], types), reference_row([None, None], types)]
    assert encode_rows([masked, masked_texts], types).to_pylist() == expected


def test_no_fields_and_no_rows() -> None:
    assert encode_row([], []) == EMPTY_ROW == bytes(12)
    assert decode_rows(pa.array([EMPTY_ROW, EMPTY_ROW]), []) == []
    assert encode_rows([], []).to_pylist() == []
    assert encode_rows([pa.array([], pa.string())], [Atomic("STRING")]).to_pylist() == []
    assert [column.to_pylist() for column in decode_rows(pa.array([], pa.binary()), [Atomic("STRING")])] == [[]]


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["a", None, "a long string"], pa.large_string()),
        pa.array(["a", None, "a long string"], pa.string_view()),
        pa.array(["a", None, "a long string"]).dictionary_encode(),
    ],
)
def test_other_spellings_of_the_same_type(array: pa.Array) -> None:
    plain = encode_rows([pa.array(["a", None, "a long string"])], [Atomic("STRING")])
    assert encode_rows([array], [Atomic("STRING")]).equals(plain)


def test_untyped_nulls_fit_every_type() -> None:
    types = [kind for kind, _ in ATOMICS]
    encoded = encode_rows([pa.nulls(2) for _ in types], types)
    assert encoded.to_pylist() == [reference_row([None] * len(types), types)] * 2


COMPLEX: list[DataType] = [
    Array(Atomic("INT")),
    Map(Atomic("STRING"), Atomic("INT")),
    Row((Field(1, "x", Atomic("INT")),)),
]


@pytest.mark.parametrize("kind", COMPLEX, ids=str)
def test_complex_types_can_only_be_null(kind: DataType) -> None:
    types = [Atomic("INT"), kind]
    data = encode_row([1, None], types)
    assert data == reference_row([1, None], [Atomic("INT"), Atomic("INT")])
    assert [column.to_pylist() for column in decode_rows(pa.array([data]), types)] == [[1], [None]]
    value = {"x": 1} if isinstance(kind, Row) else [] if isinstance(kind, Array) else {}
    with pytest.raises(UnsupportedError, match="cannot be part of a key"):
        encode_rows([pa.array([1]).cast(pa.int32()), pa.array([value], to_arrow(kind))], types)
    with pytest.raises(CorruptError, match="is not null"):
        decode_rows(pa.array([encode_row([1, 2], [Atomic("INT"), Atomic("INT")])]), types)


# ------------------------------------------------------------------------------------------------------ bad input


def test_wrong_columns_are_refused() -> None:
    with pytest.raises(DataError, match="needs Arrow type int64, not int32"):
        encode_rows([pa.array([1], pa.int32())], [Atomic("BIGINT")])
    with pytest.raises(DataError, match=r"timestamp\[us\]"):
        encode_rows([pa.array([1], pa.timestamp("ms"))], [Atomic("TIMESTAMP", (6,))])
    with pytest.raises(DataError, match="1 columns for 2 types"):
        encode_rows([pa.array([1])], [Atomic("BIGINT")] * 2)
    with pytest.raises(DataError, match="same number of rows"):
        encode_rows([pa.array([1]), pa.array([1, 2])], [Atomic("BIGINT")] * 2)
    with pytest.raises(DataError, match="1 values for 2 types"):
        encode_row([1], [Atomic("BIGINT")] * 2)
    with pytest.raises(DataError, match="do not fit"):
        encode_row(["x"], [Atomic("BIGINT")])
    with pytest.raises(DataError, match="do not fit"):
        encode_row([300], [Atomic("TINYINT")])


MIXED = [Atomic("INT"), Atomic("STRING"), Atomic("DECIMAL", (25, 4)), Atomic("TIMESTAMP", (6,)), Atomic("BYTES")]
MIXED_ROW = encode_row([7, "a longer string", Decimal("-1.5"), 123_456_789, b"0123456789"], MIXED)


def test_every_truncation_is_an_error() -> None:
    for size in range(len(MIXED_ROW)):
        with pytest.raises(CorruptError):
            decode_rows(pa.array([MIXED_ROW, MIXED_ROW[:size]]), MIXED)


def test_errors_name_row_and_place() -> None:
    with pytest.raises(CorruptError, match=r"row 1 of manifest-7 .* 5 fields"):
        decode_rows(pa.array([MIXED_ROW, encode_row([1], [Atomic("INT")])]), MIXED, where="manifest-7")
    with pytest.raises(CorruptError, match="manifest-7 hold nulls"):
        decode_rows(pa.array([MIXED_ROW, None]), MIXED, where="manifest-7")
    with pytest.raises(CorruptError, match="less than 12 bytes"):
        decode_rows(pa.array([b"abc"]), [])


@pytest.mark.parametrize(
    ("kind", "slot", "message"),
    [
        (Atomic("STRING"), struct.pack("<II", 9, 8), "points outside"),
        (Atomic("STRING"), struct.pack("<II", 17, 16), "points outside"),
        (Atomic("STRING"), struct.pack("<II", 2**31 + 5, 16), "points outside"),
        (Atomic("STRING"), struct.pack("<II", 8, 2**31 - 8), "points outside"),
        (Atomic("STRING"), b"1234567\x88", "impossible length"),
        (Atomic("STRING"), b"\xff\xfe\0\0\0\0\0\x82", "not valid text"),
        (Atomic("DECIMAL", (20, 0)), struct.pack("<II", 17, 16), "impossible length"),
        (Atomic("DECIMAL", (20, 0)), struct.pack("<II", 0, 16), "impossible length"),
        (Atomic("DECIMAL", (20, 0)), struct.pack("<II", 9, 24), "points outside"),
        (Atomic("TIMESTAMP", (6,)), struct.pack("<II", 0, 32), "points outside"),
        (Atomic("TIMESTAMP", (6,)), struct.pack("<II", 1_000_000, 16), "more nanoseconds"),
    ],
)
def test_slots_that_cannot_be(kind: Atomic, slot: bytes, message: str) -> None:
    row = struct.pack(">i", 1) + bytes(8) + slot + bytes(16)
    with pytest.raises(CorruptError, match=message):
        decode_rows(pa.array([row]), [kind])


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, len(MIXED_ROW) - 1), st.integers(0, 255), st.integers(0, len(MIXED_ROW) - 1), st.integers(0, 255))
def test_broken_bytes_never_break_the_process(first: int, one: int, second: int, other: int) -> None:
    broken = bytearray(MIXED_ROW)
    broken[first], broken[second] = one, other
    try:
        columns = decode_rows(pa.array([bytes(broken)]), MIXED)
    except (CorruptError, UnsupportedError):
        return
    for column in columns:
        assert len(column) == 1


def test_timestamps_beyond_nanoseconds() -> None:
    kind = Atomic("TIMESTAMP", (9,))
    far = struct.pack(">i", 1) + bytes(8) + struct.pack("<IIq", 0, 16, 253402214400000)  # 9999-12-31
    near = encode_row([5], [kind])
    with pytest.raises(UnsupportedError, match="beyond the range"):
        decode_rows(pa.array([near, far]), [kind])
    (column,) = decode_rows(pa.array([near, far]), [kind], overflow_as_null=True)
    assert column.cast(pa.int64()).to_pylist() == [5, None]


def test_arities() -> None:
    rows = pa.array([EMPTY_ROW, MIXED_ROW, None])
    assert row_arities(rows).tolist() == [0, 5, -1]
    with pytest.raises(CorruptError, match="less than 12 bytes"):
        row_arities(pa.array([EMPTY_ROW, b"12345"]))


def test_few_rows_and_few_fields() -> None:
    types: list[DataType] = [Atomic("INT"), Atomic("STRING"), Atomic("DOUBLE")]
    rows: list[list[object]] = [[1, "a text that does not fit", None], [None, "b", 2.5]]
    encoded = encode_few_rows(rows, types)
    assert encoded == [encode_row(row, types) for row in rows]
    assert encode_few_rows([[], []], []) == [EMPTY_ROW] * 2
    assert [column.to_pylist() for column in decode_rows(pa.array(encoded), types, only=[2, 0])] == [
        [None, 2.5],
        [1, None],
    ]
    with pytest.raises(DataError, match="2 values for 3 types"):
        encode_few_rows([rows[0], rows[1][:2]], types)
    with pytest.raises(DataError, match="do not fit"):
        encode_few_rows([rows[0], ["x", "y", "z"]], types)
