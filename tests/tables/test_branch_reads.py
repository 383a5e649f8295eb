"""Reads over two branches (`scan.fallback-branch`, `scan.primary-branch`) and options for one handle only."""

from __future__ import annotations

from typing import Any

import pytest
from tests.places import copy_tree, stored_path

import lakebed
from lakebed import changes
from lakebed.errors import NotFoundError, OptionError, SchemaError


def branched(lake: lakebed.Lake, *, primary_key: tuple[str, ...] = (), options: dict[str, Any] | None = None) -> Any:
    """A table with an empty branch `dev`."""
    table = lake.create_table(
        "db.t", "dt STRING, id INT, v STRING", partition_by=["dt"], primary_key=primary_key, options=options
    )
    root = stored_path(table.path)
    (root / "branch/branch-dev").mkdir(parents=True)
    copy_tree(root / "schema", root / "branch/branch-dev/schema")
    return table


def row(dt: str, number: int, v: str) -> dict[str, Any]:
    return {"dt": dt, "id": number, "v": v}


def rows(scan: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(found.values()) for found in scan.to_arrow().to_pylist())


@pytest.mark.parametrize("keyed", [False, True])
def test_a_partition_that_a_branch_lacks_comes_from_the_fallback(lake: lakebed.Lake, *, keyed: bool) -> None:
    table = branched(
        lake, primary_key=("dt", "id") if keyed else (), options={"bucket": 2, "bucket-key": "id"} if keyed else None
    )
    table.write([row("a", 1, "main"), row("b", 1, "main")])
    dev = lake.table("db.t$branch_dev")
    dev.write([row("b", 1, "dev"), row("b", 2, "dev"), row("c", 1, "dev"), row("c", 2, "dev")])

    assert rows(table.scan()) == [("a", 1, "main"), ("b", 1, "main")]
    table.alter(changes.SetOption("scan.fallback-branch", "dev"))
    expected = [("a", 1, "main"), ("b", 1, "main"), ("c", 1, "dev"), ("c", 2, "dev")]
    assert rows(table.scan()) == expected
    assert rows(table.scan(where="id = 2")) == [("c", 2, "dev")]  # b exists in main, though no row of it matches
    assert rows(table.scan(["v"], where="dt >= 'b'")) == [("dev",), ("dev",), ("main",)]
    assert sum(len(batch) for batch in table.scan().to_batches()) == len(expected)
    assert table.scan().plan().record_count == len(expected)
    assert rows(dev.scan()) == [("b", 1, "dev"), ("b", 2, "dev"), ("c", 1, "dev"), ("c", 2, "dev")]

    table.drop_partition({"dt": "b"})
    assert rows(table.scan(where="dt = 'b'")) == [("b", 1, "dev"), ("b", 2, "dev")]


def test_the_primary_branch_comes_first(lake: lakebed.Lake) -> None:
    table = branched(lake)
    table.write([row("a", 1, "main"), row("b", 1, "main")])
    lake.table("db.t", options={"branch": "dev"}).write([row("b", 1, "dev")])
    preferring = lake.table("db.t", options={"scan.primary-branch": "dev"})
    assert rows(preferring.scan()) == [("a", 1, "main"), ("b", 1, "dev")]
    assert rows(table.scan()) == [("a", 1, "main"), ("b", 1, "main")]


def test_time_travel_takes_the_fallback_of_the_same_moment(lake: lakebed.Lake) -> None:
    table = branched(lake)
    dev = lake.table("db.t$branch_dev")
    first = table.write([row("a", 1, "main")])
    late = dev.write([row("c", 1, "dev")])
    assert first is not None
    assert late is not None
    table = lake.table("db.t", options={"scan.fallback-branch": "dev"})
    assert rows(table.scan()) == [("a", 1, "main"), ("c", 1, "dev")]
    path = stored_path(table.path, "branch/branch-dev/snapshot/snapshot-1")
    path.write_text(
        path.read_text().replace(f'"timeMillis": {late.time_millis}', f'"timeMillis": {first.time_millis + 5}')
    )
    assert rows(table.scan(version=1)) == [("a", 1, "main")]
    assert rows(table.scan(timestamp=first.time_millis + 10**6)) == [("a", 1, "main")]  # main's snapshot decides


def test_deletes_and_overwrites_touch_their_own_branch_only(lake: lakebed.Lake) -> None:
    table = branched(lake, primary_key=("dt", "id"), options={"bucket": 1})
    table.write([row("a", 1, "main")])
    dev = lake.table("db.t$branch_dev")
    dev.write([row("c", 1, "dev")])
    both = lake.table("db.t", options={"scan.fallback-branch": "dev"})
    assert both.delete("dt = 'c'") is None
    assert rows(both.scan()) == [("a", 1, "main"), ("c", 1, "dev")]


def test_rescaling_touches_its_own_branch_only(lake: lakebed.Lake) -> None:
    table = branched(lake, primary_key=("dt", "id"), options={"bucket": "1"})
    table.write([row("a", 1, "main")])
    table.branch("dev").write([row("a", 2, "dev"), row("b", 3, "dev")])
    both = lake.table("db.t", options={"scan.fallback-branch": "dev"})
    assert both.rescale(2) is not None
    assert rows(both.scan()) == [("a", 1, "main"), ("b", 3, "dev")]
    assert rows(table.scan()) == [("a", 1, "main")]


def test_a_fallback_must_be_there_and_have_the_same_columns(lake: lakebed.Lake) -> None:
    table = branched(lake)
    with pytest.raises(NotFoundError, match="no branch 'dve'"):
        table.alter(changes.SetOption("scan.fallback-branch", "dve"))
    with pytest.raises(NotFoundError, match=r"scan\.fallback-branch"):
        lake.table("db.t", options={"scan.fallback-branch": "dve"}).scan().to_arrow()
    table.alter(changes.AddColumn("more", "INT"))
    with pytest.raises(SchemaError, match="columns or partition columns differ"):
        lake.table("db.t", options={"scan.fallback-branch": "dev"}).scan().to_arrow()


def test_options_for_one_handle(lake: lakebed.Lake) -> None:
    table = branched(lake)
    table.write([row("a", 1, "x")])
    table.write([row("a", 2, "y")])
    assert rows(lake.table("db.t", options={"scan.snapshot-id": 1}).scan()) == [("a", 1, "x")]
    assert lake.table("db.t", options={"branch": "dev"}).branch_name == "dev"
    assert "scan.snapshot-id" not in lake.table("db.t").options
    with pytest.raises(OptionError, match="did you mean 'bucket'"):
        lake.table("db.t", options={"bukcet": 1})
    with pytest.raises(OptionError, match="fixed in the table"):
        lake.table("db.t", options={"bucket": 4})
    with pytest.raises(OptionError, match="asks for branch"):
        lake.table("db.t$branch_dev", options={"branch": "other"})
    with pytest.raises(NotFoundError, match="no branch"):
        lake.table("db.t", options={"branch": "other"})
    assert lake.system_table("db.t$snapshots", options={"branch": "dev"}).scan().to_arrow().num_rows == 0


def test_a_handle_with_options_alters_only_what_it_is_told_to(lake: lakebed.Lake) -> None:
    branched(lake)
    handle = lake.table("db.t", options={"write-only": True})
    handle.alter(changes.UpdateComment("c"))
    assert dict(lake.table("db.t").options) == {}
