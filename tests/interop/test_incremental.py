"""Incremental reads, we and Java Paimon on the same tables.

Java gives ``delta`` and ``changelog`` rows with their kinds; batch SQL drops the deletes, and so do we: what must agree
is its ``$audit_log`` without -D and -U. For ``diff`` Java takes files that are in both states out before it compares,
so that a row which was written again as it was counts as changed if its old file is still there, and every row of a
rewritten file of an append table counts as new. We compare rows: what Java gives beyond that are rows that the earlier
state had just so. Nor do we look at level 0 of tables with deletion vectors, as no other read of such a state does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.interop.cases import Fields, Rows, table
from tests.interop.keyed_cases import OP, has_kinds, keyed_table
from tests.interop.oracle import Oracle, OracleError
from tests.interop.ours import Ours

import lakebed
from lakebed.format.snapshot import CommitKind

TABLE = "db.t"
KV: Fields = [("k", "INT"), ("v", "STRING")]
COMPACT, FULL = "compact", "full"
Step = Any

STEPS: Sequence[Step] = [
    [(k, "a") for k in range(6)],
    [(1, "b"), ("-D", 2, None), (3, "a")],
    [(3, "c"), (7, "n"), ("-U", 4, "a"), ("+U", 4, "d")],
    COMPACT,
    [(7, "m"), ("-D", 3, "c"), (2, "again")],
    FULL,
    [(1, "b"), (8, "x"), (8, "y")],
    {"overwrite": [(9, "o"), (1, "b")]},
    [(9, "p"), ("-D", 1, "b")],
    FULL,
    [(1, "last")],
]
APPENDS: Sequence[Step] = [
    [(1, "a"), (2, "b")],
    [(1, "a"), (3, "c")],
    COMPACT,
    {"overwrite": [(1, "a"), (9, "o")]},
    [(4, "d")],
    [(5, "e")],
    FULL,
    [(6, "f")],
]
KINDS: dict[str, tuple[list[str], dict[str, str], Sequence[Step]]] = {
    "append": ([], {}, APPENDS),
    "append in buckets": ([], {"bucket": "2", "bucket-key": "k"}, APPENDS),
    "keyed": (["k"], {}, STEPS),
    "input": (["k"], {"changelog-producer": "input"}, STEPS),
    "vectors": (["k"], {"deletion-vectors.enabled": "true"}, STEPS),
    "vectors and input": (["k"], {"deletion-vectors.enabled": "true", "changelog-producer": "input"}, STEPS),
}


def opened(warehouse: Path) -> lakebed.Table:
    found = lakebed.connect(str(warehouse)).table(TABLE)
    assert isinstance(found, lakebed.Table)
    return found


def create(maker: Ours | Oracle, warehouse: Path, keys: list[str], options: dict[str, str]) -> None:
    small = {"bucket": "2", "num-sorted-run.compaction-trigger": "4"} if keys else {}
    maker.create_table(warehouse, TABLE, KV, [], primary_keys=keys, options={**small, **options})


def take(step: Step, side: Ours | Oracle, ours: Ours, warehouse: Path, *, keyed: bool) -> None:
    if step in {COMPACT, FULL} if isinstance(step, str) else False:
        (side if keyed else ours).compact(warehouse, TABLE, full=step == FULL)
    elif isinstance(step, dict):
        side.write(warehouse, TABLE, table(KV, step["overwrite"]), overwrite={})
    else:
        side.write(warehouse, TABLE, keyed_table(KV, step), row_kind=OP if has_kinds(step) else None)


def between(first: object, last: object, mode: str | None = None, **more: str) -> dict[str, str]:
    chosen = {} if mode is None else {"incremental-between-scan-mode": mode}
    return {"incremental-between": f"{first},{last}", **chosen, **more}


def bag(rows: Any) -> Counter[Any]:
    return Counter(tuple(row.values()) for row in rows.to_pylist())


def upserts(java: Oracle, warehouse: Path, options: dict[str, str]) -> Counter[Any]:
    log = java.read(warehouse, f"{TABLE}$audit_log", options=options).to_pylist()
    return Counter(tuple(row.values())[1:] for row in log if row["rowkind"] in {"+I", "+U"})


def ours_with(warehouse: Path, options: dict[str, str]) -> Counter[Any]:
    return bag(lakebed.connect(str(warehouse)).table(TABLE, options=options).scan().to_arrow())


def has_level_0(mine: lakebed.Table, *snapshots: int) -> bool:
    """Whether one of the states has files that reads of tables with deletion vectors leave out, but Java's diff does
    not.
    """
    return any(mine.snapshot(number).commit_kind is not CommitKind.COMPACT for number in snapshots)


@pytest.mark.parametrize("writers", ["us", "java", "us java"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_interval(kind: str, writers: str, ours: Ours, java: Oracle, tmp_path: Path) -> None:
    keys, options, steps = KINDS[kind]
    sides = [ours if name == "us" else java for name in writers.split()]
    create(sides[0], tmp_path, keys, options)
    for number, step in enumerate(steps):
        take(step, sides[number % len(sides)], ours, tmp_path, keyed=bool(keys))
    mine = opened(tmp_path)
    states = {snapshot.id: bag(mine.scan(version=snapshot.id).to_arrow()) for snapshot in mine.snapshots()}
    last = max(states)
    seen: Counter[str] = Counter()
    pairs = [(i, j) for i in range(last + 1) for j in (i + 1, i + 3, last) if i < j <= last]
    for i, j in pairs:
        for mode in ("auto", "delta", "changelog"):
            want = upserts(java, tmp_path, between(i, j, mode))
            assert bag(mine.scan(since=i, until=j, mode=mode).to_arrow()) == want, (mode, i, j)
            seen[mode] += want.total()
        if i:
            found = bag(mine.scan(since=i, until=j, mode="diff").to_arrow())
            theirs = upserts(java, tmp_path, between(i, j, "diff"))
            assert found == states[j] - states[i], (i, j)
            if not ("vectors" in kind and has_level_0(mine, i, j)):
                assert found == theirs - states[i] if keys else found <= theirs, (i, j)
            seen["diff"] += found.total()
    assert seen["auto"]
    assert seen["diff"]
    assert bool(seen["changelog"]) == ("input" in kind)


@pytest.mark.parametrize("producer", ["full-compaction", "lookup"])
def test_changelogs_that_java_made(producer: str, java: Oracle, tmp_path: Path) -> None:
    create(java, tmp_path, ["k"], {"changelog-producer": producer})
    batches: list[Rows] = [[(1, "a"), (2, "a"), (3, "a")], [(1, "b"), ("-D", 2, None)], [("-D", 1, None), (3, "c")]]
    for rows in batches:
        java.write(tmp_path, TABLE, keyed_table(KV, rows), row_kind=OP if has_kinds(rows) else None)
        java.compact(tmp_path, TABLE, full=True)
    mine = opened(tmp_path)
    last = mine.snapshots()[-1].id
    for i in range(last):
        for j in range(i + 1, last + 1):
            assert bag(mine.scan(since=i, until=j).to_arrow()) == upserts(java, tmp_path, between(i, j)), (i, j)
    assert bag(mine.scan(since=0).to_arrow()).total() > 3


def test_tags_times_and_modes(ours: Ours, java: Oracle, tmp_path: Path) -> None:
    create(ours, tmp_path, ["k"], {})
    for step in STEPS:
        take(step, ours, ours, tmp_path, keyed=True)
    mine = opened(tmp_path)
    last = mine.snapshots()[-1].id
    java.call("create_tag", warehouse=str(tmp_path), table=TABLE, tag="early", snapshot=1)
    java.call("create_tag", warehouse=str(tmp_path), table=TABLE, tag="late", snapshot=last)
    before = bag(mine.scan(tag="early").to_arrow())
    for mode in (None, "auto", "delta", "changelog", "diff"):
        options = between("early", "late", mode)
        assert ours_with(tmp_path, options) == upserts(java, tmp_path, options) - before, mode
        if mode != "diff":
            options |= {"incremental-between-tag-to-snapshot": "true"}
            assert ours_with(tmp_path, options) == upserts(java, tmp_path, options), mode
    times = [snapshot.time_millis for snapshot in mine.snapshots()]
    for first, end in ((times[0], times[3]), (times[2] - 1, times[-1] + 9), (times[0] - 9, times[1]), (5, 9)):
        options = {"incremental-between-timestamp": f"{first},{end}"}
        assert ours_with(tmp_path, options) == upserts(java, tmp_path, options), (first, end)
    for options in (between(5, 2), between(1, 99), between("early", "nope"), {"incremental-between-timestamp": "9,5"}):
        with pytest.raises(OracleError):
            java.read(tmp_path, TABLE, options=options)
        with pytest.raises(lakebed.LakebedError):
            ours_with(tmp_path, options)


def test_automatic_tags(ours: Ours, java: Oracle, tmp_path: Path) -> None:
    create(ours, tmp_path, ["k"], {})
    names = ["2025-01-01", "2025-01-02", "2025-01-10"]
    for number, name in enumerate(names):
        ours.write(tmp_path, TABLE, table(KV, [(number, name), (9, name)]))
        java.call("create_tag", warehouse=str(tmp_path), table=TABLE, tag=name, snapshot=number + 1)
    java.call("create_tag", warehouse=str(tmp_path), table=TABLE, tag="other", snapshot=2)
    for name in (*names, "2025-01-05"):
        options = {"incremental-to-auto-tag": name}
        assert ours_with(tmp_path, options) == upserts(java, tmp_path, options), name
    assert ours_with(tmp_path, {"incremental-to-auto-tag": names[2]}) == Counter([(2, names[2]), (9, names[2])])


def test_schema_of_today(ours: Ours, java: Oracle, tmp_path: Path) -> None:
    create(ours, tmp_path, ["k"], {})
    ours.write(tmp_path, TABLE, table(KV, [(1, "a"), (2, "a")]))
    java.write(tmp_path, TABLE, table(KV, [(2, "b")]))
    java.alter(tmp_path, TABLE, [["add", "n", "INT"], ["rename", "v", "u"]])
    more: Fields = [("k", "INT"), ("u", "STRING"), ("n", "INT")]
    java.write(tmp_path, TABLE, table(more, [(3, "c", 3)]))
    java.compact(tmp_path, TABLE, full=True)
    mine = opened(tmp_path)
    for mode in ("delta", "diff"):
        for i, j in ((1, 2), (1, 3), (2, 4), (1, 4)):
            found = mine.scan(since=i, until=j, mode=mode).to_arrow()
            theirs = java.read(tmp_path, TABLE, options=between(i, j, mode))
            assert found.column_names == theirs.column_names == ["k", "u", "n"]
            assert bag(found) == bag(theirs), (mode, i, j)


def test_pypaimon_between_times(ours: Ours, pypaimon: Oracle, tmp_path: Path) -> None:
    """The one kind of incremental read that pypaimon knows."""
    create(ours, tmp_path, [], {})
    for number in range(5):
        ours.write(tmp_path, TABLE, table(KV, [(number, "a")]))
    ours.compact(tmp_path, TABLE, full=True)
    times = [snapshot.time_millis for snapshot in opened(tmp_path).snapshots()]
    for first, last in ((times[0], times[3]), (times[1], times[-1]), (times[0] - 1, times[2])):
        options = {"incremental-between-timestamp": f"{first},{last}"}
        assert ours_with(tmp_path, options) == bag(pypaimon.read(tmp_path, TABLE, options=options)), (first, last)
