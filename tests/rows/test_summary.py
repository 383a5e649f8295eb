"""Summaries of columns: the same whatever the batches, as a plain count over all values gives them."""

from __future__ import annotations

import datetime as dt
import math
import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.format.statistics.table_statistics import ColumnStatistics, bound_text
from lakebed.format.types.data_types import Field, parse_type, to_arrow
from lakebed.rows import summary as module
from lakebed.rows.summary import Distinct, Summary, joined

KINDS: dict[str, st.SearchStrategy[Any]] = {
    "BOOLEAN": st.booleans(),
    "TINYINT": st.integers(-128, 127),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "FLOAT": st.floats(width=32),
    "DOUBLE": st.floats(),
    "DECIMAL(10, 2)": st.decimals(-1000, 1000, places=2, allow_nan=False),
    "DECIMAL(38, 2)": st.decimals(-(10**20), 10**20, places=2, allow_nan=False),
    "DATE": st.dates(),
    "TIME(3)": st.integers(0, 86_399_999),
    "TIMESTAMP(3)": st.integers(-(10**12), 10**12),
    "TIMESTAMP(6)": st.integers(-(10**15), 10**15),
    "TIMESTAMP(9) WITH LOCAL TIME ZONE": st.integers(-(10**18), 10**18),
    "STRING": st.text(max_size=30),
    "BYTES": st.binary(max_size=30),
}


def field(kind: str) -> Field:
    return Field(7, "c", parse_type(kind))


def column(values: list[Any], kind: str) -> pa.Array:
    return pa.array(values, to_arrow(parse_type(kind)))


def summary(values: pa.Array, kind: str) -> Summary:
    return Summary.of([pa.record_batch([values], names=["c"])], [field(kind)])


def statistics(found: Summary) -> ColumnStatistics:
    return found.columns[0].statistics()


