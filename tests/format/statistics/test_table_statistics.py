"""The file that ANALYZE writes: Paimon's keys and texts, and what happens to files that are damaged."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import CorruptError
from lakebed.format.statistics.table_statistics import (
    ColumnStatistics,
    TableStatistics,
    bound_text,
    columns_to_json,
    fixed_width,
    has_bounds,
    is_analyzable,
    statistics_from_json,
    statistics_to_json,
    unmeasured_width,
)
from lakebed.format.types.data_types import parse_type, to_arrow

# What the serializers of Paimon 2.0 make of values: days, milliseconds of a day, and ticks since 1970 for timestamps.
JAVA_TEXTS: list[tuple[str, Any, str]] = [
    ("BOOLEAN", True, "true"),
    ("BOOLEAN", False, "false"),
    ("TINYINT", -3, "-3"),
    ("SMALLINT", 5, "5"),
    ("INT", -7, "-7"),
    ("BIGINT", 2**62, "4611686018427387904"),
    ("FLOAT", 0.1, "0.1"),
    ("FLOAT", math.nan, "NaN"),
    ("FLOAT", 1e20, "1.0E20"),
    ("FLOAT", -0.0, "-0.0"),
    ("FLOAT", 16777216.0, "1.6777216E7"),
    ("DOUBLE", 1e7, "1.0E7"),
    ("DOUBLE", 0.001, "0.001"),
    ("DOUBLE", math.inf, "Infinity"),
    ("DECIMAL(10, 2)", Decimal("12.50"), "12.50"),
    ("DECIMAL(38, 10)", Decimal("0.0000000001"), "0.0000000001"),
    ("DATE", -1, "-1"),
    ("DATE", 19000, "19000"),
    ("DATE", 5_000_000, "5000000"),
    ("TIME(3)", 1234, "1234"),
    ("TIMESTAMP(3)", 0, "1970-01-01 00:00:00.000"),
    ("TIMESTAMP(3)", 1_700_000_000_123, "2023-11-14 22:13:20.123"),
    ("TIMESTAMP(6)", 1_700_000_000_000000, "2023-11-14 22:13:20.000000"),
    ("TIMESTAMP(9)", 1_700_000_000_123456789, "2023-11-14 22:13:20.123456789"),
    ("TIMESTAMP(6) WITH LOCAL TIME ZONE", -1, "1969-12-31 23:59:59.999999"),
]
SOME = TableStatistics(
    snapshot_id=3,
    schema_id=1,
    record_count=10,
    byte_count=2000,
    columns={
        "id": ColumnStatistics(
            column_id=0,
            distinct_count=9,
            least="1",
            greatest="20",
            null_count=1,
            average_length=8,
            greatest_length=8,
        ),
        "{}": ColumnStatistics(column_id=4),
    },
)


@pytest.mark.parametrize(("kind", "value", "text"), JAVA_TEXTS)
def test_bounds_are_written_as_java_writes_them(kind: str, value: Any, text: str) -> None:
    data_type = parse_type(kind)
    assert bound_text(pa.scalar(value, to_arrow(data_type)), data_type) == text
    assert bound_text(pa.scalar(None, to_arrow(data_type)), data_type) is None


def test_widths_are_those_of_spark() -> None:
    widths = {
        "BOOLEAN": 1,
        "TINYINT": 1,
        "SMALLINT": 2,
        "INT": 4,
        "BIGINT": 8,
        "FLOAT": 4,
        "DOUBLE": 8,
        "DATE": 4,
        "TIMESTAMP(9)": 8,
        "TIMESTAMP(3) WITH LOCAL TIME ZONE": 8,
        "DECIMAL(18, 1)": 8,
        "DECIMAL(19, 1)": 16,
        "STRING": None,
        "CHAR(3)": None,
        "BYTES": None,
    }
    assert {kind: fixed_width(parse_type(kind)) for kind in widths} == widths
    assert (unmeasured_width(parse_type("VARCHAR(3)")), unmeasured_width(parse_type("BYTES"))) == (20, 100)


def test_texts_and_bytes_have_no_bounds_and_nested_columns_nothing() -> None:
    assert [has_bounds(parse_type(kind)) for kind in ("INT", "BOOLEAN", "STRING", "CHAR(2)", "BINARY(2)")] == [
        True, True, False, False, False,
    ]  # fmt: skip
    nested = parse_type({"type": "ARRAY", "element": "INT"})
    assert not is_analyzable(nested)
    assert not has_bounds(nested)
    assert is_analyzable(parse_type("BYTES"))


def test_the_text_is_the_one_that_java_writes() -> None:
    assert statistics_to_json(SOME).splitlines()[:9] == [
        "{",
        '  "snapshotId" : 3,',
        '  "schemaId" : 1,',
        '  "mergedRecordCount" : 10,',
        '  "mergedRecordSize" : 2000,',
        '  "colStats" : {',
        '    "id" : {',
        '      "colId" : 0,',
        '      "distinctCount" : 9,',
    ]
    assert json.loads(statistics_to_json(SOME))["colStats"]["id"] == {
        "colId": 0,
        "distinctCount": 9,
        "min": "1",
        "max": "20",
        "nullCount": 1,
        "avgLen": 8,
        "maxLen": 8,
    }
    assert columns_to_json({}) == "{ }"


numbers = st.none() | st.integers(0, 2**63 - 1)
columns = st.builds(
    ColumnStatistics,
    column_id=st.integers(0, 2**31 - 1),
    distinct_count=numbers,
    least=st.none() | st.text(),
    greatest=st.none() | st.text(),
    null_count=numbers,
    average_length=numbers,
    greatest_length=numbers,
)


@given(
    st.builds(
        TableStatistics,
        snapshot_id=st.integers(1, 2**63 - 1),
        schema_id=st.integers(0, 2**63 - 1),
        record_count=numbers,
        byte_count=numbers,
        columns=st.dictionaries(st.text(), columns, max_size=3),
    )
)
def test_what_is_written_is_read_back(statistics: TableStatistics) -> None:
    text = statistics_to_json(statistics)
    assert statistics_from_json(text.encode("utf-8", "surrogatepass"), where="a file") == statistics
    assert list(statistics_from_json(text, where="a file").columns) == list(statistics.columns)


def test_unknown_keys_are_ignored() -> None:
    raw = json.loads(statistics_to_json(SOME))
    raw["blobMetadata"] = [{"type": "x"}]
    raw["colStats"]["id"]["histogram"] = "h"
    assert statistics_from_json(json.dumps(raw), where="a file") == SOME


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"snapshotId": None}, "a file lacks snapshotId"),
        ({"schemaId": "0"}, "schemaId must be a whole number, not '0'"),
        ({"mergedRecordCount": True}, "mergedRecordCount must be a whole number"),
        ({"colStats": []}, None),
        ({"colStats": [1]}, "colStats must be an object of objects"),
        ({"colStats": {"a": 1}}, "colStats must be an object of objects"),
        ({"colStats": {"a": {}}}, "column 'a' lacks colId"),
        ({"colStats": {"a": {"colId": 1, "min": 1}}}, "column 'a': min must be a text, not 1"),
    ],
)
def test_damaged_files_say_what_is_wrong(change: dict[str, Any], message: str | None) -> None:
    text = json.dumps({**json.loads(statistics_to_json(SOME)), **change})
    if message is None:
        assert statistics_from_json(text, where="a file").columns == {}
        return
    with pytest.raises(CorruptError, match="analyze the table again") as caught:
        statistics_from_json(text, where="a file")
    assert message in str(caught.value)
