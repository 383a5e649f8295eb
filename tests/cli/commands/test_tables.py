"""``databases``, ``tables``, ``show``."""

from __future__ import annotations

from pathlib import Path

from tests.cli.runner import Lakebed

from lakebed import Lake, Table
from lakebed.options import find


def test_databases(cli: Lakebed, lake: Lake, orders: Table) -> None:
    lake.create_database("aside")
    assert cli.json("databases") == [{"database": "aside", "tables": 0}, {"database": "db", "tables": 1}]
    assert cli("databases").lines[2:] == [["aside", "0"], ["db", "1"]]


def test_tables_of_one_database_and_of_all(cli: Lakebed, lake: Lake, orders: Table, people: Table) -> None:
    lake.create_database("aside")
    lake.create_table("aside.t", "id INT")
    names = [(record["database"], record["table"]) for record in cli.json("tables")]
    assert names == [("aside", "t"), ("db", "orders"), ("db", "people")]
    assert [record["table"] for record in cli.json("tables", "db")] == lake.tables("db")
    assert cli("tables", "db").lines[2:] == [["db", "orders"], ["db", "people"]]


def test_no_tables(cli: Lakebed) -> None:
    assert cli.json("tables") == []
    assert cli("tables").out == "no tables\n"


def test_long_list(cli: Lakebed, people: Table) -> None:
    (record,) = cli.json("tables", "--long")
    latest = people.latest_snapshot()
    assert latest is not None
    assert record == {
        "database": "db",
        "table": "people",
        "partition_keys": [],
        "primary_keys": ["id"],
        "snapshot_id": 3,
        "snapshots": {"main": 3},
        "total_record_count": latest.total_record_count,
        "time_millis": latest.time_millis,
        "problem": None,
    }


def test_a_broken_table_does_not_hide_the_others(cli: Lakebed, orders: Table, people: Table) -> None:
    Path(orders.path, "schema", "schema-0").write_text("{")
    broken, sound = cli.json("tables", "-l")
    assert "schema-0" in broken["problem"]
    assert (sound["table"], sound["problem"]) == ("people", None)
    assert cli("tables", "-l").code == 0


def test_show_says_what_the_interface_says(cli: Lakebed, orders: Table) -> None:
    record = cli.json("show", "db.orders")
    plan = orders.scan().plan()
    latest = orders.latest_snapshot()
    assert latest is not None
    assert record["name"] == "db.orders"
    assert record["branch"] == "main"
    assert record["path"] == orders.path
    assert record["schema_id"] == orders.schema.id
    assert [(column["name"], column["type"], column["nullable"]) for column in record["columns"]] == [
        ("id", "BIGINT NOT NULL", False),
        ("v", "STRING", True),
        ("day", "STRING", True),
    ]
    assert record["partition_keys"] == ["day"]
    assert record["primary_keys"] == record["bucket_keys"] == []
    assert record["file_count"] == plan.file_count == 3
    assert record["file_size_in_bytes"] == plan.byte_count
    assert record["record_count"] == 3
    assert record["partition_count"] == 3
    assert record["latest_snapshot"]["id"] == 3
    assert record["latest_snapshot"]["time_millis"] == latest.time_millis
    assert record["latest_snapshot"]["commit_kind"] == "APPEND"
    assert (record["branches"], record["tags"], record["warnings"]) == ([], {}, [])


def test_show_for_people(cli: Lakebed, people: Table) -> None:
    ran = cli("show", "db.people")
    assert ["primary", "key", "id"] in ran.lines
    assert ["name", "STRING", "-", "-"] in ran.lines
    assert ["bucket", "2", "-1", "set"] in ran.lines
    assert ["records", "3"] in ran.lines
    assert next(line for line in ran.lines if line[:1] == ["snapshot"])[:2] == ["snapshot", "3,"]
    assert ran.err == ""


def test_options_with_defaults(cli: Lakebed, people: Table) -> None:
    assert cli.json("show", "db.people")["options"] == [{"key": "bucket", "value": "2", "default": "-1", "set": True}]
    every = {option["key"]: option for option in cli.json("show", "db.people", "--all-options")["options"]}
    known = find("merge-engine")
    assert known is not None
    assert every["merge-engine"] == {
        "key": "merge-engine",
        "value": known.default,
        "default": known.default,
        "set": False,
    }
    assert every["bucket"]["set"] is True
    assert ["merge-engine", "deduplicate", "deduplicate", "default"] in cli("show", "db.people", "--all-options").lines


def test_show_of_an_empty_table_and_of_one_with_strange_options(cli: Lakebed, lake: Lake) -> None:
    table = lake.create_table("db.t", "id INT")
    assert cli.json("show", "db.t")["latest_snapshot"] is None
    assert ["snapshot", "none"] in cli("show", "db.t").lines
    schema = Path(table.path, "schema", "schema-0")
    schema.write_text(
        schema.read_text().replace('"options" : { }', '"options" : {"no.such.option": "1", "bukcet": "1"}')
    )
    (warning,) = cli.json("show", "db.t")["warnings"]
    assert "bukcet" in warning  # the other one is a property of its users
    assert "no.such.option" in cli("show", "db.t").out


def test_a_table_that_cannot_be_read_is_still_shown(cli: Lakebed, lake: Lake) -> None:
    table = lake.create_table("db.t", "id INT")
    schema = Path(table.path, "schema", "schema-0")
    schema.write_text(schema.read_text().replace('"options" : { }', '"options" : {"file.format": "lance"}'))
    record = cli.json("show", "db.t")
    assert any("file.format" in warning for warning in record["warnings"])
