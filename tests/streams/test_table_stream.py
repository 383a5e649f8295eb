"""Streams, without Spark: random histories and limits against a model, then where streams begin, stop and what they
refuse.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.places import delete_tree, stored_path

import lakebed
from lakebed import changes
from lakebed.errors import CorruptError, NotFoundError, OptionError, SchemaError, UnsupportedError
from lakebed.metadata.consumers import Progress, find_progress
from lakebed.rows.where import parse_where
from lakebed.streams.positions import NO_LIMITS, Limits, Position
from lakebed.streams.stream_files import How
from lakebed.streams.table_stream import TableStream, check_streamable

Row = tuple[Any, ...]
Options = Mapping[str, str]

KEYED = {"bucket": "2", "num-sorted-run.compaction-trigger": "3"}
KINDS: dict[str, dict[str, str]] = {
    "append": {},
    "keyed": KEYED,
    "write-only": {**KEYED, "write-only": "true"},
    "input": {**KEYED, "changelog-producer": "input"},
    "lookup": {**KEYED, "changelog-producer": "lookup"},
    "full-compaction": {**KEYED, "changelog-producer": "full-compaction"},
    "vectors": {**KEYED, "deletion-vectors.enabled": "true"},
    "vectors uncompacted": {**KEYED, "deletion-vectors.enabled": "true", "write-only": "true"},
    "dynamic": {"bucket": "-1", "dynamic-bucket.target-row-num": "3"},
}
ONE_BY_ONE = Limits(files=1)


_names = itertools.count()


def make(lake: lakebed.Lake, kind: str, options: Options | None = None) -> lakebed.Table:
    return lake.create_table(
        f"db.t{next(_names)}",
        "k INT, v STRING",
        primary_key=[] if kind == "append" else ["k"],
        options={**KINDS[kind], **(options or {})},
    )


def put(table: lakebed.Table, *rows: Row, gone: tuple[int, ...] = ()) -> None:
    """Write rows and then deletes of some keys, in one commit."""
    keys = [row[0] for row in rows] + list(gone)
    data = pa.table({"k": pa.array(keys, pa.int32()), "v": pa.array([row[1] for row in rows] + [None] * len(gone))})
    if not table.schema.primary_keys:
        table.write(data)
        return
    kinds = ["+I"] * len(rows) + ["-D"] * len(gone)
    table.write(data.append_column("kind", pa.array(kinds)), row_kind="kind")


def shown(table: lakebed.Table) -> list[Row]:
    return sorted(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())


def stream_of(
    table: lakebed.Table, options: Options | None = None, *, kinds: bool = True, where: str | None = None
) -> TableStream:
    store = table._store.with_options({**table._store.overlay, **(options or {})})
    schema = store.schema()
    node = None if where is None else parse_where(where, schema.fields)
    return TableStream(store, schema, schema.fields, node, kinds)


def begin(table: lakebed.Table, scan: Options | None = None) -> Position:
    """Where a stream with options ``scan.*`` begins."""
    return stream_of(table, {f"scan.{name}": value for name, value in (scan or {}).items()}).start()


def rows_between(stream: TableStream, start: Position, end: Position) -> list[Row]:
    batches = [
        batch for part in stream.read(start, end) for batch in part.reader.batches(part.part.entries, part.part.deleted)
    ]
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def drained(stream: TableStream, position: Position, limits: Limits = NO_LIMITS) -> tuple[list[list[Row]], Position]:
    """All batches until there is nothing new, and where that is."""
    found = []
    while (end := stream.advance(position, limits)) != position:
        found.append(rows_between(stream, position, end))
        position = end
    return found, position


def replayed(rows: list[Row]) -> list[Row]:
    """What a table holds after changes."""
    state: dict[int, Row] = {}
    for kind, *values in rows:
        if kind in {"+I", "+U"}:
            state[values[0]] = tuple(values)
        else:
            state.pop(values[0], None)
    return sorted(state.values())


# ----------------------------------------------------------------------------------------------------- any history


@dataclass
class Reader:
    """A stream that remembers nothing but its position as JSON, as after a restart of everything."""

    table: lakebed.Table
    limits: Limits
    options: dict[str, str]
    at: str = ""
    rows: list[Row] = field(default_factory=list)

    def step(self) -> bool:
        stream = stream_of(self.table, self.options)
        if not self.at:
            self.at = json.dumps(stream.start().to_json())
        start = Position.from_json(json.loads(self.at))
        end = stream.advance(start, self.limits)
        assert stream.advance(start, self.limits) == end, "planned anew, a batch is the same"
        found = rows_between(stream_of(self.table, self.options), start, end)
        self._check_limits(stream, start, end, len(found))
        self.rows += found
        self.at = json.dumps(end.to_json())
        stream_of(self.table, self.options).note(end)
        return end != start

    def _check_limits(self, stream: TableStream, start: Position, end: Position, rows: int) -> None:
        files = sum(len(batch.part.entries) for batch in stream.read(start, end))
        groups = sum(len(batch.part.groups) for batch in stream.read(start, end))
        assert groups <= 1 or self.limits.files is None or files <= self.limits.files
        assert groups <= 1 or self.limits.rows is None or rows <= self.limits.rows


WRITES = st.tuples(
    st.just("write"),
    st.lists(st.integers(0, 9), min_size=1, max_size=6),
    st.lists(st.integers(0, 9), max_size=2),
)
STEPS = st.sampled_from([("step",), ("compact",), ("full",), ("expire",), ("step",)])
LIMITS = st.builds(
    Limits,
    files=st.none() | st.integers(1, 3),
    size=st.none() | st.sampled_from([1, 2000, 5000]),
    rows=st.none() | st.integers(1, 8),
    snapshots=st.none() | st.integers(1, 2),
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(6), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    before=st.lists(WRITES | st.just(("compact",)), max_size=3),
    history=st.lists(WRITES | STEPS, max_size=10),
    limits=LIMITS,
    mode=st.sampled_from(["latest-full", "from-snapshot"]),
)
def test_whatever_the_limits_a_stream_reads_the_same(
    kind: str, before: list[Any], history: list[Any], limits: Limits, mode: str
) -> None:
    folder = tempfile.mkdtemp()
    try:
        lake = lakebed.connect(folder)
        lake.create_database("db")
        table = make(lake, kind)
        written: list[Row] = []
        numbers = itertools.count()
        for event in before:
            _apply(table, event, written, numbers)
        options = {"scan.mode": mode, **({"scan.snapshot-id": "1"} if mode == "from-snapshot" else {})}
        limited = Reader(table, limits, {**options, "consumer-id": "limited"})
        whole = Reader(table, NO_LIMITS, {**options, "consumer-id": "whole"})
        limited.step()
        whole.step()
        for event in history:
            if event[0] == "step":
                limited.step()
            else:
                _apply(table, event, written, numbers)
            whole.step()
        for reader in (limited, whole):
            while reader.step():
                pass
        assert Counter(limited.rows) == Counter(whole.rows)
        if kind == "append":
            assert Counter(limited.rows) == Counter(("+I", *row) for row in written)
        else:
            if kind == "vectors uncompacted":
                table.alter(changes.SetOption("write-only", "false"))
                table.compact(full=True)
            assert replayed(limited.rows) == replayed(whole.rows) == shown(table)
    finally:
        delete_tree(folder)


def _apply(table: lakebed.Table, event: Any, written: list[Row], numbers: Any) -> None:
    match event[0]:
        case "write":
            rows = [(key, f"v{next(numbers)}") for key in event[1]]
            keyed = bool(table.schema.primary_keys)
            put(table, *rows, gone=tuple(event[2]) if keyed else ())
            written += rows
        case "compact":
            _compact(table, full=False)
        case "full":
            _compact(table, full=True)
        case "expire":
            table.expire_snapshots(retain_max=1, retain_min=1, older_than=0)


def _compact(table: lakebed.Table, *, full: bool) -> None:
    table.compact(full=full)


def test_the_expiry_of_the_histories_does_expire(lake: lakebed.Lake) -> None:
    table = make(lake, "append")
    for number in range(4):
        put(table, (number, "a"))
    _apply(table, ("expire",), [], None)
    assert [snapshot.id for snapshot in table.snapshots()] == [4]


# ------------------------------------------------------------------------------------------------- where it begins


@pytest.fixture
def history(lake: lakebed.Lake) -> lakebed.Table:
    """Three snapshots, with one row each."""
    table = make(lake, "append")
    for number in range(1, 4):
        put(table, (number, "a"))
    return table


def test_begins_with_the_state_unless_told_otherwise(history: lakebed.Table) -> None:
    assert (
        begin(history)
        == begin(history, {"mode": "latest-full"})
        == begin(history, {"mode": "full"})
        == Position(3, 0, True)
    )
    assert begin(history, {"mode": "latest"}) == Position(4)
    assert begin(history, {"snapshot-id": "2"}) == Position(2)
    assert begin(history, {"mode": "from-snapshot", "snapshot-id": "4"}) == Position(4)
    assert begin(history, {"mode": "from-snapshot-full", "snapshot-id": "2"}) == Position(2, 0, True)
    found, end = drained(stream_of(history), Position(2, 0, True))
    assert sorted(found[0]) == [("+I", 1, "a"), ("+I", 2, "a"), ("+I", 3, "a")]
    assert end == Position(4)


def test_begins_at_a_moment(history: lakebed.Table) -> None:
    times = [snapshot.time_millis for snapshot in history.snapshots()]
    first = next(number for number, time in enumerate(times, 1) if time >= times[1])
    assert begin(history, {"timestamp-millis": str(times[1])}) == Position(first)
    assert begin(history, {"mode": "from-timestamp", "timestamp-millis": "0"}) == Position(1)
    assert begin(history, {"timestamp-millis": str(times[2] + 1)}) == Position(4)
    assert begin(history, {"timestamp": "1971-01-01 00:00:00"}) == Position(1)
    history.expire_snapshots(retain_max=1, retain_min=1)
    with pytest.raises(NotFoundError, match=r"snapshots before 3 have expired.*scan.snapshot-id=3"):
        begin(history, {"timestamp-millis": "0"})


def test_a_table_without_snapshots(lake: lakebed.Lake) -> None:
    table = make(lake, "keyed")
    assert begin(table) == begin(table, {"mode": "latest"}) == Position(1)
    stream = stream_of(table)
    assert stream.advance(Position(1)) == Position(1)
    assert stream.read(Position(1), Position(1)) == []
    put(table, (1, "a"))
    assert drained(stream, Position(1)) == ([[("+I", 1, "a")]], Position(2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "from-snapshot"}, "'scan.snapshot-id' must be set too"),
        ({"mode": "from-timestamp"}, "'scan.timestamp-millis' must be set too"),
        ({"snapshot-id": "5"}, "has no snapshot 5 to begin a stream with; its latest is 3"),
        ({"mode": "from-snapshot-full", "snapshot-id": "4"}, "has no snapshot 4"),
    ],
)
def test_a_beginning_that_is_none(history: lakebed.Table, options: dict[str, str], message: str) -> None:
    with pytest.raises((OptionError, NotFoundError), match=message):
        begin(history, options)


# ------------------------------------------------------------------------------------------------------ what it reads


def test_what_each_kind_of_table_tells(lake: lakebed.Lake) -> None:
    told = {}
    for kind in ("keyed", "input", "lookup", "full-compaction"):
        table = make(lake, kind)
        put(table, (1, "a"), (2, "a"))
        put(table, (1, "b"), gone=(2,))
        table.compact(full=True)
        found, _ = drained(stream_of(table), Position(1))
        told[kind] = sorted(itertools.chain(*found))
    assert told["keyed"] == told["input"] == [("+I", 1, "a"), ("+I", 1, "b"), ("+I", 2, "a"), ("-D", 2, None)]
    made = [("+I", 1, "a"), ("+I", 2, "a"), ("+U", 1, "b"), ("-D", 2, "a"), ("-U", 1, "a")]
    assert told["lookup"] == told["full-compaction"] == made


@pytest.mark.parametrize("kind", ["lookup", "full-compaction"])
def test_the_state_leaves_out_what_the_changelog_is_going_to_tell(lake: lakebed.Lake, kind: str) -> None:
    table = make(lake, kind, {"write-only": "true"})
    put(table, (1, "a"), (2, "a"))
    table.compact(full=True)
    put(table, (1, "b"), (3, "b"))
    stream = stream_of(table)
    state, end = drained(stream, begin(table))
    assert sorted(itertools.chain(*state)) == [("+I", 1, "a"), ("+I", 2, "a")]
    table.compact(full=True)
    told, _ = drained(stream, end)
    assert sorted(itertools.chain(*told)) == [("+I", 3, "b"), ("+U", 1, "b"), ("-U", 1, "a")]


def test_the_state_has_what_readers_do_not_see_yet_where_nothing_else_will_tell_it(lake: lakebed.Lake) -> None:
    table = make(lake, "vectors uncompacted")
    put(table, (1, "a"), (2, "a"))
    table.compact(full=True)
    put(table, (1, "b"), gone=(2,))
    state, end = drained(stream_of(table), begin(table), ONE_BY_ONE)
    assert replayed(list(itertools.chain(*state))) == [(1, "b")]
    table.compact(full=True)
    assert list(itertools.chain(*drained(stream_of(table), end)[0])) == []


def test_without_kinds_only_what_is_there_now_is_told(lake: lakebed.Lake) -> None:
    table = make(lake, "lookup")
    put(table, (1, "a"), (2, "a"))
    put(table, (1, "b"), gone=(2,))
    found, _ = drained(stream_of(table, kinds=False), Position(1), ONE_BY_ONE)
    assert list(itertools.chain(*found))[-1] == (1, "b")
    assert sorted(itertools.chain(*found)) == [(1, "a"), (1, "b"), (2, "a")]


def test_rows_come_in_the_order_of_their_commits(lake: lakebed.Lake) -> None:
    """Also where files with deletes and files without them share a task."""
    table = make(lake, "keyed", {"bucket": "1"})
    put(table, (1, "a"), (2, "a"))
    put(table, (1, "b"), gone=(2,))
    put(table, (1, "c"), (2, "c"))
    stream = stream_of(table, kinds=False)
    batches = stream.read(Position(1), Position(table.latest_snapshot().id + 1))  # type: ignore[union-attr]
    assert len(batches) == 1
    assert rows_between(stream, Position(1), Position(4)) == [(1, "a"), (2, "a"), (1, "b"), (1, "c"), (2, "c")]


def test_conditions_and_limits_count_what_is_read(lake: lakebed.Lake) -> None:
    table = make(lake, "append")
    for number in range(6):
        put(table, (number, "a"))
    stream = stream_of(table, where="k IN (1, 4)")
    found, end = drained(stream, begin(table), ONE_BY_ONE)
    assert sorted(itertools.chain(*found)) == [("+I", 1, "a"), ("+I", 4, "a")]
    assert all(len(batch) <= 1 for batch in found)
    assert [len(batch.part.entries) for batch in stream.read(begin(table), Position(7))] == [2], "others are not opened"
    assert end == Position(7)
    found, _ = drained(stream, Position(1), Limits(snapshots=1))
    assert [("+I", 1, "a")] in found
    assert [("+I", 4, "a")] in found


def test_each_limit_ends_a_batch(history: lakebed.Table) -> None:
    stream = stream_of(history)
    size = stream.files.changes(history.snapshot(1)).weights[0, 1]
    for limits in (Limits(files=2), Limits(rows=2), Limits(snapshots=2), Limits(size=int(size * 2.5))):
        assert stream.advance(Position(1), limits) == Position(3)
    assert stream.advance(Position(1), Limits(rows=1, files=3)) == Position(2)
    assert stream.advance(Position(1), Limits(size=1)) == Position(2)  # never nothing
    assert stream.advance(Position(1), NO_LIMITS, until=2) == Position(3)
    assert stream.advance(Position(3), NO_LIMITS, until=2) == Position(3)


def test_a_large_state_is_read_in_several_batches(history: lakebed.Table) -> None:
    stream = stream_of(history)
    found, end = drained(stream, begin(history), ONE_BY_ONE)
    assert [len(batch) for batch in found] == [1, 1, 1]
    assert end == Position(4)
    assert stream.advance(Position(3, 1, True), ONE_BY_ONE) == Position(3, 2, True)


def test_overwrites_are_left_out_unless_asked_for(lake: lakebed.Lake) -> None:
    for kind in ("keyed", "append"):
        table = make(lake, kind)
        put(table, (1, "a"), (2, "a"))
        put(table, (1, "b"))
        table.overwrite(pa.table({"k": pa.array([3], pa.int32()), "v": ["c"]}))
        end = Position(table.latest_snapshot().id + 1)  # type: ignore[union-attr]
        assert rows_between(stream_of(table), Position(3), end) == []
    told = stream_of(table, {"streaming-read-append-overwrite": "true"})
    assert rows_between(told, Position(3), end) == [("+I", 3, "c")]


@pytest.mark.parametrize("kind", ["keyed", "append", "input", "vectors"])
def test_overwrites_as_changes(lake: lakebed.Lake, kind: str) -> None:
    table = make(lake, kind)
    put(table, (1, "a"), (2, "a"))
    put(table, (2, "b"))
    last = table.latest_snapshot()
    assert last is not None
    table.overwrite(pa.table({"k": pa.array([3], pa.int32()), "v": ["c"]}))
    stream = stream_of(table, {"streaming-read-overwrite": "true"})
    told, _ = drained(stream, Position(last.id + 1), ONE_BY_ONE)
    gone = [("-D", 1, "a"), ("-D", 2, "b")] + ([("-D", 2, "a")] if kind == "append" else [])
    assert sorted(itertools.chain(*told)) == sorted([*gone, ("+I", 3, "c")])
    plain, _ = drained(stream_of(table, {"streaming-read-overwrite": "true"}, kinds=False), Position(last.id + 1))
    assert list(itertools.chain(*plain)) == [(3, "c")]


# ---------------------------------------------------------------------------------------------------- where it stops


def test_a_snapshot_that_expired_unread(history: lakebed.Table) -> None:
    history.expire_snapshots(retain_max=1, retain_min=1)
    with pytest.raises(
        NotFoundError, match=r"snapshot 2 of table .*, which a stream reads next, has expired; the earliest one is 3"
    ):
        stream_of(history).advance(Position(2))
    with pytest.raises(
        NotFoundError, match=r"snapshot 2 of table .* whose state a stream has not read to its end, has expired"
    ):
        stream_of(history).advance(Position(2, 1, True), ONE_BY_ONE)


def test_long_lived_changelogs_stand_in_for_expired_snapshots(lake: lakebed.Lake) -> None:
    table = make(lake, "input", {"changelog.num-retained.min": "100", "changelog.num-retained.max": "100"})
    for number in range(4):
        put(table, (number, "a"))
    table.expire_snapshots(retain_max=1, retain_min=1)
    assert len(table.snapshots()) == 1
    found, _ = drained(stream_of(table), Position(1))
    assert sorted(itertools.chain(*found)) == [("+I", number, "a") for number in range(4)]
    assert begin(table, {"timestamp-millis": "0"}) == Position(1)


def test_a_table_that_was_rolled_back(history: lakebed.Table) -> None:
    _, end = drained(stream_of(history), Position(1))
    history.rollback_to(snapshot=1)
    with pytest.raises(
        NotFoundError, match="has read up to snapshot 3, but the latest is 1: the table was rolled back"
    ):
        stream_of(history).advance(end)


def test_a_table_that_was_rolled_back_and_went_on(history: lakebed.Table) -> None:
    """Snapshots of the same numbers are others now: nothing of them is read."""
    stream = stream_of(history)
    behind = {
        "changes": stream.advance(Position(1)),
        "limited changes": stream.advance(Position(1), Limits(snapshots=3)),
        "the state": stream.advance(stream.start()),
        "a part of the state": stream.advance(stream.start(), ONE_BY_ONE),
        "nothing": begin(history, {"mode": "latest"}),
    }
    assert {name: at.last for name, at in behind.items()} == dict.fromkeys(behind, 3)
    history.rollback_to(snapshot=2)
    put(history, (7, "a"))
    put(history, (8, "a"))
    for position in behind.values():
        again = Position.from_json(json.loads(json.dumps(position.to_json())))
        for ask in (stream.advance, lambda at: stream.read(Position(1), at)):
            with pytest.raises(NotFoundError, match=r"has read up to snapshot 3, but that is another .*rolled back"):
                ask(again)
    untouched = stream.advance(Position(1), NO_LIMITS, until=2)
    assert rows_between(stream, untouched, stream.advance(untouched)) == [("+I", 7, "a"), ("+I", 8, "a")]


def test_a_rolled_back_table_of_which_a_snapshot_was_read_in_part(lake: lakebed.Lake) -> None:
    table = make(lake, "write-only")
    put(table, *((key, "a") for key in range(9)))
    put(table, *((key, "b") for key in range(9)))
    stream = stream_of(table)
    within = stream.advance(Position(2), ONE_BY_ONE)
    assert within == Position(2, 1)
    assert stream.advance(within) == Position(3)
    table.rollback_to(snapshot=1)
    with pytest.raises(NotFoundError, match="has read up to snapshot 2, but the latest is 1"):
        stream.advance(within)
    put(table, *((key, "c") for key in range(9)))
    with pytest.raises(NotFoundError, match="has read up to snapshot 2, but that is another one now"):
        stream.advance(within)


def test_a_planned_batch_of_a_history_that_is_no_more(history: lakebed.Table) -> None:
    """A query that planned a batch and died must not read less of it than it planned."""
    stream = stream_of(history)
    end = stream.advance(Position(2))
    history.rollback_to(snapshot=2)
    with pytest.raises(NotFoundError, match="has read up to snapshot 3, but the latest is 2"):
        stream.read(Position(2), end)


def test_a_table_that_was_made_anew(lake: lakebed.Lake, history: lakebed.Table) -> None:
    end = stream_of(history).advance(Position(1))
    lake.drop_table(history.name)
    anew = lake.create_table(history.name, "k INT, v STRING")
    for number in range(5):
        put(anew, (number, "z"))
    with pytest.raises(NotFoundError, match="rolled back or created again"):
        stream_of(anew).advance(end)


def test_positions_of_older_checkpoints_tell_no_snapshot(history: lakebed.Table) -> None:
    old = Position.from_json({"snapshot": 3, "done": 0, "in": "changes"})
    assert old.seen == ""
    history.rollback_to(snapshot=1)
    put(history, (7, "a"))
    put(history, (8, "a"))
    stream = stream_of(history)
    assert rows_between(stream, old, stream.advance(old)) == [("+I", 8, "a")]
    assert stream.advance(Position(4)).to_json() == Position(4).to_json(), "without news a position stays as it was"


def test_of_an_expired_snapshot_nobody_can_tell(history: lakebed.Table) -> None:
    stream = stream_of(history)
    end = stream.advance(Position(1))
    put(history, (4, "a"))
    history.expire_snapshots(retain_max=1, retain_min=1)
    assert rows_between(stream, end, stream.advance(end)) == [("+I", 4, "a")]


def test_new_columns_stop_a_stream_when_everything_before_is_read(history: lakebed.Table) -> None:
    stream = stream_of(history)
    history.alter(changes.AddColumn("w", "INT"))
    assert stream.advance(Position(3)) == Position(4)  # nobody has written with it
    history.write(pa.table({"k": pa.array([9], pa.int32()), "v": ["z"], "w": pa.array([1], pa.int32())}))
    assert stream.advance(Position(3)) == Position(4)
    with pytest.raises(SchemaError, match=r"added columns 'w', and snapshot 4 uses it.*Start it again"):
        stream.advance(Position(4))
    assert rows_between(replace(stream, new_columns_pass=True), Position(4), Position(5)) == [("+I", 9, "z")]
    assert replace(stream, new_columns_pass=True).advance(Position(4)) == Position(5)
    assert replace(stream, all_columns=False).advance(Position(4)) == Position(5)
    assert rows_between(stream_of(history), Position(3), Position(5)) == [("+I", 3, "a", None), ("+I", 9, "z", 1)]


@pytest.mark.parametrize(
    "change",
    [changes.RenameColumn("v", "x"), changes.DropColumn("v"), changes.UpdateColumnType("k", "BIGINT")],
    ids=["rename", "drop", "type"],
)
def test_other_columns_stop_a_stream_whatever_it_was_told(history: lakebed.Table, change: Any) -> None:
    stream = replace(stream_of(history), new_columns_pass=True)
    history.alter(change)
    history.write(pa.table({column.name: pa.nulls(1, column.type) for column in history.arrow_schema}))
    with pytest.raises(SchemaError, match="changed column"):
        stream.advance(Position(4))


def test_options_and_comments_stop_nobody(history: lakebed.Table) -> None:
    stream = stream_of(history)
    history.alter(changes.SetOption("snapshot.num-retained.min", "5"))
    put(history, (7, "a"))
    assert stream.advance(Position(4)) == Position(5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"merge-engine": "partial-update"}, "merge engine partial-update.*lookup or full-compaction"),
        ({"merge-engine": "first-row"}, "merge engine first-row"),
        (
            {"changelog-producer": "lookup", "streaming-read-overwrite": "true"},
            "cannot be combined with changelog-producer lookup",
        ),
    ],
)
def test_tables_whose_changes_cannot_be_told(lake: lakebed.Lake, options: dict[str, str], message: str) -> None:
    table = make(lake, "keyed", options)
    with pytest.raises((UnsupportedError, OptionError), match=message):
        check_streamable(table._store, table.schema)


@pytest.mark.parametrize("producer", ["input", "lookup", "full-compaction"])
def test_a_changelog_needs_a_primary_key(lake: lakebed.Lake, producer: str) -> None:
    message = f"has no primary key.*'changelog-producer' = {producer} has nothing to tell"
    with pytest.raises(OptionError, match=message):
        make(lake, "append", {"changelog-producer": producer})
    table = make(lake, "append")
    with pytest.raises(OptionError, match=message):
        table.alter(changes.SetOption("changelog-producer", producer))
    table.alter(changes.SetOption("changelog-producer", "none"))


def test_a_table_without_a_key_that_others_gave_a_changelog_tells_what_was_added(lake: lakebed.Lake) -> None:
    table = make(lake, "append")
    stored = stored_path(table.path) / "schema" / "schema-0"
    raw = json.loads(stored.read_text())
    stored.write_text(json.dumps({**raw, "options": {**raw["options"], "changelog-producer": "input"}}))
    table = lake.table(table.name)
    put(table, (1, "a"))
    put(table, (2, "a"))
    assert shown(table) == [(1, "a"), (2, "a")]
    assert list(itertools.chain(*drained(stream_of(table), Position(1))[0])) == [("+I", 1, "a"), ("+I", 2, "a")]
    assert table.scan(since=1).to_arrow().to_pylist() == [{"k": 2, "v": "a"}]
    with pytest.raises(OptionError, match="has no primary key"):
        table.alter(changes.SetOption("snapshot.num-retained.min", "5"))
    table.alter(changes.RemoveOption("changelog-producer"))


def test_a_table_of_two_branches(history: lakebed.Table) -> None:
    history.create_branch("b")
    stream = stream_of(history, {"scan.fallback-branch": "b"})
    with pytest.raises(UnsupportedError, match=r"read together with another branch.*\$branch_b"):
        stream.start()


def test_a_position_of_somebody_else() -> None:
    with pytest.raises(CorruptError, match="is not a position of a Lakebed stream"):
        Position.from_json({"index": 3})
    with pytest.raises(CorruptError, match="is not a position of a Lakebed stream"):
        Position.from_json({"snapshot": 3, "done": 0, "in": "changes", "seen": 4})


# ---------------------------------------------------------------------------------------------------------- consumers


def test_a_consumer_keeps_what_is_unread_and_is_where_a_new_stream_begins(history: lakebed.Table) -> None:
    stream = stream_of(history, {"consumer-id": "c", "scan.snapshot-id": "2"})
    assert stream.start() == Position(2)
    history.expire_snapshots(retain_max=1, retain_min=1)
    assert [snapshot.id for snapshot in history.snapshots()] == [2, 3]
    stream.note(Position(3))
    history.expire_snapshots(retain_max=1, retain_min=1)
    assert [snapshot.id for snapshot in history.snapshots()] == [3]
    assert stream_of(history, {"consumer-id": "c"}).start() == Position(3)
    assert stream_of(history, {"consumer-id": "c", "consumer.ignore-progress": "true"}).start() == Position(3, 0, True)
    assert history.consumers() == {"c": 3}


def test_a_state_that_was_not_read_to_its_end_is_begun_again(history: lakebed.Table) -> None:
    stream = stream_of(history, {"consumer-id": "c"})
    assert stream.start() == Position(3, 0, True)
    stream.note(Position(3, 2, True))
    assert find_progress(stream.store, "c") == Progress(3, in_state=True)
    assert json.loads(stored_path(stream.store.paths.consumer("c")).read_text())["nextSnapshot"] == 3
    assert stream.start() == Position(3, 0, True)
    stream.note(Position(4))
    assert stream.start() == Position(4)


def test_a_stream_of_overwrites_keeps_what_they_took_away(lake: lakebed.Lake) -> None:
    table = make(lake, "append")
    put(table, (1, "a"))
    stream = stream_of(table, {"consumer-id": "c", "streaming-read-overwrite": "true"})
    _, end = drained(stream, Position(1))
    stream.note(end)
    table.overwrite(pa.table({"k": pa.array([3], pa.int32()), "v": ["c"]}))
    put(table, (4, "a"))
    table.expire_snapshots(retain_max=1, retain_min=1)
    found, _ = drained(stream, end)
    assert list(itertools.chain(*found)) == [("-D", 1, "a"), ("+I", 3, "c"), ("+I", 4, "a")]


def test_nothing_is_noted_without_a_name(history: lakebed.Table) -> None:
    stream_of(history).start()
    assert history.consumers() == {}
    assert [part.how for part in stream_of(history).files.state(history.snapshot(3)).parts] == [How.STATE]
