"""ANALYZE: Java Paimon shows the statistics that we write, and we show those that it writes."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.interop.oracle import Oracle

from lakebed import Table, connect
from lakebed.format.snapshot import CommitKind
from lakebed.format.types.data_types import to_arrow

TABLE = "db.t"
FIELDS: list[tuple[str, Any]] = [
    ("id", "BIGINT NOT NULL"),
    ("bo", "BOOLEAN"),
    ("ti", "TINYINT"),
    ("sm", "SMALLINT"),
    ("i", "INT"),
    ("f", "FLOAT"),
    ("x", "DOUBLE"),
    ("d", "DECIMAL(10, 2)"),
    ("wide", "DECIMAL(38, 10)"),
    ("day", "DATE"),
    ("t3", "TIMESTAMP(3)"),
    ("t6", "TIMESTAMP(6)"),
    ("t9", "TIMESTAMP(9)"),
    ("tz", "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
    ("s", "STRING"),
    ("b", "BYTES"),
]
MOMENT = 1_700_000_000_123_456_789
VALUES: dict[str, list[Any]] = {
    "id": [1, 2, 3],
    "bo": [True, False, None],
    "ti": [1, -1, None],
    "sm": [300, 300, None],
    "i": [-5, 7, None],
    "f": [0.1, float("nan"), None],
    "x": [1e10, -1.0, None],
    "d": [Decimal("1.50"), Decimal("-2.25"), None],
    "wide": [Decimal("123.4500000000"), Decimal("0.0000000001"), None],
    "day": [dt.date(2024, 1, 1), dt.date(1969, 5, 5), None],
    "t3": [MOMENT // 1_000_000, 0, None],
    "t6": [MOMENT // 1000, -1, None],
    "t9": [MOMENT, 1, None],
    "tz": [MOMENT // 1000, None, None],
    "s": ["a", "bb", None],
    "b": [b"xyz", b"", None],
}


def opened(warehouse: Path) -> Table:
    found: Table = connect(warehouse).table(TABLE)
    return found


def rows(table: Table) -> pa.Table:
    fields = {field.name: to_arrow(field.type) for field in table.schema.fields}
    return pa.table({name: pa.array(values, fields[name]) for name, values in VALUES.items() if name in fields})


def shown(warehouse: Path) -> dict[str, Any]:
    """Our ``$statistics``."""
    (row,) = connect(warehouse).system_table(f"{TABLE}$statistics").scan().to_arrow().to_pylist()
    return dict(row)


def test_java_shows_what_we_write(java: Oracle, tmp_path: Path) -> None:
    java.create_table(tmp_path, TABLE, FIELDS, primary_keys=["id"], options={"bucket": "1", "write-only": "true"})
    table = opened(tmp_path)
    table.write(rows(table))
    table.write(rows(table).slice(1, 1))
    made = table.analyze("all")
    assert made is not None
    found = java.read(tmp_path, f"{TABLE}$statistics").to_pylist()
    assert found == [shown(tmp_path)]
    read = java.call("statistics", warehouse=str(tmp_path), table=TABLE)
    assert (read["snapshot"], read["schema"], read["rows"]) == (2, 0, 3)
    ours = json.loads(shown(tmp_path)["colstat"])
    assert list(read["columns"]) == [name for name, _ in FIELDS]
    for name, (distinct, nulls, average, longest, *_) in read["columns"].items():
        raw = ours[name]
        assert [distinct, nulls, average, longest] == [
            raw[k] for k in ("distinctCount", "nullCount", "avgLen", "maxLen")
        ]
    bounds = {name: column[-2:] for name, column in read["columns"].items()}
    assert bounds["t9"] == ["1970-01-01T00:00:00.000000001", "2023-11-14T22:13:20.123456789"]
    assert bounds["tz"] == ["2023-11-14T22:13:20.123456"] * 2
    assert bounds["wide"] == ["0.0000000001", "123.4500000000"]
    assert bounds["s"] == bounds["b"] == [None, None]
    java.write(tmp_path, TABLE, rows(table).slice(2, 1))  # Java goes on, and hands our statistics down
    latest = table.latest_snapshot()
    assert latest is not None
    assert latest.statistics == made.statistics
    assert java.read(tmp_path, f"{TABLE}$statistics").to_pylist() == found
    assert table.verify(deep=True).problems == ()


def test_we_show_what_java_writes(java: Oracle, tmp_path: Path) -> None:
    java.create_table(tmp_path, TABLE, FIELDS, primary_keys=["id"], options={"bucket": "1"})
    table = opened(tmp_path)
    table.write(rows(table))
    columns = {
        "id": [3, 1, 3, 0, 8, 8],
        "i": [2, -5, 7, 1, 4, 4],
        "d": [2, "-2.25", "1.50", 1, 8, 8],
        "day": [2, -241, 19723, 1, 4, 4],
        "t9": [2, 1, MOMENT, 1, 8, 8],
        "tz": [1, MOMENT // 1000, MOMENT // 1000, 2, 8, 8],
        "s": [2, None, None, 1, 2, 2],
    }
    java.call("analyze", warehouse=str(tmp_path), table=TABLE, rows=3, size=77, columns=columns)
    theirs = shown(tmp_path)
    assert java.read(tmp_path, f"{TABLE}$statistics").to_pylist() == [theirs]
    assert (theirs["mergedRecordCount"], theirs["mergedRecordSize"]) == (3, 77)
    latest = table.latest_snapshot()
    assert latest is not None
    assert latest.commit_kind is CommitKind.ANALYZE
    assert table.verify(deep=True).problems == ()
    table.analyze(list(columns))
    ours = shown(tmp_path)
    assert json.loads(ours["colstat"]) == json.loads(theirs["colstat"])
    after = table.write(rows(table).slice(0, 1))
    assert after is not None
    assert after.statistics is not None


def test_java_expires_our_statistics_and_we_expire_its(java: Oracle, tmp_path: Path) -> None:
    java.create_table(tmp_path, TABLE, [("id", "BIGINT")])
    table = opened(tmp_path)
    folder = Path(table.path, "statistics")
    table.write(pa.table({"id": [1]}))
    first, second = table.analyze(), table.analyze("all")
    assert first is not None
    assert second is not None
    java.call("expire_snapshots", warehouse=str(tmp_path), table=TABLE, retain=1)
    assert [path.name for path in folder.iterdir()] == [second.statistics]
    java.call("analyze", warehouse=str(tmp_path), table=TABLE, rows=1, size=1, columns={"id": [1, 1, 1, 0, 8, 8]})
    last = table.analyze("all")
    assert last is not None
    table.expire_snapshots(retain_max=1, retain_min=1)
    assert [path.name for path in folder.iterdir()] == [last.statistics]
    assert java.call("remove_orphan_files", warehouse=str(tmp_path), table=TABLE, older_than_millis=2**50) == []
    assert table.verify(deep=True).problems == ()


def test_the_connector_finds_what_we_find(spark: Oracle, tmp_path: Path) -> None:
    """ANALYZE of Paimon 0.9 in Spark. It fails for timestamps without a zone and truncates its count of bytes."""
    fields = [(name, kind) for name, kind in FIELDS if name not in {"t3", "t6", "t9"}]
    spark.create_table(tmp_path, TABLE, fields, primary_keys=["id"], options={"bucket": "1", "write-only": "true"})
    table = opened(tmp_path)
    data = rows(table)
    spark.write(tmp_path, TABLE, data)
    spark.write(tmp_path, TABLE, data.slice(1, 1))
    spark.call(
        "sql",
        warehouse=str(tmp_path),
        table=TABLE,
        statement="ANALYZE TABLE {table} COMPUTE STATISTICS FOR ALL COLUMNS",
    )
    theirs = shown(tmp_path)
    table.analyze("all")
    ours = shown(tmp_path)
    assert json.loads(ours["colstat"]) == json.loads(theirs["colstat"])
    assert ours["mergedRecordCount"] == theirs["mergedRecordCount"] == 3
    seen = spark.call("sql", warehouse=str(tmp_path), table=f"{TABLE}$statistics", statement="SELECT * FROM {table}")
    assert [str(value) for value in ours.values()] == seen[0]
    table.expire_snapshots(retain_max=1, retain_min=1)
    assert len(list(Path(table.path, "statistics").iterdir())) == 1
