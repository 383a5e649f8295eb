"""Incremental reads: random histories against a model for every mode and kind of table, then the ends and edges one by
one.
"""

from __future__ import annotations

import datetime as dt
import itertools
import pickle
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.lakes import open_lake
from tests.places import delete_tree

import lakebed
from lakebed import changes
from lakebed.format.snapshot import CommitKind
from lakebed.metadata.plan.interval import Mode
from lakebed.operations.read_changes import DifferenceReader
from lakebed.spark.read.native_files import divide, pack
from lakebed.spark.read.read_frame import for_task, read_split

Row = tuple[Any, ...]

KEYED = {"bucket": "2", "num-sorted-run.compaction-trigger": "3"}
KINDS: dict[str, dict[str, str]] = {
    "append": {},
    "append buckets": {"bucket": "2", "bucket-key": "k"},
    "keyed": KEYED,
    "changelog": {**KEYED, "changelog-producer": "input"},
    "vectors": {**KEYED, "deletion-vectors.enabled": "true"},
    "partial": {**KEYED, "merge-engine": "partial-update"},
    "aggregation": {**KEYED, "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
}


_names = itertools.count()


def make(lake: lakebed.Lake, kind: str, columns: str = "k INT, v INT, w STRING", **options: str) -> lakebed.Table:
    keyed = kind not in {"append", "append buckets"}
    return lake.create_table(
        f"db.t{next(_names)}",
        columns,
        primary_key=["k"] if keyed else [],
        options={**KINDS[kind], **options},
    )


def arrow(table: lakebed.Table, rows: list[Row]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(table.arrow_schema)
    nullable = pa.schema([column.with_nullable(True) for column in table.arrow_schema])
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, nullable, strict=True)], schema=nullable)


def put(table: lakebed.Table, *rows: Row, gone: tuple[int, ...] = ()) -> None:
    """Write rows and then deletes of some keys, in one commit."""
    width = len(table.arrow_schema)
    deletes = [(key, *[None] * (width - 1)) for key in gone]
    data = arrow(table, [*rows, *deletes]).append_column("op", pa.array(["+I"] * len(rows) + ["-D"] * len(gone)))
    table.write(data if gone else data.drop_columns("op"), row_kind="op" if gone else None)


def rows_of(table: pa.Table) -> Counter[Row]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


def changed(table: lakebed.Table, since: Any, until: Any = None, mode: str = "auto", **how: Any) -> Counter[Row]:
    return rows_of(table.scan(since=since, until=until, mode=mode, **how).to_arrow())


def by_splits(scan: lakebed.Scan) -> Counter[Row]:
    """The same rows in the way that Spark's tasks read them: in splits that traveled as bytes."""
    found: Counter[Row] = Counter()
    for part in scan._parts:
        entries = part.result.entries
        reader = pickle.loads(pickle.dumps(for_task(part.reader, 1 << 28)))
        groups = divide(part.reader, entries, native=False, split_bytes=1).grouped
        for split in pack(entries, groups, part.reader.deleted, 1):
            for batch in read_split(reader, split):
                found += rows_of(pa.Table.from_batches([batch]))
    return found


# ------------------------------------------------------------------------------------------------------ against a model


