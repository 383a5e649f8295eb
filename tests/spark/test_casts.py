"""Columns are cast as Spark's INSERT casts them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from lakebed.errors import DataError
from lakebed.table import Table

DAY = dt.date(2025, 3, 4)
FITTING = [
    ("DOUBLE", "CAST(1.5 AS DECIMAL(5, 1))", 1.5),
    ("FLOAT", "CAST(1.5 AS DECIMAL(5, 1))", 1.5),
    ("INT", "CAST(7.9 AS DOUBLE)", 7),
    ("BIGINT", "CAST(7.9 AS DECIMAL(5, 1))", 7),
    ("TINYINT", "CAST(100 AS BIGINT)", 100),
    ("DECIMAL(5, 1)", "CAST(1.25 AS DOUBLE)", Decimal("1.3")),
    ("DECIMAL(5, 1)", "CAST(12 AS BIGINT)", Decimal("12.0")),
    ("STRING", "12", "12"),
    ("STRING", "true", "true"),
    ("STRING", "DATE '2025-03-04'", "2025-03-04"),
    ("VARCHAR(5)", "12", "12"),
    ("DATE", "TIMESTAMP_NTZ '2025-03-04 05:06:07'", DAY),
    ("TIMESTAMP(6)", "DATE '2025-03-04'", dt.datetime(2025, 3, 4)),
    ("INT", "NULL", None),
]
REFUSED = [
    ("INT", "'12'", "INT"),
    ("BOOLEAN", "1", "BOOLEAN"),
    ("DATE", "'2025-01-01'", "DATE"),
    ("TINYINT", "CAST(300 AS BIGINT)", "'v'"),
    ("INT", "CAST(1e12 AS DOUBLE)", "is INT, but a value of the data (double) does not fit"),
    ("DECIMAL(3, 1)", "CAST(1234.5 AS DOUBLE)", "does not fit. Nothing was written"),
    ("STRING", "array(1)", "STRING"),
]


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_what_an_insert_casts(spark: Any, table: Callable[..., Table], ansi: str) -> None:
    """All types in one table and one job."""
    kept = table(", ".join(f"c{n} {kind}" for n, (kind, _, _) in enumerate(FITTING)))
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        kept.write(spark.sql("SELECT " + ", ".join(f"{text} c{n}" for n, (_, text, _) in enumerate(FITTING))))
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    (row,) = kept.scan().to_arrow().to_pylist()
    assert list(row.values()) == [value for _, _, value in FITTING]


@pytest.mark.parametrize(("kind", "text", "told"), REFUSED)
def test_what_an_insert_refuses(spark: Any, table: Callable[..., Table], kind: str, text: str, told: str) -> None:
    kept = table(f"v {kind}")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        with pytest.raises(DataError) as caught:
            kept.write(spark.sql(f"SELECT {text} v"))
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    assert told in str(caught.value)
    assert "SQLSTATE" not in str(caught.value)
    assert kept.scan().count() == 0
