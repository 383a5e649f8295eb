"""Reads described first and run later: versions, columns, plans and what they leave out."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.places import delete_tree, stored_path

import lakebed
from lakebed import changes
from lakebed.errors import ExpressionError, LakebedError, NotFoundError, OptionError
from lakebed.format.human_text import size_text

_COUNTER = iter(range(10**9))


def create(lake: lakebed.Lake, schema: Any, **more: Any) -> lakebed.Table:
    return lake.create_table(f"db.t{next(_COUNTER)}", schema, **more)


def tag(table: lakebed.Table, name: str, snapshot: int, **more: Any) -> None:
    """A tag as Paimon writes it: the snapshot's JSON, with times if it is to expire."""
    root = stored_path(table.path)
    raw = json.loads((root / f"snapshot/snapshot-{snapshot}").read_text()) | more
    (root / "tag").mkdir(exist_ok=True)
    (root / f"tag/tag-{name}").write_text(json.dumps(raw))


def at(table: lakebed.Table, **version: Any) -> list[int]:
    found: list[int] = table.scan(["v"], **version).to_arrow()["v"].to_pylist()
    return sorted(found)


@pytest.fixture
def history(lake: lakebed.Lake) -> lakebed.Table:
    """Snapshots 1 to 4 with one row more each, committed at 1000, 2000, 2000 and 1500 ms."""
    table = create(lake, "v INT")
    for number, time in enumerate((1000, 2000, 2000, 1500), start=1):
        table.write([{"v": number}])
        path = stored_path(table.path) / f"snapshot/snapshot-{number}"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"timeMillis": time}))
    return table


# ---------------------------------------------------------------------------------------------------------- time travel


def test_versions_by_id(history: lakebed.Table) -> None:
    for number in range(1, 5):
        assert at(history, version=number) == list(range(1, number + 1))
        assert at(history, version=str(number)) == list(range(1, number + 1))
    assert history.scan(version=2).snapshot == history.snapshot(2)
    assert history.scan().snapshot == history.latest_snapshot()


def test_versions_by_tag(history: lakebed.Table) -> None:
    tag(history, "v1", 2)
    tag(history, "3", 1)
    tag(history, "kept", 3, tagCreateTime=[2026, 11, 15, 15, 31, 26, 812940531], tagTimeRetained=86400.0)
    assert at(history, tag="v1") == at(history, version="v1") == [1, 2]
    assert at(history, version="3") == [1]  # a tag named like a number wins
    assert at(history, version=3) == [1, 2, 3]
    assert {name: snapshot.id for name, snapshot in history.tags().items()} == {"3": 1, "kept": 3, "v1": 2}
    delete_tree(stored_path(history.path) / "snapshot")  # a tag holds its snapshot when that has expired
    assert at(history, tag="kept") == [1, 2, 3]


@pytest.mark.parametrize(
    ("millis", "rows"), [(1000, [1]), (1499, [1]), (1500, [1, 2, 3, 4]), (1999, [1, 2, 3, 4]), (2000, [1, 2, 3, 4])]
)
def test_versions_by_time(history: lakebed.Table, millis: int, rows: list[int]) -> None:
    """The newest snapshot committed by then; commit times may step back."""
    assert at(history, timestamp=millis) == rows
    moment = dt.datetime.fromtimestamp(millis / 1000)
    assert at(history, timestamp=moment) == rows
    assert at(history, timestamp=moment.isoformat(sep=" ")) == rows
    assert at(history, timestamp=moment.astimezone(dt.UTC)) == rows
    assert at(history, timestamp=moment.astimezone(dt.timezone(dt.timedelta(hours=5))).isoformat()) == rows
    assert at(history, timestamp=pd.Timestamp(moment)) == rows