@dataclass
class Model:
    """What every snapshot added and held."""

    table: lakebed.Table
    kind: str
    state: dict[int, Row] = field(default_factory=dict)
    bag: list[Row] = field(default_factory=list)
    added: list[Counter[Row]] = field(default_factory=lambda: [Counter()])
    logged: list[Counter[Row]] = field(default_factory=lambda: [Counter()])
    states: list[Counter[Row]] = field(default_factory=lambda: [Counter()])

    @property
    def keyed(self) -> bool:
        return not self.kind.startswith("append")

    def merged(self, old: Row | None, new: Row) -> Row:
        if old is None or self.kind not in {"partial", "aggregation"}:
            return new
        k, v, w = (b if b is not None else a for a, b in zip(old, new, strict=True))
        if self.kind == "aggregation" and old[1] is not None and new[1] is not None:
            v = old[1] + new[1]
        return k, v, w

    def write(self, rows: list[Row], gone: set[int]) -> None:
        if self.kind in {"append", "append buckets", "partial", "aggregation"}:
            gone = set()
        put(self.table, *rows, gone=tuple(sorted(gone)))
        batch: dict[int, Row] = {}
        for row in rows:
            batch[row[0]] = self.merged(batch.get(row[0]), row)
        batch = {key: row for key, row in batch.items() if key not in gone}
        before = self.current()
        self.state = {key: row for key, row in self.state.items() if key not in gone}
        self.state |= {key: self.merged(self.state.get(key), row) for key, row in batch.items()}
        self.bag += rows
        self.note(Counter(batch.values() if self.keyed else rows), Counter(rows), before)

    def overwrite(self, rows: list[Row]) -> None:
        rows = list({row[0]: row for row in rows}.values())
        self.table.overwrite(arrow(self.table, rows))
        before = self.current()
        self.state, self.bag = {row[0]: row for row in rows}, list(rows)
        self.note(Counter(), Counter(), before)

    def delete(self, key: int) -> None:
        if self.kind in {"partial", "aggregation"}:
            return
        self.table.delete(f"k = {key}")
        before = self.current()
        self.state.pop(key, None)
        self.bag = [row for row in self.bag if row[0] != key]
        self.note(Counter(), Counter(), before)

    def compact(self, *, full: bool) -> None:
        self.table.compact(full=full)
        self.note(Counter(), Counter(), self.current())

    def current(self) -> Counter[Row]:
        return Counter(self.state.values() if self.keyed else self.bag)

    def note(self, added: Counter[Row], logged: Counter[Row], before: Counter[Row]) -> None:
        latest = self.table.latest_snapshot()
        start = len(self.states)
        for number in range(start, 1 + (latest.id if latest else 0)):
            first = number == start
            hidden = self.kind == "vectors" and self.table.snapshot(number).commit_kind is CommitKind.APPEND
            self.added.append(added if first else Counter())
            self.logged.append(logged if first and self.kind == "changelog" else Counter())
            self.states.append(before if hidden else self.current())

    def expected(self, i: int, j: int, mode: str) -> Counter[Row]:
        match mode:
            case "delta":
                return sum(self.added[i + 1 : j + 1], Counter())
            case "changelog":
                return sum(self.logged[i + 1 : j + 1], Counter())
        return self.states[j] - self.states[i]


ROWS = st.tuples(st.integers(0, 9), st.none() | st.integers(0, 3), st.none() | st.sampled_from("ab"))
STEPS: st.SearchStrategy[tuple[Any, ...]] = st.one_of(
    st.tuples(st.just("write"), st.lists(ROWS, min_size=1, max_size=5), st.sets(st.integers(0, 9), max_size=2)),
    st.tuples(st.just("write"), st.lists(ROWS, min_size=1, max_size=5), st.just(set())),
    st.tuples(st.just("delete"), st.integers(0, 9)),
    st.tuples(st.just("overwrite"), st.lists(ROWS, min_size=1, max_size=3)),
    st.tuples(st.just("compact"), st.booleans()),
)


@pytest.mark.parametrize("kind", KINDS)
@settings(
    max_examples=examples(4),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a history takes minutes to shrink
)
@given(
    st.lists(STEPS, min_size=3, max_size=9),
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=3, max_size=3),
)
def test_random_histories(kind: str, steps: list[tuple[Any, ...]], ends: list[tuple[float, float]]) -> None:
    folder = tempfile.mkdtemp()
    try:
        lake = open_lake(folder)
        model = Model(make(lake, kind), kind)
        for step, *given_ in steps:
            if step == "compact":
                model.compact(full=given_[0])
            else:
                getattr(model, step)(*given_)
        check(model, ends)
    finally:
        delete_tree(folder)


def check(model: Model, ends: list[tuple[float, float]]) -> None:
    last = len(model.states) - 1
    pairs = {(0, last), *((round(min(pair) * last), round(max(pair) * last)) for pair in ends)}
    for i, j in pairs if last else []:
        for mode in ("delta", "changelog", "diff"):
            want = model.expected(i, j, mode)
            scan = model.table.scan(since=i, until=j, mode=mode)
            assert rows_of(scan.to_arrow()) == want, (mode, i, j)
            assert rows_of(scan.to_batches().read_all()) == want, (mode, i, j)
            assert by_splits(scan) == want, (mode, i, j)
            assert scan.count() == want.total(), (mode, i, j)
            some = Counter({(row[2],): 0 for row in want})
            for row, times in want.items():
                if row[1] is not None and row[1] >= 2:
                    some[row[2],] += times
            how: Any = {"columns": ["w"], "where": "v >= 2"}
            assert changed(model.table, i, j, mode, **how) == +some, (mode, i, j, "part")


