"""Random Arrow tables of any type, and their values in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from lakebed.format.schema.table_schema import assign_ids
from lakebed.format.types.data_types import Array, Atomic, DataType, Field, Map, Row, not_null, nullable, to_arrow


def _ints(bits: int) -> st.SearchStrategy[int]:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    return st.one_of(st.sampled_from([low, -1, 0, 1, high]), st.integers(low, high))


def _decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    most = 10**precision - 1
    return st.integers(-most, most).map(
        lambda v: Decimal((int(v < 0), tuple(map(int, str(abs(v)))), -scale)) if v else Decimal((0, (0,), -scale))
    )


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


_SECONDS = st.integers(-5_000_000_000, 5_000_000_000)  # years 1811 to 2128: nanoseconds hold them too


_PER_SECOND = {"ms": 10**3, "us": 10**6, "ns": 10**9}


def _timestamps(precision: int) -> st.SearchStrategy[int]:
    unit = _PER_SECOND[to_arrow(Atomic("TIMESTAMP", (precision,))).unit]
    return st.tuples(_SECONDS, st.integers(0, unit - 1)).map(lambda pair: pair[0] * unit + pair[1])


ATOMIC_VALUES: list[tuple[Atomic, st.SearchStrategy[Any]]] = [
    (Atomic("BOOLEAN"), st.booleans()),
    (Atomic("TINYINT"), _ints(8)),
    (Atomic("SMALLINT"), _ints(16)),
    (Atomic("INT"), _ints(32)),
    (Atomic("BIGINT"), _ints(64)),
    (Atomic("FLOAT"), st.floats(width=32)),
    (Atomic("DOUBLE"), st.floats()),
    (Atomic("DATE"), st.dates()),
    (Atomic("TIME", (3,)), st.integers(0, 86_399_999)),
    (Atomic("STRING"), _TEXT),
    (Atomic("CHAR", (6,)), _TEXT),
    (Atomic("VARCHAR", (9,)), _TEXT),
    (Atomic("BYTES"), st.binary(max_size=6)),
    (Atomic("VARBINARY", (8,)), st.binary(max_size=6)),
    (Atomic("DECIMAL", (9, 2)), _decimals(9, 2)),
    (Atomic("DECIMAL", (18, 0)), _decimals(18, 0)),
    (Atomic("DECIMAL", (30, 10)), _decimals(30, 10)),
    *((Atomic(root, (p,)), _timestamps(p)) for root in ("TIMESTAMP", "TIMESTAMP_LTZ") for p in (0, 3, 6, 9)),
]


_VALUES = dict(ATOMIC_VALUES)


def data_types(depth: int = 2) -> st.SearchStrategy[DataType]:
    """Types of all kinds, nested up to a depth; ids are 0."""
    atomic: st.SearchStrategy[DataType] = st.sampled_from([kind for kind, _ in ATOMIC_VALUES])
    maybe = st.tuples(atomic, st.booleans()).map(lambda pair: not_null(pair[0]) if pair[1] else pair[0])
    if depth == 0:
        return maybe
    inner = data_types(depth - 1)
    rows = st.lists(inner, min_size=1, max_size=3).map(
        lambda types: Row(tuple(Field(0, f"f{i}", kind) for i, kind in enumerate(types)))
    )
    maps = st.builds(
        lambda key, value: Map(not_null(key), value), st.sampled_from([Atomic("STRING"), Atomic("INT")]), inner
    )
    nested: st.SearchStrategy[DataType] = st.one_of(st.builds(Array, inner), rows, maps)
    return st.one_of(maybe, maybe, nested)


def values_of(data_type: DataType) -> st.SearchStrategy[Any]:
    """Python values that Arrow takes for a type."""
    match data_type:
        case Array(element):
            some: st.SearchStrategy[Any] = st.lists(values_of(element), max_size=3)
        case Map(key, value):
            some = st.dictionaries(values_of(key), values_of(value), max_size=3).map(lambda d: list(d.items()))
        case Row(fields):
            some = st.fixed_dictionaries({field.name: values_of(field.type) for field in fields})
        case _:
            some = _VALUES[nullable(data_type)]  # type: ignore[index]
    return st.none() | some if data_type.nullable else some


@st.composite
def tables(
    draw: st.DrawFn, *, max_rows: int = 6, depth: int = 2, shape: Callable[[DataType], DataType] = lambda kind: kind
) -> tuple[tuple[Field, ...], pa.Table]:
    """Columns with ids, and rows for them, in chunks as they come; ``shape`` replaces types."""
    types = [shape(kind) for kind in draw(st.lists(data_types(depth), min_size=1, max_size=4))]
    fields = assign_ids([Field(0, f"c{i}", kind) for i, kind in enumerate(types)], 0)
    rows = draw(st.integers(0, max_rows))
    columns = []
    for field in fields:
        values = draw(st.lists(values_of(field.type), min_size=rows, max_size=rows))
        whole = pa.array(values, to_arrow(field.type))
        cut = draw(st.integers(0, rows))
        columns.append(pa.chunked_array([whole[:cut], whole[cut:]]))
    return fields, pa.table(columns, [field.name for field in fields])


def plain(table: pa.Table) -> list[str]:
    """Rows to be compared: NaN equals NaN, 0.0 is not -0.0."""
    return [repr(row) for row in table.to_pylist()]
