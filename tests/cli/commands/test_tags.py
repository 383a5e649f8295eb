"""``tags``: each command does what the method does, and nothing without consent."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from tests.cli.runner import Lakebed

from lakebed import Table


def test_tags(cli: Lakebed, orders: Table) -> None:
    assert cli.json("tags", "create", "db.orders", "v1", "--snapshot", "1") == {
        "table": "db.orders",
        "tag": "v1",
        "snapshot_id": 1,
    }
    assert cli("tags", "create", "db.orders", "now", "--retain", "7 d").out == "tagged snapshot 3 as now\n"
    assert {name: held.id for name, held in orders.tags().items()} == {"now": 3, "v1": 1}
    now, first = cli.json("tags", "db.orders")
    assert (now["tag_name"], now["snapshot_id"], now["time_retained"]) == ("now", 3, "PT168H")
    assert (first["tag_name"], first["record_count"], first["time_retained"]) == ("v1", 1, None)
    assert [line[:2] for line in cli("tags", "db.orders").lines[2:]] == [["now", "3"], ["v1", "1"]]
    assert cli.json("show", "db.orders")["tags"] == {"now": 3, "v1": 1}
    cli("tags", "rename", "db.orders", "v1", "first")
    assert set(orders.tags()) == {"now", "first"}


def test_replace_a_tag(cli: Lakebed, orders: Table) -> None:
    orders.create_tag("v1", snapshot=1)
    plan = cli.json("tags", "replace", "db.orders", "v1", "--snapshot", "2")
    assert (plan["dry_run"], plan["replaced_snapshot_id"], plan["snapshot_id"]) == (True, 1, 2)
    assert orders.tags()["v1"].id == 1
    assert cli("tags", "replace", "db.orders", "v1", "--yes").out == "moved tag v1 from snapshot 1 to snapshot 3\n"
    assert orders.tags()["v1"].id == 3
    assert "did you mean 'v1'?" in cli.fails(4, "tags", "replace", "db.orders", "v11")
    assert "99" in cli.fails(4, "tags", "replace", "db.orders", "v1", "--snapshot", "99")


def test_drop_a_tag_with_what_only_it_needed(cli: Lakebed, orders: Table) -> None:
    orders.create_tag("v1", snapshot=1)
    orders.truncate()
    orders.expire_snapshots(retain_max=1, retain_min=1, older_than=dt.datetime.now())
    plan = cli.json("tags", "drop", "db.orders", "v1")
    assert plan["dry_run"] is True
    kinds = {kind["kind"]: kind["file_count"] for kind in plan["by_kind"]}
    assert kinds["data"] == 1
    assert sum(kinds.values()) == plan["file_count"] == len(plan["files"])
    assert all(Path(file["path"]).exists() for file in plan["files"])
    assert set(orders.tags()) == {"v1"}
    shown = cli("tags", "drop", "db.orders", "v1", "--files", "--yes").out
    assert shown.startswith("dropped tag v1\ndeleted ")
    assert all(file["path"] in shown for file in plan["files"])
    assert not any(Path(file["path"]).exists() for file in plan["files"] if file["kind"] == "data")
    assert orders.tags() == {}
    assert "v1" in cli.fails(4, "tags", "drop", "db.orders", "v1")


def test_expire_tags(cli: Lakebed, orders: Table) -> None:
    assert cli("tags", "expire", "db.orders", "--yes").out == "no tags to expire\n"
    orders.create_tag("kept", snapshot=1)
    orders.create_tag("old", snapshot=2, time_retained=dt.timedelta(milliseconds=1))
    plan = cli.json("tags", "expire", "db.orders")
    assert (plan["dry_run"], plan["tags"]) == (True, ["old"])
    assert set(orders.tags()) == {"kept", "old"}
    assert cli("tags", "expire", "db.orders", "--yes").out == "deleted tag old\n"
    assert set(orders.tags()) == {"kept"}


def test_the_old_words_still_work(cli: Lakebed, orders: Table) -> None:
    orders.create_tag("v1", snapshot=1)
    assert cli("tags", "delete", "db.orders", "v1", "--yes").out.startswith("dropped tag v1\n")
    assert orders.tags() == {}
    cli("consumers", "reset", "db.orders", "job")
    assert cli("consumers", "delete", "db.orders", "job", "--yes").out.startswith("dropped consumer job")
    assert orders.consumers() == {}
    assert [cli.json("history", "db.orders", "--since", time)["total"] for time in ("1 d", "2999-01-01")] == [3, 0]
    assert [cli.json("history", "db.orders", "--until", time)["total"] for time in ("1 d", "2999-01-01")] == [0, 3]