@pytest.mark.parametrize(
    ("version", "error", "message"),
    [
        ({"version": 9}, NotFoundError, "snapshot 9 of table .* does not exist; snapshots 1 to 4 exist"),
        ({"version": 0}, NotFoundError, "snapshot 0"),
        ({"version": -1}, NotFoundError, "snapshot -1"),
        ({"version": "9"}, NotFoundError, "snapshot 9"),
        ({"version": "nope"}, NotFoundError, "has no tag 'nope'; its tags: none"),
        ({"version": "²"}, NotFoundError, "has no tag '²'"),
        ({"version": "../x"}, NotFoundError, "that is not the name of a tag"),
        ({"version": "a\0"}, NotFoundError, "that is not the name of a tag"),
        ({"version": 1.0}, OptionError, "version must be a snapshot id or the name of a tag, not 1.0"),
        ({"version": True}, OptionError, "not True"),
        ({"tag": "nope"}, NotFoundError, "has no tag 'nope'"),
        ({"timestamp": 999}, NotFoundError, "has no snapshot at or before .*; the earliest is of"),
        ({"timestamp": -(10**18)}, NotFoundError, "has no snapshot at or before -1000000000000000000 ms"),
        (
            {"timestamp": "yesterday"},
            OptionError,
            "timestamp is 'yesterday', which is not a time; give one such as '2025-01-31 12:00:00'",
        ),
        ({"timestamp": dt.date(2024, 1, 1)}, OptionError, "timestamp must be epoch milliseconds"),
        ({"timestamp": 1.5}, OptionError, "timestamp must be epoch milliseconds"),
        ({"version": 1, "tag": "x"}, OptionError, "at most one of"),
        ({"version": 1, "timestamp": 5}, OptionError, "at most one of"),
    ],
)
def test_versions_that_are_not_there(
    history: lakebed.Table, version: dict[str, Any], error: type[LakebedError], message: str
) -> None:
    with pytest.raises(error, match=message):
        history.scan(**version)


def test_a_table_without_snapshots(lake: lakebed.Lake) -> None:
    table = create(lake, "v INT NOT NULL, s STRING")
    scan = table.scan(where="v = 1")
    assert scan.snapshot is None
    assert scan.to_arrow() == table.arrow_schema.empty_table()
    assert scan.to_batches().read_all() == table.arrow_schema.empty_table()
    assert scan.plan().file_count == 0
    assert "no snapshot yet" in scan.explain()
    with pytest.raises(NotFoundError, match="it has no snapshots"):
        table.scan(version=1)
    with pytest.raises(NotFoundError, match="there are no snapshots"):
        table.scan(timestamp=10**15)


@pytest.mark.parametrize(
    ("option", "value", "rows"),
    [
        ("scan.snapshot-id", "2", [1, 2]),
        ("scan.version", "v3", [1, 2, 3]),
        ("scan.tag-name", "v3", [1, 2, 3]),
        ("scan.timestamp-millis", "1200", [1]),
    ],
)
def test_the_tables_own_version(history: lakebed.Table, option: str, value: str, rows: list[int]) -> None:
    tag(history, "v3", 3)
    history.alter(changes.SetOption(option, value))
    assert at(history) == rows
    assert at(history, version=4) == [1, 2, 3, 4]


def test_the_schema_of_an_earlier_version(lake: lakebed.Lake) -> None:
    table = create(lake, "v INT, s STRING")
    table.write([{"v": 1, "s": "a"}])
    table.alter(changes.RenameColumn("s", "t"), changes.AddColumn("n", "INT"))
    assert table.scan().to_arrow().column_names == ["v", "t", "n"]  # the latest columns, before anybody wrote with them
    assert table.scan(version=1).to_arrow().to_pylist() == [{"v": 1, "s": "a"}]
    assert table.scan(version=1, where="s = 'a'").to_arrow().num_rows == 1
    table.write([{"v": 2, "t": "b", "n": 1}])
    assert table.scan(version=2, where="t = 'a'").to_arrow().to_pylist() == [{"v": 1, "t": "a", "n": None}]
    with pytest.raises(ExpressionError, match="unknown column 't'"):
        table.scan(version=1, where="t = 'a'")
    with pytest.raises(NotFoundError, match="unknown column 'n'"):
        table.scan(["n"], version=1)


# ---------------------------------------------------------------------------------------------------- what is asked for


def test_results_in_every_form(lake: lakebed.Lake) -> None:
    table = create(lake, "v INT NOT NULL, s STRING")
    table.write([{"v": 1, "s": "a"}, {"v": 2, "s": None}])
    scan = table.scan(["s", "v"], "v < 5")
    expected = [{"s": "a", "v": 1}, {"s": None, "v": 2}]
    assert scan.schema == pa.schema([pa.field("s", pa.string()), pa.field("v", pa.int32(), nullable=False)])
    assert scan.to_arrow().schema == scan.schema
    assert scan.to_arrow().to_pylist() == expected
    assert isinstance(scan.to_pandas(), pd.DataFrame)
    assert scan.to_pandas()["v"].tolist() == [1, 2]
    assert isinstance(scan.to_polars(), pl.DataFrame)
    assert scan.to_polars().to_dicts() == expected
    assert scan.to_batches().read_all().to_pylist() == expected


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        (["nmae"], NotFoundError, r"unknown column 'nmae' in table db\.t\d+; did you mean 'name'\?"),
        (["v", "v"], OptionError, "more than once: v, v"),
        ([], OptionError, "at least one column name"),
        ("v", OptionError, "a list of at least one column name, not 'v'"),
    ],
)
def test_columns_that_cannot_be_read(lake: lakebed.Lake, columns: Any, error: type[LakebedError], message: str) -> None:
    table = create(lake, "v INT, name STRING")
    with pytest.raises(error, match=message):
        table.scan(columns)