# ----------------------------------------------------------------------------------------------------------- by example


@pytest.fixture
def ten(lake: lakebed.Lake) -> lakebed.Table:
    """Six commits of one row each into an append table."""
    table = make(lake, "append")
    for number in range(1, 7):
        put(table, (number, number * 10, "x"))
    return table


def mode_of(scan: lakebed.Scan) -> Mode | None:
    interval = scan.plan().interval
    return None if interval is None else interval.mode


def keys(found: Counter[Row]) -> list[int]:
    return sorted(row[0] for row in found.elements())


def test_since_three_until_five(ten: lakebed.Table) -> None:
    assert keys(changed(ten, 3, 5)) == [4, 5]
    assert keys(changed(ten, 3)) == [4, 5, 6]
    assert keys(changed(ten, 0, 2)) == [1, 2]
    assert keys(changed(ten, "3", "5", "diff")) == [4, 5]
    assert changed(ten, 4, 4) == Counter()
    assert ten.scan(since=3, until=5).snapshot == ten.snapshot(5)


def test_across_compactions(lake: lakebed.Lake) -> None:
    table = make(lake, "append")
    for number in range(1, 13):
        put(table, (number, number, "x"))
    assert table.compact(full=True) is not None
    put(table, (99, 1, "x"))
    for mode in ("delta", "diff"):
        assert keys(changed(table, 3, 13, mode)) == list(range(4, 13))
        assert keys(changed(table, 12, 14, mode)) == [99]
        assert changed(table, 12, 13, mode) == Counter()


def test_what_is_opened(ten: lakebed.Table, lake: lakebed.Lake) -> None:
    plan = ten.scan(["k"], "k < 5", since=1, until=5).plan()
    assert plan.file_count == 3
    assert "changes of snapshots 2 to 5 (delta)" in str(plan)
    assert "files by column statistics: 3 of 4 kept" in str(plan)
    assert ten.scan(since=3, until=5, mode="diff").plan().file_count == 2
    assert "rows of snapshot 5 that snapshot 3 did not have" in ten.scan(since=3, until=5, mode="diff").explain()
    assert ten.scan(since=3, until=3).plan().file_count == 0
    assert "none" in ten.scan(since=3, until=3).explain()
    keyed = make(lake, "keyed", bucket="1")
    put(keyed, *((k, 0, "x") for k in range(10)))
    put(keyed, *((k, 0, "x") for k in range(100, 110)))
    put(keyed, (105, 1, "y"), (300, 1, "y"))
    scan = keyed.scan(since=2, mode="diff")
    assert scan.plan().file_count == 2, "keys from 0 to 9 are in a file that nothing meets"
    assert keys(rows_of(scan.to_arrow())) == [105, 300]


def test_marks_in_files_that_stay(lake: lakebed.Lake) -> None:
    """A file whose deleted rows are others than before has changed, though its name has not."""
    table = make(lake, "vectors", bucket="1")
    put(table, *((k, k * 7919 % 10007, f"{k * 104729:x}") for k in range(2000)))
    put(table, (5, 5 * 7919 % 10007, f"{5 * 104729:x}"), (6, 6, "new"), gone=(7,))
    put(table, (8, 8, "new"), (6, 6, "new"))
    large = {row["file_path"] for row in table.scan().plan().files.to_pylist() if row["record_count"] == 2000}
    assert len(large) == 1, "the first file must still be there"
    for mode, want in (("diff", {(6, 6, "new"), (8, 8, "new")}), ("delta", {(6, 6, "new"), (8, 8, "new")})):
        again = {(5, 5 * 7919 % 10007, f"{5 * 104729:x}")} if mode == "delta" else set()
        assert set(changed(table, 2, 6, mode)) == want | again, mode
    assert changed(table, 4, 6, "diff") == Counter([(8, 8, "new")])
    assert by_splits(table.scan(since=4, until=6, mode="diff")) == Counter([(8, 8, "new")])
    assert set(table.scan(since=2, until=6, mode="diff").plan().files["file_path"].to_pylist()) >= large
    same = table.scan(since=6, mode="diff")
    assert same.plan().file_count == 0


