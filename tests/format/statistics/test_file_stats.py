"""Statistics: what is collected, how it is cut and encoded, and that a bound never excludes a row."""

from __future__ import annotations

import datetime as dt
import io
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.format.binary_rows import ATOMICS, array_of

from lakebed.errors import CorruptError, DataError, OptionError
from lakebed.format.binary_row import EMPTY_ROW, encode_row
from lakebed.format.statistics.file_stats import (
    EMPTY_STATS,
    ColumnStats,
    SimpleStats,
    build_full_stats,
    build_value_stats,
    collect_from_arrow,
    collect_from_parquet,
    column_modes,
    decode_stats,
    truncate_max,
    truncate_min,
)
from lakebed.format.types.data_types import Array, Atomic, DataType, Field, field_to_arrow
from lakebed.options import StatsMode, TableOptions

INT, STRING, DOUBLE, BYTES = Atomic("INT"), Atomic("STRING"), Atomic("DOUBLE"), Atomic("BYTES")
FULL, NONE, COUNTS = StatsMode("full"), StatsMode("none"), StatsMode("counts")


def fields(**types: DataType) -> list[Field]:
    return [Field(i, name, kind) for i, (name, kind) in enumerate(types.items())]


# -------------------------------------------------------------------------------------------------------- modes


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("none", NONE),
        ("counts", COUNTS),
        ("FULL", FULL),
        ("truncate(16)", StatsMode("truncate", 16)),
        ("Truncate(1)", StatsMode("truncate", 1)),
    ],
)
def test_modes(text: str, mode: StatsMode) -> None:
    assert StatsMode.parse(text) == mode


@pytest.mark.parametrize(
    "text", ["", "some", "truncate", "truncate(0)", "truncate(-1)", "truncate(x)", "full(3)", " full "]
)
def test_modes_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"none, counts, full or truncate\(<length>\)"):
        StatsMode.parse(text)
    with pytest.raises(OptionError, match=r"'metadata.stats-mode' is .* must be .*truncate\(<length>\)"):
        column_modes(["a"], TableOptions({"metadata.stats-mode": text}))


def test_column_modes() -> None:
    sixteen = StatsMode("truncate", 16)
    assert column_modes(["a", "b"], TableOptions({})) == [sixteen, sixteen]
    options = {"metadata.stats-mode": "counts", "fields.b.stats-mode": "full"}
    assert column_modes(["a", "b"], TableOptions(options)) == [COUNTS, FULL]
    assert column_modes(["a", "b"], TableOptions(options), level=0) == [COUNTS, FULL]
    levels = options | {"metadata.stats-mode.per.level": "0:none, 5:truncate(3)"}
    assert column_modes(["a", "b"], TableOptions(levels)) == [COUNTS, FULL]
    assert column_modes(["a", "b"], TableOptions(levels), level=0) == [NONE, FULL]
    assert column_modes(["a", "b"], TableOptions(levels), level=1) == [COUNTS, FULL]
    assert column_modes(["a", "b"], TableOptions(levels), level=5) == [StatsMode("truncate", 3), FULL]


def test_only_the_first_columns_keep_statistics() -> None:
    options = {
        "metadata.stats-keep-first-n-columns": "2",
        "metadata.stats-mode": "full",
        "fields.d.stats-mode": "counts",
    }
    assert column_modes(list("abcd"), TableOptions(options)) == [FULL, FULL, NONE, COUNTS]
    # a column with a mode of its own counts, a key of a thin file does not
    own = options | {"fields.a.stats-mode": "counts"}
    assert column_modes(list("abcd"), TableOptions(own)) == [COUNTS, FULL, NONE, COUNTS]
    thin = [StatsMode("truncate", 128), FULL, FULL, COUNTS]
    assert column_modes(list("abcd"), TableOptions(options), thin_keys=["a"]) == thin
    assert column_modes(["a"], TableOptions({"metadata.stats-keep-first-n-columns": "0"})) == [NONE]


