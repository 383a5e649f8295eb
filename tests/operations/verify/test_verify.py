"""Sound tables of every kind verify clean, in deep mode too; and what a walk over a large history costs."""

from __future__ import annotations

import datetime as dt
import decimal
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from tests.metadata.stores import Logged
from tests.operations.verify.damage import appended, keyed, partitioned, rows, with_vectors
from tests.places import copy_file, copy_tree, stored_path

import lakebed
from lakebed.changes import AddColumn, DropColumn, RenameColumn, SetOption, UpdateColumnType
from lakebed.metadata.branches import create_branch
from lakebed.metadata.store import TableStore
from lakebed.metadata.tags import create_tag
from lakebed.operations.expire.expire_snapshots import expire_snapshots
from lakebed.operations.fast_forward import fast_forward
from lakebed.operations.orphans import remove_orphan_files
from lakebed.operations.rollback import rollback_to
from lakebed.operations.verify.verify import verify

ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "first-row": {"merge-engine": "first-row"},
    "partial-update": {"merge-engine": "partial-update"},
    "aggregation": {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum"},
    "vectors": {"deletion-vectors.enabled": "true"},
    "changelog": {"changelog-producer": "input"},
    "thin": {"data-file.thin-mode": "true"},
    "sequence field": {"sequence.field": "n"},
}


def check_clean(table: lakebed.Table) -> None:
    report = verify(table._store, deep=True)
    assert report.problems == (), str(report)
    assert report.notes == ()


def append_table(lake: lakebed.Lake) -> lakebed.Table:
    table = appended(lake)
    table.delete("id = 3")
    table.overwrite(rows(7, 8))
    table.truncate()
    table.write(rows(1))
    return table


def partitions(lake: lakebed.Lake) -> lakebed.Table:
    table = partitioned(lake)
    table.overwrite(rows(50, dt="y"))
    table.drop_partition({"dt": "x"})
    table.write(pa.concat_tables([rows(1, dt=""), rows(2, dt="a b/c=d%")]))
    table.write(pa.table({"id": pa.array([1], pa.int64()), "v": ["x"], "dt": pa.array([None], pa.string())}))
    return table


def typed_partitions(lake: lakebed.Lake) -> lakebed.Table:
    columns = "id INT, d DATE, t TIMESTAMP(6), b BOOLEAN, n DECIMAL(25, 3), f DOUBLE"
    table = lake.create_table("db.tp", columns, partition_by=["d", "t", "b", "n", "f"])
    values = {
        "d": [dt.date(2024, 1, 2), None],
        "t": [dt.datetime(2024, 1, 2, 3, 4, 5, 678901), None],
        "b": [True, None],
        "n": [decimal.Decimal("-1.500"), None],
        "f": [1.5, None],
    }
    for _ in range(2):
        table.write(pa.table({"id": [1, 2], **values}, schema=table.arrow_schema))
    return table


def all_types(lake: lakebed.Lake) -> lakebed.Table:
    columns = (
        "i TINYINT, s SMALLINT, f FLOAT, d DOUBLE, n DECIMAL(30, 5), m DECIMAL(9, 2), c CHAR(3), b BYTES, t TIME(3), "
        "t3 TIMESTAMP(3), t9 TIMESTAMP(9), z TIMESTAMP(6) WITH LOCAL TIME ZONE, l ARRAY<INT>, r ROW<x INT, y STRING>"
    )
    table = lake.create_table("db.types", columns)
    moment = dt.datetime(1969, 12, 31, 23, 59, 59, 1000)
    row = {
        "i": -128,
        "s": 32767,
        "f": float("nan"),
        "d": -0.0,
        "n": decimal.Decimal("-1234567890123456789.12345"),
        "m": decimal.Decimal("0.01"),
        "c": "abc",
        "b": b"\xff" * 40,
        "t": dt.time(23, 59, 59, 999000),
        "t3": moment,
        "t9": moment,
        "z": moment.replace(tzinfo=dt.UTC),
        "l": [1, None],
        "r": {"x": None, "y": "z"},
    }
    nothing = dict.fromkeys(row)
    long = {**nothing, "c": "\U0010ffff" * 3, "b": b"", "f": 0.0, "d": float("inf")}
    for part in ([row, nothing], [long], [nothing]):
        table.write(pa.Table.from_pylist(part, schema=table.arrow_schema))
    return table


