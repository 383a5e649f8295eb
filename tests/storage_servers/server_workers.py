"""What processes do to tables on a storage server. Each opens the warehouse itself, as a program of its own would."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator

import pyarrow as pa

from lakebed import LakebedError, connect

TABLE, KEYED = "db.t", "db.k"


def append(warehouse: str, options: dict[str, str], first: int, count: int) -> tuple[dict[int, int], list[str]]:
    """Append one row at a time; gives the rows acknowledged, each with its snapshot, and what went wrong."""
    table = connect(warehouse, options=options).table(TABLE)
    acknowledged, failed = {}, []
    for number in range(first, first + count):
        try:
            made = table.write(pa.table({"id": pa.array([number], pa.int64())}))
            acknowledged[number] = 0 if made is None else made.id
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


def upload_forever(warehouse: str, options: dict[str, str]) -> None:
    """Write one file that has no end."""
    table = connect(warehouse, options=options).table(TABLE)

    def batches() -> Iterator[pa.RecordBatch]:
        while True:
            yield pa.record_batch({"id": pa.array([7], pa.int64()), "v": [os.urandom(1 << 20)]}, schema)

    schema = pa.schema([("id", pa.int64()), ("v", pa.binary())])
    table.write(pa.RecordBatchReader.from_batches(schema, batches()))


def upsert(warehouse: str, options: dict[str, str], writer: int, count: int) -> dict[int, int]:
    """Upsert some of the same keys as others do; gives the number of our last acknowledged write of each key."""
    table = connect(warehouse, options=options).table(KEYED)
    dice = random.Random(writer)
    last: dict[int, int] = {}
    for number in range(count):
        keys = dice.sample(range(20), dice.randint(1, 12))
        columns = {"k": keys, "writer": [writer] * len(keys), "n": [number] * len(keys)}
        table.write(pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()}))
        last |= dict.fromkeys(keys, number)
    return last


def create_table(warehouse: str, options: dict[str, str], name: str, number: int) -> str:
    """Create a table with our number as its comment; gives ``done`` or the name of the error, as the next ones do."""
    return _outcome(lambda: connect(warehouse, options=options).create_table(name, "id BIGINT", comment=str(number)))


def rename_table(warehouse: str, options: dict[str, str], name: str, number: int) -> str:
    """Rename a table to a name of our own."""
    return _outcome(lambda: connect(warehouse, options=options).rename_table(name, f"{name}_{number}"))


def drop_table(warehouse: str, options: dict[str, str], name: str, number: int) -> str:
    """Drop a table."""
    return _outcome(lambda: connect(warehouse, options=options).drop_table(name))


TABLE_CALLS: dict[str, Callable[[str, dict[str, str], str, int], str]] = {
    "create": create_table,
    "rename": rename_table,
    "drop": drop_table,
}


def _outcome(call: Callable[[], object]) -> str:
    try:
        call()
    except LakebedError as error:
        return type(error).__name__
    return "done"
