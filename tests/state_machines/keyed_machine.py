"""Primary-key tables against a plain dictionary: upserts, deletes, compactions, changes of schema, time travel.

One machine for each kind of table: merge on read with each engine, deletion vectors, first-row. After every step the
current rows, and those of every earlier snapshot, are what the model says.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from typing import Any, ClassVar

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.lakes import open_lake

import lakebed
from lakebed import changes

Row = dict[str, Any]
Key = tuple[Any, ...]

CONDITIONS: dict[str, Callable[[Row], bool]] = {
    "k = 3": lambda row: row["k"] == 3,
    "v = 1": lambda row: row["v"] == 1,
    "p = 'a' AND k > 5 AND w IS NULL": lambda row: row["p"] == "a" and row["k"] > 5 and row["w"] is None,
}
KEYS = st.integers(0, 11)
VALUES = st.none() | st.integers(-5, 5)
PARTITIONS = st.sampled_from(["a", "b"])
SMALL = {"bucket": "2", "num-sorted-run.compaction-trigger": "3"}


def deduplicate(old: Row | None, new: Row) -> Row:
    return new


def first_row(old: Row | None, new: Row) -> Row:
    return old or new


def partial_update(old: Row | None, new: Row) -> Row:
    return new if old is None else {name: old.get(name) if value is None else value for name, value in new.items()}


def aggregate(old: Row | None, new: Row) -> Row:
    if old is None:
        return new
    both = [value for value in (old["v"], new["v"]) if value is not None]
    largest = [value for value in (old["w"], new["w"]) if value is not None]
    return {**new, "v": sum(both) if both else None, "w": max(largest) if largest else None}


def by_sequence(old: Row | None, new: Row) -> Row:
    def rank(row: Row) -> int:
        return -99 if row["w"] is None else int(row["w"])  # nulls are smallest

    return new if old is None or rank(new) >= rank(old) else old


class KeyedTable(RuleBasedStateMachine):
    """A partitioned primary-key table with two buckets."""

    options: ClassVar[dict[str, str]] = {}
    merge = staticmethod(deduplicate)
    deletes = True
    evolves = True

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp(prefix="lakebed-keyed-")
        lake = open_lake(self.folder)
        self.table = lake.create_table(
            "db.t",
            "p STRING, k INT, v INT, w INT",
            partition_by=["p"],
            primary_key=["p", "k"],
            options={**SMALL, **self.options},
        )
        self.names = ["p", "k", "v", "w"]
        self.model: dict[Key, Row] = {}
        self.versions: dict[int, tuple[list[str], list[str]]] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    def shown(self) -> list[str]:
        return sorted(repr([row.get(name) for name in self.names]) for row in self.model.values())

    def remember(self) -> None:
        """The newest snapshot shows the state after a step; where level 0 is skipped, those on the way may not yet."""
        latest = self.table.latest_snapshot()
        if latest is not None and latest.id not in self.versions:
            self.versions[latest.id] = (list(self.names), self.shown())

    def draw(self, data: st.DataObject) -> list[Row]:
        count = data.draw(st.integers(1, 8))
        rows = []
        for _ in range(count):
            row: Row = {name: data.draw(VALUES) for name in self.names}
            row.update(p=data.draw(PARTITIONS), k=data.draw(KEYS))
            rows.append(row)
        return rows

    def as_table(self, rows: list[Row], more: dict[str, pa.Array] | None = None) -> pa.Table:
        columns = {
            name: pa.array([row[name] for row in rows], pa.string() if name == "p" else pa.int32())
            for name in self.names
        }
        return pa.table({**columns, **(more or {})})

    def apply(self, row: Row, kind: str) -> None:
        key = (row["p"], row["k"])
        if kind in {"-D", "-U"}:
            old = self.model.get(key)
            if self.merge is by_sequence and old is not None and by_sequence(old, row) is old:
                return
            self.model.pop(key, None)
        else:
            self.model[key] = self.merge(self.model.get(key), row)

    @rule(data=st.data())
    def upsert(self, data: st.DataObject) -> None:
        rows = self.draw(data)
        self.table.write(self.as_table(rows))
        for row in rows:
            self.apply(row, "+I")
        self.remember()

    @precondition(lambda self: self.deletes)
    @rule(data=st.data())
    def write_kinds(self, data: st.DataObject) -> None:
        rows = self.draw(data)
        kinds = [data.draw(st.sampled_from(["+I", "+U", "-D", "-U"])) for _ in rows]
        self.table.write(self.as_table(rows, {"op": pa.array(kinds)}), row_kind="op")
        for row, kind in zip(rows, kinds, strict=True):
            self.apply(row, kind)
        self.remember()

    @precondition(lambda self: self.deletes and self.merge is deduplicate)
    @rule(low=KEYS)
    def delete_where(self, low: int) -> None:
        self.table.delete(f"k >= {low} AND v > 0")
        for key in [key for key, row in self.model.items() if row["k"] >= low and (row["v"] or 0) > 0]:
            del self.model[key]
        self.remember()

    @rule(full=st.booleans())
    def compact(self, full: bool) -> None:
        self.table.compact(full=full)
        self.remember()

    @rule(partition=PARTITIONS, data=st.data())
    def overwrite_partition(self, partition: str, data: st.DataObject) -> None:
        rows = [{**row, "p": partition} for row in self.draw(data)]
        self.table.overwrite(self.as_table(rows), partition={"p": partition})
        self.model = {key: row for key, row in self.model.items() if key[0] != partition}
        for row in rows:
            self.apply(row, "+I")
        self.remember()

    @precondition(lambda self: self.evolves and len(self.names) < 6)
    @rule()
    def add_column(self) -> None:
        name = f"n{len(self.names)}"
        self.table.alter(changes.AddColumn(name, "INT"))
        self.names.append(name)

    @rule()
    def reopen(self) -> None:
        self.table = lakebed.connect(self.folder).table("db.t")

    @invariant()
    def shows_the_model(self) -> None:
        rows = self.table.scan().to_arrow().to_pylist()
        assert sorted(repr([row[name] for name in self.names]) for row in rows) == self.shown()

    @invariant()
    def finds_rows_by_key_and_by_value(self) -> None:
        for where, test in CONDITIONS.items():
            found = {
                (row["p"], row["k"]) for row in self.table.scan(columns=["p", "k"], where=where).to_arrow().to_pylist()
            }
            assert found == {key for key, row in self.model.items() if test(row)}, where

    @invariant()
    def remembers_every_version(self) -> None:
        for number in sorted(self.versions)[-4:]:
            names, rows = self.versions[number]
            table = self.table.scan(columns=names, version=number).to_arrow()
            assert sorted(repr([row[name] for name in names]) for row in table.to_pylist()) == rows, number


class Deduplicate(KeyedTable):
    """The default: the newest row of a key is the row."""


class ThinFiles(KeyedTable):
    """Files without the key columns that the table's own columns repeat."""

    options: ClassVar[dict[str, str]] = {"data-file.thin-mode": "true"}


