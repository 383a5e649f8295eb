"""BinaryRow against Paimon's own bytes and against an independent encoder that works on one row at a time."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.errors import CorruptError, DataError, UnsupportedError
from lakebed.format.binary_row import (
    EMPTY_ROW,
    decode_rows,
    encode_few_rows,
    encode_row,
    encode_rows,
    row_arities,
)
from lakebed.format.types.data_types import Array, Atomic, DataType, Field, Map, Row, parse_type, to_arrow

# ------------------------------------------------------------------- vectors: types, values, bytes, hash, buckets

# Written by pypaimon 2.1.0; buckets are those for 2, 4, 5 and 10.
VECTORS: list[tuple[str, tuple[Any, ...], str, int, tuple[int, int, int, int]]] = [
    ("INT", (0,), "0000000100000000000000000000000000000000", -300363099, (1, 3, 4, 9)),
    ("INT", (1,), "0000000100000000000000000100000000000000", 1465514398, (0, 2, 3, 8)),
    ("INT", (-1,), "000000010000000000000000ffffffff00000000", 1133687267, (1, 3, 2, 7)),
    ("INT", (42,), "0000000100000000000000002a00000000000000", 907821237, (1, 1, 2, 7)),
    ("INT", (2147483647,), "000000010000000000000000ffffff7f00000000", -1125657321, (1, 1, 1, 1)),
    ("INT", (-2147483648,), "0000000100000000000000000000008000000000", 916225219, (1, 3, 4, 9)),
    ("INT", (None,), "0000000100010000000000000000000000000000", -1748325344, (0, 0, 4, 4)),
    ("BIGINT", (0,), "0000000100000000000000000000000000000000", -300363099, (1, 3, 4, 9)),
    ("BIGINT", (1,), "0000000100000000000000000100000000000000", 1465514398, (0, 2, 3, 8)),
    ("BIGINT", (-1,), "000000010000000000000000ffffffffffffffff", -821098432, (0, 0, 2, 2)),
    ("BIGINT", (9223372036854775807,), "000000010000000000000000ffffffffffffff7f", -1566569095, (1, 3, 0, 5)),
    ("SMALLINT", (-5,), "000000010000000000000000fbff000000000000", 1265127973, (1, 1, 3, 3)),
    ("TINYINT", (7,), "0000000100000000000000000700000000000000", -348168691, (1, 3, 1, 1)),
    ("BOOLEAN", (True,), "0000000100000000000000000100000000000000", 1465514398, (0, 2, 3, 8)),
    ("FLOAT", (1.5,), "0000000100000000000000000000c03f00000000", -173842779, (1, 3, 4, 9)),
    ("DOUBLE", (-2.25,), "00000001000000000000000000000000000002c0", -413435051, (1, 3, 1, 1)),
    ("STRING", ("",), "0000000100000000000000000000000000000080", 302122119, (1, 3, 4, 9)),
    ("STRING", ("a",), "0000000100000000000000006100000000000081", 943281246, (0, 2, 1, 6)),
    ("STRING", ("abcdefg",), "0000000100000000000000006162636465666787", -1431907323, (1, 3, 3, 3)),
    ("STRING", ("abcdefgh",), "00000001000000000000000008000000100000006162636465666768", -843760178, (0, 2, 3, 8)),
    (
        "STRING",
        ("hello world, paimon",),
        "000000010000000000000000130000001000000068656c6c6f20776f726c642c207061696d6f6e0000000000",
        -2034202288,
        (0, 0, 3, 8),
    ),
    ("STRING", ("中文",), "000000010000000000000000e4b8ade696870086", 1956728004, (0, 0, 4, 4)),
    (
        "STRING",
        ("中文字",),
        "0000000100000000000000000900000010000000e4b8ade69687e5ad9700000000000000",
        131107836,
        (0, 0, 1, 6),
    ),
    ("STRING", (None,), "0000000100010000000000000000000000000000", -1748325344, (0, 0, 4, 4)),
    ("BYTES", (b"\x01\x02",), "0000000100000000000000000102000000000082", -308248439, (1, 3, 4, 9)),
    (
        "BYTES",
        (b"0123456789",),
        "0000000100000000000000000a0000001000000030313233343536373839000000000000",
        1898686293,
        (1, 1, 3, 3),
    ),
    ("DATE", (date(2024, 1, 2),), "0000000100000000000000000c4d000000000000", 1827046836, (0, 0, 1, 6)),
    (
        "TIMESTAMP(3)",
        (datetime(2024, 1, 2, 3, 4, 5, 678000),),
        "0000000100000000000000002edb20c88c010000",
        1606355323,
        (1, 3, 3, 3),
    ),
    (
        "TIMESTAMP(6)",
        (datetime(2024, 1, 2, 3, 4, 5, 678901),),
        "00000001000000000000000088bf0d00100000002edb20c88c010000",
        828821739,
        (1, 3, 4, 9),
    ),
    ("TIMESTAMP(6)", (None,), "0000000100010000000000000000000000000000", -1748325344, (0, 0, 4, 4)),
    (
        "DECIMAL(10, 2)",
        (Decimal("12.34"),),
        "000000010000000000000000d204000000000000",
        -1096042293,
        (1, 1, 3, 3),
    ),
    (
        "DECIMAL(10, 2)",
        (Decimal("-12.34"),),
        "0000000100000000000000002efbffffffffffff",
        808378434,
        (0, 2, 4, 4),
    ),
    (
        "DECIMAL(25, 4)",
        (Decimal("12345678901234567890.1234"),),
        "0000000100000000000000000a000000100000001a249b1f10a06c96aff2000000000000",
        403623896,
        (0, 0, 1, 6),
    ),
    ("DECIMAL(25, 4)", (None,), "0000000100010000000000000000000000000000", -1748325344, (0, 0, 4, 4)),
    (
        "INT; STRING",
        (1, "a"),
        "00000002000000000000000001000000000000006100000000000081",
        -948407462,
        (0, 2, 2, 2),
    ),
    (
        "INT; STRING",
        (-7, "a longer string"),
        "000000020000000000000000f9ffffff000000000f0000001800000061206c6f6e67657220737472696e6700",
        -327854581,
        (1, 1, 1, 1),
    ),
    (
        "STRING; BIGINT",
        ("2024-01-01", 123456789012),
        "0000000200000000000000000a00000018000000141a99be1c000000323032342d30312d3031000000000000",
        -124650189,
        (1, 1, 4, 9),
    ),
    (
        "STRING; STRING",
        ("long string one", "long string two"),
        "0000000200000000000000000f000000180000000f000000280000006c6f6e6720737472696e67206f6e65006c6f6e6720737472696e672074776f00",
        369561682,
        (0, 2, 2, 2),
    ),
    (
        "INT; INT",
        (None, 5),
        "00000002000100000000000000000000000000000500000000000000",
        1401948696,
        (0, 0, 1, 6),
    ),
]

# Partitions written by Java Paimon 2.0.0.
JAVA_NULLS = [
    (
        "STRING; DATE; TIMESTAMP(6)",
        "00000003" + "0007000000000000" + "00" * 16 + "0000000020000000" + "00" * 8,
    ),
    (
        "STRING; DATE; TIMESTAMP(6); DECIMAL(25, 4)",
        "00000004" + "000f000000000000" + "00" * 16 + "0000000028000000" + "0000000030000000" + "00" * 24,
    ),
]


def types_of(text: str) -> list[DataType]:
    return [parse_type(part.strip()) for part in text.split(";")]


# ------------------------------------------------------------------------------------------ independent encoder


def reference_row(values: Sequence[Any], types: Sequence[Atomic], *, compact_nulls: bool = False) -> bytes:
    """One row, one field after the other. Decimals are unscaled ints; dates, times and timestamps Arrow's numbers."""
    arity = len(types)
    null_size = (arity + 63 + 8) // 64 * 8
    head = bytearray(null_size + 8 * arity)
    tail = bytearray()

    def put(slot: bytes, index: int) -> None:
        at = null_size + 8 * index
        head[at : at + 8] = slot.ljust(8, b"\0")

    for i, (value, kind) in enumerate(zip(values, types, strict=True)):
        offset = len(head) + len(tail)
        wide = (kind.root == "DECIMAL" and kind.params[0] > 18) or ("STAMP" in kind.root and kind.params[0] > 3)
        if value is None:
            head[(i + 8) // 8] |= 1 << (i + 8) % 8
            if wide and not compact_nulls:
                put(struct.pack("<II", 0, offset), i)
                tail += bytes(16 if kind.root == "DECIMAL" else 8)
        elif isinstance(value, str | bytes):
            data = value.encode() if isinstance(value, str) else value
            if len(data) <= 7:
                put(data.ljust(7, b"\0") + bytes([0x80 | len(data)]), i)
            else:
                put(struct.pack("<II", len(data), offset), i)
                tail += data + bytes(-len(data) % 8)
        elif kind.root == "DECIMAL" and wide:
            size = next(n for n in range(1, 17) if -(1 << 8 * n - 1) <= value < 1 << 8 * n - 1)
            put(struct.pack("<II", size, offset), i)
            tail += value.to_bytes(size, "big", signed=True).ljust(16, b"\0")
        elif wide:
            unit = 1000 if kind.params[0] <= 6 else 1_000_000
            millis, rest = divmod(value, unit)
            put(struct.pack("<II", rest * (1_000_000 // unit), offset), i)
            tail += struct.pack("<q", millis)
        else:
            code = {"BOOLEAN": "<?", "TINYINT": "<b", "SMALLINT": "<h", "FLOAT": "<f", "DOUBLE": "<d"}.get(kind.root)
            code = code or ("<i" if kind.root in {"INT", "DATE", "TIME"} else "<q")
            put(struct.pack(code, value), i)
    return struct.pack(">i", arity) + bytes(head) + bytes(tail)


def array_of(values: Sequence[Any], kind: Atomic) -> pa.Array:
    """An Arrow array of values as :func:`reference_row` takes them."""
    if kind.root == "DECIMAL":
        scale = kind.params[1]
        values = [None if v is None else Decimal((int(v < 0), tuple(map(int, str(abs(v)))), -scale)) for v in values]
    return pa.array(values, to_arrow(kind))


# ---------------------------------------------------------------------------------------------------- strategies


def ints(bits: int) -> st.SearchStrategy[int]:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    return st.one_of(st.sampled_from([low, -1, 0, 1, high]), st.integers(low, high))


def unscaled(precision: int) -> st.SearchStrategy[int]:
    most = 10**precision - 1
    edges = [v for n in range(0, 128, 8) for v in (1 << n, (1 << n) - 1, -(1 << n), -(1 << n) - 1) if abs(v) <= most]
    return st.one_of(st.sampled_from([-most, most, *edges]), st.integers(-most, most))


TEXTS = st.one_of(st.text(max_size=10), st.sampled_from(["", "1234567", "12345678", "\0" * 9, "é" * 40, "🙂🙂"]))

ATOMICS: list[tuple[Atomic, st.SearchStrategy[Any]]] = [
    (Atomic("BOOLEAN"), st.booleans()),
    (Atomic("TINYINT"), ints(8)),
    (Atomic("SMALLINT"), ints(16)),
    (Atomic("INT"), ints(32)),
    (Atomic("BIGINT"), ints(64)),
    (Atomic("FLOAT"), st.floats(width=32, allow_nan=False)),
    (Atomic("DOUBLE"), st.floats(allow_nan=False)),
    (Atomic("DATE"), ints(32)),
    (Atomic("TIME", (3,)), st.integers(0, 86_399_999)),
    (Atomic("STRING"), TEXTS),
    (Atomic("CHAR", (9,)), TEXTS),
    (Atomic("VARCHAR", (300,)), TEXTS),
    (Atomic("BYTES"), st.binary(max_size=20)),
    (Atomic("VARBINARY", (30,)), st.binary(max_size=20)),
    (Atomic("BINARY", (8,)), st.binary(min_size=8, max_size=8)),
    (Atomic("DECIMAL", (9, 2)), unscaled(9)),
    (Atomic("DECIMAL", (18, 0)), unscaled(18)),
    (Atomic("DECIMAL", (19, 4)), unscaled(19)),
    (Atomic("DECIMAL", (38, 38)), unscaled(38)),
    *((Atomic(root, (p,)), ints(64)) for root in ("TIMESTAMP", "TIMESTAMP_LTZ") for p in (0, 3, 6, 9)),
]
ATOMIC = st.sampled_from(ATOMICS)


@st.composite
def row_sets(draw: st.DrawFn, max_columns: int = 5) -> tuple[list[Atomic], list[list[Any]]]:
    """Types, and values column by column."""
    chosen = draw(st.lists(ATOMIC, min_size=1, max_size=max_columns))
    rows = draw(st.integers(0, 6))
    values = [draw(st.lists(st.none() | strategy, min_size=rows, max_size=rows)) for _, strategy in chosen]
    return [kind for kind, _ in chosen], values


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


@settings(max_examples=150, deadline=None)
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


@settings(max_examples=30, deadline=None)
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


@settings(max_examples=100, deadline=None)
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
