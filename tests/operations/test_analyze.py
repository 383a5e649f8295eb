"""ANALYZE: what it finds, what it commits, and what becomes of its file."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from tests.metadata.needed_files import files_on_disk, needed_files
from tests.places import stored_path

import lakebed
from lakebed import Lake, Table, changes
from lakebed.errors import CommitConflictError, CorruptError, NotFoundError, OptionError, UnsupportedError
from lakebed.format.snapshot import CommitKind
from lakebed.format.types.data_types import Field
from lakebed.metadata.commit.identity import Identity
from lakebed.operations.analyze import Work, analyze, columns_to_analyze, summarise_here
from lakebed.rows.summary import Summary

Make = Callable[..., Table]
KEYED: dict[str, Any] = {"primary_key": ["id"], "options": {"bucket": "2", "write-only": "true"}}


def statistics(table: Table) -> dict[str, Any]:
    """The one row of ``$statistics``, with the columns as a dict."""
    store = table._store
    (row,) = lakebed.SystemTable(store, "statistics").scan().to_arrow().to_pylist()
    return {**row, "colstat": json.loads(row["colstat"])}


def no_statistics(table: Table) -> bool:
    return not lakebed.SystemTable(table._store, "statistics").scan().to_arrow().to_pylist()


def statistics_files(table: Table) -> list[str]:
    folder = stored_path(table.path, "statistics")
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def check_files(table: Table) -> None:
    """Nothing is missing, nothing is left over."""
    assert needed_files(table._store) == files_on_disk(table._store)
    assert table.verify(deep=True).problems == ()


def total_bytes(table: Table) -> int:
    return sum(table.scan().plan().files["file_size_in_bytes"].to_pylist())


# ------------------------------------------------------------------------------------------------------ what it finds


def test_rows_and_bytes_of_an_append_table(table: Make) -> None:
    made = table("id BIGINT, v STRING")
    made.write(pa.table({"id": [1, 2, 3], "v": ["a", "bb", None]}))
    snapshot = made.analyze()
    assert snapshot is not None
    assert (snapshot.id, snapshot.commit_kind, snapshot.delta_record_count) == (2, CommitKind.ANALYZE, 0)
    assert snapshot.total_record_count == 3
    assert statistics_files(made) == [snapshot.statistics]
    assert statistics(made) == {
        "snapshot_id": 1,
        "schema_id": 0,
        "mergedRecordCount": 3,
        "mergedRecordSize": total_bytes(made),
        "colstat": {},
    }
    check_files(made)


def test_columns_of_a_keyed_table_are_those_of_its_merged_rows(table: Make) -> None:
    made = table("id BIGINT, v STRING, n INT", **KEYED)
    made.write(pa.table({"id": [1, 2, 3], "v": ["a", "bbbb", "c"], "n": pa.array([1, 5, None], pa.int32())}))
    made.write(pa.table({"id": [2, 4], "v": ["b", None], "n": pa.array([2, 2], pa.int32())}))
    made.delete("id = 3")
    made.analyze("all")
    found = statistics(made)
    assert (found["snapshot_id"], found["mergedRecordCount"]) == (3, 3)
    assert found["mergedRecordSize"] == total_bytes(made) * 3 // 6
    assert found["colstat"] == {
        "id": {"colId": 0, "distinctCount": 3, "min": "1", "max": "4", "nullCount": 0, "avgLen": 8, "maxLen": 8},
        "v": {"colId": 1, "distinctCount": 2, "nullCount": 1, "avgLen": 1, "maxLen": 1},
        "n": {"colId": 2, "distinctCount": 2, "min": "1", "max": "2", "nullCount": 0, "avgLen": 4, "maxLen": 4},
    }
    check_files(made)


def test_rows_that_vectors_mark_do_not_count(table: Make) -> None:
    options = {"bucket": "1", "deletion-vectors.enabled": "true"}
    made = table("id BIGINT, n BIGINT", primary_key=["id"], options=options)
    made.write(pa.table({"id": range(100), "n": range(100)}))
    made.write(pa.table({"id": range(50), "n": range(1000, 1050)}))
    made.analyze(["n"])
    found = statistics(made)
    assert found["mergedRecordCount"] == 100
    assert found["colstat"]["n"]["min"] == "50"
    assert found["colstat"]["n"]["distinctCount"] == 100


def test_only_the_columns_asked_for_each_once_in_the_order_asked_for(table: Make) -> None:
    made = table("a INT, b INT, c INT, d ARRAY<INT>")
    made.write([{"a": 1, "b": 2, "c": 3, "d": [1]}])
    made.analyze(["c", "a", "c"])
    assert list(statistics(made)["colstat"]) == ["c", "a"]
    made.analyze("all")
    assert list(statistics(made)["colstat"]) == ["a", "b", "c"]
    made.analyze()
    assert statistics(made)["colstat"] == {}


def test_columns_that_files_do_not_have_are_null_there(table: Make) -> None:
    made = table("id BIGINT")
    made.write([{"id": 1}, {"id": 2}])
    made.alter(changes.AddColumn("v", "STRING"), changes.UpdateColumnType("id", "DECIMAL(20, 0)"))
    made.analyze("all")
    found = statistics(made)
    assert found["schema_id"] == made.schema.id == 1
    assert found["colstat"]["v"] == {"colId": 1, "distinctCount": 0, "nullCount": 2, "avgLen": 20, "maxLen": 20}
    assert (found["colstat"]["id"]["max"], found["colstat"]["id"]["avgLen"]) == ("2", 16)


def test_a_table_without_snapshots_gets_none(table: Make) -> None:
    made = table()
    assert made.analyze("all") is None
    assert no_statistics(made)
    assert statistics_files(made) == []


def test_a_table_that_became_empty(table: Make) -> None:
    made = table()
    made.write([{"id": 1, "v": "a"}])
    made.truncate()
    made.analyze("all")
    found = statistics(made)
    assert (found["mergedRecordCount"], found["mergedRecordSize"]) == (0, 0)
    assert found["colstat"]["id"] == {"colId": 0, "distinctCount": 0, "nullCount": 0, "avgLen": 8, "maxLen": 8}


def test_counting_without_a_scan(table: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    made = table("id BIGINT, v STRING", **KEYED)
    made.write([{"id": 1, "v": "a"}])
    made.write([{"id": 1, "v": "b"}])
    with pytest.raises(UnsupportedError, match="leave out NOSCAN, or compact the table first"):
        made.analyze(scan=False)
    with pytest.raises(OptionError, match="columns are analyzed by reading them"):
        made.analyze("all", scan=False)
    assert statistics_files(made) == []
    made.compact(full=True)
    for path in made.scan().plan().files["file_path"].to_pylist():
        stored_path(path).unlink()  # who reads a file fails
    made.analyze(scan=False)
    assert statistics(made)["mergedRecordCount"] == 1


def test_a_table_that_is_read_with_a_fallback_branch(lake: Lake) -> None:
    made = lake.create_table("db.t", "id INT, p STRING", partition_by=["p"])
    made.write([{"id": 1, "p": "a"}])
    made.create_branch("dev").write([{"id": 2, "p": "a"}, {"id": 3, "p": "b"}])
    made.alter(changes.SetOption("scan.fallback-branch", "dev"))
    lake.table("db.t").analyze(["id"])
    found = statistics(made)
    assert (found["mergedRecordCount"], found["colstat"]["id"]["max"]) == (2, "3")


# ------------------------------------------------------------------------------------------------------------- names


def test_columns_that_cannot_be_are_refused(table: Make) -> None:
    made = table("id BIGINT, v STRING, a ARRAY<INT>")
    made.write([{"id": 1, "v": "a", "a": None}])
    with pytest.raises(NotFoundError, match=r"unknown column 'idd' in table db\.t0; did you mean 'id'"):
        made.analyze(["v", "idd"])
    with pytest.raises(UnsupportedError, match="column 'a' is ARRAY<INT>"):
        made.analyze(["a"])
    with pytest.raises(OptionError, match="a list of names, or \"all\", not 'id'"):
        made.analyze("id")
    assert columns_to_analyze(made.schema, None, where="t") == ()
    assert columns_to_analyze(made.schema, [], where="t") == ()
    assert len(made.snapshots()) == 1


# --------------------------------------------------------------------------------------------- others commit meanwhile


def meanwhile(act: Callable[[], Any]) -> Callable[[Sequence[Work], Sequence[Field]], Summary]:
    """Looks at the rows, and then lets somebody else do something before the commit."""

    def look(works: Sequence[Work], columns: Sequence[Field]) -> Summary:
        found = summarise_here(works, columns)
        act()
        return found

    return look


def run(table: Table, act: Callable[[], Any]) -> Any:
    who = Identity.of(table.schema)
    return analyze(table._store, table.schema.fields, who=who, summarise=meanwhile(act))


def test_statistics_are_of_the_snapshot_that_was_read(table: Make) -> None:
    made = table()
    made.write([{"id": 1, "v": "a"}])
    snapshot = run(made, lambda: made.write([{"id": 2, "v": "b"}]))
    assert (snapshot.id, snapshot.total_record_count) == (3, 2)
    found = statistics(made)
    assert (found["snapshot_id"], found["mergedRecordCount"]) == (1, 1)
    assert made.scan().count() == 2
    check_files(made)


def test_a_table_that_is_altered_meanwhile_is_not_given_old_columns(table: Make) -> None:
    made = table()
    made.write([{"id": 1, "v": "a"}])
    with pytest.raises(CommitConflictError, match="was altered while it was being analyzed"):
        run(made, lambda: made.alter(changes.RenameColumn("v", "w")))
    assert statistics_files(made) == []
    assert len(made.snapshots()) == 1
    check_files(made)


def test_a_table_that_is_dropped_meanwhile(lake: Lake) -> None:
    made = lake.create_table("db.gone", "id INT, v STRING")
    made.write([{"id": 1, "v": "a"}])
    with pytest.raises(NotFoundError, match="does not exist"):
        run(made, lambda: lake.drop_table("db.gone"))


# ----------------------------------------------------------------------------------------------- what becomes of them


def test_statistics_stay_until_the_schema_changes_or_others_come(table: Make) -> None:
    made = table()
    made.write([{"id": 1, "v": "a"}])
    first = made.analyze()
    assert first is not None
    after = made.write([{"id": 2, "v": "b"}])
    assert after is not None
    assert after.statistics == first.statistics
    assert statistics(made)["mergedRecordCount"] == 1
    second = made.analyze(["id"])
    assert second is not None
    assert second.statistics not in {None, first.statistics}
    made.alter(changes.AddColumn("n", "INT"))
    last = made.write([{"id": 3, "v": "c", "n": 1}])
    assert last is not None
    assert last.statistics is None
    assert no_statistics(made)


def test_expiry_takes_statistics_that_nobody_names_and_no_others(table: Make) -> None:
    made = table(options={"snapshot.num-retained.min": "1", "write-only": "true"})
    made.write([{"id": 1, "v": "a"}])
    names = [str(made.analyze().statistics) for _ in range(3)]  # type: ignore[union-attr]
    made.create_tag("kept", snapshot=3)
    made.write([{"id": 2, "v": "b"}])
    made.expire_snapshots(retain_max=1)
    assert [snapshot.id for snapshot in made.snapshots()] == [5]
    assert statistics_files(made) == sorted([names[1], names[2]])  # of the tag, and inherited by the latest
    check_files(made)
    made.drop_tag("kept")
    assert statistics_files(made) == [names[2]]
    assert statistics(made)["snapshot_id"] == 3
    check_files(made)


def test_rollback_and_branches(table: Make) -> None:
    made = table()
    made.write([{"id": 1, "v": "a"}])
    first = made.analyze()
    made.write([{"id": 2, "v": "b"}])
    second = made.analyze(["v"])
    assert first is not None
    assert second is not None
    branch = made.create_branch("dev", snapshot=second.id)
    assert statistics(branch)["mergedRecordCount"] == 2
    branch.write([{"id": 3, "v": "c"}])
    own = branch.analyze(["id"])
    assert own is not None
    made.rollback_to(snapshot=first.id)
    assert statistics(made)["mergedRecordCount"] == 1
    assert statistics(branch)["mergedRecordCount"] == 3
    assert set(statistics_files(made)) == {first.statistics, second.statistics, own.statistics}
    orphans = made.remove_orphan_files(older_than="2999-01-01", dry_run=True).files
    assert "statistics" not in {file.kind for file in orphans}
    made.drop_branch("dev")
    made.remove_orphan_files(older_than="2999-01-01", dry_run=False, force=True)
    assert statistics_files(made) == [first.statistics]
    check_files(made)


def test_a_file_that_is_gone_or_damaged_is_told(table: Make) -> None:
    made = table()
    made.write([{"id": 1, "v": "a"}])
    snapshot = made.analyze()
    assert snapshot is not None
    path = stored_path(made.path, "statistics", str(snapshot.statistics))
    path.write_text("[]")
    with pytest.raises(CorruptError, match="stat-"):
        statistics(made)
    path.unlink()
    with pytest.raises(NotFoundError, match="stat-"):
        statistics(made)
    assert [problem.code for problem in made.verify().problems] == ["missing-statistics"]
    made.analyze()
    assert statistics(made)["mergedRecordCount"] == 1


def test_who_commits(table: Make) -> None:
    made = table(options={"commit.user-prefix": "nightly"})
    made.write([{"id": 1, "v": "a"}])
    snapshot = made.analyze()
    assert snapshot is not None
    assert snapshot.commit_user.startswith("nightly_")
    assert replace(snapshot, statistics=None) != snapshot