class DeletionVectors(KeyedTable):
    """Compacted on every write; replaced rows are marked in their files."""

    options: ClassVar[dict[str, str]] = {"deletion-vectors.enabled": "true"}


class FirstRow(KeyedTable):
    """The oldest row of a key stays."""

    options: ClassVar[dict[str, str]] = {"merge-engine": "first-row"}
    merge = staticmethod(first_row)
    deletes = False


class PartialUpdate(KeyedTable):
    """Values that are not null replace older ones."""

    options: ClassVar[dict[str, str]] = {"merge-engine": "partial-update"}
    merge = staticmethod(partial_update)
    deletes = False


class PartialUpdateWithVectors(PartialUpdate):
    """The same, with replaced rows marked."""

    options: ClassVar[dict[str, str]] = {"merge-engine": "partial-update", "deletion-vectors.enabled": "true"}


class Aggregation(KeyedTable):
    """v is summed, w is the largest."""

    options: ClassVar[dict[str, str]] = {
        "merge-engine": "aggregation",
        "fields.v.aggregate-function": "sum",
        "fields.w.aggregate-function": "max",
    }
    merge = staticmethod(aggregate)
    deletes = False
    evolves = False


class BySequenceField(KeyedTable):
    """The row with the largest w is the row, however late it comes."""

    options: ClassVar[dict[str, str]] = {"sequence.field": "w"}
    merge = staticmethod(by_sequence)
    deletes = False


MACHINES = [
    Deduplicate,
    ThinFiles,
    DeletionVectors,
    FirstRow,
    PartialUpdate,
    PartialUpdateWithVectors,
    Aggregation,
    BySequenceField,
]
