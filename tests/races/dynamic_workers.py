"""What processes that race for a table with dynamic buckets do.

Each opens the table itself, as a program of its own would.
"""

from __future__ import annotations

import random
import time
from typing import NamedTuple

import pyarrow as pa
from tests.places import stored_path

from lakebed import Table, connect

TABLE = "db.t"


class Write(NamedTuple):
    """An acknowledged write: on which snapshot it began at least, which one it made, its number and its keys."""

    began: int
    made: int
    number: int
    keys: tuple[int, ...]


def rows(keys: list[int], writer: int, number: int) -> pa.Table:
    count = len(keys)
    return pa.table(
        {
            "p": pa.array([key % 2 for key in keys], pa.int32()),
            "k": pa.array(keys, pa.int32()),
            "writer": pa.array([writer] * count, pa.int32()),
            "n": pa.array([number] * count, pa.int32()),
        }
    )


def upsert(warehouse: str, writer: int, keys: list[int], count: int) -> list[Write]:
    """Write some of the keys at a time."""
    table = connect(warehouse).table(TABLE)
    dice = random.Random(writer)
    done = []
    for number in range(count):
        chosen = dice.sample(keys, dice.randint(1, len(keys)))
        began = latest_id(table)
        made = table.write(rows(chosen, writer, number))
        assert made is not None
        done.append(Write(began, made.id, number, tuple(chosen)))
    stored_path(warehouse, f"done-{writer}").touch()
    return done


def overwrite(warehouse: str, writer: int, keys: list[int], writers: int) -> list[Write]:
    """Replace the table by some of the keys until all writers are done: each time they go to other buckets."""
    table = connect(warehouse).table(TABLE)
    dice = random.Random(writer)
    done: list[Write] = []
    while len(list(stored_path(warehouse).glob("done-*"))) < writers or not done:
        chosen = dice.sample(keys, dice.randint(len(keys) // 2, len(keys)))
        chosen[:2] = [keys[0], keys[1]]  # both partitions, each time
        chosen = list(dict.fromkeys(chosen))
        began = latest_id(table)
        made = table.overwrite(rows(chosen, writer, len(done)))
        assert made is not None
        done.append(Write(began, made.id, len(done), tuple(chosen)))
        time.sleep(dice.uniform(0.2, 0.8))  # whoever replaces everything without a pause lets nobody else through
    return done


def latest_id(table: Table) -> int:
    latest = table.latest_snapshot()
    return 0 if latest is None else latest.id
