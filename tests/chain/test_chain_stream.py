"""Streams of chain tables, without Spark: the current content, merged or not, and the changes after it."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from tests.chain.days import Days, date_of, new_table

from lakebed import Lake
from lakebed.chain.chain_stream import ChainStream
from lakebed.chain.layout import ChainTable
from lakebed.errors import UnsupportedError
from lakebed.rows.where import parse_where
from lakebed.streams.positions import NO_LIMITS, Limits, Position

Row = tuple[Any, ...]


@pytest.fixture
def days(lake: Lake) -> Days:
    made = new_table(lake, grouped=True)
    made.load(1, {1: "old"})
    made.load(3, {1: "a", 2: "b"})
    made.change(2, {1: "in the full partition already"})
    made.change(4, {2: None, 3: "c"})
    made.change(5, {1: "z"})
    made.change(2, {7: "no full partition"}, region="us")
    made.change(3, {7: "x", 8: "y"}, region="us")
    return made


def stream_of(days: Days, *, kinds: bool = False, where: str | None = None, options: Any = None) -> ChainStream:
    table = days.lake.table(days.name, options=options or {})
    chain = ChainTable.of(table._store)
    assert chain is not None
    schema = chain.delta.schema()
    node = None if where is None else parse_where(where, schema.fields)
    return ChainStream(chain.delta, schema, schema.fields, node, kinds, chain=chain)


def read(stream: ChainStream, start: Position, end: Position) -> list[Row]:
    found = []
    for batch in stream.read(start, end):
        reader = pickle.loads(pickle.dumps(batch.reader))
        for rows in reader.batches(batch.part.entries, batch.part.deleted):
            found += [tuple(row.values()) for row in rows.to_pylist()]
    return found


def drained(stream: ChainStream, position: Position, limits: Limits = NO_LIMITS) -> tuple[list[Row], Position]:
    found: list[Row] = []
    while (end := stream.advance(position, limits)) != position:
        found += read(stream, position, end)
        position = Position.from_json(json.loads(json.dumps(end.to_json())))
    return sorted(found), position


FIRST = [
    (1, "a", "eu", date_of(3)),
    (1, "z", "eu", date_of(5)),
    (2, "b", "eu", date_of(3)),
    (3, "c", "eu", date_of(4)),
    (7, "no full partition", "us", date_of(2)),
    (7, "x", "us", date_of(3)),
    (8, "y", "us", date_of(3)),
]
MERGED = [
    (1, "z", "eu", date_of(5)),
    (3, "c", "eu", date_of(5)),
    (7, "x", "us", date_of(3)),
    (8, "y", "us", date_of(3)),
]


@pytest.mark.parametrize("limits", [NO_LIMITS, Limits(files=1), Limits(rows=2)])
@pytest.mark.parametrize("merged", [False, True])
def test_what_is_there_then_what_changes(days: Days, limits: Limits, merged: bool) -> None:
    stream = stream_of(days, options={"chain-table.streaming.merge-snapshot": str(merged).lower()})
    found, end = drained(stream, stream.start(), limits)
    assert found == (MERGED if merged else FIRST)
    days.change(6, {1: None, 9: "new"})
    days.load(6, {9: "no change"})
    told = stream_of(days, kinds=True)
    assert drained(told, end, limits)[0] == [("+I", 9, "new", "eu", date_of(6)), ("-D", 1, None, "eu", date_of(6))]


def test_the_first_rows_are_those_of_the_moment_when_it_began(days: Days) -> None:
    stream = stream_of(days, kinds=True)
    start = stream.start()
    days.change(4, {4: "later"})
    days.load(5, {1: "later"})
    middle = stream.advance(start, Limits(files=1))
    assert middle.in_state
    assert (middle.full, middle.snapshot) == (start.full, start.snapshot)
    found, _ = drained(stream, start)
    assert found == sorted([*(("+I", *row) for row in FIRST), ("+I", 4, "later", "eu", date_of(4))])


def test_one_branch_is_empty(lake: Lake) -> None:
    days = new_table(lake, "db.a")
    stream = stream_of(days)
    assert stream.start() == Position(1)
    days.load(1, {1: "a"})
    assert drained(stream, stream.start()) == ([(1, "a", date_of(1))], Position(1))
    days.change(2, {1: "b"})
    assert drained(stream, Position(1))[0] == [(1, "b", date_of(2))]


@pytest.mark.parametrize(
    ("options", "where", "message"),
    [
        ({"scan.mode": "latest"}, None, r"so leave out option 'scan.mode'; stream db.t\$branch_delta"),
        ({"consumer-id": "c"}, None, "so leave out option 'consumer-id'; stream"),
        ({"scan.snapshot-id": "1"}, None, "so leave out option 'scan.snapshot-id'; stream"),
        ({}, "date = '20250803'", "no condition on partition columns"),
    ],
)
def test_what_a_chain_table_cannot_stream(days: Days, options: Any, where: str | None, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        stream_of(days, options=options, where=where).start()


def test_a_condition_on_other_columns(days: Days) -> None:
    stream = stream_of(days, where="k = 7")
    assert drained(stream, stream.start())[0] == [row for row in FIRST if row[0] == 7]
