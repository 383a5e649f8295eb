"""An upsert into dynamic buckets whose index changed between planning and commit, one way after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from tests.places import stored_path
from tests.rows.keyed.keyed_tables import files_of, stored
from tests.tables.dynamic_tables import buckets_of, check_index, dynamic, rows, shown

from lakebed import Lake, Table
from lakebed.buckets import rebucket
from lakebed.errors import CommitConflictError
from lakebed.format.snapshot import CommitKind
from lakebed.metadata.commit.commit import commit

Meanwhile = Callable[[Callable[[], Any]], None]


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """What another writer does when the next upsert has its files and is about to commit."""

    def do(action: Callable[[], Any]) -> None:
        original = commit

        def late(*args: Any) -> Any:
            monkeypatch.setattr(rebucket, "commit", original)
            action()
            return original(*args)

        monkeypatch.setattr(rebucket, "commit", late)

    return do


def check_files(table: Table) -> None:
    """Nothing is left of what was written and not used."""
    assert table.remove_orphan_files(older_than="2999-01-01", dry_run=True).files == ()
    report = table.verify(deep=True)
    assert {problem.code for problem in report.problems} <= {"overlapping-sequences"}, str(report)


def test_both_bring_the_same_new_keys(lake: Lake, meanwhile: Meanwhile) -> None:
    table = dynamic(lake)
    table.write(rows([100, 101, 102], "old"))
    meanwhile(lambda: table.write(rows([5, 6, 7, 8, 9], "theirs")))
    made = table.write(rows([3, 4, 5, 6, 7], "ours"))
    assert made is not None
    assert made.commit_kind is CommitKind.APPEND
    wanted = (
        dict.fromkeys([100, 101, 102], "old") | dict.fromkeys([8, 9], "theirs") | dict.fromkeys(range(3, 8), "ours")
    )
    assert shown(table) == {(0, key): value for key, value in wanted.items()}
    check_index(table)
    check_files(table)


def test_only_rows_that_must_move_are_moved(lake: Lake, meanwhile: Meanwhile) -> None:
    """Our new keys stay where they are while there is room; another partition is not looked at."""
    table = dynamic(lake, target=10)
    table.write(rows(range(4), "old"))
    meanwhile(lambda: table.write(rows([50, 51], "theirs")))
    original, read = rebucket.Rebucketing._read, []

    def noted(self: Any, path: str, names: Any) -> Any:
        read.append((path, list(names)))
        return original(self, path, names)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rebucket.Rebucketing, "_read", noted)
        both = rows([60, 61], "ours")
        table.write(pa.concat_tables([both, rows([60], "ours", partition=1)]))
    assert [names for _, names in read] == [["k"]], "one file was looked at, and none written anew"
    assert "p=0" in read[0][0]
    assert buckets_of(table) == {(0, key): 0 for key in (0, 1, 2, 3, 50, 51, 60, 61)} | {(1, 60): 0}
    check_index(table)
    check_files(table)


def test_known_keys_need_no_second_look(lake: Lake, meanwhile: Meanwhile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others that bring no new keys do not change the index, so nothing is planned anew."""
    table = dynamic(lake)
    table.write(rows(range(10), "old"))
    meanwhile(lambda: table.write(rows(range(10), "theirs")))
    monkeypatch.setattr(rebucket.Rebucketing, "_replanned", lambda *_: pytest.fail("planned anew"))
    table.write(rows(range(5), "ours"))
    assert set(shown(table)) == {(0, key) for key in range(10)}


def remapped(table: Table) -> Any:
    """All keys in other buckets than before."""
    before = buckets_of(table)
    table.overwrite(rows(range(20, 0, -1), "theirs"))
    now = buckets_of(table)
    assert any(now[key] != before[key] for key in before if key in now)
    return before


@pytest.mark.parametrize("more", [{}, {"changelog-producer": "input"}, {"dynamic-bucket.initial-buckets": "2"}])
def test_an_overwrite_that_remaps_keys(lake: Lake, meanwhile: Meanwhile, more: dict[str, str]) -> None:
    """Our rows find their keys in their new buckets, and are newer than those of the overwrite."""
    table = dynamic(lake, more)
    table.write(rows(range(10, 16), "old"))
    for _ in range(3):
        table.write(rows(range(10, 16), "older than the next"))
    meanwhile(lambda: remapped(table))
    table.write(rows([10, 11, 15, 33, 1], "ours"))
    wanted = dict.fromkeys(range(1, 21), "theirs") | dict.fromkeys([10, 11, 15, 33, 1], "ours")
    assert shown(table) == {(0, key): value for key, value in wanted.items()}
    check_index(table)
    check_files(table)
    if "changelog-producer" in more:
        told = table.scan(since=0, mode="changelog").to_arrow().to_pylist()
        assert sorted(row["k"] for row in told if row["v"] == "ours") == [1, 10, 11, 15, 33]


