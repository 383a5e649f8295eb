"""Chain tables: Java Paimon reads ours and we read Java's, with the same rows, for all cases that both define.

What differs on purpose is listed here too: days without changes (we carry them), and changes off the grid of time (Java
leaves them out).
"""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.interop.oracle import Oracle, Where
from tests.interop.ours import Ours

import lakebed

CHAIN = {
    "chain-table.enabled": "true",
    "scan.fallback-snapshot-branch": "snapshot",
    "scan.fallback-delta-branch": "delta",
}
DAILY = {"partition.timestamp-pattern": "$dt", "partition.timestamp-formatter": "yyyyMMdd"}
HOURLY = {
    "partition.timestamp-pattern": "$dt $hour:00:00",
    "partition.timestamp-formatter": "yyyyMMdd H:mm:ss",  # with HH Java does not take the number 9 for an hour; we do
}
BASE = {"bucket": "2", "bucket-key": "k", "sequence.field": "s"}
FIELDS = [("k", "INT NOT NULL"), ("v", "STRING"), ("s", "BIGINT"), ("dt", "STRING NOT NULL")]


class Case:
    """A chain table: its columns and options, what is written to which branch, and what partitions are asked for."""

    def __init__(self, options: dict[str, str], partitions: list[tuple[str, str]]) -> None:
        self.options = {**BASE, **options}
        self.partitions = partitions
        self.fields = [*FIELDS[:3], *partitions]
        self.writes: list[tuple[str, str, list[tuple[Any, ...]]]] = []

    def put(self, branch: str, how: str, *rows: tuple[Any, ...]) -> "Case":
        """Rows are (kind, k, v, s, partition...)."""
        self.writes.append((branch, how, list(rows)))
        return self

    @property
    def keys(self) -> list[str]:
        return [name for name, _ in self.partitions]

    def table(self, rows: list[tuple[Any, ...]], *, kinds: bool) -> pa.Table:
        types = [pa.int32(), pa.string(), pa.int64(), *(_arrow(kind) for _, kind in self.partitions)]
        columns = {
            name: pa.array([row[1 + i] for row in rows], kind)
            for i, ((name, _), kind) in enumerate(zip(self.fields, types, strict=True))
        }
        if kinds:
            columns["op"] = pa.array([row[0] for row in rows])
        return pa.table(columns)


def _arrow(kind: str) -> pa.DataType:
    return pa.int32() if kind.startswith("INT") else pa.string()


def daily(**options: str) -> Case:
    return Case({**DAILY, **options}, [("dt", "STRING NOT NULL")])


def plain_days(**options: str) -> Case:
    return (
        daily(**options)
        .put("snapshot", "overwrite", ("+I", 1, "a", 1, "20250101"), ("+I", 2, "b", 1, "20250101"))
        .put("delta", "append", ("+I", 2, "B", 2, "20250102"), ("+I", 3, "c", 2, "20250102"))
        .put("delta", "append", ("-D", 1, "a", 3, "20250103"), ("+U", 3, "C", 3, "20250103"))
        .put("delta", "append", ("+I", 1, "again", 4, "20250104"))
        .put("snapshot", "overwrite", ("+I", 7, "full", 9, "20250105"))
        .put("delta", "append", ("+I", 7, "hidden", 9, "20250105"))
        .put("delta", "append", ("+I", 8, "after", 9, "20250106"))
    )


def hidden_by_main() -> Case:
    return plain_days().put("main", "append", ("+I", 1, "main", 1, "20250102"))


def without_anchor() -> Case:
    return (
        daily()
        .put("delta", "append", ("+I", 1, "a", 1, "20250101"))
        .put("delta", "append", ("+I", 2, "b", 1, "20250102"), ("+U", 1, "A", 2, "20250102"))
    )


def higher_sequence_wins() -> Case:
    return (
        daily()
        .put("snapshot", "overwrite", ("+I", 1, "full", 5, "20250101"), ("+I", 2, "full", 5, "20250101"))
        .put("delta", "append", ("+I", 1, "older", 4, "20250102"), ("+I", 2, "newer", 6, "20250102"))
        .put("delta", "append", ("-U", 2, "newer", 3, "20250103"))
    )


def vectors() -> Case:
    return (
        daily(**{"deletion-vectors.enabled": "true"})
        .put("snapshot", "append", ("+I", 1, "a", 1, "20250101"), ("+I", 2, "b", 1, "20250101"))
        .put("delta", "append", ("+I", 4, "five", 5, "20250102"), ("+I", 2, "six", 6, "20250102"))
        .put("delta", "append", ("+I", 4, "two", 2, "20250102"))
        .put("delta", "append", ("-D", 2, "six", 7, "20250102"))
    )