def test_files_that_only_moved_up(lake: lakebed.Lake) -> None:
    table = make(
        lake, "keyed", **{"target-file-size": "1 kb", "bucket": "1", "num-sorted-run.compaction-trigger": "50"}
    )
    put(table, *((k, 1, "x") for k in range(5)))
    put(table, *((k, 1, "x") for k in range(10, 15)))
    names = [table.scan(version=2).plan().files["file_path"].to_pylist()]
    table.compact(full=True)
    now = table.scan(version=3).plan().files
    assert (now["file_path"].to_pylist(), now["level"].to_pylist()) == (*names, [50, 50])
    put(table, (2, 5, "y"))
    levels = table.scan(since=2, until=3, mode="diff").plan()
    assert (levels.file_count, changed(table, 2, 3, "diff")) == (0, Counter())
    assert changed(table, 1, 4, "diff") == Counter({(2, 5, "y"): 1, **{(k, 1, "x"): 1 for k in range(10, 15)}})


def test_changes_of_schema(lake: lakebed.Lake) -> None:
    """Rows have the columns of today, and a new column makes no row a changed one."""
    for kind in ("append", "keyed"):
        table = make(lake, kind)
        put(table, (1, 1, "a"), (2, 2, "b"))
        table.alter(changes.AddColumn("n", "INT"), changes.RenameColumn("v", "u"))
        put(table, (3, 3, "c", 3))
        table.alter(changes.UpdateColumnType("u", "BIGINT"))
        put(table, (4, 4, "d", 4))
        table.compact(full=True)
        for mode in ("delta", "diff"):
            assert changed(table, 1, None, mode) == Counter([(3, 3, "c", 3), (4, 4, "d", 4)])
            assert changed(table, 0, 1, mode) == Counter([(1, 1, "a", None), (2, 2, "b", None)])
        assert changed(table, 1, 3, "diff", columns=["n"], where="u = 3") == Counter([(3,)])


def test_more_buckets_than_before(lake: lakebed.Lake) -> None:
    table = make(lake, "keyed")
    put(table, *((k, k, "x") for k in range(20)))
    table.alter(changes.SetOption("bucket", "5"))
    table.overwrite(arrow(table, [(k, -1 if k == 7 else k, "x") for k in range(21)]))
    assert changed(table, 1, 2, "diff") == Counter([(7, -1, "x"), (20, 20, "x")])


def test_partitions(lake: lakebed.Lake) -> None:
    table = lake.create_table(
        "db.parts", "p STRING, k INT, v INT", partition_by=["p"], primary_key=["p", "k"], options={"bucket": "1"}
    )
    put(table, ("a", 1, 1), ("b", 1, 1))
    put(table, ("a", 1, 2), ("b", 1, 1), ("c", 1, 3))
    assert changed(table, 1, 2, "diff") == Counter([("a", 1, 2), ("c", 1, 3)])
    assert changed(table, 1, 2, "diff", where="p = 'a'") == Counter([("a", 1, 2)])
    assert table.scan(where="p = 'a'", since=1, until=2, mode="delta").plan().file_count == 1
    table.drop_partition({"p": "a"})
    assert changed(table, 2, 3, "diff") == changed(table, 2, 3, "delta") == Counter()


def test_values_of_every_shape(lake: lakebed.Lake) -> None:
    """Lists, maps, rows, NaN and nulls are compared by what they hold."""
    kind = "k INT, f DOUBLE, l ARRAY<INT>, m MAP<STRING, INT>, r ROW<x INT, y ARRAY<STRING>>, d DECIMAL(30, 3), b BYTES"
    table = make(lake, "keyed", kind)
    row: dict[str, Any] = {"k": 0, "f": float("nan"), "l": [1, None], "m": [("a", 1)], "r": {"x": 1, "y": ["q"]}}
    row |= {"d": 1, "b": b"z"}
    other: list[dict[str, Any]] = [
        {"f": 0.5},
        {"l": [1]},
        {"l": None},
        {"m": [("a", 2)]},
        {"m": []},
        {"r": None},
        {"r": {"x": 1, "y": []}},
    ]
    other += [{"r": {"x": None, "y": ["q"]}}, {"d": None}, {"b": b""}, {}]
    table.write(pa.Table.from_pylist([row | {"k": k} for k in range(len(other))], table.arrow_schema))
    table.write(pa.Table.from_pylist([row | {"k": k} | new for k, new in enumerate(other)], table.arrow_schema))
    found = table.scan(["k"], since=1, until=2, mode="diff").to_arrow()["k"].to_pylist()
    assert sorted(found) == list(range(len(other) - 1))