@pytest.mark.parametrize(
    "options",
    [
        {"metadata.stats-mode.per.level": "none"},
        {"metadata.stats-mode.per.level": "x:none"},
        {"metadata.stats-mode.per.level": "0:some"},
        {"metadata.stats-keep-first-n-columns": "two"},
        {"fields.a.stats-mode": "some"},
    ],
)
def test_bad_options_are_named(options: dict[str, str]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        column_modes(["a"], TableOptions(options), level=0)


# -------------------------------------------------------------------------------------------------------- Arrow


def test_collect_from_arrow() -> None:
    table = pa.table(
        {
            "i": pa.chunked_array([[3, None], [1, 2]], pa.int32()),
            "s": pa.array(["b", "B", "é", None]),
            "sv": pa.array(["b", "B", "é", None], pa.string_view()),
            "di": pa.array(["b", "B", "é", None]).dictionary_encode(),
            "n": pa.nulls(4, pa.int64()),
            "l": [[1], None, [], [2]],
            "d": pa.array([Decimal("1.50"), Decimal("-2.25"), None, None], pa.decimal128(30, 2)),
            "b": [True, False, None, None],
            "x": [b"\xff", b"", None, b"\x00"],
        }
    )
    assert collect_from_arrow(table) == [
        ColumnStats(1, 3, 1),
        ColumnStats("B", "é", 1),
        ColumnStats("B", "é", 1),
        ColumnStats("B", "é", 1),
        ColumnStats(None, None, 4),
        ColumnStats(None, None, 1),
        ColumnStats(Decimal("-2.25"), Decimal("1.50"), 2),
        ColumnStats(False, True, 2),
        ColumnStats(b"", b"\xff", 1),
    ]
    assert collect_from_arrow(table.slice(0, 0)) == [ColumnStats(None, None, 0)] * 9


def test_nan_leaves_no_bounds() -> None:
    table = pa.table({"x": [1.0, math.nan, None], "y": pa.array([1.5, 2.0, None], pa.float32())})
    assert collect_from_arrow(table) == [ColumnStats(None, None, 1), ColumnStats(1.5, 2.0, 1)]
    with pytest.raises(DataError, match="NaN cannot be a bound"):
        build_full_stats([ColumnStats(math.nan, 1.0, 0)], [DOUBLE])


@pytest.mark.parametrize("values", [[0.0, -0.0], [-0.0, 0.0], [0.0], [-0.0]])
def test_zero_bounds_cover_both_zeros(values: list[float]) -> None:
    (found,) = collect_from_arrow(pa.table({"x": values}))
    assert math.copysign(1, found.min) == -1
    assert math.copysign(1, found.max) == 1


def test_times_beyond_python_are_numbers() -> None:
    table = pa.table(
        {
            "ns": pa.array([5, 7], pa.timestamp("ns", "UTC")),
            "us": pa.array([0, 2**62], pa.timestamp("us")),
            "day": pa.array([0, 2**31 - 1], pa.date32()),
        }
    )
    found = collect_from_arrow(table)
    assert found[0] == ColumnStats(5, 7, 0)
    assert found[1] == ColumnStats(dt.datetime(1970, 1, 1), 2**62, 0)
    assert found[2] == ColumnStats(dt.date(1970, 1, 1), 2**31 - 1, 0)
    types = [Atomic("TIMESTAMP_LTZ", (9,)), Atomic("TIMESTAMP", (6,)), Atomic("DATE")]
    high = build_full_stats(found, types).max_values
    assert high == encode_row([7, 2**62, 2**31 - 1], types)


# ------------------------------------------------------------------------------------------------------ Parquet


def footer(table: pa.Table, **options: Any) -> pq.FileMetaData:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return pq.read_metadata(sink)


@settings(max_examples=examples(60), deadline=None)
@given(st.sampled_from([a for a in ATOMICS if a[0].root not in {"FLOAT", "DOUBLE"}]), st.data(), st.booleans())
def test_footers_say_what_arrow_says(
    case: tuple[Atomic, st.SearchStrategy[Any]], data: st.DataObject, as_int: bool
) -> None:
    kind, strategy = case
    if kind.root.startswith("TIMESTAMP") or kind.root == "DATE":
        strategy = st.integers(-(10**6), 10**6)
    values = data.draw(st.lists(st.none() | strategy, max_size=7))
    table = pa.table({"c": array_of(values, kind)})
    metadata = footer(table, row_group_size=3, store_decimal_as_integer=as_int)
    assert collect_from_parquet(metadata, fields(c=kind)) == collect_from_arrow(table)


def test_footers_that_do_not_tell() -> None:
    table = pa.table(
        {
            "f": [1.0, math.nan],
            "long": ["x" * 10_000, "y"],
            "list": [[1], None],
            "row": [{"i": 1}, None],
            "row.i": [5, 6],
            "ok": pa.array([1, None], pa.int32()),
        }
    )
    odd: dict[str, DataType] = {"row.i": Atomic("BIGINT"), "row": Array(INT)}
    asked = fields(f=DOUBLE, long=STRING, list=Array(INT), ok=INT, absent=INT, **odd)
    found = collect_from_parquet(footer(table), asked)
    assert found == [None, None, None, ColumnStats(1, 1, 1), None, ColumnStats(5, 6, 0), None]
    assert collect_from_parquet(footer(table, write_statistics=False), fields(ok=INT)) == [None]


def test_a_row_group_that_does_not_tell_spoils_all() -> None:
    table = pa.table({"s": ["a", "b", "x" * 10_000, "c", None, None]})
    assert collect_from_parquet(footer(table, row_group_size=2), fields(s=STRING)) == [None]
    assert collect_from_parquet(
        footer(table.filter(pa.array([True, True, False, True, True, True])), row_group_size=1), fields(s=STRING)
    ) == [ColumnStats("a", "c", 2)]


def test_physical_types_that_are_something_else() -> None:
    stamps = pa.table({"t": pa.array([1], pa.timestamp("us"))})
    assert collect_from_parquet(footer(stamps), fields(t=Atomic("TIMESTAMP", (3,)))) == [None]
    assert collect_from_parquet(
        footer(stamps, use_deprecated_int96_timestamps=True), fields(t=Atomic("TIMESTAMP", (9,)))
    ) == [None]
    assert collect_from_parquet(footer(pa.table({"i": [1]})), fields(i=INT)) == [None]
    decimals = pa.table({"d": pa.array([Decimal("1.5")], pa.decimal128(10, 1))})
    assert collect_from_parquet(footer(decimals), fields(d=Atomic("DECIMAL", (10, 2)))) == [None]
    assert collect_from_parquet(footer(decimals), fields(d=INT)) == [None]


# ----------------------------------------------------------------------------------------------------- truncate


def test_truncate() -> None:
    assert (truncate_min("abcdef", 3), truncate_max("abcdef", 3)) == ("abc", "abd")
    assert (truncate_min("abc", 3), truncate_max("abc", 3)) == ("abc", "abc")
    assert (truncate_min("🙂🙃x", 2), truncate_max("🙂🙃x", 2)) == ("🙂🙃", "🙂🙄")
    assert truncate_max("a\U0010ffff\U0010ffffx", 3) == "b"
    assert truncate_max("\U0010ffffx", 1) is None
    assert truncate_max("a\ud7ffx", 2) == "a\ue000"
    assert (truncate_min(b"abcdef", 3), truncate_max(b"abcdef", 3)) == (b"abc", b"abd")
    assert truncate_max(b"a\xff\xffx", 3) == b"b"
    assert truncate_max(b"\xff\xff\xff\xff", 3) is None
    assert (truncate_min(12345, 3), truncate_max(12345, 3), truncate_max(None, 3)) == (12345, 12345, None)


@given(st.one_of(st.text(st.characters(codec="utf-8"), max_size=8), st.binary(max_size=8)), st.integers(1, 5))
def test_truncated_bounds_hold(value: str | bytes, length: int) -> None:
    low, high = truncate_min(value, length), truncate_max(value, length)
    assert low <= value
    assert len(low) <= length
    assert high is None or (value <= high and len(high) <= max(length, 0))
    if isinstance(value, str) and high is not None:
        assert value.encode() <= high.encode()


# -------------------------------------------------------------------------------------------------------- build

COLUMNS = fields(i=Atomic("INT", (), nullable=False), s=STRING, d=DOUBLE)
KNOWN = [ColumnStats(1, 2, 0), ColumnStats("abcdef", "zzzz", 3), ColumnStats(None, None, 1)]


def test_all_columns_are_null_columns() -> None:
    stats, columns = build_value_stats(KNOWN, COLUMNS, [FULL] * 3, dense=True)
    types = [INT, STRING, DOUBLE]
    assert stats == SimpleStats(encode_row([1, "abcdef", None], types), encode_row([2, "zzzz", None], types), (0, 3, 1))
    assert columns is None
    assert build_full_stats(KNOWN, [field.type for field in COLUMNS]) == stats


def test_dense_keeps_what_is_known() -> None:
    modes = [COUNTS, NONE, FULL]
    stats, columns = build_value_stats(KNOWN, COLUMNS, modes, dense=True)
    assert stats == SimpleStats(
        encode_row([None, None], [INT, DOUBLE]), encode_row([None, None], [INT, DOUBLE]), (0, 1)
    )
    assert columns == ("i", "d")
    unknown, columns = build_value_stats([KNOWN[0], None, ColumnStats()], COLUMNS, [FULL] * 3, dense=True)
    assert unknown == SimpleStats(encode_row([1], [INT]), encode_row([2], [INT]), (0,))
    assert columns == ("i",)


def test_dense_without_anything() -> None:
    assert build_value_stats(KNOWN, COLUMNS, [NONE] * 3, dense=True) == (EMPTY_STATS, ())
    assert SimpleStats(EMPTY_ROW, EMPTY_ROW, ()) == EMPTY_STATS


def test_full_width() -> None:
    stats, columns = build_value_stats(KNOWN, COLUMNS, [COUNTS, NONE, FULL], dense=False)
    nulls = encode_row([None] * 3, [INT, STRING, DOUBLE])
    assert (stats, columns) == (SimpleStats(nulls, nulls, (0, None, 1)), None)


def test_nested_columns_are_left_out_as_java_does() -> None:
    columns = fields(i=INT, a=Array(INT))
    known = [ColumnStats(1, 2, 0), ColumnStats(None, None, 5)]
    stats, names = build_value_stats(known, columns, [FULL] * 2, dense=True)
    assert (stats, names) == (SimpleStats(encode_row([1], [INT]), encode_row([2], [INT]), (0,)), ("i",))
    stats, names = build_value_stats(known, columns, [FULL] * 2, dense=False)
    assert (stats.null_counts, names) == ((0, None), None)


def test_truncated_as_java_does() -> None:
    """What Java Paimon 2.0.0 wrote for truncate(3); 0xff bytes have no upper bound, so both bounds go."""
    columns = fields(id=INT, s=STRING, by=BYTES)
    known = [ColumnStats(1, 1, 1), ColumnStats("abcdef", "zzzz", 0), ColumnStats(b"a", b"\xff" * 4, 0)]
    stats, names = build_value_stats(known, columns, [StatsMode("truncate", 3)] * 3, dense=True)
    types = [INT, STRING, BYTES]
    assert stats == SimpleStats(encode_row([1, "abc", None], types), encode_row([1, "zz{", None], types), (1, 0, 0))
    assert names is None


def test_full_as_java_does() -> None:
    """Bytes of Java Paimon 2.0.0 in mode full."""
    known = [ColumnStats(1, 1, 1), ColumnStats("abcdef", "zzzz", 0), ColumnStats(b"a", b"\xff" * 4, 0)]
    stats = build_full_stats(known, [INT, STRING, BYTES])
    head = "00000003" + "0000000000000000" + "0100000000000000"
    assert stats.min_values.hex() == head + "6162636465660086" + "6100000000000081"
    assert stats.max_values.hex() == head + "7a7a7a7a00000084" + "ffffffff00000084"


def test_one_of_each_is_needed() -> None:
    with pytest.raises(DataError, match="2 statistics and 3 modes for 3 columns"):
        build_value_stats(KNOWN[:2], COLUMNS, [FULL] * 3, dense=True)


# ------------------------------------------------------------------------------------------------------- decode


def test_decode_many_files() -> None:
    types: list[DataType] = [INT, STRING, Array(INT)]
    rows = [
        encode_row([1, "a", None], types),
        EMPTY_ROW,
        encode_row([5], [INT]),
        encode_row([None, "a longer string", None], types),
        None,
    ]
    counts = pa.array([[99], [0, 1, 2], [], [7], [3, None, 4], None], pa.list_(pa.int64()))[1:]
    found = decode_stats(pa.array(rows), pa.chunked_array([pa.array(rows)]), counts, types)
    assert [column.to_pylist() for column in found.mins] == [
        [1, None, None, None, None],
        ["a", None, None, "a longer string", None],
        [None] * 5,
    ]
    assert [column.to_pylist() for column in found.maxs] == [column.to_pylist() for column in found.mins]
    assert [column.to_pylist() for column in found.null_counts] == [
        [0, None, None, 3, None],
        [1, None, None, None, None],
        [2, None, None, 4, None],
    ]
    assert [column.type for column in found.mins] == [
        field_to_arrow(field).type for field in fields(**dict(zip("abc", types, strict=True)))
    ]
    assert {column.type for column in found.null_counts} == {pa.int64()}
    some = decode_stats(pa.array(rows), pa.array(rows), counts, types, only=[1])
    assert (some.mins, some.maxs, some.null_counts) == (found.mins[1:2], found.maxs[1:2], found.null_counts[1:2])


def test_decode_edge_cases() -> None:
    counts = pa.array([[1, 2], []], pa.list_(pa.int64()))
    row = encode_row([3], [INT])
    found = decode_stats(pa.array([row, EMPTY_ROW]), pa.array([EMPTY_ROW, row]), counts, [INT])
    assert [column.to_pylist() for column in (*found.mins, *found.maxs, *found.null_counts)] == [[None, None]] * 3
    none = pa.array([], pa.binary())
    empty = decode_stats(none, none, pa.array([], pa.list_(pa.int64())), [INT])
    assert [column.to_pylist() for column in (*empty.mins, *empty.maxs, *empty.null_counts)] == [[]] * 3
    nothing = decode_stats(pa.array([EMPTY_ROW]), pa.array([EMPTY_ROW]), counts[1:], [])
    assert (nothing.mins, nothing.maxs, nothing.null_counts) == ([], [], [])


def test_decode_far_timestamps_as_unknown() -> None:
    kind = Atomic("TIMESTAMP", (9,))
    low = encode_row([5], [kind])
    high = low[:20] + (253402214400000).to_bytes(8, "little")  # 9999-12-31
    found = decode_stats(pa.array([low]), pa.array([high]), pa.array([[0]], pa.list_(pa.int64())), [kind])
    assert [found.mins[0].cast(pa.int64()).to_pylist(), found.maxs[0].to_pylist()] == [[5], [None]]


def test_decode_corrupt_stats_names_the_place() -> None:
    broken = encode_row(["a longer string"], [STRING])[:-8]
    with pytest.raises(CorruptError, match="manifest-1"):
        decode_stats(
            pa.array([broken]), pa.array([broken]), pa.array([[0]], pa.list_(pa.int64())), [STRING], where="manifest-1"
        )


@settings(max_examples=examples(60), deadline=None)
@given(st.sampled_from(ATOMICS), st.data())
def test_collected_built_and_decoded_bounds_hold(
    case: tuple[Atomic, st.SearchStrategy[Any]], data: st.DataObject
) -> None:
    kind, strategy = case
    array = array_of(data.draw(st.lists(st.none() | strategy, min_size=1, max_size=6)), kind)
    mode = data.draw(st.sampled_from([FULL, StatsMode("truncate", 2)]))
    stats, _ = build_value_stats(collect_from_arrow(pa.table({"c": array})), fields(c=kind), [mode], dense=True)
    found = decode_stats(
        pa.array([stats.min_values]), pa.array([stats.max_values]), pa.array([stats.null_counts]), [kind]
    )
    assert found.null_counts[0].to_pylist() == [array.null_count]
    low, high = found.mins[0], found.maxs[0]
    bounds = pa.concat_arrays([array, low, high]).drop_null().sort()
    if low.null_count == 0:
        assert bounds[0] == low[0]
        assert bounds[-1] == high[0]
    elif mode == FULL:
        assert array.null_count == len(array)
