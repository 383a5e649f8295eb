"""What the racing processes do. Each opens the table itself, as a program of its own would."""

from __future__ import annotations

import pyarrow as pa

from lakebed import CommitConflictError, DataError, LakebedError, connect
from lakebed.changes import AddColumn

TABLE = "db.t"


def append(warehouse: str, first: int, count: int) -> tuple[list[int], list[str]]:
    """Append one row at a time; gives the snapshots acknowledged and what went wrong."""
    table = connect(warehouse).table(TABLE)
    acknowledged, failed = [], []
    for number in range(first, first + count):
        try:
            snapshot = table.write(pa.table({"p": [1], "id": [number]}))
            assert snapshot is not None
            acknowledged.append(snapshot.id)
        except Exception as error:
            failed.append(repr(error))
    return acknowledged, failed


def overwrite(warehouse: str, first: int, count: int) -> list[int]:
    """Replace partition 1 by one row, again and again; gives the snapshots acknowledged."""
    table = connect(warehouse).table(TABLE)
    rows = (pa.table({"p": [1], "id": [number]}) for number in range(first, first + count))
    made = [table.overwrite(row, partition={"p": 1}) for row in rows]
    return [snapshot.id for snapshot in made if snapshot is not None]


def delete(warehouse: str, first: int, count: int) -> int:
    """Delete some rows one at a time, trying again after a conflict; gives the number of conflicts."""
    table = connect(warehouse).table(TABLE)
    conflicts = 0
    for number in range(first, first + count):
        while True:
            try:
                assert table.delete(f"id = {number}") is not None
                break
            except CommitConflictError:
                conflicts += 1
    return conflicts


def add_columns(warehouse: str, first: int, count: int) -> list[int]:
    """Add columns one at a time; gives the ids of the schemas."""
    table = connect(warehouse).table(TABLE)
    return [table.alter(AddColumn(f"c{number}", "INT")).id for number in range(first, first + count)]


def append_to_any_schema(warehouse: str, first: int, count: int) -> int:
    """Append rows that have every column of the moment; gives how often the schema changed in between."""
    table = connect(warehouse).table(TABLE)
    changed = 0
    for number in range(first, first + count):
        while True:
            names = table.arrow_schema.names
            row = {"p": 1, "id": number}
            try:
                table.write(pa.table({name: pa.array([row.get(name, number)], pa.int32()) for name in names}))
                break
            except DataError:
                changed += 1
    return changed


def create(warehouse: str, number: int) -> str:
    """Create the table; gives ``created`` or the name of the error."""
    try:
        connect(warehouse).create_table(TABLE, "id BIGINT", comment=str(number))
    except LakebedError as error:
        return type(error).__name__
    return "created"
