"""Conversion of ordinary tables into chain tables and back, without writing data files."""

from __future__ import annotations

import pytest
from tests.chain.days import OPTIONS, Days, as_dict, new_table, partition
from tests.places import stored_path

import lakebed
from lakebed import changes
from lakebed.chain.maintenance import convert
from lakebed.errors import AlreadyExistsError, CommitConflictError, DataError, LakebedError, OptionError, SchemaError

PLAIN = {name: value for name, value in OPTIONS.items() if name == "bucket"}


def plain(lake: lakebed.Lake, **options: object) -> lakebed.Table:
    table = lake.create_table(
        "db.t",
        "k BIGINT, v STRING, date STRING",
        partition_by=["date"],
        primary_key=["date", "k"],
        options={**PLAIN, **options},
    )
    table.write([{"k": 1, "v": "a", "date": "20250801"}, {"k": 2, "v": "b", "date": "20250801"}])
    table.write([{"k": 1, "v": "A", "date": "20250802"}])
    return table


def enable(table: lakebed.Table) -> None:
    table.enable_chain(timestamp_pattern="$date", timestamp_formatter="yyyyMMdd")


def data_files(table: lakebed.Table) -> set[str]:
    return {str(path) for path in stored_path(table.path).rglob("*.parquet")}


def test_there_and_back(lake: lakebed.Lake) -> None:
    table = plain(lake)
    table.alter(changes.AddColumn("n", "INT"))
    rows, files = table.scan().to_arrow().sort_by([("date", "ascending"), ("k", "ascending")]), data_files(table)
    enable(table)
    days = Days(lake, "db.t")
    assert data_files(table) == files
    assert table.scan().to_arrow().sort_by([("date", "ascending"), ("k", "ascending")]) == rows
    assert list(table.tags()) == ["before-chain-2"]
    assert table.tags()["before-chain-2"].total_record_count == 3  # history stays
    assert days.days("snapshot") == [1, 2]
    days.delta.write([{"k": 9, "v": "new", "date": "20250803", "n": 5}])
    assert days.view(3) == {1: "A", 9: "new"}
    assert table.verify(deep=True).problems == ()

    with pytest.raises(OptionError, match=r"exist only as changes \(1 partition, for example date=20250803\)"):
        table.disable_chain()
    table.compact_chain(partition(3))
    files = data_files(table)
    table.disable_chain(dry_run=True)
    assert table.options["chain-table.enabled"] == "true"
    table.disable_chain()
    assert data_files(table) == files
    assert not {"chain-table.enabled", "scan.fallback-delta-branch"} & set(table.options)
    assert as_dict(table.scan(where="date = '20250803'").to_arrow()) == {1: "A", 9: "new"}
    assert as_dict(table.scan(where="date = '20250801'").to_arrow()) == {1: "a", 2: "b"}
    for branch in ("delta", "snapshot"):
        table.drop_branch(branch)
    table.drop_tag("before-chain-2")
    table.expire_snapshots(retain_max=1, retain_min=1, older_than=2**53)
    table.remove_orphan_files(older_than=2**53, dry_run=False, force=True)
    assert table.scan().to_arrow().num_rows == 5
    assert table.verify(deep=True).errors == ()
    table.write([{"k": 1, "v": "z", "date": "20250801", "n": 1}])
    assert as_dict(table.scan(where="date = '20250801'").to_arrow()) == {1: "z", 2: "b"}


def test_files_shared_with_main_outlive_its_snapshots(lake: lakebed.Lake) -> None:
    table = plain(lake)
    enable(table)
    table.drop_tag("before-chain-2")
    table.expire_snapshots(retain_max=1, retain_min=1, older_than=2**53)
    table.remove_orphan_files(older_than=2**53, dry_run=False, force=True)
    assert Days(lake, "db.t").view(1) == {1: "a", 2: "b"}


def test_deletion_vectors_go_along(lake: lakebed.Lake) -> None:
    table = plain(lake, **{"deletion-vectors.enabled": True})
    table.write([{"k": 1, "v": "newer", "date": "20250801"}])
    table.delete("k = 2")
    enable(table)
    assert Days(lake, "db.t").view(1) == {1: "newer"}
    table.disable_chain()
    assert as_dict(table.scan(where="date = '20250801'").to_arrow()) == {1: "newer"}
    assert table.verify(deep=True).errors == ()


