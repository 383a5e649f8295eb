"""A process that works on two tables until it is killed, and notes what it begins and what was acknowledged.

Notes are lines of a file outside the tables: ``begin <number> <what>`` and ``done <number>``. What an operation does
follows from its number alone, so whoever reads the notes knows what the tables must hold.
"""

from __future__ import annotations

import os
import random

import pyarrow as pa

from lakebed import Lake, connect

EVENTS, STATE = "db.events", "db.state"
KEYS = 20
OPERATIONS = ("append", "upsert", "append", "upsert", "delete", "compact", "pack", "expire", "tag", "untag")


def create(warehouse: str) -> None:
    lake = connect(warehouse)
    lake.create_database("db")
    lake.create_table(EVENTS, "p INT, id INT", partition_by=["p"])
    options = {"bucket": "2", "num-sorted-run.compaction-trigger": "3"}
    lake.create_table(STATE, "k INT, v INT", primary_key=["k"], options=options)


def rows_appended(number: int) -> list[tuple[int, int]]:
    """Three rows in two partitions: all of them are there, or none."""
    return [(i % 2, 3 * number + i) for i in range(3)]


def keys_touched(number: int) -> list[int]:
    return random.Random(number).sample(range(KEYS), 5)


def work(warehouse: str, notes: str, first: int) -> None:
    """Do one thing after the other, for ever."""
    lake = connect(warehouse)
    file = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    number = first
    while True:
        what = random.Random(-number).choice(OPERATIONS)
        os.write(file, f"begin {number} {what}\n".encode())
        _do(lake, what, number)
        os.write(file, f"done {number}\n".encode())
        number += 1


def _do(lake: Lake, what: str, number: int) -> None:
    events, state = lake.table(EVENTS), lake.table(STATE)
    match what:
        case "append":
            rows = rows_appended(number)
            events.write(pa.table({"p": pa.array([p for p, _ in rows]), "id": pa.array([i for _, i in rows])}))
        case "upsert":
            keys = keys_touched(number)
            state.write(pa.table({"k": keys, "v": [number] * len(keys)}))
        case "delete":
            state.delete(f"k IN ({', '.join(map(str, keys_touched(number)))})")
        case "compact":
            state.compact(full=number % 2 == 0)
        case "pack":
            events.compact(full=True)
        case "expire":
            for table in (events, state):
                table.expire_snapshots(retain_max=4, retain_min=1)
        case "tag":
            if events.latest_snapshot() is not None:
                events.create_tag(f"t{number}")
        case "untag":
            for name in list(events.tags())[:-2]:
                events.drop_tag(name)
