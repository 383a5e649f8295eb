"""Rows of ``$binlog``: which changes form one update, for all files and file by file; the stream equals the batch."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import examples

import lakebed
from lakebed.errors import OptionError
from lakebed.format.row_kind import KIND_TEXTS
from lakebed.streams.binlog import pack
from lakebed.streams.positions import NO_LIMITS, Limits, Position
from lakebed.streams.table_stream import TableStream

Row = tuple[Any, ...]
Change = tuple[int, int]  # kind, key

INSERT, BEFORE, AFTER, DELETE = range(4)
TINY_FILES = {"bucket": "2", "changelog-producer": "input", "target-file-size": "1 b", "write-only": "true"}


# -------------------------------------------------------------------------------------------------------------- packing


def modelled(changes: list[Change]) -> list[list[int]]:
    """Which changes make up each row, one change after the other."""
    rows: dict[int, list[int]] = {}
    before: dict[int, int] = {}
    for number, (kind, key) in enumerate(changes):
        half = before.pop(key, None)
        rows[number] = [number]
        if kind == AFTER and half is not None:
            del rows[half]
            rows[number] = [half, number]
        if kind == BEFORE:
            before[key] = number
    return list(rows.values())


def packed(changes: list[Change], *, more: bool = False) -> tuple[list[list[int]], list[int]]:
    kinds = np.array([kind for kind, _ in changes], np.int8)
    packing = pack(kinds, pa.table({"k": pa.array([key for _, key in changes], pa.int32())}), more=more)
    told = np.split(packing.told, packing.ends[:-1]) if len(packing.ends) else []
    return [one.tolist() for one in told], packing.waiting.tolist()


CHANGES = st.lists(
    st.tuples(st.sampled_from([INSERT, BEFORE, BEFORE, AFTER, AFTER, DELETE]), st.integers(0, 3)), max_size=12
)


@given(CHANGES)
@settings(max_examples=examples(300))
def test_updates_are_found_as_by_a_walk_over_the_changes(changes: list[Change]) -> None:
    assert packed(changes) == (modelled(changes), [])


@given(CHANGES)
@settings(max_examples=examples(200))
def test_only_what_may_become_an_update_waits(changes: list[Change]) -> None:
    rows, waiting = packed(changes, more=True)
    last = {key: number for number, (_, key) in enumerate(changes)}
    assert waiting == [number for number in sorted(last.values()) if changes[number][0] == BEFORE]
    assert rows == [row for row in modelled(changes) if row[-1] not in waiting]


def test_halves_of_an_update_far_apart() -> None:
    changes = [(BEFORE, 1), (BEFORE, 2), (INSERT, 3), (AFTER, 2), (AFTER, 1), (AFTER, 1)]
    assert packed(changes) == ([[2], [1, 3], [0, 4], [5]], [])
    assert packed([(BEFORE, 1), (DELETE, 1), (AFTER, 1)]) == ([[0], [1], [2]], [])


# ------------------------------------------------------------------------------------------------------------- a stream


_names = itertools.count()


def make(lake: lakebed.Lake, options: dict[str, str], *, keyed: bool = True) -> lakebed.Table:
    key = ["k"] if keyed else []
    return lake.create_table(f"db.t{next(_names)}", "k INT, v STRING", primary_key=key, options=options)


def put(table: lakebed.Table, *changes: tuple[str, int, str]) -> None:
    kinds, keys, values = zip(*changes, strict=True)
    data = pa.table({"k": pa.array(keys, pa.int32()), "v": pa.array(values), "op": pa.array(kinds)})
    table.write(data, row_kind="op")


def binlog_of(table: lakebed.Table, columns: list[str] | None = None) -> TableStream:
    store, schema = table._store, table.schema
    return TableStream(store, schema, schema.select(columns or schema.field_names), kinds=True, updates=True)


def rows_between(stream: TableStream, start: Position, end: Position) -> list[Row]:
    found: list[Row] = []
    for batch in stream.read(start, end):
        for rows in batch.reader.batches(batch.part.entries, batch.part.deleted):
            assert rows.schema == batch.reader.arrow_schema
            found += (tuple(_frozen(row.values())) for row in rows.to_pylist())
    return found


def _frozen(values: Any) -> Iterator[Any]:
    return (tuple(value) if isinstance(value, list) else value for value in values)


def streamed(stream: TableStream, position: Position, limits: Limits = NO_LIMITS) -> list[list[Row]]:
    """The rows of each batch; positions travel as JSON."""
    found = []
    while (end := stream.advance(position, limits)) != position:
        found.append(rows_between(stream, position, end))
        position = Position.from_json(json.loads(json.dumps(end.to_json())))
    return found


def batch_read(lake: lakebed.Lake, table: lakebed.Table, since: int, until: int) -> list[Row]:
    rows = lake.system_table(f"{table.name}$binlog").scan(since=since, until=until).to_arrow().to_pylist()
    return [tuple(_frozen(row.values())) for row in rows]


WRITES = st.lists(
    st.lists(st.tuples(st.sampled_from(KIND_TEXTS), st.integers(0, 4)), min_size=1, max_size=8), min_size=1, max_size=4
)
LIMITS = st.builds(
    Limits,
    files=st.none() | st.integers(1, 3),
    rows=st.none() | st.integers(1, 4),
    snapshots=st.none() | st.integers(1, 2),
)


@given(writes=WRITES, limits=LIMITS)
@settings(max_examples=examples(8), deadline=None, suppress_health_check=list(HealthCheck))
def test_a_stream_has_the_rows_of_the_batch_read(module_lake: lakebed.Lake, writes: Any, limits: Limits) -> None:
    table = make(module_lake, TINY_FILES)
    numbers = itertools.count()
    for write in writes:
        put(table, *((kind, key, f"v{next(numbers)}") for kind, key in write))
    last = table.snapshots()[-1].id
    expected = Counter(row for number in range(last) for row in batch_read(module_lake, table, number, number + 1))
    assert Counter(batch_read(module_lake, table, 0, last)) == expected, (
        "what is one update does not depend on the interval"
    )
    stream = binlog_of(table)
    assert Counter(itertools.chain(*streamed(stream, Position(1), limits))) == expected
    for number in range(1, last + 1):
        rows = rows_between(stream, Position(number), Position(number + 1))
        assert Counter(rows) == Counter(batch_read(module_lake, table, number - 1, number))


@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
def test_updates_of_compactions(lake: lakebed.Lake, producer: str) -> None:
    table = make(lake, {"bucket": "1", "changelog-producer": producer})
    put(table, ("+I", 1, "a"), ("+I", 2, "a"))
    table.compact(full=True)
    put(table, ("+I", 1, "b"), ("-D", 2, "a"), ("+I", 3, "c"))
    table.compact(full=True)
    put(table, ("+I", 1, "d"))
    table.compact(full=True)
    last = table.snapshots()[-1].id
    found = list(itertools.chain(*streamed(binlog_of(table), Position(1))))
    assert found == batch_read(lake, table, 0, last)
    assert found == [
        ("+I", (1,), ("a",)),
        ("+I", (2,), ("a",)),
        ("+U", (1, 1), ("a", "b")),
        ("-D", (2,), ("a",)),
        ("+I", (3,), ("c",)),
        ("+U", (1, 1), ("b", "d")),
    ]


def test_halves_in_several_files_and_batches_of_one_file(lake: lakebed.Lake) -> None:
    """A bucket's files of one commit are never divided, whatever the limit; halves of two commits stay apart."""
    table = make(lake, {**TINY_FILES, "bucket": "1"})
    put(table, ("-U", 1, "a"), ("-U", 2, "a"), ("-U", 3, "x"))
    put(table, ("-U", 1, "b"), ("+U", 1, "c"), ("+U", 3, "y"))
    stream = binlog_of(table)
    assert len(stream.files.changes(table.snapshot(2)).parts[0].entries) > 1
    found = streamed(stream, Position(1), Limits(files=1))
    assert found[-1] == [("+U", (1, 1), ("b", "c")), ("+U", (3,), ("y",))]
    assert sorted(itertools.chain(*found[:-1])) == [("-U", (1,), ("a",)), ("-U", (2,), ("a",)), ("-U", (3,), ("x",))]