def partial_updates() -> Case:
    return (
        daily(**{"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"})
        .put("snapshot", "overwrite", ("+I", 1, "a", 1, "20250101"), ("+I", 2, "b", 1, "20250101"))
        .put("delta", "append", ("+I", 1, None, 2, "20250102"), ("-D", 2, None, 2, "20250102"))
    )


def hours_of_regions() -> Case:
    case = Case(
        {**HOURLY, "chain-table.chain-partition-keys": "dt,hour"},
        [("region", "STRING NOT NULL"), ("dt", "STRING NOT NULL"), ("hour", "INT NOT NULL")],
    )
    return (
        case.put("snapshot", "overwrite", ("+I", 1, "eu", 1, "eu", "20250101", 9))
        .put("snapshot", "overwrite", ("+I", 1, "us", 1, "us", "20250101", 10))
        .put("delta", "append", ("+I", 2, "eu", 2, "eu", "20250101", 10), ("+I", 9, "us", 2, "us", "20250101", 9))
        .put("delta", "append", ("-D", 1, "eu", 3, "eu", "20250102", 0), ("+I", 1, "US", 3, "us", "20250101", 11))
    )


CASES = {
    "days": plain_days,
    "main": hidden_by_main,
    "no anchor": without_anchor,
    "sequence": higher_sequence_wins,
    "vectors": vectors,
    "partial updates": partial_updates,
    "hours of regions": hours_of_regions,
}


def set_up(side: Any, warehouse: Path, case: Case) -> None:
    side.create_table(warehouse, "db.t", case.fields, case.keys, primary_keys=[*case.keys, "k"], options=case.options)
    for branch in ("snapshot", "delta"):
        if isinstance(side, Oracle):
            side.call("create_branch", warehouse=str(warehouse), table="db.t", branch=branch)
        else:
            side._table(warehouse, "db.t").create_branch(branch)
    for name in ("db.t$branch_snapshot", "db.t$branch_delta", "db.t"):
        side.alter(warehouse, name, [["set", key, value] for key, value in CHAIN.items()])


def write(side: Any, warehouse: Path, case: Case) -> None:
    for branch, how, rows in case.writes:
        name = "db.t" if branch == "main" else f"db.t$branch_{branch}"
        if how == "overwrite":
            spec = {key: str(rows[0][4 + i]) for i, key in enumerate(case.keys)}
            side.write(warehouse, name, case.table(rows, kinds=False), overwrite=spec)
        else:
            side.write(warehouse, name, case.table(rows, kinds=True), row_kind="op")


def asked(case: Case) -> list[Where | None]:
    """Everything, and each partition that exists by name."""
    known = sorted({row[4:] for _, _, rows in case.writes for row in rows})
    found: list[Where | None] = [None]
    for values in known:
        terms = [[key, "equal", value] for key, value in zip(case.keys, values, strict=True)]
        sql = " AND ".join(f"{key} = {value!r}" for key, _, value in terms)
        found.append(Where(terms, sql))
        found.append(Where([*terms, ["k", "equal", 2]], f"{sql} AND k = 2"))
    return found


