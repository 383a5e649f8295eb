"""Compaction: what it writes where, what it drops, what it leaves alone, and what it says about that."""

from __future__ import annotations

import tempfile
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.lakes import open_lake
from tests.metadata.stores import files_below
from tests.places import delete_tree, stored_path
from tests.rows.keyed.keyed_tables import (
    VECTORS,
    Row,
    check_sound,
    compact_with,
    current,
    files_of,
    index_of,
    key_of,
    keyed,
    levels_of,
    marked,
    only,
    pairs,
    planned,
    put,
    stored,
    typed,
)

import lakebed
from lakebed import changes
from lakebed.format.manifest.manifest import SOURCE_APPEND, SOURCE_COMPACT
from lakebed.format.snapshot import CommitKind
from lakebed.rows.keyed import keyed_read
from lakebed.rows.keyed.keyed_read import KeyedReader

DEDUPLICATE: dict[str, str] = {}
AGGREGATION = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}


def names(table: lakebed.Table) -> set[str]:
    return {entry["file_name"] for entry in files_of(table)}


def wide_values(keys: range, value: str) -> list[Row]:
    return [{"k": k, "v": f"{value} {k * 7919 % 10007}"} for k in keys]


# -------------------------------------------------------------------------------------------------------------- results


def test_everything_becomes_one_file_of_the_highest_level(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    for i in range(4):
        put(table, dict.fromkeys(range(i, i + 5), i))
    before = current(table)
    made = table.compact(full=True)
    assert made is not None
    assert made.commit_kind is CommitKind.COMPACT
    assert (made.total_record_count, made.delta_record_count) == (8, 8 - 20)
    (entry,) = files_of(table)
    assert (entry["level"], entry["file_source"], entry["delete_row_count"]) == (5, SOURCE_COMPACT, 0)
    # Rows keep the numbers that they came with: no reader may take them for newer than what others wrote meanwhile.
    assert stored(entry)["_SEQUENCE_NUMBER"].to_pylist() == [0, 5, 10, 15, 16, 17, 18, 19]
    assert (entry["min_sequence_number"], entry["max_sequence_number"]) == (0, 19)
    check_sound(table)
    assert current(table) == before
    assert current(table, version=made.id - 1) == before
    assert table.compact(full=True) is None
    assert table.compact() is None


@pytest.mark.parametrize("options", [DEDUPLICATE, VECTORS, AGGREGATION, {"merge-engine": "first-row"}], ids=str)
def test_a_second_full_compaction_finds_nothing(lake: lakebed.Lake, options: dict[str, str]) -> None:
    table = keyed(lake, "p INT, k INT, v INT", key=["p", "k"], partition_by=["p"], options={**options, "bucket": "2"})
    for i in range(3):
        table.write(typed(table, [{"p": p, "k": k, "v": i} for p in (1, 2) for k in range(i, i + 4)]))
        compact_with(table, only(5 - i, 0))
    if options in (DEDUPLICATE, VECTORS):
        table.delete("k = 3")
    assert table.compact(full=True) is not None
    assert set(levels_of(table)) == {5}
    assert marked(table) == {}
    assert table.compact(full=True) is None
    check_sound(table)


def test_where_nothing_is_there_is_nothing_to_do(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    assert table.compact(full=True) is None
    assert table.latest_snapshot() is None
    put(table, {1: 1})
    table.truncate()
    assert table.compact(full=True) is None


def test_when_every_row_is_deleted_no_file_is_left(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    put(table, {1: 1, 2: 2})
    put(table, {1: 1, 2: 2}, "-D")
    made = table.compact(full=True)
    assert made is not None
    assert (files_of(table), made.total_record_count) == ([], 0)
    put(table, {1: 5})
    assert current(table) == {1: 5}


def test_a_small_target_makes_several_files(lake: lakebed.Lake) -> None:
    table = keyed(lake, "k INT, v STRING", options={"target-file-size": "2 kb"})
    for i, keys in enumerate((range(0, 2000, 2), range(0, 2000, 3), range(500, 700))):
        table.write(typed(table, wide_values(keys, f"v{i}")))
    table.compact(full=True)
    files = files_of(table)
    assert len(files) > 3
    assert {entry["level"] for entry in files} == {5}
    check_sound(table)
    ordered = sorted(files, key=lambda entry: key_of(table, entry["min_key"]))
    written = [key for entry in ordered for key in stored(entry)["_KEY_k"].to_pylist()]
    assert written == sorted({*range(0, 2000, 2), *range(0, 2000, 3), *range(500, 700)})
    assert table.compact(full=True) is None


def test_pieces_of_a_large_merge_come_in_key_order(lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory for one piece at a time, and still one sorted file."""
    table = keyed(lake, "a STRING, b INT, v INT", key=["a", "b"])
    for v in range(3):
        table.write(typed(table, [{"a": a, "b": b, "v": v} for a in "xyz"[v:] + "w" for b in range(4)]))
    before = sorted(map(str, table.scan().to_arrow().to_pylist()))
    pieces = []
    original = KeyedReader.merge_pieces

    def spy(self: KeyedReader, *arguments: Any, **more: Any) -> Any:
        small = keyed_read.KeyedReader(self.store, self.schema, self.columns, deleted=self.deleted, budget=1)
        for piece in original(small, *arguments, **more):
            pieces.append(len(piece.rows))
            yield piece

    monkeypatch.setattr(KeyedReader, "merge_pieces", spy)
    table.compact(full=True)
    assert len(pieces) > 2
    check_sound(table)
    assert len(files_of(table)) == 1
    assert sorted(map(str, table.scan().to_arrow().to_pylist())) == before


# --------------------------------------------------------------------------------------------------- deletes and levels


def test_a_delete_above_older_rows_survives_a_minor_compaction(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    put(table, {1: 1, 2: 2, 3: 3})
    table.compact(full=True)
    put(table, {1: None}, "-D")
    put(table, {4: 4})
    compact_with(table, only(4, 0))
    assert levels_of(table) == [4, 5]
    (above,) = (entry for entry in files_of(table) if entry["level"] == 4)
    assert above["delete_row_count"] == 1
    assert [(row["k"], row["_VALUE_KIND"]) for row in stored(above).to_pylist()] == [(1, 3), (4, 0)]
    assert current(table) == {2: 2, 3: 3, 4: 4}, "the old row came back"
    check_sound(table)
    table.compact(full=True)
    (entry,) = files_of(table)
    assert (entry["delete_row_count"], entry["row_count"]) == (0, 3)
    assert current(table) == {2: 2, 3: 3, 4: 4}


def test_universal_compaction_keeps_deletes_above_a_large_level(lake: lakebed.Lake) -> None:
    """The same by what the table picks itself."""
    table = keyed(lake, options={"num-sorted-run.compaction-trigger": "3"})
    put(table, dict.fromkeys(range(3000), 0))
    table.compact(full=True)
    for k in range(3):
        put(table, {k: None}, "-D")
    assert table.compact() is not None
    assert levels_of(table) == [2, 3]
    assert min(current(table)) == 3
    assert sum(entry["delete_row_count"] for entry in files_of(table)) == 3


def test_deletes_are_dropped_when_nothing_is_below(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    put(table, {1: 1, 2: 2})
    put(table, {1: None}, "-D")
    compact_with(table, only(3, 0))
    (entry,) = files_of(table)
    assert (entry["level"], entry["row_count"], entry["delete_row_count"]) == (3, 1, 0)


def test_a_file_that_meets_no_other_is_moved_and_not_written_again(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    put(table, {1: 1, 2: 2})
    (before,) = files_of(table)
    bytes_before = stored_path(before["path"]).read_bytes()
    made = table.compact(full=True)
    assert made is not None
    (after,) = files_of(table)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"level"}
    assert (before["level"], after["level"], after["file_source"]) == (0, 5, SOURCE_APPEND)
    assert stored_path(after["path"]).read_bytes() == bytes_before
    assert made.delta_record_count == 0
    assert len(list(stored_path(table.path).rglob("*.parquet"))) == 1


def test_large_files_move_while_small_neighbours_are_joined(lake: lakebed.Lake) -> None:
    table = keyed(lake, "k INT, v STRING", options={"target-file-size": "6 kb"})
    table.write(typed(table, wide_values(range(1000, 1400), "large")))
    large = names(table)
    for first in (0, 10, 2000):
        table.write(typed(table, wide_values(range(first, first + 5), "small")))
    table.compact(full=True)
    assert len(large) == 1
    assert large < names(table)
    assert sorted(entry["row_count"] for entry in files_of(table)) == [5, 10, 400]
    assert {entry["level"] for entry in files_of(table)} == {5}
    check_sound(table)


def test_a_file_with_deletes_is_rewritten_for_the_highest_level(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    table.write(typed(table, pairs({1: 1, 2: 2}), ["+I", "-D"]), row_kind="op")
    before = names(table)
    compact_with(table, only(4, 0))
    assert names(table) == before, "on the way it may keep them"
    table.compact(full=True)
    (entry,) = files_of(table)
    assert (entry["row_count"], entry["delete_row_count"], entry["level"]) == (1, 0, 5)
    assert names(table) != before


def test_a_bucket_keeps_levels_that_the_options_gave_it_once(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    put(table, {1: 1, 2: 2})
    table.compact(full=True)
    table.alter(changes.SetOption("num-sorted-run.compaction-trigger", "2"))
    put(table, {1: None}, "-D")
    table.compact(full=True)
    assert levels_of(table) == [5]
    assert sum(entry["delete_row_count"] for entry in files_of(table)) == 0
    assert table.compact(full=True) is None
    assert current(table) == {2: 2}


def test_files_of_older_schemas_are_written_anew_in_the_latest(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    put(table, {1: 1, 2: 2})
    table.alter(changes.AddColumn("n", "STRING"))
    table.write(typed(table, [{"k": 2, "v": 20, "n": "new"}]))
    table.compact(full=True)
    (entry,) = files_of(table)
    assert entry["schema_id"] == 1
    assert stored(entry).select(["k", "v", "n"]).to_pylist() == [
        {"k": 1, "v": 1, "n": None},
        {"k": 2, "v": 20, "n": "new"},
    ]


# ----------------------------------------------------------------------------------------------------- deletion vectors


def test_exactly_the_replaced_rows_are_marked(lake: lakebed.Lake) -> None:
    table = keyed(lake, options=VECTORS)
    put(table, dict.fromkeys(range(0, 100, 2), 0))
    compact_with(table, only(5, 0))
    (bottom,) = names(table)
    put(table, {4: 1, 5: 1, 98: 1})
    put(table, {6: None}, "-D")
    compact_with(table, only(4, 0))
    assert marked(table) == {bottom: [2, 3, 49]}
    (entry,) = index_of(table)
    assert [(vector.file_name, vector.cardinality) for vector in entry.vectors or ()] == [(bottom, 3)]
    assert (entry.row_count, entry.bucket) == (1, 0)
    (above,) = (found for found in files_of(table) if found["level"] == 4)
    assert stored(above)["_KEY_k"].to_pylist() == [4, 5, 98]
    assert above["delete_row_count"] == 0, "a delete that marked its row has done its work"
    wanted = dict.fromkeys(range(0, 100, 2), 0) | {4: 1, 5: 1, 98: 1}
    del wanted[6]
    assert current(table) == dict(sorted(wanted.items()))
    check_sound(table)
    # A second one adds to what is marked; the index file of the bucket is replaced whole.
    put(table, {0: 2, 4: 2})
    compact_with(table, only(3, 0))
    assert marked(table) == {bottom: [0, 2, 3, 49], above["file_name"]: [0]}
    assert len(index_of(table)) == 1
    check_sound(table)
    # What is rewritten has no vector any more.
    compact_with(table, only(4, 3, 4))
    assert marked(table) == {bottom: [0, 2, 3, 49]}
    table.compact(full=True)
    assert (marked(table), index_of(table)) == ({}, [])
    assert current(table) == dict(sorted((wanted | {0: 2, 4: 2}).items()))


def test_a_file_that_stays_where_it_is_keeps_its_marks(lake: lakebed.Lake) -> None:
    """It is part of what is compacted, large enough to stay, and of the level that the result goes to."""
    table = keyed(lake, "k INT, v STRING", options={**VECTORS, "target-file-size": "3 kb"})
    table.write(typed(table, wide_values(range(5), "bottom")))
    compact_with(table, only(5, 0))
    table.write(typed(table, wide_values(range(1000, 1200), "middle")))
    compact_with(table, only(4, 0))
    middle = {entry["file_name"] for entry in files_of(table) if entry["level"] == 4}
    table.write(typed(table, [{"k": 1100, "v": None}], ["-D"]), row_kind="op")
    compact_with(table, only(3, 0))
    assert set(marked(table)) <= middle
    assert len(marked(table)) == 1
    table.write(typed(table, wide_values(range(5000, 5200), "new")))
    compact_with(table, only(4, 0, 4))
    assert {entry["level"] for entry in files_of(table)} == {4, 5}
    assert middle < names(table)
    assert len(marked(table)) == 1
    assert table.scan(where="k = 1100").to_arrow().num_rows == 0, "a deleted row came back"
    check_sound(table)


def test_vectors_of_other_buckets_and_partitions_are_left_alone(lake: lakebed.Lake) -> None:
    options = {**VECTORS, "bucket": "2"}
    table = keyed(lake, "p INT, k INT, v INT", key=["p", "k"], partition_by=["p"], options=options)
    for i, keys in enumerate((range(20), range(0, 20, 2))):
        table.write(typed(table, [{"p": p, "k": k, "v": i} for p in (1, 2) for k in keys]))
        compact_with(table, only(5 - i, 0))
    before = {(entry.partition, entry.bucket): entry.file_name for entry in index_of(table)}
    assert len(before) == 4
    table.compact(full=True, where="p = 1")
    after = {(entry.partition, entry.bucket): entry.file_name for entry in index_of(table)}
    assert len(after) == 2
    assert after.items() < before.items()
    check_sound(table)
    assert table.scan(where="v = 1").to_arrow().num_rows == 20


def test_an_overwrite_takes_vectors_with_it(lake: lakebed.Lake) -> None:
    table = keyed(lake, options=VECTORS)
    for level, value in ((5, 1), (4, 2)):
        put(table, {1: value, 10 * value: value})
        compact_with(table, only(level, 0))
    assert marked(table)
    table.overwrite(typed(table, pairs({1: 5, 2: 5})))
    assert (index_of(table), current(table)) == ([], {1: 5, 2: 5})


def test_first_rows_are_kept_and_later_ones_dropped(lake: lakebed.Lake) -> None:
    table = keyed(lake, options={"merge-engine": "first-row"})
    put(table, {1: 1, 2: 1})
    compact_with(table, only(5, 0))
    put(table, {2: 2, 3: 2})
    put(table, {3: 3, 4: 3, 1: 3})
    compact_with(table, only(4, 0))
    assert current(table) == {1: 1, 2: 1, 3: 2, 4: 3}
    (above,) = (entry for entry in files_of(table) if entry["level"] == 4)
    assert stored(above)["_KEY_k"].to_pylist() == [3, 4]
    check_sound(table)


# ----------------------------------------------------------------------------------------------------- random histories

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.dictionaries(st.integers(0, 9), st.integers(0, 9), min_size=1)),
        st.tuples(st.just("delete"), st.sets(st.integers(0, 9), min_size=1, max_size=3)),
        st.tuples(st.just("compact"), st.booleans()),
        st.tuples(st.just("lift"), st.integers(1, 4)),
    ),
    min_size=2,
    max_size=9,
)


@pytest.mark.parametrize("options", [DEDUPLICATE, VECTORS], ids=str)
@settings(max_examples=examples(12), deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
def test_after_every_step_all_adds_up(options: dict[str, str], steps: list[tuple[str, Any]]) -> None:
    folder = tempfile.mkdtemp(prefix="lakebed-compact-")
    lake = open_lake(folder)
    table = keyed(lake, options={**options, "num-sorted-run.compaction-trigger": "3", "num-levels": "6"})
    model: dict[int, int | None] = {0: 0, 5: 0, 9: 0}
    put(table, model)
    try:
        for step, what in steps:
            if step == "write":
                put(table, what)
                model.update(what)
            elif step == "delete":
                put(table, dict.fromkeys(what), "-D")
                model = {k: v for k, v in model.items() if k not in what}
            elif step == "compact":
                table.compact(full=what)
            else:  # all that is above a level goes there
                above = min((level for level in levels_of(table) if level > what), default=6)
                compact_with(table, only(above - 1, *range(above)))
            check_sound(table)
            if not options:
                assert current(table) == dict(sorted(model.items()))
        table.compact()
        table.compact(full=True)
        check_sound(table)
        assert current(table) == dict(sorted(model.items()))
        assert table.compact(full=True) is None
    finally:
        delete_tree(folder)


# ---------------------------------------------------------------------------------------------------------------- abort


@pytest.mark.parametrize("options", [DEDUPLICATE, VECTORS], ids=str)
def test_what_was_written_can_be_taken_back(lake: lakebed.Lake, options: dict[str, str]) -> None:
    table = keyed(lake, options=options)
    put(table, {1: 1, 2: 1})
    compact_with(table, only(5, 0))
    put(table, {1: 2})
    put(table, {1: 3})
    before = files_below(table.path)
    compactor, _ = planned(table, only(4, 0))
    assert len(files_below(table.path)) > len(before)
    compactor.abort()
    assert files_below(table.path) == before


def test_a_compaction_that_fails_leaves_nothing(lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = keyed(lake, "k INT, v STRING", options={"target-file-size": "1 kb", "bucket": "3"})
    for i in range(2):
        table.write(typed(table, wide_values(range(1000), f"v{i}")))
    before = files_below(table.path)
    original = KeyedReader.merge_pieces
    calls = []

    def failing(self: KeyedReader, *arguments: Any, **more: Any) -> Any:
        calls.append(1)
        yield from original(self, *arguments, **more)
        if len(calls) == 3:
            raise pa.ArrowInvalid("made to fail")

    monkeypatch.setattr(KeyedReader, "merge_pieces", failing)
    with pytest.raises(pa.ArrowInvalid, match="made to fail"):
        table.compact(full=True)
    assert files_below(table.path) == before
