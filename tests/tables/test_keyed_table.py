"""Primary-key tables as their users see them: upserts, deletes, compaction on its own and beside other commits."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.metadata.stores import Interrupted, check_tidy
from tests.refusals import fingerprint, refused
from tests.rows.keyed.keyed_tables import (
    VECTORS,
    check_no_orphans,
    check_sound,
    compact_with,
    current,
    files_of,
    keyed,
    levels_of,
    marked,
    only,
    pairs,
    planned,
    put,
    typed,
)

import lakebed
from lakebed import changes
from lakebed.errors import CommitConflictError, OptionError, StorageError, UnsupportedError
from lakebed.format.snapshot import CommitKind
from lakebed.metadata.commit.commit import Commit, commit
from lakebed.metadata.plan.levels import CompactionOptions, CompactUnit, LevelFile, pick_full
from lakebed.metadata.store import TableStore
from lakebed.operations import write as write_operation
from lakebed.operations.compact import compact_after_write
from lakebed.rows.keyed.keyed_compact import Compactor, Pick
from lakebed.table import Table

BUSY = {"write-only": "false"}
PARTITIONED = "p STRING, k INT, v INT"


def kinds(table: lakebed.Table) -> list[str]:
    return [snapshot.commit_kind.value for snapshot in table.snapshots()]


# ------------------------------------------------------------------------------------------------- writing and deleting


def test_writes_upsert(lake: lakebed.Lake) -> None:
    table = keyed(lake, options=BUSY)
    put(table, {1: 1, 2: 2})
    put(table, {2: 20, 3: 30})
    assert current(table) == {1: 1, 2: 20, 3: 30}
    assert current(table, version=1) == {1: 1, 2: 2}


def test_a_repeated_commit_is_made_once(lake: lakebed.Lake) -> None:
    table = keyed(lake, options={**BUSY, **VECTORS})
    for identifier in (1, 2, 2, 1):
        table.write(typed(table, pairs({identifier: identifier})), commit_user="me", commit_identifier=identifier)
    assert kinds(table) == ["APPEND", "COMPACT"] * 2
    assert current(table) == {1: 1, 2: 2}


def test_a_repeated_commit_shows_rows_that_a_crash_left_unseen(
    lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers skip level 0 here, and whoever committed died before the compaction."""
    table = keyed(lake, options={**BUSY, **VECTORS})
    rows = typed(table, pairs({1: 1}))
    with monkeypatch.context() as dying:
        dying.setattr(write_operation, "compact_after_write", lambda *_, **__: None)
        table.write(rows, commit_user="me", commit_identifier=1)
    assert current(table) == {}
    table.write(rows, commit_user="me", commit_identifier=1)
    assert current(table) == {1: 1}
    assert kinds(table) == ["APPEND", "COMPACT"]


@pytest.mark.parametrize("options", [{}, VECTORS, {"sequence.field": "v"}], ids=str)
def test_deleted_rows_are_gone(lake: lakebed.Lake, options: dict[str, str]) -> None:
    table = keyed(lake, options={**BUSY, **options})
    put(table, {k: k for k in range(10)})
    made = table.delete("v >= 5 AND k <> 7")
    assert made is not None
    assert (made.operation, made.delta_record_count) == ("DELETE", 4)
    assert current(table) == {k: k for k in (*range(5), 7)}
    assert table.delete("k > 100") is None
    assert table.delete("v = 5") is None
    table.compact(full=True)
    assert current(table) == {k: k for k in (*range(5), 7)}
    put(table, {9: 99})
    assert current(table)[9] == 99


CANNOT_DELETE: list[tuple[dict[str, str], tuple[str, ...]]] = [
    ({"ignore-delete": "true"}, ("ignores deletes",)),
    (
        {"merge-engine": "aggregation", "aggregation.remove-record-on-delete": "true", "ignore-delete": "true"},
        ("ignores deletes",),
    ),
]


