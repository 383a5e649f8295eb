"""Rows in Paimon's BinaryRow format: values written by Java, a reference encoder and random rows."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from lakebed.format.types.data_types import Atomic, DataType, parse_type, to_arrow

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