def rank(value: Any) -> tuple[bool, Any]:
    """NaN above everything."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return is_nan, 0 if is_nan else value


def plain(values: pa.Array, kind: str) -> ColumnStatistics:
    """What a simple program would say."""
    data_type = parse_type(kind)
    given = values.drop_null()
    if kind.startswith(("TIME", "DATE")):
        given = given.cast(pa.int64() if given.type.bit_width == 64 else pa.int32())
    items = given.to_pylist()
    same = {("nan",) if rank(item)[0] else item for item in items}
    if kind in {"STRING", "BYTES"}:
        lengths = [len(item) for item in items]
        average = math.ceil(sum(lengths) / len(lengths)) if lengths else {"STRING": 20, "BYTES": 100}[kind]
        return ColumnStatistics(
            column_id=7,
            distinct_count=len(same),
            null_count=values.null_count,
            average_length=average,
            greatest_length=max(lengths) if lengths else average,
        )
    width = {"BOOLEAN": 1, "TINYINT": 1, "FLOAT": 4, "DATE": 4, "DECIMAL(38, 2)": 16}.get(kind, 8)
    bounds = sorted(items, key=rank)

    def text(value: Any) -> str | None:
        return bound_text(pa.array([value], given.type).cast(values.type)[0], data_type)

    return ColumnStatistics(
        column_id=7,
        distinct_count=len(same),
        least=text(bounds[0]) if bounds else None,
        greatest=text(bounds[-1]) if bounds else None,
        null_count=values.null_count,
        average_length=width,
        greatest_length=width,
    )


def signless(found: ColumnStatistics) -> tuple[Any, ...]:
    """Whether a bound is 0.0 or -0.0 is left open."""
    least, greatest = (None if text is None else text.replace("-0.0", "0.0") for text in (found.least, found.greatest))
    lengths = found.average_length, found.greatest_length
    return found.column_id, found.distinct_count, found.null_count, lengths, least, greatest


@given(st.data())
def test_a_summary_says_what_a_plain_count_says_however_the_rows_are_cut(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(KINDS)))
    parts = data.draw(st.lists(st.lists(st.none() | KINDS[kind], max_size=8), max_size=5))
    arrays = [column(part, kind) for part in parts]
    expected = plain(pa.concat_arrays([column([], kind), *arrays]), kind)
    batches = [pa.record_batch([array], names=["c"]) for array in arrays]
    assert signless(statistics(Summary.of(batches, [field(kind)]))) == signless(expected)
    shuffled = data.draw(st.permutations(arrays))
    sent = [pickle.loads(pickle.dumps(summary(array, kind))) for array in shuffled]
    together = joined(sent, [field(kind)])
    assert signless(statistics(together)) == signless(expected)
    assert together.rows == sum(map(len, parts))


@pytest.mark.parametrize("limit", [0, 40, 1 << 16])
def test_sketches_and_sets_count_alike(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EXACT_VALUES", limit)
    values = [f"value {number % 70} {'x' * (number % 3)}" for number in range(1000)]
    distinct = len(set(values))
    whole = statistics(summary(column(values, "STRING"), "STRING"))
    parts = [summary(column(values[i : i + 100], "STRING"), "STRING") for i in range(0, 1000, 100)]
    assert statistics(joined(parts, [field("STRING")])) == whole
    assert whole.distinct_count is not None
    assert abs(whole.distinct_count - distinct) <= distinct * 0.03


@pytest.mark.parametrize("count", [1, 100, 10_000, 65_537, 300_000, 2_000_000])
def test_the_number_of_distinct_values_is_near(count: int) -> None:
    numbers = column(list(range(count)) if count < 1000 else np.arange(count), "BIGINT")  # type: ignore[arg-type]
    batches = pa.table({"c": numbers}).to_batches(max_chunksize=50_000)
    found = Summary.of(batches + batches, [field("BIGINT")]).columns[0].distinct.count()
    assert abs(found - count) <= (0 if count <= module.EXACT_VALUES else count * 0.03)


def test_a_joined_sketch_is_the_sketch_of_all() -> None:
    rng = np.random.default_rng(5)
    hashes = rng.integers(0, 2**64 - 1, 300_000, np.uint64)
    whole, left, right, few = Distinct(), Distinct(), Distinct(), Distinct()
    whole.add(hashes)
    left.add(hashes[:200_000])
    right.add(hashes[100_000:299_000])
    few.add(hashes[299_000:])
    few.join(left)
    right.join(few)
    assert right.count() == whole.count()
    assert np.array_equal(right.registers, whole.registers)


def test_long_texts_that_differ_anywhere_are_told_apart() -> None:
    base = "x" * 200
    values = [base[:at] + "y" + base[at + 1 :] for at in range(200)] + [base[:at] for at in range(200)]
    assert statistics(summary(column(values, "STRING"), "STRING")).distinct_count == 400


def test_lengths_are_characters_of_texts_and_bytes_of_bytes() -> None:
    texts = statistics(summary(column(["äö€", "a", None], "STRING"), "STRING"))
    assert (texts.average_length, texts.greatest_length) == (2, 3)
    data = statistics(summary(column(["äö€".encode(), b"a"], "BYTES"), "BYTES"))
    assert (data.average_length, data.greatest_length) == (4, 7)


def test_other_columns_are_only_counted() -> None:
    batch = pa.record_batch({"a": [1, 2], "b": ["x", None]})
    found = Summary.of([batch, batch], [Field(0, "a", parse_type("BIGINT"))])
    assert (found.rows, [part.column.name for part in found.columns]) == (4, ["a"])
    assert Summary.of([batch], ()).rows == 2


def test_examples_by_hand() -> None:
    found = statistics(summary(column([Decimal("1.50"), Decimal("-2.25"), None], "DECIMAL(10, 2)"), "DECIMAL(10, 2)"))
    assert (found.least, found.greatest, found.null_count, found.distinct_count) == ("-2.25", "1.50", 1, 2)
    found = statistics(summary(column([dt.date(2023, 5, 5), dt.date(2024, 1, 1)], "DATE"), "DATE"))
    assert (found.least, found.greatest) == ("19482", "19723")
    found = statistics(summary(column([math.nan, 0.5, -0.0, 0.0], "DOUBLE"), "DOUBLE"))
    assert (found.least, found.greatest, found.distinct_count) in {("-0.0", "NaN", 3), ("0.0", "NaN", 3)}
    found = statistics(summary(column([math.nan], "DOUBLE"), "DOUBLE"))
    assert (found.least, found.greatest) == ("NaN", "NaN")
