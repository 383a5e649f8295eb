"""Random Paimon types for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from lakebed.format.types.data_types import Array, Atomic, DataType, Field, Map, Row, not_null

plain_roots = ["BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "STRING", "BYTES"]
lengths = st.integers(1, 2**31 - 2)
decimals = st.integers(1, 38).flatmap(lambda p: st.integers(0, p).map(lambda s: Atomic("DECIMAL", (p, s))))
names = st.text(min_size=1, max_size=8).filter(lambda name: bool(name.strip()) and "\x00" not in name)


def atomics() -> st.SearchStrategy[Atomic]:
    """Every atomic type, nullable and not."""
    nullable = st.one_of(
        st.sampled_from(plain_roots).map(Atomic),
        st.tuples(st.sampled_from(["CHAR", "VARCHAR", "BINARY", "VARBINARY"]), lengths).map(
            lambda pair: Atomic(pair[0], (pair[1],))
        ),
        st.tuples(st.sampled_from(["TIME", "TIMESTAMP", "TIMESTAMP_LTZ"]), st.integers(0, 9)).map(
            lambda pair: Atomic(pair[0], (pair[1],))
        ),
        decimals,
    )
    return st.tuples(nullable, st.booleans()).map(lambda pair: Atomic(pair[0].root, pair[0].params, pair[1]))


def fields(types: st.SearchStrategy[DataType]) -> st.SearchStrategy[tuple[Field, ...]]:
    """One to three fields of distinct names, all with id 0."""
    return st.lists(st.tuples(names, types), min_size=1, max_size=3, unique_by=lambda pair: pair[0]).map(
        lambda pairs: tuple(Field(0, name, data_type) for name, data_type in pairs)
    )


def data_types() -> st.SearchStrategy[DataType]:
    """Types of all kinds, a few levels deep; map keys are NOT NULL, ids are 0."""
    return st.recursive(
        atomics(),
        lambda inner: st.one_of(
            st.builds(Array, inner, st.booleans()),
            st.builds(lambda key, value, n: Map(not_null(key), value, n), atomics(), inner, st.booleans()),
            st.builds(Row, fields(inner), st.booleans()),
        ),
        max_leaves=6,
    )


def columns() -> st.SearchStrategy[tuple[Field, ...]]:
    """Columns of a table, with comments."""
    commented = st.tuples(fields(data_types()), st.none() | st.text(max_size=8))
    return commented.map(lambda pair: tuple(Field(0, f.name, f.type, pair[1]) for f in pair[0]))
