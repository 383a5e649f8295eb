"""What processes do to tables on a storage server. Each opens the warehouse itself, as a program of its own would."""

from __future__ import annotations

import os

import pyarrow as pa

from lakebed import connect

TABLE, KEYED = "db.t", "db.k"


def append(warehouse: str, options: dict[str, str], first: int, count: int) -> tuple[list[int], list[str]]:
    """Append one row at a time; gives the rows acknowledged and what went wrong."""
    table = connect(warehouse, options=options).table(TABLE)
    acknowledged, failed = [], []
    for number in range(first, first + count):
        try:
            table.write(pa.table({"id": pa.array([number], pa.int64())}))
            acknowledged.append(number)
        except Exception as error:
            failed.append(repr(error))
    return acknowledged, failed


def append_until_killed(warehouse: str, options: dict[str, str], notes: str, first: int) -> None:
    """Append rows to one table and upsert them to another one, for ever; each acknowledged row is a line of a file."""
    lake = connect(warehouse, options=options)
    table, keyed = lake.table(TABLE), lake.table(KEYED)
    file = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    number = first
    while True:
        os.write(file, f"begin {number}\n".encode())
        table.write(pa.table({"id": pa.array([number], pa.int64())}))
        os.write(file, f"append {number}\n".encode())
        keyed.write(pa.table({"k": pa.array([number % 10], pa.int64()), "v": pa.array([number], pa.int64())}))
        os.write(file, f"upsert {number}\n".encode())
        number += 1
