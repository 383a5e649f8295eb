"""The warehouse: databases and tables by name, also with odd ones, branches and system tables."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pyspark.sql.types import IntegerType, StringType, StructType
from tests.places import copy_tree, stored_path

import lakebed
from lakebed.catalogs.table_name import TableName
from lakebed.errors import (
    AlreadyExistsError,
    CorruptError,
    LakebedError,
    NotFoundError,
    OptionError,
    SchemaError,
    StorageError,
    UnsupportedError,
)
from lakebed.lake import open_any


def branch(table: lakebed.Table, name: str) -> None:
    """A branch as Paimon makes it: schemas and snapshots copied."""
    target = stored_path(table.path) / f"branch/branch-{name}"
    for part in ("schema", "snapshot"):
        source = stored_path(table.path) / part
        if source.exists():
            copy_tree(source, target / part)


# ------------------------------------------------------------------------------------------------------------- connect


@pytest.mark.local_disk
def test_connect_makes_the_folder_and_opens_it_again(tmp_path: Path) -> None:
    folder = tmp_path / "a/b c/ü"
    lake = lakebed.connect(folder)
    assert lake.warehouse == str(folder)
    assert folder.is_dir()
    lake.create_database("db")
    assert lakebed.connect(f"file://{folder}").databases() == ["db"]
    assert repr(lake) == f"<Lake {folder}>"


@pytest.mark.local_disk
def test_what_cannot_be_connected_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(LakebedError, match="it is a file, not a folder"):
        lakebed.connect(tmp_path / "file")
    with pytest.raises(UnsupportedError, match="ftp://bucket/lake: Lakebed does not know the scheme ftp://"):
        lakebed.connect("ftp://bucket/lake")
    with pytest.raises(StorageError, match="cannot create"):
        lakebed.connect(tmp_path / "file/below")


@pytest.mark.local_disk
def test_home_and_empty_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert lakebed.connect("~/lake").warehouse == lakebed.connect(Path("~/lake")).warehouse == str(tmp_path / "lake")
    for empty in ("", " ", "file://"):
        with pytest.raises(OptionError, match="the path of a warehouse is empty"):
            lakebed.connect(empty)


def test_the_folder_of_a_table_or_database_is_no_warehouse(lake: lakebed.Lake) -> None:
    table = lake.create_table("db.t", "id INT")
    way = re.escape(f"write connect('{lake.warehouse}').table('db.t')")
    with pytest.raises(OptionError, match=f"db.db/t is the folder of a table, not a warehouse; {way}"):
        lakebed.connect(table.path)
    with pytest.raises(OptionError, match=f"db.db is the folder of a database, not a warehouse; {way}"):
        lakebed.connect(f"{lake.warehouse}/db.db")


@pytest.mark.local_disk
def test_a_warehouse_may_be_called_like_a_database_and_a_table_may_lie_anywhere(tmp_path: Path) -> None:
    for _ in range(2):
        lake = lakebed.connect(tmp_path / "all.db")
        lake.create_database("db", ignore_if_exists=True)
    copy_tree(stored_path(lake.create_table("db.t", "id INT").path), tmp_path / "copy")
    with pytest.raises(OptionError, match=r"open the folder that contains the <database>\.db folders"):
        lakebed.connect(tmp_path / "copy")


def test_without_create_there_is_no_new_folder(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"there is no warehouse at .*/lake; check the path"):
        lakebed.connect(tmp_path / "lake", create=False)
    with pytest.raises(NotFoundError):
        lakebed.connect(tmp_path / "lake", create=False)  # the first call made none
    lakebed.connect(tmp_path / "lake").create_database("db")
    assert lakebed.connect(tmp_path / "lake", create=False).databases() == ["db"]


def test_options_of_the_lake(tmp_path: Path) -> None:
    lake = lakebed.connect(tmp_path, options={"table-default.bucket": 2, "table-default.bucket-key": "id"})
    lake.create_database("db")
    assert lake.create_table("db.t", "id INT").options == {"bucket": "2", "bucket-key": "id"}
    own = lake.create_table("db.u", "id INT", options={"bucket": 5, "target-file-size": "1 mb"})
    assert own.options == {"bucket": "5", "bucket-key": "id", "target-file-size": "1 mb"}
    with pytest.raises(OptionError, match="'bucket' is an option of tables"):
        lakebed.connect(tmp_path, options={"bucket": 2})
    broken = lakebed.connect(tmp_path, options={"table-default.bukcet": 2})
    with pytest.raises(OptionError, match="did you mean 'bucket'"):
        broken.create_table("db.v", "id INT")
    assert "v" not in lake.tables("db")


# ----------------------------------------------------------------------------------------------------------- databases


def test_databases_come_and_go(lake: lakebed.Lake) -> None:
    lake.create_database("a")
    assert lake.databases() == ["a", "db"]
    with pytest.raises(AlreadyExistsError, match="database 'a' already exists"):
        lake.create_database("a")
    lake.create_database("a", ignore_if_exists=True)
    assert lake.tables("a") == []
    lake.drop_database("a")
    assert lake.databases() == ["db"]
    with pytest.raises(NotFoundError, match="unknown database 'a'"):
        lake.drop_database("a")
    lake.drop_database("a", ignore_if_missing=True)
    with pytest.raises(NotFoundError, match=r"unknown database 'dbb'.*did you mean 'db'"):
        lake.tables("dbb")


def test_a_database_with_tables_is_dropped_only_on_demand(lake: lakebed.Lake) -> None:
    lake.create_table("db.t", "id INT").write([{"id": 1}])
    with pytest.raises(OptionError, match=r"has 1 table, 't' among them.*cascade=True"):
        lake.drop_database("db")
    assert lake.table("db.t").scan().to_arrow().num_rows == 1
    lake.drop_database("db", cascade=True)
    assert lake.databases() == []
    assert [path.name for path in stored_path(lake.warehouse).iterdir() if path.name != ".lakebed"] == []


@pytest.mark.parametrize("name", ["", " ", ".", "..", ".hidden", "a/b", "a\\b", "a\0b", "a.b", "a$b", "\ud800"])
def test_names_that_no_database_can_have(lake: lakebed.Lake, name: str) -> None:
    with pytest.raises(LakebedError, match="name"):
        lake.create_database(name)
    assert lake.databases() == ["db"]


def test_other_folders_and_files_are_no_databases(lake: lakebed.Lake) -> None:
    root = stored_path(lake.warehouse)
    (root / "plain").mkdir()
    (root / "file.db").write_text("x")
    (root / "db.db/not-a-table").mkdir()
    (root / "db.db/file").write_text("x")
    assert lake.databases() == ["db"]
    assert lake.tables("db") == []


# -------------------------------------------------------------------------------------------------------------- tables


def test_tables_come_and_go(lake: lakebed.Lake) -> None:
    made = lake.create_table("db.t", "id INT NOT NULL COMMENT 'key', v STRING", comment="a table")
    assert (made.name, made.path) == ("db.t", f"{lake.warehouse}/db.db/t")
    assert lake.tables("db") == ["t"]
    opened = lake.table("db.t")
    assert opened.schema == made.schema
    assert opened.schema.comment == "a table"
    with pytest.raises(AlreadyExistsError, match=r"table db\.t already exists; open it with table\('db\.t'\)"):
        lake.create_table("db.t", "other INT")
    again = lake.create_table("db.t", "other INT", ignore_if_exists=True)
    assert again.schema.field_names == ("id", "v")
    lake.drop_table("db.t")
    assert lake.tables("db") == []
    assert not stored_path(made.path).exists()
    with pytest.raises(NotFoundError, match="unknown table 't' in database db; known: none"):
        lake.drop_table("db.t")
    lake.drop_table("db.t", ignore_if_missing=True)
    with pytest.raises(NotFoundError, match="unknown database 'nope'"):
        lake.table("nope.t")
    assert lake.create_table("db.t", "other INT").schema.field_names == ("other",)


@pytest.mark.parametrize(
    "schema",
    [
        "id INT, v STRING",
        pa.schema({"id": pa.int32(), "v": pa.string()}),
        StructType().add("id", IntegerType()).add("v", StringType()),
    ],
    ids=["DDL", "Arrow", "Spark"],
)
def test_schemas_as_people_have_them(lake: lakebed.Lake, schema: Any) -> None:
    table = lake.create_table("db.t", schema, partition_by=["v"])
    assert repr(table) == "<Table db.t: id INT, v STRING>"
    assert table.schema.partition_keys == ("v",)
    assert table.arrow_schema == pa.schema({"id": pa.int32(), "v": pa.string()})


@pytest.mark.parametrize(
    ("args", "more", "error", "message"),
    [
        (("t", "id INT"), {}, NotFoundError, "write tables as database.table"),
        (("nope.t", "id INT"), {}, NotFoundError, r"unknown database 'nope'.*create_database\('nope'\)"),
        (("db.", "id INT"), {}, NotFoundError, "'' is not a table name"),
        (("db.t$branch_b", "id INT"), {}, OptionError, "without a \\$"),
        (("db.t$files", "id INT"), {}, OptionError, "without a \\$"),
        (("db.../x", "id INT"), {}, NotFoundError, "is not a table name"),
        (("db.t", ""), {}, SchemaError, "expected"),
        (("db.t", 5), {}, SchemaError, "cannot take columns from a int"),
        (("db.t", "id INT, id STRING"), {}, SchemaError, "two fields named 'id'"),
        (("db.t", "id INT"), {"partition_by": ["p"]}, SchemaError, "unknown partition column 'p'"),
        (("db.t", "id INT"), {"options": {"bukcet": 1}}, OptionError, "did you mean 'bucket'"),
        (("db.t", "id INT"), {"options": {"bucket": 2}}, OptionError, "needs a 'bucket-key'"),
        (("db.t", "id INT"), {"options": {"bucket": 2, "bucket-key": "x"}}, OptionError, "unknown column 'x'"),
        (("db.t", "id INT"), {"options": {"bucket": "x"}}, OptionError, "it must be -1 .dynamic"),
        (("db.t", "id INT"), {"options": {"file.format": "csv"}}, OptionError, "Parquet, ORC and Avro only"),
    ],
)
def test_tables_that_cannot_be_made(
    lake: lakebed.Lake, args: tuple[str, Any], more: dict[str, Any], error: type[LakebedError], message: str
) -> None:
    with pytest.raises(error, match=message):
        lake.create_table(*args, **more)
    assert lake.tables("db") == []


def test_tables_get_other_names(lake: lakebed.Lake) -> None:
    lake.create_database("other")
    lake.create_table("db.t", "id INT").write([{"id": 1}])
    lake.create_table("db.u", "id INT")
    moved = lake.rename_table("db.t", "other.t2")
    assert moved.name == "other.t2"
    assert moved.scan().to_arrow().to_pylist() == [{"id": 1}]
    assert (lake.tables("db"), lake.tables("other")) == (["u"], ["t2"])
    moved.write([{"id": 2}])
    with pytest.raises(AlreadyExistsError, match=r"table other\.t2 already exists"):
        lake.rename_table("db.u", "other.t2")
    with pytest.raises(NotFoundError, match="unknown table 't'"):
        lake.rename_table("db.t", "db.v")
    with pytest.raises(NotFoundError, match="unknown database 'nope'"):
        lake.rename_table("db.u", "nope.v")
    with pytest.raises(OptionError, match="without a \\$"):
        lake.rename_table("db.u", "db.v$files")
    assert sorted(lake.table("other.t2").scan().to_arrow()["id"].to_pylist()) == [1, 2]


@pytest.mark.parametrize("name", ["a b", "ü中", "x'y`z", "a.b.c", "100%", "-", "UPPER", "t=1", "{x}", "a#b?c&d"])
def test_tables_with_odd_names(lake: lakebed.Lake, name: str) -> None:
    table = lake.create_table(f"db.{name}", "`c d` INT, `p=/` STRING", partition_by=["p=/"])
    table.write([{"c d": 1, "p=/": "v/1"}])
    opened = lake.table(f"db.{name}")
    assert opened.scan(where="`p=/` = 'v/1'").to_arrow().to_pylist() == [{"c d": 1, "p=/": "v/1"}]
    assert lake.tables("db") == [name]
    assert lake.system_table(f"db.{name}$files").scan(["record_count"]).to_arrow().to_pylist() == [{"record_count": 1}]
    assert lake.rename_table(f"db.{name}", "db.plain").scan().to_arrow().num_rows == 1


# --------------------------------------------------------------------------------------- branches and system tables


def test_branches_by_name(lake: lakebed.Lake) -> None:
    table = lake.create_table("db.t", "id INT")
    table.write([{"id": 1}])
    branch(table, "b 1")
    on_branch = lake.table("db.t$branch_b 1")
    assert repr(on_branch) == "<Table db.t branch=b 1: id INT>"
    on_branch.write([{"id": 2}])
    assert sorted(on_branch.scan().to_arrow()["id"].to_pylist()) == [1, 2]
    assert table.scan().to_arrow()["id"].to_pylist() == [1]
    assert table.branches() == ["b 1"]
    assert table.branch("b 1").latest_snapshot() == on_branch.latest_snapshot()
    assert on_branch.branch("main").scan().to_arrow().num_rows == 1
    # data and manifests of every branch lie in the table's root; beside its own metadata it has an index of its history
    found = sorted(path.name for path in (stored_path(table.path) / "branch/branch-b 1").iterdir())
    assert [name for name in found if name != ".lakebed"] == ["schema", "snapshot"]
    assert len(list((stored_path(table.path) / "bucket-0").iterdir())) == 2
    with pytest.raises(NotFoundError, match=r"has no branch 'x'; its branches: main, b 1"):
        lake.table("db.t$branch_x")
    with pytest.raises(NotFoundError, match="has no branch 'x'"):
        table.branch("x")


def test_system_tables_of_a_branch(lake: lakebed.Lake) -> None:
    table = lake.create_table("db.t", "id INT")
    table.write([{"id": 1}])
    branch(table, "b")
    lake.table("db.t$branch_b").write([{"id": 2}])
    assert lake.system_table("db.t$branch_b$snapshots").scan().to_arrow().num_rows == 2
    assert lake.system_table("db.t$snapshots").scan().to_arrow().num_rows == 1
    assert lake.system_table("db.t$branch_b$files").scan().to_arrow().num_rows == 2
    assert repr(lake.system_table("db.t$snapshots")) == "<SystemTable db.t$snapshots>"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("db.t$", "after the table come"),
        ("db.t$$files", "after the table come"),
        ("db.t$files$branch_b", "after the table come"),
        ("db.t$branch_", "is not a branch name"),
        ("db.t$branch_../x", "is not a branch name"),
        ("db.t$flies", "unknown system table 'flies'.*did you mean 'files'"),
        ("db.u", "unknown table 'u' in database db; known: t"),
        ("db.tt$files", "unknown table 'tt'"),
    ],
)
def test_names_that_lead_nowhere(lake: lakebed.Lake, name: str, message: str) -> None:
    lake.create_table("db.t", "id INT")
    with pytest.raises(NotFoundError, match=message):
        open_any(lake, name)
    assert name not in lake


def test_a_system_table_by_the_call_for_tables_warns(lake: lakebed.Lake) -> None:
    lake.create_table("db.t", "id INT").write([{"id": 1}])
    with pytest.warns(DeprecationWarning, match=r"write system_table\('db\.t\$snapshots'\) instead") as caught:
        opened: object = lake.table("db.t$snapshots")
    assert caught[0].filename == __file__
    assert isinstance(opened, lakebed.SystemTable)
    assert opened.scan().to_arrow().num_rows == 1
    with pytest.raises(OptionError, match=r"'db\.t' is a table, not a system table; open it with table\('db\.t'\)"):
        lake.system_table("db.t")


def test_a_lake_is_indexed_by_names(lake: lakebed.Lake) -> None:
    table = lake.create_table("db.t", "id INT")
    lake.create_database("other")
    lake.create_table("other.u", "id INT")
    branch(table, "b")
    assert (lake["db.t"].name, lake["db.t$branch_b"].branch_name) == ("db.t", "b")
    assert [name in lake for name in ("db.t", "db.t$branch_b", "other.u")] == [True, True, True]
    outside: list[object] = ["db.u", "no.t", "t", "", "db.t$branch_x", "db.t$files", 1, None]
    assert [name in lake for name in outside] == [False] * len(outside)
    assert (lake.tables(), list(lake), lake.tables("db")) == (["db.t", "other.u"], ["db.t", "other.u"], ["t"])
    with pytest.raises(OptionError, match=r"open it with system_table\('db\.t\$files'\)"):
        lake["db.t$files"]
    with pytest.raises(NotFoundError, match="unknown table 'u'"):
        lake["db.u"]


@pytest.mark.parametrize("name", ["db.t$files", "db.t$branch_b"])
def test_only_tables_are_dropped(lake: lakebed.Lake, name: str) -> None:
    lake.create_table("db.t", "id INT")
    with pytest.raises(OptionError, match="without a \\$"):
        lake.drop_table(name)
    assert lake.tables("db") == ["t"]


def test_names_in_parts() -> None:
    assert TableName.parse("d.t.u$branch_b$c") == TableName("d", "t.u", "b", "c")
    assert TableName.parse("d.t$files") == TableName("d", "t", "main", "files")
    assert str(TableName.parse("d.t$branch_b")) == "d.t"


def test_a_database_has_properties(lake: lakebed.Lake) -> None:
    lake.create_database("told", properties={"comment": "wörter", "a": "b"})
    assert lake.database_properties("told") == {"comment": "wörter", "a": "b"}
    assert lake.tables("told") == []
    lake.set_database_properties("told", {"c": "d"})
    assert lakebed.connect(lake.warehouse).database_properties("told") == {"c": "d"}
    assert lake.database_properties("db") == {}
    with pytest.raises(NotFoundError, match="unknown database 'nope'"):
        lake.database_properties("nope")
    with pytest.raises(NotFoundError, match="unknown database 'nope'"):
        lake.set_database_properties("nope", {})
    path = stored_path(lake.warehouse) / "told.db" / ".lakebed" / "database.json"
    path.write_text("[1]")
    with pytest.raises(CorruptError, match=r"database\.json"):
        lake.database_properties("told")
    lake.drop_database("told")
    lake.create_database("told")
    assert lake.database_properties("told") == {}


# ------------------------------------------------------------------------------------------------ columns of new tables


def test_one_name_is_a_list_of_one_name(lake: lakebed.Lake) -> None:
    made = lake.create_table("db.t", "id INT, day STRING", partition_by="day", primary_key=["id", "day"])
    assert lake.create_table("db.k", "id INT", primary_key="id").schema.primary_keys == ("id",)
    assert (made.schema.partition_keys, made.schema.primary_keys) == (("day",), ("id", "day"))
    with pytest.raises(SchemaError, match="unknown partition column 'day, id'"):
        lake.create_table("db.u", "id INT, day STRING", partition_by="day, id")


ROWS = pa.table(
    {"id": pa.array([1], pa.int32()), "v": ["a"], "d": [Decimal("1.50")], "c": pa.array(["x"]).dictionary_encode()}
)


@pytest.mark.parametrize(
    "data",
    [ROWS, ROWS.to_batches()[0], ROWS.to_reader(), ROWS.to_pandas(), pl.from_arrow(ROWS), pl.from_arrow(ROWS).lazy()],  # type: ignore[union-attr]
    ids=lambda data: f"{type(data).__module__.split('.')[0]}.{type(data).__name__}",
)
def test_columns_of_data_without_its_rows(lake: lakebed.Lake, data: Any) -> None:
    made = lake.create_table("db.t", data)
    columns = [(field.name, str(field.type).partition("(")[0]) for field in made.schema.fields]
    assert columns == [("id", "INT"), ("v", "STRING"), ("d", "DECIMAL"), ("c", "STRING")]
    assert made.latest_snapshot() is None
    made.write(data)  # also a stream: its rows were not consumed
    assert made.to_arrow().to_pylist() == [{"id": 1, "v": "a", "d": Decimal("1.50"), "c": "x"}]


def test_columns_of_data_that_have_no_type(lake: lakebed.Lake) -> None:
    with pytest.raises(SchemaError, match="column 'v' has only nulls, so its type is unknown"):
        lake.create_table("db.t", pa.table({"id": [1], "v": [None]}))
    with pytest.raises(UnsupportedError, match="column 'n': Arrow type uint64 has no Paimon counterpart"):
        lake.create_table("db.t", pa.table({"n": pa.array([1], pa.uint64())}))
    with pytest.raises(SchemaError, match="cannot take columns from a list"):
        lake.create_table("db.t", [{"id": 1}])


def test_columns_that_differ_in_case_only(lake: lakebed.Lake) -> None:
    with pytest.raises(SchemaError, match="the columns 'id' and 'ID' differ in case only"):
        lake.create_table("db.t", "id INT, ID INT")
    table = lake.create_table("db.t", "id INT, v INT")
    with pytest.raises(SchemaError, match="differ in case only"):
        table.alter(lakebed.changes.AddColumn("ID", "INT"))
    with pytest.raises(SchemaError, match="differ in case only"):
        table.alter(lakebed.changes.RenameColumn("v", "Id"))
    assert table.alter(lakebed.changes.RenameColumn("id", "ID")).field_names == ("ID", "v")
