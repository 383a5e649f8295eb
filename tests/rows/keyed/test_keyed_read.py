"""Reads of primary-key tables: what is merged and what is not, what is tested before the merge and what after it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

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
    levels_of,
    marked,
    only,
    pairs,
    put,
    reader_of,
    typed,
)
from tests.rows.keyed.parquet_reads import Reads

import lakebed
from lakebed import changes
from lakebed.metadata.plan import next_sequences as sequences
from lakebed.operations import write as write_operation
from lakebed.rows.files.file_reader import FileReader
from lakebed.rows.keyed import keyed_read
from lakebed.rows.keyed.keyed_merge import Merger
from lakebed.rows.where import parse_where

SHORT = settings(max_examples=examples(10), deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)


@pytest.fixture
def no_merge(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("files were merged")

    monkeypatch.setattr(Merger, "merge", refuse)


def job_kinds(table: lakebed.Table) -> list[tuple[str, int]]:
    """The jobs of a read as (kind, number of files)."""
    jobs = reader_of(table).jobs(entries_of(table))
    kinds = ["merge" if job.merge else "plain" if job.plain else "without deletes" for job in jobs]
    return sorted(zip(kinds, (len(job.sources) for job in jobs), strict=True))


# ------------------------------------------------------------------------------------------------------------- planning


def test_only_files_whose_keys_meet_are_merged(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    for keys in (range(10), range(5, 15), range(20, 30), range(40, 50), range(49, 52)):
        put(table, dict.fromkeys(keys, 1))
    put(table, {60: 1}, "-D")
    # Two sections of two files are merged in one go, as a merge costs something to start.
    assert job_kinds(table) == [("merge", 4), ("plain", 1), ("without deletes", 1)]
    assert sorted(current(table)) == [*range(15), *range(20, 30), *range(40, 52)]


def test_sections_beyond_the_budget_are_merged_one_by_one(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    for keys in (range(10), range(5, 15), range(40, 50), range(49, 52)):
        put(table, dict.fromkeys(keys, 1))
    jobs = reader_of(table, budget=1).jobs(entries_of(table))
    assert [(job.merge, len(job.sources)) for job in jobs] == [(True, 2), (True, 2)]


def test_files_of_other_buckets_never_meet(lake: lakebed.Lake) -> None:
    table = keyed(lake, options={"bucket": "4"})
    put(table, dict.fromkeys(range(50), 1))
    assert job_kinds(table) == [("plain", 4)]


@pytest.mark.usefixtures("no_merge")
def test_a_single_file_is_not_merged(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    put(table, dict.fromkeys(range(10), 1))
    put(table, dict.fromkeys(range(20, 30), 2))
    assert len(current(table)) == 20
    assert current(table, where="v = 2 AND k < 22") == {20: 2, 21: 2}


@pytest.mark.usefixtures("no_merge")
def test_deletes_of_a_single_file_are_not_shown(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    rows = typed(table, pairs({1: 1, 2: 2, 3: 3}), ["+I", "-D", "-U"])
    table.write(rows, row_kind="op")
    assert current(table) == {1: 1}
    assert current(table, where="v > 1") == {}


@pytest.mark.parametrize(("options", "seen"), [(VECTORS, 2), ({"merge-engine": "first-row"}, 0)], ids=str)
def test_tables_that_skip_level_0_are_never_merged(
    lake: lakebed.Lake, options: dict[str, str], seen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = keyed(lake, options=options)
    for i in range(3):
        put(table, {1: i, 10 + i: i})
        compact_with(table, only(5 - i, 0))
    assert len(levels_of(table)) > 1
    put(table, {1: 99})  # not compacted, so not seen
    monkeypatch.setattr(Merger, "merge", lambda *_: pytest.fail("files were merged"))
    assert current(table) == {1: seen, 10: 0, 11: 1, 12: 2}


# ----------------------------------------------------------------------------------------------------------- predicates


def test_why_conditions_on_values_wait_for_the_merge(lake: lakebed.Lake) -> None:
    """The old version of a row matches, the current one does not."""
    table = keyed(lake)
    put(table, {1: 1, 2: 1})
    put(table, {1: 2})
    assert current(table) == {1: 2, 2: 1}
    node = parse_where("v = 1", table.schema.fields)
    before_the_merge = FileReader(table._store, table.schema, table.schema.fields, node).read(entries_of(table))
    assert sorted(before_the_merge["k"].to_pylist()) == [1, 2], "what a test before the merge would give"
    assert current(table, where="v = 1") == {2: 1}
    assert current(table, where="v = 1 AND k = 1") == {}
    assert current(table, where="NOT v = 2") == {2: 1}
    # Nor may a file be left out because its statistics say that no value matches.
    assert table.scan(where="v = 1").plan().file_count == 2
    put(table, {2: 5}, "-D")
    assert current(table, where="v = 1") == {}


def test_key_conditions_leave_out_files_and_rows_before_the_merge(lake: lakebed.Lake, reads: Reads) -> None:
    table = keyed(lake)
    put(table, dict.fromkeys(range(100), 1))
    put(table, dict.fromkeys(range(50, 150), 2))
    put(table, dict.fromkeys(range(90, 100), 3))
    assert table.scan(where="k < 50").plan().file_count == 1
    assert table.scan(where="k BETWEEN 60 AND 70 AND v = 2").plan().file_count == 2
    assert table.scan(where="k = 3 OR v = 2").plan().file_count == 3
    assert current(table, where="k IN (60, 95) AND v = 2") == {60: 2}
    assert reads.log
    assert max(rows for _, _, rows in reads.log) <= 2, "rows of other keys came into the merge"


@SHORT
@given(data=st.data())
def test_filters_give_what_filtering_afterwards_gives(module_lake: lakebed.Lake, data: st.DataObject) -> None:
    options = data.draw(st.sampled_from([{}, {"merge-engine": "partial-update"}, {"sequence.field": "v"}]))
    table = keyed(module_lake, options=options)
    model = fill(table, data)
    low, high = data.draw(st.integers(-1, 9)), data.draw(st.integers(-1, 9))
    for where, keep in (
        (f"k >= {low}", lambda k, _: k >= low),
        (f"v >= {high}", lambda _, v: v is not None and v >= high),
        (f"k >= {low} AND v < {high}", lambda k, v: k >= low and v is not None and v < high),
        (f"k = {low} OR v = {high}", lambda k, v: k == low or v == high),
        ("v IS NULL", lambda _, v: v is None),
    ):
        shown = current(table, where=where)
        assert shown == {k: v for k, v in model.items() if keep(k, v)}, where


def fill(table: lakebed.Table, data: st.DataObject) -> dict[int, int | None]:
    """Random commits and compactions; gives what an unfiltered read shows."""
    for _ in range(data.draw(st.integers(1, 4))):
        keys = data.draw(st.lists(st.integers(0, 8), min_size=1, max_size=6))
        table.write(typed(table, [{"k": k, "v": data.draw(st.none() | st.integers(0, 8))} for k in keys]))
        if data.draw(st.integers(0, 3)) == 0:
            table.compact(full=data.draw(st.booleans()))
    return current(table)


# ---------------------------------------------------------------------------------------------------------- projections

WIDE = "p STRING, a INT, b STRING, x INT, y STRING, s INT"


@pytest.mark.parametrize(
    "options",
    [{}, {"sequence.field": "s"}, {"merge-engine": "partial-update"}, {"merge-engine": "aggregation"}],
    ids=str,
)
def test_any_columns_may_be_left_out(lake: lakebed.Lake, options: dict[str, str]) -> None:
    table = keyed(lake, WIDE, key=["p", "a", "b"], partition_by=["p"], options=options)
    for i in range(3):
        rows = [{"p": "q", "a": a, "b": "z", "x": i + a, "y": f"y{i}", "s": -i if a else i} for a in (0, i)]
        table.write(typed(table, rows))
    whole = table.scan().to_arrow().sort_by("a")
    assert len(whole) == 3
    for columns in (["x"], ["y"], ["s"], ["p"], ["b"], ["y", "x"], ["x", "a"], ["s", "p", "x"]):
        part = table.scan(columns).to_arrow()
        assert part.column_names == columns
        assert sorted(map(repr, part.to_pylist())) == sorted(map(repr, whole.select(columns).to_pylist()))
        filtered = table.scan(columns, where="x >= 3 AND b = 'z'").to_arrow()
        wanted = whole.filter(pa.array([value >= 3 for value in whole["x"].to_pylist()]))
        assert sorted(map(repr, filtered.to_pylist())) == sorted(map(repr, wanted.select(columns).to_pylist()))


# ---------------------------------------------------------------------------------------------------- pieces of a merge

ENGINES: list[dict[str, str]] = [
    {},
    {"sequence.field": "v"},
    {"merge-engine": "first-row"},
    {"merge-engine": "partial-update"},
    {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
    VECTORS,
    {**VECTORS, "deletion-vectors.merge-on-read": "true"},
    {**VECTORS, "merge-engine": "partial-update", "deletion-vectors.merge-on-read": "true"},
]


@pytest.mark.parametrize("options", ENGINES, ids=str)
@settings(max_examples=examples(5), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_pieces_give_the_same_as_the_whole(
    module_lake: lakebed.Lake, options: dict[str, str], data: st.DataObject
) -> None:
    table = keyed(module_lake, options=options)
    fill(table, data)
    if "merge-engine" not in options:
        put(table, dict.fromkeys(data.draw(st.sets(st.integers(0, 8), min_size=1)), 0), "-D")
    where = data.draw(st.sampled_from([None, "k > 3", "v > 2", "k < 6 AND v IS NOT NULL", "k = 2 OR v = 1"]))
    scan = table.scan(where=where)
    reader = scan._parts[0].reader
    assert isinstance(reader, keyed_read.KeyedReader)
    entries = scan._parts[0].result.entries
    whole = reader.read(entries).sort_by("k").to_pylist()
    pieces = replace(reader, budget=1)
    assert pieces.read(entries).sort_by("k").to_pylist() == whole
    batches = list(pieces.batches(entries))
    assert pa.Table.from_batches(batches, reader.arrow_schema).sort_by("k").to_pylist() == whole


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("STRING", ["", "a", "ab", "é", "zzzzzzzzzzzzzz"]),
        ("DECIMAL(20, 2)", [-1, 0, 10**10]),
        ("DOUBLE", [-1.5, 0.0, 1e300]),
        ("BOOLEAN", [False, True]),
        ("TIMESTAMP(9)", pa.array([0, 1, 10**18], pa.timestamp("ns")).to_pylist()),
        ("VARBINARY(5)", [b"", b"\x00", b"\xff"]),
    ],
    ids=str,
)
def test_pieces_of_keys_of_any_type(lake: lakebed.Lake, kind: str, keys: list[Any]) -> None:
    table = keyed(lake, f"k {kind}, n INT, v INT", key=["k", "n"])
    for v in range(3):
        table.write(typed(table, [{"k": k, "n": n, "v": v} for k in keys[v % 2 :] for n in (0, v)]))
    entries = entries_of(table)
    whole = reader_of(table).read(entries).sort_by([("k", "ascending"), ("n", "ascending")])
    pieces = list(reader_of(table, budget=1)._tables(entries))
    assert len(pieces) > 1
    joined = pa.concat_tables(pieces).select(whole.column_names)
    assert joined.sort_by([("k", "ascending"), ("n", "ascending")]).to_pylist() == whole.to_pylist()


def test_pieces_of_files_without_a_live_row(lake: lakebed.Lake) -> None:
    table = keyed(lake, options={**VECTORS, "deletion-vectors.merge-on-read": "true"})
    for level, kind in ((5, "+I"), (4, "+I"), (3, "-D")):
        put(table, {1: 1}, kind)
        compact_with(table, only(level, 0))
    assert levels_of(table) == [4, 5]
    assert {name: len(rows) for name, rows in marked(table).items()} == {e["file_name"]: 1 for e in files_of(table)}
    assert reader_of(table, budget=1).read(entries_of(table)).num_rows == 0


def test_streams_read_one_job_at_a_time(lake: lakebed.Lake, reads: Reads) -> None:
    """A result larger than memory is not read ahead."""
    table = keyed(lake)
    for first in range(0, 100, 10):
        put(table, dict.fromkeys(range(first, first + 10), 1))
    put(table, {50: 2})
    stream = table.scan().to_batches()
    assert reads.log == []
    stream.read_next_batch()
    opened = {name for name, _, _ in reads.log}
    assert len(opened) < 5
    rows = stream.read_all()
    assert len(rows) + 2 >= 90
    assert len({name for name, _, _ in reads.log}) == 11


# -------------------------------------------------------------------------------------------------------------- schemas


@pytest.mark.parametrize("options", [{}, {"merge-engine": "partial-update"}, VECTORS], ids=str)
@pytest.mark.parametrize("compacted", [False, True])
def test_files_of_several_schemas_are_merged(lake: lakebed.Lake, options: dict[str, str], compacted: bool) -> None:
    table = keyed(lake, "k INT, v INT", options=options)
    put(table, {1: 1, 2: 2, 3: 3})
    table.compact(full=True)
    table.alter(changes.RenameColumn("k", "key"), changes.AddColumn("n", "INT"))
    table.write(typed(table, [{"key": 1, "v": 10, "n": 100}, {"key": 4, "v": 4, "n": 400}]))
    table.alter(
        changes.UpdateColumnType("v", "BIGINT"), changes.RenameColumn("n", "m"), changes.AddColumn("s", "STRING")
    )
    table.write(typed(table, [{"key": 2, "v": 2**40, "m": None, "s": "new"}, {"key": 5, "v": 5, "m": 500, "s": None}]))
    table.compact()
    if compacted:
        table.compact(full=True)
        assert levels_of(table) == [5]
    assert table.schema.primary_keys == ("key",)
    shown = table.scan().to_arrow().sort_by("key")
    assert shown.schema.field("v").type == pa.int64()
    assert [tuple(row.values()) for row in shown.to_pylist()] == [
        (1, 10, 100, None),
        (2, 2**40, None, "new"),
        (3, 3, None, None),
        (4, 4, 400, None),
        (5, 5, 500, None),
    ]
    for where, keys in (
        ("key >= 2 AND key < 5", [2, 3, 4]),
        ("v > 100", [2]),
        ("m = 400", [4]),
        ("m IS NULL", [2, 3]),
        ("s = 'new' OR key = 1", [1, 2]),
    ):
        found = table.scan(["key"], where=where).to_arrow()["key"].to_pylist()
        assert sorted(found) == keys, where
    reader = reader_of(table, budget=1)
    if "deletion-vectors.enabled" not in options:
        assert reader.read(entries_of(table)).sort_by("key").equals(shown)


def test_a_key_that_is_renamed_still_decides_the_bucket(lake: lakebed.Lake) -> None:
    table = keyed(lake, options={"bucket": "3"})
    put(table, dict.fromkeys(range(20), 1))
    table.alter(changes.RenameColumn("k", "id"))
    table.write(typed(table, [{"id": i, "v": 2} for i in range(20)]))
    shown = table.scan().to_arrow()
    assert sorted(shown["id"].to_pylist()) == list(range(20))
    assert set(shown["v"].to_pylist()) == {2}
    assert table.scan(where="id = 7").to_arrow().to_pylist() == [{"id": 7, "v": 2}]


# -------------------------------------------------------------------------------------------------------- merge on read


def test_merge_on_read_shows_level_0(lake: lakebed.Lake) -> None:
    table = keyed(lake, options={**VECTORS, "deletion-vectors.merge-on-read": "true"})
    put(table, {1: 1, 2: 2, 3: 3})
    assert current(table) == {1: 1, 2: 2, 3: 3}
    table.compact(full=True)
    put(table, {2: 20})
    compact_with(table, only(4, 0))
    assert marked(table)
    put(table, {3: 30})
    put(table, {1: None}, "-D")
    assert current(table) == {2: 20, 3: 30}
    assert current(table, where="v = 2") == {}
    assert job_kinds(table)[0][0] == "merge"
    table.alter(changes.SetOption("deletion-vectors.merge-on-read", "false"))
    assert current(table) == {1: 1, 2: 20, 3: 3}
    table.compact(full=True)
    assert current(table) == {2: 20, 3: 30}


# ------------------------------------------------------------------------------------------------------- equal numbers

Batch = dict[int, int | None]


def write_at_once(table: lakebed.Table, first: Batch, second: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two writers that begin on the same snapshot: the first one commits while the second one still writes."""
    original = sequences.next_sequences

    def meanwhile(store: Any) -> Any:
        numbers = original(store)(None)
        monkeypatch.setattr(write_operation, "next_sequences", original)
        put(table, first)
        return lambda _: numbers

    monkeypatch.setattr(write_operation, "next_sequences", meanwhile)
    put(table, second)