@pytest.mark.parametrize(("options", "words"), CANNOT_DELETE, ids=str)
def test_where_a_delete_would_remove_nothing_it_is_refused(
    lake: lakebed.Lake, options: dict[str, str], words: tuple[str, ...]
) -> None:
    table = keyed(lake, options={**BUSY, **options})
    put(table, {1: 1})
    refused(table.path, lambda: table.delete("k = 1"), UnsupportedError, "cannot be deleted", *words)


@pytest.mark.parametrize("engine", ["partial-update", "aggregation"])
def test_engines_that_remove_records_delete(lake: lakebed.Lake, engine: str) -> None:
    table = keyed(lake, options={**BUSY, "merge-engine": engine, f"{engine}.remove-record-on-delete": "true"})
    put(table, {1: 1, 2: 2})
    assert table.delete("v = 1") is not None
    assert current(table) == {2: 2}


# ------------------------------------------------------------------------------------------------- compaction by writes


def test_writes_compact_when_there_are_too_many_runs(lake: lakebed.Lake) -> None:
    table = keyed(lake, options={**BUSY, "num-sorted-run.compaction-trigger": "3"})
    for i in range(3):
        put(table, {1: i, 10 + i: i})
    assert kinds(table) == ["APPEND", "APPEND", "APPEND", "COMPACT"]
    assert levels_of(table) == [3]
    check_sound(table)
    check_tidy(table.path)


def test_write_only_tables_leave_it_to_compact(lake: lakebed.Lake) -> None:
    table = keyed(lake, options={"num-sorted-run.compaction-trigger": "3"})
    for i in range(6):
        put(table, {1: i})
    assert kinds(table) == ["APPEND"] * 6
    assert levels_of(table) == [0] * 6
    assert table.compact() is not None
    assert kinds(table)[-1] == "COMPACT"
    assert current(table) == {1: 5}


@pytest.mark.parametrize("options", [VECTORS, {"merge-engine": "first-row"}], ids=str)
def test_where_level_0_is_skipped_every_write_is_compacted(lake: lakebed.Lake, options: dict[str, str]) -> None:
    table = keyed(lake, options={**BUSY, **options})
    for i in range(4):
        put(table, {10 + i: i})
        assert current(table)[10 + i] == i
        assert 0 not in levels_of(table)
        check_sound(table)
    waiting = keyed(lake, options=options)
    put(waiting, {1: 1})
    assert current(waiting) == {}
    waiting.compact()
    assert current(waiting) == {1: 1}


def test_only_partitions_that_were_written_are_compacted(lake: lakebed.Lake) -> None:
    options = {"num-sorted-run.compaction-trigger": "2"}
    table = keyed(lake, PARTITIONED, key=["p", "k"], partition_by=["p"], options=options)
    for i in range(4):
        table.write(typed(table, [{"p": p, "k": 1, "v": i} for p in "ab"]))
    table.alter(changes.SetOption("write-only", "false"))
    table.write(typed(table, [{"p": "a", "k": 1, "v": 9}]))
    by_partition: dict[str, list[int]] = {}
    for entry in files_of(table):
        by_partition.setdefault("a" if "/p=a/" in entry["path"] else "b", []).append(entry["level"])
    assert by_partition == {"a": [2], "b": [0, 0, 0, 0]}


