"""Changelogs that compactions produce: replayed from nothing they give the table, at every compaction, change by
change.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
from tests.lakes import open_lake
from tests.places import stored_path

import lakebed
from lakebed.format.snapshot import CommitKind

COLUMNS = "k INT, a BIGINT, b STRING, c ARRAY<INT>"
LOOKUP: Final = {"changelog-producer": "lookup"}
FULL: Final = {"changelog-producer": "full-compaction"}
SUMS: Final = {"merge-engine": "aggregation", "fields.a.aggregate-function": "sum"}
PARTIAL: Final = {"merge-engine": "partial-update"}
VECTORS: Final = {"deletion-vectors.enabled": "true"}
DISTINCT: Final = {"changelog-producer.row-deduplicate": "true"}
BY_A: Final = {"sequence.field": "a"}
JOB: Final = {"write-only": "true"}
TABLES: dict[str, dict[str, str]] = {
    "lookup": LOOKUP,
    "lookup, distinct": {**LOOKUP, **DISTINCT},
    "lookup, sequence field": {**LOOKUP, **BY_A},
    "lookup, sums": {**LOOKUP, **SUMS},
    "lookup, sums, by a job": {**LOOKUP, **SUMS, **JOB},
    "lookup, partial update, distinct": {**LOOKUP, **PARTIAL, **DISTINCT},
    "lookup, first row": {**LOOKUP, "merge-engine": "first-row"},
    "lookup, vectors": {**LOOKUP, **VECTORS},
    "lookup, vectors, sums": {**LOOKUP, **VECTORS, **SUMS},
    "lookup, by a job": {**LOOKUP, **JOB},
    "full": FULL,
    "full, distinct, by a job": {**FULL, **DISTINCT, **JOB},
    "full, sums": {**FULL, **SUMS},
    "full, partial update, every third": {**FULL, **PARTIAL, "full-compaction.delta-commits": "3"},
    "full, sequence field, by a job": {**FULL, **BY_A, **JOB},
}
DELETES: Final = (
    "lookup",
    "lookup, distinct",
    "lookup, vectors",
    "lookup, by a job",
    "full",
    "full, distinct, by a job",
)


def new_table(path: Path, options: Mapping[str, str], columns: str = COLUMNS, **more: Any) -> lakebed.Table:
    lake = open_lake(str(path))
    small = {"bucket": "1", "num-sorted-run.compaction-trigger": "4"}
    return lake.create_table("db.t", columns, primary_key=["k"], options={**small, **options}, **more)


def put(table: lakebed.Table, rows: list[tuple[Any, ...]], kinds: list[str] | None = None) -> None:
    """Write rows (k, a, b, c)."""
    types = {"k": pa.int32(), "a": pa.int64(), "b": pa.string(), "c": pa.list_(pa.int32())}
    data = pa.table({name: pa.array([row[i] for row in rows], kind) for i, (name, kind) in enumerate(types.items())})
    if kinds is not None:
        data = data.append_column("op", pa.array(kinds))
    table.write(data, row_kind=None if kinds is None else "op")


def log_of(table: lakebed.Table, since: int, until: int) -> list[dict[str, Any]]:
    scan = (
        lakebed.connect(str(stored_path(table.path).parents[1]))
        .system_table("db.t$audit_log")
        .scan(since=since, until=until, mode="changelog")
    )
    rows: list[dict[str, Any]] = scan.to_arrow().to_pylist()
    return rows


def replay(state: dict[int, dict[str, Any]], log: list[dict[str, Any]]) -> int:
    """Apply changes, each of which must fit the state; gives the number of updates that changed nothing."""
    same = 0
    before: dict[str, Any] | None = None
    for change in log:
        row = {name: value for name, value in change.items() if name != "rowkind"}
        key, kind = row["k"], change["rowkind"]
        assert (before is not None) == (kind == "+U"), "an update is two rows, one after the other"
        if kind == "+I":
            assert key not in state
            state[key] = row
        elif kind == "+U":
            assert before is not None
            assert before["k"] == key
            same += before == row
            state[key] = row
        else:
            assert state.pop(key) == row
        before = row if kind == "-U" else None
    assert before is None
    return same


def current(table: lakebed.Table, version: int) -> dict[int, dict[str, Any]]:
    return {row["k"]: row for row in table.scan(version=version).to_arrow().to_pylist()}


def put_much(table: lakebed.Table, random_: random.Random) -> None:
    """Rows of some size, so that compactions of what comes later stay above them."""
    put(table, [(key, 1, random_.randbytes(150).hex(), None) for key in range(6, 150)])
    table.compact(full=True)


def random_write(random_: random.Random, table: lakebed.Table, *, deletes: bool) -> None:
    keys = [random_.randrange(12) for _ in range(random_.choice([1, 3, 8]))]
    rows = [
        (
            key,
            random_.randrange(2),
            random_.choice(["x", None]),
            random_.choice([None, [1, None]]),
        )
        for key in keys
    ]
    put(table, rows, [random_.choice(["+I", "+U", "-D"]) for _ in keys] if deletes else None)


@pytest.mark.parametrize("kind", TABLES)
def test_replayed_it_gives_the_table(kind: str, tmp_path: Path) -> None:
    options = TABLES[kind]
    table = new_table(tmp_path, options)
    random_ = random.Random(kind)
    put_much(table, random_)
    for _ in range(12):
        if random_.random() < (0.5 if set(JOB) <= set(options) else 0.8):
            random_write(random_, table, deletes=kind in DELETES)
        else:
            table.compact(full=random_.random() < 0.3)
    table.compact(full=True)
    state: dict[int, dict[str, Any]] = {}
    seen = same = compared = 0
    passed: set[int] = set()
    for snapshot in table.snapshots():
        log = log_of(table, snapshot.id - 1, snapshot.id)
        assert len(log) == (snapshot.changelog_record_count or 0)
        assert not log or snapshot.commit_kind is CommitKind.COMPACT
        seen += len(log)
        same += replay(state, log)
        levels = {entry["level"] for entry in table.scan(version=snapshot.id).plan().files.to_pylist()}
        passed |= levels - {0}
        if snapshot.commit_kind is CommitKind.COMPACT and (levels <= {4} or (0 not in levels and "lookup" in kind)):
            assert state == current(table, snapshot.id), snapshot.id
            compared += 1
    assert state == current(table, table.snapshots()[-1].id)
    assert compared > 1
    assert seen > 143
    assert len(passed) > 1 or "full" in kind, "nothing was looked up below"
    assert not same or not set(DISTINCT) <= set(options)
    assert table.verify(deep=True).ok


@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
def test_two_writers_at_once(producer: str, tmp_path: Path) -> None:
    """Whoever compacts first tells the changes of both, each of them once."""
    new_table(tmp_path, {"changelog-producer": producer, **SUMS})

    def work(writer: int) -> None:
        table = lakebed.connect(str(tmp_path)).table("db.t")
        assert isinstance(table, lakebed.Table)
        for _ in range(4):
            put(table, [(key, 1, "x", None) for key in (0, writer)])

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, (1, 2)))
    table = lakebed.connect(str(tmp_path)).table("db.t")
    assert isinstance(table, lakebed.Table)
    table.compact(full=True)
    state: dict[int, dict[str, Any]] = {}
    replay(state, log_of(table, 0, table.snapshots()[-1].id))
    assert {key: row["a"] for key, row in state.items()} == {0: 8, 1: 4, 2: 4}
    assert state == current(table, table.snapshots()[-1].id)


def test_a_dictionary_agrees(tmp_path: Path) -> None:
    """The state that changes are compared with is what was written, not only what we read."""
    table = new_table(tmp_path, {**LOOKUP, **SUMS})
    random_ = random.Random(5)
    put_much(table, random_)
    sums = dict.fromkeys(range(6, 150), 1)
    for number in range(12):
        rows = {random_.randrange(9): random_.randrange(9) for _ in range(3)}
        put(table, [(key, value, "b", None) for key, value in rows.items()])
        for key, value in rows.items():
            sums[key] = sums.get(key, 0) + value
        assert {row["k"]: row["a"] for row in table.scan().to_arrow().to_pylist()} == sums, number
    levels = {row["level"] for row in table.scan().plan().files.to_pylist()}
    assert len(levels) > 1, "sums must lie above each other, or nothing was shown"


def test_columns_that_do_not_count(tmp_path: Path) -> None:
    ignored = {"changelog-producer.row-deduplicate-ignore-fields": "b, c"}
    table = new_table(tmp_path, {**LOOKUP, **DISTINCT, **ignored})
    put(table, [(1, 1, "x", None), (2, 1, "x", None)])
    put(table, [(1, 1, "y", [3]), (2, 2, "x", None)])
    assert [(row["rowkind"], row["k"]) for row in log_of(table, 2, 4)] == [("-U", 2), ("+U", 2)]


@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
def test_updates_that_change_nothing_count_unless_told_otherwise(producer: str, tmp_path: Path) -> None:
    for distinct in (False, True):
        options = {"changelog-producer": producer, "changelog-producer.row-deduplicate": str(distinct).lower()}
        table = new_table(tmp_path / str(distinct), options)
        for _ in range(2):
            put(table, [(1, 1, None, [1, None])])
        assert [row["rowkind"] for row in log_of(table, 0, 4)] == (["+I"] if distinct else ["+I", "-U", "+U"])


@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
def test_an_overwrite_gives_none(producer: str, tmp_path: Path) -> None:
    table = new_table(tmp_path, {"changelog-producer": producer})
    put(table, [(1, 1, "x", None)])
    first = table.snapshots()[-1].id
    rows = [(k, 2, "o", None) for k in (1, 5, 1)]
    types = {"k": pa.int32(), "a": pa.int64(), "b": pa.string(), "c": pa.list_(pa.int32())}
    table.overwrite(pa.table({n: pa.array([r[i] for r in rows], t) for i, (n, t) in enumerate(types.items())}))
    table.compact(full=True)
    last = table.snapshots()[-1].id
    assert log_of(table, first, last) == []
    put(table, [(5, 3, "x", None)])
    assert [(row["rowkind"], row["a"]) for row in log_of(table, last, table.snapshots()[-1].id)] == [
        ("-U", 2),
        ("+U", 3),
    ]


def test_a_full_compaction_every_so_many_commits(tmp_path: Path) -> None:
    """It takes in the partitions of all the commits since the last one."""
    lake = open_lake(str(tmp_path))
    options = {"bucket": "1", "full-compaction.delta-commits": "3"}
    table = lake.create_table("db.t", "p INT, k INT", partition_by=["p"], primary_key=["p", "k"], options=options)
    for number in range(7):
        table.write(pa.table({"p": pa.array([number], pa.int32()), "k": pa.array([1], pa.int32())}))
    kinds = [snapshot.commit_kind for snapshot in table.snapshots()]
    append, compact = CommitKind.APPEND, CommitKind.COMPACT
    assert kinds == [append, append, append, compact, append, append, append, compact, append]
    assert [row["level"] for row in table.scan(version=8).plan().files.to_pylist()] == [5] * 6


def test_binlog_has_an_update_in_one_row(tmp_path: Path) -> None:
    table = new_table(tmp_path, LOOKUP)
    put(table, [(1, 1, "x", [1]), (2, 1, None, None)])
    put(table, [(1, 2, None, []), (2, 1, "x", None), (3, 3, "z", None)], ["+U", "-D", "+I"])
    binlog = lakebed.connect(str(tmp_path)).system_table("db.t$binlog")
    assert binlog.scan(since=2).to_arrow().to_pylist() == [
        {"rowkind": "+U", "k": [1, 1], "a": [1, 2], "b": ["x", None], "c": [[1], []]},
        {"rowkind": "-D", "k": [2], "a": [1], "b": [None], "c": [None]},
        {"rowkind": "+I", "k": [3], "a": [3], "b": ["z"], "c": [None]},
    ]
    assert binlog.scan(["k", "rowkind"], version=2).to_arrow().to_pylist() == [
        {"k": [1], "rowkind": "+I"},
        {"k": [2], "rowkind": "+I"},
    ]
    assert binlog.scan(since=4).to_arrow().num_rows == 0


def test_binlog_leaves_apart_what_is_no_update(tmp_path: Path) -> None:
    """What came in is as it came: a -U without its +U, and two of different keys."""
    table = new_table(tmp_path, {"changelog-producer": "input"})
    put(table, [(1, 1, "x", None), (2, 2, "x", None), (3, 3, "x", None), (3, 4, "x", None)], ["-U", "+U", "-U", "+U"])
    found = (
        lakebed.connect(str(tmp_path))
        .system_table("db.t$binlog")
        .scan(["rowkind", "k"], since=0)
        .to_arrow()
        .to_pylist()
    )
    assert [(row["rowkind"], row["k"]) for row in found] == [("-U", [1]), ("+U", [2]), ("+U", [3, 3])]


def test_audit_log_of_an_interval(tmp_path: Path) -> None:
    table = new_table(tmp_path, {"table-read.sequence-number.enabled": "true"})
    put(table, [(1, 1, "x", None), (2, 1, "x", None), (3, 1, "x", None)])
    put(table, [(1, 2, "x", None), (2, 1, "x", None)], ["+I", "-D"])
    lake = lakebed.connect(str(tmp_path))

    def kinds(**asked: Any) -> list[tuple[Any, ...]]:
        rows = lake.system_table("db.t$audit_log").scan(**asked).to_arrow().to_pylist()
        return [(row["rowkind"], row["_SEQUENCE_NUMBER"], row["k"], row["a"]) for row in rows]

    assert kinds(since=1) == [("+I", 3, 1, 2), ("-D", 4, 2, 1)]
    assert kinds(since=1, where="rowkind = '-D'") == [("-D", 4, 2, 1)]
    assert kinds(since=1, until=2, mode="diff") == [("+I", None, 1, 2), ("-D", None, 2, 1)]
    assert sorted(kinds(version=1)) == [("+I", 0, 1, 1), ("+I", 1, 2, 1), ("+I", 2, 3, 1)]
    by_options = lake.system_table("db.t$audit_log", options={"incremental-between": "1,2"}).scan().to_arrow()
    assert by_options["rowkind"].to_pylist() == ["+I", "-D"]
    with pytest.raises(lakebed.errors.UnsupportedError, match="does not contain changes"):
        lake.system_table("db.t$files").scan(since=1)
    with pytest.raises(lakebed.errors.OptionError, match="either a version"):
        lake.system_table("db.t$audit_log").scan(since=1, version=1)


def test_switching_to_lookup_where_values_are_combined_is_refused(tmp_path: Path) -> None:
    table = new_table(tmp_path, SUMS)
    put(table, [(1, 1, "x", None)])
    with pytest.raises(lakebed.errors.OptionError, match="merged twice or not at all"):
        table.alter(lakebed.changes.SetOption("changelog-producer", "lookup"))


# ------------------------------------------------------------------------------------------- longer than its snapshots


def expire_all(table: lakebed.Table) -> None:
    assert table.expire_snapshots(retain_max=1, retain_min=1, older_than="2999-01-01").snapshots


@pytest.mark.parametrize("producer", ["none", "input", "lookup", "full-compaction"])
def test_it_is_read_where_snapshots_are_gone(producer: str, tmp_path: Path) -> None:
    options = {"changelog-producer": producer, "changelog.num-retained.min": "100", "write-only": "true"}
    table = new_table(tmp_path, options)
    random_ = random.Random(8)
    for number in range(5):
        random_write(random_, table, deletes=True)
        if number % 2:
            table.compact(full=True)
    last = table.snapshots()[-1].id
    logs = lakebed.connect(str(tmp_path)).system_table("db.t$audit_log")
    pairs = [(i, j) for i in range(last) for j in range(i + 1, last + 1)]
    before = {pair: logs.scan(since=pair[0], until=pair[1]).to_arrow() for pair in pairs}
    rows = {pair: table.scan(since=pair[0], until=pair[1]).to_arrow() for pair in pairs}
    assert sum(map(len, before.values()))
    moment = dt.datetime.fromtimestamp(table.snapshots()[2].time_millis / 1000)
    since_moment = logs.scan(since=moment).to_arrow()
    expire_all(table)
    assert [snapshot.id for snapshot in table.snapshots()] == [last]
    for pair in pairs:
        assert logs.scan(since=pair[0], until=pair[1]).to_arrow() == before[pair], pair
        assert table.scan(since=pair[0], until=pair[1]).to_arrow() == rows[pair], pair
    assert logs.scan(since=moment).to_arrow() == since_moment
    assert table.verify(deep=True).ok
    with pytest.raises(lakebed.errors.NotFoundError, match="snapshot 1 expired"):
        table.scan(since=1, mode="diff").to_arrow()
    if producer not in {"none", "input"}:
        with pytest.raises(lakebed.errors.NotFoundError, match="snapshots 1 to 2 expired"):
            table.scan(since=0, until=3, mode="delta").to_arrow()
    remember = new_count(table)
    table.remove_orphan_files(older_than="2999-01-01", dry_run=False, force=True)
    assert new_count(table) == remember
    assert logs.scan(since=0, until=last).to_arrow() == before[0, last]


def new_count(table: lakebed.Table) -> int:
    return sum(path.is_file() for path in stored_path(table.path).glob("bucket-*/changelog-*"))


def test_it_goes_in_the_end(tmp_path: Path) -> None:
    longer = {"changelog.num-retained.min": "4", "changelog.num-retained.max": "4", "snapshot.num-retained.min": "1"}
    table = new_table(tmp_path, {**LOOKUP, **longer})
    for number in range(6):
        put(table, [(number, 1, "x", None)])
    expire_all(table)
    logs = lakebed.connect(str(tmp_path)).system_table("db.t$audit_log")
    assert len(logs.scan(since=8).to_arrow()) == 2
    with pytest.raises(lakebed.errors.NotFoundError, match="snapshots 1 to 8 expired"):
        logs.scan(since=0).to_arrow()
    assert new_count(table) == 2