def shown(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


def read_alike(case: Case, java: Oracle, ours: Ours, warehouse: Path) -> None:
    for where in asked(case):
        theirs, mine = java.read(warehouse, "db.t", where), ours.read(warehouse, "db.t", where)
        assert shown(mine.select(theirs.column_names)) == shown(theirs), where
        assert len(mine) > 0 or where is not None


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("writer", ["ours", "java"])
def test_both_show_the_same_rows(name: str, writer: str, java: Oracle, ours: Ours, tmp_path: Path) -> None:
    case = CASES[name]()
    side = java if writer == "java" else ours
    set_up(side, tmp_path, case)
    write(side, tmp_path, case)
    read_alike(case, java, ours, tmp_path)


@pytest.mark.parametrize("name", ["days", "vectors", "partial updates", "hours of regions"])
@pytest.mark.parametrize("writer", ["ours", "java"])
def test_full_partitions_that_we_build(name: str, writer: str, java: Oracle, ours: Ours, tmp_path: Path) -> None:
    case = CASES[name]()
    side = java if writer == "java" else ours
    set_up(side, tmp_path, case)
    write(side, tmp_path, case)
    before = shown(java.read(tmp_path, "db.t"))
    assert ours._table(tmp_path, "db.t").compact_chain(where="dt >= '20250101'")
    assert shown(java.read(tmp_path, "db.t")) == before
    read_alike(case, java, ours, tmp_path)


@pytest.mark.parametrize("writer", ["ours", "java"])
def test_overwritten_changes_empty_the_full_partition(writer: str, java: Oracle, ours: Ours, tmp_path: Path) -> None:
    side = java if writer == "java" else ours
    case = plain_days().put("delta", "overwrite", ("+I", 5, "anew", 10, "20250105"))
    set_up(side, tmp_path, case)
    write(side, tmp_path, case)
    assert (
        len(ours.read(tmp_path, "db.t$branch_snapshot", Where([["dt", "equal", "20250105"]], "dt = '20250105'"))) == 0
    )
    read_alike(case, java, ours, tmp_path)


def test_what_differs_on_purpose(java: Oracle, ours: Ours, tmp_path: Path) -> None:
    case = plain_days()
    set_up(ours, tmp_path, case)
    write(ours, tmp_path, case)
    gap = Where([["dt", "equal", "20250110"]], "dt = '20250110'")
    assert len(java.read(tmp_path, "db.t", gap)) == 0
    assert len(ours.read(tmp_path, "db.t", gap)) == 2
    ours.alter(tmp_path, "db.t", [["set", "chain-table.gap-read", "strict"]])
    assert len(ours.read(tmp_path, "db.t", gap)) == 0


@pytest.mark.parametrize("options", [{}, {"deletion-vectors.enabled": "true"}], ids=["plain", "vectors"])
def test_a_full_partition_of_which_no_row_is_left(
    options: dict[str, str], java: Oracle, ours: Ours, tmp_path: Path
) -> None:
    case = (
        daily(**options)
        .put("delta", "append", ("+I", 9, "old", 1, "20250101"))
        .put("snapshot", "overwrite", ("+I", 1, "a", 2, "20250102"), ("+I", 2, "b", 2, "20250102"))
        .put("delta", "append", ("+I", 3, "c", 3, "20250103"))
    )
    set_up(ours, tmp_path, case)
    write(ours, tmp_path, case)
    full = ours._table(tmp_path, "db.t$branch_snapshot")
    full.delete("dt = '20250102'")
    full.compact(full=True)
    read_alike(case, java, ours, tmp_path)
    shown_last = java.read(tmp_path, "db.t", Where([["dt", "equal", "20250103"]], "dt = '20250103'"))
    assert shown_last["k"].to_pylist() == [3]


# -------------------------------------------------------------------------------------- readers without chain tables


def test_a_reader_without_chain_tables_reads_the_copy_of_a_view(pypaimon: Oracle, ours: Ours, tmp_path: Path) -> None:
    case = plain_days()
    set_up(ours, tmp_path, case)
    write(ours, tmp_path, case)
    table = ours._table(tmp_path, "db.t")
    assert len(pypaimon.read(tmp_path, "db.t")) == 0  # it reads main alone, and reports no error
    lake = lakebed.connect(tmp_path)
    plain = lake.create_table("db.plain", table.arrow_schema, partition_by=table.schema.partition_keys)
    for _ in range(2):
        table.materialize_chain(plain, where="dt >= '20250101'")
    assert len(table.scan().to_arrow()) > 0
    assert shown(pypaimon.read(tmp_path, "db.plain")) == shown(table.scan().to_arrow())


# ----------------------------------------------------------------------------------------- changes that the other drops


def test_changes_that_java_drops_stay_in_the_full_partitions_that_hold_them(
    java: Oracle, ours: Ours, tmp_path: Path
) -> None:
    case = plain_days()
    set_up(ours, tmp_path, case)
    write(ours, tmp_path, case)
    table = ours._table(tmp_path, "db.t")
    table.compact_chain({"dt": "20250103"})
    before = {day: shown(table.scan(where=f"dt = '{day}'").to_arrow()) for day in ("20250103", "20250104", "20250105")}
    java.truncate(tmp_path, "db.t$branch_delta", [{"dt": "20250102"}])
    for day, rows in before.items():
        assert shown(table.scan(where=f"dt = '{day}'").to_arrow()) == rows
    assert table.verify().ok


def test_java_shows_what_it_showed_after_changes_expired(java: Oracle, ours: Ours, tmp_path: Path) -> None:
    case = plain_days()
    set_up(java, tmp_path, case)
    write(java, tmp_path, case)
    table = ours._table(tmp_path, "db.t")
    table.compact_chain({"dt": "20250103"})
    before = java.read(tmp_path, "db.t").to_pylist()
    done = table.expire_changes("2025-01-04")
    gone = {one["dt"] for one in done.without_view}
    assert gone == {"20250102"}
    left = [row for row in before if row["dt"] not in gone]
    assert shown(java.read(tmp_path, "db.t")) == sorted(map(repr, left))