def test_a_write_is_a_write_even_if_it_cannot_be_compacted(
    lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever took it for failed would write again, and count twice where rows are summed up."""
    table = keyed(lake, options=BUSY)

    def full_disk(*_: Any, **__: Any) -> None:
        raise StorageError("no space left")

    monkeypatch.setattr(compact_after_write, "compact_keyed_table", full_disk)
    with caplog.at_level(logging.WARNING, "lakebed"):
        assert put(table, {1: 1}).id == 1
    assert "not compacted: no space left" in caplog.text
    assert current(table) == {1: 1}


def test_where_names_partitions(lake: lakebed.Lake) -> None:
    table = keyed(lake, PARTITIONED, key=["p", "k"], partition_by=["p"], options={"bucket": "2"})
    for i in range(3):
        table.write(typed(table, [{"p": p, "k": k, "v": i} for p in "abc" for k in range(8)]))
    made = table.compact(full=True, where="p IN ('a', 'c')")
    assert made is not None
    assert (made.commit_kind, made.total_record_count) == (CommitKind.COMPACT, 16 + 24)
    counts = {p: sum(f"/p={p}/" in entry["path"] for entry in files_of(table)) for p in "abc"}
    assert counts == {"a": 2, "b": 6, "c": 2}
    assert table.compact(full=True, where="p = 'a'") is None
    assert table.compact(full=True, where="p = 'nowhere'") is None
    refused(table.path, lambda: table.compact(where="k = 1"), lakebed.ExpressionError, "'k'")
    assert set(table.scan().to_arrow()["v"].to_pylist()) == {2}


def test_compaction_reports_how_far_it_is(lake: lakebed.Lake) -> None:
    table = keyed(lake, PARTITIONED, key=["p", "k"], partition_by=["p"], options={"bucket": "2"})
    for i in range(2):
        table.write(typed(table, [{"p": p, "k": k, "v": i} for p in "ab" for k in range(8)]))
    calls: list[tuple[int, int]] = []
    table.compact(full=True, report=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]
    calls.clear()
    table.compact(full=True, report=lambda done, total: calls.append((done, total)))
    assert calls == []


# --------------------------------------------------------------------------------------------- compaction beside others


def racing(table: lakebed.Table, *meanwhile: Callable[[], Any], ending: str = "") -> lakebed.Table:
    """The same table, where somebody else does something just before each of our first commits becomes visible."""
    store = table._store
    storage = Interrupted(*meanwhile, ending=ending, inner=store.storage)
    return Table(TableStore(storage, store.paths, store.name))


def prepared(lake: lakebed.Lake, **options: str) -> lakebed.Table:
    table = keyed(lake, options=options)
    put(table, dict.fromkeys(range(10), 0))
    compact_with(table, only(5, 0))
    put(table, {1: 1, 2: 1})
    put(table, {2: 2, 20: 2})
    return table


OTHERS: dict[str, Callable[[lakebed.Table], Any]] = {
    "full compaction": lambda table: table.compact(full=True),
    "minor compaction": lambda table: compact_with(table, only(4, 0)),
    "overwrite": lambda table: table.overwrite(typed(table, pairs({7: 7}))),
    "truncate": lambda table: table.truncate(),
}


@pytest.mark.parametrize("vectors", [False, True], ids=["plain", "vectors"])
@pytest.mark.parametrize("ours", ["full", "minor"])
@pytest.mark.parametrize("other", OTHERS)
def test_a_compaction_gives_way_to_whoever_took_its_files(
    lake: lakebed.Lake, other: str, ours: str, vectors: bool
) -> None:
    table = prepared(lake, **(VECTORS if vectors else {"num-sorted-run.compaction-trigger": "3"}))
    state: list[Any] = []

    def meanwhile() -> None:
        OTHERS[other](table)
        state.append(fingerprint(table.path))
        state.append(current(table))

    before = fingerprint(table.path)
    with pytest.raises(CommitConflictError, match="Nothing was committed"):
        racing(table, meanwhile).compact(full=ours == "full")
    after = fingerprint(table.path)
    # While the other one committed, what we had written lay about; now exactly that is gone.
    assert after.items() <= state[0].items()
    assert set(before) <= set(after)
    assert len(kinds(table)) == 5
    assert current(table) == state[1]
    check_sound(table)
    check_tidy(table.path)
    check_no_orphans(table)


@pytest.mark.parametrize("vectors", [False, True], ids=["plain", "vectors"])
@pytest.mark.parametrize("full", [False, True], ids=["minor", "full"])
def test_appends_beside_a_compaction_both_land(lake: lakebed.Lake, full: bool, vectors: bool) -> None:
    table = prepared(lake, **(VECTORS if vectors else {"num-sorted-run.compaction-trigger": "3"}))
    made = racing(table, lambda: put(table, {2: 99, 3: 99}), lambda: put(table, {4: None}, "-D")).compact(full=full)
    assert made is not None
    assert kinds(table)[-3:] == ["APPEND", "APPEND", "COMPACT"]
    check_sound(table)
    assert levels_of(table)[:2] == [0, 0]
    table.compact()
    table.compact(full=True)
    wanted = dict.fromkeys(range(10), 0) | {1: 1, 2: 99, 3: 99, 20: 2}
    del wanted[4]
    assert current(table) == dict(sorted(wanted.items()))
    check_tidy(table.path)


def half(level: int, number: int) -> Pick:
    """One of the files of level 0."""

    def pick(files: Sequence[LevelFile], _: CompactionOptions) -> CompactUnit:
        return CompactUnit(level, ([file for file in files if file.level == 0][number],))

    return pick


@pytest.fixture
def layered(lake: lakebed.Lake) -> lakebed.Table:
    """A table with deletion vectors: a file of the highest level with a marked row, and a small one above it."""
    table = keyed(lake, options=VECTORS)
    put(table, dict.fromkeys(range(10), 0))
    compact_with(table, only(5, 0))
    put(table, {9: 9})
    compact_with(table, only(4, 0))
    return table


def lost(table: lakebed.Table, plan: tuple[Compactor, Commit], words: str, shown: dict[int, int | None]) -> None:
    """The commit finds a conflict, takes back what it wrote, and another try gives the right rows."""
    compactor, request = plan
    with pytest.raises(CommitConflictError, match=words):
        commit(table._store, request)
    compactor.abort()
    check_sound(table)
    check_tidy(table.path)
    check_no_orphans(table)
    table.compact(full=True)
    assert current(table) == dict.fromkeys(range(10), 0) | {9: 9} | shown
    assert marked(table) == {}


def test_vectors_that_another_compaction_wrote_are_not_replaced(layered: lakebed.Table) -> None:
    put(layered, {1: 1})
    put(layered, {5: 5})
    plan = planned(layered, half(2, 0))
    compact_with(layered, half(3, 1))
    lost(layered, plan, "deletion vectors of bucket 0 changed meanwhile", {1: 1, 5: 5})


def test_first_vectors_of_a_bucket_that_two_compactions_write(lake: lakebed.Lake) -> None:
    table = keyed(lake, options=VECTORS)
    put(table, dict.fromkeys(range(10), 0))
    compact_with(table, only(5, 0))
    put(table, {1: 1})
    put(table, {9: 9})
    plan = planned(table, half(3, 0))
    compact_with(table, half(4, 1))
    lost(table, plan, "deletion vectors of bucket 0 changed meanwhile", {1: 1})


def test_rows_of_a_file_that_is_gone_are_not_marked(layered: lakebed.Table) -> None:
    """A full compaction that began before the write commits after it."""
    _, full = planned(layered, pick_full)
    put(layered, {1: 1})
    plan = planned(layered, only(3, 0))
    assert commit(layered._store, full) is not None
    lost(layered, plan, "of which this commit deletes rows", {1: 1})


def test_a_file_that_gets_marks_meanwhile_is_not_replaced(layered: lakebed.Table) -> None:
    """The same, the other way around: the rows would live on in the new file."""
    plan = planned(layered, pick_full)
    put(layered, {1: 1})
    compact_with(layered, only(3, 0))
    lost(layered, plan, "deleted rows of", {1: 1})


def test_rows_are_seen_even_if_another_compaction_was_faster(lake: lakebed.Lake) -> None:
    """Where level 0 is skipped, a write tries again until its rows are compacted, by whomever."""
    table = keyed(lake, options=VECTORS)
    put(table, {1: 1})
    _, other = planned(table, only(5, 0))
    table.alter(changes.SetOption("write-only", "false"))
    made = racing(table, lambda: None, lambda: commit(table._store, other)).write(typed(table, pairs({2: 2})))
    assert made is not None
    assert kinds(table) == ["APPEND", "APPEND", "COMPACT", "COMPACT"]
    assert current(table) == {1: 1, 2: 2}
    assert racing(table, lambda: None, lambda: put(table, {3: 3})).write(typed(table, pairs({4: 4}))) is not None
    assert current(table) == {1: 1, 2: 2, 3: 3, 4: 4}
    check_tidy(table.path)
    check_no_orphans(table)


def test_an_overwrite_beside_writes_takes_them_along(lake: lakebed.Lake) -> None:
    table = keyed(lake, options=BUSY)
    put(table, {1: 1})
    racing(table, lambda: put(table, {1: 2, 2: 2})).overwrite(typed(table, pairs({3: 3})))
    assert current(table) == {3: 3}
    check_sound(table)
    check_tidy(table.path)


# ---------------------------------------------------------------------------------------------------------- overwriting


def test_overwritten_rows_need_no_compaction(lake: lakebed.Lake) -> None:
    table = keyed(lake, options={"bucket": "2"})
    put(table, dict.fromkeys(range(10), 1))
    table.overwrite(typed(table, [*pairs({1: 1}), *pairs({1: 2, 2: 2})]))
    assert set(levels_of(table)) == {5}
    assert current(table) == {1: 2, 2: 2}
    check_sound(table)


def test_another_number_of_buckets_after_an_overwrite(lake: lakebed.Lake) -> None:
    table = keyed(lake, options={"bucket": "2"})
    put(table, dict.fromkeys(range(30), 1))
    table.alter(changes.SetOption("bucket", "5"))
    assert current(table) == dict.fromkeys(range(30), 1)
    assert current(table, where="k = 17") == {17: 1}
    table.overwrite(typed(table, pairs(dict.fromkeys(range(30), 2))))
    assert {entry["total_buckets"] for entry in files_of(table)} == {5}
    assert len({entry["bucket"] for entry in files_of(table)}) == 5
    put(table, {17: 3, 99: 3})
    wanted = dict.fromkeys(range(30), 2) | {17: 3, 99: 3}
    assert current(table) == wanted
    for key, value in wanted.items():
        assert current(table, where=f"k = {key}") == {key: value}
    assert current(table, version=1, where="k = 17") == {17: 1}
    table.compact(full=True)
    assert current(table) == wanted


def test_partitions_with_different_numbers_of_buckets(lake: lakebed.Lake) -> None:
    """Those that were not overwritten keep their buckets, also when they are compacted."""
    table = keyed(lake, PARTITIONED, key=["p", "k"], partition_by=["p"], options={"bucket": "2"})
    for v in range(2):
        table.write(typed(table, [{"p": p, "k": k, "v": v} for p in "ab" for k in range(20)]))
    table.alter(changes.SetOption("bucket", "3"))
    table.overwrite(typed(table, [{"p": "a", "k": k, "v": 5} for k in range(20)]))
    refused(
        table.path,
        lambda: table.write(typed(table, [{"p": "b", "k": 1, "v": 9}])),
        OptionError,
        "option 'bucket' is 3",
        "files of 2 buckets",
        "Call rescale()",
    )
    table.write(typed(table, [{"p": "a", "k": 1, "v": 6}]))
    assert table.compact(full=True) is not None
    totals = {("a" if "/p=a/" in entry["path"] else "b", entry["total_buckets"]) for entry in files_of(table)}
    assert totals == {("a", 3), ("b", 2)}
    rows = table.scan().to_arrow().to_pylist()
    assert {(row["p"], row["k"]): row["v"] for row in rows} == {
        **{("a", k): 5 for k in range(20)},
        ("a", 1): 6,
        **{("b", k): 1 for k in range(20)},
    }
    assert table.scan(where="p = 'b' AND k = 7").to_arrow().to_pylist() == [{"p": "b", "k": 7, "v": 1}]
    check_sound(table)
