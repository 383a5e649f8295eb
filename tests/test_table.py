"""One table as its user sees it: writing, overwriting, deleting, changing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.places import stored_path

import lakebed
from lakebed import changes
from lakebed.buckets.choose_fixed import bucket_of_rows
from lakebed.errors import (
    DataError,
    LakebedError,
    NotFoundError,
    OptionError,
    SchemaError,
    UnsupportedError,
)
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.plan.file_scan import live_entries

_COUNTER = iter(range(10**9))


def create(lake: lakebed.Lake, schema: Any, **more: Any) -> lakebed.Table:
    return lake.create_table(f"db.t{next(_COUNTER)}", schema, **more)


def all_files(table: lakebed.Table) -> set[Path]:
    return {path for path in stored_path(table.path).rglob("*") if path.is_file()}


def vs(table: lakebed.Table, where: str | None = None, **more: Any) -> list[int]:
    found: list[int] = table.scan(["v"], where, **more).to_arrow()["v"].to_pylist()
    return sorted(found)


def made(snapshot: Snapshot | None) -> Snapshot:
    assert snapshot is not None
    return snapshot


# ------------------------------------------------------------------------------------------------------------- writing

SAME = {"v": [1, 2], "s": ["a", None]}


@pytest.mark.parametrize(
    "data",
    [
        lambda: pa.table({"v": pa.array([1, 2], pa.int32()), "s": pa.array(["a", None], pa.string())}),
        lambda: pa.table({"s": pa.array(["a", None], pa.large_string()), "v": pa.array([1, 2], pa.int64())}),
        lambda: pa.record_batch({"v": [1, 2], "s": ["a", None]}),
        lambda: pa.table(SAME).to_reader(max_chunksize=1),
        lambda: pd.DataFrame(SAME),
        lambda: pl.DataFrame(SAME),
        lambda: pl.LazyFrame(SAME),
        lambda: [{"v": 1, "s": "a"}, {"v": 2, "s": None}],
    ],
    ids=["Arrow", "Arrow in another order", "batch", "stream", "pandas", "Polars", "lazy Polars", "dictionaries"],
)
def test_rows_of_every_kind(lake: lakebed.Lake, data: Callable[[], Any]) -> None:
    table = create(lake, "v INT, s STRING")
    snapshot = made(table.write(data()))
    assert (snapshot.id, snapshot.commit_kind, snapshot.total_record_count) == (1, CommitKind.APPEND, 2)
    assert table.scan().to_arrow().to_pydict() == SAME
    assert table.latest_snapshot() == snapshot == table.snapshot(1)


def test_no_rows_no_snapshot(lake: lakebed.Lake) -> None:
    table = create(lake, "v INT, p STRING", partition_by=["p"])
    assert table.write(table.arrow_schema.empty_table()) is None
    assert table.write(pa.RecordBatchReader.from_batches(table.arrow_schema, [])) is None
    assert table.latest_snapshot() is None
    assert table.snapshots() == []
    assert [path.name for path in all_files(table)] == ["schema-0"]
    with pytest.raises(DataError, match="lacks"):
        table.write(pa.table({"v": pa.array([], pa.int32())}))


def test_a_commit_with_an_identifier_is_made_once(lake: lakebed.Lake) -> None:
    table = create(lake, "v INT")
    first = made(table.write([{"v": 1}], commit_user="job", commit_identifier=7))
    before = all_files(table)
    assert table.write([{"v": 1}], commit_user="job", commit_identifier=7) == first
    assert all_files(table) == before  # nothing that no snapshot refers to
    second = made(table.write([{"v": 2}], commit_user="job", commit_identifier=8))
    assert (second.id, second.commit_user, second.commit_identifier) == (2, "job", 8)
    assert made(table.write([{"v": 3}], commit_user="other", commit_identifier=7)).id == 3
    assert vs(table) == [1, 2, 3]
    halves: tuple[dict[str, Any], ...] = ({"commit_user": "x"}, {"commit_identifier": 1})
    for half in halves:
        with pytest.raises(OptionError, match="together"):
            table.write([{"v": 4}], **half)


def test_commit_users(lake: lakebed.Lake) -> None:
    table = create(lake, "v INT", options={"commit.user-prefix": "team"})
    users = {made(table.write([{"v": 1}])).commit_user for _ in range(2)}
    assert len(users) == 2
    assert all(user.startswith("team_") for user in users)


def test_snapshots_add_up(lake: lakebed.Lake) -> None:
    table = create(lake, "v INT")
    for i in range(3):
        table.write([{"v": i}] * (i + 1))
    assert [(s.id, s.delta_record_count, s.total_record_count) for s in table.snapshots()] == [
        (1, 1, 1),
        (2, 2, 3),
        (3, 3, 6),
    ]
    assert (stored_path(table.path) / "snapshot/LATEST").read_text() == "3"
    with pytest.raises(NotFoundError, match=r"snapshot 4 of table .* does not exist; snapshots 1 to 3 exist"):
        table.snapshot(4)


def test_defaults_are_filled_in(lake: lakebed.Lake) -> None:
    table = create(lake, "v INT, s STRING DEFAULT 'x', d DECIMAL(4, 2) NOT NULL DEFAULT 1.5")
    table.write([{"v": 1}])
    table.write([{"v": 2, "s": None, "d": Decimal(2)}])
    assert sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["v"]) == [
        {"v": 1, "s": "x", "d": Decimal("1.50")},
        {"v": 2, "s": None, "d": Decimal("2.00")},
    ]


# ---------------------------------------------------------------------------------------------------------- overwriting


@pytest.fixture
def days(lake: lakebed.Lake) -> lakebed.Table:
    """Rows 1 to 5 in partitions (a, 1), (a, 2), (b, 1), (null, 1), ('', 1)."""
    table = create(lake, "v INT, d STRING, h INT", partition_by=["d", "h"])
    table.write(rows((1, "a", 1), (2, "a", 2), (3, "b", 1), (4, None, 1), (5, "", 1)))
    return table


def rows(*values: tuple[int, str | None, int]) -> pa.Table:
    return pa.table(
        {
            "v": pa.array([row[0] for row in values], pa.int32()),
            "d": pa.array([row[1] for row in values], pa.string()),
            "h": pa.array([row[2] for row in values], pa.int32()),
        }
    )


def test_overwrite_replaces_the_partitions_of_the_rows(days: lakebed.Table) -> None:
    snapshot = made(days.overwrite(rows((11, "a", 1), (12, "c", 1), (13, "", 1))))
    assert (snapshot.commit_kind, snapshot.delta_record_count, snapshot.operation) == (CommitKind.OVERWRITE, 1, None)
    assert vs(days) == [2, 3, 4, 11, 12, 13]
    assert vs(days, version=1) == [1, 2, 3, 4, 5]
    assert days.overwrite(rows()) is None


@pytest.mark.parametrize(
    ("partition", "left"),
    [
        ({"d": "a"}, [3, 4, 5]),
        ({"d": "a", "h": 1}, [2, 3, 4, 5]),
        ({"h": "1", "d": "a"}, [2, 3, 4, 5]),
        ({"h": 1}, [2]),
        ({"d": None}, [1, 2, 3, 5]),
        ({"d": ""}, [1, 2, 3, 4]),
        ({"d": "zz"}, [1, 2, 3, 4, 5]),
        ({}, []),
    ],
)
def test_overwrite_of_named_partitions(days: lakebed.Table, partition: dict[str, Any], left: list[int]) -> None:
    new = rows((11, partition.get("d", "a"), int(partition.get("h", 1))))
    made(days.overwrite(new, partition=partition))
    assert vs(days) == sorted([*left, 11])
    days.overwrite(rows(), partition=partition)
    assert vs(days) == left


def test_rows_outside_of_the_named_partition(days: lakebed.Table) -> None:
    before = all_files(days)
    with pytest.raises(DataError, match=r"rows outside of the partition to be overwritten \(d = 'a'\)"):
        days.overwrite(rows((11, "a", 1), (12, "b", 1)), partition={"d": "a"})
    with pytest.raises(DataError, match="outside of the partition"):
        days.overwrite(rows((11, "", 1)), partition={"d": None})
    assert all_files(days) == before


def test_overwrite_without_dynamic_partitions(lake: lakebed.Lake) -> None:
    options = {"dynamic-partition-overwrite": "false"}
    table = create(lake, "v INT, d STRING, h INT", partition_by=["d", "h"], options=options)
    table.write(rows((1, "a", 1), (2, "b", 1)))
    table.overwrite(rows((3, "b", 1)))
    assert vs(table) == [3]
    table.overwrite(rows())
    assert vs(table) == []


@pytest.mark.parametrize("partition", [None, {}])
def test_overwrite_of_a_table_without_partitions(lake: lakebed.Lake, partition: dict[str, Any] | None) -> None:
    table = create(lake, "v INT")
    table.overwrite([{"v": 0}], partition=partition)
    assert made(table.latest_snapshot()).commit_kind is CommitKind.OVERWRITE
    table.write([{"v": 1}])
    table.overwrite([{"v": 2}], partition=partition)
    assert vs(table) == [2]
    with pytest.raises(SchemaError, match="unknown partition column 'v' in the partition; known: none"):
        table.overwrite([{"v": 3}], partition={"v": 1})


@pytest.mark.parametrize(
    ("column", "value", "fits"),
    [
        ("d", "2024-01-02", True),
        ("d", dt.date(2024, 1, 2), True),
        ("d", dt.datetime(2024, 1, 2, 3), False),
        ("d", 19724, True),
        ("d", "nonsense", False),
        ("t", "2024-01-02 03:04:05", True),
        ("t", dt.datetime(2024, 1, 2, 3, 4, 5), True),
        ("t", dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.UTC), False),
        ("z", dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.UTC), True),
        ("z", "2024-01-02 03:04:05Z", True),
        ("z", dt.datetime(2024, 1, 2, 3, 4, 5), False),
        ("z", "2024-01-02 03:04:05", False),
        ("m", "01:02:03", True),
        ("m", dt.time(1, 2, 3), True),
        ("m", "25:00", False),
        ("n", "1.5", True),
        ("n", Decimal("1.5"), True),
        ("n", "1.555", False),
        ("b", "true", True),
        ("b", True, True),
        ("b", 1, False),
        ("i", 300, False),
        ("i", "5", True),
        ("i", True, False),
        ("s", 5, False),
    ],
)
def test_values_of_named_partitions(lake: lakebed.Lake, column: str, value: Any, fits: bool) -> None:
    ddl = (
        "v INT, d DATE, t TIMESTAMP(3), z TIMESTAMP_LTZ(3), m TIME(0), n DECIMAL(4, 2), b BOOLEAN, i TINYINT, s STRING"
    )
    table = lake.create_table("db.typed", ddl, partition_by=list("dtzmnbis"), ignore_if_exists=True)
    if not fits:
        with pytest.raises(DataError, match=rf"partition column '{column}' is .*, not "):
            table.drop_partition({column: value})
        return
    row = {
        "v": 1,
        "d": dt.date(2024, 1, 2),
        "t": dt.datetime(2024, 1, 2, 3, 4, 5),
        "z": dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.UTC),
        "m": dt.time(1, 2, 3),
        "n": Decimal("1.5"),
        "b": True,
        "i": 5,
        "s": "x",
    }
    other = row | {"v": 2, column: None}
    table.write(pa.Table.from_pylist([row, other], schema=table.arrow_schema))
    assert made(table.drop_partition({column: value})).delta_record_count == -1
    assert vs(table) == [2]
    made(table.truncate())


# ---------------------------------------------------------------------------------------------- dropping and truncating


def test_drop_partition(days: lakebed.Table) -> None:
    snapshot = made(days.drop_partition({"d": "a"}))
    assert (snapshot.commit_kind, snapshot.operation) == (CommitKind.OVERWRITE, "TRUNCATE")
    assert vs(days) == [3, 4, 5]
    assert days.drop_partition({"d": "a"}) is None
    made(days.drop_partition({"d": None, "h": 1}))
    assert vs(days) == [3, 5]
    with pytest.raises(OptionError, match="at least one partition column"):
        days.drop_partition({})
    with pytest.raises(SchemaError, match=r"unknown partition column 'dd'.*did you mean 'd'"):
        days.drop_partition({"dd": "a"})


def test_truncate(days: lakebed.Table) -> None:
    snapshot = made(days.truncate())
    assert (snapshot.commit_kind, snapshot.operation) == (CommitKind.OVERWRITE, "TRUNCATE")
    assert (snapshot.total_record_count, snapshot.delta_record_count) == (0, -5)
    assert vs(days) == []
    assert vs(days, version=1) == [1, 2, 3, 4, 5]
    assert days.truncate() is None
    days.write(rows((9, "a", 1)))
    assert vs(days) == [9]


def test_overwrites_replace_what_came_meanwhile(days: lakebed.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """An overwrite that lost the race is planned again, so it comes after the other commit."""
    other = lakebed.connect(stored_path(days.path).parents[1]).table(days.name)
    create_snapshot = days._store.snapshots.create

    def lose_once(snapshot: Snapshot, *more: Any) -> bool:
        monkeypatch.undo()
        other.write(rows((21, "a", 1), (22, "b", 1)))
        return create_snapshot(snapshot, *more)

    monkeypatch.setattr(days._store.snapshots, "create", lose_once)
    made(days.overwrite(rows((11, "a", 1))))
    assert vs(days) == [2, 3, 4, 5, 11, 22]


# ------------------------------------------------------------------------------------------------------------ changing


def test_alter_makes_all_changes_or_none(lake: lakebed.Lake) -> None:
    table = create(lake, "v INT, s STRING")
    table.write([{"v": 1, "s": "a"}])
    schema = table.alter(
        changes.AddColumn("n", "DECIMAL(4, 2)", description="new", position=changes.After("v")),
        changes.RenameColumn("s", "t"),
        changes.SetOption("target-file-size", "1 mb"),
        changes.UpdateComment("told"),
        changes.UpdateColumnComment("v", "value"),
    )
    assert isinstance(schema, TableSchema)
    assert (schema.id, schema.field_names, schema.comment) == (1, ("v", "n", "t"), "told")
    assert table.options == {"target-file-size": "1 mb"}
    assert table.schema == schema == lake.table(table.name).schema
    assert table.scan().to_arrow().to_pylist() == [{"v": 1, "n": None, "t": "a"}]
    before = all_files(table)
    refused: list[tuple[tuple[Any, ...], type[LakebedError]]] = [
        ((changes.AddColumn("ok", "INT"), changes.DropColumn("nope")), SchemaError),
        ((changes.AddColumn("ok", "INT"), changes.SetOption("bukcet", "1")), OptionError),
        ((changes.AddColumn("ok", "INT NOT NULL"),), SchemaError),
        ((changes.AddColumn("ok", "INT, more STRING"),), SchemaError),
        ((changes.AddColumn("ok", "VARIANT"),), UnsupportedError),
        ((changes.AddColumn("ok", pa.int32()),), SchemaError),
        ((changes.UpdateColumnType("n", "INT"),), SchemaError),
        (("drop everything",), SchemaError),
        ((changes.SetOption("bucket", "2"),), OptionError),
    ]
    for bad, error in refused:
        with pytest.raises(error):
            table.alter(*bad)
    assert all_files(table) == before
    assert table.alter() == schema
    table.write([{"v": 2, "n": 3, "t": "b"}])
    assert made(table.latest_snapshot()).schema_id == 1


def test_options_are_stored_as_text(lake: lakebed.Lake) -> None:
    table = create(lake, "v INT", options={"deletion-vectors.enabled": True})
    table.alter(changes.SetOption("commit.max-retries", 5))  # type: ignore[arg-type]
    assert table.options == {"deletion-vectors.enabled": "true", "commit.max-retries": "5"}
    assert table.warnings == []
    table.alter(changes.RemoveOption("commit.max-retries"))
    assert "commit.max-retries" not in table.options


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changes.SetOption("bucket-key", "nope"), "unknown column 'nope'"),
        (changes.RemoveOption("bucket-key"), "needs a 'bucket-key'"),
    ],
)
def test_alter_keeps_buckets_whole(lake: lakebed.Lake, change: Any, message: str) -> None:
    table = create(lake, "v INT, w INT", options={"bucket": "2", "bucket-key": "v"})
    with pytest.raises(OptionError, match=message):
        table.alter(change)
    assert table.alter(changes.SetOption("bucket-key", "w")).bucket_keys == ("w",)


def test_unknown_options_of_others_are_reported(lake: lakebed.Lake) -> None:
    table = create(lake, "v INT")
    path = stored_path(table.path) / "schema/schema-0"
    path.write_text(path.read_text().replace('"options" : { }', '"options" : { "owner" : "spark", "bukcet" : "x" }'))
    opened = lakebed.connect(lake.warehouse).table(table.name)
    assert any("unknown option 'bukcet'" in warning for warning in opened.warnings)
    opened.write([{"v": 1}])
    assert vs(opened) == [1]
    assert opened.alter(changes.AddColumn("w", "INT")).options == {"owner": "spark", "bukcet": "x"}


def test_tables_that_lakebed_does_not_support(lake: lakebed.Lake) -> None:
    """Of options that change what rows mean, those that leave the table readable allow reading only."""
    table = create(lake, "v INT")
    table.write([{"v": 1}])
    path = stored_path(table.path) / "schema/schema-0"
    plain = path.read_text()
    path.write_text(plain.replace('"options" : { }', '"options" : { "file.format" : "lance" }'))
    readable = lakebed.connect(lake.warehouse).table(table.name)
    assert vs(readable) == [1]
    writes: list[Callable[[lakebed.Table], Any]] = [
        lambda t: t.write([{"v": 2}]),
        lambda t: t.overwrite([{"v": 2}]),
        lambda t: t.delete("v = 1"),
        lambda t: t.truncate(),
    ]
    uses: list[Callable[[lakebed.Table], Any]] = [*writes, lambda t: t.scan()]
    for write in writes:
        with pytest.raises(UnsupportedError, match=r"file\.format"):
            write(readable)
    path.write_text(plain.replace('"options" : { }', '"options" : { "row-tracking.enabled" : "true" }'))
    unreadable = lakebed.connect(lake.warehouse).table(table.name)
    for use in uses:
        with pytest.raises(UnsupportedError, match=r"row-tracking\.enabled"):
            use(unreadable)
    assert len(table.snapshots()) == 1


# -------------------------------------------------------------------------------------------------------- fixed buckets


def test_rows_land_in_their_bucket(lake: lakebed.Lake) -> None:
    table = create(lake, "id BIGINT, name STRING, v INT", options={"bucket": "4", "bucket-key": "id,name"})
    data = pa.table(
        {
            "id": pa.array(range(200), pa.int64()),
            "name": [f"n{i % 7}" for i in range(200)],
            "v": pa.array(range(200), pa.int32()),
        }
    )
    table.write(data)
    types = [table.schema.field(name).type for name in ("id", "name")]
    expected = bucket_of_rows([data["id"], data["name"]], types, 4)
    entries = live_entries(table._store, table.latest_snapshot()).to_pylist()
    assert sorted(entry["bucket"] for entry in entries) == [0, 1, 2, 3]
    assert {entry["total_buckets"] for entry in entries} == {4}
    for bucket in range(4):
        (path,) = (stored_path(table.path) / f"bucket-{bucket}").iterdir()
        stored = pq.read_table(path)["id"].to_pylist()
        assert stored == np.flatnonzero(expected == bucket).tolist()
    plan = table.scan(where="id = 17 AND name = 'n3'").plan()
    assert (plan.file_count, plan.files["bucket"].to_pylist()) == (1, [int(expected[17])])
    assert vs(table, "id = 17 AND name = 'n3'") == [17]
    assert vs(table, "id IN (1, 2) AND name IN ('n1', 'n2')") == [1, 2]
    assert table.scan(where="id = 17").plan().file_count <= 4


def test_sequence_numbers_go_on(lake: lakebed.Lake) -> None:
    table = create(lake, "v INT, p STRING", partition_by=["p"], options={"bucket": "1", "bucket-key": "v"})

    def spans() -> list[tuple[str, int, int]]:
        entries = live_entries(table._store, table.latest_snapshot()).to_pylist()
        return sorted((e["partition"].hex()[-16:], e["min_sequence_number"], e["max_sequence_number"]) for e in entries)

    table.write([{"v": 1, "p": "a"}, {"v": 2, "p": "a"}, {"v": 3, "p": "b"}])
    table.write([{"v": 4, "p": "a"}, {"v": 5, "p": "c"}])
    table.write([{"v": 6, "p": "a"}])
    by_partition: dict[str, list[tuple[int, int]]] = {}
    for partition, low, high in spans():
        by_partition.setdefault(partition, []).append((low, high))
    assert sorted(by_partition.values()) == [[(0, 0)], [(0, 0)], [(0, 1), (2, 2), (3, 3)]]
    plain = create(lake, "v INT")
    plain.write([{"v": 1}, {"v": 2}])
    plain.write([{"v": 3}])
    entries = live_entries(plain._store, plain.latest_snapshot()).to_pylist()
    assert sorted((e["min_sequence_number"], e["max_sequence_number"]) for e in entries) == [(0, 0), (0, 1)]


def test_the_number_of_buckets_changes_by_overwriting(lake: lakebed.Lake) -> None:
    table = create(lake, "v INT, p STRING", partition_by=["p"], options={"bucket": "2", "bucket-key": "v"})
    table.write([{"v": i, "p": "a"} for i in range(10)] + [{"v": 50, "p": "b"}])
    table.alter(changes.SetOption("bucket", "3"))
    before = all_files(table)
    with pytest.raises(OptionError, match=r"'bucket' is 3, but a partition has files of 2 buckets. Call rescale\(\)"):
        table.write([{"v": 99, "p": "a"}])
    assert all_files(table) == before
    table.overwrite([{"v": i, "p": "a"} for i in range(20)])
    assert vs(table) == [*range(20), 50]
    assert vs(table, "v = 7") == [7]
    assert vs(table, "v = 50") == [50]
    table.write([{"v": 21, "p": "a"}])
    assert vs(table, "v = 21") == [21]


def test_errors_are_all_of_one_tree(lake: lakebed.Lake) -> None:
    table = create(lake, "v INT")
    for act in (lambda: table.scan(["x"]), lambda: table.write(5), lambda: table.alter("x"), lambda: table.branch("b")):  # type: ignore[arg-type]
        with pytest.raises(LakebedError):
            act()


# ----------------------------------------------------------------------------------------------------------- shortcuts


def test_shortcuts_of_a_scan(lake: lakebed.Lake) -> None:
    table = create(lake, "v INT")
    assert (table.count(), table.head().num_rows, table.head().schema) == (0, 0, table.arrow_schema)
    for values in ([1, 2], [3, 4], [5]):
        table.write(pa.table({"v": pa.array(values, pa.int32())}))
    assert sorted(table.to_arrow()["v"].to_pylist()) == [1, 2, 3, 4, 5]
    assert sorted(table.to_pandas()["v"]) == sorted(table.to_polars()["v"]) == [1, 2, 3, 4, 5]
    assert table.count() == 5
    assert [table.head(limit).num_rows for limit in (0, 1, 3, 5, 9)] == [0, 1, 3, 5, 5]
    assert set(table.head(3)["v"].to_pylist()) < {1, 2, 3, 4, 5}
    for limit in (-1, True, "1"):
        with pytest.raises(OptionError, match="it must be a whole number from 0 on"):
            table.head(limit)  # type: ignore[arg-type]