def test_an_empty_table(lake: lakebed.Lake) -> None:
    table = lake.create_table(
        "db.e", "k INT, date STRING", partition_by=["date"], primary_key=["date", "k"], options=PLAIN
    )
    enable(table)
    assert table.branches() == ["delta", "snapshot"]
    table.disable_chain()
    assert table.scan().to_arrow().num_rows == 0


def test_what_main_holds_stays_in_main(lake: lakebed.Lake) -> None:
    days = new_table(lake)
    days.load(1, {1: "full"})
    days.load(2, {2: "full"})
    days.main.write([{"k": 1, "v": "main", "date": "20250801"}])
    days.main.disable_chain()
    assert days.view(1) == {1: "main"}
    assert days.view(2) == {2: "full"}


@pytest.mark.parametrize(
    ("given", "error", "problem"),
    [
        ({}, OptionError, "partition.timestamp-pattern"),
        ({"timestamp_pattern": "$date", "timestamp_formatter": "yyyy-MM-dd"}, DataError, "20250801 are not a time"),
        (
            {"timestamp_pattern": "$date", "timestamp_formatter": "yyyyMMdd", "chain_keys": ["k"]},
            OptionError,
            "last of",
        ),
    ],
)
def test_what_cannot_become_one_stays_as_it_is(
    lake: lakebed.Lake, given: dict[str, object], error: type[LakebedError], problem: str
) -> None:
    table = plain(lake)
    before = table.schema
    with pytest.raises(error, match=problem):
        table.enable_chain(**given)  # type: ignore[arg-type]
    assert table.schema == before
    assert table.branches() == []


def test_bad_calls(lake: lakebed.Lake) -> None:
    table = plain(lake)
    with pytest.raises(OptionError, match="is not a chain table; enable_chain"):
        table.disable_chain()
    table.create_branch("snapshot", snapshot=1)
    with pytest.raises(AlreadyExistsError, match="a branch 'snapshot' with rows already"):
        enable(table)
    table.enable_chain(
        timestamp_pattern="$date",
        timestamp_formatter="yyyyMMdd",
        options={"scan.fallback-snapshot-branch": "fulls", "scan.fallback-delta-branch": "changes"},
    )
    assert table.branches() == ["changes", "fulls", "snapshot"]
    with pytest.raises(OptionError, match="already"):
        enable(table)
    with pytest.raises(OptionError, match=r"works on table db\.t itself, not on its branch"):
        table.branch("changes").disable_chain()


def test_a_write_that_comes_in_between_takes_it_back(lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = plain(lake)
    let_go = convert._empty_main

    def raced(store: object, start: object) -> None:
        table.write([{"k": 7, "v": "raced", "date": "20250801"}])
        let_go(store, start)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(convert, "_empty_main", raced)
        with pytest.raises(CommitConflictError, match="it is still an ordinary table, call enable_chain"):
            enable(table)
    assert table.branches() == []
    assert table.tags() == {}
    assert as_dict(table.scan(where="date = '20250801'").to_arrow()) == {1: "a", 2: "b", 7: "raced"}
    enable(table)
    assert Days(lake, "db.t").view(1) == {1: "a", 2: "b", 7: "raced"}


def test_one_that_died_half_way_is_made_again(lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = plain(lake)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    for step in ("_make_branches", "_empty_main"):
        with monkeypatch.context() as patched:
            patched.setattr(convert, step, die)
            with pytest.raises(KeyboardInterrupt):
                enable(table)
        assert table.scan().to_arrow().num_rows == 3
    assert table.branches() == ["delta", "snapshot"]
    enable(table)
    assert Days(lake, "db.t").view(1) == {1: "a", 2: "b"}
    assert table.branch("main").latest_snapshot().total_record_count == 0  # type: ignore[union-attr]
    with pytest.raises(OptionError, match="already"):
        enable(table)


def test_columns_that_main_never_had_are_refused(lake: lakebed.Lake) -> None:
    days = new_table(lake)
    days.full.alter(changes.AddColumn("other", "INT"))
    days.full.write([{"k": 1, "v": "a", "date": "20250801", "other": 1}])
    days.full.alter(changes.DropColumn("other"))
    with pytest.raises(SchemaError, match="columns that main never had"):
        days.main.disable_chain()
