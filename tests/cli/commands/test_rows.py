"""``rows``: what is read, and how values come out."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from tests.cli.runner import Lakebed

from lakebed import Lake, Table
from lakebed.rows.json_rows import json_records


def test_rows_are_those_of_a_scan(cli: Lakebed, orders: Table) -> None:
    assert cli.json("rows", "db.orders") == orders.scan().to_arrow().to_pylist()
    assert cli("head", "db.orders").lines[2:] == [[str(n), f"v{n}", f"2025-01-0{n}"] for n in (1, 2, 3)]


@pytest.mark.parametrize("columns", [["-c", "v,id"], ["-c", "v", "-c", "id"], ["--columns", "v, id"]])
def test_columns(cli: Lakebed, orders: Table, columns: list[str]) -> None:
    rows = cli.json("rows", "db.orders", *columns, "--where", "id > 2")
    assert rows == [{"v": "v3", "id": 3}]
    assert list(rows[0]) == ["v", "id"]


def test_time_travel(cli: Lakebed, orders: Table) -> None:
    first = orders.snapshot(1)
    assert len(cli.json("rows", "db.orders", "--version", "2")) == 2
    assert len(cli.json("rows", "db.orders", "--timestamp", str(first.time_millis))) == 1
    text = dt.datetime.fromtimestamp(first.time_millis / 1000).isoformat(sep=" ")
    assert len(cli.json("rows", "db.orders", "--timestamp", text)) == 1
    orders.create_tag("v1", snapshot=1)
    assert len(cli.json("rows", "db.orders", "--tag", "v1")) == 1
    assert len(cli.json("rows", "db.orders", "--version", "v1")) == 1
    assert "at most one" in cli.fails(3, "rows", "db.orders", "--tag", "v1", "--version", "2")
    assert "no snapshot at or before" in cli.fails(4, "rows", "db.orders", "--timestamp", "1 d")


def test_limit_says_that_there_is_more(cli: Lakebed, orders: Table) -> None:
    ran = cli("rows", "db.orders", "--limit", "2", "--json")
    assert len(ran.json) == 2
    assert ran.err == "the first 2 rows; use --limit for more\n"
    for limit in ("3", "0", "100"):
        ran = cli("rows", "db.orders", "--limit", limit, "--json")
        assert len(ran.json) == 3
        assert ran.err == ""


def test_a_limit_reads_only_the_files_it_needs(cli: Lakebed, orders: Table) -> None:
    from pathlib import Path

    *_, last = orders.scan().plan().files["file_path"].to_pylist()
    Path(last).unlink()
    assert len(cli.json("rows", "db.orders", "--limit", "1")) == 1
    assert cli("rows", "db.orders").code in {3, 4}


def test_system_tables_and_branches(cli: Lakebed, orders: Table) -> None:
    rows = cli.json("rows", "db.orders$snapshots", "-c", "snapshot_id,commit_kind", "--where", "snapshot_id >= 2")
    assert rows == [{"snapshot_id": 2, "commit_kind": "APPEND"}, {"snapshot_id": 3, "commit_kind": "APPEND"}]
    assert len(cli.json("rows", "db.orders$snapshots", "--limit", "1")) == 1
    assert "--version" in cli.fails(3, "rows", "db.orders$snapshots", "--version", "1")
    assert "system table" in cli.fails(3, "rows", "db.orders$snapshots", "--explain")
    orders.create_branch("b", snapshot=1)
    assert len(cli.json("rows", "db.orders$branch_b")) == 1
    assert len(cli.json("rows", "db.orders$branch_b$snapshots")) == 1


def test_explain(cli: Lakebed, orders: Table) -> None:
    assert (
        cli("rows", "db.orders", "--explain", "--where", "id = 1").out == orders.scan(where="id = 1").explain() + "\n"
    )
    assert cli.json("rows", "db.orders", "--explain")["explain"] == orders.scan().explain()


def test_no_rows(cli: Lakebed, orders: Table) -> None:
    assert cli("rows", "db.orders", "--where", "id = 99").out == "no rows\n"
    assert cli.json("rows", "db.orders", "--where", "id = 99") == []


def test_typos(cli: Lakebed, orders: Table) -> None:
    assert cli.fails(4, "rows", "db.order") == "error: unknown table 'order' in database db; did you mean 'orders'?"
    assert "unknown database 'dbb'" in cli.fails(4, "rows", "dbb.orders")
    assert "did you mean 'day'?" in cli.fails(4, "rows", "db.orders", "-c", "dya")
    assert "did you mean 'day'?" in cli.fails(3, "rows", "db.orders", "--where", "dya = '1'")
    assert "did you mean 'snapshots'?" in cli.fails(4, "rows", "db.orders$snapshot")
    assert "database.table" in cli.fails(4, "rows", "orders")
    refusal = cli.fails(2, "rows", "db.orders", "--timestamp", "yesterday")
    assert (
        "'yesterday', which is not a time; give one such as '2025-01-31 12:00:00', a time ago such as '3 d'" in refusal
    )


AWKWARD: list[tuple[pa.DataType, Any, Any]] = [
    (pa.int64(), 2**63 - 1, 2**63 - 1),
    (
        pa.decimal128(38, 2),
        Decimal("123456789012345678901234567890123456.78"),
        "123456789012345678901234567890123456.78",
    ),
    (pa.float64(), math.nan, "NaN"),
    (pa.float64(), -math.inf, "-Infinity"),
    (pa.float32(), 0.5, 0.5),
    (pa.bool_(), True, True),
    (pa.binary(), b"\x00\xff", "00ff"),
    (pa.date32(), dt.date(1, 1, 1), "0001-01-01"),
    (pa.time32("ms"), dt.time(1, 2, 3, 4000), "01:02:03.004"),
    (pa.timestamp("ns"), 1_234_567_890_123_456_789, "2009-02-13 23:31:30.123456789"),
    (pa.timestamp("us", "UTC"), 0, "1970-01-01 00:00:00.000000Z"),
    (pa.list_(pa.date32()), [dt.date(2020, 1, 1), None], ["2020-01-01", None]),
    (pa.map_(pa.int32(), pa.binary()), [(1, b"a"), (2, None)], [{"key": 1, "value": "61"}, {"key": 2, "value": None}]),
    (
        pa.struct({"x": pa.timestamp("ns"), "y": pa.list_(pa.float64())}),
        {"x": 1, "y": [math.inf]},
        {"x": "1970-01-01 00:00:00.000000001", "y": ["Infinity"]},
    ),
    (pa.string(), "ä\x1b[31m", "ä\x1b[31m"),
]


@pytest.mark.parametrize(("kind", "value", "expected"), AWKWARD, ids=lambda part: str(part)[:30])
def test_values_come_out_without_loss(kind: pa.DataType, value: Any, expected: Any) -> None:
    rows = json_records(pa.table({"a": pa.array([value, None], kind)}))
    assert rows == [{"a": expected}, {"a": None}]
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows


def test_text_is_shown_as_it_is_and_cannot_move_the_cursor(cli: Lakebed, lake: Lake) -> None:
    table = lake.create_table("db.t", "v STRING")
    table.write([{"v": "[red]no[/red] :smile:"}, {"v": "a\nb\x1b[2J\u202e"}, {"v": None}])
    shown = cli("rows", "db.t").out.splitlines()
    assert [line.rstrip() for line in shown[2:]] == ["[red]no[/red] :smile:", r"a\nb\x1b[2J\u202e", "null"]
    assert cli.json("rows", "db.t")[1] == {"v": "a\nb\x1b[2J\u202e"}


def test_long_values_are_not_cut_in_a_pipe(cli: Lakebed, lake: Lake) -> None:
    table = lake.create_table("db.t", "v STRING, w STRING")
    table.write([{"v": "x" * 500, "w": "y" * 500}])
    assert cli("rows", "db.t").lines[2] == ["x" * 500, "y" * 500]