def test_a_scan_stays_with_its_snapshot(history: lakebed.Table) -> None:
    scan = history.scan(["v"])
    history.write([{"v": 5}])
    history.truncate()
    assert sorted(scan.to_arrow()["v"].to_pylist()) == [1, 2, 3, 4]


# ------------------------------------------------------------------------------------------------------------- plans


@pytest.fixture
def many(lake: lakebed.Lake) -> lakebed.Table:
    table = create(lake, "v INT, s STRING, p STRING", partition_by=["p"])
    for start in (0, 10, 20):
        table.write([{"v": start + i, "s": f"s{start + i}", "p": "ab"[i % 2]} for i in range(10)])
    return table


def test_the_plan_names_the_files(many: lakebed.Table) -> None:
    plan = many.scan(["v"]).plan()
    assert (plan.table, plan.columns, plan.where, plan.file_count) == (many.name, ("v",), None, 6)
    assert plan.files.column_names == [
        "file_path", "partition", "bucket", "level", "record_count", "file_size_in_bytes",
    ]  # fmt: skip
    paths = plan.files["file_path"].to_pylist()
    assert plan.byte_count == sum(stored_path(path).stat().st_size for path in paths)
    assert plan.record_count == 30
    assert set(paths) == {str(path) for path in stored_path(many.path).rglob("*.parquet")}


def test_explain_tells_what_was_left_out(many: lakebed.Table) -> None:
    scan = many.scan(["s"], "p = 'a' AND v >= 12 AND v < 20")
    plan = scan.plan()
    assert scan.explain() == str(plan)
    assert scan.explain().splitlines() == [
        f"scan of {many.name} at snapshot 3",
        "  columns: s",
        "  where: p = 'a' AND v >= 12 AND v < 20",
        "  manifests by partition, bucket and level: 3 of 3 kept",
        "  files by partition: 3 of 6 kept",
        "  files by column statistics: 1 of 3 kept",
        f"  to read: 1 file, {size_text(plan.byte_count)}, 5 rows at most",
    ]
    assert scan.to_arrow()["s"].to_pylist() == ["s12", "s14", "s16", "s18"]


def test_manifests_of_other_partitions_are_not_opened(lake: lakebed.Lake) -> None:
    table = create(lake, "v INT, p STRING", partition_by=["p"])
    for p in "abc":
        table.write([{"v": 1, "p": p}])
    steps = table.scan(where="p = 'b'").plan().steps
    assert str(steps[0]) == "manifests by partition, bucket and level: 1 of 3 kept"
    assert table.scan(where="p = 'b'").to_arrow().num_rows == 1


def test_buckets_show_in_explain(lake: lakebed.Lake) -> None:
    table = create(lake, "id INT", options={"bucket": "8", "bucket-key": "id"})
    table.write(pa.table({"id": pa.array(range(100), pa.int32())}))
    text = table.scan(where="id = 5").explain()
    assert "  files by bucket: 1 of 8 kept" in text.splitlines()
    assert "files by bucket" not in table.scan(where="id > 5").explain()


def test_planning_opens_no_data_file(many: lakebed.Table) -> None:
    for path in stored_path(many.path).rglob("*.parquet"):
        path.unlink()
    assert many.scan(where="v = 5 AND p = 'b'").plan().file_count == 1
    assert "to read: 1 file, " in many.scan(where="v = 5 AND p = 'b'").explain()


def test_a_column_that_no_file_has_is_null_in_every_row(lake: lakebed.Lake) -> None:
    table = lake.create_table("db.added", "id INT")
    for number in range(2):
        table.write([{"id": number}, {"id": 10 + number}])
    table.alter(changes.AddColumn("note", "STRING"))
    assert table.scan(["note"]).to_arrow().to_pylist() == [{"note": None}] * 4
    assert table.scan(["note"], where="id >= 10").to_arrow().to_pylist() == [{"note": None}] * 2
    assert table.scan(["note"], where="note IS NULL").to_arrow().num_rows == 4
