"""What goes beyond the matrix of primary-key tables, between lakebed and Java: changelogs, deletion vectors that
outlive many commits, commits that cross each other, time travel, upkeep, system tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.interop.cases import Fields, Rows, comparable, expected, table
from tests.interop.keyed_cases import CHANGES, KINDS, KVN, OP, PARTED, PKV, has_kinds, keyed_table, last_rows
from tests.interop.keyed_history import History
from tests.interop.keyed_matrix import Actor, take
from tests.interop.matrix import TABLE
from tests.interop.oracle import Oracle, OracleError
from tests.interop.ours import Ours

import lakebed
from lakebed.metadata.commit.commit import commit
from lakebed.operations.compact import compact_keyed as compact_operation

KV: Fields = [("k", "INT"), ("v", "STRING")]
LOG: Fields = [("rowkind", "STRING"), *KVN]
SMALL = {"bucket": "2", "num-sorted-run.compaction-trigger": "3"}


def opened(warehouse: Path) -> lakebed.Table:
    found = lakebed.connect(str(warehouse)).table(TABLE)
    assert isinstance(found, lakebed.Table)
    return found


def system(warehouse: Path, name: str) -> Any:
    return lakebed.connect(str(warehouse)).system_table(f"{TABLE}${name}").scan().to_arrow()


def create(maker: Actor, warehouse: Path, fields: Fields, keys: list[str], **options: str) -> None:
    parts = [key for key in keys if key == "p"]
    maker.create_table(warehouse, TABLE, fields, parts, primary_keys=keys, options={**SMALL, **options})


def both_read(sides: list[Actor], warehouse: Path, fields: Fields, rows: Rows, when: str = "", **how: Any) -> None:
    for side in sides:
        assert comparable(side.read(warehouse, TABLE, **how), fields) == expected(fields, rows), f"{side.name} {when}"


# --- changelogs ----------------------------------------------------------------------------------------------------


def with_kinds(rows: Rows) -> Rows:
    return [row if row[0] in KINDS else ("+I", *row) for row in rows]


@pytest.mark.parametrize("writers", ["us", "java", "us java"])
@pytest.mark.parametrize("vectors", ["false", "true"])
def test_changelog_is_the_input(vectors: str, writers: str, ours: Ours, java: Oracle, tmp_path: Path) -> None:
    """Every row that came in is in the changelog of its commit, also those that the merge of a batch leaves out."""
    sides: list[Actor] = [ours if name == "us" else java for name in writers.split()]
    options = {"changelog-producer": "input", "deletion-vectors.enabled": vectors}
    create(sides[0], tmp_path, KVN, ["k"], **options)
    for i, step in enumerate(CHANGES):
        take(step, sides[i % len(sides)], KVN, tmp_path)
    ours.compact(tmp_path, TABLE, full=True)
    steps: Iterator[Any] = iter(CHANGES)
    for snapshot in opened(tmp_path).snapshots():
        between = {
            "incremental-between": f"{snapshot.id - 1},{snapshot.id}",
            "incremental-between-scan-mode": "changelog",
        }
        found = java.read(tmp_path, f"{TABLE}$audit_log", options=between)
        want = with_kinds(next(steps)) if snapshot.commit_kind == "APPEND" else []
        assert comparable(found, LOG) == expected(LOG, want), snapshot.id
        assert (snapshot.changelog_record_count or 0) == len(want)
    assert next(steps, None) is None


def test_overwrite_has_no_changelog(ours: Ours, java: Oracle, tmp_path: Path) -> None:
    create(ours, tmp_path, KVN, ["k"], **{"changelog-producer": "input"})
    for side in (ours, java):
        side.write(tmp_path, TABLE, table(KVN, [(1, "a", 1), (2, "b", 2)]))
        side.write(tmp_path, TABLE, table(KVN, [(3, side.name, 3)]), overwrite={})
        latest = [s for s in opened(tmp_path).snapshots() if s.commit_kind == "OVERWRITE"][-1]
        assert latest.changelog_manifest_list is None
        both_read([ours, java], tmp_path, KVN, [(3, side.name, 3)])


@pytest.mark.parametrize("maker", ["us", "java"])
def test_audit_log_and_read_optimised(maker: str, ours: Ours, java: Oracle, tmp_path: Path) -> None:
    actor: Actor = ours if maker == "us" else java
    create(actor, tmp_path, KVN, ["k"])
    for step in CHANGES:
        take(step, actor, KVN, tmp_path)
        for name, fields in (("audit_log", LOG), ("ro", KVN)):
            its = comparable(java.read(tmp_path, f"{TABLE}${name}"), fields)
            assert comparable(system(tmp_path, name), fields) == its, name


# --- levels --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("writers", ["us", "java", "us java"])
def test_deletes_above_a_large_old_file(writers: str, ours: Ours, java: Oracle, tmp_path: Path) -> None:
    """Compacted into a middle level, deletes must stay: what they delete lies below."""
    sides: list[Actor] = [ours if name == "us" else java for name in writers.split()]
    create(ours, tmp_path, KVN, ["k"], bucket="1")
    model: dict[int, tuple[Any, ...]] = {k: (k, f"{k * 7919:x}" * 9, k * 104729) for k in range(3000)}
    java.write(tmp_path, TABLE, table(KVN, list(model.values())))
    java.compact(tmp_path, TABLE, full=True)
    for i in range(6):
        rows: Rows = [("-D", i * 10, None, None), ("-D", 2999 - i, None, None), (i * 10 + 1, f"round {i}", i)]
        sides[i % len(sides)].write(tmp_path, TABLE, keyed_table(KVN, rows), row_kind=OP)
        model |= {i * 10 + 1: (i * 10 + 1, f"round {i}", i)}
        model = {key: row for key, row in model.items() if key not in {i * 10, 2999 - i}}
        both_read([ours, java], tmp_path, KVN, list(model.values()), f"after round {i}")
    files = system(tmp_path, "files").to_pylist()
    assert any(0 < f["level"] < 3 and f["deleteRowCount"] for f in files), (
        "deletes in a middle level are what is tested"
    )
    for side in (java, ours):
        side.compact(tmp_path, TABLE, full=True)
        both_read([ours, java], tmp_path, KVN, list(model.values()), f"after a full compaction by {side.name}")


# --- deletion vectors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("maker", ["us", "java"])
@pytest.mark.parametrize("bitmap64", ["false", "true"])
def test_vectors_of_both_on_large_files(bitmap64: str, maker: str, ours: Ours, java: Oracle, tmp_path: Path) -> None:
    """Large files below stay, and each side adds marks to those of the other, commit after commit."""
    options = {"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": bitmap64}
    sides: list[Actor] = [ours, java] if maker == "us" else [java, ours]
    create(sides[0], tmp_path, KVN, ["k"], **options)
    model: dict[int, tuple[Any, ...]] = {k: (k, f"value number {k}", k) for k in range(2000)}
    sides[1].write(tmp_path, TABLE, table(KVN, list(model.values())))
    marked = []
    for i in range(8):
        changed: Rows = [(k, f"round {i}", -i) for k in range(i * 50, i * 50 + 20, 2)]
        gone: Rows = [("-D", k, None, None) for k in (i * 50 + 1, i * 50 + 5, 1999 - i)]
        sides[i % 2].write(tmp_path, TABLE, keyed_table(KVN, changed + gone), row_kind=OP)
        model |= {row[0]: row for row in changed}
        for row in gone:
            model.pop(row[1])
        both_read([ours, java], tmp_path, KVN, list(model.values()), f"after round {i} by {sides[i % 2].name}")
        marked.append(marked_rows(tmp_path))
    assert min(marked) > 0
    assert max(marked) >= 50, "the marks of several rounds must live together"
    for side in sides:
        side.compact(tmp_path, TABLE, full=True)
        both_read([ours, java], tmp_path, KVN, list(model.values()), f"after a full compaction by {side.name}")
    side.write(tmp_path, TABLE, table(KVN, [(0, "last", 0)]))
    both_read([ours, java], tmp_path, KVN, [*(r for k, r in model.items() if k), (0, "last", 0)])


def marked_rows(warehouse: Path) -> int:
    history = History(warehouse)
    for snapshot in history.snapshots:
        history.entries(snapshot["deltaManifestList"])
    index = history.index(history.snapshots[-1].get("indexManifest"))
    return sum(count for entry in index for _, _, count in entry["marked"])


# --- commits that cross --------------------------------------------------------------------------------------------


def test_java_write_that_began_before_our_compaction(ours: Ours, java: Oracle, tmp_path: Path) -> None:
    create(ours, tmp_path, KV, ["k"])
    ours.write(tmp_path, TABLE, table(KV, [(i, "old") for i in range(10)]))
    java.write(tmp_path, TABLE, table(KV, [(i, "held") for i in range(3)]), options={"write-only": "true"}, hold=True)
    ours.write(tmp_path, TABLE, table(KV, [(20, "new")]))
    ours.compact(tmp_path, TABLE, full=True)
    java.call("commit_held")
    rows: Rows = [*((i, "held" if i < 3 else "old") for i in range(10)), (20, "new")]
    both_read([ours, java], tmp_path, KV, rows)
    java.compact(tmp_path, TABLE, full=True)
    both_read([ours, java], tmp_path, KV, rows)


def test_java_compaction_that_lost_to_ours(ours: Ours, java: Oracle, tmp_path: Path) -> None:
    create(ours, tmp_path, KV, ["k"], **{"write-only": "true"})
    for value in ("a", "b"):
        ours.write(tmp_path, TABLE, table(KV, [(i, value) for i in range(10)]))
    java.compact(tmp_path, TABLE, full=True, hold=True)
    ours.compact(tmp_path, TABLE, full=True)
    with pytest.raises(OracleError, match="conflict"):
        java.call("commit_held")
    both_read([ours, java], tmp_path, KV, [(i, "b") for i in range(10)])


def test_our_compaction_that_lost_to_java(
    ours: Ours, java: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(ours, tmp_path, KV, ["k"], **{"write-only": "true"})
    for value in ("a", "b"):
        ours.write(tmp_path, TABLE, table(KV, [(i, value) for i in range(10)]))

    def late(*args: Any) -> Any:
        java.compact(tmp_path, TABLE, full=True)
        return commit(*args)

    monkeypatch.setattr(compact_operation, "commit", late)
    before = {path.name for path in tmp_path.glob("**/bucket-*/*")}
    with pytest.raises(lakebed.CommitConflictError):
        ours.compact(tmp_path, TABLE, full=True)
    after = {path.name for path in tmp_path.glob("**/bucket-*/*")}
    live = {Path(path).name for path in system(tmp_path, "files")["file_path"].to_pylist()}
    assert after - before == live, "a compaction that fails leaves no files"
    both_read([ours, java], tmp_path, KV, [(i, "b") for i in range(10)])


@pytest.mark.parametrize("vectors", ["false", "true"])
def test_our_compaction_beside_a_java_write(
    vectors: str, ours: Ours, java: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write that comes between is not lost, and its level 0 file is seen once compacted."""
    create(ours, tmp_path, KV, ["k"], **{"write-only": "true", "deletion-vectors.enabled": vectors})
    for value in ("a", "b"):
        ours.write(tmp_path, TABLE, table(KV, [(i, value) for i in range(10)]))

    def late(*args: Any) -> Any:
        java.write(tmp_path, TABLE, table(KV, [(1, "between"), (99, "between")]))
        return commit(*args)

    with monkeypatch.context() as patched:
        patched.setattr(compact_operation, "commit", late)
        ours.compact(tmp_path, TABLE, full=True)
    java.compact(tmp_path, TABLE, full=False)
    ours.compact(tmp_path, TABLE, full=vectors == "true")
    both_read([ours, java], tmp_path, KV, [(i, "between" if i == 1 else "b") for i in range(10)] + [(99, "between")])


