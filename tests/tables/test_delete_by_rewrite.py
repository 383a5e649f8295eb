"""Deletes from primary-key tables whose merge engine has no deletes: the files with the rows are rewritten."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc
import pytest
from tests.refusals import refused
from tests.rows.keyed.keyed_tables import VECTORS, check_no_orphans, check_sound, files_of, keyed, levels_of, put

import lakebed
from lakebed.errors import CommitConflictError, UnsupportedError
from lakebed.metadata.commit.identity import Identity
from lakebed.operations.delete import delete_by_rewrite
from lakebed.table.internals import store_of

BUSY = {"write-only": "false"}
LAZY = {"write-only": "true"}
PARTITIONED = "p STRING, k INT, v INT"
ENGINES: dict[str, dict[str, str]] = {
    "partial": {"merge-engine": "partial-update"},
    "partial that ignores deletes": {"merge-engine": "partial-update", "ignore-delete": "true"},
    "groups": {"merge-engine": "partial-update", "fields.s.sequence-group": "v"},
    "aggregation": {"merge-engine": "aggregation"},
    "first row": {"merge-engine": "first-row"},
    "vectors": {"merge-engine": "partial-update", **VECTORS},
}
COLUMNS = {"groups": "k INT, v INT, s INT"}


def filled(lake: lakebed.Lake, name: str, options: dict[str, str]) -> lakebed.Table:
    table = keyed(lake, COLUMNS.get(name, "k INT, v INT"), options={**options, **ENGINES[name]})
    for values in ({k: k for k in range(10)}, {20: 20, 21: 21}):
        rows = [{"k": k, "v": v, **({"s": 1} if name in COLUMNS else {})} for k, v in values.items()]
        table.write(rows)
    return table


def values(table: lakebed.Table) -> dict[int, int]:
    return {row["k"]: row["v"] for row in table.to_arrow().to_pylist()}


@pytest.mark.parametrize("name", ENGINES)
def test_rows_leave_the_compacted_files(lake: lakebed.Lake, name: str) -> None:
    table = filled(lake, name, LAZY)
    table.compact(full=True)
    levels = levels_of(table)
    made = table.delete("v >= 5 AND k <> 7")
    assert made is not None
    assert (made.operation, made.delta_record_count) == ("DELETE", -6)
    assert levels_of(table) == levels
    assert values(table) == {k: k for k in (*range(5), 7)}
    assert table.delete("k > 100") is None
    table.write([{"k": 5, "v": 50, **({"s": 1} if name in COLUMNS else {})}])
    table.compact(full=True)
    assert values(table) == {k: k for k in (*range(5), 7)} | {5: 50}
    check_sound(table)
    check_no_orphans(table)


def test_a_file_without_rows_left_is_dropped(lake: lakebed.Lake) -> None:
    table = filled(lake, "partial", LAZY)
    assert table.delete("k < 10") is not None
    assert values(table) == {20: 20, 21: 21}
    assert len(files_of(table)) == 1
    assert table.delete("k >= 0") is not None
    assert (values(table), len(files_of(table))) == ({}, 0)


@pytest.mark.parametrize("name", ["partial", "aggregation"])
def test_keys_in_several_files_need_a_compaction(lake: lakebed.Lake, name: str) -> None:
    table = filled(lake, name, LAZY)
    put(table, {1: 100})
    assert table.delete("k = 2") is not None
    refused(table.path, lambda: table.delete("k = 1"), UnsupportedError, "'COMPACT' procedure first", "not compacted")
    table.compact(full=True)
    assert table.delete("k = 1") is not None
    assert 1 not in values(table)


@pytest.mark.parametrize("name", ["first row", "vectors"])
def test_rows_that_wait_for_a_compaction_are_not_missed(lake: lakebed.Lake, name: str) -> None:
    table = filled(lake, name, LAZY)
    refused(table.path, lambda: table.delete("k = 1"), UnsupportedError, "'COMPACT' procedure first")


def test_writes_that_compact_need_no_other_compaction(lake: lakebed.Lake) -> None:
    table = filled(lake, "first row", {**BUSY, "changelog-producer": "lookup"})
    put(table, {1: 100})
    assert table.delete("k = 1") is not None
    assert 1 not in values(table)
    put(table, {1: 7})
    assert values(table)[1] == 7


def test_sequence_numbers_stay(lake: lakebed.Lake) -> None:
    table = filled(lake, "partial", LAZY)
    table.compact(full=True)
    before = max(file["max_sequence_number"] for file in files_of(table))
    table.delete("k = 5")
    assert max(file["max_sequence_number"] for file in files_of(table)) == before


def test_keys_are_looked_for_in_their_partition(lake: lakebed.Lake) -> None:
    table = keyed(
        lake, PARTITIONED, key=["p", "k"], partition_by=["p"], options={**LAZY, "merge-engine": "partial-update"}
    )
    table.write([{"p": p, "k": k, "v": k} for p in ("x", "y") for k in range(2000)])
    assert table.delete("p = 'x' AND v >= 5") is not None
    rows = table.to_arrow()
    assert {p: pc.sum(pc.equal(rows["p"], p)).as_py() for p in ("x", "y")} == {"x": 5, "y": 2000}


def test_another_compaction_conflicts(lake: lakebed.Lake) -> None:
    table = filled(lake, "partial", LAZY)
    store = store_of(table)
    planned_on = store.snapshots.latest()
    found: Any = table.scan(where="k = 1", columns=["k"]).to_arrow()
    table.compact(full=True)
    with pytest.raises(CommitConflictError):
        delete_by_rewrite(store, planned_on, found, Identity.of(table.schema))
    check_no_orphans(table)
    assert 1 in values(table)
