"""What processes that race for a primary-key table do. Each opens the table itself, as a program of its own would."""

from __future__ import annotations

import random
import time
from typing import NamedTuple

import pyarrow as pa
from tests.places import stored_path

from lakebed import CommitConflictError, connect

TABLE = "db.t"


class Write(NamedTuple):
    """An acknowledged write: on which snapshot it began at least, which one it made, the keys and whether they went."""

    began: int
    made: int
    number: int
    keys: tuple[int, ...]
    deletes: bool


def upsert(warehouse: str, writer: int, keys: list[int], count: int) -> tuple[list[Write], list[str]]:
    """Writes some of the keys at a time, sometimes their deletes; returns what was acknowledged and what failed."""
    table = connect(warehouse).table(TABLE)
    dice = random.Random(writer)
    done, failed = [], []
    for number in range(count):
        chosen = dice.sample(keys, dice.randint(1, len(keys)))
        deletes = dice.random() < 0.2
        rows = pa.table(
            {
                "k": pa.array(chosen, pa.int32()),
                "writer": pa.array([writer] * len(chosen), pa.int32()),
                "n": pa.array([number] * len(chosen), pa.int32()),
                "op": ["-D" if deletes else "+I"] * len(chosen),
            }
        )
        latest = table.latest_snapshot()
        try:
            made = table.write(rows, row_kind="op")
            assert made is not None
            done.append(Write(0 if latest is None else latest.id, made.id, number, tuple(chosen), deletes))
        except Exception as error:
            failed.append(repr(error))
    stored_path(warehouse, f"done-{writer}").touch()
    return done, failed


def compact(warehouse: str, full: bool, writers: int) -> tuple[int, int, list[str]]:
    """Compact until all writers are done; gives how often something was compacted, how often in vain, what failed."""
    table = connect(warehouse).table(TABLE)
    made = conflicts = 0
    failed = []
    while len(list(stored_path(warehouse).glob("done-*"))) < writers:
        try:
            made += table.compact(full=full) is not None
        except CommitConflictError:
            conflicts += 1
        except Exception as error:
            failed.append(repr(error))
        time.sleep(0.01)
    return made, conflicts, failed