def fixed_buckets(lake: lakebed.Lake) -> lakebed.Table:
    table = lake.create_table("db.fb", "id BIGINT, v STRING", options={"bucket": "3", "bucket-key": "v,id"})
    for i in range(3):
        table.write(rows(*range(10 * i, 10 * i + 10)))
    table.delete("id > 15")
    return table


def rescaled(lake: lakebed.Lake) -> lakebed.Table:
    table = lake.create_table(
        "db.rs", "id BIGINT, v STRING", options={"bucket": "2", "bucket-function.type": "mod"}, primary_key=["id"]
    )
    table.write(rows(*range(20)))
    table.alter(SetOption("bucket", "5"))
    table.overwrite(rows(*range(20)))
    table.write(rows(3, 4))
    return table


def altered(lake: lakebed.Lake) -> lakebed.Table:
    table = lake.create_table("db.al", "id INT, v STRING, w INT")
    table.write(pa.table({"id": [1], "v": ["a"], "w": [5]}, schema=table.arrow_schema))
    for change in (
        AddColumn("x", "DOUBLE"),
        RenameColumn("v", "text"),
        UpdateColumnType("id", "BIGINT"),
        DropColumn("w"),
        AddColumn("w", "STRING"),
    ):
        table.alter(change)
        table.write(pa.Table.from_pylist([{"id": 2, "x": 1.0}], schema=table.arrow_schema))
    return table


def with_branches(lake: lakebed.Lake) -> lakebed.Table:
    """A branch that began with a tag, went its own way, and has another schema under the same number."""
    table = appended(lake, "db.br")
    root = stored_path(table.path)
    for folder in ("tag", "branch/branch-b/snapshot", "branch/branch-b/tag", "branch/branch-empty"):
        (root / folder).mkdir(parents=True)
    copy_file(root / "snapshot/snapshot-2", root / "tag/tag-v2")
    copy_file(root / "snapshot/snapshot-2", root / "branch/branch-b/snapshot/snapshot-2")
    for name in ("b", "empty"):
        copy_tree(root / "schema", root / f"branch/branch-{name}/schema")
    branch = table.branch("b")
    branch.alter(AddColumn("b", "INT"))
    branch.write(pa.Table.from_pylist([{"id": 1, "b": 2}], schema=branch.arrow_schema))
    table.alter(AddColumn("a", "STRING"))
    table.write(pa.Table.from_pylist([{"id": 1, "a": "x"}], schema=table.arrow_schema))
    table.truncate()
    return table


def empty(lake: lakebed.Lake) -> lakebed.Table:
    return lake.create_table("db.empty", "id INT", partition_by=["id"])


TABLES: dict[str, Callable[[lakebed.Lake], lakebed.Table]] = {
    "append": append_table,
    "partitions": partitions,
    "typed partitions": typed_partitions,
    "types": all_types,
    "fixed buckets": fixed_buckets,
    "rescaled": rescaled,
    "altered": altered,
    "branches": with_branches,
    "vectors": with_vectors,
    "keyed": keyed,
    "empty": empty,
}


@pytest.mark.parametrize("name", TABLES)
def test_sound_tables_verify_clean(lake: lakebed.Lake, name: str) -> None:
    check_clean(TABLES[name](lake))


