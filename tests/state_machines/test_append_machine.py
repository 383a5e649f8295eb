"""A partitioned append table against a plain Python model: any sequence of writes, deletes and changes of schema.

The model is a list of rows by field id and, for every snapshot, what it held. After each step the table, its latest
snapshot and every earlier one have to show what the model says.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.effort import examples
from tests.lakes import open_lake

import lakebed
from lakebed import changes
from lakebed.format.types.data_types import Atomic, to_arrow

PARTITIONS = ["a", "b", "", None]
VALUES = st.none() | st.integers(-3, 3)
WIDER = {"TINYINT": "SMALLINT", "SMALLINT": "INT", "INT": "BIGINT", "BIGINT": "STRING"}
NEW_TYPES = ["TINYINT", "INT", "STRING"]


@dataclass(frozen=True)
class Column:
    """A column of the model; rows hold values by its number."""

    number: int
    name: str
    type: str


@dataclass(frozen=True)
class Version:
    """What a snapshot held: the columns then, and rows by column number."""

    columns: tuple[Column, ...]
    rows: tuple[dict[int, Any], ...]


def shown(columns: tuple[Column, ...], rows: tuple[dict[int, Any], ...]) -> list[str]:
    """Rows as a read shows them, in any order."""
    return sorted(repr({column.name: row.get(column.number) for column in columns}) for row in rows)


class AppendTable(RuleBasedStateMachine):
    """Rules are what users do; the invariant is that the table shows what the model says."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp(prefix="lakebed-machine-")
        lake = open_lake(self.folder)
        self.table = lake.create_table("db.t", "p STRING, v TINYINT, s STRING", partition_by=["p"])
        first = (Column(0, "p", "STRING"), Column(1, "v", "TINYINT"), Column(2, "s", "STRING"))
        self.columns: tuple[Column, ...] = first
        self.rows: tuple[dict[int, Any], ...] = ()
        self.versions: dict[int, Version] = {}
        self.next_number = 3

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    # ------------------------------------------------------------------------------------------------------ helpers

    def draw_rows(self, data: st.DataObject, partitions: list[str | None], max_size: int = 3) -> list[dict[str, Any]]:
        rows = []
        for _ in range(data.draw(st.integers(0, max_size))):
            row: dict[str, Any] = {}
            for column in self.columns:
                if column.number == 0:
                    row[column.name] = data.draw(st.sampled_from(partitions))
                else:
                    value = data.draw(VALUES)
                    row[column.name] = str(value) if column.type == "STRING" and value is not None else value
            rows.append(row)
        return rows

    def arrow(self, rows: list[dict[str, Any]]) -> pa.Table:
        schema = pa.schema([(column.name, to_arrow(Atomic(column.type))) for column in self.columns])
        return pa.Table.from_pylist(rows, schema=schema)

    def numbered(self, rows: list[dict[str, Any]]) -> tuple[dict[int, Any], ...]:
        return tuple({column.number: row[column.name] for column in self.columns} for row in rows)

    def committed(self, snapshot: lakebed.Snapshot | None, rows: tuple[dict[int, Any], ...], *, expected: bool) -> None:
        """A commit happened if it should have, and the model follows."""
        assert (snapshot is not None) == expected
        self.rows = rows
        if snapshot is not None:
            assert snapshot.id == len(self.versions) + 1
            assert snapshot.total_record_count == len(rows)
            self.versions[snapshot.id] = Version(self.columns, rows)

    def name(self, number: int) -> str:
        return next(column.name for column in self.columns if column.number == number)

    # ------------------------------------------------------------------------------------------------------- writing

    @initialize(data=st.data())
    def first_rows(self, data: st.DataObject) -> None:
        self.append(data, "Arrow")

    @rule(data=st.data(), kind=st.sampled_from(["Arrow", "stream", "batch", "pandas", "Polars", "dictionaries"]))
    def append(self, data: st.DataObject, kind: str) -> None:
        rows = self.draw_rows(data, list(PARTITIONS))
        table = self.arrow(rows)
        match kind:
            case "stream":
                given: Any = table.to_reader(max_chunksize=1)
            case "batch":
                given = table.combine_chunks().to_batches()[0] if rows else table
            case "pandas":
                given = table.to_pandas(types_mapper=pd.ArrowDtype)
            case "Polars":
                given = pl.from_arrow(table)
            case "dictionaries" if all(None not in row.values() for row in rows) and rows:
                given = rows
            case _:
                given = table
        self.committed(self.table.write(given), self.rows + self.numbered(rows), expected=bool(rows))

    @rule(data=st.data())
    def overwrite_partitions_of_the_rows(self, data: st.DataObject) -> None:
        rows = self.draw_rows(data, list(PARTITIONS))
        touched = {row["p"] for row in rows}
        kept = tuple(row for row in self.rows if row[0] not in touched)
        self.committed(self.table.overwrite(self.arrow(rows)), kept + self.numbered(rows), expected=bool(rows))

    @rule(data=st.data(), partition=st.sampled_from(PARTITIONS))
    def overwrite_one_partition(self, data: st.DataObject, partition: str | None) -> None:
        rows = self.draw_rows(data, [partition])
        kept = tuple(row for row in self.rows if row[0] != partition)
        changed = bool(rows) or len(kept) < len(self.rows)
        made = self.table.overwrite(self.arrow(rows), partition={"p": partition})
        self.committed(made, kept + self.numbered(rows), expected=changed)

    @rule(data=st.data())
    def overwrite_everything(self, data: st.DataObject) -> None:
        rows = self.draw_rows(data, list(PARTITIONS))
        made = self.table.overwrite(self.arrow(rows), partition={})
        self.committed(made, self.numbered(rows), expected=bool(rows) or bool(self.rows))

    @rule(data=st.data(), low=st.integers(-3, 3), partition=st.sampled_from(["a", "b", None]))
    def delete(self, data: st.DataObject, low: int, partition: str | None) -> None:
        column = data.draw(st.sampled_from(self.columns))
        if column.number == 0:
            where = "p IS NULL" if partition is None else f"p = '{partition}'"
            kept = tuple(row for row in self.rows if row[0] != partition)
        elif column.type == "STRING":
            where = f"`{column.name}` = '{low}'"
            kept = tuple(row for row in self.rows if row.get(column.number) != str(low))
        else:
            where = f"`{column.name}` >= {low} AND p <=> {'NULL' if partition is None else repr(partition)}"
            kept = tuple(
                row
                for row in self.rows
                if row[0] != partition or row.get(column.number) is None or row[column.number] < low
            )
        self.committed(self.table.delete(where), kept, expected=len(kept) < len(self.rows))

    @rule(partition=st.sampled_from(PARTITIONS))
    def drop_partition(self, partition: str | None) -> None:
        kept = tuple(row for row in self.rows if row[0] != partition)
        self.committed(self.table.drop_partition({"p": partition}), kept, expected=len(kept) < len(self.rows))

    @rule()
    def truncate(self) -> None:
        self.committed(self.table.truncate(), (), expected=bool(self.rows))

    # ------------------------------------------------------------------------------------------------------ altering

    @precondition(lambda self: len(self.columns) < 6)
    @rule(data=st.data(), kind=st.sampled_from(NEW_TYPES), first=st.booleans())
    def add_column(self, data: st.DataObject, kind: str, first: bool) -> None:
        taken = {column.name for column in self.columns}
        name = data.draw(st.sampled_from([name for name in ("v", "s", "x", "y z", "Ü") if name not in taken]))
        self.table.alter(changes.AddColumn(name, kind, position=changes.First() if first else None))
        column = Column(self.next_number, name, kind)
        self.columns = (column, *self.columns) if first else (*self.columns, column)
        self.next_number += 1

    @precondition(lambda self: len(self.columns) > 2)
    @rule(data=st.data())
    def drop_column(self, data: st.DataObject) -> None:
        column = data.draw(st.sampled_from([column for column in self.columns if column.number]))
        self.table.alter(changes.DropColumn(column.name))
        self.columns = tuple(other for other in self.columns if other != column)
        self.rows = tuple({n: value for n, value in row.items() if n != column.number} for row in self.rows)

    @precondition(lambda self: len(self.columns) > 1)
    @rule(data=st.data())
    def rename_column(self, data: st.DataObject) -> None:
        column = data.draw(st.sampled_from([column for column in self.columns if column.number]))
        name = f"r{self.next_number}"
        self.next_number += 1
        self.table.alter(changes.RenameColumn(column.name, name))
        self.columns = tuple(replace(c, name=name) if c == column else c for c in self.columns)

    @precondition(lambda self: any(column.type in WIDER for column in self.columns))
    @rule(data=st.data())
    def widen_column(self, data: st.DataObject) -> None:
        column = data.draw(st.sampled_from([column for column in self.columns if column.type in WIDER]))
        wider = replace(column, type=WIDER[column.type])
        self.table.alter(changes.UpdateColumnType(column.name, wider.type))
        self.columns = tuple(wider if c == column else c for c in self.columns)
        if wider.type == "STRING":
            number = column.number
            self.rows = tuple(
                row | {number: None if row.get(number) is None else str(row[number])} for row in self.rows
            )

    @rule(data=st.data())
    def move_column(self, data: st.DataObject) -> None:
        column = data.draw(st.sampled_from(self.columns))
        self.table.alter(changes.UpdateColumnPosition(column.name, changes.First()))
        self.columns = (column, *(other for other in self.columns if other != column))

    @rule()
    def reopen(self) -> None:
        self.table = lakebed.connect(self.folder).table("db.t")

    # ------------------------------------------------------------------------------------------------------ checking

    @invariant()
    def the_table_shows_the_model(self) -> None:
        found = self.table.scan().to_arrow()
        assert found.column_names == [column.name for column in self.columns]
        assert found.schema.types == [to_arrow(Atomic(column.type)) for column in self.columns]
        assert sorted(map(repr, found.to_pylist())) == shown(self.columns, self.rows)

    @rule(data=st.data())
    def travel(self, data: st.DataObject) -> None:
        """Any earlier snapshot, whole and filtered."""
        for number, version in self.versions.items():
            found = self.table.scan(version=number).to_arrow()
            assert found.column_names == [column.name for column in version.columns]
            assert sorted(map(repr, found.to_pylist())) == shown(version.columns, version.rows)
        if self.versions:
            number = data.draw(st.sampled_from(sorted(self.versions)))
            version = self.versions[number]
            partition = data.draw(st.sampled_from(["a", "b", ""]))
            part = self.table.scan(["p"], f"p = '{partition}'", version=number).to_arrow()
            assert part["p"].to_pylist() == [partition] * sum(row[0] == partition for row in version.rows)


AppendTable.TestCase.settings = settings(
    max_examples=examples(25),
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestAppendTable = AppendTable.TestCase