@pytest.mark.parametrize("last", ["us", "java"])
def test_same_sequence_numbers(last: str, ours: Ours, java: Oracle, pypaimon: Oracle, tmp_path: Path) -> None:
    """Two writers that began on the same snapshot number alike.

    To Java either row may win, key by key and read by read; we and pypaimon take the later commit, and once we
    compacted that, it is so for all.
    """
    create(ours, tmp_path, KV, ["k"], **{"write-only": "true"})
    ours.write(tmp_path, TABLE, table(KV, [(i, "old") for i in range(6)]))
    values = ("us", "java") if last == "java" else ("java", "us")
    for value in values:
        java.write(tmp_path, TABLE, table(KV, [(i, value) for i in range(6)]), hold=True)
    for _ in values:
        java.call("commit_held")
    both_read([ours, pypaimon], tmp_path, KV, [(i, last) for i in range(6)])
    assert set(java.read(tmp_path, TABLE)["v"].to_pylist()) <= {"us", "java"}
    ours.compact(tmp_path, TABLE, full=True)
    both_read([ours, java, pypaimon], tmp_path, KV, [(i, last) for i in range(6)])


# --- history and upkeep --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vectors", ["false", "true"])
def test_every_snapshot_and_upkeep(vectors: str, ours: Ours, java: Oracle, tmp_path: Path) -> None:
    create(ours, tmp_path, PKV, ["p", "k"], **{"deletion-vectors.enabled": vectors})
    sides: list[Actor] = [ours, java]
    for i, step in enumerate(PARTED):
        take(step, sides[i % 2], PKV, tmp_path)
        sides[(i + 1) % 2].compact(tmp_path, TABLE, full=i % 3 == 2)
    for snapshot in opened(tmp_path).snapshots():
        options = {"scan.snapshot-id": str(snapshot.id)}
        views = [comparable(side.read(tmp_path, TABLE, options=options), PKV) for side in sides]
        assert views[0] == views[1], snapshot.id
    rows = last_rows(PARTED, 2)
    java.call("expire_snapshots", warehouse=str(tmp_path), table=TABLE, retain=1)
    both_read(sides, tmp_path, PKV, rows)
    kept = {path.name for path in tmp_path.glob("db.db/t/**/bucket-*/*")}
    assert kept == {Path(path).name for path in system(tmp_path, "files")["file_path"].to_pylist()}
    removed = java.call("remove_orphan_files", warehouse=str(tmp_path), table=TABLE, older_than_millis=2**42)
    assert removed == [], "Java took a file of ours for an orphan"
    ours.write(tmp_path, TABLE, table(PKV, [("x", 0, "last")]))
    both_read(sides, tmp_path, PKV, [row for row in rows if row[:2] != ("x", 0)] + [("x", 0, "last")])