@pytest.mark.parametrize(
    ("first", "second", "shown"),
    [
        ({1: 1}, {1: 2}, {1: 2}),
        ({1: 1, 2: 1}, {1: 2, 2: 2}, {1: 2, 2: 2}),
        ({1: 1, 2: 1, 3: 1}, {1: 2}, {1: 2, 2: 1, 3: 1}),  # the same number in files of different ranges
        ({2: 1}, {2: 2, 3: 2}, {2: 2, 3: 2}),
        ({5: 1, 2: 1}, {2: 2}, {2: 1, 5: 1}),  # a higher number is newer, whoever committed first
    ],
    ids=str,
)
@pytest.mark.parametrize("before", [{}, {1: 0, 2: 0, 9: 0}], ids=["empty", "after others"])
def test_of_equal_numbers_the_later_commit_wins(
    lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch, before: Batch, first: Batch, second: Batch, shown: Batch
) -> None:
    table = keyed(lake)
    if before:
        put(table, before)
    write_at_once(table, first, second, monkeypatch)
    numbers = [(e["min_sequence_number"], e["max_sequence_number"]) for e in files_of(table)][-2:]
    assert numbers[0][0] == numbers[1][0], "the writers did not begin on the same snapshot"
    assert current(table) == {**before, **shown}
    assert current(table, where="k >= 0") == {**before, **shown}
    table.compact(full=True)
    assert current(table) == {**before, **shown}, "a compaction changed what the table shows"


def test_rows_after_a_tie_are_newer_than_both(lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = keyed(lake)
    write_at_once(table, {1: 1, 2: 1, 3: 1}, {1: 2}, monkeypatch)
    put(table, {1: 3, 3: 3})
    assert current(table) == {1: 3, 2: 1, 3: 3}


def test_the_whole_range_of_rows(lake: lakebed.Lake) -> None:
    """Many versions of many keys over files of all levels, against a dictionary."""
    table = keyed(lake, options={"num-sorted-run.compaction-trigger": "3", "write-only": "false", "bucket": "2"})
    model: dict[int, Row] = {}
    for i in range(12):
        rows = [{"k": (i * 37 + j * j) % 101, "v": 1000 * i + j} for j in range(25)]
        table.write(typed(table, rows))
        model.update({row["k"]: row for row in rows})
        assert current(table) == {k: row["v"] for k, row in sorted(model.items())}
