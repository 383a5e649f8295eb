"""Changelogs that compactions make: ours read by Java, Java's read by us, and the same steps giving the same changes.

``$audit_log`` and ``$binlog`` of both sides are compared too, and what is left of changelogs whose snapshots expired.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from tests.interop.cases import Fields
from tests.interop.keyed_cases import OP, has_kinds, keyed_table
from tests.interop.oracle import Oracle
from tests.interop.ours import Ours

import lakebed

TABLE: Final = "db.t"
FIELDS: Fields = [("k", "INT"), ("a", "BIGINT"), ("b", "STRING")]
SUMS: Final = {"merge-engine": "aggregation", "fields.a.aggregate-function": "sum"}
REMOVED: Final = {**SUMS, "aggregation.remove-record-on-delete": "true"}
PARTIAL: Final = {"merge-engine": "partial-update"}
VECTORS: Final = {"deletion-vectors.enabled": "true"}
DISTINCT: Final = {"changelog-producer.row-deduplicate": "true"}
BUT_FOR_B: Final = {"changelog-producer.row-deduplicate-ignore-fields": "b"}
TABLES: dict[str, tuple[dict[str, str], bool]] = {
    "lookup": ({}, True),
    "lookup, distinct": (DISTINCT, True),
    "lookup, distinct but for b": ({**DISTINCT, **BUT_FOR_B}, True),
    "lookup, sequence field": ({"sequence.field": "a"}, False),
    "lookup, sums": (SUMS, False),
    "lookup, sums and removals": (REMOVED, True),
    "lookup, partial update": (PARTIAL, False),
    "lookup, first row": ({"merge-engine": "first-row"}, False),
    "lookup, vectors": (VECTORS, True),
    "lookup, vectors, sums": ({**VECTORS, **SUMS}, False),
    "full-compaction": ({}, True),
    "full-compaction, distinct": (DISTINCT, True),
    "full-compaction, sums": (SUMS, False),
    "full-compaction, partial update": (PARTIAL, False),
}
Change = tuple[Any, ...]


def steps(*, deletes: bool) -> list[list[Change]]:
    """A large batch first, so that compactions of the small ones stay above it."""
    random_ = random.Random(3)
    found: list[list[Change]] = [[(key, 1, random_.randbytes(100).hex()) for key in range(5, 105)]]
    for _ in range(8):
        keys = random_.sample(range(10), 4)
        rows: list[Change] = [(key, random_.randrange(3), random_.choice(["x", None])) for key in keys]
        found.append([("-D", *rows[0]), *rows[1:]] if deletes else rows)
    return found


def create(maker: Ours | Oracle, warehouse: Path, kind: str) -> None:
    options = {"bucket": "1", "changelog-producer": kind.partition(",")[0], **TABLES[kind][0]}
    maker.create_table(warehouse, TABLE, FIELDS, [], primary_keys=["k"], options=options)


def take(side: Ours | Oracle, warehouse: Path, rows: list[Change], kind: str) -> None:
    side.write(warehouse, TABLE, keyed_table(FIELDS, rows), row_kind=OP if has_kinds(rows) else None)
    if kind.startswith("full") and isinstance(side, Oracle):  # ours does so by itself
        side.compact(warehouse, TABLE, full=True)


def latest(warehouse: Path) -> int:
    table = lakebed.connect(str(warehouse)).table(TABLE)
    assert isinstance(table, lakebed.Table)
    return table.snapshots()[-1].id


def log(warehouse: Path, first: int, last: int, system: str = "audit_log") -> list[Change]:
    found = lakebed.connect(str(warehouse)).system_table(f"{TABLE}${system}")
    rows = found.scan(since=first, until=last, mode="changelog").to_arrow()
    return [tuple(row.values()) for row in rows.to_pylist()]


def java_log(java: Oracle, warehouse: Path, first: int, last: int) -> list[Change]:
    between = {"incremental-between": f"{first},{last}", "incremental-between-scan-mode": "changelog"}
    rows = java.read(warehouse, f"{TABLE}$audit_log", options=between)
    return [tuple(row.values()) for row in rows.to_pylist()]


def by_key(changes: Sequence[Change]) -> dict[int, list[Change]]:
    found: dict[int, list[Change]] = defaultdict(list)
    for change in changes:
        found[change[1]].append(change)
    return dict(found)


def replayed(changes: Sequence[Change]) -> dict[int, Change]:
    state: dict[int, Change] = {}
    for kind, *row in changes:
        if kind == "+I":
            assert row[0] not in state
        elif kind in {"-U", "-D"}:
            assert state[row[0]] == tuple(row)
        if kind in {"+I", "+U"}:
            state[row[0]] = tuple(row)
        elif kind == "-D":
            del state[row[0]]
    return state


def rows_of(side: Ours | Oracle, warehouse: Path) -> dict[int, Change]:
    return {row["k"]: tuple(row.values()) for row in side.read(warehouse, TABLE).to_pylist()}


@pytest.mark.parametrize("kind", TABLES)
def test_the_same_steps_give_the_same_changes(kind: str, ours: Ours, java: Oracle, tmp_path: Path) -> None:
    sides: list[Ours | Oracle] = [ours, java]
    homes = [tmp_path / "ours", tmp_path / "java"]
    for side, home in zip(sides, homes, strict=True):
        home.mkdir()
        create(side, home, kind)
    seen = [0, 0]
    for number, rows in enumerate(steps(deletes=TABLES[kind][1])):
        changes = []
        for i, (side, home) in enumerate(zip(sides, homes, strict=True)):
            take(side, home, rows, kind)
            made = log(home, seen[i], latest(home))
            assert by_key(java_log(java, home, seen[i], latest(home))) == by_key(made)
            seen[i] = latest(home)
            changes.append(by_key(made))
        assert changes[0] == changes[1], number
    for home in () if set(BUT_FOR_B) <= set(TABLES[kind][0]) else homes:
        state = replayed(log(home, 0, latest(home)))
        assert state == rows_of(ours, home) == rows_of(java, home)


@pytest.mark.parametrize("kind", [kind for kind in TABLES if "but for" not in kind])
def test_writers_take_turns(kind: str, ours: Ours, java: Oracle, tmp_path: Path) -> None:
    """Each builds on what the other compacted."""
    create(ours, tmp_path, kind)
    sides: list[Ours | Oracle] = [ours, java, java, ours, ours, java, ours, java, java]
    for side, rows in zip(sides, steps(deletes=TABLES[kind][1]), strict=True):
        take(side, tmp_path, rows, kind)
    changes = log(tmp_path, 0, latest(tmp_path))
    # Java's batch reads do not keep the order of commits.
    assert Counter(java_log(java, tmp_path, 0, latest(tmp_path))) == Counter(changes)
    assert replayed(changes) == rows_of(ours, tmp_path) == rows_of(java, tmp_path)


# ----------------------------------------------------------------------------------------- binlog, and what is left


def streamed(java: Oracle, warehouse: Path, system: str, first: int = 1) -> list[Change]:
    options = {"scan.mode": "from-snapshot", "scan.snapshot-id": str(first)}
    return [tuple(row.values()) for row in java.stream(warehouse, f"{TABLE}${system}", options=options).to_pylist()]


@pytest.mark.parametrize("kind", ["lookup", "lookup, sums", "full-compaction"])
def test_binlog(kind: str, ours: Ours, java: Oracle, tmp_path: Path) -> None:
    """Java packs updates where it streams."""
    create(ours, tmp_path, kind)
    for rows in steps(deletes=TABLES[kind][1])[:5]:
        take(ours, tmp_path, rows, kind)
    mine = lakebed.connect(str(tmp_path)).system_table(f"{TABLE}$binlog").scan(since=0).to_arrow().to_pylist()
    assert streamed(java, tmp_path, "binlog") == [tuple(row.values()) for row in mine]
    assert {len(row["k"]) for row in mine} == {1, 2}


def filled(side: Ours | Oracle, warehouse: Path, producer: str) -> list[Change]:
    """A table with some history; what a reader of all of it gets."""
    longer = {"changelog.num-retained.min": "30", "changelog.num-retained.max": "40", "snapshot.num-retained.min": "2"}
    options = {"bucket": "1", "changelog-producer": producer, "snapshot.num-retained.max": "30", **longer}
    side.create_table(warehouse, TABLE, FIELDS, [], primary_keys=["k"], options=options)
    for number, rows in enumerate(steps(deletes=True)[:6]):
        side.write(warehouse, TABLE, keyed_table(FIELDS, rows), row_kind=OP if has_kinds(rows) else None)
        if number == 3:
            side.compact(warehouse, TABLE, full=True)
    return all_changes(warehouse)


def all_changes(warehouse: Path) -> list[Change]:
    rows = lakebed.connect(str(warehouse)).system_table(f"{TABLE}$audit_log").scan(since=0).to_arrow()
    return [tuple(row.values()) for row in rows.to_pylist()]


@pytest.mark.parametrize("maker", ["us", "java"])
@pytest.mark.parametrize("keeper", ["us", "java"])
@pytest.mark.parametrize("producer", ["none", "input", "lookup"])
def test_changelogs_outlive_snapshots(
    producer: str, keeper: str, maker: str, ours: Ours, java: Oracle, tmp_path: Path
) -> None:
    before = filled(ours if maker == "us" else java, tmp_path, producer)
    last = latest(tmp_path)
    table = lakebed.connect(str(tmp_path)).table(TABLE)
    assert isinstance(table, lakebed.Table)
    if keeper == "us":
        table.expire_snapshots(retain_max=2, retain_min=2, older_than="2999-01-01")
    else:
        java.call("expire_with_changelogs", warehouse=str(tmp_path), table=TABLE, snapshots=2, changelogs=30)
    assert [snapshot.id for snapshot in table.snapshots()] == [last - 1, last]
    assert all_changes(tmp_path) == before
    assert Counter(streamed(java, tmp_path, "audit_log")) == Counter(before)
    assert table.verify(deep=True).ok
    # The other one lets most of them go, and what is left is still sound.
    if keeper == "us":
        java.call("expire_with_changelogs", warehouse=str(tmp_path), table=TABLE, snapshots=2, changelogs=4)
    else:
        fewer = {"changelog.num-retained.min": "4", "changelog.num-retained.max": "4", "snapshot.num-retained.max": "3"}
        there = lakebed.connect(str(tmp_path)).table(TABLE, options=fewer)
        assert isinstance(there, lakebed.Table)
        assert there.expire_snapshots(retain_max=2, retain_min=2, older_than="2999-01-01").changelogs
    rows = lakebed.connect(str(tmp_path)).system_table(f"{TABLE}$audit_log").scan(since=last - 4).to_arrow()
    assert Counter(streamed(java, tmp_path, "audit_log", last - 3)) == Counter(
        tuple(r.values()) for r in rows.to_pylist()
    )
    assert table.verify(deep=True).ok
    assert rows_of(java, tmp_path) == rows_of(ours, tmp_path)