@pytest.mark.parametrize("maker", ["us", "java"])
def test_delete_drop_and_truncate(maker: str, ours: Ours, java: Oracle, tmp_path: Path) -> None:
    sides: list[Actor] = [ours, java]
    create(sides[maker == "java"], tmp_path, PKV, ["p", "k"])
    for i, step in enumerate(PARTED):
        take(step, sides[i % 2], PKV, tmp_path)
    rows = last_rows(PARTED, 2)
    ours.delete(tmp_path, TABLE, "k >= 5 AND v LIKE 'a%'")
    rows = [row for row in rows if not (row[1] >= 5 and (row[2] or "").startswith("a"))]
    both_read(sides, tmp_path, PKV, rows)
    java.compact(tmp_path, TABLE, full=True)
    both_read(sides, tmp_path, PKV, rows)
    ours.truncate(tmp_path, TABLE, [{"p": "x"}])
    rows = [row for row in rows if row[0] != "x"]
    both_read(sides, tmp_path, PKV, rows)
    java.truncate(tmp_path, TABLE, [{"p": "y"}])
    both_read(sides, tmp_path, PKV, [row for row in rows if row[0] != "y"])
    ours.truncate(tmp_path, TABLE)
    both_read(sides, tmp_path, PKV, [])
    java.write(tmp_path, TABLE, table(PKV, [("x", 1, "again")]))
    ours.write(tmp_path, TABLE, table(PKV, [("x", 1, "and again")]))
    both_read(sides, tmp_path, PKV, [("x", 1, "and again")])