@pytest.mark.parametrize("name", ENGINES)
def test_keyed_tables_verify_clean(lake: lakebed.Lake, name: str) -> None:
    columns = "k STRING, dt STRING, n INT, v STRING"
    options = {"bucket": "2", **ENGINES[name]}
    table = lake.create_table("db.t", columns, primary_key=["dt", "k"], partition_by=["dt"], options=options)
    for i in range(4):
        keys = [f"key {j % 7}" for j in range(i, i + 4)]
        more = {"dt": ["x", "y"] * 2, "n": [i] * 4, "v": [None if j == i else f"v{j}" for j in range(4)]}
        table.write(pa.table({"k": keys, **more}, schema=table.arrow_schema))
    check_clean(table)
    table.compact(full=True)
    if name in {"deduplicate", "vectors", "changelog", "thin"}:
        table.delete("k = 'key 3'")
    table.overwrite(pa.table({"k": ["a"], "dt": ["x"], "n": [1], "v": ["b"]}, schema=table.arrow_schema))
    check_clean(table)


def test_after_each_kind_of_upkeep(lake: lakebed.Lake) -> None:
    """Tags, branches, rollback, expiry, fast-forward, orphan removal: the table is clean after each."""
    table = appended(lake, commits=5)
    store = table._store
    create_tag(store, "v2", snapshot=2)
    create_branch(store, "b", tag="v2")
    table.branch("b").write(rows(100))
    check_clean(table)
    table.overwrite(rows(9))
    expire_snapshots(store, retain_max=1, retain_min=1, older_than=2**53)
    assert [snapshot.id for snapshot in table.snapshots()] == [6]
    check_clean(table)
    table.write(rows(10))
    rollback_to(store, snapshot=6)
    assert {problem.severity for problem in verify(store).problems} <= {"info"}
    remove_orphan_files(store, older_than=2**53, dry_run=False, force=True)
    check_clean(table)
    fast_forward(store, "b")
    remove_orphan_files(store, older_than=2**53, dry_run=False, force=True)
    check_clean(table)
    assert table.scan().to_arrow()["id"].to_pylist()[-1] == 100


@pytest.mark.parametrize("kept", [1, 2])
def test_a_branch_of_its_own_past_that_was_fast_forwarded(lake: lakebed.Lake, kept: int) -> None:
    """The next snapshot does not build on the one before it, and ids may be left out."""
    table = appended(lake, commits=2)
    create_branch(table._store, "b")
    branch = table.branch("b")
    for number in range(4):
        branch.write(rows(number))
    expire_snapshots(branch._store, retain_max=kept, retain_min=kept, older_than=2**53)
    fast_forward(table._store, "b")
    assert [snapshot.id for snapshot in table.snapshots()] == [1, 2, *range(5 - kept, 5)]
    check_clean(table)


def test_merged_manifests(lake: lakebed.Lake) -> None:
    table = appended(lake, commits=12, options={"manifest.merge-min-count": "3"})
    table.delete("id = 3")
    for number in range(4):
        table.write(rows(number))
    check_clean(table)


def test_progress_is_told(lake: lakebed.Lake) -> None:
    told: list[tuple[str, int, int]] = []
    verify(with_vectors(lake)._store, deep=True, report=lambda *step: told.append(step))
    stages = list(dict.fromkeys(what for what, _, _ in told))
    assert stages == ["folders", "manifests", "branches", "data files", "index files"]
    for stage in stages[1:]:
        steps = [(done, total) for what, done, total in told if what == stage]
        assert steps == sorted(steps)
        assert steps[-1][0] == steps[-1][1] > 0
    assert len([what for what, _, _ in told if what == "data files"]) == 3


class Counted(Logged):
    """Counts what is done to which path."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: Counter[str] = Counter()

    def call(self, name: str, path: str, run: Any) -> Any:
        if name == "read":
            self.reads[path] += 1
        return super().call(name, path, run)


def test_the_cost_of_a_walk(lake: lakebed.Lake) -> None:
    """Data files are listed and not asked for one by one, and every manifest is read once."""
    table = appended(lake, commits=30)
    storage = Counted()
    assert verify(TableStore(storage, table._store.paths, "db.a")).problems == ()
    manifests = {
        path: count for path, count in storage.reads.items() if "/manifest-list-" not in path and "/manifest/" in path
    }
    assert len(manifests) == 30
    assert set(manifests.values()) == {1}
    assert not [call for call in storage.log if call[0] == "size"]
    assert sum(1 for call in storage.log if call[0] == "exists" and call[1].startswith("data-")) == 0
