"""The merge of files of one bucket: which files are opened for what, which versions win, what a compaction replaces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.rows.keyed.keyed_tables import (
    VECTORS,
    Row,
    compact_with,
    current,
    entries_of,
    files_of,
    keyed,
    only,
    put,
    reader_of,
    stored,
    typed,
)
from tests.rows.keyed.parquet_reads import Reads

import lakebed
from lakebed.format.row_kind import KIND_COLUMN
from lakebed.format.schema.table_schema import SEQUENCE_COLUMN
from lakebed.metadata.plan.levels import LevelFile, level_files, oldest_first
from lakebed.rows.keyed.keyed_merge import Piece
from lakebed.rows.keyed.keyed_read import KeyedReader

WIDE = "k INT, v INT, w STRING"


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)


def wide(keys: range, v: int) -> list[Row]:
    return [{"k": k, "v": v, "w": f"w{v}"} for k in keys]


# ----------------------------------------------------------------------------------------------------------- late fetch


def test_other_columns_are_read_only_of_files_with_winners(lake: lakebed.Lake, reads: Reads) -> None:
    table = keyed(lake, WIDE)
    for v, keys in enumerate((range(10), range(5), range(10, 20), range(20))):
        table.write(typed(table, wide(keys, v)))
    table.write(typed(table, wide(range(15, 30), 9)))
    names = [entry["file_name"] for entry in files_of(table)]
    shown = table.scan(["w", "k"]).to_arrow()
    assert shown["w"].value_counts().to_pylist() == [{"values": "w3", "counts": 15}, {"values": "w9", "counts": 15}]
    assert ["w" in reads.columns(name) for name in names] == [False, False, False, True, True]
    assert all({"k", KIND_COLUMN} <= reads.columns(name) for name in names)
    assert all(SEQUENCE_COLUMN not in reads.columns(name) for name in names), "the order of files tells what is newer"
    assert all("v" not in reads.columns(name) for name in names), "a column that nobody asked for"


def test_a_key_condition_decides_where_the_winners_are(lake: lakebed.Lake, reads: Reads) -> None:
    table = keyed(lake, WIDE)
    table.write(typed(table, wide(range(10), 1)))
    table.write(typed(table, wide(range(5, 15), 2)))
    first, second = (entry["file_name"] for entry in files_of(table))
    assert table.scan(["w"], where="k = 7").to_arrow().to_pylist() == [{"w": "w2"}]
    assert "w" not in reads.columns(first)
    assert [rows for name, _, rows in reads.log if name == second] == [1, 1]


def test_keys_alone_need_no_second_read(lake: lakebed.Lake, reads: Reads) -> None:
    table = keyed(lake, WIDE)
    table.write(typed(table, wide(range(10), 1)))
    table.write(typed(table, wide(range(5, 15), 2)))
    assert sorted(table.scan(["k"]).to_arrow()["k"].to_pylist()) == list(range(15))
    assert len(reads.log) == 2


def test_engines_that_combine_read_every_version(lake: lakebed.Lake, reads: Reads) -> None:
    table = keyed(lake, WIDE, options={"merge-engine": "partial-update"})
    table.write(typed(table, wide(range(10), 1)))
    table.write(typed(table, [{"k": k, "v": None, "w": "new"} for k in range(10)]))
    assert table.scan(["v"]).to_arrow()["v"].to_pylist() == [1] * 10
    assert all("v" in reads.columns(entry["file_name"]) for entry in files_of(table))
    assert all("w" not in reads.columns(entry["file_name"]) for entry in files_of(table))


# --------------------------------------------------------------------------------------------------- the newest version

VERSIONS = st.lists(
    st.lists(
        st.tuples(st.integers(0, 5), st.none() | st.integers(0, 3), st.sampled_from(["+I", "-D"])),
        min_size=1,
        max_size=6,
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize("options", [{}, {"sequence.field": "v"}], ids=str)
@settings(max_examples=examples(10), deadline=None, suppress_health_check=list(HealthCheck))
@given(commits=VERSIONS)
def test_the_newest_row_of_a_key_wins(
    module_lake: lakebed.Lake, options: dict[str, str], commits: list[list[tuple[int, int | None, str]]]
) -> None:
    table = keyed(module_lake, options=options)
    versions: dict[int, list[tuple[Any, ...]]] = {}
    number = 0
    for rows in commits:
        table.write(typed(table, [{"k": k, "v": v} for k, v, _ in rows], [kind for *_, kind in rows]), row_kind="op")
        for k, v, kind in rows:
            by_user = (-1 if v is None else v) if options else 0
            versions.setdefault(k, []).append((by_user, number, v, kind))
            number += 1
    newest = {k: max(found, key=lambda version: version[:2]) for k, found in sorted(versions.items())}
    assert current(table) == {k: v for k, (_, _, v, kind) in newest.items() if kind == "+I"}
    if not options:  # else numbers of rows that lost inside their batch are given again
        numbers = {row["k"]: row[SEQUENCE_COLUMN] for row in merge_all(table).to_pylist()}
        assert numbers == {k: new[1] for k, new in newest.items()}


def merge_all(table: lakebed.Table) -> pa.Table:
    """All files of a table merged, retractions included."""
    entries = entries_of(table)
    files = level_files(entries, [key.type for key in reader_of(table).keys])
    pieces = reader_of(table).merge_pieces(entries, files, [])
    return pa.concat_tables([piece.rows for piece in pieces])


def test_merged_rows_carry_their_number_and_kind(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    put(table, {1: 1, 2: 2, 3: 3})
    put(table, {2: 20}, "+U")
    put(table, {3: 30}, "-D")
    rows = {row.pop("k"): row for row in merge_all(table).to_pylist()}
    assert rows == {
        1: {"v": 1, SEQUENCE_COLUMN: 0, KIND_COLUMN: 0},
        2: {"v": 20, SEQUENCE_COLUMN: 3, KIND_COLUMN: 2},
        3: {"v": 30, SEQUENCE_COLUMN: 4, KIND_COLUMN: 3},
    }


# ------------------------------------------------------------------------------------------------- files that lie below


def merge_above(
    table: lakebed.Table, above: set[int], budget: int = 2**30
) -> tuple[list[Row], dict[str, list[int]], list[Piece]]:
    """Merge files of some levels over the others: the rows, and what of the others they replace."""
    entries = entries_of(table)
    reader: KeyedReader = reader_of(table, budget=budget)
    files: list[LevelFile] = level_files(entries, [key.type for key in reader.keys])
    chosen = [file for file in files if file.level in above]
    pieces = list(reader.merge_pieces(entries, chosen, [file for file in files if file.level not in above]))
    replaced: dict[str, list[int]] = {}
    for piece in pieces:
        for name, positions in piece.replaced.items():
            replaced.setdefault(name, []).extend(positions.tolist())
    rows = pa.concat_tables([piece.rows for piece in pieces]).sort_by("k").to_pylist()
    return rows, {name: sorted(positions) for name, positions in replaced.items()}, pieces


@pytest.mark.parametrize("budget", [1, 2**30])
def test_only_keys_above_come_out_and_only_their_old_rows_are_replaced(lake: lakebed.Lake, budget: int) -> None:
    table = keyed(lake, options={**VECTORS, "merge-engine": "partial-update"})
    put(table, {k: k for k in range(10)})
    compact_with(table, only(5, 0))
    put(table, {3: None, 7: 70, 20: 20})
    (old,) = (entry["file_name"] for entry in files_of(table) if entry["level"] == 5)
    rows, replaced, pieces = merge_above(table, {0}, budget)
    assert (len(pieces) > 1) == (budget == 1)
    assert [(row["k"], row["v"]) for row in rows] == [(3, 3), (7, 70), (20, 20)]
    assert replaced == {old: [3, 7]}


def test_positions_are_physical_ones(lake: lakebed.Lake) -> None:
    """Rows that a vector marks already count in the positions, and are not replaced a second time."""
    table = keyed(lake, options=VECTORS)
    put(table, {k: k for k in range(10)})
    compact_with(table, only(5, 0))
    put(table, {2: -1, 5: -1})
    compact_with(table, only(4, 0))
    put(table, {5: -2, 6: -2})
    by_level = {entry["level"]: entry["file_name"] for entry in files_of(table)}
    rows, replaced, _ = merge_above(table, {0})
    assert [(row["k"], row["v"]) for row in rows] == [(5, -2), (6, -2)]
    assert replaced == {by_level[4]: [1], by_level[5]: [6]}


def test_a_row_below_that_wins_comes_up(lake: lakebed.Lake) -> None:
    """With a sequence field an older file may hold the newer row: it replaces what came, and moves with it."""
    table = keyed(lake, options={**VECTORS, "sequence.field": "v"})
    put(table, {1: 100, 2: 1})
    compact_with(table, only(5, 0))
    put(table, {1: 50, 2: 50})
    (old,) = (entry["file_name"] for entry in files_of(table) if entry["level"] == 5)
    rows, replaced, _ = merge_above(table, {0})
    assert [(row["k"], row["v"], row[SEQUENCE_COLUMN]) for row in rows] == [(1, 100, 0), (2, 50, 3)]
    assert replaced == {old: [0, 1]}


def test_a_first_row_below_stays_there(lake: lakebed.Lake) -> None:
    table = keyed(lake, options={"merge-engine": "first-row"})
    put(table, {1: 1, 2: 1})
    compact_with(table, only(5, 0))
    put(table, {2: 2, 3: 2})
    rows, _, _ = merge_above(table, {0})
    assert [(row["k"], row["v"]) for row in rows] == [(3, 2)]


# ------------------------------------------------------------------------------------------------------- files in order


def file(row: int, level: int, low: int, high: int) -> LevelFile:
    return LevelFile(row, level, 0, 9, 1, high, low, has_deletes=False)


def test_files_in_sequence_are_ordered_by_it() -> None:
    files = [file(0, 0, 7, 9), file(1, 5, 0, 3), file(2, 0, 4, 6)]
    assert [f.row for f in oldest_first(files)] == [1, 2, 0]


def test_files_whose_numbers_meet_are_ordered_by_their_commits() -> None:
    files = [file(0, 0, 4, 9), file(1, 0, 4, 4), file(2, 5, 0, 3), file(3, 0, 10, 12)]
    assert [f.row for f in oldest_first(files)] == [2, 0, 1, 3]


def test_commits_keep_their_order_in_the_entries(lake: lakebed.Lake) -> None:
    """What the order of equal numbers relies on."""
    table = keyed(lake, options={"bucket": "2"})
    for i in range(8):
        put(table, dict.fromkeys(range(10), i))
        if i == 3:
            table.compact(full=True)
    for bucket in (0, 1):
        values = [
            stored(entry)["v"][0].as_py()
            for entry in files_of(table)
            if entry["bucket"] == bucket and entry["level"] == 0
        ]
        assert values == [4, 5, 6, 7]
    assert np.all(np.diff([entry["max_sequence_number"] for entry in files_of(table) if entry["bucket"] == 0]) > 0)