def test_pypaimon_writes_in_turn(ours: Ours, java: Oracle, pypaimon: Oracle, tmp_path: Path) -> None:
    sides: list[Actor] = [ours, pypaimon, java]
    create(pypaimon, tmp_path, PKV, ["p", "k"])
    model: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for i in range(12):
        rows: Rows = [("xy"[k % 2], k, f"{i} by {sides[i % 3].name}") for k in range(i, i + 5)]
        sides[i % 3].write(tmp_path, TABLE, table(PKV, rows))
        model |= {row[:2]: row for row in rows}
        both_read(sides, tmp_path, PKV, list(model.values()), f"after step {i}")
        if i % 4 == 3:
            sides[i % 8 // 4 * 2].compact(tmp_path, TABLE, full=i == 7)
            both_read(sides, tmp_path, PKV, list(model.values()), f"after the compaction of step {i}")


def test_fewer_levels_than_before(ours: Ours, java: Oracle, tmp_path: Path) -> None:
    """Files in a level that the options no longer know stay where they are, for both."""
    create(ours, tmp_path, KV, ["k"], **{"num-sorted-run.compaction-trigger": "6"})
    java.write(tmp_path, TABLE, table(KV, [(i, "old") for i in range(10)]))
    java.compact(tmp_path, TABLE, full=True)
    ours.alter(tmp_path, TABLE, [["set", "num-sorted-run.compaction-trigger", "2"]])
    rows: dict[int, str] = dict.fromkeys(range(10), "old")
    for i in range(6):
        side: Actor = (ours, java)[i % 2]
        given: Rows = [(i, f"round {i}"), ("-D", 9 - i, None)] if i < 4 else [(i, f"round {i}")]
        side.write(tmp_path, TABLE, keyed_table(KV, given), row_kind=OP if has_kinds(given) else None)
        rows[i] = f"round {i}"
        if i < 4:
            rows.pop(9 - i)
        both_read([ours, java], tmp_path, KV, list(rows.items()), f"after round {i}")
    ours.compact(tmp_path, TABLE, full=True)
    both_read([ours, java], tmp_path, KV, list(rows.items()))
    levels = set(system(tmp_path, "files")["level"].to_pylist())
    assert levels == {6}


def test_more_buckets(ours: Ours, java: Oracle, tmp_path: Path) -> None:
    """A rescale: the option changes, then an overwrite moves the rows; until then writes are refused by both."""
    create(ours, tmp_path, KV, ["k"])
    ours.write(tmp_path, TABLE, table(KV, [(i, "a") for i in range(20)]))
    ours.alter(tmp_path, TABLE, [["set", "bucket", "5"]])
    for side, refusal in ((ours, lakebed.LakebedError), (java, OracleError)):
        with pytest.raises(refusal):
            side.write(tmp_path, TABLE, table(KV, [(i, "refused") for i in range(20)]))
    both_read([ours, java], tmp_path, KV, [(i, "a") for i in range(20)])
    ours.write(tmp_path, TABLE, ours.read(tmp_path, TABLE), overwrite={})
    both_read([ours, java], tmp_path, KV, [(i, "a") for i in range(20)])
    java.write(tmp_path, TABLE, table(KV, [(i, "b") for i in range(0, 20, 2)]))
    ours.write(tmp_path, TABLE, table(KV, [(i, "c") for i in range(0, 20, 4)]))
    rows: Rows = [(i, "c" if i % 4 == 0 else "b" if i % 2 == 0 else "a") for i in range(20)]
    both_read([ours, java], tmp_path, KV, rows)
    java.compact(tmp_path, TABLE, full=True)
    both_read([ours, java], tmp_path, KV, rows)


def test_not_a_number_as_a_key(ours: Ours, java: Oracle, tmp_path: Path) -> None:
    """To Java NaN is a key like others, and equal to itself."""
    fields: Fields = [("k", "DOUBLE"), ("v", "STRING")]
    nan = float("nan")
    create(java, tmp_path, fields, ["k"])
    java.write(tmp_path, TABLE, table(fields, [(nan, "a"), (1.0, "a"), (-0.0, "a"), (float("inf"), "a")]))
    java.write(tmp_path, TABLE, table(fields, [(nan, "b"), (0.0, "b")]))
    rows: Rows = [(nan, "b"), (1.0, "a"), (-0.0, "a"), (0.0, "b"), (float("inf"), "a")]
    both_read([ours, java], tmp_path, fields, rows)
    ours.compact(tmp_path, TABLE, full=True)
    both_read([ours, java], tmp_path, fields, rows)
    java.write(tmp_path, TABLE, table(fields, [(nan, "c"), (-0.0, "c")]))
    ours.compact(tmp_path, TABLE, full=True)
    both_read([ours, java], tmp_path, fields, [(nan, "c"), (1.0, "a"), (-0.0, "c"), (0.0, "b"), (float("inf"), "a")])