def test_equal_rows_of_append_tables_are_counted(lake: lakebed.Lake) -> None:
    table = make(lake, "append")
    put(table, *[(1, 1, "x")] * 3)
    table.overwrite(arrow(table, [(1, 1, "x")] * 5 + [(2, 2, "y")]))
    assert changed(table, 1, 2, "diff") == Counter({(1, 1, "x"): 2, (2, 2, "y"): 1})


def test_larger_than_the_budget(lake: lakebed.Lake) -> None:
    """A merge of more than the budget goes in pieces of the key range; the comparison does not mind."""
    table = make(lake, "keyed", bucket="1")
    put(table, *((k, k, "x") for k in range(500)))
    put(table, *((k, k if k % 3 else -k, "x") for k in range(0, 500, 2)))
    part = table.scan(since=1, until=2, mode="diff")._parts[0]
    assert isinstance(part.reader, DifferenceReader)
    found = replace(part.reader, budget=1000).read(part.result.entries)
    assert keys(rows_of(found)) == list(range(6, 500, 6))


# ------------------------------------------------------------------------------------------------------- the two ends


def test_tags(ten: lakebed.Table) -> None:
    for number in (2, 5):
        ten.create_tag(f"t{number}", snapshot=number)
    assert keys(changed(ten, "t2", "t5")) == [3, 4, 5]
    assert mode_of(ten.scan(since="t2", until="t5")) is Mode.DIFF
    assert mode_of(ten.scan(since="t2", until=5)) is Mode.DELTA
    assert mode_of(ten.scan(since="t2", until="t5", mode="delta")) is Mode.DELTA
    assert keys(changed(ten, "t2", 4)) == [3, 4]
    ten.create_tag("6", snapshot=1)
    assert keys(changed(ten, "6", "t2")) == [2], "a tag named like a number wins"
    ten.expire_snapshots(retain_max=1, retain_min=1, older_than="0 ms")
    assert keys(changed(ten, "t2", "t5")) == [3, 4, 5], "tags keep what their states need"
    with pytest.raises(lakebed.NotFoundError, match="snapshots 3 to 5 expired"):
        changed(ten, "t2", "t5", "delta")


