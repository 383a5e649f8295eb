"""``history``, ``compactions``, ``diff``."""

from __future__ import annotations

import pytest
from tests.cli.runner import Lakebed
from tests.places import delete_tree, stored_path

from lakebed import Lake, Table
from lakebed.changes import AddColumn
from lakebed.metadata.history import pages, wanted
from lakebed.metadata.history.history_index import forget_indexes


@pytest.fixture
def busy(people: Table) -> Table:
    """Three writes, two compactions, another write: snapshots 1 to 6."""
    people.compact(full=True)
    people.write([{"id": 2, "name": "dea"}])
    people.compact(full=True)
    return people


def test_history_by_pages(cli: Lakebed, busy: Table) -> None:
    first = cli.json("history", "db.people", "--limit", "4")
    assert [one["id"] for one in first["snapshots"]] == [6, 5, 4, 3]
    assert (first["total"], first["scanned"], first["source"]) == (6, 4, "listing")
    second = cli.json("history", "db.people", "--limit", "4", "--cursor", first["next_cursor"])
    assert [one["id"] for one in second["snapshots"]] == [2, 1]
    assert second["next_cursor"] is None
    by_offset = cli.json("history", "db.people", "--limit", "4", "--offset", "4")
    assert by_offset == second
    record = first["snapshots"][0]
    assert (record["commit_kind"], record["files_added"], record["files_deleted"]) == ("COMPACT", 1, 2)


def test_history_of_a_kind(cli: Lakebed, busy: Table) -> None:
    ran = cli("history", "db.people", "--kind", "compact", "--limit", "1")
    assert [line[:2] for line in ran.lines[2:]] == [["6", "COMPACT"]]
    assert ran.err.startswith("1 of 2, 1 snapshot read (index); next page: --cursor 6-")
    cursor = ran.err.split()[-1]
    again = cli("history", "db.people", "--kind", "COMPACT", "--cursor", cursor)
    assert [line[:2] for line in again.lines[2:]] == [["4", "COMPACT"]]
    assert again.err == "1 of 2, 2 snapshots read (index)\n"
    assert cli("history", "db.people", "--kind", "ANALYZE").out == "no matching snapshots\n"


def test_a_page_that_ends_early(cli: Lakebed, busy: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "ADDED_BY_A_PAGE", 1)
    monkeypatch.setattr(wanted, "READ_BY_A_PAGE", 1)
    delete_tree(stored_path(busy.path, ".lakebed"))
    forget_indexes()
    ran = cli("history", "db.people", "--kind", "APPEND", "--limit", "1")
    assert ran.out == "no matching snapshots among those read\n"
    assert ran.err.startswith("0, 1 snapshot read (scan); next page: --cursor 6-")
    page = busy.history(kind="APPEND", limit=1, cursor=6)
    assert ([one.id for one in page], page.next_cursor is None) == ([5], False)
    delete_tree(stored_path(busy.path, ".lakebed"))
    forget_indexes()
    assert str(busy.history(kind="ANALYZE", limit=1)) == (
        "no snapshots among those read; more with cursor=page.next_cursor"
    )


def test_history_of_a_user_and_a_time(cli: Lakebed, busy: Table) -> None:
    snapshot = busy.snapshot(3)
    (one,) = cli.json("history", "db.people", "--user", snapshot.commit_user)["snapshots"]
    assert one["id"] == 3
    since = cli.json("history", "db.people", "--from", str(snapshot.time_millis))["snapshots"]
    assert {4, 5, 6} <= {one["id"] for one in since}
    assert cli.json("history", "db.people", "--to", "1 d")["total"] == 0


def test_a_cursor_of_some_time_ago(cli: Lakebed, busy: Table) -> None:
    first = cli.json("history", "db.people", "--from", "3 d", "--limit", "2")
    second = cli.json("history", "db.people", "--from", "3 d", "--limit", "9", "--cursor", first["next_cursor"])
    assert [one["id"] for one in second["snapshots"]] == [4, 3, 2, 1]


def test_history_of_a_branch(cli: Lakebed, busy: Table) -> None:
    busy.create_branch("b", snapshot=2).write([{"id": 7, "name": "x"}])
    found = cli.json("history", "db.people$branch_b", "--kind", "APPEND")
    assert [one["id"] for one in found["snapshots"]] == [3, 2]


def test_compactions(cli: Lakebed, busy: Table) -> None:
    found = cli.json("compactions", "db.people", "--limit", "1")
    (one,) = found["compactions"]
    assert (one["snapshot_id"], one["kind"], one["from_facts"]) == (6, "FULL", True)
    assert (one["input_files"], one["output_files"], one["input_rows"], one["output_rows"]) == (2, 1, 2, 2)
    assert one["duration_millis"] == one["finished_millis"] - one["started_millis"] >= 0
    assert (found["total"], found["scanned"]) == (2, 1)
    ran = cli("compactions", "db.people", "--cursor", found["next_cursor"])
    assert [line[:2] for line in ran.lines[2:]] == [["4", "FULL"]]
    assert cli("compactions", "db.people", "--offset", "2").out == "no compactions\n"


def test_diff(cli: Lakebed, lake: Lake) -> None:
    table = lake.create_table("db.t", "id INT, v STRING", primary_key=["id"], options={"bucket": "1"})
    table.write([{"id": 1, "v": "a"}, {"id": 2, "v": "b"}])
    table.alter(AddColumn("n", "INT"))
    table.write([{"id": 2, "v": "c", "n": 5}, {"id": 3, "v": None, "n": None}])
    table.create_tag("then", snapshot=1)
    found = cli.json("diff", "db.t", "then")
    assert (found["before"], found["after"]) == (1, 2)
    assert found["schema"] == [{"what": "column", "name": "n", "before": None, "after": "INT"}]
    assert len(found["files_added"]) == 1
    assert found["files_removed"] == []
    assert found["rows_removed"] == [{"id": 2, "v": "b", "n": None}]
    assert sorted(row["id"] for row in found["rows_added"]) == [2, 3]
    ran = cli("diff", "db.t", "1", "2", "--sample", "1")
    assert ran.out.startswith("from snapshot 1 (")
    assert ["-", "2", "b", "null"] in ran.lines
    assert ran.err == "at most 1 row of each side; use --sample for more\n"
    same = cli("diff", "db.t", "2", "2")
    assert same.out.count("no differences") == 2
    assert cli.json("diff", "db.t", "1", "--sample", "0")["rows_added"] is None


def test_what_is_refused(cli: Lakebed, busy: Table, lake: Lake) -> None:
    assert "did you mean 'COMPACT'" in cli.fails(3, "history", "db.people", "--kind", "COMPCT")
    assert "is not a cursor" in cli.fails(3, "history", "db.people", "--cursor", "7-")
    assert cli.json("history", "db.people", "--cursor", "3", "--limit", "1")["snapshots"][0]["id"] == 2
    assert "is not a time" in cli.fails(2, "history", "db.people", "--from", "soon")
    assert "does not exist" in cli.fails(4, "diff", "db.people", "1", "99")
    assert "has no tag 'x'" in cli.fails(4, "diff", "db.people", "x")
    cli.fails(2, "history", "db.people", "--limit", "0")
    lake.create_table("db.empty", "id INT")
    assert cli("history", "db.empty").out == "no matching snapshots\n"
    assert "no snapshot" in cli.fails(4, "diff", "db.empty", "1")