def test_rows_without_updates_are_single_values(lake: lakebed.Lake) -> None:
    plain = make(lake, {"bucket": "1"})
    put(plain, ("+I", 1, "a"))
    put(plain, ("+I", 1, "b"), ("-D", 2, "x"))
    assert sorted(itertools.chain(*streamed(binlog_of(plain), Position(1)))) == [
        ("+I", (1,), ("a",)),
        ("+I", (1,), ("b",)),
        ("-D", (2,), ("x",)),
    ]
    append = make(lake, {}, keyed=False)
    append.write(pa.table({"k": pa.array([1], pa.int32()), "v": ["a"]}))
    for start in (Position(1), binlog_of(append).start()):
        assert streamed(binlog_of(append), start) == [[("+I", (1,), ("a",))]]


def test_the_state_and_some_columns(lake: lakebed.Lake) -> None:
    """Keys tell which rows belong together, also where nobody asked for them."""
    table = make(lake, {"bucket": "1", "changelog-producer": "lookup"})
    put(table, ("+I", 1, "a"), ("+I", 2, "b"))
    stream = binlog_of(table, ["v"])
    start = stream.start()
    put(table, ("+I", 1, "c"), ("+I", 2, "d"))
    assert streamed(stream, start) == [
        [("+I", ("a",)), ("+I", ("b",)), ("+U", ("a", "c")), ("+U", ("b", "d"))],
    ]


def test_positions_within_a_snapshot_are_of_one_kind_of_stream(lake: lakebed.Lake) -> None:
    table = make(lake, TINY_FILES)
    put(table, *(("+I", key, "a") for key in range(20)))
    stream = binlog_of(table)
    middle = stream.advance(Position(1), Limits(files=1))
    assert middle.to_json()["in"] == "updates"
    assert stream.advance(middle) == Position(2)
    with pytest.raises(OptionError, match=r"in the middle of snapshot 1 .* as a stream of its \$binlog"):
        replace(stream, updates=False).advance(middle)
    with pytest.raises(OptionError, match=r"as a stream not of its \$binlog"):
        stream.advance(Position(1, 1))
    assert stream.advance(Position(1, 0)) == replace(stream, updates=False).advance(Position(1)) == Position(2)