def test_moments(ten: lakebed.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def at(millis: int) -> dt.datetime:
        return dt.datetime.fromtimestamp(millis / 1000, dt.UTC)

    first, last = ten.snapshot(1).time_millis, ten.snapshot(6).time_millis
    middle = ten.snapshot(3).time_millis
    third = keys(changed(ten, 0, at(middle)))
    assert third in ([1, 2, 3], [1, 2, 3, 4])
    assert keys(changed(ten, at(first - 1), at(middle), "diff")) == third
    assert keys(changed(ten, at(middle))) == [key for key in range(1, 7) if key not in third]
    assert keys(changed(ten, at(0), at(last + 1000))) == [1, 2, 3, 4, 5, 6]
    assert changed(ten, at(0), at(first - 1)) == Counter()
    assert changed(ten, at(last + 1), at(last + 9)) == Counter()
    with pytest.raises(lakebed.OptionError, match="is later than until"):
        changed(ten, at(last + 9), at(last + 1))
    ten.expire_snapshots(retain_max=2, retain_min=2, older_than="0 ms")
    with pytest.raises(lakebed.NotFoundError, match="snapshots 1 to 4 expired"):
        changed(ten, at(first - 1))


@pytest.mark.parametrize("mode", ["delta", "changelog"])
def test_snapshots_that_are_gone(ten: lakebed.Table, mode: str) -> None:
    ten.expire_snapshots(retain_max=2, retain_min=2, older_than="0 ms")
    assert ten.scan(since=4, mode=mode).count() == (2 if mode == "delta" else 0)
    for since, until, gone in [(2, 6, "snapshots 3 to 4"), (3, None, "snapshot 4"), (0, 2, "snapshots 1 to 2")]:
        with pytest.raises(lakebed.NotFoundError, match=f"{gone} expired, .*earliest snapshot that exists is 5"):
            changed(ten, since, until, mode)
    with pytest.raises(lakebed.NotFoundError, match="snapshot 4 expired"):
        changed(ten, 4, 6, "diff")
    assert keys(changed(ten, 5, 6, "diff")) == [6]
    assert keys(changed(ten, 0, 6, "diff")) == [1, 2, 3, 4, 5, 6], "before the first snapshot there was nothing"


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"since": 5, "until": 2}, lakebed.OptionError, "since is snapshot 5, which is after until, snapshot 2"),
    ({"since": 9}, lakebed.NotFoundError, "has no snapshot 9; its latest is 6"),
    ({"since": 1, "until": 7}, lakebed.NotFoundError, "has no snapshot 7; its latest is 6"),
    ({"since": 1, "until": 7, "mode": "diff"}, lakebed.NotFoundError, "has no snapshot 7; its latest is 6"),
    ({"since": "nope"}, lakebed.NotFoundError, "no tag 'nope'"),
    ({"since": "a/b"}, lakebed.NotFoundError, "no tag 'a/b'"),
    ({"since": -1}, lakebed.OptionError, "snapshots count from 1"),
    ({"since": 1.5}, lakebed.OptionError, "must be a snapshot id"),
    ({"since": True}, lakebed.OptionError, "must be a snapshot id"),
    ({"until": 3}, lakebed.OptionError, "needs since="),
    ({"mode": "delta"}, lakebed.OptionError, "needs since="),
    ({"since": 1, "mode": "changes"}, lakebed.OptionError, "one of auto, delta, changelog, diff"),
    ({"since": 1, "version": 2}, lakebed.OptionError, "leave out version="),
    ({"since": 1, "timestamp": 2}, lakebed.OptionError, "leave out version="),
    ({"since": 1, "tag": "t"}, lakebed.OptionError, "leave out version="),
    ({"since": 1, "columns": ["nope"]}, lakebed.NotFoundError, "unknown column 'nope'"),
]


@pytest.mark.parametrize(("how", "error", "text"), BAD, ids=lambda value: str(value)[:40])
def test_what_cannot_be_asked(how: dict[str, Any], error: type[Exception], text: str, ten: lakebed.Table) -> None:
    with pytest.raises(error, match=text):
        ten.scan(**how)


def test_tables_without_snapshots(lake: lakebed.Lake) -> None:
    table = make(lake, "keyed")
    for mode in ("auto", "delta", "changelog", "diff"):
        assert changed(table, 0, None, mode) == Counter()
    with pytest.raises(lakebed.NotFoundError, match="has no snapshot 3; it has none yet"):
        table.scan(since=1, until=3)


# ------------------------------------------------------------------------------------------------------------- options


def with_options(lake: lakebed.Lake, table: lakebed.Table, options: Mapping[str, object]) -> list[int]:
    return keys(rows_of(lake.table(table.name, options=options).scan().to_arrow()))


def test_options_for_one_handle(lake: lakebed.Lake, ten: lakebed.Table) -> None:
    mode = "incremental-between-scan-mode"
    assert with_options(lake, ten, {"incremental-between": "3,5"}) == [4, 5]
    assert with_options(lake, ten, {"incremental-between": "3, 5", mode: "diff"}) == [4, 5]
    assert with_options(lake, ten, {"incremental-between": "3,5", mode: "changelog"}) == []
    times = [snapshot.time_millis for snapshot in ten.snapshots()]
    assert with_options(lake, ten, {"incremental-between-timestamp": f"0,{times[-1]}"}) == [1, 2, 3, 4, 5, 6]
    soon = dt.datetime.now() + dt.timedelta(days=1)
    assert with_options(lake, ten, {"incremental-between-timestamp": f"1971-01-01,{soon}"}) == [1, 2, 3, 4, 5, 6]
    handle = lake.table(ten.name, options={"incremental-between": "3,5"})
    assert keys(rows_of(handle.scan(version=2).to_arrow())) == [1, 2], "what the call asks for wins"
    assert keys(rows_of(handle.scan(since=5).to_arrow())) == [6]