CHANGES: dict[str, tuple[Callable[[Table], Any], set[int]]] = {
    "truncated": (lambda table: table.truncate(), set()),
    "dropped": (lambda table: table.drop_partition({"p": 0}), set()),
    "rolled back": (lambda table: table.rollback_to(snapshot=1), {1, 2}),
    "rebuilt": (lambda table: table.rebuild_index(dry_run=False), {1, 2, 3, 4, 5, 6}),
    "compacted": (lambda table: table.compact(full=True), {1, 2, 3, 4, 5, 6}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_table_is_no_longer_what_it_was(lake: Lake, meanwhile: Meanwhile, change: str) -> None:
    """Keys that were known may be nobody's now: they get into the index again."""
    table = dynamic(lake, target=3)
    table.write(rows([1, 2], "old"))
    table.write(rows([3, 4, 5, 6], "old"))
    action, left = CHANGES[change]
    meanwhile(lambda: action(table))
    table.write(rows([5, 6, 7], "ours"))
    wanted = {(0, key): "old" for key in left} | {(0, key): "ours" for key in (5, 6, 7)}
    assert shown(table) == wanted
    check_index(table)
    table.write(rows(range(1, 9), "last"))
    assert shown(table) == {(0, key): "last" for key in range(1, 9)}
    check_index(table)


def test_a_delete_that_comes_late(lake: Lake, meanwhile: Meanwhile) -> None:
    """A delete follows its key into the bucket where it lies now."""
    table = dynamic(lake)
    table.write(rows(range(12), "old"))
    meanwhile(lambda: table.overwrite(rows([7, 30, 31, 32, 33, 3, 4, 5], "theirs")))
    table.delete("k IN (3, 4, 8)")
    assert set(shown(table)) == {(0, key) for key in (7, 30, 31, 32, 33, 5)}
    check_index(table)


def test_moved_rows_keep_their_order(lake: Lake, meanwhile: Meanwhile) -> None:
    """Several versions of a key, in one write that is as many files: the last one stays the last one."""
    table = dynamic(lake, target=2)
    batches = [batch for number in range(3) for batch in rows([5, 6], f"ours {number}").to_batches()]
    meanwhile(lambda: table.write(rows([1, 2, 6, 5], "theirs")))
    table.write(pa.RecordBatchReader.from_batches(batches[0].schema, batches))
    assert {value for key, value in shown(table).items() if key[1] in {5, 6}} == {"ours 2"}
    check_index(table)


def test_sequence_numbers_of_moved_rows(lake: Lake, meanwhile: Meanwhile) -> None:
    """Above all that their new bucket holds, in the entries and in the files."""
    table = dynamic(lake, target=1)
    table.write(rows([9], "old"))
    for _ in range(3):
        table.write(rows([9], "old"))
    meanwhile(lambda: table.write(rows(range(1, 9), "theirs")))
    table.write(rows([1, 2, 3], "ours"))  # planned for buckets 1 to 3, of which they took all
    moved = 0
    for files in by_bucket_of(table).values():
        ours = [file for file in files if set(file["v"]) == {"ours"}]
        theirs = [file for file in files if set(file["v"]) == {"theirs"}]
        if ours and ours[0]["bucket"] > 3:
            moved += 1
            assert min(ours[0]["_SEQUENCE_NUMBER"]) > max(theirs[0]["_SEQUENCE_NUMBER"])
            assert ours[0]["min_sequence_number"] == min(ours[0]["_SEQUENCE_NUMBER"])
    assert moved
    assert {value for key, value in shown(table).items() if key[1] in {1, 2, 3}} == {"ours"}


def by_bucket_of(table: Table) -> dict[int, list[dict[str, Any]]]:
    """The files of each bucket: their entries and what is in them."""
    found: dict[int, list[dict[str, Any]]] = {}
    for entry in files_of(table):
        found.setdefault(entry["bucket"], []).append({**entry, **stored(entry).to_pydict()})
    return found


def test_a_commit_that_fails_leaves_nothing(lake: Lake, meanwhile: Meanwhile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also not of what was written when the index had changed."""
    table = dynamic(lake)
    table.write(rows(range(3), "old"))
    seen: set[str] = set()

    def fail(*_: Any) -> Any:
        seen.update(path.name for path in stored_path(table.path).rglob("*.parquet"))
        raise CommitConflictError("not today")

    def theirs() -> None:
        table.write(rows([5, 6, 7, 8], "theirs"))
        monkeypatch.setattr("lakebed.metadata.commit.commit._Attempts._attempt", fail)

    meanwhile(theirs)
    with pytest.raises(CommitConflictError, match="not today"):
        table.write(rows([3, 7, 8], "ours"))
    left = {path.name for path in stored_path(table.path).rglob("*.parquet")}
    assert left < seen
    monkeypatch.undo()
    check_files(table)