def test_tags_in_options(lake: lakebed.Lake, ten: lakebed.Table) -> None:
    """Two tags are compared whatever the mode, unless they stand for their snapshots; that is how Paimon does it."""
    ten.overwrite(arrow(ten, [(50, 1, "x")]))
    put(ten, (60, 1, "x"))
    ten.create_tag("a", snapshot=6)
    ten.create_tag("b", snapshot=8)
    between = {"incremental-between": "a,b"}
    assert with_options(lake, ten, between) == [50, 60]
    assert with_options(lake, ten, {**between, "incremental-between-scan-mode": "delta"}) == [50, 60]
    assert with_options(lake, ten, {**between, "incremental-between-tag-to-snapshot": "true"}) == [60]


def test_stored_options(lake: lakebed.Lake, ten: lakebed.Table) -> None:
    ten.alter(changes.SetOption("incremental-between", "1,2"))
    assert keys(rows_of(ten.scan().to_arrow())) == [2]
    ten.alter(changes.SetOption("scan.snapshot-id", "1"))
    with pytest.raises(lakebed.OptionError, match="changes and for a version"):
        ten.scan()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"incremental-between": "3"}, "of the form start,end"),
        ({"incremental-between": "3,"}, "of the form start,end"),
        ({"incremental-between": "1,2,3"}, "of the form start,end"),
        ({"incremental-between-timestamp": "yesterday,today"}, "epoch milliseconds"),
        ({"incremental-between": "1,2", "incremental-between-timestamp": "1,2"}, "exclude each other"),
        ({"incremental-to-auto-tag": "nope"}, "not the name of an automatic tag"),
        ({"incremental-between": "1,2", "incremental-between-scan-mode": "nope"}, "auto"),
    ],
    ids=str,
)
def test_bad_options(options: dict[str, str], text: str, lake: lakebed.Lake, ten: lakebed.Table) -> None:
    with pytest.raises(lakebed.OptionError, match=text):
        lake.table(ten.name, options=options).scan()


@pytest.mark.parametrize(
    ("named", "names"),
    [
        ({}, ["2025-01-01", "2025-01-02", "2025-01-10"]),
        ({"tag.period-formatter": "without_dashes"}, ["20250101", "20250102", "20250110"]),
        ({"tag.creation-period": "hourly"}, ["2025-01-01 09", "2025-01-01 10", "2025-01-02 00"]),
        (
            {"tag.creation-period": "hourly", "tag.period-formatter": "without_dashes"},
            ["20250101 09", "20250101 10", "20250102 00"],
        ),
        (
            {"tag.creation-period": "hourly", "tag.period-formatter": "without_dashes_and_spaces"},
            ["2025010109", "2025010110", "2025010200"],
        ),
        ({"tag.creation-period": "two-hours"}, ["2025-01-01 08", "2025-01-01 10", "2025-01-02 00"]),
        ({"tag.creation-period-duration": "5 min"}, ["202501010900", "202501010905", "202501020000"]),
    ],
    ids=str,
)
def test_to_an_automatic_tag(named: dict[str, str], names: list[str], lake: lakebed.Lake, ten: lakebed.Table) -> None:
    for number, name in zip((1, 3, 6), names, strict=True):
        ten.create_tag(name, snapshot=number)
    ten.create_tag("other", snapshot=5)
    late = names[2].replace("2025", "2026")
    found = [with_options(lake, ten, {**named, "incremental-to-auto-tag": name}) for name in (*names, late)]
    assert found == [[], [2, 3], [4, 5, 6], []]


def test_other_branches_and_system_tables(lake: lakebed.Lake, ten: lakebed.Table) -> None:
    ten.create_tag("t", snapshot=2)
    branch = ten.create_branch("b", tag="t")
    put(branch, (70, 1, "x"))
    assert keys(changed(branch, 2)) == [70]
    handle = lake.table(ten.name, options={"scan.fallback-branch": "b"})
    with pytest.raises(lakebed.UnsupportedError, match="read together with another branch"):
        handle.scan(since=1)
    with pytest.raises(lakebed.UnsupportedError, match="is for table"):
        lake.system_table(f"{ten.name}$files", options={"incremental-between": "1,2"})


def test_a_changelog_is_read_by_itself(lake: lakebed.Lake) -> None:
    table = make(lake, "changelog")
    put(table, (1, 1, "a"), (1, 2, "b"))
    put(table, (1, 3, "c"), gone=(2,))
    assert changed(table, 0) == Counter([(1, 1, "a"), (1, 2, "b"), (1, 3, "c")])
    assert changed(table, 0, None, "delta") == Counter([(1, 2, "b"), (1, 3, "c")])
